#include "analyze/runs/signed_rank.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_SUMS (SIGNED_RANK_EXACT * (SIGNED_RANK_EXACT + 1) / 2 + 1)

/* ---- the distribution */

/* P(W = s) of every sum s: with each further rank, half of the sums get it added. */
static void fill_chances(size_t n, double chances[EXACT_SUMS])
{
	memset(chances, 0, EXACT_SUMS * sizeof(*chances));
	chances[0] = 1;
	for (size_t rank = 1, most = 0; rank <= n; rank++) {
		most += rank;
		for (size_t s = most + 1; s-- > 0;)
			chances[s] = (chances[s] + (s >= rank ? chances[s - rank] : 0)) / 2;
	}
}

static double mean_of(size_t n)
{
	return (double)n * ((double)n + 1) / 4;
}

static double deviation_of(size_t n)
{
	return sqrt(mean_of(n) * (2 * (double)n + 1) / 6);
}

double signed_rank_lower(size_t n, double sum)
{
	if (sum < 0)
		return 0;
	if (sum >= 2 * mean_of(n))
		return 1;
	if (n > SIGNED_RANK_EXACT)
		return erfc((mean_of(n) - floor(sum) - 0.5) / deviation_of(n) / M_SQRT2) / 2;
	double chances[EXACT_SUMS], below = 0;
	fill_chances(n, chances);
	for (size_t s = 0; s <= (size_t)sum; s++)
		below += chances[s];
	return below;
}

double signed_rank_critical(size_t n, double level)
{
	double tail = (1 - level) / 2;
	if (n <= SIGNED_RANK_EXACT) {
		double chances[EXACT_SUMS], below = 0;
		fill_chances(n, chances);
		for (size_t s = 0; s < EXACT_SUMS; s++) {
			below += chances[s];
			if (below > tail)
				return (double)s - 1;
		}
	}
	double low = -1, high = floor(mean_of(n)); /* the one is small enough, the other is not */
	while (high - low > 1) {
		double middle = floor((low + high) / 2);
		if (signed_rank_lower(n, middle) <= tail)
			low = middle;
		else
			high = middle;
	}
	return low;
}

size_t signed_rank_least(double level)
{
	size_t n = 1;
	for (double chance = 1; chance > 1 - level; chance /= 2)
		n++;
	return n;
}

/* ---- Walsh averages */

/* A number that orders as the double does. */
static uint64_t key_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double value_of(uint64_t key)
{
	uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* How many of the sums sorted[i] + sorted[j], i <= j, are at most `limit`. In rows and columns they
 * rise, so the last j falls as i rises. */
static double sums_at_most(const double *sorted, size_t n, double limit)
{
	double count = 0;
	for (size_t i = 0, end = n; i < n; i++) {
		while (end > i && sorted[i] + sorted[end - 1] > limit)
			end--;
		if (end <= i)
			break;
		count += (double)(end - i);
	}
	return count;
}

/* The average with the number `rank`, counted from 1, among the n(n+1)/2 in rising order: found by
 * bisecting the doubles, so that nothing is stored and nothing is rounded. */
static double average_at(const double *sorted, size_t n, double rank)
{
	uint64_t low = key_of(2 * sorted[0]), high = key_of(2 * sorted[n - 1]);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (sums_at_most(sorted, n, value_of(middle)) >= rank)
			high = middle;
		else
			low = middle + 1;
	}
	return value_of(low) / 2;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

int signed_rank_of(const double *differences, size_t n, double level, struct signed_rank *out)
{
	double *sorted = calloc(n, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = differences[i] + 0.0; /* 0 and -0 are one */
	qsort(sorted, n, sizeof(*sorted), compare_doubles);

	double all = 2 * mean_of(n), critical = signed_rank_critical(n, level);
	*out = (struct signed_rank){ .low = NAN, .high = NAN };
	out->estimate = (average_at(sorted, n, floor((all + 1) / 2)) +
			 average_at(sorted, n, floor(all / 2) + 1)) /
			2;
	out->level = 1 - 2 * signed_rank_lower(n, fmax(critical, 0));
	if (critical >= 0) {
		out->low = average_at(sorted, n, critical + 1);
		out->high = average_at(sorted, n, all - critical);
	}
	double not_above = sums_at_most(sorted, n, 0);
	double not_below = all - sums_at_most(sorted, n, -DBL_TRUE_MIN);
	out->p = fmin(1, 2 * signed_rank_lower(n, fmin(not_above, not_below)));
	free(sorted);
	return 0;
}
