#include "machine/perf_open.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/high_fd.h"

int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
	      unsigned long flags)
{
	int fd = high_fd((int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
				      flags | PERF_FLAG_FD_CLOEXEC));
	return fd < 0 ? -errno : fd;
}
