#include "analyze/flow/flow_loops.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "base/cleanup.h"

#define NONE UINT32_MAX

/* Blocks are the search's numbers in here; 0, outside, is never in a loop. */
struct finder {
	const struct flow_graph *graph;
	const struct flow_search *search;
	uint32_t *up;	   /* union-find */
	uint32_t *header;  /* of the innermost loop around it that has another header; 0: none */
	uint32_t *body;	   /* of the loop being found: blocks not yet looked at */
	uint32_t *waiting; /* by common ancestor: a list of the edges that wait for it, or NONE */
	uint32_t *into; /* by block: a list of edges into all that is collapsed into it, or NONE */
	uint32_t *next; /* by edge: the next in the one list that it is in */
	uint32_t *topmost; /* least ancestor that an edge into the block waits for, or the block */
	bool *is_header;
	uint32_t *memory;
};

static void finder_release(struct finder *finder)
{
	free(finder->memory);
	free(finder->is_header);
}

static int finder_init(struct finder *finder, const struct flow_graph *graph,
		       const struct flow_search *search)
{
	size_t numbers = (size_t)graph->block_count + 1;
	finder->graph = graph;
	finder->search = search;
	finder->is_header = calloc(numbers, sizeof(*finder->is_header));
	finder->memory = calloc(6 * numbers + graph->edge_count, sizeof(*finder->memory));
	if (!finder->is_header || !finder->memory)
		return -ENOMEM;
	finder->up = finder->memory;
	finder->header = finder->up + numbers;
	finder->body = finder->header + numbers;
	finder->waiting = finder->body + numbers;
	finder->into = finder->waiting + numbers;
	finder->topmost = finder->into + numbers;
	finder->next = finder->topmost + numbers;
	for (uint32_t number = 0; number < numbers; number++) {
		finder->waiting[number] = finder->into[number] = NONE;
		finder->topmost[number] = finder->up[number] = number;
	}
	return 0;
}

static uint32_t find(uint32_t *up, uint32_t number)
{
	while (up[number] != number) {
		up[number] = up[up[number]];
		number = up[number];
	}
	return number;
}

static uint32_t number_of(const struct finder *finder, uint32_t block)
{
	return flow_search_number(finder->search, block);
}

static void put(struct finder *finder, uint32_t *list, uint32_t edge)
{
	finder->next[edge] = *list;
	*list = edge;
}

static void wait_at(struct finder *finder, uint32_t edge, uint32_t ancestor, uint32_t to)
{
	put(finder, &finder->waiting[ancestor], edge);
	if (ancestor < finder->topmost[to])
		finder->topmost[to] = ancestor;
}

static void wait_out_of(struct finder *finder, uint32_t from)
{
	const struct flow_search *search = finder->search;
	struct flow_ends out = flow_graph_out_of(finder->graph, search->block[from]);
	for (size_t i = 0; i < out.count; i++) {
		uint32_t to = number_of(finder, finder->graph->edges[out.list[i]].to);
		if (to == 0 || flow_search_is_below(search, from, to))
			continue; /* to outside, or back up the tree */
		if (to < from)
			wait_at(finder, out.list[i], find(finder->up, to), to);
		else if (search->parent[to] != from)
			wait_at(finder, out.list[i], from, to);
	}
}

/*
 * Puts every edge across or down the tree to the lowest common ancestor of its ends:
 * a second walk of the search, in which what it has left is united with its parent.
 */
static void wait_for_ancestors(struct finder *finder)
{
	const struct flow_search *search = finder->search;
	for (size_t i = finder->graph->edge_count; i > 0; i--) {
		const struct flow_edge *edge = &finder->graph->edges[i - 1];
		if (edge->from != FLOW_OUTSIDE)
			break; /* edges from outside are the last ones */
		uint32_t to = number_of(finder, edge->to);
		if (search->parent[to] != 0)
			wait_at(finder, (uint32_t)(i - 1), 0, to);
	}
	for (uint32_t number = 1; number <= search->block_count; number++) {
		for (uint32_t left = number - 1; search->last[left] < number;
		     left = search->parent[left])
			finder->up[left] = search->parent[left];
		wait_out_of(finder, number);
	}
}

static void add_to_body(struct finder *finder, uint32_t header, uint32_t *count, uint32_t number)
{
	number = find(finder->up, number);
	if (number == header)
		return; /* it is the header, or in the body already */
	assert(flow_search_is_below(finder->search, number, header));
	finder->up[number] = header;
	finder->header[number] = header;
	finder->body[(*count)++] = number;
}

/* The loop of one header, when those of all larger numbers are found and collapsed. */
static void find_loop(struct finder *finder, uint32_t header)
{
	const struct flow_search *search = finder->search;
	uint32_t count = 0;
	for (uint32_t edge = finder->waiting[header], next; edge != NONE; edge = next) {
		next = finder->next[edge];
		uint32_t to = number_of(finder, finder->graph->edges[edge].to);
		put(finder, &finder->into[find(finder->up, to)], edge);
	}
	struct flow_ends into = flow_graph_into(finder->graph, search->block[header]);
	for (size_t i = 0; i < into.count; i++) {
		uint32_t from = number_of(finder, finder->graph->edges[into.list[i]].from);
		if (!flow_search_is_below(search, from, header))
			continue;
		finder->is_header[header] = true;
		add_to_body(finder, header, &count, from);
	}
	while (count > 0) {
		uint32_t number = finder->body[--count];
		add_to_body(finder, header, &count, search->parent[number]);
		for (uint32_t edge = finder->into[number]; edge != NONE; edge = finder->next[edge])
			add_to_body(finder, header, &count,
				    number_of(finder, finder->graph->edges[edge].from));
	}
}

