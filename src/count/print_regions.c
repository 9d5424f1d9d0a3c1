/* What regions came to, as text, CSV and JSON. */
#include <math.h>

#include "base/c_locale.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "count/print_json.h"
#include "count/print_table.h"

/* One quantity of a region: the time, or an event. */
struct row {
	const struct culprit_region_result *result;
	const struct culprit_region_event *value;
	struct culprit_event event;
	double per_unit; /* NAN without units */
	bool first;	 /* of its result: the one that says what went wrong with the region */
};

static struct row row_of(const struct culprit_regions *regions,
			 const struct culprit_region_result *result, size_t quantity,
			 const struct culprit_print_options *options)
{
	struct row row = { .result = result, .first = quantity == 0 };
	if (quantity == 0) {
		row.value = &result->time;
		row.event =
			(struct culprit_event){ .name = "time", .counted = "time", .unit = "ns" };
	} else {
		row.value = &result->events[quantity - 1];
		culprit_regions_event(regions, quantity - 1, &row.event);
	}
	row.per_unit = options->units > 0 ? row.value->total / options->units : NAN;
	return row;
}

static void add_loss(struct buffer *note, uint64_t times, const char *what)
{
	if (times)
		buffer_printf(note, "%llu %s; ", (unsigned long long)times, what);
}

static void add_note(struct print_table *table, const struct row *row)
{
	CLEANUP(buffer_release) struct buffer note = { 0 };
	if (row->first) {
		add_loss(&note, row->result->mismatched, "mismatched");
		add_loss(&note, row->result->omitted, "omitted");
		add_loss(&note, row->result->not_joined, "in threads that had not joined");
	}
	if (row->value->count)
		add_loss(&note, row->value->absent, "absent");
	if (row->value->flags & CULPRIT_SUBSTITUTE && row->event.counted)
		buffer_printf(&note, "%s is counted; ", row->event.counted);
	if (row->value->flags & CULPRIT_TOO_SMALL) {
		char from[PRINT_NUMBER];
		print_short_number(row->value->measurable, from);
		buffer_printf(&note, "measurable from %s %s on; ", from, row->event.unit);
	}
	print_flags(row->value->flags, row->event.why, &note);
	print_trim(&note);
	table->texts.failed |= buffer_failed(&note);
	print_table_text(table, buffer_text(&note));
}

static void add_thread(struct print_table *table, int thread, const char *all)
{
	if (thread)
		print_table_format(table, "%d", thread);
	else
		print_table_text(table, all);
}

/* Columns of text; CSV's are the names of the fields. */
static void add_text_row(struct print_table *table, const struct row *row)
{
	const struct culprit_region_event *value = row->value;
	print_table_text(table, row->result->name);
	add_thread(table, row->result->thread, "all");
	print_table_text(table, row->event.name);
	print_table_text(table, row->event.core_type);
	print_table_text(table, row->event.unit);
	print_table_count(table, value->count);
	print_table_short_number(table, value->min);
	print_table_short_number(table, value->median);
	print_table_short_number(table, value->p99);
	print_table_short_number(table, value->max);
	print_table_short_number(table, value->total);
	print_table_interval(table, value->low, value->high);
	print_table_short_number(table, row->per_unit);
	add_note(table, row);
}

static void add_csv_row(struct print_table *table, const struct row *row)
{
	const struct culprit_region_event *value = row->value;
	const double numbers[] = { value->min,	value->median,	   value->p99,
				   value->max,	value->total,	   value->low,
				   value->high, value->measurable, row->per_unit };
	print_table_text(table, row->result->name);
	add_thread(table, row->result->thread, NULL);
	print_table_text(table, row->event.name);
	print_table_text(table, row->event.core_type);
	print_table_text(table, row->event.unit);
	print_table_count(table, value->count);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		print_table_number(table, numbers[i]);
	print_table_count(table, value->absent);
	print_table_count(table, row->result->mismatched);
	print_table_count(table, row->result->omitted);
	print_table_count(table, row->result->not_joined);
	print_table_text(table, row->event.counted);
	print_table_flags(table, value->flags);
	print_table_text(table, row->event.why);
}

