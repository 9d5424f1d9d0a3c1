#include "render/graph_layout.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "render/graph_layout_private.h"

void graph_layout_release(struct graph_layout *layout)
{
	free(layout->points);
	*layout = (struct graph_layout){ 0 };
}

struct work {
	struct layout_box *boxes;
	size_t box_count;
	struct layout_edge *edges;
	size_t edge_count;
	uint32_t *first_place; /* by edge: of its own, in the order of the ranks */
	uint32_t *own_places;  /* how many */
	struct layers layers;
	double *top, *bottom; /* by rank */
};

static void neighbours_release(struct neighbours *neighbours)
{
	free(neighbours->list);
	free(neighbours->start);
}

static void work_release(struct work *work)
{
	free(work->first_place);
	free(work->own_places);
	free(work->layers.places);
	free(work->layers.links);
	neighbours_release(&work->layers.up);
	neighbours_release(&work->layers.down);
	free(work->layers.order);
	free(work->layers.rank_start);
	free(work->top);
	free(work->bottom);
}

/* ---- items by a number that each has */

struct keyed_items {
	const void *items;
	size_t count, item_bytes;
	size_t key_offset; /* of a uint32_t in the item, below key_count */
	size_t key_count;
};

static uint32_t key_of(const struct keyed_items *keyed, size_t item)
{
	uint32_t key;
	memcpy(&key, (const char *)keyed->items + item * keyed->item_bytes + keyed->key_offset,
	       sizeof(key));
	return key;
}

/*
 * Items (their positions) by key, those of one key in their order: list[start[k]] up to
 * list[start[k + 1]]. For neighbours_release(), also where it returns -ENOMEM instead of 0.
 */
static int group_by_key(const struct keyed_items *keyed, struct neighbours *out)
{
	out->start = calloc(keyed->key_count + 2, sizeof(*out->start));
	out->list = calloc(keyed->count + 1, sizeof(*out->list));
	if (!out->start || !out->list)
		return -ENOMEM;
	/* two places on: filling then moves each start to where it belongs */
	for (size_t i = 0; i < keyed->count; i++)
		out->start[key_of(keyed, i) + 2]++;
	for (size_t k = 2; k < keyed->key_count + 2; k++)
		out->start[k] += out->start[k - 1];
	for (size_t i = 0; i < keyed->count; i++)
		out->list[out->start[key_of(keyed, i) + 1]++] = (uint32_t)i;
	return 0;
}

/* ---- ranks */

enum visit { NEVER, OPEN, DONE };

struct search {
	struct neighbours out;
	uint8_t *state;	 /* enum visit */
	uint32_t *stack; /* boxes that are open */
	uint32_t *next;	 /* by box: its edges looked at */
	uint32_t *done;	 /* boxes in the order in which they were left */
};

static void search_release(struct search *search)
{
	neighbours_release(&search->out);
	free(search->state);
	free(search->stack);
	free(search->next);
	free(search->done);
}

/* An edge to a box that is still open leads back. */
static void search_from(struct work *work, struct search *search, uint32_t root, size_t *done)
{
	size_t depth = 0;
	search->stack[depth++] = root;
	search->state[root] = OPEN;
	while (depth) {
		uint32_t box = search->stack[depth - 1];
		if (search->next[box] == search->out.start[box + 1]) {
			search->state[box] = DONE;
			search->done[(*done)++] = box;
			depth--;
			continue;
		}
		struct layout_edge *edge = &work->edges[search->out.list[search->next[box]++]];
		edge->is_back = search->state[edge->to] == OPEN;
		if (search->state[edge->to] != NEVER)
			continue;
		search->state[edge->to] = OPEN;
		search->stack[depth++] = edge->to;
	}
}

