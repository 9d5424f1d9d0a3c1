#include "count/histogram.h"

#include <math.h>

/* Those below 2 * HISTOGRAM_PARTS are numbers themselves. */
static unsigned shift_of(size_t bucket)
{
	return bucket < HISTOGRAM_PARTS ? 0 : (unsigned)(bucket / HISTOGRAM_PARTS) - 1;
}

uint64_t histogram_low(size_t bucket)
{
	unsigned shift = shift_of(bucket);
	return (uint64_t)(bucket - shift * HISTOGRAM_PARTS) << shift;
}

uint64_t histogram_width(size_t bucket)
{
	return UINT64_C(1) << shift_of(bucket);
}

double histogram_quantile(const uint64_t *buckets, double share)
{
	uint64_t count = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		count += buckets[i];
	if (count == 0)
		return NAN;
	double rank = ceil(share * (double)count);
	uint64_t wanted = rank < 1 ? 1 : rank < (double)count ? (uint64_t)rank : count;
	size_t bucket = 0;
	for (uint64_t passed = buckets[0]; passed < wanted; passed += buckets[bucket])
		bucket++;
	return (double)histogram_low(bucket) + (double)(histogram_width(bucket) - 1) / 2;
}
