#include "export/csv.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/csv_cell.h"
#include "base/error.h"
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
			csv_cell_append(&sink->buffer, &writer->cell, values[i].text, ",");
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