static int find_ranks(struct work *work)
{
	CLEANUP(search_release) struct search search = { 0 };
	size_t count = work->box_count + 1, done = 0;
	search.state = calloc(count, sizeof(*search.state));
	search.stack = calloc(count, sizeof(*search.stack));
	search.next = calloc(count, sizeof(*search.next));
	search.done = calloc(count, sizeof(*search.done));
	const struct keyed_items by_source = { work->edges, work->edge_count, sizeof(*work->edges),
					       offsetof(struct layout_edge, from),
					       work->box_count };
	if (group_by_key(&by_source, &search.out) < 0 || !search.state || !search.stack ||
	    !search.next || !search.done)
		return -ENOMEM;
	for (uint32_t b = 0; b < work->box_count; b++)
		search.next[b] = search.out.start[b];
	for (uint32_t b = 0; b < work->box_count; b++) {
		work->boxes[b].rank = 0;
		if (search.state[b] == NEVER)
			search_from(work, &search, b, &done);
	}
	while (done-- > 0) { /* from what nothing leads forward to */
		uint32_t box = search.done[done];
		for (uint32_t i = search.out.start[box]; i < search.out.start[box + 1]; i++) {
			const struct layout_edge *edge = &work->edges[search.out.list[i]];
			uint32_t rank = work->boxes[box].rank + 1;
			if (!edge->is_back && work->boxes[edge->to].rank < rank)
				work->boxes[edge->to].rank = rank;
		}
		if (work->layers.rank_count <= work->boxes[box].rank)
			work->layers.rank_count = work->boxes[box].rank + 1;
	}
	return 0;
}

/* ---- places and links */

static int add_place(struct layers *layers, const struct place *place)
{
	if (array_reserve(&layers->places, &layers->place_capacity, layers->place_count,
			  sizeof(*layers->places)) < 0)
		return -ENOMEM;
	layers->places[layers->place_count++] = *place;
	return 0;
}

static int add_link(struct layers *layers, size_t above, size_t below)
{
	if (array_reserve(&layers->links, &layers->link_capacity, layers->link_count,
			  sizeof(*layers->links)) < 0)
		return -ENOMEM;
	layers->links[layers->link_count++] = (struct link){ (uint32_t)above, (uint32_t)below };
	return 0;
}

/* Places in all ranks between an edge's ends; of one that leads back in theirs too. */
static int add_edge(struct work *work, size_t number)
{
	struct layers *layers = &work->layers;
	struct layout_edge *edge = &work->edges[number];
	uint32_t upper = edge->is_back ? edge->to : edge->from;
	uint32_t lower = edge->is_back ? edge->from : edge->to;
	uint32_t first = work->boxes[upper].rank + (edge->is_back ? 0 : 1);
	uint32_t end = work->boxes[lower].rank + (edge->is_back ? 1 : 0);
	work->first_place[number] = (uint32_t)layers->place_count;
	if (layers->place_count - work->box_count + (end - first) > LAYOUT_PLACES) {
		edge->is_straight = true;
		return 0;
	}
	work->own_places[number] = end - first;
	int ret = 0;
	for (uint32_t rank = first; ret == 0 && rank < end; rank++) {
		bool beside_upper = edge->is_back && rank == first;
		bool beside_lower = edge->is_back && rank + 1 == end;
		const struct place place = { .rank = rank,
					     .anchor = beside_lower   ? lower
						       : beside_upper ? upper
								      : NO_PLACE,
					     .width = layers->gaps.line };
		ret = add_place(layers, &place);
		if (ret == 0 && rank > first)
			ret = add_link(layers, layers->place_count - 2, layers->place_count - 1);
	}
	if (ret < 0 || edge->is_back)
		return ret;
	if (end == first)
		return add_link(layers, upper, lower);
	ret = add_link(layers, upper, work->first_place[number]);
	return ret < 0 ? ret : add_link(layers, layers->place_count - 1, lower);
}

static int make_places(struct work *work)
{
	int ret = 0;
	work->first_place = calloc(work->edge_count + 1, sizeof(*work->first_place));
	work->own_places = calloc(work->edge_count + 1, sizeof(*work->own_places));
	if (!work->first_place || !work->own_places)
		return -ENOMEM;
	for (size_t b = 0; ret == 0 && b < work->box_count; b++) {
		const struct place place = { .rank = work->boxes[b].rank,
					     .anchor = NO_PLACE,
					     .is_box = true,
					     .width = work->boxes[b].width };
		ret = add_place(&work->layers, &place);
	}
	for (size_t e = 0; ret == 0 && e < work->edge_count; e++)
		ret = add_edge(work, e);
	return ret;
}

