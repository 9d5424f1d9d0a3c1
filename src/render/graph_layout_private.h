/*
 * graph_layout_private - what the steps of a layout share: places, which are boxes or where a
 * line passes a rank, and the links between places of neighbouring ranks.
 */
#pragma once

#include "render/graph_layout.h"

#define NO_PLACE UINT32_MAX

struct place {
	uint32_t rank, position;
	uint32_t anchor; /* a box's place in the same rank that it belongs beside, or NO_PLACE */
	bool is_box;
	double width, x; /* x: of the middle */
};

struct link {
	uint32_t above, below;
};

/* Places by place: list[start[p]] up to list[start[p + 1]]. */
struct neighbours {
	uint32_t *list, *start;
};

struct layers {
	struct layout_gaps gaps;
	struct place *places; /* boxes first, by their numbers */
	size_t place_count, place_capacity;
	struct link *links;
	size_t link_count, link_capacity;
	struct neighbours up, down;
	uint32_t rank_count;
	uint32_t *order;      /* places by rank and position */
	uint32_t *rank_start; /* in `order` */
};

/* Sets each place's position from `order`. */
void layers_number_positions(struct layers *layers);
/* Orders the places of each rank. Stores in *crossings how many links cross then. 0 or -ENOMEM. */
int layers_order(struct layers *layers, size_t *crossings);
/* Gives every place its x, from 0 on. 0 or -ENOMEM. */
int layers_place(struct layers *layers);
