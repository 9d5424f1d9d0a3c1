/*
 * clock - nanoseconds since an arbitrary start that never go back
 * (CLOCK_MONOTONIC, the clock that our perf events use too).
 */
#pragma once

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* At the rate of the CPU's own clock, which nobody corrects by the world's (CLOCK_MONOTONIC_RAW).
 */
static inline uint64_t clock_raw_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Since the machine began, with the time that it slept. */
static inline uint64_t clock_boot_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CPU time of this thread. */
static inline uint64_t clock_thread_cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A length of time, as getrusage(2) gives it. */
static inline uint64_t clock_timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

/* By this much somebody sets the clock below; less is how it is corrected in passing. */
#define CLOCK_STEP_NS UINT64_C(1000000000)

/* Since 1970, for the start of an epoch. */
static inline uint64_t clock_realtime_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
