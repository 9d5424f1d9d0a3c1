#include "export/csv.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "export/rows.h"
#include "export/sink.h"

static bool needs_quotes(struct span text)
{
	const char *bytes = text.data;
	for (size_t i = 0; i < text.size; i++)
		if (bytes[i] == ',' || bytes[i] == '"' || bytes[i] == '\n' || bytes[i] == '\r')
			return true;
	return text.size == 0 || bytes[0] == ' ' || bytes[text.size - 1] == ' ';
}

static void append_text(struct buffer *out, struct span text)
{
	if (!needs_quotes(text)) {
		buffer_append(out, text.data, text.size);
		return;
	}
	const char *bytes = text.data;
	size_t written = 0;
	buffer_append_u8(out, '"');
	for (size_t i = 0; i < text.size; i++) {
		if (bytes[i] != '"')
			continue;
		buffer_append(out, bytes + written, i + 1 - written);
		written = i; /* again: a quote is doubled */
	}
	if (written < text.size)
		buffer_append(out, bytes + written, text.size - written);
	buffer_append_u8(out, '"');
}

static int take_row(void *context, const struct row_value *values)
{
	struct sink *sink = context;
	for (size_t i = 0; i < ROW_COLUMNS; i++) {
		if (i)
			buffer_append_u8(&sink->buffer, ',');
		if (values[i].kind == ROW_NUMBER)
			buffer_append(&sink->buffer, values[i].text.data, values[i].text.size);
		else if (values[i].kind == ROW_TEXT)
			append_text(&sink->buffer, values[i].text);
	}
	buffer_append_u8(&sink->buffer, '\n');
	return sink_flush_some(sink);
}

static int write_csv(const struct export_input *input, struct sink *sink, struct export_sums *sums,
		     struct error *err)
{
	for (size_t i = 0; i < ROW_COLUMNS; i++) {
		buffer_append_text(&sink->buffer, i ? "," : "");
		buffer_append_text(&sink->buffer, row_column_names[i]);
	}
	buffer_append_u8(&sink->buffer, '\n');
	int ret = rows_each(input, take_row, sink, sums);
	return ret == -ENOMEM ? error_set(err, ret, "out of memory writing rows") : ret;
}

const struct exporter exporter_csv = {
	.name = "csv",
	.what = "long rows, one fact each, for a store of columns",
	.most_events = EXPORT_ANY_EVENTS,
	.uses = EXPORT_USES_MARKS | EXPORT_USES_INLINED,
	.write = write_csv,
};
