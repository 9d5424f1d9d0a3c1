#include "collect/pace.h"

#define MEMORY 1000.0 /* pieces that the moving average looks back on, about */
#define GUESS  200u   /* pieces that the first guess is worth, since the first ones cost most */

void pace_init(struct pace *pace, double first_ns, double limit_ns, double cost_ns)
{
	*pace = (struct pace){
		.saved_ns = first_ns, .limit_ns = limit_ns, .cost_ns = cost_ns, .counted = GUESS
	};
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

double pace_admit(struct pace *pace, double allowance_ns)
{
	double back_ns = least(pace->debt_ns, pace->debt_ns > pace->limit_ns ? allowance_ns
									     : allowance_ns / 2);
	pace->debt_ns -= back_ns;
	pace->saved_ns = least(pace->saved_ns + allowance_ns - back_ns, pace->limit_ns);
	if (pace->saved_ns < pace->cost_ns)
		return 0;
	pace->saved_ns -= pace->cost_ns;
	return pace->cost_ns;
}

void pace_settle(struct pace *pace, uint64_t count, double set_aside_ns, double cost_ns)
{
	if (!count)
		return;
	if (pace->counted == GUESS && cost_ns > set_aside_ns)
		cost_ns = set_aside_ns;
	pace->debt_ns += cost_ns - set_aside_ns;
	if (pace->debt_ns < 0) {
		pace->saved_ns -= pace->debt_ns;
		pace->debt_ns = 0;
	}
	double mean = cost_ns / (double)count;
	double before = pace->counted < MEMORY ? (double)pace->counted : MEMORY;
	pace->cost_ns += (mean - pace->cost_ns) * (double)count / (before + (double)count);
	pace->counted += count;
}
