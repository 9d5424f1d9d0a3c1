/*
 * spread_growth - why a procedure that varies costs more in the run with most than in the run with
 * least: its cycles by cause (analyze/culprits/summary.h) in both, and what each cause may have
 * grown by. What `Figure 4` of Anderson et al., SOSP 1997, and the summary of the slowest run are
 * compared for there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/culprits/culprits.h"
#include "analyze/spread/spread.h"

struct error;
struct resolver;

/* execution; static, dynamic causes; unexplained stall and gain; the rest */
#define SPREAD_GROWTH_CAUSES (1 + STATIC_CAUSES + DYNAMIC_CAUSES + 3)

struct spread_growth_cause {
	const char *key, *text; /* of JSON, and for people */
	/* In steps of estimates, over the run's exposure: between low and high, either end known */
	double least_low, least_high, most_low, most_high;
};

struct spread_growth {
	const struct spread_row *row;
	size_t least_run, most_run;
	bool known;
	char reason[160]; /* why it is not */
	bool relative;	  /* a cycle's length is not known: execution at most, stalls at least */
	double change;	  /* of the row's value, from the least to the most */
	struct spread_growth_cause causes[SPREAD_GROWTH_CAUSES]; /* that took anything; the most
								    grown first */
	size_t cause_count;
};

/*
 * Of the first rows that are shown and vary, `limit` at most. Returns 0 and stores a list that the
 * caller frees, and how many are in it; or -ENOMEM with *err filled. The resolver has to have the
 * code.
 */
int spread_growth_new(const struct spread *spread, struct resolver *resolver, size_t limit,
		      struct spread_growth **out, size_t *count, struct error *err);
