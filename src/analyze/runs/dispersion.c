#include "analyze/runs/dispersion.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/incomplete_beta.h"
#include "base/incomplete_gamma.h"
#include "base/random.h"

/* From that many samples a run on, chi-square's tail is right to a third at 1e-5; see methods.md.
 */
#define MANY_A_RUN 30
/* Simulated samples: of more, the time is felt, and chi-square takes over earlier. So one call
 * draws DRAWS_MOST * SAMPLES_MOST samples at most, whatever its rows. */
#define SAMPLES_MOST 4000
/* Besag and Clifford 1991: drawing ends with so many that are as extreme, or after DRAWS_MOST. */
#define EXTREME_ENOUGH 100
#define DRAWS_MOST     20000
/* What equal statistics differ by, which are summed up in another order. */
#define EQUAL 1e-9
/* Beyond what draws can show, the approximation times what it was seen to fall short by. */
#define SHORT_BY 8

/* ---- the statistic */

/* The weight of a sample of a run against that of the first run that has one, by the wholes. */
static double weight_of(const struct dispersion_run *run, double first)
{
	bool known = run->whole > 0 && run->whole_squares > 0 && first > 0;
	return known ? run->whole_squares / run->whole / first : 1;
}

static double first_weight(const struct dispersion_run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (runs[i].whole > 0 && runs[i].whole_squares > 0)
			return runs[i].whole_squares / runs[i].whole;
	return 0;
}

/* The variance of part - share * whole as a multiple of the part's own (docs/methods.md,
 * "Differences"); less than 1, since errors in common cancel. */
static double variance_ratio(const struct dispersion_run *runs, size_t count)
{
	double value = 0, squares = 0, whole = 0, whole_squares = 0;
	for (size_t i = 0; i < count; i++) {
		value += runs[i].value;
		squares += runs[i].squares;
		whole += runs[i].whole;
		whole_squares += runs[i].whole_squares;
	}
	if (!(squares > 0) || !(whole > 0))
		return 1;
	double share = value / whole;
	return fmax(0, 1 + (share * share * whole_squares - 2 * share * squares) / squares);
}

struct dispersion dispersion_of(const struct dispersion_run *runs, size_t count,
				enum dispersion_exposure exposure)
{
	double first = first_weight(runs, count), sum = 0, squares = 0, exposures = 0;
	struct dispersion out = { .degrees = count > 1 ? (double)count - 1 : 0 };
	bool known = first > 0;
	for (size_t i = 0; i < count; i++) {
		double weight = weight_of(&runs[i], first);
		sum += runs[i].value / weight;
		squares += runs[i].squares / weight / weight;
		exposures += runs[i].exposure / weight;
		known &= runs[i].squares > 0 || runs[i].value == 0;
	}
	if (!known)
		return (struct dispersion){ 0 };
	out.known = true;
	if (sum <= 0 || squares <= 0)
		return out;
	double ratio = exposure == DISPERSION_WITHIN ? variance_ratio(runs, count) : 1;
	if (ratio < 1e-9) /* the row is the whole: its share is the same by definition */
		return out;
	double unit =
		squares / sum * ratio; /* the mean weight of a sample, which are so many fewer */
	out.samples = sum / unit;
	for (size_t i = 0; i < count; i++) {
		double weight = weight_of(&runs[i], first);
		double expected = out.samples * runs[i].exposure / weight / exposures;
		double away = runs[i].value / weight / unit - expected;
		out.statistic += away * away / expected;
	}
	out.each = out.samples / (double)count;
	return out;
}

/* ---- its distribution */

/* P of a run's count so high that the statistic is reached whatever the others have: the least of
 * it is with the others in proportion, (n_r - n p)^2 / (n p (1 - p)). Summed over the runs. */
