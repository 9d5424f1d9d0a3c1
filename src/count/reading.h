/*
 * reading - how the page of an event and the instruction that reads its counter are used together
 * (perf_event_open(2), struct perf_event_mmap_page). Internal to src/count.
 */
#pragma once

#include <stdint.h>

#include "count/instruction.h"
#include "count/kernel.h"

/* No other thread writes to the page: the kernel does, on this CPU, between two of our
 * instructions. So it is enough that the compiler keeps the order. */
#define COMPILER_BARRIER() __asm__ volatile("" : : : "memory")

static inline uint64_t read_counter(const struct count_kernel *kernel, uint32_t counter)
{
	return kernel->read_counter ? kernel->read_counter(counter) : instruction_counter(counter);
}
