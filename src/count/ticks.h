/*
 * ticks - the CPU's own clock, which user code reads in a few ns and without a right, and how long
 * its ticks are.
 *
 * x86: the time stamp counter, where it runs at one rate in all states of the CPU ("invariant TSC",
 * Intel SDM volume 3, 18.17.1; AMD APM volume 2, 13.2.4) and the process may read it (prctl(2),
 * PR_GET_TSC). arm64: the virtual count CNTVCT_EL0, whose rate CNTFRQ_EL0 says (Arm ARM D12).
 * Elsewhere, and where the above does not hold, CLOCK_MONOTONIC.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "count/instruction.h"

struct count_kernel;

struct tick_source {
	uint64_t (*read)(void); /* NULL: the instruction */
	double ns_per_tick;
};

/* Finds the best clock of this machine, or the one of the `kernel` that a test made up. Where the
 * length of a tick has to be measured, against CLOCK_MONOTONIC_RAW, that takes 5 ms (and once more
 * for each of a few tries that were interrupted); it is right to some 10 ppm. */
void tick_source_find(const struct count_kernel *kernel, struct tick_source *source);

/*
 * The clock at the begin and at the end of what is measured. Both instructions may be executed
 * before those that stand in front of them have ended: that of ticks_end() waits for these, so that
 * no time of the measured code is missing (LFENCE before RDTSC, Intel SDM volume 2, RDTSC; ISB,
 * Arm ARM D12.2.1).
 */
static inline uint64_t ticks_begin(const struct tick_source *source)
{
	return __builtin_expect(!source->read, 1) ? instruction_ticks() : source->read();
}

static inline uint64_t ticks_end(const struct tick_source *source)
{
	if (__builtin_expect(source->read != NULL, 0))
		return source->read();
#if defined(__x86_64__)
	__asm__ volatile("lfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("isb" : : : "memory");
#endif
	return instruction_ticks();
}
