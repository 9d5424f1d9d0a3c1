/*
 * culprit/print.h - what was counted, as text, CSV or JSON. The only part of libculprit that writes
 * anything; a program that does not use it does not link it.
 */
#ifndef CULPRIT_PRINT_H
#define CULPRIT_PRINT_H

#include <stddef.h>
#include <stdio.h>

#include "counter.h"
#include "region.h"

#ifdef __cplusplus
extern "C" {
#endif

enum culprit_print_format { CULPRIT_TEXT, CULPRIT_CSV, CULPRIT_JSON };

struct culprit_print_options {
	enum culprit_print_format format;
	double units;	      /* of work that was measured; 0: none, no column for it */
	const char *unit;     /* what one is called: "access"; NULL: "unit" */
	uint64_t reserved[4]; /* 0 */
};

/*
 * Prints a line for each value: value, interval where there is one, event, count per unit, and the
 * flags in words; absent values as `-` (CSV: empty, JSON: null) with the reason. JSON is one
 * document with "schema": 1. `values` are those of culprit_counters_values(). options NULL: text,
 * no units. 0; -EIO when `stream` had an error; -ENOMEM.
 */
CULPRIT_API int culprit_counters_print(const struct culprit_counters *counters,
				       const struct culprit_value *values, size_t count,
				       const struct culprit_print_options *options, FILE *stream);
/* The same of the regions, a line for each region, thread and event. */
CULPRIT_API int culprit_regions_print(const struct culprit_regions *regions,
				      const struct culprit_print_options *options, FILE *stream);

#ifdef __cplusplus
}
#endif
#endif
