/* Values of counters, as text, CSV and JSON. */
#include <math.h>

#include "base/c_locale.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "count/print_json.h"
#include "count/print_table.h"

struct row {
	struct culprit_event event;
	const struct culprit_value *value;
	double per_unit; /* NAN without units */
};

static struct row row_of(const struct culprit_counters *counters, size_t index,
			 const struct culprit_value *value,
			 const struct culprit_print_options *options)
{
	struct row row = { .value = value };
	culprit_counters_event(counters, index, &row.event);
	row.per_unit = options->units > 0 ? value->value / options->units : NAN;
	return row;
}

static void add_note(struct print_table *table, const struct row *row)
{
	CLEANUP(buffer_release) struct buffer note = { 0 };
	const struct culprit_value *value = row->value;
	if (value->flags & CULPRIT_MULTIPLEXED && value->enabled_ns)
		buffer_printf(&note, "counted %.1f %% of the time; ",
			      100 * (double)value->running_ns / (double)value->enabled_ns);
	if (value->flags & CULPRIT_SUBSTITUTE && row->event.counted)
		buffer_printf(&note, "%s is counted; ", row->event.counted);
	print_flags(value->flags, row->event.why, &note);
	print_trim(&note);
	table->texts.failed |= buffer_failed(&note);
	print_table_text(table, buffer_text(&note));
}

static void write_text(const struct culprit_counters *counters, const struct culprit_value *values,
		       size_t count, const struct culprit_print_options *options,
		       struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer per = { 0 };
	buffer_printf(&per, "per %s", options->unit ? options->unit : "unit");
	const struct print_column columns[] = {
		{ "value", true },	{ "unit", false },	    { "event", false },
		{ "core type", false }, { "95 % interval", false }, { buffer_text(&per), true },
		{ "", false },
	};
	struct print_table table;
	print_table_begin(&table, columns, COUNT_OF(columns));
	for (size_t i = 0; i < count; i++) {
		struct row row = row_of(counters, i, &values[i], options);
		print_table_short_number(&table, values[i].value);
		print_table_text(&table, row.event.unit);
		print_table_text(&table, row.event.name);
		print_table_text(&table, row.event.core_type);
		print_table_interval(&table, values[i].low, values[i].high);
		print_table_short_number(&table, row.per_unit);
		add_note(&table, &row);
	}
	print_table_end(&table, CULPRIT_TEXT, out);
}

static void write_csv(const struct culprit_counters *counters, const struct culprit_value *values,
		      size_t count, const struct culprit_print_options *options, struct buffer *out)
{
	static const struct print_column columns[] = {
		{ "event", false },    { "core_type", false },	{ "unit", false },
		{ "value", false },    { "low", false },	{ "high", false },
		{ "count", false },    { "enabled_ns", false }, { "running_ns", false },
		{ "per_unit", false }, { "counted", false },	{ "flags", false },
		{ "why", false },
	};
	struct print_table table;
	print_table_begin(&table, columns, COUNT_OF(columns));
	for (size_t i = 0; i < count; i++) {
		struct row row = row_of(counters, i, &values[i], options);
		print_table_text(&table, row.event.name);
		print_table_text(&table, row.event.core_type);
		print_table_text(&table, row.event.unit);
		print_table_number(&table, values[i].value);
		print_table_number(&table, values[i].low);
		print_table_number(&table, values[i].high);
		if (values[i].flags & CULPRIT_ABSENT)
			print_table_text(&table, NULL);
		else
			print_table_count(&table, values[i].count);
		print_table_count(&table, values[i].enabled_ns);
		print_table_count(&table, values[i].running_ns);
		print_table_number(&table, row.per_unit);
		print_table_text(&table, row.event.counted);
		print_table_flags(&table, values[i].flags);
		print_table_text(&table, row.event.why);
	}
	print_table_end(&table, CULPRIT_CSV, out);
}

static void write_json_value(struct json_stream *json, const struct row *row)
{
	const struct culprit_value *value = row->value;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_text(json, "event", row->event.name);
	json_stream_text(json, "core_type", row->event.core_type);
	json_stream_text(json, "unit", row->event.unit);
	print_json_number(json, "value", value->value);
	print_json_number(json, "low", value->low);
	print_json_number(json, "high", value->high);
	json_stream_known(json, "count", !(value->flags & CULPRIT_ABSENT), value->count);
	json_stream_u64(json, "enabled_ns", value->enabled_ns);
	json_stream_u64(json, "running_ns", value->running_ns);
	print_json_number(json, "per_unit", row->per_unit);
	json_stream_text(json, "counted", row->event.counted);
	print_json_flags(json, value->flags);
	json_stream_text(json, "why", row->event.why);
	json_stream_close(json, '}');
}

static void write_json(const struct culprit_counters *counters, const struct culprit_value *values,
		       size_t count, const struct culprit_print_options *options,
		       struct buffer *out)
{
	struct json_stream json = { .out = out };
	print_json_begin(&json, options);
	json_stream_open(&json, "values", '[', JSON_LINES);
	for (size_t i = 0; i < count; i++) {
		struct row row = row_of(counters, i, &values[i], options);
		write_json_value(&json, &row);
	}
	json_stream_close(&json, ']');
	json_stream_end(&json, '}');
}

static void write_as(const struct culprit_counters *counters, const struct culprit_value *values,
		     size_t count, const struct culprit_print_options *options, struct buffer *out)
{
	if (options->format == CULPRIT_JSON)
		write_json(counters, values, count, options, out);
	else if (options->format == CULPRIT_CSV)
		write_csv(counters, values, count, options, out);
	else
		write_text(counters, values, count, options, out);
}

int culprit_counters_print(const struct culprit_counters *counters,
			   const struct culprit_value *values, size_t count,
			   const struct culprit_print_options *options, FILE *stream)
{
	static const struct culprit_print_options usual = { .format = CULPRIT_TEXT };
	CLEANUP(buffer_release) struct buffer out = { 0 };
	if (count > culprit_counters_count(counters))
		count = culprit_counters_count(counters);
	options = options ? options : &usual;
	locale_t before = c_locale_enter();
	write_as(counters, values, count, options, &out);
	c_locale_leave(before);
	return print_write(&out, stream);
}
