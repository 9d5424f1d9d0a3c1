/*
 * write_all - writes bytes to a descriptor, however many write(2) it takes.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* 0 or a negative errno; some of the bytes may have been written then. */
static inline int write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;
	while (size) {
		ssize_t written = write(fd, at, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		at += written;
		size -= (size_t)written;
	}
	return 0;
}
