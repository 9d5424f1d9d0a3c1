/*
 * Attempts on files: the user's, those that the starter has open, and what came with the request.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count_of.h"
#include "support/hostile_acts_private.h"

static long read_file(const struct hostile_scene *scene)
{
	return hostile_opened(open(scene->secret, O_RDONLY));
}

static long write_file(const struct hostile_scene *scene)
{
	return hostile_opened(open(scene->secret, O_WRONLY));
}

static long append_by_openat2(const struct hostile_scene *scene)
{
	struct open_how how = { .flags = O_WRONLY | O_APPEND };
	return hostile_opened(
		(int)syscall(SYS_openat2, AT_FDCWD, scene->secret, &how, sizeof(how)));
}

/* By openat2(), which the helper that opens files may call, with flags that it never has. */
static long create_by_openat2(const struct hostile_scene *scene)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 0600 };
	return hostile_opened(
		(int)confinement_openat2(AT_FDCWD, hostile_path(scene, "made2"), &how));
}

static long create_file(const struct hostile_scene *scene)
{
	return hostile_opened(open(hostile_path(scene, "made"), O_WRONLY | O_CREAT | O_EXCL, 0600));
}

static long create_nameless(const struct hostile_scene *scene)
{
	return hostile_opened(open(scene->folder, O_TMPFILE | O_RDWR, 0600));
}

static long truncate_file(const struct hostile_scene *scene)
{
	return hostile_result(truncate(scene->secret, (off_t)sizeof(HOSTILE_SECRET_TEXT) - 1));
}

static long remove_file(const struct hostile_scene *scene)
{
	return hostile_result(unlink(hostile_path(scene, "removable")));
}

static long rename_file(const struct hostile_scene *scene)
{
	char from[400];
	snprintf(from, sizeof(from), "%s", hostile_path(scene, "renamable"));
	return hostile_result(rename(from, hostile_path(scene, "renamed")));
}

static long link_file(const struct hostile_scene *scene)
{
	return hostile_result(symlink("/etc/passwd", hostile_path(scene, "link")));
}

static long make_folder(const struct hostile_scene *scene)
{
	return hostile_result(mkdir(hostile_path(scene, "sub"), 0700));
}

static long make_fifo(const struct hostile_scene *scene)
{
	return hostile_result(mkfifo(hostile_path(scene, "fifo"), 0600));
}

static long change_mode(const struct hostile_scene *scene)
{
	return hostile_result(chmod(scene->secret, 0600));
}

static long change_owner(const struct hostile_scene *scene)
{
	return hostile_result(chown(scene->secret, geteuid(), getegid()));
}

static long change_times(const struct hostile_scene *scene)
{
	return hostile_result(utimensat(AT_FDCWD, scene->secret, NULL, 0));
}

static long examine_file(const struct hostile_scene *scene)
{
	struct stat info;
	return hostile_result(fstatat(AT_FDCWD, scene->secret, &info, 0));
}

/* By AT_EMPTY_PATH, as fstat() does it, but with a path. */
static long examine_by_empty_path(const struct hostile_scene *scene)
{
	struct stat info;
	return hostile_result(fstatat(AT_FDCWD, scene->secret, &info, AT_EMPTY_PATH));
}

static long list_folder(const struct hostile_scene *scene)
{
	return hostile_opened(open(scene->folder, O_RDONLY | O_DIRECTORY));
}

static long change_folder(const struct hostile_scene *scene)
{
	return hostile_result(chdir(scene->folder));
}

static long write_own_memory(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_opened(open("/proc/self/mem", O_RDWR));
}

static long read_inherited(const struct hostile_scene *scene)
{
	char byte;
	return hostile_result(pread(scene->inherited, &byte, 1, 0));
}

static long write_handed(const struct hostile_scene *scene)
{
	return hostile_result(write(scene->handed, "x", 1));
}

static long grow_handed(const struct hostile_scene *scene)
{
	return hostile_result(ftruncate(scene->handed, 1 << 20));
}

static long write_shared(const struct hostile_scene *scene)
{
	*scene->shared = 1;
	return 0;
}

static long make_file_in_memory(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_opened((int)syscall(SYS_memfd_create, "hostile", 0));
}

static long control_device(const struct hostile_scene *scene)
{
	(void)scene;
	int bytes;
	return hostile_result(syscall(SYS_ioctl, STDIN_FILENO, 0x541b, &bytes)); /* FIONREAD */
}

static long read_environment(const struct hostile_scene *scene)
{
	(void)scene;
	return getenv("HOSTILE_SECRET") ? 0 : -ENOENT;
}

static const struct hostile_act acts[] = {
	{ "read a file", HOSTILE_MAY_OPEN | HOSTILE_MAY_STEP | HOSTILE_WORKS, read_file },
	{ "write a file", HOSTILE_WORKS, write_file },
	{ "append by openat2", HOSTILE_WORKS, append_by_openat2 },
	{ "create by openat2", HOSTILE_WORKS, create_by_openat2 },
	{ "create a file", HOSTILE_WORKS, create_file },
	{ "create a nameless file", 0, create_nameless },
	{ "truncate a file", HOSTILE_WORKS, truncate_file },
	{ "remove a file", HOSTILE_WORKS, remove_file },
	{ "rename a file", HOSTILE_WORKS, rename_file },
	{ "make a link", HOSTILE_WORKS, link_file },
	{ "make a folder", HOSTILE_WORKS, make_folder },
	{ "make a FIFO", HOSTILE_WORKS, make_fifo },
	{ "change a mode", HOSTILE_WORKS, change_mode },
	{ "change an owner", HOSTILE_WORKS, change_owner },
	{ "change times", HOSTILE_WORKS, change_times },
	{ "examine a file", HOSTILE_MAY_OPEN | HOSTILE_WORKS, examine_file },
	{ "examine by an empty path", HOSTILE_MAY_OPEN | HOSTILE_WORKS, examine_by_empty_path },
	{ "list a folder", HOSTILE_MAY_OPEN | HOSTILE_MAY_STEP | HOSTILE_WORKS, list_folder },
	{ "change its folder", HOSTILE_WORKS, change_folder },
	{ "write its own memory by /proc", HOSTILE_WORKS, write_own_memory },
	{ "read what its starter has open", HOSTILE_WORKS, read_inherited },
	{ "write what it is handed", HOSTILE_MAY_OPEN, write_handed },
	{ "grow what it is handed", 0, grow_handed },
	{ "write memory of its starter's", HOSTILE_WORKS, write_shared },
	{ "make a file in memory", HOSTILE_MAY_OPEN | HOSTILE_WORKS, make_file_in_memory },
	{ "control a device", 0, control_device },
	{ "read the environment", HOSTILE_WORKS, read_environment },
};

const struct hostile_group hostile_files = { acts, COUNT_OF(acts) };
