/*
 * stat_separated - what `culprit stat` counted as lines of fields, in perf stat -x's order: time of
 * an interval, label and CPUs of a row, count, unit, event, spread over runs, time that it was on
 * the PMU in ns and in percent, figure beside it and its unit. Texts as base/csv_cell.h has them.
 */
#pragma once

#include <stdbool.h>

#include "analyze/counted/counts.h"
#include "base/buffer.h"

/* `with_time`: an interval's lines begin with the time of its end. `spreads`: of means of several
 * runs, half of the interval in percent for each event, then each metric, NAN where it is not
 * known; else NULL. */
void stat_separated_print(const struct counts *counts, const char *separator, bool with_time,
			  const double *spreads, struct buffer *out);
