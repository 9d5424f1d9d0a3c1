#include "support/made_up_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"

const struct made_up_file *made_up_files;

int __wrap_small_file_read(const char *path, size_t limit_bytes, struct buffer *out);
int __real_small_file_read(const char *path, size_t limit_bytes, struct buffer *out);
int __wrap_open64(const char *path, int flags, ...);
/* Of 64-bit systems, where these functions have no other names. */
int __wrap_open(const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);

static const struct made_up_file *find(const char *path)
{
	for (const struct made_up_file *file = made_up_files; file && file->path; file++)
		if (strcmp(file->path, path) == 0)
			return file;
	return NULL;
}

int __wrap_small_file_read(const char *path, size_t limit_bytes, struct buffer *out)
{
	const struct made_up_file *file = find(path);
	if (!file)
		return __real_small_file_read(path, limit_bytes, out);
	if (!file->text)
		return -EACCES;
	if (strlen(file->text) > limit_bytes)
		return -EFBIG;
	buffer_append_text(out, file->text);
	return buffer_failed(out) ? -ENOMEM : 0;
}

static int open_text(const struct made_up_file *file)
{
	if (!file->text) {
		errno = EACCES;
		return -1;
	}
	int fd = memfd_create("made-up", MFD_CLOEXEC);
	ssize_t size = (ssize_t)strlen(file->text);
	if (fd < 0 || write(fd, file->text, (size_t)size) != size || lseek(fd, 0, SEEK_SET) != 0)
		abort(); /* nothing can be tested */
	return fd;
}

int __wrap_open64(const char *path, int flags, ...)
{
	const struct made_up_file *file = find(path);
	va_list list;
	va_start(list, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	return file ? open_text(file) : __real_open64(path, flags, mode);
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	return __wrap_open64(path, flags, mode);
}
