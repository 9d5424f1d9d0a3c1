#include "base/mapped_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

#define BLOCK_BYTES	 512   /* of st_blocks */
#define HOLE_ALIGNMENT	 65536 /* whole pages, of any size that there is */
#define HOLE_LEAST_BYTES (1 << 20)
#define HOLES_MOST	 1024u /* mappings */

/*
 * Reading a hole of a file fills the page cache with nothing, and counts as memory in use.
 * Anonymous memory that is only read is one page for all. What cannot be covered stays as it is.
 */
static void cover_holes(int fd, const struct mapped_file *file)
{
	off_t size = (off_t)file->size_bytes;
	off_t at = 0;
	for (unsigned covered = 0; covered < HOLES_MOST && at < size;) {
		off_t hole = lseek(fd, at, SEEK_HOLE);
		if (hole < 0 || hole >= size)
			return;
		off_t data = lseek(fd, hole, SEEK_DATA);
		if ((data < 0 && errno == ENXIO) || data > size)
			data = size; /* it may have grown since it was mapped */
		if (data <= hole)
			return;
		at = data;
		off_t first = (hole + HOLE_ALIGNMENT - 1) & ~(off_t)(HOLE_ALIGNMENT - 1);
		off_t end = data & ~(off_t)(HOLE_ALIGNMENT - 1);
		if (end - first < HOLE_LEAST_BYTES)
			continue;
		if (mmap((uint8_t *)file->bytes + first, (size_t)(end - first), PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			return;
		covered++;
	}
}

/* fstat() of newer C libraries is newfstatat(), for which a confined process takes a signal. The
 * kernel's structure is the C library's where both have 64 bits. */
_Static_assert(sizeof(long) == 8, "SYS_fstat fills a struct stat");
static int examine(int fd, struct stat *info)
{
	return (int)syscall(SYS_fstat, fd, info);
}

/* Maps as many bytes as `file` has: of the descriptor `mapped`, or anonymous memory (-1). */
static int map(int file, int flags, int mapped, struct mapped_file *out, struct error *err)
{
	struct stat info;
	*out = (struct mapped_file){ 0 };
	if (examine(file, &info) != 0)
		return error_set(err, -errno, "cannot examine the file: %s", strerror(errno));
	if (info.st_size == 0)
		return error_set(err, -ENOEXEC, "the file is empty");
	int protection = mapped < 0 ? PROT_READ | PROT_WRITE : PROT_READ;
	void *bytes = mmap(NULL, (size_t)info.st_size, protection, MAP_PRIVATE | flags, mapped, 0);
	if (bytes == MAP_FAILED)
		return error_set(err, -errno, "cannot map the file: %s", strerror(errno));
	*out = (struct mapped_file){ bytes, (size_t)info.st_size };
	if (mapped >= 0 && (uint64_t)info.st_blocks * BLOCK_BYTES < (uint64_t)info.st_size)
		cover_holes(mapped, out);
	return 0;
}

int mapped_file_open(int fd, struct mapped_file *out, struct error *err)
{
	return map(fd, 0, fd, out, err);
}

/* Finds the next range of the file that is no hole; false when none is left. */
static bool next_extent(int fd, off_t from, off_t size, off_t *begin, off_t *end)
{
	*begin = lseek(fd, from, SEEK_DATA);
	if (*begin < 0 && errno == ENXIO)
		return false;
	*end = *begin < 0 ? size : lseek(fd, *begin, SEEK_HOLE);
	*begin = *begin < 0 ? from : *begin; /* a file system that knows no holes */
	*end = *end < 0 || *end > size ? size : *end;
	return *begin < *end;
}

static int read_extent(int fd, char *to, off_t from, off_t end)
{
	while (from < end) {
		ssize_t got = pread(fd, to + from, (size_t)(end - from), from);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		from += got;
	}
	return 0;
}

int mapped_file_copy(int fd, struct mapped_file *out, struct error *err)
{
	int ret = map(fd, MAP_ANONYMOUS | MAP_NORESERVE, -1, out, err);
	off_t begin, end = 0;
	while (ret == 0 && end < (off_t)out->size_bytes &&
	       next_extent(fd, end, (off_t)out->size_bytes, &begin, &end))
		ret = read_extent(fd, out->bytes, begin, end);
	if (ret == 0 || !out->bytes)
		return ret;
	mapped_file_close(out);
	return error_set(err, ret, "cannot read the file: %s", strerror(-ret));
}

void mapped_file_let_go(const void *bytes, size_t size_bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = (uintptr_t)bytes & ~(page - 1);
	uintptr_t end = ((uintptr_t)bytes + size_bytes + page - 1) & ~(page - 1);
	if (size_bytes)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void mapped_file_close(struct mapped_file *file)
{
	if (file->bytes)
		munmap(file->bytes, file->size_bytes);
	*file = (struct mapped_file){ 0 };
}
