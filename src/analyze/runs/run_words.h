/*
 * run_words - what a comparison of runs says, in words: "slower by 2.1 % (1.4 to 2.8)".
 */
#pragma once

#include <stddef.h>

#include "analyze/runs/run_comparison.h"

#define RUN_WORDS_BYTES 192 /* the longest text fits */

/* What the values are, which decides what more of them is called. */
enum run_measure {
	RUN_TIME,  /* slower, faster */
	RUN_COUNT, /* more, fewer */
	RUN_RATE,  /* higher, lower: quotients, as instructions per cycle */
};

/* Fills text[0..RUN_WORDS_BYTES). Percents of the first command, or differences in `unit`,
 * that of the values, with two digits of the interval's length; those of "s" and "ns" in ms. */
void run_verdict_text(const struct run_comparison *comparison, enum run_measure measure,
		      const char *unit, char text[RUN_WORDS_BYTES]);
/* "would find 0.9 %"; "" in too few rounds. */
void run_detectable_text(const struct run_comparison *comparison, const char *unit,
			 char text[RUN_WORDS_BYTES]);

const char *run_verdict_word(enum run_verdict verdict); /* of JSON: "not_found" */
const char *run_scale_word(enum run_scale scale);	/* of JSON: "ratio" */
