#include "base/mapped_file.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
		if (data < 0 && errno == ENXIO)
			data = size;
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

int mapped_file_open(int fd, struct mapped_file *out, struct error *err)
{
	struct stat info;
	*out = (struct mapped_file){ 0 };
	if (fstat(fd, &info) != 0)
		return error_set(err, -errno, "cannot examine the file: %s", strerror(errno));
	if (info.st_size == 0)
		return error_set(err, -ENOEXEC, "the file is empty");
	void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return error_set(err, -errno, "cannot map the file: %s", strerror(errno));
	*out = (struct mapped_file){ bytes, (size_t)info.st_size };
	if ((uint64_t)info.st_blocks * BLOCK_BYTES < (uint64_t)info.st_size)
		cover_holes(fd, out);
	return 0;
}

void mapped_file_close(struct mapped_file *file)
{
	if (file->bytes)
		munmap(file->bytes, file->size_bytes);
	*file = (struct mapped_file){ 0 };
}
