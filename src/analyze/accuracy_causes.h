/*
 * accuracy_causes - what stalls of each cause may have cost, procedure by procedure,
 * beside how often the cause was counted, and how both hang together: DCPI's Figure 10.
 */
#pragma once

#include "analyze/accuracy.h"
#include "analyze/cycles/culprits.h"

struct truth;

/* Of one procedure and cause. */
struct accuracy_stall {
	double low_cycles, high_cycles, counted;
};

struct accuracy_causes {
	const struct truth *truth;
	const struct annotate_index *index;
	struct culprit_events counted, sampled; /* columns of the truth, of the profile */
	struct accuracy_stall *stalls;		/* by procedure, then cause */
	size_t procedures, capacity;
};

void accuracy_causes_init(struct accuracy_causes *causes, const struct truth *truth,
			  const struct annotate_index *index);
void accuracy_causes_release(struct accuracy_causes *causes);
/* `image` is truth_image()'s. 0 or -ENOMEM with *err filled. */
int accuracy_causes_add(struct accuracy_causes *causes, const struct procedure_cycles *procedure,
			uint32_t image, struct error *err);
/* Fills accuracy->causes. 0 or -ENOMEM. */
int accuracy_causes_sum_up(const struct accuracy_causes *causes, struct accuracy *accuracy);

/* Pearson's correlation; NaN below 3 pairs, or when either never changes. */
double accuracy_correlation(const double *x, const double *y, size_t count);
/* Of their ranks, equal values at their middle: Spearman's. NaN likewise, or out of memory. */
double accuracy_rank_correlation(const double *x, const double *y, size_t count);
