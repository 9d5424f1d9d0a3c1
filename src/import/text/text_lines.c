#include "import/text/text_lines.h"

#include <errno.h>
#include <string.h>

#include "base/budget.h"
#include "base/error.h"
#include "base/utf8.h"

void text_lines_release(struct text_lines *lines)
{
	buffer_release(&lines->pending);
}

static int hand_on(struct text_lines *lines, const char *line, size_t size, struct error *err)
{
	size_t mark = ++lines->number == 1 ? utf8_mark_size(line, size) : 0;
	line += mark;
	size -= mark;
	if (size && line[size - 1] == '\r')
		size--;
	budget_place("line", lines->number);
	return lines->take(lines->context, (struct span){ size ? line : "", size }, err);
}

static int too_long(struct text_lines *lines, struct error *err)
{
	lines->number++;
	if (lines->tolerant)
		return lines->take(lines->context, (struct span){ NULL, 0 }, err);
	return error_set(err, -EPROTO, "line %llu is longer than %u MiB",
			 (unsigned long long)lines->number, TEXT_LINES_MAX_BYTES >> 20);
}

static int keep(struct text_lines *lines, const char *text, size_t size, struct error *err)
{
	if (lines->skipping || !size)
		return 0;
	if (size > TEXT_LINES_MAX_BYTES - lines->pending.size) {
		lines->skipping = true;
		buffer_empty(&lines->pending);
		return 0;
	}
	buffer_append(&lines->pending, text, size);
	return buffer_failed(&lines->pending) ? error_set(err, -ENOMEM, "out of memory for a line")
					      : 0;
}

/* The end of a line that began in an earlier piece: `text` is its last part. */
static int end_pending(struct text_lines *lines, const char *text, size_t size, struct error *err)
{
	int ret = keep(lines, text, size, err);
	if (ret < 0)
		return ret;
	ret = lines->skipping
		      ? too_long(lines, err)
		      : hand_on(lines, (const char *)lines->pending.data, lines->pending.size, err);
	lines->skipping = false;
	buffer_empty(&lines->pending);
	return ret;
}

int text_lines_feed(struct text_lines *lines, const void *bytes, size_t size, struct error *err)
{
	const char *text = bytes;
	while (size) {
		const char *end = memchr(text, '\n', size);
		if (!end)
			return keep(lines, text, size, err);
		size_t length = (size_t)(end - text);
		int ret;
		if (lines->pending.size || lines->skipping)
			ret = end_pending(lines, text, length, err);
		else if (length > TEXT_LINES_MAX_BYTES)
			ret = too_long(lines, err);
		else
			ret = hand_on(lines, text, length, err);
		if (ret < 0)
			return ret;
		text = end + 1;
		size -= length + 1;
	}
	return 0;
}

int text_lines_finish(struct text_lines *lines, struct error *err)
{
	if (!lines->pending.size && !lines->skipping)
		return 0;
	lines->unended = true;
	return end_pending(lines, NULL, 0, err);
}

bool text_lines_cut(struct span *rest, struct span *line)
{
	const char *text = rest->data;
	if (rest->size == 0)
		return false;
	const char *end = memchr(text, '\n', rest->size);
	size_t size = end ? (size_t)(end - text) : rest->size;
	size_t next = end ? size + 1 : size;
	*rest = (struct span){ text + next, rest->size - next };
	if (size && text[size - 1] == '\r')
		size--;
	*line = (struct span){ text, size };
	return true;
}

bool text_line_is_blank(struct span line)
{
	const char *text = line.data;
	for (size_t i = 0; i < line.size; i++)
		if (text[i] != ' ' && text[i] != '\t')
			return false;
	return true;
}
