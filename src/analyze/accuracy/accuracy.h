/*
 * accuracy - how far estimates of executions are off from exact counts: DCPI's
 * Figures 8, 9 and 10 (Anderson et al., SOSP 1997, section 6.2 and 6.3) for a recording and a
 * counted run of the same program. docs/methods.md, "Accuracy".
 *
 * Instructions are compared block by block, each weighted by the samples that it has at its own
 * addresses; edges between blocks by their true executions. What was never executed in the
 * counted run has no relative error: such samples are reported, not judged. What was
 * executed and not estimated is off.
 *
 * Nothing changes once made. An unknown figure is NaN, never 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/accuracy/accuracy_causes.h"
#include "analyze/cycles/cycles.h"

struct error;
struct exact_counts;

/* What estimates are multiplied with before they are compared. */
enum accuracy_scale {
	ACCURACY_ABSOLUTE,  /* nothing */
	ACCURACY_PROCEDURE, /* one oracle factor for each procedure */
	ACCURACY_PROGRAM,   /* one oracle factor for all */
};

struct accuracy_request {
	enum accuracy_scale scale;
	double runs; /* of the program in the recording; the truth is of one */
};

#define ACCURACY_LIMITS	 3 /* within 5, 10 and 15 % */
#define ACCURACY_BUCKETS 20
#define ACCURACY_CLASSES 3 /* enum frequency_confidence */

/* Of instructions weighted by samples, or of edges weighted by executions. */
struct accuracy_sum {
	size_t count; /* blocks or edges */
	double weight;
	double within[ACCURACY_LIMITS]; /* of the weight: off by at most that much */
	double unknown;			/* of the weight: no estimate */
	/* Of the weight, by error: below -45 %, then steps of 5 %, the last at 45 % or above.
	 * Unknown ones are in none. */
	double buckets[ACCURACY_BUCKETS];
};

/* 95 % intervals, where there are any. */
struct accuracy_intervals {
	size_t count, held;	    /* blocks; whose interval holds the truth */
	double weight, held_weight; /* samples */
	double width;		    /* mean of (high - low) / value, by samples; NaN: none */
};

struct accuracy_procedure {
	const struct annotate_procedure *procedure;
	double samples; /* judged */
	double factor;	/* that its estimates were multiplied with */
	struct accuracy_sum instructions, edges;
};

struct accuracy {
	struct accuracy_request request;
	struct accuracy_sum instructions, edges;
	/* Executions of jumps inside of procedures that their graphs do not have; not in `edges`.
	 */
	double missing_edges;
	struct accuracy_sum instruction_classes[ACCURACY_CLASSES]; /* by confidence */
	struct accuracy_sum edge_classes[ACCURACY_CLASSES];
	struct accuracy_intervals intervals;
	/* Samples off by more than 15 %, and those of them that are low. */
	double off_weight, off_low;

	/* Samples of the event that says where time went (or what ran): all, and why some are not
	 * judged. */
	double samples;	       /* all in procedures */
	double not_counted;    /* of images that the truth has not */
	double no_code;	       /* of procedures without known code */
	double never_executed; /* at blocks that did not run in the counted run */
	double no_block;       /* at no instruction's start */
	double uncountable;    /* in blocks of repeated string instructions alone, whose rounds are
				  counted */
	struct accuracy_procedure *procedures; /* with judged samples, the most first */
	size_t procedure_count;
	struct accuracy_cause causes[ACCURACY_CAUSES];
	size_t cause_count;
};

/*
 * Of those positions of the cycles' index (NULL: all of it). Returns 0 and stores what the
 * caller frees; -ENODATA (no sample could be judged: *err says why) or -ENOMEM.
 */
int accuracy_new(struct cycles *cycles, const struct exact_counts *truth, const uint32_t *positions,
		 size_t count, const struct accuracy_request *request, struct accuracy **out,
		 struct error *err);
void accuracy_free(struct accuracy *accuracy);
void accuracy_freep(struct accuracy **accuracy); /* for CLEANUP() */

/* "5 %", "10 %", "15 %" as fractions. */
extern const double accuracy_limits[ACCURACY_LIMITS];