static double alone(double statistic, double samples, const double *chance, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++) {
		double mean = samples * chance[i];
		double least = mean + sqrt(statistic * mean * (1 - chance[i]));
		if (least <= samples * (1 + 1e-12))
			sum += incomplete_beta(chance[i], least, fmax(0, samples - least) + 1);
	}
	return fmin(1, sum);
}

/* Runs of their chances, one draw a step (Walker 1977): half of the places are a run's by `keep`,
 * the rest another's. */
struct lots {
	size_t count;
	double *keep;
	size_t *other;
};

static void lots_release(struct lots *lots)
{
	free(lots->keep);
	free(lots->other);
}

static int lots_init(struct lots *lots, const double *chance, size_t count)
{
	CLEANUP(free_pointer) size_t *less = calloc(count, sizeof(*less));
	CLEANUP(free_pointer) size_t *more = calloc(count, sizeof(*more));
	*lots = (struct lots){ count, calloc(count, sizeof(double)),
			       calloc(count, sizeof(size_t)) };
	if (!less || !more || !lots->keep || !lots->other)
		return -ENOMEM;
	size_t less_count = 0, more_count = 0;
	for (size_t i = 0; i < count; i++) {
		lots->keep[i] = chance[i] * (double)count;
		lots->other[i] = i;
		if (lots->keep[i] < 1)
			less[less_count++] = i;
		else
			more[more_count++] = i;
	}
	while (less_count && more_count) {
		size_t poor = less[--less_count], rich = more[more_count - 1];
		lots->other[poor] = rich;
		lots->keep[rich] -= 1 - lots->keep[poor];
		if (lots->keep[rich] < 1) {
			more_count--;
			less[less_count++] = rich;
		}
	}
	/* what is left is 1 but for rounding, or its own `other` */
	return 0;
}

static size_t lots_draw(const struct lots *lots, struct random_state *random)
{
	double place = random_unit(random) * (double)lots->count;
	size_t at = (size_t)place;
	return place - (double)at < lots->keep[at] ? at : lots->other[at];
}

/* A row whose chance is not known yet. */
struct pending {
	size_t row;	/* of the caller's */
	size_t samples; /* whole ones */
	double wanted;	/* its statistic, of so many */
	size_t extreme; /* draws that reach it */
};

/* Runs as they are drawn, sample by sample: after n of them they are a draw of n samples. */
struct drawing {
	struct lots lots;
	double *weight; /* by run: 1 / chance */
	double *counts; /* by run */
	double sum;	/* of counts^2 * weight */
	size_t samples;
};

static void drawing_release(struct drawing *drawing)
{
	lots_release(&drawing->lots);
	free(drawing->weight);
	free(drawing->counts);
}

