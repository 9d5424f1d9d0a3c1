#include "analyze/figures/interval.h"

#include <math.h>

#include "analyze/figures/count_test.h"
#include "base/sum.h"

/* No sum of squares is above the square of the sum, so one sample is the least there is; what was
 * rounded or is left of a difference may be a little less. Far below, a file is wrong: any figure
 * between 0 and infinity would lie within. */
#define LEAST_SAMPLES (1.0 / 16)
#define Z_95	      COUNT_TEST_Z_95

void cell_add(struct cell *a, const struct cell *b)
{
	sum_add(&a->samples, b->samples);
	sum_add(&a->estimate, b->estimate);
	if (__builtin_add_overflow(a->squares, b->squares, &a->squares))
		a->squares = ~(unsigned __int128)0;
}

struct cell cell_without(const struct cell *a, const struct cell *b)
{
	return (struct cell){ .samples = a->samples > b->samples ? a->samples - b->samples : 0,
			      .estimate = a->estimate > b->estimate ? a->estimate - b->estimate : 0,
			      .squares = a->squares > b->squares ? a->squares - b->squares : 0 };
}

double cell_effective_samples(const struct cell *cell)
{
	if (cell->squares == 0)
		return 0;
	double n = (double)cell->estimate * (double)cell->estimate / (double)cell->squares;
	return n < LEAST_SAMPLES ? 0 : n;
}

double cell_standard_error(const struct cell *cell)
{
	bool known = cell->squares && (!cell->estimate || cell_effective_samples(cell) > 0);
	return known ? sqrt((double)cell->squares) : -1;
}

double interval_count_low(double samples)
{
	double root = sqrt(samples) - Z_95 / 2;
	return root > 0 ? root * root : 0;
}

double interval_count_high(double samples)
{
	double root = sqrt(samples + 1) + Z_95 / 2;
	return root * root;
}

double interval_score_below(double samples)
{
	return Z_95 * sqrt(samples + Z_95 * Z_95 / 4) - Z_95 * Z_95 / 2;
}

double interval_score_above(double samples)
{
	return Z_95 * sqrt(samples + Z_95 * Z_95 / 4) + Z_95 * Z_95 / 2;
}

struct estimate interval_total(const struct cell *cell)
{
	double value = (double)cell->estimate;
	double n = cell_effective_samples(cell);
	if (n <= 0)
		return (struct estimate){ ESTIMATE_VALUE, value, value, value };
	double weight = value / n; /* the mean of the samples: squares / estimate */
	return (struct estimate){ ESTIMATE_INTERVAL, value, (n - interval_score_below(n)) * weight,
				  (n + interval_score_above(n)) * weight };
}

struct estimate interval_share(const struct cell *part, const struct cell *whole)
{
	if (whole->estimate == 0)
		return (struct estimate){ .kind = ESTIMATE_ABSENT };
	double total = (double)whole->estimate;
	double p = (double)part->estimate / total;
	double n = cell_effective_samples(whole);
	if (p > 1) /* it is none of them: the profile contradicts itself */
		return (struct estimate){ .kind = ESTIMATE_ABSENT };
	if (n <= 0)
		return (struct estimate){ ESTIMATE_VALUE, p, p, p };
	/* variance of a share of weighted samples: the part's own weights may differ from the
	 * rest's */
	double variance = ((1 - 2 * p) * (double)part->squares + p * p * (double)whole->squares) /
			  (total * total);
	if (p > 0 && p < 1 && variance > 0)
		n = p * (1 - p) / variance;
	double z2 = Z_95 * Z_95; /* Wilson's score interval with that many samples */
	double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	double reach = Z_95 * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
	/* none and all are limits of their own: rounding must not move them */
	return (struct estimate){ ESTIMATE_INTERVAL, p, p > 0 ? fmax(0, middle - reach) : 0,
				  p < 1 ? fmin(1, middle + reach) : 1 };
}

/* 97.5 % point of Student's t, by the expansion around the normal one (Abramowitz and Stegun
 * 26.7.5); off by < 0.5 % from 3 degrees on. */
static double student_t_95(double degrees)
{
	double z = Z_95, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
	double v = degrees;
	return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

/* Around a ratio whose logarithm is close to normal. */
static struct estimate around(double value, double relative_variance, double z)
{
	double factor = exp(z * sqrt(relative_variance));
	if (!isfinite(value * factor) || !(value / factor > 0))
		return (struct estimate){ ESTIMATE_VALUE, value, value, value };
	return (struct estimate){ ESTIMATE_INTERVAL, value, value / factor, value * factor };
}

struct estimate interval_ratio(const struct cell *above, const struct cell *below,
			       enum ratio_samples samples)
{
	if (samples == RATIO_PART)
		return interval_share(above, below);
	if (above->estimate == 0 || below->estimate == 0)
		return (struct estimate){ .kind = ESTIMATE_ABSENT };
	double value = (double)above->estimate / (double)below->estimate;
	double n_above = cell_effective_samples(above), n_below = cell_effective_samples(below);
	if (n_above <= 0 || n_below <= 0)
		return (struct estimate){ ESTIMATE_VALUE, value, value, value };
	double independent = 1 / n_above + 1 / n_below;
	double n = (double)(above->samples ? above->samples : below->samples);
	if (samples == RATIO_INDEPENDENT || n == 0)
		return around(value, independent, Z_95);
	if (n < 3)
		return (struct estimate){ ESTIMATE_VALUE, value, value, value };
	/*
	 * Both sums run over the same n samples, so their errors go together. The product sum is
	 * not stored; with a leader whose samples weigh the same it is leader * member / n. By
	 * Cauchy and Schwarz the variance can't be below the square of the difference of roots.
	 */
	double least = sqrt(1 / n_above) - sqrt(1 / n_below);
	double variance = fmax(independent - 2 / n, least * least);
	return around(value, variance * n / (n - 1), student_t_95(n - 1));
}

struct estimate interval_inverse(struct estimate ratio)
{
	if (ratio.kind == ESTIMATE_ABSENT || ratio.value == 0)
		return (struct estimate){ .kind = ESTIMATE_ABSENT };
	struct estimate inverse = { ratio.kind, 1 / ratio.value, 1 / ratio.high, 1 / ratio.low };
	if (!isfinite(inverse.value))
		return (struct estimate){ .kind = ESTIMATE_ABSENT };
	if (!isfinite(inverse.high)) /* no bound is no interval */
		return (struct estimate){ ESTIMATE_VALUE, inverse.value, inverse.value,
					  inverse.value };
	return inverse;
}
