/*
 * report_json_parts - pieces of a report in JSON that other documents hold too.
 */
#pragma once

struct cell;
struct json_stream;
struct report;
struct report_row;

/* "scope": host, time, what a filter left. */
void report_json_add_scope(struct json_stream *json, const struct report *report);
/* "events": the columns of the report, each with its bill. */
void report_json_add_events(struct json_stream *json, const struct report *report);
/* What the row is about: "procedure", "image" and the like, by the report's parts. */
void report_json_add_key(struct json_stream *json, const struct report *report,
			 const struct report_row *row);
/* "cpi" and "topdown" of a row's cells, by column: one entry a core type and scope that has both
 * events. */
void report_json_add_ratios(struct json_stream *json, const struct report *report,
			    const struct cell *cells);
