/*
 * high_fd - keeps what stays open off descriptors 0, 1 and 2, which a program that runs without
 * some of its standard descriptors would write its messages to, or replace by dup2(2).
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Takes a descriptor, or a negative number, which it returns; -1 with errno when there is no other
 * descriptor. The one that is returned is close-on-exec. */
static inline int high_fd(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int code = errno;
	close(fd);
	errno = code;
	return high;
}
