#include "analyze/accuracy/accuracy_causes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/accuracy/exact_counts.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"

#define FEWEST_PAIRS 3

/* Causes that something counts; the second event adds to the first. */
static const struct {
	enum dynamic_cause cause;
	enum culprit_event events[2];
	size_t event_count;
} countable[] = {
	{ DYNAMIC_ICACHE, { CULPRIT_L1I_MISSES }, 1 },
	{ DYNAMIC_ITLB, { CULPRIT_ITLB_MISSES }, 1 },
	{ DYNAMIC_DCACHE, { CULPRIT_L1D_MISSES }, 1 },
	{ DYNAMIC_DTLB, { CULPRIT_DTLB_MISSES }, 1 },
	{ DYNAMIC_WRITE_BUFFER, { CULPRIT_STORE_L1_MISSES }, 1 },
	{ DYNAMIC_MISPREDICT, { CULPRIT_MISPREDICTS, CULPRIT_INDIRECT_MISPREDICTS }, 2 },
};
#define COUNTABLE COUNT_OF(countable)
_Static_assert(COUNTABLE <= ACCURACY_CAUSES, "every cause has a row");

void accuracy_causes_init(struct accuracy_causes *causes, const struct exact_counts *truth,
			  const struct annotate_index *index)
{
	*causes = (struct accuracy_causes){
		.truth = truth,
		.index = index,
		.counted = culprit_events_of(exact_counts_columns(truth)),
		.sampled = culprit_events_of(index->columns),
	};
}

void accuracy_causes_release(struct accuracy_causes *causes)
{
	free(causes->stalls);
}

/* ---- one procedure */

static double count_in_truth(const struct accuracy_causes *causes, size_t column, uint32_t image,
			     const struct cfg *cfg)
{
	double sum = 0;
	for (uint32_t p = 0; p < cfg->part_count; p++)
		sum += exact_counts_sum(causes->truth, column, image, cfg->parts[p].first,
					cfg->parts[p].last);
	return sum;
}

static double count_in_samples(const struct accuracy_causes *causes, size_t column,
			       const struct procedure_cycles *procedure)
{
	double sum = (double)procedure->procedure->cells[column].estimate;
	if (procedure->cold)
		sum += (double)procedure->cold->cells[column].estimate;
	return sum / event_column_divisor(&causes->index->columns->list[column]);
}

/* Whether the cause's first event is in the truth; else it may be in the profile. */
static bool is_in_truth(const struct accuracy_causes *causes, size_t cause)
{
	return causes->counted.column[countable[cause].events[0]] != CYCLES_NO_COLUMN;
}

static double count_events(const struct accuracy_causes *causes, size_t cause,
			   const struct procedure_cycles *procedure, uint32_t image)
{
	const struct culprit_events *events =
		is_in_truth(causes, cause) ? &causes->counted : &causes->sampled;
	double sum = 0;
	for (size_t e = 0; e < countable[cause].event_count; e++) {
		size_t column = events->column[countable[cause].events[e]];
		if (column == CYCLES_NO_COLUMN)
			continue;
		sum += events == &causes->counted
			       ? count_in_truth(causes, column, image, &procedure->cfg)
			       : count_in_samples(causes, column, procedure);
	}
	return sum;
}

int accuracy_causes_add(struct accuracy_causes *causes, const struct procedure_cycles *procedure,
			uint32_t image, struct error *err)
{
	CLEANUP(culprits_freep) struct culprits *culprits = NULL;
	int ret = culprits_new(procedure, causes->index->columns, &causes->sampled, &culprits, err);
	if (ret < 0 || !culprits->known)
		return ret;
	if (array_reserve(&causes->stalls, &causes->capacity, causes->procedures,
			  COUNTABLE * sizeof(*causes->stalls)) < 0)
		return error_set(err, -ENOMEM, "out of memory for the causes of stalls");
	struct accuracy_stall *stalls = causes->stalls + COUNTABLE * causes->procedures++;
	for (size_t c = 0; c < COUNTABLE; c++)
		stalls[c] = (struct accuracy_stall){ .counted = count_events(causes, c, procedure,
									     image) };
	for (size_t i = 0; i < culprits->count; i++)
		for (size_t c = 0; c < COUNTABLE; c++) {
			if (countable[c].cause != culprits->list[i].cause)
				continue;
			stalls[c].low_cycles += culprits->list[i].low;
			stalls[c].high_cycles += culprits->list[i].high;
		}
	return 0;
}