static void number_loops(const struct finder *finder, struct flow_loops *loops)
{
	const struct flow_search *search = finder->search;
	uint32_t count = 0;
	for (uint32_t number = 1; number <= search->block_count; number++) {
		uint32_t block = search->block[number], loop = FLOW_NO_LOOP;
		if (finder->header[number])
			loop = loops->of_block[search->block[finder->header[number]]];
		if (finder->is_header[number]) {
			loops->list[count] = (struct flow_loop){ .header = block, .parent = loop };
			loops->list[count].depth =
				loop == FLOW_NO_LOOP ? 1 : loops->list[loop].depth + 1;
			loop = count++;
		}
		loops->of_block[block] = loop;
	}
	for (uint32_t block = 0; block < search->block_count; block++)
		if (loops->of_block[block] != FLOW_NO_LOOP)
			loops->list[loops->of_block[block]].block_count++;
	for (uint32_t loop = count; loop-- > 0;) {
		if (loops->list[loop].parent == FLOW_NO_LOOP)
			continue;
		struct flow_loop *around = &loops->list[loops->list[loop].parent];
		around->block_count += loops->list[loop].block_count;
		loops->inside[loops->list[loop].parent] += 1 + loops->inside[loop];
	}
}

/* `next`, by loop, becomes the place of the next loop inside of it that has none yet. */
static void place_loops(struct flow_loops *loops, uint32_t *next)
{
	uint32_t outermost = 0;
	for (uint32_t loop = 0; loop < loops->count; loop++) {
		uint32_t parent = loops->list[loop].parent;
		uint32_t *vacant = parent == FLOW_NO_LOOP ? &outermost : &next[parent];
		loops->place[loop] = *vacant;
		*vacant += 1 + loops->inside[loop];
		next[loop] = loops->place[loop] + 1;
	}
}

/*
 * An edge to a block of a loop comes from elsewhere when the lowest common ancestor of its
 * ends is above the header. `topmost`, by loop, becomes the least such ancestor for all blocks
 * of the loop but its header.
 */
static void mark_irreducible(const struct finder *finder, struct flow_loops *loops,
			     uint32_t *topmost)
{
	const struct flow_search *search = finder->search;
	for (uint32_t loop = 0; loop < loops->count; loop++)
		topmost[loop] = NONE;
	/* larger numbers first, so that a loop is complete before its header's turn comes */
	for (uint32_t number = search->block_count; number > 0; number--) {
		uint32_t loop = loops->of_block[search->block[number]];
		uint32_t least = finder->topmost[number];
		if (loop != FLOW_NO_LOOP && loops->list[loop].header == search->block[number]) {
			loops->list[loop].irreducible = topmost[loop] < number;
			if (topmost[loop] < least)
				least = topmost[loop];
			loop = loops->list[loop].parent;
		}
		if (loop != FLOW_NO_LOOP && least < topmost[loop])
			topmost[loop] = least;
	}
}

int flow_loops_find(const struct flow_graph *graph, const struct flow_search *search,
		    struct flow_loops *loops)
{
	assert(search->block_count == graph->block_count);
	CLEANUP(finder_release) struct finder finder = { 0 };
	int ret = finder_init(&finder, graph, search);
	if (ret < 0)
		return ret;
	wait_for_ancestors(&finder);
	for (uint32_t number = 0; number <= search->block_count; number++)
		finder.up[number] = number;
	uint32_t count = 0;
	for (uint32_t number = search->block_count; number > 0; number--) {
		find_loop(&finder, number);
		count += finder.is_header[number];
	}
	*loops = (struct flow_loops){ .count = count };
	loops->list = calloc((size_t)count + 1, sizeof(*loops->list));
	loops->of_block = calloc((size_t)graph->block_count + 1, sizeof(*loops->of_block));
	loops->place = calloc(2 * (size_t)count + 1, sizeof(*loops->place));
	if (!loops->list || !loops->of_block || !loops->place) {
		flow_loops_release(loops);
		return -ENOMEM;
	}
	loops->inside = loops->place + count;
	number_loops(&finder, loops);
	place_loops(loops, finder.body); /* scratch from here on */
	mark_irreducible(&finder, loops, finder.body);
	return 0;
}

void flow_loops_release(struct flow_loops *loops)
{
	free(loops->list);
	free(loops->of_block);
	free(loops->place);
	*loops = (struct flow_loops){ 0 };
}

bool flow_loops_hold(const struct flow_loops *loops, uint32_t loop, uint32_t block)
{
	uint32_t at = loops->of_block[block];
	return at != FLOW_NO_LOOP && loops->place[at] - loops->place[loop] <= loops->inside[loop];
}
