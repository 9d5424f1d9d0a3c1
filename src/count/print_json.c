#include "count/print_json.h"

#include <math.h>

#include "count/print_table.h"

void print_json_begin(struct json_stream *json, const struct culprit_print_options *options)
{
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_u64(json, "schema", 1);
	print_json_number(json, "units", options->units > 0 ? options->units : NAN);
	json_stream_text(json, "unit_of_work",
			 options->units > 0 ? options->unit ? options->unit : "unit" : NULL);
}

void print_json_number(struct json_stream *json, const char *key, double number)
{
	char text[PRINT_NUMBER] = "null";
	if (isfinite(number))
		print_number(number, text);
	json_stream_raw(json, key, text);
}

void print_json_flags(struct json_stream *json, uint32_t flags)
{
	uint32_t flag;
	const char *words;
	json_stream_open(json, "flags", '[', JSON_ONE_LINE);
	for (size_t i = 0; (words = print_flag(i, &flag)); i++)
		if (flags & flag)
			json_stream_text(json, NULL, words);
	json_stream_close(json, ']');
}
