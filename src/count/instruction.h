/*
 * instruction - the instructions that read counters of this CPU and its clock in user space. What
 * they may be used for, the page of an event says (perf_event_open(2), struct
 * perf_event_mmap_page); without that they are refused by a signal.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

#define INSTRUCTION_READS_COUNTERS true

/* Counters of general use from 0, fixed ones from 1 << 30, the metrics register at 1 << 29
 * (Intel SDM volume 2, RDPMC). */
static inline uint64_t instruction_counter(uint32_t counter)
{
	uint32_t low, high;
	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
	return (uint64_t)high << 32 | low;
}

static inline uint64_t instruction_ticks(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

#elif defined(__aarch64__)

#define INSTRUCTION_READS_COUNTERS true
#define ARM_CYCLE_COUNTER	   31 /* PMCCNTR_EL0 in the kernel's numbering */

/* PMEVCNTR<n>_EL0 is named in the instruction: Arm ARM D13, op0 3, op1 3, CRn 14, CRm 8 + n / 8,
 * op2 n % 8. */
#define ARM_EVENT_COUNTER(n)                                                                       \
	case n:                                                                                    \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value));                      \
		break;

static inline uint64_t instruction_counter(uint32_t counter)
{
	uint64_t value = 0;
	switch (counter) {
	case ARM_CYCLE_COUNTER:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value));
		break;
		ARM_EVENT_COUNTER(0)
		ARM_EVENT_COUNTER(1)
		ARM_EVENT_COUNTER(2)
		ARM_EVENT_COUNTER(3)
		ARM_EVENT_COUNTER(4)
		ARM_EVENT_COUNTER(5)
		ARM_EVENT_COUNTER(6)
		ARM_EVENT_COUNTER(7)
		ARM_EVENT_COUNTER(8)
		ARM_EVENT_COUNTER(9)
		ARM_EVENT_COUNTER(10)
		ARM_EVENT_COUNTER(11)
		ARM_EVENT_COUNTER(12)
		ARM_EVENT_COUNTER(13)
		ARM_EVENT_COUNTER(14)
		ARM_EVENT_COUNTER(15)
		ARM_EVENT_COUNTER(16)
		ARM_EVENT_COUNTER(17)
		ARM_EVENT_COUNTER(18)
		ARM_EVENT_COUNTER(19)
		ARM_EVENT_COUNTER(20)
		ARM_EVENT_COUNTER(21)
		ARM_EVENT_COUNTER(22)
		ARM_EVENT_COUNTER(23)
		ARM_EVENT_COUNTER(24)
		ARM_EVENT_COUNTER(25)
		ARM_EVENT_COUNTER(26)
		ARM_EVENT_COUNTER(27)
		ARM_EVENT_COUNTER(28)
		ARM_EVENT_COUNTER(29)
		ARM_EVENT_COUNTER(30)
	}
	return value;
}

static inline uint64_t instruction_ticks(void)
{
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

#else

#define INSTRUCTION_READS_COUNTERS false

static inline uint64_t instruction_counter(uint32_t counter)
{
	(void)counter;
	return 0;
}

static inline uint64_t instruction_ticks(void)
{
	return 0;
}

#endif
