#include "count/group_reading.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"

#define AT_ONCE	   16
#define SLEEP_NS   50000
#define LONGEST_NS UINT64_C(1000000000)

ssize_t count_group_bytes_at_rest(const struct count_kernel *kernel, int fd, void *buffer,
				  size_t size)
{
	int before = errno;
	uint64_t end_ns = clock_monotonic_ns() + LONGEST_NS;
	ssize_t bytes = -ECHILD;
	for (unsigned tries = 0; bytes == -ECHILD; tries++) {
		if (tries >= AT_ONCE && clock_monotonic_ns() >= end_ns) {
			bytes = -EAGAIN;
			break;
		}
		if (tries < AT_ONCE)
			sched_yield();
		else
			nanosleep(&(struct timespec){ .tv_nsec = SLEEP_NS }, NULL);
		bytes = count_group_bytes(kernel, fd, buffer, size);
	}
	errno = before;
	return bytes;
}