static int drawing_init(struct drawing *drawing, const double *chance, size_t count)
{
	*drawing = (struct drawing){ .weight = calloc(count, sizeof(double)),
				     .counts = calloc(count, sizeof(double)) };
	if (!drawing->weight || !drawing->counts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		drawing->weight[i] = 1 / chance[i];
	return lots_init(&drawing->lots, chance, count);
}

static void drawing_begin(struct drawing *drawing)
{
	memset(drawing->counts, 0, drawing->lots.count * sizeof(*drawing->counts));
	drawing->sum = 0;
	drawing->samples = 0;
}

/* The statistic of that many samples, no fewer than were drawn. */
static double drawing_go_on(struct drawing *drawing, struct random_state *random, size_t samples)
{
	for (; drawing->samples < samples; drawing->samples++) {
		size_t run = lots_draw(&drawing->lots, random);
		drawing->sum += (2 * drawing->counts[run] + 1) * drawing->weight[run];
		drawing->counts[run]++;
	}
	return drawing->sum / (double)samples - (double)samples;
}

/* Draws until the chances of all rows are known, which are in the order of their samples. Each draw
 * has its own seed, so what other rows there are changes none. */
static void draw_all(struct drawing *drawing, struct pending *pending, size_t count,
		     struct dispersion_case *cases)
{
	size_t drawn = 0;
	while (drawn < DRAWS_MOST && count) {
		struct random_state random = random_seed(drawn++);
		size_t kept = 0;
		drawing_begin(drawing);
		for (size_t i = 0; i < count; i++) {
			struct pending *row = &pending[i];
			double statistic = drawing_go_on(drawing, &random, row->samples);
			row->extreme += statistic >= row->wanted - EQUAL * (row->wanted + 1);
			if (row->extreme == EXTREME_ENOUGH)
				cases[row->row].p = (double)row->extreme / (double)drawn;
			else
				pending[kept++] = *row;
		}
		count = kept;
	}
	for (size_t i = 0; i < count; i++) {
		double *p = &cases[pending[i].row].p;
		*p = fmin((double)(pending[i].extreme + 1) / (DRAWS_MOST + 1), SHORT_BY * *p);
	}
}

static int compare_pending(const void *left, const void *right)
{
	const struct pending *a = left, *b = right;
	return a->samples != b->samples ? (a->samples > b->samples) - (a->samples < b->samples)
					: (a->row > b->row) - (a->row < b->row);
}

/* The chance that a sample is in each run, when all are equal. */
static void fill_chances(const struct dispersion_run *runs, size_t count, double *chance)
{
	double first = first_weight(runs, count), exposures = 0;
	for (size_t i = 0; i < count; i++) {
		chance[i] = runs[i].exposure / weight_of(&runs[i], first);
		exposures += chance[i];
	}
	for (size_t i = 0; i < count; i++)
		chance[i] /= exposures;
}

/* Sets p to what the approximations say. Whether draws may say better: of many samples they need
 * not, and where p is so small that none of them would be as extreme they cannot. */
static bool approximate(struct dispersion_case *row, const double *chance, size_t count)
{
	const struct dispersion *of = &row->of;
	row->p = 1;
	if (!of->known || of->samples <= 0 || of->degrees <= 0)
		return false;
	double many = fmax(chi_square_upper(of->statistic, of->degrees),
			   alone(of->statistic, of->samples, chance, count));
	row->p = fmin(1, many);
	if (of->each >= MANY_A_RUN || of->samples > SAMPLES_MOST)
		return false;
	row->p = many;
	if (SHORT_BY * many > 1.0 / (DRAWS_MOST + 1))
		return true;
	row->p = SHORT_BY * many;
	return false;
}

int dispersion_test_all(const struct dispersion_run *runs, size_t count,
			struct dispersion_case *cases, size_t case_count)
{
	CLEANUP(free_pointer) double *chance = calloc(count + 1, sizeof(*chance));
	CLEANUP(free_pointer) struct pending *pending = calloc(case_count + 1, sizeof(*pending));
	CLEANUP(drawing_release) struct drawing drawing = { 0 };
	size_t rows = 0;
	if (!chance || !pending)
		return -ENOMEM;
	fill_chances(runs, count, chance);
	for (size_t i = 0; i < case_count; i++) {
		double samples = cases[i].of.samples;
		if (!approximate(&cases[i], chance, count))
			continue;
		/* Effective samples are no whole number: so few whole ones scatter as much relative
		 * to their number, or less often. */
		size_t whole = samples < 1 ? 1 : (size_t)samples;
		pending[rows++] = (struct pending){ .row = i,
						    .samples = whole,
						    .wanted = cases[i].of.statistic *
							      (double)whole / samples };
	}
	if (rows == 0)
		return 0;
	if (drawing_init(&drawing, chance, count) < 0)
		return -ENOMEM;
	qsort(pending, rows, sizeof(*pending), compare_pending);
	draw_all(&drawing, pending, rows, cases);
	return 0;
}

int dispersion_test(const struct dispersion_run *runs, size_t count,
		    const struct dispersion *dispersion, double *p)
{
	struct dispersion_case row = { .of = *dispersion };
	int ret = dispersion_test_all(runs, count, &row, 1);
	if (ret == 0)
		*p = row.p;
	return ret;
}
