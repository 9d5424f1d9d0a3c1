/*
 * normal - random numbers of the normal distribution with mean 0 and deviation 1, by Box and
 * Muller's method.
 */
#pragma once

#include <math.h>

#include "base/random.h"

static inline double normal(struct random_state *random)
{
	double radius = sqrt(-2 * log1p(-random_unit(random)));
	return radius * cos(2 * M_PI * random_unit(random));
}
