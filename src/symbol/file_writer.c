#include "symbol/file_writer.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "image/writer.h"
#include "symbol/file_mount.h"

#define FUSE_MAGIC     0x65735546 /* virtiofs too */
#define ACCESS_LIST    "system.posix_acl_access"
#define KERNEL_NO_SUID 0x0002 /* statfs(2): ST_NOSUID */

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
	case OVERLAYFS_SUPER_MAGIC: /* owners are those of the layers, which may be on FUSE */
		return file_mount_is_ours(fd, pid);
	case TMPFS_MAGIC: /* memory: the kernel itself keeps their owners */
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
		return true;
	default:
		/* On a nosuid mount the system itself does not trust owners. */
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