enum direction { TO_ABOVE, TO_BELOW };

/* By place, the places that its links in that direction lead to. */
static int make_neighbours(const struct layers *layers, enum direction direction,
			   struct neighbours *out)
{
	size_t own =
		direction == TO_BELOW ? offsetof(struct link, above) : offsetof(struct link, below);
	const struct keyed_items keyed = { layers->links, layers->link_count,
					   sizeof(*layers->links), own, layers->place_count };
	if (group_by_key(&keyed, out) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < layers->link_count; i++) {
		const struct link *link = &layers->links[out->list[i]];
		out->list[i] = direction == TO_BELOW ? link->below : link->above;
	}
	return 0;
}

/* By rank, in the order of their numbers, which for boxes is that of the caller. */
static int make_order(struct layers *layers)
{
	const struct keyed_items keyed = { layers->places, layers->place_count,
					   sizeof(*layers->places), offsetof(struct place, rank),
					   layers->rank_count };
	struct neighbours by_rank = { 0 };
	int ret = group_by_key(&keyed, &by_rank);
	layers->order = by_rank.list;
	layers->rank_start = by_rank.start;
	if (ret == 0)
		layers_number_positions(layers);
	return ret;
}

/* ---- coordinates */

static int set_heights(struct work *work, struct graph_layout *out)
{
	uint32_t ranks = work->layers.rank_count;
	double y = 0;
	work->top = calloc((size_t)ranks + 1, sizeof(*work->top));
	work->bottom = calloc((size_t)ranks + 1, sizeof(*work->bottom));
	if (!work->top || !work->bottom)
		return -ENOMEM;
	for (size_t b = 0; b < work->box_count; b++)
		if (work->bottom[work->boxes[b].rank] < work->boxes[b].height)
			work->bottom[work->boxes[b].rank] = work->boxes[b].height;
	for (uint32_t r = 0; r < ranks; r++) {
		/* room for the lines that enter the first rank and leave the last one */
		y += r ? work->layers.gaps.down : work->layers.gaps.down / 2;
		work->top[r] = y;
		y += work->bottom[r];
		work->bottom[r] = y;
	}
	out->height = y + work->layers.gaps.down / 2;
	for (size_t b = 0; b < work->box_count; b++) {
		struct layout_box *box = &work->boxes[b];
		box->x = fmax(work->layers.places[b].x - box->width / 2, 0); /* but for rounding */
		box->y = work->top[box->rank];
	}
	for (size_t p = 0; p < work->layers.place_count; p++) {
		const struct place *place = &work->layers.places[p];
		if (out->width < place->x + place->width / 2)
			out->width = place->x + place->width / 2;
	}
	return 0;
}

/* Where an edge leaves or enters a box: in the order of where it comes from or goes to. */
struct port {
	uint32_t box, edge;
	double towards, x;
};

static int compare_ports(const void *left, const void *right)
{
	const struct port *a = left, *b = right;
	if (a->box != b->box)
		return a->box < b->box ? -1 : 1;
	if (a->towards != b->towards)
		return a->towards < b->towards ? -1 : 1;
	return (a->edge > b->edge) - (a->edge < b->edge);
}

/* `by_edge` gets each edge's x. */
static void spread(const struct work *work, struct port *ports, double *by_edge)
{
	qsort(ports, work->edge_count, sizeof(*ports), compare_ports);
	for (size_t first = 0, end; first < work->edge_count; first = end) {
		const struct layout_box *box = &work->boxes[ports[first].box];
		for (end = first; end < work->edge_count && ports[end].box == ports[first].box;)
			end++;
		for (size_t i = first; i < end; i++)
			by_edge[ports[i].edge] = box->x + box->width * (double)(i - first + 1) /
								  (double)(end - first + 1);
	}
}

/* The edge's own places in the order in which it passes them, else its other end. */
static double next_x(const struct work *work, size_t e, bool leaving)
{
	const struct layout_edge *edge = &work->edges[e];
	uint32_t count = work->own_places[e];
	if (!count)
		return work->layers.places[leaving ? edge->to : edge->from].x;
	bool first = leaving != edge->is_back;
	return work->layers.places[work->first_place[e] + (first ? 0 : count - 1)].x;
}

