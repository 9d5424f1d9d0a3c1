/*
 * histogram - how often whole numbers occurred, in buckets that are at most 1/16 of their value
 * wide: 16 for each power of two, one for each number below 32. So any quantile is known to 1/16,
 * over the whole range of 64 bits, in a fixed amount of memory.
 *
 * The layout is that of HdrHistogram (Tene, hdrhistogram.org) with 4 bits beside the leading one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BITS	  4 /* of a number, beside its leading one, tell buckets apart */
#define HISTOGRAM_PARTS	  (1u << HISTOGRAM_BITS)
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_BITS + 1) * HISTOGRAM_PARTS)

static inline size_t histogram_bucket(uint64_t value)
{
	unsigned shift = 63 - HISTOGRAM_BITS - (unsigned)__builtin_clzll(value | HISTOGRAM_PARTS);
	return shift * HISTOGRAM_PARTS + (size_t)(value >> shift);
}

/* The least number of a bucket, and how many numbers it has. */
uint64_t histogram_low(size_t bucket);
uint64_t histogram_width(size_t bucket);

/*
 * The quantile `share` (0 to 1) of what is in buckets[HISTOGRAM_BUCKETS]: of n numbers in their
 * order the one at ceil(share * n), or the first; the middle of its bucket, which is within 1/32 of
 * it. NAN when they are empty.
 */
double histogram_quantile(const uint64_t *buckets, double share);
