/*
 * repeated - what runs of one or more commands say together: of each measure (elapsed time, CPU
 * times, events, metrics) a summary for each command, and how each further command compares with
 * the first (analyze/runs). Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/runs/run_comparison.h"
#include "analyze/runs/run_summary.h"
#include "analyze/runs/run_words.h"

struct error;

/* The first measures of all repeated runs: times of a run, in seconds. */
enum { REPEATED_ELAPSED, REPEATED_USER, REPEATED_SYSTEM, REPEATED_TIMES };

struct repeated_measure {
	const char *name; /* "elapsed", "task-clock", "ipc" */
	const char *unit; /* of values: "s", "ns", "events"; "" of a metric */
	enum run_measure kind;
	const double *values; /* of round r, command c: [r * commands + c]; NAN: not counted */
	struct run_summary *summaries;	    /* one for each command; see repeated_summarise() */
	struct run_comparison *comparisons; /* [c - 1] of command c with the first */
};

struct repeated {
	const char *const *subjects; /* one for each command */
	size_t commands, rounds;
	size_t warmup; /* rounds before, which are not counted */
	uint64_t seed; /* of the order in the rounds */
	struct repeated_measure *measures;
	size_t measure_count;
	size_t main; /* the measure that the question is about: it is judged by itself */
};

/*
 * Fills summaries and comparisons, for which the caller has made room; the comparisons of the main
 * measure are one family, those of all others another. 0, or a negative errno value with *err.
 */
int repeated_summarise(struct repeated *repeated, struct error *err);
