/* What tests/tools/sampled.c loads while it is sampled. */
#include <stdint.h>

void work_in_library(void);

static volatile uint64_t sink;

__attribute__((noinline)) static void work_deeper(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sink = sink * 5 + i;
	sink++;
}

void work_in_library(void)
{
	work_deeper();
	sink++;
}
