#include "export/csv.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/visible_text.h"
#include "export/rows.h"
#include "export/sink.h"

struct writer {
	struct sink *sink;
	struct buffer cell; /* as it is shown, before quotes */
};

static void writer_release(struct writer *writer)
{
	buffer_release(&writer->cell);
}

static bool needs_quotes(const struct buffer *text)
{
	for (size_t i = 0; i < text->size; i++)
		if (text->data[i] == ',' || text->data[i] == '"')
			return true;
	return text->size == 0 || text->data[0] == ' ' || text->data[text->size - 1] == ' ';
}

/* Whether a spreadsheet would run the cell as a formula, or drop a "'" in front, which marks text.
 * East Asian ones accept wide forms of these characters too. */
static bool begins_formula(struct span text)
{
	static const char *const wide[] = { "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
					    "\xef\xbc\xa0" }; /* = + - @ */
	const char *bytes = text.data;
	if (text.size && bytes[0] && strchr("=+-@'", bytes[0]))
		return true;
	for (size_t i = 0; i < COUNT_OF(wide); i++)
		if (span_starts_with(text, wide[i]))
			return true;
	return false;
}

/* Appends text in which no cell is a formula: a "'" comes before it. Where decimals have a comma,
 * spreadsheets split cells at ';', so each frame of a stack counts as the beginning of a cell. */
static void append_harmless(struct buffer *cell, struct span text)
{
	const char *bytes = text.data;
	for (size_t from = 0; from < text.size;) {
		const char *end = memchr(bytes + from, ';', text.size - from);
		size_t size = end ? (size_t)(end + 1 - bytes) - from : text.size - from;
		const struct span part = { bytes + from, size };
		if (begins_formula(part))
			buffer_append_u8(cell, '\'');
		text_append_safe(cell, part.data, part.size);
		from += size;
	}
}

static void append_text(struct writer *writer, struct span text)
{
	struct buffer *out = &writer->sink->buffer, *cell = &writer->cell;
	cell->size = 0;
	append_harmless(cell, text);
	out->failed |= buffer_failed(cell);
	if (!needs_quotes(cell)) {
		buffer_append(out, cell->data, cell->size);
		return;
	}
	size_t written = 0;
	buffer_append_u8(out, '"');
	for (size_t i = 0; i < cell->size; i++) {
		if (cell->data[i] != '"')
			continue;
		buffer_append(out, cell->data + written, i + 1 - written);
		written = i; /* again: a quote is doubled */
	}
	if (written < cell->size)
		buffer_append(out, cell->data + written, cell->size - written);
	buffer_append_u8(out, '"');
}

static int write_row(void *context, const struct row_value *values)
{
	struct writer *writer = context;
	struct sink *sink = writer->sink;
	for (size_t i = 0; i < ROW_COLUMNS; i++) {
		if (i)
			buffer_append_u8(&sink->buffer, ',');
		if (values[i].kind == ROW_NUMBER)
			buffer_append(&sink->buffer, values[i].text.data, values[i].text.size);
		else if (values[i].kind == ROW_TEXT)
			append_text(writer, values[i].text);
	}
	buffer_append_u8(&sink->buffer, '\n');
	return sink_flush_some(sink);
}

static int write_csv(const struct export_input *input, struct sink *sink, struct export_sums *sums,
		     struct error *err)
{
	CLEANUP(writer_release) struct writer writer = { .sink = sink };
	for (size_t i = 0; i < ROW_COLUMNS; i++) {
		buffer_append_text(&sink->buffer, i ? "," : "");
		buffer_append_text(&sink->buffer, row_column_names[i]);
	}
	buffer_append_u8(&sink->buffer, '\n');
	int ret = rows_each(input, write_row, &writer, sums);
	return ret == -ENOMEM ? error_set(err, ret, "out of memory writing rows") : ret;
}

const struct exporter exporter_csv = {
	.name = "csv",
	.what = "long rows, one fact each, for a store of columns",
	.most_events = EXPORT_ANY_EVENTS,
	.uses = EXPORT_USES_MARKS | EXPORT_USES_INLINED,
	.write = write_csv,
};
