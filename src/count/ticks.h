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
 * No instruction orders this one: the CPU may execute it before those in front of it have ended, or
 * after those behind it have begun, by as many as it keeps in flight, and so do the instructions
 * that read counters. Waiting for them costs more than reading (docs/methods.md, "Regions").
 */
static inline uint64_t ticks_read(const struct tick_source *source)
{
	return source->read ? source->read() : instruction_ticks();
}
