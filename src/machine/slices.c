#include "machine/slices.h"

#include <math.h>

#include "base/student_t.h"

void slices_add(struct slices *slices, double count, double running_ns)
{
	if (running_ns <= 0)
		return;
	if (slices->count > 0) {
		double more = count - slices->last_count,
		       longer = running_ns - slices->last_running;
		slices->count_squares += more * more;
		slices->products += more * longer;
		slices->time_squares += longer * longer;
		slices->times += running_ns + slices->last_running;
	}
	slices->last_count = count;
	slices->last_running = running_ns;
	slices->count++;
}

bool slices_half_width(const struct slices *slices, double count, double enabled_ns,
		       double running_ns, double *half_width)
{
	if (slices->count < SLICES_LEAST || running_ns <= 0 || enabled_ns < running_ns)
		return false;
	/* the squared differences of the rests d = c - rate r, written out, since the rate is known
	   at the end only */
	double rate = count / running_ns;
	double squares = slices->count_squares - 2 * rate * slices->products +
			 rate * rate * slices->time_squares;
	double variance_per_ns = squares > 0 ? squares / slices->times : 0;
	double variance = variance_per_ns * enabled_ns * (enabled_ns - running_ns) / running_ns;
	/* neighbouring differences share a slice: they are worth two thirds of as many independent
	   ones (von Neumann 1941) */
	double degrees = (double)(slices->count - 1) * 2 / 3;
	*half_width = student_t_quantile(0.025, degrees) * sqrt(variance);
	return true;
}