/* ---- correlation */

double accuracy_correlation(const double *x, const double *y, size_t count)
{
	double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
	if (count < FEWEST_PAIRS)
		return NAN;
	for (size_t i = 0; i < count; i++) {
		mean_x += x[i] / (double)count;
		mean_y += y[i] / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		xx += (x[i] - mean_x) * (x[i] - mean_x);
		yy += (y[i] - mean_y) * (y[i] - mean_y);
		xy += (x[i] - mean_x) * (y[i] - mean_y);
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

struct ranked {
	double value;
	size_t position;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	return (a->value > b->value) - (a->value < b->value);
}

static void rank(const double *values, size_t count, struct ranked *scratch, double *ranks)
{
	for (size_t i = 0; i < count; i++)
		scratch[i] = (struct ranked){ values[i], i };
	qsort(scratch, count, sizeof(*scratch), compare_ranked);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && scratch[end].value == scratch[first].value;)
			end++;
		for (size_t i = first; i < end; i++)
			ranks[scratch[i].position] = (double)(first + end - 1) / 2;
	}
}

double accuracy_rank_correlation(const double *x, const double *y, size_t count)
{
	CLEANUP(free_pointer) struct ranked *scratch = calloc(count + 1, sizeof(*scratch));
	CLEANUP(free_pointer) double *ranks = calloc(2 * count + 1, sizeof(*ranks));
	if (!scratch || !ranks)
		return NAN;
	rank(x, count, scratch, ranks);
	rank(y, count, scratch, ranks + count);
	return accuracy_correlation(ranks, ranks + count, count);
}

/* ---- all procedures */

static void name_events(const struct accuracy_causes *causes, size_t cause, char *text, size_t size)
{
	bool exact = is_in_truth(causes, cause);
	const struct culprit_events *events = exact ? &causes->counted : &causes->sampled;
	const struct event_columns *columns =
		exact ? exact_counts_columns(causes->truth) : causes->index->columns;
	size_t used = 0;
	text[0] = 0;
	for (size_t e = 0; e < countable[cause].event_count; e++) {
		size_t column = events->column[countable[cause].events[e]];
		if (column == CYCLES_NO_COLUMN || used >= size)
			continue;
		struct span name = columns->list[column].name;
		used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? "+" : "",
					 (int)name.size, (const char *)name.data);
	}
}

/* Columns of numbers, one a procedure. */
enum { LOW, HIGH, MIDDLE, COUNTED, SERIES };

int accuracy_causes_sum_up(const struct accuracy_causes *causes, struct accuracy_cause *sums,
			   size_t *sum_count)
{
	*sum_count = 0;
	size_t room = causes->procedures + 1;
	CLEANUP(free_pointer) double *numbers = calloc(SERIES * room, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	double *series[SERIES];
	for (size_t s = 0; s < SERIES; s++)
		series[s] = numbers + s * room;
	for (size_t c = 0; c < COUNTABLE; c++) {
		struct accuracy_cause *cause = &sums[*sum_count];
		*cause = (struct accuracy_cause){
			.cause = dynamic_cause_text(countable[c].cause),
			.key = dynamic_cause_key(countable[c].cause),
		};
		name_events(causes, c, cause->events, sizeof(cause->events));
		if (!cause->events[0])
			continue; /* nothing counts it */
		size_t count = 0;
		for (size_t p = 0; p < causes->procedures; p++) {
			const struct accuracy_stall *stall = &causes->stalls[COUNTABLE * p + c];
			if (!(stall->high_cycles > 0) && !(stall->counted > 0))
				continue;
			series[LOW][count] = stall->low_cycles;
			series[HIGH][count] = stall->high_cycles;
			series[MIDDLE][count] = (stall->low_cycles + stall->high_cycles) / 2;
			series[COUNTED][count++] = stall->counted;
			cause->low_cycles += stall->low_cycles;
			cause->high_cycles += stall->high_cycles;
			cause->counted += stall->counted;
		}
		cause->procedures = count;
		cause->pearson_low = accuracy_correlation(series[LOW], series[COUNTED], count);
		cause->pearson_high = accuracy_correlation(series[HIGH], series[COUNTED], count);
		cause->pearson = accuracy_correlation(series[MIDDLE], series[COUNTED], count);
		cause->spearman = accuracy_rank_correlation(series[MIDDLE], series[COUNTED], count);
		++*sum_count;
	}
	return 0;
}
