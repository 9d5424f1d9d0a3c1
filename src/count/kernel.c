#include "count/kernel.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine/perf_open.h"

static int real_control(int fd, unsigned long request, unsigned long argument)
{
	int result = ioctl(fd, request, argument);
	return result < 0 ? -errno : result;
}

static void *real_map(int fd, size_t size)
{
	/* Writable only where there is a ring, whose tail is ours to move. */
	int protection = size > (size_t)sysconf(_SC_PAGESIZE) ? PROT_READ | PROT_WRITE : PROT_READ;
	void *pages = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
	return pages == MAP_FAILED ? NULL : pages;
}

static void real_unmap(void *pages, size_t size)
{
	munmap(pages, size);
}

static void real_close(int fd)
{
	close(fd);
}

const struct count_kernel count_kernel_real = {
	.open = perf_open,
	.control = real_control,
	.map = real_map,
	.unmap = real_unmap,
	.close = real_close,
};

const struct count_world count_world_real = { .kernel = &count_kernel_real, .root = "/" };
