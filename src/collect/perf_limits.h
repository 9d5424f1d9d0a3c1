/*
 * perf_limits - the kernel's limits for sampling, kernel.perf_event_* of sysctl(8), as they are
 * now.
 */
#pragma once

#include <stdint.h>

uint64_t perf_limit_sample_rate(void); /* perf_event_max_sample_rate, in Hz; 0: unknown */
uint64_t perf_limit_stack(void);       /* perf_event_max_stack, in frames; 0: unknown */
uint64_t perf_limit_ring_kb(void);     /* perf_event_mlock_kb: a user's rings, a CPU; 0: unknown */
