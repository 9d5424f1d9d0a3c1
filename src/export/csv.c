#include "export/csv.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
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

/* Spreadsheets take a cell that begins so for a formula, or for the mark that it is none. */
static bool begins_formula(const struct buffer *text)
{
	return text->size && strchr("=+-@'", text->data[0]);
}

static void append_text(struct writer *writer, struct span text)
{
	struct buffer *out = &writer->sink->buffer, *cell = &writer->cell;
	cell->size = 0;
	text_append_safe(cell, text.data, text.size);
	if (begins_formula(cell)) {
		cell->size = 0;
		buffer_append_u8(cell, '\'');
		text_append_safe(cell, text.data, text.size);
	}
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

static int take_row(void *context, const struct row_value *values)
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
	int ret = rows_each(input, take_row, &writer, sums);
	return ret == -ENOMEM ? error_set(err, ret, "out of memory writing rows") : ret;
}

const struct exporter exporter_csv = {
	.name = "csv",
	.what = "long rows, one fact each, for a store of columns",
	.most_events = EXPORT_ANY_EVENTS,
	.uses = EXPORT_USES_MARKS | EXPORT_USES_INLINED,
	.write = write_csv,
};
