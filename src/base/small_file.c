#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"

int small_file_read_fd(int fd, size_t limit_bytes, struct buffer *out)
{
	char piece[16384];
	size_t total = 0;
	for (;;) {
		ssize_t got = read(fd, piece, sizeof(piece));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return buffer_failed(out) ? -ENOMEM : 0;
		if ((size_t)got > limit_bytes - total)
			return -EFBIG;
		total += (size_t)got;
		buffer_append(out, piece, (size_t)got);
	}
}

int small_file_read_at(int dir_fd, const char *path, size_t limit_bytes, struct buffer *out)
{
	CLEANUP(close_fd) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	return small_file_read_fd(fd, limit_bytes, out);
}

int small_file_read(const char *path, size_t limit_bytes, struct buffer *out)
{
	return small_file_read_at(AT_FDCWD, path, limit_bytes, out);
}

int small_file_open_plain(int dir_fd, const char *path)
{
	char link[64];
	struct stat found;
	CLEANUP(close_fd) int place = openat(dir_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0 || fstat(place, &found) < 0)
		return -errno;
	if (!S_ISREG(found.st_mode))
		return S_ISLNK(found.st_mode) ? -ELOOP : -ENXIO;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int small_file_read_line(const char *path, char *line, size_t size)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ssize_t got = read(fd, line, size - 1);
	if (got < 0)
		return -errno;
	line[got] = 0;
	line[strcspn(line, "\n")] = 0;
	return 0;
}
