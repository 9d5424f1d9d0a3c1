/* The programs' side of program_time.h. */
#pragma once

#include "program_time.h"

/* When the sample began, of one that is timed; else 0. `seen`: how many came before it. */
static __always_inline __u64 timed_start(__u64 seen)
{
	return seen & (PROGRAM_TIMED_ONE_IN - 1) ? 0 : bpf_ktime_get_ns();
}

static __always_inline void timed_end(struct program_time *time, __u64 start_ns)
{
	__u64 took_ns = bpf_ktime_get_ns() - start_ns;
	time->samples++;
	time->ns += took_ns;
	if (took_ns > time->most_ns)
		time->most_ns = took_ns;
}