static void write_table(const struct culprit_regions *regions,
			const struct culprit_print_options *options, struct buffer *out)
{
	static const struct print_column csv_columns[] = {
		{ "region", false },	 { "thread", false },	  { "event", false },
		{ "core_type", false },	 { "unit", false },	  { "count", false },
		{ "min", false },	 { "median", false },	  { "p99", false },
		{ "max", false },	 { "total", false },	  { "low", false },
		{ "high", false },	 { "measurable", false }, { "per_unit", false },
		{ "absent", false },	 { "mismatched", false }, { "omitted", false },
		{ "not_joined", false }, { "counted", false },	  { "flags", false },
		{ "why", false },
	};
	CLEANUP(buffer_release) struct buffer per = { 0 };
	buffer_printf(&per, "per %s", options->unit ? options->unit : "unit");
	const struct print_column text_columns[] = {
		{ "region", false },
		{ "thread", false },
		{ "event", false },
		{ "core type", false },
		{ "unit", false },
		{ "count", true },
		{ "min", true },
		{ "median", true },
		{ "p99", true },
		{ "max", true },
		{ "total", true },
		{ "95 % interval", false },
		{ buffer_text(&per), true },
		{ "", false },
	};
	bool csv = options->format == CULPRIT_CSV;
	struct print_table table;
	print_table_begin(&table, csv ? csv_columns : text_columns,
			  csv ? COUNT_OF(csv_columns) : COUNT_OF(text_columns));
	size_t rows = culprit_regions_results(regions);
	for (size_t i = 0; i < rows; i++) {
		struct culprit_region_result result;
		if (culprit_regions_result(regions, i, &result))
			break;
		for (size_t k = 0; k <= result.event_count; k++) {
			struct row row = row_of(regions, &result, k, options);
			if (csv)
				add_csv_row(&table, &row);
			else
				add_text_row(&table, &row);
		}
	}
	print_table_end(&table, options->format, out);
}

static void write_json_event(struct json_stream *json, const struct row *row)
{
	const struct culprit_region_event *value = row->value;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_text(json, "event", row->event.name);
	json_stream_text(json, "core_type", row->event.core_type);
	json_stream_text(json, "unit", row->event.unit);
	json_stream_u64(json, "count", value->count);
	json_stream_u64(json, "absent", value->absent);
	print_json_number(json, "min", value->min);
	print_json_number(json, "median", value->median);
	print_json_number(json, "p99", value->p99);
	print_json_number(json, "max", value->max);
	print_json_number(json, "total", value->total);
	print_json_number(json, "low", value->low);
	print_json_number(json, "high", value->high);
	print_json_number(json, "measurable", value->measurable);
	print_json_number(json, "per_unit", row->per_unit);
	json_stream_text(json, "counted", row->event.counted);
	print_json_flags(json, value->flags);
	json_stream_text(json, "why", row->event.why);
	json_stream_close(json, '}');
}

static void write_json_region(struct json_stream *json, const struct culprit_regions *regions,
			      const struct culprit_region_result *result,
			      const struct culprit_print_options *options)
{
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_text(json, "region", result->name);
	json_stream_known(json, "thread", result->thread != 0, (uint64_t)result->thread);
	json_stream_u64(json, "mismatched", result->mismatched);
	json_stream_u64(json, "omitted", result->omitted);
	json_stream_known(json, "not_joined", result->thread == 0, result->not_joined);
	json_stream_open(json, "values", '[', JSON_LINES);
	for (size_t i = 0; i <= result->event_count; i++) {
		struct row row = row_of(regions, result, i, options);
		write_json_event(json, &row);
	}
	json_stream_close(json, ']');
	json_stream_close(json, '}');
}

static void write_json(const struct culprit_regions *regions,
		       const struct culprit_print_options *options, struct buffer *out)
{
	struct json_stream json = { .out = out };
	print_json_begin(&json, options);
	json_stream_open(&json, "regions", '[', JSON_LINES);
	size_t rows = culprit_regions_results(regions);
	for (size_t i = 0; i < rows; i++) {
		struct culprit_region_result result;
		if (culprit_regions_result(regions, i, &result))
			break;
		write_json_region(&json, regions, &result, options);
	}
	json_stream_close(&json, ']');
	json_stream_end(&json, '}');
}

int culprit_regions_print(const struct culprit_regions *regions,
			  const struct culprit_print_options *options, FILE *stream)
{
	static const struct culprit_print_options usual = { .format = CULPRIT_TEXT };
	CLEANUP(buffer_release) struct buffer out = { 0 };
	locale_t before = c_locale_enter();
	options = options ? options : &usual;
	if (options->format == CULPRIT_JSON)
		write_json(regions, options, &out);
	else
		write_table(regions, options, &out);
	c_locale_leave(before);
	return print_write(&out, stream);
}
