#include "count/region_cost.h"

#include <math.h>

#include "count/cost.h"
#include "count/moment.h"

#define LEAST_TRIALS 20
/* Spreads, which are two standard deviations of a normal distribution, from the median to
 * where no trial comes without having been interrupted. */
#define OUTLYING_SPREADS 5

struct estimate {
	double median, spread, mean, variance;
	size_t kept;
};

/* Sorts the trials. */
static void estimate(double *trials, size_t count, struct estimate *out)
{
	struct count_cost cost;
	count_cost_of(trials, count, &cost);
	/* of counts that are all alike those that differ by 1 are no outliers */
	double reach = OUTLYING_SPREADS * fmax(cost.spread, 1);
	double sum = 0, squares = 0;
	*out = (struct estimate){ .median = cost.median, .spread = cost.spread };
	for (size_t i = 0; i < count; i++) {
		double distance = trials[i] - cost.median;
		if (fabs(distance) > reach)
			continue;
		out->kept++;
		sum += distance;
		squares += distance * distance;
	}
	double kept = (double)out->kept;
	out->mean = cost.median + sum / kept;
	out->variance = out->kept > 1 ? (squares - sum * sum / kept) / (kept - 1) : 0;
}

void region_cost_of(double *empty, size_t empty_count, double *outer, size_t outer_count,
		    struct region_cost *cost)
{
	*cost = (struct region_cost){ .known = false };
	if (empty_count < LEAST_TRIALS || outer_count < LEAST_TRIALS)
		return;
	struct estimate own, both;
	estimate(empty, empty_count, &own);
	estimate(outer, outer_count, &both);
	*cost = (struct region_cost){
		.known = true,
		.own_median = own.median,
		.own_spread = own.spread,
		.own_mean = own.mean,
		.own_variance = own.variance,
		.inner_median = fmax(both.median - own.median, 0),
		.inner_mean = both.mean - own.mean,
		.inner_variance = fmax(both.variance - own.variance, 0),
		.outer_variance = both.variance,
		.trials = own.kept < both.kept ? own.kept : both.kept,
	};
}

double region_cost_net(const struct region_cost *cost, double total, double count, double inner)
{
	return total - count * cost->own_mean - inner * cost->inner_mean;
}

double region_cost_variance(const struct region_cost *cost, double count, double inner)
{
	/* what the regions' own costs differ from their means by, each by itself */
	double scatter = count * cost->own_variance + inner * cost->inner_variance;
	/* what the means are wrong by, all by the same: that of inner regions is a difference,
	   outer less own */
	double others = count - inner;
	double means =
		(others * others * cost->own_variance + inner * inner * cost->outer_variance) /
		(double)cost->trials;
	return scatter + means;
}
