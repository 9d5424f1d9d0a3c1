#include "cli/top_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"

void top_lines_of(struct top_lines *lines, const struct buffer *text)
{
	lines->text = text;
	lines->count = 0;
	for (size_t at = 0; at < text->size;) {
		const uint8_t *end = memchr(text->data + at, '\n', text->size - at);
		if (array_reserve(&lines->starts, &lines->capacity, lines->count + 1,
				  sizeof(*lines->starts)) < 0)
			return;
		lines->starts[lines->count++] = at;
		at = end ? (size_t)(end - text->data) + 1 : text->size + 1;
		lines->starts[lines->count] = at;
	}
}

struct span top_lines_get(const struct top_lines *lines, size_t at)
{
	if (at >= lines->count)
		return (struct span){ NULL, 0 };
	size_t start = lines->starts[at];
	return (struct span){ lines->text->data + start, lines->starts[at + 1] - 1 - start };
}

void top_lines_release(struct top_lines *lines)
{
	free(lines->starts);
	*lines = (struct top_lines){ 0 };
}
