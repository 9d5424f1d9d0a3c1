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
#include "base/write_all.h"
#include "store/output_folder.h"

#define REPLACE_PURPOSE ".new."

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

static int belongs_to_other(struct error *err, const char *path, const char *name, uid_t owner)
{
	return error_set(err, -EPERM,
			 "cannot write '%s': '%s' there belongs to another user (uid %u)", path,
			 name, (unsigned)owner);
}

/* Whether the file that is there can become NAME.old. */
static int check_old(int folder, const struct stat *folder_status, const char *path,
		     struct error *err)
{
	struct stat found;
	CLEANUP(free_pointer) char *old = NULL;
	if (asprintf(&old, "%s.old", output_base_name(path)) < 0)
		return failed(err, -ENOMEM, path);
	if (fstatat(folder, old, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENAMETOOLONG ? 0 : failed(err, -errno, path);
	if (!output_may_replace(folder_status, &found))
		return belongs_to_other(err, path, old, found.st_uid);
	if (S_ISDIR(found.st_mode))
		return error_set(err, -EISDIR,
				 "cannot write '%s': what is there would become '%s', which is a "
				 "folder",
				 path, old);
	return 0;
}

static int check_name(int folder, const char *path, enum replace_earlier earlier, struct error *err)
{
	struct stat status, found;
	const char *name = output_base_name(path);
	if (*name == 0)
		return failed(err, -EISDIR, path);
	if (fstat(folder, &status) < 0)
		return failed(err, -errno, path);
	if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : failed(err, -errno, path);
	if (S_ISDIR(found.st_mode))
		return error_set(err, -EISDIR, "cannot write '%s': it is a folder", path);
	if (!S_ISREG(found.st_mode) && !S_ISLNK(found.st_mode))
		return error_set(err, -ENXIO, "cannot write '%s': it is no regular file", path);
	if (earlier == REPLACE_REFUSE)
		return 0;
	if (!output_may_replace(&status, &found))
		return belongs_to_other(err, path, name, found.st_uid);
	return earlier == REPLACE_KEEP ? check_old(folder, &status, path, err) : 0;
}

int replace_file_check(const char *path, enum replace_earlier earlier, struct error *err)
{
	CLEANUP(close_fd) int folder = output_folder_open(path, err);
	return folder < 0 ? folder : check_name(folder, path, earlier, err);
}

/* Removes the file of a killed writer: it is ours, and nobody has it locked. */
static void remove_stale(int folder, const char *name)
{
	struct stat found;
	CLEANUP(close_fd)
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode) &&
	    found.st_uid == geteuid() && replace_lock(fd) == 0 && output_is_named(folder, name, fd))
		unlinkat(folder, name, 0);
}

bool replace_is_new_name(const char *name)
{
	return passing_name_is(name, REPLACE_PURPOSE);
}

bool replace_remove_stale(int folder, const char *name)
{
	struct stat found;
	if (!replace_is_new_name(name))
		return false;
	remove_stale(folder, name);
	return fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* Makes and locks the new file. Its mode is 0600 for now, so no other user can lock it. */
static int make_new(struct replacement *made)
{
	const char *name = output_base_name(made->path);
	for (int attempt = 0; attempt < 3; attempt++) {
		int ret = passing_name_make(name, REPLACE_PURPOSE, made->passing);
		if (ret < 0)
			return ret;
		int fd = openat(made->folder, made->passing,
				O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		ret = replace_lock(fd);
		/* Another writer may have removed it as stale before it was locked. */
		if (ret == 0 && output_is_named(made->folder, made->passing, fd)) {
			made->fd = fd;
			return 0;
		}
		close(fd);
		if (ret < 0 && ret != -EAGAIN) {
			unlinkat(made->folder, made->passing, 0);
			return ret;
		}
	}
	return -EBUSY;
}

/* Makes NAME.old of the file by a second link, so that NAME never is without a file. */
static int keep_old(int folder, const char *name)
{
	CLEANUP(free_pointer) char *old = NULL;
	char passing[PASSING_NAME_BYTES];
	if (asprintf(&old, "%s.old", name) < 0)
		return -ENOMEM;
	int ret = passing_name_make(name, REPLACE_PURPOSE, passing);
	if (ret < 0)
		return ret;
	if (linkat(folder, name, folder, passing, 0) < 0) {
		if (errno == ENOENT)
			return 0;
		/* A file system without second names, or a file that we may not give one. */
		return renameat(folder, name, folder, old) < 0 ? -errno : 0;
	}
	if (renameat(folder, passing, folder, old) < 0) {
		ret = -errno;
		unlinkat(folder, passing, 0);
		return ret;
	}
	/* When both were names of one file already, rename leaves them as they are. */
	return unlinkat(folder, passing, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int replace_begin(const char *path, mode_t mode, struct replacement *made, struct error *err)
{
	*made = (struct replacement){ .path = path, .folder = -1, .fd = -1, .mode = mode };
	made->folder = output_folder_open(path, err);
	if (made->folder < 0)
		return made->folder;
	int ret = check_name(made->folder, path, REPLACE_DROP, err);
	if (ret < 0)
		return ret;
	passing_names_each(made->folder, output_base_name(path), REPLACE_PURPOSE, remove_stale);
	ret = make_new(made);
	return ret < 0 ? failed(err, ret, path) : 0;
}

int replace_write(struct replacement *made, const void *bytes, size_t size)
{
	return write_all(made->fd, bytes, size);
}

static int rename_new(struct replacement *made, enum replace_earlier earlier)
{
	const char *name = output_base_name(made->path);
	int folder = made->folder, ret = 0;
	if (fchmod(made->fd, made->mode) < 0 || fsync(made->fd) < 0)
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
