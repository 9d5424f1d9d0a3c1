#include "import/text_lines.h"

#include <errno.h>

#include "base/error.h"

void text_lines_release(struct text_lines *lines)
{
	buffer_release(&lines->pending);
}

static int hand_on(struct text_lines *lines, const char *text, size_t size, struct error *err)
{
	lines->number++;
	if (size && text[size - 1] == '\r')
		size--;
	return lines->take(lines->context, (struct span){ text, size }, err);
}

static int keep(struct text_lines *lines, const char *text, size_t size, struct error *err)
{
	if (size > TEXT_LINES_MAX_BYTES - lines->pending.size)
		return error_set(err, -EPROTO, "line %llu is longer than %u MiB",
				 (unsigned long long)lines->number + 1, TEXT_LINES_MAX_BYTES >> 20);
	buffer_append(&lines->pending, text, size);
	return buffer_failed(&lines->pending) ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static int hand_on_pending(struct text_lines *lines, struct error *err)
{
	struct buffer whole = lines->pending;
	lines->pending = (struct buffer){ 0 };
	int ret = hand_on(lines, (const char *)whole.data, whole.size, err);
	buffer_release(&whole);
	return ret;
}

int text_lines_feed(struct text_lines *lines, const void *bytes, size_t size, struct error *err)
{
	const char *text = bytes;
	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;
		int ret = 0;
		if (!end || lines->pending.size)
			ret = keep(lines, text, length, err);
		if (ret == 0 && end)
			ret = lines->pending.size ? hand_on_pending(lines, err)
						  : hand_on(lines, text, length, err);
		if (ret < 0)
			return ret;
		length += end != NULL;
		text += length;
		size -= length;
	}
	return 0;
}

int text_lines_finish(struct text_lines *lines, struct error *err)
{
	return lines->pending.size ? hand_on_pending(lines, err) : 0;
}
