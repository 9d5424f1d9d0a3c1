#include "support/poisson.h"

#include <math.h>

#include "base/random.h"

/* Knuth's product of uniform numbers, in parts that do not underflow. */
uint64_t poisson(struct random_state *random, double mean)
{
	uint64_t count = 0;
	for (; mean > 0; mean -= 30) {
		double limit = exp(-(mean < 30 ? mean : 30)), product = random_unit(random);
		for (; product > limit; product *= random_unit(random))
			count++;
	}
	return count;
}
