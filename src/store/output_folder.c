#include "store/output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

#define MAX_LINKS 40 /* as the kernel */

const char *output_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool output_is_public(const struct stat *folder)
{
	return (folder->st_mode & S_IWOTH) != 0;
}

static bool has_fowner(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & (1u << CAP_FOWNER));
}

bool output_may_replace(const struct stat *folder, const struct stat *found)
{
	uid_t self = geteuid();
	return !(folder->st_mode & S_ISVTX) || folder->st_uid == self || found->st_uid == self ||
	       has_fowner();
}

bool output_is_named(int folder, const char *name, int fd)
{
	struct stat named, held;
	return fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &held) == 0 &&
	       named.st_ino == held.st_ino && named.st_dev == held.st_dev;
}

static bool may_follow(const struct stat *folder, const struct stat *link)
{
	if (link->st_uid == geteuid() || link->st_uid == 0)
		return true;
	return link->st_uid == folder->st_uid &&
	       !((folder->st_mode & S_ISVTX) && output_is_public(folder));
}

static int failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot write '%s': %s", path, strerror(-code));
}

static int strange_link(struct error *err, const char *path, const char *name, uid_t owner)
{
	return error_set(err, -ELOOP,
			 "cannot write '%s': '%s' is a link that another user (uid %u) made, and "
			 "is not followed",
			 path, name, (unsigned)owner);
}

/* The text of the link behind an O_PATH descriptor, or NULL with errno. */
static char *link_text(int fd)
{
	char text[PATH_MAX];
	ssize_t size = readlinkat(fd, "", text, sizeof(text));
	if (size == sizeof(text))
		errno = ENAMETOOLONG;
	return size < 0 || size == sizeof(text) ? NULL : strndup(text, (size_t)size);
}

static bool is_in_proc(int fd)
{
	struct statfs system;
	return fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* A path that is walked component by component. */
struct walk {
	const char *path; /* for messages */
	int at;		  /* descriptor of the folder so far */
	char *rest;	  /* of the path, from the next component on */
	unsigned links;
};

static void walk_release(struct walk *walk)
{
	if (walk->at >= 0)
		close(walk->at);
	free(walk->rest);
}

static int walk_begin(struct walk *walk, const char *path)
{
	int fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (walk->at >= 0)
		close(walk->at);
	walk->at = fd;
	return 0;
}

/* Puts the text of a link before the rest of the path, in place of the component that it is. */
static int follow_link(struct walk *walk, int link, const char *rest)
{
	CLEANUP(free_pointer) char *text = link_text(link);
	char *joined;
	if (!text)
		return -errno;
	if (++walk->links > MAX_LINKS)
		return -ELOOP;
	if (asprintf(&joined, "%s/%s", text, rest) < 0)
		return -ENOMEM;
	free(walk->rest);
	walk->rest = joined;
	return text[0] == '/' ? walk_begin(walk, "/") : 0;
}

/* Opens the folder `name`, or the link of that name itself: a descriptor or a negative errno value.
 */
static int open_component(int at, const char *name)
{
	/* O_DIRECTORY first: with it the kernel mounts what is mounted on demand. */
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Follows a component that is a link, if its owner allows it. */
static int walk_link(struct walk *walk, int link, const struct stat *found, const char *name,
		     const char *rest, struct error *err)
{
	struct stat folder;
	int ret = fstat(walk->at, &folder) < 0 ? -errno : 0;
	if (ret == 0 && !may_follow(&folder, found))
		return strange_link(err, walk->path, name, found->st_uid);
	if (ret == 0)
		ret = follow_link(walk, link, rest);
	return ret < 0 ? failed(err, ret, walk->path) : 0;
}

/* Walks one component of `rest`. */
static int walk_step(struct walk *walk, struct error *err)
{
	const char *begin = walk->rest + strspn(walk->rest, "/");
	size_t size = strcspn(begin, "/");
	struct stat found;
	CLEANUP(free_pointer) char *name = strndup(begin, size);
	CLEANUP(free_pointer) char *rest = strdup(begin + size);
	if (!name || !rest)
		return failed(err, -ENOMEM, walk->path);
	CLEANUP(close_fd) int fd = open_component(walk->at, name);
	if (fd < 0 || fstat(fd, &found) < 0)
		return failed(err, fd < 0 ? fd : -errno, walk->path);
	if (S_ISLNK(found.st_mode) && !is_in_proc(fd))
		return walk_link(walk, fd, &found, name, rest, err);
	if (S_ISLNK(found.st_mode)) { /* a link of /proc, whose text is no path */
		close(fd);
		fd = openat(walk->at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return failed(err, -errno, walk->path);
	}
	close(walk->at);
	walk->at = fd;
	fd = -1;
	free(walk->rest);
	walk->rest = rest;
	rest = NULL;
	return 0;
}

int output_folder_open(const char *path, struct error *err)
{
	CLEANUP(walk_release) struct walk walk = { .path = path, .at = -1 };
	walk.rest = strndup(path, (size_t)(output_base_name(path) - path));
	int ret = walk.rest ? walk_begin(&walk, path) : -ENOMEM;
	if (ret < 0)
		return failed(err, ret, path);
	while (walk.rest[strspn(walk.rest, "/")]) {
		ret = walk_step(&walk, err);
		if (ret < 0)
			return ret;
	}
	int fd = openat(walk.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? failed(err, -errno, path) : fd;
}

/* When *path is a link, replaces it by the path that the link gives: 0. 1 when it is no link, or
 * one of /proc. */
static int resolve_once(const char *asked, char **path, struct error *err)
{
	CLEANUP(close_fd) int folder = output_folder_open(*path, err);
	if (folder < 0)
		return folder;
	const char *name = output_base_name(*path);
	CLEANUP(close_fd) int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat found;
	if (fd < 0 || fstat(fd, &found) < 0)
		return fd < 0 && (errno == ENOENT || !*name) ? 1 : failed(err, -errno, asked);
	if (!S_ISLNK(found.st_mode) || is_in_proc(fd))
		return 1;
	if (found.st_uid != geteuid() && found.st_uid != 0)
		return strange_link(err, asked, *path, found.st_uid);
	CLEANUP(free_pointer) char *text = link_text(fd);
	char *joined;
	if (!text)
		return failed(err, -errno, asked);
	if (asprintf(&joined, "%.*s%s", text[0] == '/' ? 0 : (int)(name - *path), *path, text) < 0)
		return failed(err, -ENOMEM, asked);
	free(*path);
	*path = joined;
	return 0;
}

int output_path_resolve(const char *path, char **out, struct error *err)
{
	CLEANUP(free_pointer) char *at = strdup(path);
	if (!at)
		return failed(err, -ENOMEM, path);
	for (unsigned links = 0; links <= MAX_LINKS; links++) {
		int ret = resolve_once(path, &at, err);
		if (ret < 0)
			return ret;
		if (ret == 1) {
			*out = at;
			at = NULL; /* the caller's from here on */
			return 0;
		}
	}
	return failed(err, -ELOOP, path);
}
