#include "symbol/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/small_file.h"
#include "image/writer.h"

#define FUSE_MAGIC     0x65735546 /* virtiofs too */
#define TEXT_LIMIT     (8u << 20) /* of a table of mounts */
#define ACCESS_LIST    "system.posix_acl_access"
#define KERNEL_NO_SUID 0x0002 /* statfs(2): ST_NOSUID */
#define NO_MOUNT       0

/* 0: not known. statx() tells it too, but not before Linux 5.8. */
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

/* Is it a line of that mountinfo file? "36 35 98:0 /mnt1 /mnt2 rw,noatime ...": 36. */
static bool lists_mount(int process_folder, uint64_t mount)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	if (small_file_read_at(process_folder, "mountinfo", TEXT_LIMIT, &text) < 0)
		return false;
	for (const char *line = buffer_text(&text); *line; line++) {
		if (strtoull(line, NULL, 10) == mount)
			return true;
		line = strchr(line, '\n');
		if (!line)
			break;
	}
	return false;
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
 * An overlay tells the owners of the files below it, which may be on FUSE, and anybody may mount
 * one in a user namespace. Who owns the mounts is asked last: a process gives up its namespace of
 * ours for one of its own, never the other way round.
 */
static bool overlay_is_ours(int fd, pid_t pid)
{
	char path[64];
	uint64_t mount = mount_of(fd);
	CLEANUP(close_fd) int own = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (mount == NO_MOUNT || own < 0)
		return false;
	if (lists_mount(own, mount))
		return true;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	CLEANUP(close_fd) int other = pid ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	return other >= 0 && lists_mount(other, mount) && mounts_are_of_our_users(other);
}

static bool owners_are_believed(int fd, pid_t pid, const struct stat *info)
{
	struct statfs system;
	if (fstatfs(fd, &system) != 0)
		return false;
	switch ((uint32_t)system.f_type) {
	case FUSE_MAGIC:
	case CODA_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
		return false;
	case OVERLAYFS_SUPER_MAGIC:
		return overlay_is_ours(fd, pid);
	case TMPFS_MAGIC: /* memory: the kernel itself keeps their owners */
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
		return true;
	default:
		/* Where root's programs get no rights, the system itself does not believe it. */
		return info->st_uid != 0 || !(system.f_flags & KERNEL_NO_SUID);
	}
}

/* A group of the same number as a user is that user's own by convention. An access list shows in
 * the group's rights. */
static bool group_is_trusted(int fd, const struct stat *info)
{
	bool own = info->st_gid == getegid() && info->st_gid == geteuid();
	if (info->st_gid != 0 && !own)
		return false;
	return fgetxattr(fd, ACCESS_LIST, NULL, 0) < 0 && (errno == ENODATA || errno == ENOTSUP);
}

uint64_t file_writer(int fd, pid_t pid, const struct stat *info)
{
	if (!owners_are_believed(fd, pid, info))
		return writer_of(WRITER_MOUNTER, info->st_uid);
	if (info->st_mode & S_IWOTH)
		return writer_of(WRITER_ANYBODY, info->st_uid);
	if (info->st_uid != 0 && info->st_uid != geteuid())
		return writer_of(WRITER_USER, info->st_uid);
	if (info->st_mode & S_IWGRP && !group_is_trusted(fd, info))
		return writer_of(WRITER_GROUP, info->st_gid);
	return writer_of(WRITER_NOBODY, 0);
}
