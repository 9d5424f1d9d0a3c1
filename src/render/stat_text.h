/*
 * stat_text - what `culprit stat` counted, for people, in perf stat's layout.
 */
#pragma once

#include <stdbool.h>

#include "analyze/counted/counts.h"
#include "base/buffer.h"

struct limiting_factor;

/* All of one run. `factor` NULL: nothing is said about that. */
void stat_text_print(const struct counts *counts, const struct limiting_factor *factor,
		     struct buffer *out);
/* Of several runs `counts` has the means; half of their intervals in percent, NAN: not known. */
struct stat_text_runs {
	size_t runs;
	double elapsed, user, system;
	const double *events, *metrics; /* of the first row, one for each */
};
void stat_text_print_runs(const struct counts *counts, const struct limiting_factor *factor,
			  const struct stat_text_runs *runs, struct buffer *out);
/* What was counted in an interval: a line for each event, behind the time of its end. */
void stat_text_print_interval(const struct counts *counts, bool with_head, struct buffer *out);
/* The label column's width for these rows; 0: no labels. */
size_t stat_text_label_width(const struct counts *counts);
