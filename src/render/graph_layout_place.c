#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "render/graph_layout_private.h"

#define PASSES	      10
#define STRAIGHTEN    8.0 /* a link between two lines' places weighs as many between boxes */
#define HALF_STRAIGHT 2.0
#define STAYS	      0.01 /* the weight of staying where it is */

/* A run of neighbours that touch each other. */
struct pool {
	double sum, weight;
	uint32_t count;
};

/* The distance between the middles of two neighbours. */
static double apart(const struct layers *layers, const struct place *left,
		    const struct place *right)
{
	double gap = left->is_box || right->is_box ? layers->gaps.across : layers->gaps.line;
	return (left->width + right->width) / 2 + gap;
}

enum directions { FROM_ABOVE = 1, FROM_BELOW = 2 };

static void add_wish(const struct layers *layers, const struct neighbours *neighbours,
		     uint32_t number, double *sum, double *weight)
{
	const struct place *place = &layers->places[number];
	for (uint32_t n = neighbours->start[number]; n < neighbours->start[number + 1]; n++) {
		const struct place *other = &layers->places[neighbours->list[n]];
		double counts = place->is_box && other->is_box	 ? 1
				: place->is_box || other->is_box ? HALF_STRAIGHT
								 : STRAIGHTEN;
		*sum += counts * other->x;
		*weight += counts;
	}
}

/* What stands beside a box wants to stay there. */
static void add_anchor(const struct layers *layers, const struct place *place, double *sum,
		       double *weight)
{
	if (place->anchor == NO_PLACE)
		return;
	const struct place *box = &layers->places[place->anchor];
	double distance = apart(layers, box, place);
	*sum += place->position > box->position ? box->x + distance : box->x - distance;
	*weight += 1;
}

/* Least squares: each as near to where its neighbours want it as order and distances allow. */
static void place_rank(struct layers *layers, uint32_t rank, enum directions directions,
		       struct pool *pools)
{
	uint32_t first = layers->rank_start[rank], end = layers->rank_start[rank + 1];
	double shift = 0; /* what the distances add up to */
	size_t count = 0;
	for (uint32_t i = first; i < end; i++) {
		uint32_t number = layers->order[i];
		const struct place *place = &layers->places[number];
		double sum = STAYS * place->x, weight = STAYS;
		if (i > first)
			shift += apart(layers, &layers->places[layers->order[i - 1]], place);
		add_anchor(layers, place, &sum, &weight);
		if (directions & FROM_ABOVE)
			add_wish(layers, &layers->up, number, &sum, &weight);
		if (directions & FROM_BELOW)
			add_wish(layers, &layers->down, number, &sum, &weight);
		if (weight <= STAYS && i > first) /* nothing draws it: to the others */
			sum = STAYS * (layers->places[layers->order[i - 1]].x +
				       apart(layers, &layers->places[layers->order[i - 1]], place));
		pools[count++] = (struct pool){ sum - weight * shift, weight, 1 };
		while (count > 1 && pools[count - 2].sum * pools[count - 1].weight >=
					    pools[count - 1].sum * pools[count - 2].weight) {
			count--;
			pools[count - 1].sum += pools[count].sum;
			pools[count - 1].weight += pools[count].weight;
			pools[count - 1].count += pools[count].count;
		}
	}
	uint32_t at = first;
	shift = 0;
	for (size_t p = 0; p < count; p++)
		for (uint32_t i = 0; i < pools[p].count; i++, at++) {
			struct place *place = &layers->places[layers->order[at]];
			if (at > first)
				shift += apart(layers, &layers->places[layers->order[at - 1]],
					       place);
			place->x = pools[p].sum / pools[p].weight + shift;
		}
}

static void pack(struct layers *layers)
{
	for (uint32_t rank = 0; rank < layers->rank_count; rank++)
		for (uint32_t i = layers->rank_start[rank]; i < layers->rank_start[rank + 1]; i++) {
			struct place *place = &layers->places[layers->order[i]];
			const struct place *left = i > layers->rank_start[rank]
							   ? &layers->places[layers->order[i - 1]]
							   : NULL;
			place->x = left ? left->x + apart(layers, left, place) : place->width / 2;
		}
}

int layers_place(struct layers *layers)
{
	CLEANUP(free_pointer)
	struct pool *pools = calloc(layers->place_count + 1, sizeof(*pools));
	double least = 0;
	if (!pools)
		return -ENOMEM;
	pack(layers);
	for (int pass = 0; pass < PASSES; pass++) {
		enum directions both = pass >= PASSES - 2 ? FROM_ABOVE | FROM_BELOW : 0;
		for (uint32_t rank = 0; rank < layers->rank_count; rank++)
			place_rank(layers, rank, both ? both : FROM_ABOVE, pools);
		for (uint32_t rank = layers->rank_count; rank-- > 0;)
			place_rank(layers, rank, both ? both : FROM_BELOW, pools);
	}
	for (size_t i = 0; i < layers->place_count; i++) {
		double left = layers->places[i].x - layers->places[i].width / 2;
		least = i == 0 || left < least ? left : least;
	}
	for (size_t i = 0; i < layers->place_count; i++)
		layers->places[i].x -= least;
	return 0;
}
