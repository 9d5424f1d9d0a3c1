#include "base/mapped_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"

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
	return 0;
}

void mapped_file_close(struct mapped_file *file)
{
	if (file->bytes)
		munmap(file->bytes, file->size_bytes);
	*file = (struct mapped_file){ 0 };
}
