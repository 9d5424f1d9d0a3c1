#include "collect/turn_time.h"

#include <math.h>

void turn_time_add(struct turn_time *time, uint64_t count, uint64_t enabled_ns, uint64_t running_ns)
{
	time->present.count += (double)count;
	time->present.ns += (double)enabled_ns;
	time->present.ran_ns += (double)running_ns;
}

bool turn_time_advanced(const struct turn_time *time)
{
	return time->present.ns > 0;
}

void turn_time_rest(struct turn_time *time, uint64_t on_ns)
{
	double enabled_ns = time->present.ns, running_ns = time->present.ran_ns;
	/* a control group's time stands still while the group does not run, and then counts nothing
	 */
	double ran_ns = !on_ns		 ? running_ns
			: enabled_ns > 0 ? (double)on_ns * running_ns / enabled_ns
					 : (double)on_ns;
	if (ran_ns > 0) {
		slices_add(&time->slices, time->present.count, ran_ns);
		time->rate = time->present.count / ran_ns;
		time->count += time->present.count;
		time->ran_ns += ran_ns;
	}
	time->present = (struct turn_sums){ 0 };
}

bool turn_time_close(struct turn_time *time, uint64_t now_ns, struct turn_round *round)
{
	return time->ran_ns > 0 && turn_time_finish(time, now_ns, round);
}

bool turn_time_finish(struct turn_time *time, uint64_t now_ns, struct turn_round *round)
{
	bool ran = time->ran_ns > 0;
	if (now_ns <= time->since_ns || (!ran && time->slices.count == 0))
		return false;
	double ns = (double)(now_ns - time->since_ns);
	if (ns < time->ran_ns)
		ns = time->ran_ns;
	*round = (struct turn_round){ ran ? time->count * ns / time->ran_ns : time->rate * ns,
				      (uint64_t)ns, (uint64_t)time->ran_ns };
	time->rounds.count += time->count;
	time->rounds.ns += ns;
	time->rounds.ran_ns += time->ran_ns;
	time->since_ns = now_ns;
	time->count = time->ran_ns = 0;
	return true;
}

bool turn_time_take_variance(struct turn_time *time, double *variance)
{
	double half_width;
	if (!slices_half_width(&time->slices, time->rounds.count, time->rounds.ns,
			       time->rounds.ran_ns, &half_width))
		return false;
	*variance = pow(half_width / 1.96, 2);
	time->slices = (struct slices){ 0 };
	time->rounds = (struct turn_sums){ 0 };
	return true;
}
