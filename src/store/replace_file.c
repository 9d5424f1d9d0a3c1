#include "store/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

const char *replace_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

int replace_open_folder(const char *path)
{
	size_t size = (size_t)(replace_base_name(path) - path);
	CLEANUP(free_pointer) char *folder = size ? strndup(path, size) : strdup(".");
	if (!folder)
		return -ENOMEM;
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int replace_sync_folder(int folder)
{
	return fsync(folder) < 0 && errno != EINVAL ? -errno : 0;
}

/* Byte 0 only: SQLite's own locks lie at 1 GiB. */
int replace_lock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

static int failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot write '%s': %s", path, strerror(-code));
}

int replace_file_check(const char *path, struct error *err)
{
	struct stat found;
	if (*replace_base_name(path) == 0)
		return failed(err, -EISDIR, path);
	CLEANUP(close_fd) int folder = replace_open_folder(path);
	if (folder < 0)
		return failed(err, folder, path);
	if (fstatat(folder, replace_base_name(path), &found, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(found.st_mode))
			return error_set(err, -EISDIR, "cannot write '%s': it is a folder", path);
		if (!S_ISREG(found.st_mode) && !S_ISLNK(found.st_mode))
			return error_set(err, -ENXIO, "cannot write '%s': it is no regular file",
					 path);
	} else if (errno != ENOENT) {
		return failed(err, -errno, path);
	}
	return 0;
}

/* Makes `name`; one that nobody writes any more is thrown away first. */
static int make_new(int folder, const char *name, mode_t mode)
{
	for (int attempt = 0; attempt < 3; attempt++) {
		int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				mode);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
		CLEANUP(close_fd)
		int old = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (old < 0 && errno == ENOENT)
			continue;
		if (old < 0)
			return -errno;
		int ret = replace_lock(old);
		if (ret < 0)
			return ret == -EAGAIN ? -EBUSY : ret;
		if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return -EBUSY;
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(fd, bytes, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

/* A second name first, so that the first one never is without a file. */
static int keep_old(int folder, const char *name)
{
	CLEANUP(free_pointer) char *old = NULL;
	CLEANUP(free_pointer) char *passing = NULL;
	if (asprintf(&old, "%s.old", name) < 0 || asprintf(&passing, "%s.old.new", name) < 0)
		return -ENOMEM;
	if (unlinkat(folder, passing, 0) < 0 && errno != ENOENT)
		return -errno;
	if (linkat(folder, name, folder, passing, 0) < 0) {
		if (errno == ENOENT)
			return 0;
		/* A file system without second names. */
		return renameat(folder, name, folder, old) < 0 ? -errno : 0;
	}
	if (renameat(folder, passing, folder, old) < 0)
		return -errno;
	/* When both were names of one file already, rename leaves them as they are. */
	return unlinkat(folder, passing, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int replace_begin(const char *path, mode_t mode, struct replacement *made, struct error *err)
{
	*made = (struct replacement){ .path = path, .folder = -1, .fd = -1 };
	int ret = replace_file_check(path, err);
	if (ret < 0)
		return ret;
	made->folder = replace_open_folder(path);
	if (made->folder < 0)
		return failed(err, made->folder, path);
	if (asprintf(&made->passing, "%s.new", replace_base_name(path)) < 0) {
		made->passing = NULL;
		return failed(err, -ENOMEM, path);
	}
	made->fd = make_new(made->folder, made->passing, mode);
	if (made->fd == -EBUSY)
		return error_set(err, -EBUSY, "cannot write '%s': another process is writing it",
				 path);
	if (made->fd < 0)
		return failed(err, made->fd, path);
	ret = replace_lock(made->fd);
	if (ret == 0 && fchmod(made->fd, mode) < 0)
		ret = -errno;
	return ret < 0 ? failed(err, ret, path) : 0;
}

int replace_write(struct replacement *made, const void *bytes, size_t size)
{
	return write_all(made->fd, bytes, size);
}

static int rename_new(struct replacement *made, enum replace_earlier earlier)
{
	const char *name = replace_base_name(made->path);
	int folder = made->folder, ret = 0;
	if (fsync(made->fd) < 0)
		return -errno;
	if (earlier == REPLACE_KEEP)
		ret = keep_old(folder, name);
	if (ret < 0)
		return ret;
	if (earlier == REPLACE_REFUSE) {
		/* link, unlike rename, does not replace. */
		if (linkat(folder, made->passing, folder, name, 0) == 0)
			unlinkat(folder, made->passing, 0);
		else if (errno == EEXIST)
			return -EEXIST;
		else if (renameat2(folder, made->passing, folder, name, RENAME_NOREPLACE) < 0)
			return -errno;
	} else if (renameat(folder, made->passing, folder, name) < 0) {
		return -errno;
	}
	made->renamed = true;
	return replace_sync_folder(folder);
}

int replace_commit(struct replacement *made, enum replace_earlier earlier, struct error *err)
{
	int ret = rename_new(made, earlier);
	return ret < 0 ? failed(err, ret, made->path) : 0;
}

void replace_release(struct replacement *made)
{
	if (made->fd >= 0 && !made->renamed)
		unlinkat(made->folder, made->passing, 0);
	if (made->fd >= 0)
		close(made->fd);
	if (made->folder >= 0)
		close(made->folder);
	free(made->passing);
	*made = (struct replacement){ .folder = -1, .fd = -1 };
}

int replace_file(const char *path, const void *bytes, size_t size, mode_t mode,
		 enum replace_earlier earlier, struct error *err)
{
	CLEANUP(replace_release) struct replacement made;
	int ret = replace_begin(path, mode, &made, err);
	if (ret < 0)
		return ret;
	ret = replace_write(&made, bytes, size);
	return ret < 0 ? failed(err, ret, path) : replace_commit(&made, earlier, err);
}
