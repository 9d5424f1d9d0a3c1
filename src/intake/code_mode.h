/*
 * code_mode - in whose code an address lies, as the kernel says of a sample and of
 * each part of a call chain.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <linux/perf_event.h>

enum code_mode { /* as in PERF_RECORD_MISC_CPUMODE_MASK */
		 CODE_UNKNOWN,
		 CODE_KERNEL,
		 CODE_USER,
		 CODE_HYPERVISOR,
		 CODE_GUEST_KERNEL,
		 CODE_GUEST_USER
};

/* Of a record's `misc`. */
static inline enum code_mode code_mode_of_misc(uint16_t misc)
{
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	return mode <= CODE_GUEST_USER ? (enum code_mode)mode : CODE_UNKNOWN;
}

/* Whether a word of a call chain is no address, but says whose the next ones are. */
static inline bool code_mode_is_mark(uint64_t word)
{
	return word >= (uint64_t)PERF_CONTEXT_MAX;
}

static inline enum code_mode code_mode_of_mark(uint64_t mark)
{
	switch (mark) {
	case (uint64_t)PERF_CONTEXT_KERNEL:
		return CODE_KERNEL;
	case (uint64_t)PERF_CONTEXT_USER:
		return CODE_USER;
	case (uint64_t)PERF_CONTEXT_HV:
		return CODE_HYPERVISOR;
	case (uint64_t)PERF_CONTEXT_GUEST_KERNEL:
		return CODE_GUEST_KERNEL;
	case (uint64_t)PERF_CONTEXT_GUEST:
	case (uint64_t)PERF_CONTEXT_GUEST_USER:
		return CODE_GUEST_USER;
	default:
		return CODE_UNKNOWN;
	}
}
