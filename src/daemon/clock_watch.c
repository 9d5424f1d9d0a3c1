#include "daemon/clock_watch.h"

#include "base/clock.h"

#define CLOCK_LOOK_NS UINT64_C(100000000) /* two clocks read further apart tell nothing */

int64_t clock_watch_step_ns(struct clock_watch *watch)
{
	uint64_t before_ns = clock_boot_ns();
	int64_t ahead_ns = (int64_t)(clock_realtime_ns() - before_ns);
	if (clock_boot_ns() - before_ns > CLOCK_LOOK_NS)
		return 0;
	int64_t step_ns = watch->known ? ahead_ns - watch->ahead_ns : 0;
	*watch = (struct clock_watch){ true, ahead_ns };
	const int64_t least_ns = (int64_t)CLOCK_STEP_NS;
	return step_ns >= least_ns || step_ns <= -least_ns ? step_ns : 0;
}
