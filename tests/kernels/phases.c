/*
 * phases - works in phase_one for MS milliseconds of real time, tells when that
 * was over, then works in phase_two for MS more.
 *
 *	phases ONE_MS TWO_MS     prints the clock (CLOCK_REALTIME, ns) at the end of the first
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline __attribute__((always_inline)) void work_until(uint64_t end_ns)
{
	while (clock_ns(CLOCK_MONOTONIC) < end_ns)
		for (uint64_t i = 0; i < 100000; i++)
			sink = sink * 3 + i;
}

__attribute__((noinline, noclone)) void phase_one(uint64_t end_ns);
__attribute__((noinline, noclone)) void phase_two(uint64_t end_ns);

void phase_one(uint64_t end_ns)
{
	work_until(end_ns);
}

void phase_two(uint64_t end_ns)
{
	work_until(end_ns);
	sink = 0;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: phases ONE_MS TWO_MS\n");
		return 2;
	}
	phase_one(clock_ns(CLOCK_MONOTONIC) + strtoull(argv[1], NULL, 10) * 1000000u);
	printf("%" PRIu64 "\n", clock_ns(CLOCK_REALTIME));
	fflush(stdout);
	phase_two(clock_ns(CLOCK_MONOTONIC) + strtoull(argv[2], NULL, 10) * 1000000u);
	return 0;
}
