#include "analyze/runs/run_noise.h"

#include <math.h>
#include <stdlib.h>

#include "base/incomplete_gamma.h"

/* Below that, the scatter of a row is that of whole numbers and says nothing of the runs. */
#define LEAST_EACH 10
/* Of so many rows the middle one is known. */
#define LEAST_ROWS 8
#define BISECTIONS 60
/* A row that scatters as much as one of ten such does by chance counts by itself. */
#define BY_ITSELF 0.1

/* The median of chi-square / degrees. */
static double median_of_chance(double degrees)
{
	double low = 0, high = 2;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;
		if (chi_square_upper(middle * degrees, degrees) > 0.5)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Medians that are known already: rows have few different degrees, as they come of the numbers of
 * runs of either side, or of both. */
#define MEDIANS_KEPT 8
struct medians {
	double degrees[MEDIANS_KEPT], median[MEDIANS_KEPT];
	size_t count;
};

static double median_for(struct medians *medians, double degrees)
{
	for (size_t i = 0; i < medians->count; i++)
		if (medians->degrees[i] == degrees)
			return medians->median[i];
	double median = median_of_chance(degrees);
	if (medians->count < MEDIANS_KEPT) {
		medians->degrees[medians->count] = degrees;
		medians->median[medians->count++] = median;
	}
	return median;
}

static int compare_numbers(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static bool is_usable(const struct run_scatter *row)
{
	return row->degrees > 0 && row->each >= LEAST_EACH;
}

/* Each usable row's scatter as a multiple of the median of chance for its degrees. How many. */
static size_t fill_multiples(const struct run_scatter *rows, size_t count, double *multiples)
{
	struct medians medians = { .count = 0 };
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		if (is_usable(&rows[i]))
			multiples[used++] = rows[i].statistic / rows[i].degrees /
					    median_for(&medians, rows[i].degrees);
	return used;
}

/* The middle of the multiples, each of what that variance makes it on the average. */
static double middle_multiple(const struct run_scatter *rows, size_t count, double variance,
			      const double *multiples, double *sorted)
{
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		if (is_usable(&rows[i])) {
			sorted[used] = multiples[used] / (1 + variance * rows[i].each);
			used++;
		}
	qsort(sorted, used, sizeof(*sorted), compare_numbers);
	return (sorted[(used - 1) / 2] + sorted[used / 2]) / 2;
}

double run_noise_usual(const struct run_scatter *rows, size_t count, double *scratch)
{
	double *multiples = scratch, *sorted = scratch + count, low = 0, high = 1;
	if (fill_multiples(rows, count, multiples) < LEAST_ROWS)
		return NAN;
	if (middle_multiple(rows, count, 0, multiples, sorted) <= 1)
		return 0;
	while (middle_multiple(rows, count, high, multiples, sorted) > 1 && high < 1e6)
		high *= 2;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;
		if (middle_multiple(rows, count, middle, multiples, sorted) > 1)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct difference_noise run_noise_of(const struct run_scatter *row, double usual)
{
	struct difference_noise noise = { .factor = 1, .degrees = INFINITY };
	double own = row->degrees > 0 ? row->statistic / row->degrees : 1;
	if (isnan(usual)) {
		noise.factor = fmax(1, own);
		if (row->degrees > 0)
			noise.degrees = row->degrees;
		return noise;
	}
	double expected = 1 + usual * row->each;
	/* Satterthwaite 1946: of the two parts of the variance one is known, the other has the
	 * degrees of the runs: those of one row, as rows of one run may go together */
	double of_runs = 1 - 1 / expected;
	if (row->degrees > 0 && of_runs > 0)
		noise.degrees = row->degrees / (of_runs * of_runs);
	noise.factor = fmax(expected, own);
	if (row->degrees > 0 &&
	    chi_square_upper(row->statistic / expected, row->degrees) < BY_ITSELF)
		noise.degrees = row->degrees;
	return noise;
}
