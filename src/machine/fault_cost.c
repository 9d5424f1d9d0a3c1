#include "machine/fault_cost.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

#define PAGES 256
#define ROUND 8 /* pages between two readings of the clock, which is no small part of one */

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

double fault_cost_measure(void)
{
	double costs[PAGES / ROUND];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
	uint8_t *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NAN;
	/* a huge page would be one fault for all */
	if (madvise(memory, size, MADV_NOHUGEPAGE) < 0) {
		/* a kernel without huge pages: there are none to keep away */
	}
	for (size_t i = 0; i < PAGES / ROUND; i++) {
		uint64_t before_ns = clock_monotonic_ns();
		for (size_t k = 0; k < ROUND; k++)
			*(volatile uint8_t *)(memory + (i * ROUND + k) * page) = 1;
		costs[i] = (double)(clock_monotonic_ns() - before_ns) / ROUND / 1e9;
	}
	munmap(memory, size);
	qsort(costs, PAGES / ROUND, sizeof(costs[0]), compare);
	return costs[PAGES / ROUND / 2];
}
