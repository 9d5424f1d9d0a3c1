#include "count/sampler_lines.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sampler_lines_open(struct sampler_lines *lines, const char *path)
{
	lines->fd = open(path, O_RDONLY | O_CLOEXEC);
	lines->at = lines->size = 0;
}

void sampler_lines_close(struct sampler_lines *lines)
{
	if (lines->fd >= 0)
		close(lines->fd);
	lines->fd = -1;
}

char *sampler_lines_next(struct sampler_lines *lines)
{
	for (;;) {
		char *start = lines->bytes + lines->at;
		char *end = memchr(start, '\n', lines->size - lines->at);
		if (end) {
			*end = '\0';
			lines->at = (size_t)(end - lines->bytes) + 1;
			return start;
		}
		memmove(lines->bytes, start, lines->size - lines->at);
		lines->size -= lines->at;
		lines->at = 0;
		size_t room = sizeof(lines->bytes) - 1 - lines->size;
		ssize_t more = room && lines->fd >= 0
				       ? read(lines->fd, lines->bytes + lines->size, room)
				       : 0;
		if (more > 0) {
			lines->size += (size_t)more;
			continue;
		}
		if (!lines->size)
			return NULL;
		lines->bytes[lines->size] = '\0';
		lines->at = lines->size;
		return lines->bytes;
	}
}

uint64_t sampler_lines_number(char **text, int base, char after)
{
	char *end;
	uint64_t value = strtoull(*text, &end, base);
	*text = *end == after ? end + 1 : end;
	return value;
}