static int find_ports(const struct work *work, double *leaves, double *enters)
{
	CLEANUP(free_pointer) struct port *ports = calloc(work->edge_count + 1, sizeof(*ports));
	if (!ports)
		return -ENOMEM;
	for (uint32_t e = 0; e < work->edge_count; e++)
		ports[e] = (struct port){ work->edges[e].from, e, next_x(work, e, true), 0 };
	spread(work, ports, leaves);
	for (uint32_t e = 0; e < work->edge_count; e++)
		ports[e] = (struct port){ work->edges[e].to, e, next_x(work, e, false), 0 };
	spread(work, ports, enters);
	return 0;
}

static void draw_edge(struct work *work, size_t e, double leaves, double enters,
		      struct layout_point *points)
{
	struct layout_edge *edge = &work->edges[e];
	const struct layout_box *from = &work->boxes[edge->from], *to = &work->boxes[edge->to];
	double pull = work->layers.gaps.down / 2;
	uint32_t own = work->own_places[e];
	size_t count = 0;
	points[count++] = (struct layout_point){ leaves, from->y + from->height, 0 };
	points[count++] = (struct layout_point){ leaves, work->bottom[from->rank], pull };
	for (uint32_t i = 0; i < own; i++) {
		uint32_t number = work->first_place[e] + (edge->is_back ? own - 1 - i : i);
		const struct place *place = &work->layers.places[number];
		const struct layout_point upper = { place->x, work->top[place->rank], -pull };
		const struct layout_point lower = { place->x, work->bottom[place->rank], pull };
		points[count++] = edge->is_back ? lower : upper;
		points[count++] = edge->is_back ? upper : lower;
	}
	points[count++] = (struct layout_point){ enters, to->y, -pull };
	edge->points = points;
	edge->point_count = count;
}

static int draw_edges(struct work *work, struct graph_layout *out)
{
	CLEANUP(free_pointer) double *leaves = calloc(work->edge_count + 1, sizeof(*leaves));
	CLEANUP(free_pointer) double *enters = calloc(work->edge_count + 1, sizeof(*enters));
	size_t count = 0;
	for (size_t e = 0; e < work->edge_count; e++)
		count += 3 + 2 * (size_t)work->own_places[e];
	out->points = calloc(count + 1, sizeof(*out->points));
	if (!leaves || !enters || !out->points || find_ports(work, leaves, enters) < 0)
		return -ENOMEM;
	count = 0;
	for (size_t e = 0; e < work->edge_count; e++) {
		draw_edge(work, e, leaves[e], enters[e], out->points + count);
		count += work->edges[e].point_count;
	}
	return 0;
}

int graph_layout_run(struct layout_box *boxes, size_t box_count, struct layout_edge *edges,
		     size_t edge_count, const struct layout_gaps *gaps, struct graph_layout *out)
{
	CLEANUP(work_release)
	struct work work = { .boxes = boxes,
			     .box_count = box_count,
			     .edges = edges,
			     .edge_count = edge_count,
			     .layers = { .gaps = *gaps } };
	*out = (struct graph_layout){ 0 };
	for (size_t e = 0; e < edge_count; e++)
		edges[e].is_straight = edges[e].is_back = false;
	int ret = find_ranks(&work);
	if (ret == 0)
		ret = make_places(&work);
	if (ret == 0)
		ret = make_neighbours(&work.layers, TO_BELOW, &work.layers.down);
	if (ret == 0)
		ret = make_neighbours(&work.layers, TO_ABOVE, &work.layers.up);
	if (ret == 0)
		ret = make_order(&work.layers);
	if (ret == 0)
		ret = layers_order(&work.layers, &out->crossings);
	if (ret == 0)
		ret = layers_place(&work.layers);
	if (ret == 0)
		ret = set_heights(&work, out);
	if (ret == 0)
		ret = draw_edges(&work, out);
	if (ret < 0)
		graph_layout_release(out);
	return ret;
}
