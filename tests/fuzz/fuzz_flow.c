/*
 * A graph made of bytes, and what must hold of its classes and loops
 * however it was laid out. The first byte is the number of blocks, then each pair of
 * bytes is an edge.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/flow_classes.h"
#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_loops.h"
#include "analyze/flow/flow_search.h"
#include "base/cleanup.h"
#include "base/hash.h"

#define BLOCKS_MOST 31
#define EDGES_MOST  128
/* Of the closed graph: made-up ones too, and one for each block */
#define ALL_MOST (EDGES_MOST + 5 * BLOCKS_MOST)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The closed graph, outside being block number `block_count`. */
struct closed {
	uint32_t outside, count;
	uint32_t from[ALL_MOST], to[ALL_MOST];
	uint32_t in[BLOCKS_MOST + 1]; /* by block: the edge it is met by on a way from outside */
	uint32_t onward[BLOCKS_MOST + 1]; /* by block: the edge to take on a way to outside */
};

static void close_edge(struct closed *closed, uint32_t from, uint32_t to)
{
	closed->from[closed->count] = from == FLOW_OUTSIDE ? closed->outside : from;
	closed->to[closed->count++] = to == FLOW_OUTSIDE ? closed->outside : to;
}

static void find_ways(struct closed *closed)
{
	for (uint32_t block = 0; block < closed->outside; block++)
		closed->in[block] = closed->onward[block] = UINT32_MAX;
	for (uint32_t round = 0; round < closed->outside; round++)
		for (uint32_t edge = 0; edge < closed->count; edge++) {
			uint32_t from = closed->from[edge], to = closed->to[edge];
			if (to != closed->outside && closed->in[to] == UINT32_MAX &&
			    (from == closed->outside || closed->in[from] != UINT32_MAX))
				closed->in[to] = edge;
			if (from != closed->outside && closed->onward[from] == UINT32_MAX &&
			    (to == closed->outside || closed->onward[to] != UINT32_MAX))
				closed->onward[from] = edge;
		}
	for (uint32_t block = 0; block < closed->outside; block++)
		require(closed->in[block] != UINT32_MAX && closed->onward[block] != UINT32_MAX);
}

static struct closed close_graph(const struct flow_graph *graph, const struct flow_search *search)
{
	struct closed closed = { .outside = graph->block_count };
	for (size_t i = 0; i < graph->edge_count; i++)
		close_edge(&closed, graph->edges[i].from, graph->edges[i].to);
	for (size_t i = 0; i < search->closure.count; i++)
		close_edge(&closed, search->closure.edges[i].from, search->closure.edges[i].to);
	find_ways(&closed);
	return closed;
}

/* How often the walk from outside by one edge to outside passes each block, then each edge. */
static void walk(const struct closed *closed, uint32_t by, uint32_t *passed)
{
	memset(passed, 0, (closed->outside + closed->count) * sizeof(*passed));
	passed[closed->outside + by]++;
	for (uint32_t at = closed->from[by]; at != closed->outside;) {
		passed[at]++;
		passed[closed->outside + closed->in[at]]++;
		at = closed->from[closed->in[at]];
	}
	for (uint32_t at = closed->to[by]; at != closed->outside;) {
		passed[at]++;
		passed[closed->outside + closed->onward[at]]++;
		at = closed->to[closed->onward[at]];
	}
}

/*
 * The walks by all edges span all circulations, so those passed equally often in each
 * of them are one class. Counts of all walks are compared by a hash of them.
 */
