/*
 * only_fd - leaves one descriptor open, for a process that was forked to serve it: nothing that
 * reads what the others write waits for this process to end.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define ONLY_FD (STDERR_FILENO + 1)

/* Makes `fd`, which may be any, ONLY_FD, close-on-exec; 0 to 2 become /dev/null, all others are
 * closed. 0, or a negative errno value, and then it is unspecified which are open. */
static inline int only_fd(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, ONLY_FD + 1);
	int null = high < 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;
	for (int i = 0; i < ONLY_FD; i++)
		if (dup2(null, i) < 0)
			return -errno;
	if (dup3(high, ONLY_FD, O_CLOEXEC) < 0)
		return -errno;
	if (close_range(ONLY_FD + 1, ~0u, 0) == 0)
		return 0;
	long limit = sysconf(_SC_OPEN_MAX); /* Linux before 5.9, or a filter of system calls */
	for (int i = ONLY_FD + 1; i < limit; i++)
		close(i);
	return 0;
}
