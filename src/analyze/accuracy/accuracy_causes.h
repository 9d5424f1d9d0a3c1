/*
 * accuracy_causes - the cycles that stalls of each cause may have cost, procedure by procedure,
 * how often the cause was counted, and the correlation of both: DCPI's Figure 10.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/culprits/culprits.h"

struct error;
struct exact_counts;

/* The cycles that stalls of one cause may have cost, against how often it was counted. */
#define ACCURACY_CAUSES 8
struct accuracy_cause {
	const char *cause; /* "D-cache miss" */
	const char *key;   /* "dcache_miss" */
	char events[64];   /* "D1mr": the counts' own names, cut when they are longer */
	size_t procedures; /* with any of either */
	double low_cycles, high_cycles, counted; /* sums */
	/* Over procedures, of low, high, and their middle; NaN below 3 procedures. */
	double pearson_low, pearson_high, pearson;
	double spearman; /* of the middle */
};

/* Of one procedure and cause. */
struct accuracy_stall {
	double low_cycles, high_cycles, counted;
};

struct accuracy_causes {
	const struct exact_counts *truth;
	const struct annotate_index *index;
	struct culprit_events counted, sampled; /* columns of the truth, of the profile */
	struct accuracy_stall *stalls;		/* by procedure, then cause */
	size_t procedures, capacity;
};

void accuracy_causes_init(struct accuracy_causes *causes, const struct exact_counts *truth,
			  const struct annotate_index *index);
void accuracy_causes_release(struct accuracy_causes *causes);
/* Adds a procedure; `image` is that of exact_counts_image(). 0 or -ENOMEM with *err filled. */
int accuracy_causes_add(struct accuracy_causes *causes, const struct procedure_cycles *procedure,
			uint32_t image, struct error *err);
/* Stores the causes that any procedure has in sums[ACCURACY_CAUSES]. 0 or -ENOMEM. */
int accuracy_causes_sum_up(const struct accuracy_causes *causes, struct accuracy_cause *sums,
			   size_t *sum_count);

/* Pearson's correlation; NaN below 3 pairs, or when x or y is constant. */
double accuracy_correlation(const double *x, const double *y, size_t count);
/* Spearman's correlation: Pearson's of ranks, equal values sharing their mean rank. NaN likewise,
 * or out of memory. */
double accuracy_rank_correlation(const double *x, const double *y, size_t count);
