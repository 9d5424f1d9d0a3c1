#include "analyze/runs/run_comparison.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/figures/difference.h"
#include "base/student_t.h"
#include "analyze/runs/signed_rank.h"
#include "base/error.h"

#define FOUND 0.8 /* of the experiments, for the change that counts as detectable */

/* ---- one comparison */

/* Counts the rounds and tells the scale. */
static int look_through(const struct run_values *values, size_t first, size_t second,
			struct run_comparison *out, struct error *err)
{
	if (values->rounds > RUN_ROUNDS_MOST)
		return error_set(err, -EINVAL, "%zu rounds of runs are more than %d",
				 values->rounds, RUN_ROUNDS_MOST);
	for (size_t round = 0; round < values->rounds; round++) {
		double a = run_value(values, round, first), b = run_value(values, round, second);
		if (isinf(a) || isinf(b))
			return error_set(err, -EINVAL, "a value of run %zu is infinite", round + 1);
		if (isnan(a) || isnan(b)) {
			out->left_out++;
			continue;
		}
		out->rounds++;
		if (a <= 0 || b <= 0)
			out->scale = RUN_DIFFERENCE;
	}
	return 0;
}

/* On the scale on which differences are shifts: of logarithms, where ratios are compared. */
static void fill_differences(const struct run_values *values, size_t first, size_t second,
			     enum run_scale scale, double *differences)
{
	size_t n = 0;
	for (size_t round = 0; round < values->rounds; round++) {
		double a = run_value(values, round, first), b = run_value(values, round, second);
		if (isnan(a) || isnan(b))
			continue;
		/* not log(b / a): exchanging the two must change nothing but the sign */
		differences[n++] = scale == RUN_RATIO ? log(b) - log(a) : b - a;
	}
}

static double shift_of(enum run_scale scale, double change)
{
	return scale == RUN_RATIO ? log1p(change) : change;
}

static double change_of(enum run_scale scale, double shift)
{
	return (scale == RUN_RATIO ? expm1(shift) : shift) + 0.0; /* of 0 and -0 either is 0 */
}

/* Student's t that the half of an interval of that level is so many standard errors long by. */
static double reach_of(const struct run_comparison *comparison)
{
	return student_t_quantile((1 - comparison->level) / 2, (double)comparison->rounds - 1);
}

/* On the scale of shifts; NAN without an interval. */
static double half_width(const struct run_comparison *comparison)
{
	if (comparison->change.kind != ESTIMATE_INTERVAL)
		return NAN;
	return (shift_of(comparison->scale, comparison->change.high) -
		shift_of(comparison->scale, comparison->change.low)) /
	       2;
}

static double detectable(const struct run_comparison *comparison)
{
	double reach = reach_of(comparison);
	double more = student_t_quantile(1 - FOUND, (double)comparison->rounds - 1);
	return change_of(comparison->scale, half_width(comparison) * (1 + more / reach));
}

double run_power(const struct run_comparison *comparison, double true_change)
{
	double half = half_width(comparison), reach, error;
	if (isnan(half))
		return NAN;
	double shift = fabs(shift_of(comparison->scale, true_change));
	if (half <= 0)
		return shift > 0 ? 1 : 0;
	reach = reach_of(comparison);
	error = half / reach;
	double degrees = (double)comparison->rounds - 1;
	return student_t_upper(reach - shift / error, degrees) +
	       student_t_upper(reach + shift / error, degrees);
}

static void judge(struct run_comparison *comparison)
{
	const struct estimate *change = &comparison->change;
	if (change->kind != ESTIMATE_INTERVAL)
		comparison->verdict = RUN_TOO_FEW;
	else if (change->low <= 0 && change->high >= 0)
		comparison->verdict = RUN_NOT_FOUND;
	else if (comparison->q > 1 - RUN_LEVEL)
		comparison->verdict = RUN_MAYBE;
	else
		comparison->verdict = change->low > 0 ? RUN_MORE : RUN_LESS;
}

int run_compare(const struct run_values *values, size_t first, size_t second,
		struct run_comparison *out, struct error *err)
{
	struct run_comparison made = { .p = 1, .q = 1, .detectable = NAN };
	int ret = look_through(values, first, second, &made, err);
	if (ret < 0)
		return ret;
	if (made.rounds) {
		double *differences = calloc(made.rounds, sizeof(*differences));
		if (!differences)
			return error_set(err, -ENOMEM, "out of memory comparing runs");
		fill_differences(values, first, second, made.scale, differences);
		struct signed_rank rank;
		ret = signed_rank_of(differences, made.rounds, RUN_LEVEL, &rank);
		free(differences);
		if (ret < 0)
			return error_set(err, ret, "out of memory comparing runs");
		double change = change_of(made.scale, rank.estimate);
		made.change = (struct estimate){ ESTIMATE_VALUE, change, change, change };
		made.level = rank.level;
		made.p = made.q = rank.p;
		if (!isnan(rank.low)) {
			made.change.kind = ESTIMATE_INTERVAL;
			made.change.low = change_of(made.scale, rank.low);
			made.change.high = change_of(made.scale, rank.high);
			made.detectable = detectable(&made);
		}
	}
	judge(&made);
	*out = made;
	return 0;
}

/* ---- many */

int run_comparisons_judge(struct run_comparison *list, size_t count, struct error *err)
{
	double *q = calloc(count + 1, sizeof(*q));
	if (!q)
		return error_set(err, -ENOMEM, "out of memory comparing runs");
	/* what had too few rounds was not tested */
	for (size_t i = 0; i < count; i++)
		q[i] = list[i].change.kind == ESTIMATE_INTERVAL ? list[i].p : NAN;
	int ret = difference_control(q, count, q);
	for (size_t i = 0; i < count && ret == 0; i++) {
		list[i].q = isnan(q[i]) ? 1 : q[i];
		judge(&list[i]);
	}
	free(q);
	return ret < 0 ? error_set(err, ret, "out of memory comparing runs") : 0;
}

size_t run_least_rounds(size_t tests)
{
	return signed_rank_least(1 - (1 - RUN_LEVEL) / (double)tests);
}
