#include "symbol/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

static int failed(struct error *err, const char *what, int number)
{
	return error_set(err, -number, "cannot open '%s': %s", what, strerror(number));
}

static bool same_inode(const char *a, const char *b)
{
	struct stat left, right;
	return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/* Does the process see the same files under the same paths as we do? */
static bool shares_our_root(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	if (!same_inode(path, "/"))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	return same_inode(path, "/proc/self/ns/mnt");
}

/* An O_PATH descriptor, which neither reads nor waits, or a negative errno. */
static int find_path(pid_t pid, const char *path, enum safe_link link, struct error *err)
{
	int flags = O_PATH | O_CLOEXEC | (link == LINK_REFUSE ? O_NOFOLLOW : 0);
	if (pid == 0) {
		int fd = open(path, flags);
		return fd >= 0 ? fd : failed(err, path, errno);
	}
	char root[64];
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	CLEANUP(close_fd) int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return failed(err, root, errno);
	struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd >= 0)
		return fd;
	/* Containers' seccomp filters of old answer EPERM to calls that they do not know. */
	if (errno != ENOSYS && errno != EPERM)
		return failed(err, path, errno);
	if (!shares_our_root(pid))
		return error_set(
			err, -ENOSYS,
			"cannot open '%s' below the root of process %d: openat2() is refused "
			"here (Linux before 5.6, or a seccomp filter)",
			path, pid);
	fd = open(path, flags);
	return fd >= 0 ? fd : failed(err, path, errno);
}

static int check_owner(pid_t pid, const char *what, const struct stat *info, struct error *err)
{
	struct stat process;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (pid == 0)
		process.st_uid = geteuid();
	else if (stat(path, &process) != 0)
		return failed(err, path, errno);
	if (info->st_uid != process.st_uid && info->st_uid != 0)
		return error_set(err, -EPERM, "'%s' belongs to user %u, process %d to user %u",
				 what, info->st_uid, pid, process.st_uid);
	if (info->st_mode & S_IWOTH)
		return error_set(err, -EPERM, "'%s' may be written by anybody", what);
	return 0;
}

/* From an O_PATH descriptor, whose file cannot change any more, to one that reads. */
static int open_found(int path_fd, pid_t pid, const char *what, const struct safe_limits *limits,
		      struct safe_file *file, struct error *err)
{
	struct stat info;
	if (fstat(path_fd, &info) != 0)
		return failed(err, what, errno);
	if (S_ISLNK(info.st_mode))
		return error_set(err, -ELOOP, "'%s' is a symbolic link", what);
	if (!S_ISREG(info.st_mode))
		return error_set(err, -ENOTSUP, "'%s' is not a regular file", what);
	if (info.st_size < 0 || (uint64_t)info.st_size > limits->size_bytes)
		return error_set(err, -EFBIG,
				 "'%s' has %jd bytes, more than the %" PRIu64 " that are read",
				 what, (intmax_t)info.st_size, limits->size_bytes);
	if (limits->owner == OWNER_PROCESS) {
		int ret = check_owner(pid, what, &info, err);
		if (ret < 0)
			return ret;
	}
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return failed(err, what, errno);
	*file = (struct safe_file){
		.fd = fd,
		.size_bytes = (uint64_t)info.st_size,
		.device = info.st_dev,
		.inode = info.st_ino,
		.modified_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec,
		.owner = info.st_uid,
		.others_write =
			(info.st_mode & S_IWOTH) ||
			((info.st_mode & S_IWGRP) && info.st_gid != 0 && info.st_gid != getegid()),
	};
	return 0;
}

int safe_open_path(pid_t pid, const char *path, const struct safe_limits *limits,
		   struct safe_file *file, struct error *err)
{
	CLEANUP(close_fd) int path_fd = find_path(pid, path, limits->link, err);
	if (path_fd < 0)
		return path_fd;
	return open_found(path_fd, pid, path, limits, file, err);
}

/* Links below /proc/PID that the kernel resolves itself: no path is walked. */
static int open_kernel_link(pid_t pid, const char *link, const struct safe_limits *limits,
			    struct safe_file *file, struct error *err)
{
	CLEANUP(close_fd) int path_fd = open(link, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return failed(err, link, errno);
	return open_found(path_fd, pid, link, limits, file, err);
}

int safe_open_executable(pid_t pid, const struct safe_limits *limits, struct safe_file *file,
			 struct error *err)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	return open_kernel_link(pid, link, limits, file, err);
}

int safe_open_mapping(pid_t pid, uint64_t start, uint64_t end, const struct safe_limits *limits,
		      struct safe_file *file, struct error *err)
{
	char link[96];
	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	return open_kernel_link(pid, link, limits, file, err);
}
