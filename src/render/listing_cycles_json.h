/*
 * listing_cycles_json - executions and cycles as parts of a listing in JSON. What is
 * not known is null. The procedure's "scale" tells the unit of its CPIs and what its
 * executions can be compared with.
 */
#pragma once

#include <stdint.h>

struct annotated_row;
struct cycles;
struct cycles_cost;
struct procedure_cycles;
struct json_stream;
struct listing_subject;

/* "cycles" of the document: events, model, processor and notes; null for NULL. */
void listing_json_add_cycles(struct json_stream *json, const struct cycles *cycles);
/* "cycles" of a procedure: its sums, blocks, loops and edges; null without, and "no_cycles". */
void listing_json_add_procedure_cycles(struct json_stream *json,
				       const struct listing_subject *subject);
/* Of an instruction's row: block, executions, CPI, charged samples, its place in the static
 * schedule, and what it stalled for; nothing where there are none. */
void listing_json_add_row_cycles(struct json_stream *json, const struct listing_subject *subject,
				 const struct annotated_row *row);
/* Of a source line; nothing for NULL. */
void listing_json_add_line_cycles(struct json_stream *json,
				  const struct procedure_cycles *procedure,
				  const struct cycles_cost *cost);
