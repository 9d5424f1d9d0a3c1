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

/* Fewer samples than that (by their weight) make a figure that reports grey: its 95 % interval is
 * wider than +-40 %. */
#define INTERVAL_FEW_SAMPLES 25

/* Adds b to *a; saturates as merging does. */
void cell_add(struct cell *a, const struct cell *b);
/* What is left of a without b, never below 0. */
struct cell cell_without(const struct cell *a, const struct cell *b);

/* How many equal samples would give this relative error: estimate^2 / squares; 0 when unknown, as
 * where that is far below one sample, which no samples give. */
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
/* part / whole, where the samples of `part` are among those of `whole`; absent where they can't
 * be, being more. */
struct estimate interval_share(const struct cell *part, const struct cell *whole);

/* How two events' samples hang together. */
enum ratio_samples {
	RATIO_INDEPENDENT, /* each event has samples of its own */
	RATIO_GROUPED,	   /* the one was read whenever the other overflowed */
};

/* above / below: CPI of cycles and instructions. RATIO_GROUPED takes the count of samples from the
 * cell that has them. */
struct estimate interval_ratio(const struct cell *above, const struct cell *below,
			       enum ratio_samples samples);
/* 1 / ratio, with its interval. */
struct estimate interval_inverse(struct estimate ratio);
