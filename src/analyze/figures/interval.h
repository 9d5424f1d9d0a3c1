/*
 * interval - how far a figure that rests on samples can be trusted. Formulas
 * and their conditions are in docs/methods.md, "Intervals". All functions are
 * pure; a figure that can't be had is absent, never 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

enum estimate_kind {
	ESTIMATE_ABSENT,   /* no value */
	ESTIMATE_VALUE,	   /* a value whose error is not known */
	ESTIMATE_INTERVAL, /* low..high holds the truth in 95 of 100 recordings */
};

struct estimate {
	enum estimate_kind kind;
	double value, low, high;
};

/* Reports dim a figure with fewer effective samples: its 95 % interval is wider than +-40 %. */
#define INTERVAL_FEW_SAMPLES 25

/* Adds b to *a; each sum stops at the largest number, as in merging. */
void cell_add(struct cell *a, const struct cell *b);
/* What is left of a without b, never below 0. */
struct cell cell_without(const struct cell *a, const struct cell *b);

/* How many equal samples would give this relative error: estimate^2 / squares. 0 when not known:
 * without squares, or where the quotient is below 1/16, which no samples give. */
double cell_effective_samples(const struct cell *cell);
/* Square root of the variance of the estimate; negative when it isn't known. */
double cell_standard_error(const struct cell *cell);

/*
 * The ends of the 95 % interval of a count of samples that alone is known: they are Poisson, and on
 * the scale of square roots, sqrt(n) below and sqrt(n + 1) above (Freeman and Tukey,
 * "Transformations related to the angular and the square root", 1950), their error is 1/2
 * everywhere.
 */
double interval_count_low(double samples);
double interval_count_high(double samples);

/*
 * How far the 95 % score interval of a Poisson count of `samples` (effective ones, 0 or more)
 * reaches below and above it, in samples: it holds the means m with |samples - m| <= z sqrt(m).
 */
double interval_score_below(double samples);
double interval_score_above(double samples);

/* The estimate itself, in events. */
struct estimate interval_total(const struct cell *cell);
/* part / whole, where the samples of `part` are among those of `whole`; absent where `whole` is 0,
 * or less than `part`. */
struct estimate interval_share(const struct cell *part, const struct cell *whole);

/* How the samples of two events depend on each other. */
enum ratio_samples {
	RATIO_INDEPENDENT, /* each event has samples of its own */
	RATIO_GROUPED,	   /* the one was read whenever the other overflowed */
	RATIO_PART, /* both were read together, and in each reading `above` is a part of `below` */
};

/* above / below: CPI of cycles and instructions. Absent where either is 0. RATIO_GROUPED takes the
 * count of samples from `above`, or from `below` where that has none. RATIO_PART is a share, which
 * may be 0: the interval of interval_share(), which is an upper bound then (docs/methods.md). */
struct estimate interval_ratio(const struct cell *above, const struct cell *below,
			       enum ratio_samples samples);
/* 1 / ratio, with its interval; absent where the ratio is 0 or absent. */
struct estimate interval_inverse(struct estimate ratio);
