#include "export/json.h"

#include <errno.h>

#include "base/error.h"
#include "base/json_stream.h"
#include "export/rows.h"
#include "export/sink.h"

struct writer {
	struct sink *sink;
	struct json_stream json;
};

static int write_row(void *context, const struct row_value *values)
{
	struct writer *writer = context;
	struct json_stream *json = &writer->json;
	json_stream_open(json, NULL, '{', JSON_ONE_LINE);
	for (size_t i = 0; i < ROW_COLUMNS; i++) {
		const struct row_value *value = &values[i];
		if (value->kind == ROW_NUMBER) {
			json_stream_key(json, row_column_names[i]);
			buffer_append(json->out, value->text.data, value->text.size);
		} else if (value->kind == ROW_TEXT) {
			json_stream_span(json, row_column_names[i], value->text);
		} else {
			json_stream_null(json, row_column_names[i]);
		}
	}
	json_stream_close(json, '}');
	return sink_flush_some(writer->sink);
}

static int write_json(const struct export_input *input, struct sink *sink, struct export_sums *sums,
		      struct error *err)
{
	struct writer writer = { .sink = sink, .json = { .out = &sink->buffer } };
	json_stream_open(&writer.json, NULL, '{', JSON_LINES);
	json_stream_u64(&writer.json, "schema", 1);
	json_stream_open(&writer.json, "rows", '[', JSON_LINES);
	int ret = rows_each(input, write_row, &writer, sums);
	json_stream_close(&writer.json, ']');
	json_stream_end(&writer.json, '}');
	return ret == -ENOMEM ? error_set(err, ret, "out of memory writing rows") : ret;
}

const struct exporter exporter_json = {
	.name = "json",
	.what = "the rows of csv as one JSON document",
	.most_events = EXPORT_ANY_EVENTS,
	.uses = EXPORT_USES_MARKS | EXPORT_USES_INLINED,
	.write = write_json,
};
