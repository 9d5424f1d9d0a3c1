#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "support/skip.h"
#include "symbol/file_mount.h"

static void memory_answers_itself_and_what_is_not_known_does_not(void **state)
{
	(void)state;
	CLEANUP(close_fd) int memory = memfd_create("test", MFD_CLOEXEC);
	CLEANUP(close_fd) int process = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs info;
	assert_true(file_mount_answers_itself(memory, 0));
	assert_false(file_mount_answers_itself(process, 0));
	/* An overlay, too, where we run from it. */
	assert_int_equal(fstatfs(root, &info), 0);
	if (info.f_type == OVERLAYFS_SUPER_MAGIC || info.f_type == EXT4_SUPER_MAGIC)
		assert_true(file_mount_answers_itself(root, 0));
}

/* In a folder that was made the root (chroot(2)) the mount that it lies on is in no table. */
static bool our_table_has_the_root(void)
{
	char line[4096], where[4096];
	bool found = false;
	CLEANUP(close_file) FILE *table = fopen("/proc/self/mountinfo", "re");
	while (table && !found && fgets(line, sizeof(line), table))
		found = sscanf(line, "%*d %*d %*s %*s %4095s", where) == 1 &&
			strcmp(where, "/") == 0;
	return found;
}

static void mounts_are_ours_where_our_table_has_them(void **state)
{
	(void)state;
	CLEANUP(close_fd) int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_fd) int memory = memfd_create("test", MFD_CLOEXEC);
	assert_false(file_mount_is_ours(memory, 0)); /* the kernel's own, in no table */
	assert_false(file_mount_is_ours(memory, getpid()));
	bool listed = our_table_has_the_root();
	assert_int_equal(file_mount_is_ours(root, 0), listed);
	assert_int_equal(file_mount_is_ours(root, getpid()), listed);
	if (!listed)
		SKIP("the root is no mount here (chroot): no mount of ours is looked at");
}

static bool layers_answer(const char *format, const char *folder)
{
	char options[512];
	snprintf(options, sizeof(options), format, folder, folder);
	return file_mount_layers_answer(options);
}

static void an_overlay_answers_when_each_of_its_layers_does(void **state)
{
	(void)state;
	char folder[] = "/dev/shm/culprit-mount.XXXXXX"; /* memory, where that is mounted */
	char below[64];
	struct statfs info;
	if (!mkdtemp(folder) || statfs(folder, &info) != 0 || info.f_type != TMPFS_MAGIC) {
		rmdir(folder);
		SKIP("no memory file system at /dev/shm");
	}
	snprintf(below, sizeof(below), "%s/below", folder);
	assert_int_equal(mkdir(below, 0700), 0);
	assert_true(layers_answer("rw,lowerdir=%s/below:%s,xino=off", folder));
	assert_true(layers_answer("rw,lowerdir+=%s,datadir+=%s/below", folder));
	assert_true(layers_answer("ro,lowerdir=%s::%s/below", folder));
	assert_true(layers_answer("lowerdir=%s,upperdir=%s/below,workdir=/proc", folder));
	assert_false(layers_answer("lowerdir=%s:/proc", folder));
	assert_false(layers_answer("lowerdir=%s,upperdir=/proc/self", folder));
	assert_false(layers_answer("lowerdir=%s:relative", folder));
	assert_false(layers_answer("lowerdir=%s/nowhere", folder));
	assert_false(layers_answer("lowerdir=%s\\072x", folder));
	assert_false(file_mount_layers_answer("rw,xino=off"));
	assert_false(file_mount_layers_answer(""));
	/* Somebody else may put another one there. */
	assert_int_equal(chmod(folder, 0777), 0);
	assert_false(layers_answer("lowerdir=%s/below", folder));
	assert_int_equal(chmod(folder, 01777), 0);
	assert_true(layers_answer("lowerdir=%s/below", folder));
	rmdir(below);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_answers_itself_and_what_is_not_known_does_not),
		cmocka_unit_test(mounts_are_ours_where_our_table_has_them),
		cmocka_unit_test(an_overlay_answers_when_each_of_its_layers_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
