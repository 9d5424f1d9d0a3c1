#include "base/own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/high_fd.h"
#include "base/small_file.h"
#include "base/write_all.h"

#define NAME_SIZE 128

/* Whether a file or folder is the user's, and nobody else can write it. */
static bool is_own(int fd, mode_t kind)
{
	struct stat info;
	return fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == kind &&
	       info.st_uid == geteuid() && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* With what is missing of the path to it. */
static int make_folder(const char *path)
{
	CLEANUP(free_pointer) char *part = strdup(path);
	if (!part)
		return -ENOMEM;
	for (char *end = strchr(part + 1, '/'); end; end = strchr(end + 1, '/')) {
		*end = 0;
		if (mkdir(part, 0700) != 0 && errno != EEXIST)
			return -errno;
		*end = '/';
	}
	return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

int own_folder_open(const char *path, bool make)
{
	int ret = make ? make_folder(path) : 0;
	if (ret < 0)
		return ret;
	int fd = high_fd(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return -errno;
	if (is_own(fd, S_IFDIR))
		return fd;
	close(fd);
	return -EPERM;
}

int own_folder_read(int folder, const char *name, size_t limit_bytes, struct buffer *out)
{
	CLEANUP(close_fd) int fd = small_file_open_plain(folder, name);
	if (fd < 0)
		return fd;
	return is_own(fd, S_IFREG) ? small_file_read_fd(fd, limit_bytes, out) : -EPERM;
}

int own_folder_write(int folder, const char *name, struct span bytes)
{
	char partial[NAME_SIZE];
	int length = snprintf(partial, sizeof(partial), "%s.%d", name, (int)getpid());
	if (length < 0 || (size_t)length >= sizeof(partial))
		return -ENAMETOOLONG;
	unlinkat(folder, partial, 0); /* of a process of that number that was killed */
	int fd = high_fd(openat(folder, partial,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
	if (fd < 0)
		return -errno;
	int ret = write_all(fd, bytes.data, bytes.size);
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && renameat(folder, partial, folder, name) != 0)
		ret = -errno;
	if (ret < 0)
		unlinkat(folder, partial, 0);
	return ret;
}
