#include "count/cost.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "count/moment.h"

/* The first trials find caches, branches and pages unused. */
#define WARMING_TRIALS 20

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void count_cost_of(double *differences, size_t count, struct count_cost *cost)
{
	*cost = (struct count_cost){ .known = false };
	if (count == 0)
		return;
	qsort(differences, count, sizeof(*differences), compare_doubles);
	double median = differences[count / 2];
	double below = median - differences[(count - 1) * 25 / 1000];
	double above = differences[(count - 1) * 975 / 1000] - median;
	*cost = (struct count_cost){
		.median = median,
		.spread = below > above ? below : above,
		.known = true,
	};
}

int count_cost_measure(const struct cost_subject *subject, struct count_cost *costs)
{
	size_t events = subject->events;
	CLEANUP(free_pointer)
	double *differences = calloc(events * COST_TRIALS + 1, sizeof(*differences));
	CLEANUP(free_pointer) size_t *counts = calloc(events + 1, sizeof(*counts));
	CLEANUP(free_pointer) struct count_moment *begin = calloc(events + 1, sizeof(*begin));
	CLEANUP(free_pointer) struct count_moment *end = calloc(events + 1, sizeof(*end));
	if (!differences || !counts || !begin || !end)
		return -ENOMEM;
	for (int trial = -WARMING_TRIALS; trial < COST_TRIALS; trial++) {
		subject->begin(subject->context, begin);
		subject->end(subject->context, end);
		for (size_t i = 0; trial >= 0 && i < events; i++)
			/* of an event that is off the PMU for a while nothing is learned */
			if (begin[i].known && end[i].known &&
			    end[i].running_ns - begin[i].running_ns ==
				    end[i].enabled_ns - begin[i].enabled_ns)
				differences[i * COST_TRIALS + counts[i]++] =
					(double)(end[i].count - begin[i].count);
	}
	for (size_t i = 0; i < events; i++)
		count_cost_of(differences + i * COST_TRIALS, counts[i], &costs[i]);
	return 0;
}
