/*
 * clock_watch - notices that somebody has set the clock by which epochs are named and timed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zeroed at first. */
struct clock_watch {
	bool known;
	int64_t ahead_ns; /* of the time since 1970, of that since the machine began */
};

/* By how much the clock was set forward (or back: negative) since the last call; 0: by less than
 * CLOCK_STEP_NS (base/clock.h), or this is the first call. */
int64_t clock_watch_step_ns(struct clock_watch *watch);
