#include "analyze/runs/run_trend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/count_test.h"
#include "base/cleanup.h"

#define TAU_LEAST      5 /* runs; of 4 all rise or all fall in 2 of 24 orders, which is no rarity */
#define TAU_EXACT      50 /* runs, and no two equal */
#define LIKENESS_LEAST 10 /* from there on the ratio is near normal (Bartels 1982, table 2) */

struct numbered {
	double value;
	size_t run;
	double rank; /* the mean rank of all that are equal */
};

static int compare_values(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->run > b->run) - (a->run < b->run);
}

/* What ties take away: sums over the groups of t equal values. */
struct ties {
	double pairs;	 /* t(t-1)/2 */
	double variance; /* t(t-1)(2t+5) */
};

/* Gives ranks to what is ordered. */
static struct ties rank(struct numbered *list, size_t n)
{
	struct ties ties = { 0, 0 };
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && list[end].value == list[i].value; end++)
			;
		double t = (double)(end - i);
		ties.pairs += t * (t - 1) / 2;
		ties.variance += t * (t - 1) * (2 * t + 5);
		for (size_t j = i; j < end; j++)
			list[j].rank = (double)i + (t + 1) / 2;
	}
	return ties;
}

/* Pairs of which the earlier is the greater, by merging; puts the values into rising order. */
static double falling_pairs(double *values, double *room, size_t n)
{
	double count = 0;
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t start = 0; start < n; start += 2 * width) {
			size_t middle = start + width < n ? start + width : n;
			size_t end = middle + width < n ? middle + width : n;
			size_t left = start, right = middle;
			for (size_t to = start; to < end; to++) {
				if (right == end ||
				    (left < middle && values[left] <= values[right])) {
					room[to] = values[left++];
				} else {
					room[to] = values[right++];
					count += (double)(middle - left);
				}
			}
		}
		memcpy(values, room, n * sizeof(*values));
	}
	return count;
}

/* P(at most so many of the pairs fall) when all orders are equally likely: each further value comes
 * before 0 to n-1 of the others (Kendall and Gibbons, Rank Correlation Methods, 5.2). */
static double falling_lower(size_t n, double falling)
{
	double chances[TAU_EXACT * (TAU_EXACT - 1) / 2 + 1] = { 1 }, lower = 0;
	size_t most = 0;
	for (size_t k = 2; k <= n; k++) {
		most += k - 1;
		for (size_t s = most + 1; s-- > 0;) {
			double sum = 0;
			for (size_t j = 0; j < k && j <= s; j++)
				sum += chances[s - j];
			chances[s] = sum / (double)k;
		}
	}
	for (size_t s = 0; s <= most && (double)s <= falling; s++)
		lower += chances[s];
	return lower;
}

static void fill_tau(struct run_trend *out, size_t n, double falling, const struct ties *ties)
{
	double size = (double)n, pairs = size * (size - 1) / 2;
	double score = pairs - ties->pairs - 2 * falling; /* rising pairs less falling ones */
	if (n < TAU_LEAST || ties->pairs >= pairs)
		return;
	out->tau = score / sqrt(pairs * (pairs - ties->pairs));
	if (n <= TAU_EXACT && ties->pairs == 0) {
		double rarer = fmin(falling, pairs - falling);
		out->tau_p = fmin(1, 2 * falling_lower(n, rarer));
		return;
	}
	double variance = (size * (size - 1) * (2 * size + 5) - ties->variance) / 18;
	out->tau_p = count_test_two_sided(fmax(0, fabs(score) - 1) / sqrt(variance));
}

/* `ranks` in the order of the runs. */
static void fill_likeness(struct run_trend *out, const double *ranks, size_t n)
{
	double steps = 0, squares = 0, size = (double)n, mean = (size + 1) / 2;
	if (n < LIKENESS_LEAST)
		return;
	for (size_t i = 0; i < n; i++) {
		squares += (ranks[i] - mean) * (ranks[i] - mean);
		if (i)
			steps += (ranks[i] - ranks[i - 1]) * (ranks[i] - ranks[i - 1]);
	}
	if (squares <= 0) /* all are equal */
		return;
	double ratio = steps / squares;
	double variance = 4 * (size - 2) * (5 * size * size - 2 * size - 9) /
			  (5 * size * (size + 1) * (size - 1) * (size - 1));
	out->likeness = 1 - ratio / 2;
	out->likeness_p = erfc((2 - ratio) / sqrt(variance) / M_SQRT2) / 2;
}

int run_trend_of(const double *values, size_t n, struct run_trend *out)
{
	CLEANUP(free_pointer) struct numbered *list = calloc(n + 1, sizeof(*list));
	CLEANUP(free_pointer) double *copy = calloc(n + 1, sizeof(*copy));
	CLEANUP(free_pointer) double *room = calloc(n + 1, sizeof(*room));
	if (!list || !copy || !room)
		return -ENOMEM;
	*out = (struct run_trend){ NAN, NAN, NAN, NAN };
	for (size_t i = 0; i < n; i++) {
		list[i] = (struct numbered){ .value = values[i], .run = i };
		copy[i] = values[i];
	}
	qsort(list, n, sizeof(*list), compare_values);
	struct ties ties = rank(list, n);
	fill_tau(out, n, falling_pairs(copy, room, n), &ties);
	for (size_t i = 0; i < n; i++)
		copy[list[i].run] = list[i].rank;
	fill_likeness(out, copy, n);
	return 0;
}
