/*
 * order - comparisons for sorting.
 */
#pragma once

#include <math.h>
#include <stdint.h>

static inline int order_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* The larger first, NAN last. */
static inline int order_figures(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a < b) - (a > b);
}
