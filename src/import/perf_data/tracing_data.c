#include "import/perf_data/tracing_data.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"
#include "import/text/text_lines.h"

#define NAME_MOST 255	     /* bytes of a system's or an event's: they are names of folders */
#define ID_MOST	  UINT16_MAX /* Linux writes a number in 16 bits (struct trace_entry) */

struct tracing {
	struct cursor cursor;
	bool swap;
	tracing_data_visit visit;
	void *context;
};

static uint32_t take_u32(struct tracing *tracing)
{
	return cursor_u32_swapped(&tracing->cursor, tracing->swap);
}

static uint64_t take_u64(struct tracing *tracing)
{
	return cursor_u64_swapped(&tracing->cursor, tracing->swap);
}

/* Up to its NUL, which is passed over. */
static struct span take_name(struct tracing *tracing)
{
	struct cursor *cursor = &tracing->cursor;
	const char *text = (const char *)cursor->start + cursor->at;
	size_t left = cursor_left(cursor);
	size_t size = strnlen(text, left);
	cursor_take(cursor, size + 1); /* fails when there is none */
	return (struct span){ text, size };
}

/* A file of tracefs with its size before it. */
static struct span take_file(struct tracing *tracing)
{
	uint64_t size = take_u64(tracing);
	if (size > cursor_left(&tracing->cursor)) {
		tracing->cursor.failed = true;
		return (struct span){ NULL, 0 };
	}
	return (struct span){ cursor_take(&tracing->cursor, size), size };
}

static bool take_mark(struct tracing *tracing, const void *mark, size_t size)
{
	const void *bytes = cursor_take(&tracing->cursor, size);
	if (!bytes || memcmp(bytes, mark, size) != 0)
		tracing->cursor.failed = true;
	return !tracing->cursor.failed;
}

/* What follows `key` on a line of a format: "name: sched_switch". */
static struct span line_of(struct span format, const char *key)
{
	size_t size = strlen(key);
	struct span line;
	while (text_lines_cut(&format, &line))
		if (line.size > size && memcmp(line.data, key, size) == 0)
			return (struct span){ (const char *)line.data + size, line.size - size };
	return (struct span){ NULL, 0 };
}

static bool take_id(struct span text, uint64_t *id)
{
	*id = 0;
	for (size_t i = 0; i < text.size && *id <= ID_MOST; i++) {
		char digit = ((const char *)text.data)[i];
		if (digit < '0' || digit > '9')
			return false;
		*id = *id * 10 + (uint64_t)(digit - '0');
	}
	return text.size > 0 && *id <= ID_MOST;
}

static int take_system(struct tracing *tracing)
{
	struct span system = take_name(tracing);
	uint32_t count = take_u32(tracing);
	for (uint32_t i = 0; i < count && !tracing->cursor.failed; i++) {
		struct span format = take_file(tracing);
		struct span name = line_of(format, "name: ");
		uint64_t id;
		if (!name.size || name.size > NAME_MOST || system.size > NAME_MOST ||
		    !take_id(line_of(format, "ID: "), &id))
			continue;
		int ret = tracing->visit(tracing->context, id, system, name);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static bool take_header(struct tracing *tracing)
{
	if (!take_mark(tracing, "\x17\x08\x44tracing", 10))
		return false;
	take_name(tracing); /* version */
	tracing->swap = cursor_u8(&tracing->cursor) != 0;
	cursor_u8(&tracing->cursor); /* bytes of a long */
	take_u32(tracing);	     /* of a page */
	if (!take_mark(tracing, "header_page", 12))
		return false;
	take_file(tracing);
	if (!take_mark(tracing, "header_event", 13))
		return false;
	take_file(tracing);
	uint32_t own = take_u32(tracing); /* ftrace's own events, which perf cannot open */
	for (uint32_t i = 0; i < own && !tracing->cursor.failed; i++)
		take_file(tracing);
	return !tracing->cursor.failed;
}

int tracing_data_read(struct span bytes, tracing_data_visit visit, void *context)
{
	struct tracing tracing = { .cursor = cursor_of(bytes.data, bytes.size),
				   .visit = visit,
				   .context = context };
	if (!take_header(&tracing))
		return -EBADMSG;
	uint32_t systems = take_u32(&tracing);
	int ret = 0;
	for (uint32_t i = 0; i < systems && ret == 0 && !tracing.cursor.failed; i++)
		ret = take_system(&tracing);
	return ret == 0 && tracing.cursor.failed ? -EBADMSG : ret;
}
