/*
 * stat_json - what `culprit stat` counted as JSON: one document of a run, or an object on one line
 * for each interval. docs/man/culprit-stat.1.scd describes its keys.
 */
#pragma once

#include "analyze/counted/counts.h"
#include "base/buffer.h"

struct limiting_factor;

/* `factor` NULL: null. */
void stat_json_print(const struct counts *counts, const struct limiting_factor *factor,
		     struct buffer *out);
void stat_json_print_interval(const struct counts *counts, struct buffer *out);