static void check_classes(const struct flow_graph *graph, const struct flow_search *search)
{
	CLEANUP(flow_classes_release) struct flow_classes classes = { 0 };
	if (flow_classes_find(graph, search, &classes) < 0)
		return;
	size_t count = graph->block_count + graph->edge_count;
	uint32_t met = 0;
	for (size_t i = 0; i < count; i++) {
		require(classes.of_block[i] <= met);
		met += classes.of_block[i] == met;
	}
	require(met == classes.count);
	if (graph->missing_edges) {
		require(met == count);
		return;
	}
	struct closed closed = close_graph(graph, search);
	uint64_t counts[ALL_MOST] = { 0 };
	uint32_t passed[ALL_MOST];
	for (uint32_t by = 0; by < closed.count; by++) {
		walk(&closed, by, passed);
		for (size_t i = 0; i < count; i++)
			counts[i] = hash_u64(counts[i] + 0x9e3779b97f4a7c15u * (passed[i] + 1));
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			require((counts[i] == counts[j]) ==
				(classes.of_block[i] == classes.of_block[j]));
}

static bool is_in(const struct flow_loops *loops, uint32_t block, uint32_t outer)
{
	uint32_t loop = block == FLOW_OUTSIDE ? FLOW_NO_LOOP : loops->of_block[block];
	while (loop != FLOW_NO_LOOP && loop != outer)
		loop = loops->list[loop].parent;
	return loop == outer;
}

static void check_loop(const struct flow_graph *graph, const struct flow_search *search,
		       const struct flow_loops *loops, uint32_t number)
{
	const struct flow_loop *loop = &loops->list[number];
	uint32_t blocks = 0;
	require(loops->of_block[loop->header] == number);
	require(loop->parent == FLOW_NO_LOOP
			? loop->depth == 1
			: loop->parent < number &&
				  loop->depth == loops->list[loop->parent].depth + 1);
	for (uint32_t block = 0; block < graph->block_count; block++) {
		if (!is_in(loops, block, number))
			continue;
		blocks++;
		require(search->number[block] >= search->number[loop->header]);
	}
	require(blocks == loop->block_count);
	bool goes_back = false, irreducible = false;
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t from = graph->edges[i].from, to = graph->edges[i].to;
		if (to == FLOW_OUTSIDE || !is_in(loops, to, number))
			continue;
		goes_back |= to == loop->header && is_in(loops, from, number);
		irreducible |= to != loop->header && !is_in(loops, from, number);
	}
	require(goes_back && irreducible == loop->irreducible);
}

static void check_loops(const struct flow_graph *graph, const struct flow_search *search)
{
	CLEANUP(flow_loops_release) struct flow_loops loops = { 0 };
	if (flow_loops_find(graph, search, &loops) < 0)
		return;
	for (uint32_t loop = 0; loop < loops.count; loop++)
		check_loop(graph, search, &loops, loop);
	/* an edge back up the search's tree makes a loop of the block it leads to */
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t from = flow_search_number(search, graph->edges[i].from);
		uint32_t to = flow_search_number(search, graph->edges[i].to);
		if (to == 0 || !flow_search_is_below(search, from, to))
			continue;
		uint32_t loop = loops.of_block[graph->edges[i].to];
		require(loop != FLOW_NO_LOOP);
		require(loops.list[loop].header == graph->edges[i].to);
		require(is_in(&loops, graph->edges[i].from, loop));
	}
}

/* Depth first: no edge leads on to a part of the tree that its start is not above. */
static void check_search(const struct flow_graph *graph, const struct flow_search *search)
{
	for (uint32_t number = 1; number <= search->block_count; number++) {
		uint32_t parent = search->parent[number];
		require(search->number[search->block[number]] == number && parent < number);
		require(flow_search_is_below(search, number, parent));
		require(search->last[number] <= search->last[parent]);
	}
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t from = flow_search_number(search, graph->edges[i].from);
		uint32_t to = flow_search_number(search, graph->edges[i].to);
		require(to <= from || flow_search_is_below(search, to, from));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	CLEANUP(flow_search_release) struct flow_search search = { 0 };
	uint32_t blocks = data[0] % (BLOCKS_MOST + 1);
	flow_graph_init(&graph, blocks);
	graph.missing_edges = data[0] >= 0xc0;
	for (size_t at = 1; at + 1 < size && at / 2 < EDGES_MOST; at += 2) {
		uint32_t from = data[at] % (blocks + 1), to = data[at + 1] % (blocks + 1);
		if (from == blocks && to == blocks)
			continue;
		enum flow_edge_kind kind =
			from == blocks && data[at] & 0x80 ? FLOW_ENTRY : FLOW_BRANCH;
		if (flow_graph_add(&graph, from == blocks ? FLOW_OUTSIDE : from,
				   to == blocks ? FLOW_OUTSIDE : to, kind) < 0)
			return 0;
	}
	if (flow_graph_settle(&graph) < 0 || flow_search_run(&graph, &search) < 0)
		return 0;
	check_search(&graph, &search);
	check_classes(&graph, &search);
	check_loops(&graph, &search);
	return 0;
}
