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

static void fill(const struct procedure_cycles *procedure, struct sorted *sorted)
{
	const struct flow_loops *loops = &procedure->loops;
	for (uint32_t l = 0; l < loops->count; l++)
		sorted[l] = (struct sorted){ .parent = loops->list[l].parent,
					     .weight = cycles_weight(&procedure->loop_costs[l]),
					     .first_block = loops->list[l].header,
					     .part = { true, l, loops->list[l].depth - 1 } };
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		uint32_t loop = loops->of_block[b];
		uint32_t depth = loop == FLOW_NO_LOOP ? 0 : loops->list[loop].depth;
		sorted[loops->count + b] =
			(struct sorted){ .parent = loop,
					 .weight = cycles_weight(&procedure->blocks[b]),
					 .first_block = b,
					 .part = { false, b, depth } };
	}
}

/* Where the parts of each loop start in the sorted list, [loops]: of those outside of any. */
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
	size_t all = (size_t)loops + procedure->cfg.graph.block_count, placed = 0;
	CLEANUP(free_pointer) struct sorted *sorted = calloc(all + 1, sizeof(*sorted));
	CLEANUP(free_pointer) size_t *next = calloc((size_t)loops + 1, sizeof(*next));
	struct ranked_part *list = calloc(all + 1, sizeof(*list));
	if (!sorted || !next || !list) {
		free(list);
		return -ENOMEM;
	}
	fill(procedure, sorted);
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
			within = procedure->loops.list[within].parent;
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
