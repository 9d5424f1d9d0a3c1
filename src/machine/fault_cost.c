#include "machine/fault_cost.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

#define ROUNDS 8
#define PAGES  128 /* of a round: its clock and its two other system calls are no part of it */

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

/* NAN: no memory. */
static double measure_round(size_t page)
{
	const size_t size = PAGES * page;
	uint8_t *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NAN;
	/* a huge page would be one fault for all; a kernel that does not have them refuses */
	madvise(memory, size, MADV_NOHUGEPAGE);
	uint64_t before_ns = clock_monotonic_ns();
	for (size_t i = 0; i < PAGES; i++)
		*(volatile uint8_t *)(memory + i * page) = 1;
	munmap(memory, size);
	return (double)(clock_monotonic_ns() - before_ns) / PAGES / 1e9;
}

double fault_cost_measure(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	double costs[ROUNDS];
	for (int i = 0; i < ROUNDS; i++) {
		costs[i] = measure_round(page);
		if (isnan(costs[i]))
			return NAN;
	}
	qsort(costs, ROUNDS, sizeof(costs[0]), compare);
	return (costs[ROUNDS / 2 - 1] + costs[ROUNDS / 2]) / 2;
}
