#include "collect/overhead.h"

#include <math.h>

#define STEP_NS	   1e9
#define ADVANCE_NS 30e9 /* of the budget that may be taken before it is earned */
#define MEMORY_NS  10e9 /* that the mean of what is taken looks back, about */
#define MOST_STEP  1.25 /* that the scale changes by in one step */
#define LEAST_PART 0.5	/* of the budget: what is left of it while a debt is paid back */

static double between(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

void overhead_begin(struct overhead *overhead, uint64_t now_ns, double spent_ns)
{
	overhead->scale = 1;
	overhead->slowed_ns = 0;
	overhead->begin_ns = overhead->step_ns = now_ns;
	overhead->begin_spent_ns = overhead->step_spent_ns = spent_ns;
	overhead->mean_ratio = overhead->budget_ratio;
}

bool overhead_due(const struct overhead *overhead, uint64_t now_ns)
{
	return now_ns >= overhead->step_ns + (uint64_t)STEP_NS;
}

void overhead_step(struct overhead *overhead, uint64_t now_ns, double spent_ns, double cpus)
{
	double budget = overhead->budget_ratio * cpus;
	double passed_ns = (double)(now_ns - overhead->step_ns);
	if (!(passed_ns > 0) || !(budget > 0))
		return;
	double ratio = (spent_ns - overhead->step_spent_ns) / passed_ns / cpus;
	overhead->mean_ratio += (ratio - overhead->mean_ratio) * (1 - exp(-passed_ns / MEMORY_NS));
	overhead->slowed_ns += passed_ns * (1 - 1 / overhead->scale);
	overhead->step_ns = now_ns;
	overhead->step_spent_ns = spent_ns;
	double allowed_ns = budget * ((double)(now_ns - overhead->begin_ns) + ADVANCE_NS);
	double debt_ns = spent_ns - overhead->begin_spent_ns - allowed_ns;
	overhead->over = debt_ns > 0;
	double part = debt_ns > 0 ? between(1 - debt_ns / (budget * ADVANCE_NS), LEAST_PART, 1) : 1;
	double factor = between(overhead->mean_ratio / (overhead->budget_ratio * part),
				1 / MOST_STEP, debt_ns > 0 ? MOST_STEP : 1);
	double scale = between(overhead->scale * factor, 1, overhead->most_scale);
	/* What is taken falls and rises with the rate, for the greatest part; the mean learns of
	 * the rest. */
	overhead->mean_ratio *= overhead->scale / scale;
	overhead->scale = scale;
}
