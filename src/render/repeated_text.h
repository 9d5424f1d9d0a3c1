/*
 * repeated_text - what repeated runs say, for people and as lines of fields: one command in perf
 * stat -r's layout, several as tables of comparisons with the first.
 */
#pragma once

#include "analyze/counted/counts.h"
#include "analyze/counted/repeated.h"
#include "base/buffer.h"

struct limiting_factor;

/* One command. `means`: the events' and metrics' means as counts; the measures of *repeated are the
 * times, then these events, then these metrics. `factor` NULL: nothing is said about that. */
void repeated_text_print(const struct repeated *repeated, const struct counts *means,
			 const struct limiting_factor *factor, struct buffer *out);
/* Several, and what limits each. */
void repeated_text_print_commands(const struct repeated *repeated,
				  const struct limiting_factor *factors, struct buffer *out);

/* As render/stat_separated.h, the spread in percent behind the event's name. */
void repeated_separated_print(const struct repeated *repeated, const struct counts *means,
			      const char *separator, struct buffer *out);
/* A line for each command and measure: number of the command, mean, unit, measure, spread in
 * percent, ratio to the first command less 1 or difference, its ends, which of both, verdict. */
void repeated_separated_print_commands(const struct repeated *repeated, const char *separator,
				       struct buffer *out);
