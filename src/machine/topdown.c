#include "machine/topdown.h"

#include <math.h>
#include <stddef.h>

/* What arithmetic in double leaves of an exact 0. */
#define ROUNDING 1e-9

static const struct {
	const char *name;
	unsigned level;
	enum topdown_category parent;
} categories[TOPDOWN_CATEGORIES] = {
	[TOPDOWN_RETIRING] = { "retiring", 1, TOPDOWN_RETIRING },
	[TOPDOWN_BAD_SPECULATION] = { "bad_speculation", 1, TOPDOWN_BAD_SPECULATION },
	[TOPDOWN_FRONTEND_BOUND] = { "frontend_bound", 1, TOPDOWN_FRONTEND_BOUND },
	[TOPDOWN_BACKEND_BOUND] = { "backend_bound", 1, TOPDOWN_BACKEND_BOUND },
	[TOPDOWN_HEAVY_OPERATIONS] = { "heavy_operations", 2, TOPDOWN_RETIRING },
	[TOPDOWN_BRANCH_MISPREDICTS] = { "branch_mispredicts", 2, TOPDOWN_BAD_SPECULATION },
	[TOPDOWN_FETCH_LATENCY] = { "fetch_latency", 2, TOPDOWN_FRONTEND_BOUND },
	[TOPDOWN_MEMORY_BOUND] = { "memory_bound", 2, TOPDOWN_BACKEND_BOUND },
	[TOPDOWN_LIGHT_OPERATIONS] = { "light_operations", 2, TOPDOWN_RETIRING },
	[TOPDOWN_MACHINE_CLEARS] = { "machine_clears", 2, TOPDOWN_BAD_SPECULATION },
	[TOPDOWN_FETCH_BANDWIDTH] = { "fetch_bandwidth", 2, TOPDOWN_FRONTEND_BOUND },
	[TOPDOWN_CORE_BOUND] = { "core_bound", 2, TOPDOWN_BACKEND_BOUND },
	[TOPDOWN_SMT_CONTENTION] = { "smt_contention", 1, TOPDOWN_SMT_CONTENTION },
};

const char *topdown_category_name(unsigned category)
{
	return category < TOPDOWN_CATEGORIES ? categories[category].name : NULL;
}

unsigned topdown_category_level(enum topdown_category category)
{
	return categories[category].level;
}

enum topdown_category topdown_category_parent(enum topdown_category category)
{
	return categories[category].parent;
}

void topdown_clear(struct topdown *topdown, const char *why)
{
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++)
		topdown->figures[i] = (struct topdown_figure){ .why = why };
}

static void judge_range(struct topdown_figure *figure)
{
	double margin = figure->resolution + ROUNDING;
	if (figure->value < -margin)
		figure->doubts |= TOPDOWN_BELOW_ZERO;
	else if (figure->value < 0)
		figure->value = 0;
	if (figure->value > 1 + margin)
		figure->doubts |= TOPDOWN_ABOVE_ONE;
	else if (figure->value > 1)
		figure->value = 1;
}

void topdown_judge(struct topdown *topdown)
{
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++) {
		struct topdown_figure *figure = &topdown->figures[i];
		const struct topdown_figure *parent = &topdown->figures[categories[i].parent];
		if (!figure->known)
			continue;
		judge_range(figure);
		if (parent->known && figure->value - parent->value >
					     figure->resolution + parent->resolution + ROUNDING)
			figure->doubts |= TOPDOWN_ABOVE_PARENT;
	}
}

void topdown_judge_sum(struct topdown *topdown, double sum, double resolution)
{
	topdown->sum = sum;
	topdown->sum_resolution = resolution;
	topdown->sum_state = fabs(sum - 1) <= TOPDOWN_SUM_TOLERANCE + resolution ? TOPDOWN_SUM_HOLDS
										 : TOPDOWN_SUM_OFF;
}
