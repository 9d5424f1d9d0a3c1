/*
 * sum - sums of 64-bit counts that were read from files. One that passes 64
 * bits stays at SUM_PASSED whatever is added, in files too: the value itself
 * says that the sum is not known, so no flag travels beside it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SUM_PASSED UINT64_MAX /* that much or more */

static inline uint64_t sum_u64(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? SUM_PASSED : sum;
}

static inline void sum_add(uint64_t *sum, uint64_t more)
{
	*sum = sum_u64(*sum, more);
}

/* A sum in floating point, rounded; 0 where it is not above 0, or no number. */
static inline uint64_t sum_of_real(double sum)
{
	if (!(sum > 0))
		return 0;
	return sum >= 0x1p64 ? SUM_PASSED : (uint64_t)(sum + 0.5);
}

static inline bool sum_passed(uint64_t sum)
{
	return sum == SUM_PASSED;
}
