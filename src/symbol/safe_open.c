#include "symbol/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "confine/confinement.h"
#include "image/writer.h"
#include "symbol/file_writer.h"

#define MOUNT_ID_UNIQUE 0x4000u /* STATX_MNT_ID_UNIQUE, of Linux 6.8 */

static int failed(struct error *err, const char *what, int number)
{
	return error_set(err, -number, "cannot open '%s': %s", what, strerror(number));
}

static bool same_file(const struct stat *left, const struct stat *right)
{
	return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

static bool same_inode(const char *a, const char *b)
{
	struct stat left, right;
	return stat(a, &left) == 0 && stat(b, &right) == 0 && same_file(&left, &right);
}

/* Whether the process sees the same files under the same paths as we do. */
static bool shares_our_root(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	if (!same_inode(path, "/"))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	return same_inode(path, "/proc/self/ns/mnt");
}

/* The root folder of a process, or ours. */
static int open_root(pid_t pid, struct error *err)
{
	char path[64] = "/";
	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/root", pid);
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : failed(err, path, errno);
}

static int open_resolved(int folder, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)flags, .resolve = resolve };
	int fd = (int)confinement_openat2(folder, path, &how);
	return fd >= 0 ? fd : -errno;
}

/* Old seccomp filters of containers answer EPERM to calls that they do not know. */
static bool has_no_openat2(int code)
{
	return code == -ENOSYS || code == -EPERM;
}

