/*
 * program_time - how long a program in the kernel takes, which it measures itself: of each CPU one
 * sample in 64 is timed (as in DCPI, SOSP'97, 5.1, where a timed one takes more than others, too).
 * Shared by programs and their users. A time is from the program's beginning to its end: the
 * interrupt, what perf does around the program and the record that it may write are not in it.
 */
#pragma once

#include <stdint.h>

#define PROGRAM_TIMED_ONE_IN 64u /* a power of two */

/* Of one CPU, which alone writes it. */
struct program_time {
	uint64_t samples; /* that were timed */
	uint64_t ns, most_ns; /* in all; the longest one */
};
