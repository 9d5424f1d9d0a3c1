#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "render/graph_layout_private.h"

/* Equal means stay in the order in which they were; what is beside a box comes behind it. */
struct ranked {
	double mean;
	uint32_t place, position; /* position: before; of the box that it is beside */
	bool beside;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->mean != b->mean)
		return a->mean < b->mean ? -1 : 1;
	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	if (a->beside != b->beside)
		return a->beside ? 1 : -1;
	return (a->place > b->place) - (a->place < b->place);
}

/* ---- crossings */

struct ends {
	uint32_t above, below; /* positions */
};

static int compare_ends(const void *left, const void *right)
{
	const struct ends *a = left, *b = right;
	if (a->above != b->above)
		return a->above < b->above ? -1 : 1;
	return (a->below > b->below) - (a->below < b->below);
}

/* Pairs of links between two ranks that change their order, by a Fenwick tree over positions. */
static size_t count_between(const struct layers *layers, uint32_t rank, struct ends *ends,
			    uint32_t *tree)
{
	uint32_t width = layers->rank_start[rank + 2] - layers->rank_start[rank + 1];
	size_t count = 0, crossings = 0;
	for (uint32_t i = layers->rank_start[rank]; i < layers->rank_start[rank + 1]; i++) {
		uint32_t place = layers->order[i];
		for (uint32_t n = layers->down.start[place]; n < layers->down.start[place + 1]; n++)
			ends[count++] =
				(struct ends){ layers->places[place].position,
					       layers->places[layers->down.list[n]].position };
	}
	qsort(ends, count, sizeof(*ends), compare_ends);
	memset(tree, 0, ((size_t)width + 1) * sizeof(*tree));
	for (size_t i = 0; i < count; i++) {
		size_t before = 0; /* links so far that end here or further left */
		for (uint32_t at = ends[i].below + 1; at; at &= at - 1)
			before += tree[at];
		crossings += i - before;
		for (uint32_t at = ends[i].below + 1; at <= width; at += at & -at)
			tree[at]++;
	}
	return crossings;
}

static size_t count_crossings(const struct layers *layers, struct ends *ends, uint32_t *tree)
{
	size_t sum = 0;
	for (uint32_t rank = 0; rank + 1 < layers->rank_count; rank++)
		sum += count_between(layers, rank, ends, tree);
	return sum;
}

/* ---- sweeps */

/* The mean position of the neighbours; false: there are none. */
static bool mean_of(const struct layers *layers, const struct neighbours *neighbours,
		    uint32_t place, double *mean)
{
	uint32_t first = neighbours->start[place], end = neighbours->start[place + 1];
	double sum = 0;
	for (uint32_t n = first; n < end; n++)
		sum += layers->places[neighbours->list[n]].position;
	*mean = end > first ? sum / (end - first) : 0;
	return end > first;
}

static void order_rank(struct layers *layers, const struct neighbours *neighbours, uint32_t rank,
		       struct ranked *scratch)
{
	uint32_t first = layers->rank_start[rank];
	uint32_t count = layers->rank_start[rank + 1] - first;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = layers->order[first + i];
		const struct place *place = &layers->places[number];
		scratch[i] = (struct ranked){ .place = number, .position = place->position };
		if (mean_of(layers, neighbours, number, &scratch[i].mean))
			continue;
		uint32_t with = number;
		if (place->anchor != NO_PLACE) {
			with = place->anchor;
			scratch[i].position = layers->places[with].position;
			scratch[i].beside = true;
		}
		if (!mean_of(layers, neighbours, with, &scratch[i].mean))
			scratch[i].mean = layers->places[with].position;
	}
	qsort(scratch, count, sizeof(*scratch), compare_ranked);
	for (uint32_t i = 0; i < count; i++) {
		layers->order[first + i] = scratch[i].place;
		layers->places[scratch[i].place].position = i;
	}
}

void layers_number_positions(struct layers *layers)
{
	for (uint32_t rank = 0; rank < layers->rank_count; rank++)
		for (uint32_t i = layers->rank_start[rank]; i < layers->rank_start[rank + 1]; i++)
			layers->places[layers->order[i]].position = i - layers->rank_start[rank];
}

int layers_order(struct layers *layers, size_t *crossings)
{
	size_t count = layers->place_count + 1;
	*crossings = 0;
	if (!layers->rank_count)
		return 0;
	CLEANUP(free_pointer) struct ranked *scratch = calloc(count, sizeof(*scratch));
	CLEANUP(free_pointer) uint32_t *best = calloc(count, sizeof(*best));
	CLEANUP(free_pointer) uint32_t *tree = calloc(count + 1, sizeof(*tree));
	CLEANUP(free_pointer) struct ends *ends = calloc(layers->link_count + 1, sizeof(*ends));
	if (!scratch || !best || !tree || !ends)
		return -ENOMEM;
	*crossings = count_crossings(layers, ends, tree);
	memcpy(best, layers->order, layers->place_count * sizeof(*best));
	/* two at least: they bring what is beside a box to it */
	for (int sweep = 0; sweep < LAYOUT_SWEEPS && (sweep < 2 || *crossings); sweep++) {
		if (sweep % 2 == 0)
			for (uint32_t rank = 1; rank < layers->rank_count; rank++)
				order_rank(layers, &layers->up, rank, scratch);
		else
			for (uint32_t rank = layers->rank_count - 1; rank-- > 0;)
				order_rank(layers, &layers->down, rank, scratch);
		size_t now = count_crossings(layers, ends, tree);
		if (now > *crossings)
			continue;
		*crossings = now;
		memcpy(best, layers->order, layers->place_count * sizeof(*best));
	}
	memcpy(layers->order, best, layers->place_count * sizeof(*best));
	layers_number_positions(layers);
	return 0;
}