/* An O_PATH descriptor, which neither reads nor waits, or a negative errno. */
static int find_path(pid_t pid, const char *path, int flags, struct error *err)
{
	flags |= O_PATH | O_CLOEXEC;
	if (pid == 0) {
		int fd = open(path, flags);
		return fd >= 0 ? fd : failed(err, path, errno);
	}
	CLEANUP(close_fd) int root_fd = open_root(pid, err);
	if (root_fd < 0)
		return root_fd;
	int fd = open_resolved(root_fd, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (fd >= 0)
		return fd;
	if (!has_no_openat2(fd))
		return failed(err, path, -fd);
	if (!shares_our_root(pid))
		return error_set(
			err, -ENOSYS,
			"cannot open '%s' below the root of process %d: openat2() is refused "
			"here (Linux before 5.6, or a seccomp filter)",
			path, pid);
	fd = open(path, flags);
	return fd >= 0 ? fd : failed(err, path, errno);
}

/* The next part of a path, without slashes; false at its end, or when it is too long. */
static bool next_part(const char **path, char part[NAME_MAX + 1])
{
	*path += strspn(*path, "/");
	size_t size = strcspn(*path, "/");
	if (size == 0 || size > NAME_MAX)
		return false;
	memcpy(part, *path, size);
	part[size] = 0;
	*path += size;
	return true;
}

/* What openat2() would find below a folder, where links and ".." are refused altogether. */
static int find_without_links(int root_fd, const char *path)
{
	char part[NAME_MAX + 1];
	int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	while (fd >= 0 && next_part(&path, part)) {
		int next = strcmp(part, "..") == 0
				   ? -1
				   : openat(fd, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		int code = strcmp(part, "..") == 0 ? EXDEV : errno;
		struct stat info;
		if (next >= 0 && fstat(next, &info) == 0 && S_ISLNK(info.st_mode)) {
			close(next);
			next = -1;
			code = EXDEV;
		}
		close(fd);
		fd = next;
		if (fd < 0)
			return -code;
	}
	return fd >= 0 ? fd : -errno;
}

/*
 * Whether everybody may search each folder from `folder` down to the file of `info`, which lies
 * at `path` below it: the way that the kernel tells, without links. One that is not there, or
 * under another path in this root, is no public file.
 */
static bool reached_by_all(int folder, const char *path, const struct stat *info)
{
	char part[NAME_MAX + 1];
	struct stat found;
	int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	bool reached = at >= 0 && fstat(at, &found) == 0;
	while (reached && next_part(&path, part)) {
		bool searchable = S_ISDIR(found.st_mode) && (found.st_mode & S_IXOTH);
		int next = searchable ? openat(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
		close(at);
		at = next;
		reached = at >= 0 && fstat(at, &found) == 0;
	}
	if (at >= 0)
		close(at);
	return reached && same_file(&found, info);
}

/* A link below /proc/self/fd as text. */
static bool path_of(int fd, char path[PATH_MAX])
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, PATH_MAX - 1);
	if (size <= 0 || path[0] != '/')
		return false;
	path[size] = 0;
	return true;
}

/* Where a search for a file began. */
struct origin {
	pid_t pid;
	int folder; /* one that the user named; -1: the root of `pid` */
};

static bool everybody_may_read(int path_fd, const struct origin *origin, const struct stat *info)
{
	char path[PATH_MAX], folder[PATH_MAX];
	if (!(info->st_mode & S_IROTH) || !path_of(path_fd, path))
		return false;
	if (origin->folder >= 0) {
		size_t size = path_of(origin->folder, folder) ? strlen(folder) : 0;
		if (size == 1)
			size = 0; /* "/" */
		return strncmp(path, folder, size) == 0 && path[size] == '/' &&
		       reached_by_all(origin->folder, path + size, info);
	}
	CLEANUP(close_fd) int ours = open_root(0, NULL);
	if (ours >= 0 && reached_by_all(ours, path, info))
		return true;
	CLEANUP(close_fd) int theirs = origin->pid ? open_root(origin->pid, NULL) : -1;
	return theirs >= 0 && reached_by_all(theirs, path, info);
}

static int check_public(int path_fd, const struct origin *origin, uint32_t user, const char *what,
			const struct stat *info, struct error *err)
{
	uid_t caller = geteuid();
	if ((user != SAFE_NO_USER && info->st_uid == user) ||
	    (caller != 0 && info->st_uid == caller) || everybody_may_read(path_fd, origin, info))
		return 0;
	return error_set(err, -EPERM, "not everybody may read '%s'", what);
}

int safe_check_user(const struct safe_file *file, uint32_t user, const char *path,
		    struct error *err)
{
	if (user == SAFE_NO_USER)
		return error_set(err, -EPERM, "nobody knows whose process wrote '%s'", path);
	if (file->owner != user)
		return error_set(err, -EPERM,
				 "'%s' belongs to user %" PRIu32 ", its process to user %" PRIu32,
				 path, file->owner, user);
	if (file->mode & S_IWOTH)
		return error_set(err, -EPERM, "'%s' may be written by anybody", path);
	if (file->links > 1)
		return error_set(err, -EPERM, "'%s' is a file that has other names, too", path);
	return 0;
}

static bool is_kernels_own(int path_fd)
{
	static const uint32_t magics[] = {
		PROC_SUPER_MAGIC,    SYSFS_MAGIC,
		DEBUGFS_MAGIC,	     TRACEFS_MAGIC,
		SECURITYFS_MAGIC,    CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,
		EFIVARFS_MAGIC,	     PSTOREFS_MAGIC,
		SELINUX_MAGIC,	     SMACK_MAGIC,
		BINFMTFS_MAGIC,	     NSFS_MAGIC,
		DEVPTS_SUPER_MAGIC,  0x62656570 /* configfs */,
	};
	struct statfs info;
	if (fstatfs(path_fd, &info) != 0)
		return true;
	for (size_t i = 0; i < COUNT_OF(magics); i++)
		if ((uint32_t)info.f_type == magics[i])
			return true;
	return false;
}

/* The ID of the mount that a file was reached by; before Linux 5.8, which has none, its device. */
static uint64_t mount_of(int path_fd)
{
	struct statx info;
	if (statx(path_fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &info) != 0)
		return 0;
	if (info.stx_mask & STATX_MNT_ID)
		return info.stx_mnt_id;
	return ((uint64_t)info.stx_dev_major << 32 | info.stx_dev_minor) + 1;
}

/* Its unique ID: unlike that of mount_of() it is never given to another mount. */
static uint64_t lasting_mount_of(int path_fd)
{
	struct statx info;
	if (statx(path_fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, MOUNT_ID_UNIQUE, &info) != 0)
		return 0;
	return info.stx_mask & MOUNT_ID_UNIQUE ? info.stx_mnt_id : 0;
}

/* A file system that somebody serves could say what it likes, or never answer. */
static void learn_generation(struct safe_file *file)
{
	int generation = 0;
	file->generation_known = writer_kind(file->writer) != WRITER_MOUNTER &&
				 ioctl(file->fd, FS_IOC_GETVERSION, &generation) == 0;
	file->generation = (uint32_t)generation;
}

static int check_kind(const char *what, const struct safe_limits *limits, const struct stat *info,
		      struct error *err)
{
	if (S_ISLNK(info->st_mode))
		return error_set(err, -ELOOP, "'%s' is a symbolic link", what);
	if (!S_ISREG(info->st_mode))
		return error_set(err, -ENOTSUP, "'%s' is not a regular file", what);
	if (info->st_size < 0 || (uint64_t)info->st_size > limits->size_bytes)
		return error_set(err, -EFBIG,
				 "'%s' has %jd bytes, more than the %" PRIu64 " that are read",
				 what, (intmax_t)info->st_size, limits->size_bytes);
	return 0;
}

/* Opens for reading what an O_PATH descriptor stands for, so that it is the very file that was
 * judged. `origin` is NULL for links of /proc that the kernel resolves itself. */
static int open_found(int path_fd, pid_t pid, const struct origin *origin, const char *what,
		      const struct safe_limits *limits, struct safe_file *file, struct error *err)
{
	struct stat info;
	if (fstat(path_fd, &info) != 0)
		return failed(err, what, errno);
	int ret = check_kind(what, limits, &info, err);
	if (ret == 0 && origin && is_kernels_own(path_fd))
		ret = error_set(err, -ENOTSUP, "'%s' is one of the kernel's own files", what);
	struct safe_file found = {
		.size_bytes = (uint64_t)info.st_size,
		.device = info.st_dev,
		.inode = info.st_ino,
		.modified_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec,
		.changed_ns = (int64_t)info.st_ctim.tv_sec * 1000000000 + info.st_ctim.tv_nsec,
		.owner = info.st_uid,
		.mode = info.st_mode,
		.links = (uint32_t)info.st_nlink,
	};
	if (ret == 0 && limits->owner == OWNER_PROCESS)
		ret = safe_check_user(&found, limits->user, what, err);
	if (ret == 0 && limits->owner == OWNER_PUBLIC && origin)
		ret = check_public(path_fd, origin, limits->user, what, &info, err);
	if (ret < 0)
		return ret;
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	found.fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (found.fd < 0)
		return failed(err, what, errno);
	found.writer = file_writer(found.fd, pid, &info);
	found.mount = lasting_mount_of(path_fd);
	learn_generation(&found);
	*file = found;
	return 0;
}

/* A name that lies in its folder itself: neither a link nor something mounted there. */
static int find_in_folder(pid_t pid, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	if (!slash || slash - path >= PATH_MAX)
		return failed(err, path, ENOENT);
	size_t size = slash == path ? 1 : (size_t)(slash - path);
	memcpy(folder, path, size);
	folder[size] = 0;
	CLEANUP(close_fd) int folder_fd = find_path(pid, folder, O_DIRECTORY, err);
	if (folder_fd < 0)
		return folder_fd;
	int fd = openat(folder_fd, slash + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(err, path, errno);
	uint64_t mount = mount_of(fd);
	if (mount && mount == mount_of(folder_fd))
		return fd;
	close(fd);
	return error_set(err, -EPERM, "'%s' is a mount of its own", path);
}

int safe_open_path(pid_t pid, const char *path, const struct safe_limits *limits,
		   struct safe_file *file, struct error *err)
{
	int flags = limits->link == LINK_REFUSE ? O_NOFOLLOW : 0;
	CLEANUP(close_fd)
	int path_fd = limits->owner == OWNER_PROCESS ? find_in_folder(pid, path, err)
						     : find_path(pid, path, flags, err);
	if (path_fd < 0)
		return path_fd;
	return open_found(path_fd, pid, &(struct origin){ pid, -1 }, path, limits, file, err);
}

int safe_open_below(const char *root, const char *path, const struct safe_limits *limits,
		    struct safe_file *file, struct error *err)
{
	CLEANUP(close_fd) int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat info;
	if (root_fd < 0 || fstat(root_fd, &info) != 0)
		return failed(err, root, errno);
	path += strspn(path, "/");
	int flags = O_PATH | O_CLOEXEC | (limits->link == LINK_REFUSE ? O_NOFOLLOW : 0);
	CLEANUP(close_fd)
	int path_fd = open_resolved(root_fd, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	if (has_no_openat2(path_fd))
		path_fd = find_without_links(root_fd, path);
	if (path_fd == -EXDEV)
		return error_set(err, -EXDEV, "'%s' leads out of '%s'", path, root);
	if (path_fd < 0)
		return failed(err, path, -path_fd);
	struct safe_limits rule = *limits;
	rule.owner = OWNER_PUBLIC;
	rule.user = info.st_mode & S_IWOTH ? SAFE_NO_USER : info.st_uid;
	return open_found(path_fd, 0, &(struct origin){ 0, root_fd }, path, &rule, file, err);
}

/* Links below /proc/PID that the kernel resolves itself: no path is walked. */
static int open_kernel_link(pid_t pid, const char *link, const struct safe_limits *limits,
			    struct safe_file *file, struct error *err)
{
	CLEANUP(close_fd) int path_fd = open(link, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return failed(err, link, errno);
	return open_found(path_fd, pid, NULL, link, limits, file, err);
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
