#include "symbol/file_mount.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/small_file.h"

#define TEXT_LIMIT (8u << 20) /* of a table of mounts */
#define NO_MOUNT   0

/* The ID of its mount; 0: not known. From fdinfo, since statx() has it only since Linux 5.8. */
static uint64_t mount_of(int fd)
{
	char path[64];
	CLEANUP(buffer_release) struct buffer text = { 0 };
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (small_file_read(path, TEXT_LIMIT, &text) < 0)
		return NO_MOUNT;
	const char *line = strstr(buffer_text(&text), "mnt_id:");
	return line ? strtoull(line + strlen("mnt_id:"), NULL, 10) : NO_MOUNT;
}

/* Its line of that process's mountinfo, "36 35 98:0 /mnt1 /mnt2 rw,noatime ...", which is in
 * `text`; NULL: not there. */
static char *line_of_mount(int process_folder, uint64_t mount, struct buffer *text)
{
	if (small_file_read_at(process_folder, "mountinfo", TEXT_LIMIT, text) < 0)
		return NULL;
	buffer_append_u8(text, 0);
	if (buffer_failed(text))
		return NULL;
	for (char *line = (char *)text->data; *line;) {
		size_t size = strcspn(line, "\n");
		if (strtoull(line, NULL, 10) == mount) {
			line[size] = 0;
			return line;
		}
		line += size + (line[size] != 0);
	}
	return NULL;
}

/* Are its mounts those of a namespace that only whoever is root for us too could make? */
static bool mounts_are_of_our_users(int process_folder)
{
	struct stat owner, ours;
	CLEANUP(close_fd) int mounts = openat(process_folder, "ns/mnt", O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int users = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);
	return users >= 0 && fstat(users, &owner) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
	       owner.st_dev == ours.st_dev && owner.st_ino == ours.st_ino;
}

/*
 * As line_of_mount(), of a process whose mounts are ours. Who owns them is asked last: a process
 * gives up its namespace of ours for one of its own, never the other way round.
 */
static char *line_of_process(pid_t pid, uint64_t mount, struct buffer *text)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d", pid);
	CLEANUP(close_fd) int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *line = process >= 0 ? line_of_mount(process, mount, text) : NULL;
	return line && mounts_are_of_our_users(process) ? line : NULL;
}

/* The line of a mount that is ours, as line_of_mount(). A container's table is shorter than that of
 * a machine with many of them, so it comes first. */
static char *line_of_our_mount(int fd, pid_t pid, struct buffer *text)
{
	uint64_t mount = mount_of(fd);
	if (mount == NO_MOUNT)
		return NULL;
	char *line = pid ? line_of_process(pid, mount, text) : NULL;
	if (line)
		return line;
	CLEANUP(close_fd) int own = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	buffer_empty(text);
	return own >= 0 ? line_of_mount(own, mount, text) : NULL;
}

bool file_mount_is_ours(int fd, pid_t pid)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	return line_of_our_mount(fd, pid, &text) != NULL;
}

/* File systems of disks and of memory. In a user namespace only those of memory can be mounted;
 * none waits for anybody in close(). */
static bool is_local(uint32_t type)
{
	static const uint32_t magics[] = {
		EXT4_SUPER_MAGIC /* ext2 and ext3 too */,
		XFS_SUPER_MAGIC,
		BTRFS_SUPER_MAGIC,
		TMPFS_MAGIC,
		RAMFS_MAGIC,
		HUGETLBFS_MAGIC,
		EROFS_SUPER_MAGIC_V1,
		SQUASHFS_MAGIC,
		F2FS_SUPER_MAGIC,
		ISOFS_SUPER_MAGIC,
		MSDOS_SUPER_MAGIC,
		EXFAT_SUPER_MAGIC,
		UDF_SUPER_MAGIC,
		CRAMFS_MAGIC,
		NILFS_SUPER_MAGIC,
		REISERFS_SUPER_MAGIC,
		JFFS2_SUPER_MAGIC,
		0x24051905 /* UBIFS */,
		0x3153464a /* JFS */,
		0x7366746e /* NTFS3 */,
		0x2fc12fc1 /* ZFS */,
		0xca451a4e /* bcachefs */,
	};
	for (size_t i = 0; i < COUNT_OF(magics); i++)
		if (type == magics[i])
			return true;
	return false;
}

static bool is_ours(const struct stat *info)
{
	return info->st_uid == 0 || info->st_uid == geteuid();
}

/* Whether nobody but root and we can replace the folder, or one above it. */
static bool lies_in_our_folders(int path_fd)
{
	char link[64], path[PATH_MAX];
	struct stat below, folder;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	ssize_t size = readlink(link, path, sizeof(path) - 1);
	if (size <= 0 || path[0] != '/' || fstat(path_fd, &below) != 0)
		return false;
	path[size] = 0;
	for (char *slash; (slash = strrchr(path, '/')); below = folder) {
		bool top = slash == path;
		slash[top] = 0; /* the folder above, at last "/" */
		if (lstat(path, &folder) != 0 || !is_ours(&folder))
			return false;
		bool sticky = folder.st_mode & S_ISVTX && is_ours(&below);
		if (folder.st_mode & (S_IWGRP | S_IWOTH) && !sticky)
			return false;
		if (top)
			return true;
	}
	return false;
}

static bool layer_answers_itself(const char *path)
{
	struct statfs system;
	CLEANUP(close_fd) int fd = path[0] == '/' ? open(path, O_PATH | O_CLOEXEC) : -1;
	return fd >= 0 && fstatfs(fd, &system) == 0 && is_local((uint32_t)system.f_type) &&
	       lies_in_our_folders(fd);
}

bool file_mount_layers_answer(const char *options)
{
	static const char *const keys[] = { "lowerdir=", "lowerdir+=", "datadir+=", "upperdir=" };
	size_t layers = 0;
	CLEANUP(free_pointer) char *text = strdup(options);
	/* What is escaped could be cut in the wrong place. */
	if (!text || strchr(text, '\\'))
		return false;
	char *rest = text;
	for (char *option; (option = strsep(&rest, ","));) {
		char *paths = NULL;
		for (size_t i = 0; i < COUNT_OF(keys); i++)
			if (strncmp(option, keys[i], strlen(keys[i])) == 0)
				paths = option + strlen(keys[i]);
		for (char *path; (path = strsep(&paths, ":"));) {
			if (!*path) /* "::" stands before layers of data */
				continue;
			if (!layer_answers_itself(path))
				return false;
			layers++;
		}
	}
	return layers > 0;
}

static bool is_on_our_root(int fd)
{
	uint64_t mount = mount_of(fd);
	CLEANUP(close_fd) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return mount != NO_MOUNT && root >= 0 && mount == mount_of(root);
}

static bool overlay_answers_itself(int fd, pid_t pid)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	if (is_on_our_root(fd)) /* what we run from ourselves, with layers that we do not see */
		return true;
	const char *line = line_of_our_mount(fd, pid, &text);
	const char *system = line ? strstr(line, " - overlay ") : NULL;
	const char *options = system ? strchr(system + strlen(" - overlay "), ' ') : NULL;
	return options && file_mount_layers_answer(options + 1);
}

bool file_mount_answers_itself(int fd, pid_t pid)
{
	struct statfs system;
	if (fstatfs(fd, &system) != 0)
		return false;
	uint32_t type = (uint32_t)system.f_type;
	return is_local(type) || (type == OVERLAYFS_SUPER_MAGIC && overlay_answers_itself(fd, pid));
}
