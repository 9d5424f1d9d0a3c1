#include "analyze/cycles/cycles_rank.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

double cycles_weight(const struct cycles_cost *cost)
{
	if (!isnan(cost->cycles))
		return cost->cycles;
	return isnan(cost->executed) ? 0 : cost->executed;
}

static bool is_part_of_parent(const struct flow_loops *loops, uint32_t loop)
{
	uint32_t parent = loops->list[loop].parent;
	return parent != FLOW_NO_LOOP && loops->list[loop].irreducible &&
	       loops->list[parent].irreducible;
}

uint32_t cycles_shown_loop(const struct flow_loops *loops, uint32_t loop)
{
	while (loop != FLOW_NO_LOOP && is_part_of_parent(loops, loop))
		loop = loops->list[loop].parent;
	return loop;
}

/* By loop: as which loop it is shown, and how many shown ones are around that. */
struct shown {
	uint32_t loop, parent, depth;
};

/* Loops have smaller numbers than those inside them. */
static void find_shown(const struct flow_loops *loops, struct shown *shown)
{
	for (uint32_t l = 0; l < loops->count; l++) {
		uint32_t parent = loops->list[l].parent;
		if (is_part_of_parent(loops, l))
			shown[l] = shown[parent];
		else if (parent == FLOW_NO_LOOP)
			shown[l] = (struct shown){ l, FLOW_NO_LOOP, 0 };
		else
			shown[l] = (struct shown){ l, shown[parent].loop, shown[parent].depth + 1 };
	}
}

/* A part with what it is sorted by. */
struct sorted {
	uint32_t parent; /* loop around it; FLOW_NO_LOOP for none */
	double weight;
	uint32_t first_block;
	struct ranked_part part;
};

static int compare(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;
	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->first_block != b->first_block)
		return a->first_block < b->first_block ? -1 : 1;
	return a->part.is_loop != b->part.is_loop ? (a->part.is_loop ? -1 : 1) : 0;
}

/* Lists all shown loops and all blocks; returns how many. */
static size_t list_parts(const struct procedure_cycles *procedure, const struct shown *shown,
			 struct sorted *sorted)
{
	const struct flow_loops *loops = &procedure->loops;
	size_t count = 0;
	for (uint32_t l = 0; l < loops->count; l++)
		if (shown[l].loop == l)
			sorted[count++] =
				(struct sorted){ .parent = shown[l].parent,
						 .weight = cycles_weight(&procedure->loop_costs[l]),
						 .first_block = loops->list[l].header,
						 .part = { true, l, shown[l].depth } };
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		uint32_t loop = loops->of_block[b];
		const struct shown *around = loop == FLOW_NO_LOOP ? NULL : &shown[loop];
		sorted[count++] =
			(struct sorted){ .parent = around ? around->loop : FLOW_NO_LOOP,
					 .weight = cycles_weight(&procedure->blocks[b]),
					 .first_block = b,
					 .part = { false, b, around ? around->depth + 1 : 0 } };
	}
	return count;
}

/* By loop where its parts start in the sorted list; starts[loops]: parts outside of all loops. */
static void find_starts(const struct sorted *sorted, size_t count, uint32_t loops, size_t *starts)
{
	for (uint32_t l = 0; l <= loops; l++)
		starts[l] = count;
	for (size_t i = count; i-- > 0;)
		starts[sorted[i].parent == FLOW_NO_LOOP ? loops : sorted[i].parent] = i;
}

int cycles_rank(const struct procedure_cycles *procedure, struct ranked_part **parts, size_t *count)
{
	uint32_t loops = procedure->loops.count;
	size_t most = (size_t)loops + procedure->cfg.graph.block_count, placed = 0;
	CLEANUP(free_pointer) struct sorted *sorted = calloc(most + 1, sizeof(*sorted));
	CLEANUP(free_pointer) size_t *next = calloc((size_t)loops + 1, sizeof(*next));
	CLEANUP(free_pointer) struct shown *shown = calloc((size_t)loops + 1, sizeof(*shown));
	struct ranked_part *list = calloc(most + 1, sizeof(*list));
	if (!sorted || !next || !shown || !list) {
		free(list);
		return -ENOMEM;
	}
	find_shown(&procedure->loops, shown);
	size_t all = list_parts(procedure, shown, sorted);
	qsort(sorted, all, sizeof(*sorted), compare);
	find_starts(sorted, all, loops, next);
	for (uint32_t within = FLOW_NO_LOOP;;) {
		size_t *at = &next[within == FLOW_NO_LOOP ? loops : within];
		if (*at < all && sorted[*at].parent == within) {
			list[placed] = sorted[(*at)++].part;
			if (list[placed].is_loop)
				within = list[placed].number;
			placed++;
		} else if (within == FLOW_NO_LOOP) {
			break;
		} else {
			within = shown[within].parent;
		}
	}
	*parts = list;
	*count = placed;
	return 0;
}

struct cycles_surety cycles_surety(const struct procedure_cycles *procedure)
{
	struct cycles_surety surety = { 0 };
	double whole = cycles_weight(&procedure->whole);
	if (!(whole > 0))
		return surety;
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		const struct frequency *frequency = &procedure->frequencies.blocks[b];
		double percent = 100 * cycles_weight(&procedure->blocks[b]) / whole;
		if (frequency->source == FREQUENCY_UNKNOWN)
			continue;
		if (frequency->confidence == FREQUENCY_HIGH)
			surety.high += percent;
		else if (frequency->confidence == FREQUENCY_MEDIUM)
			surety.medium += percent;
		else
			surety.low += percent;
	}
	return surety;
}
