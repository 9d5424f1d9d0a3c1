#include "flow_subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void flow_subject_add(struct flow_graph *graph, uint32_t from, uint32_t to)
{
	enum flow_edge_kind kind = FLOW_BRANCH;
	if (from == OUT)
		kind = to == 0 ? FLOW_ENTRY : FLOW_OTHER_ENTRY;
	else if (to == OUT)
		kind = FLOW_RETURN;
	assert_int_equal(flow_graph_add(graph, from, to, kind), 0);
}

struct flow_subject flow_subject_of(struct flow_graph *graph)
{
	struct flow_subject subject;
	assert_int_equal(flow_graph_settle(graph), 0);
	subject.graph = *graph;
	*graph = (struct flow_graph){ 0 };
	assert_int_equal(flow_search_run(&subject.graph, &subject.search), 0);
	return subject;
}

struct flow_subject flow_subject_new(uint32_t blocks, const struct flow_pair *pairs, size_t count)
{
	struct flow_graph graph;
	flow_graph_init(&graph, blocks);
	for (size_t i = 0; i < count; i++)
		flow_subject_add(&graph, pairs[i].from, pairs[i].to);
	return flow_subject_of(&graph);
}

struct flow_subject flow_subject_random(struct random_state *random, uint32_t most)
{
	struct flow_graph graph;
	uint32_t blocks = 1 + (uint32_t)random_below(random, most);
	uint64_t edges = random_below(random, 3 * (uint64_t)blocks + 2);
	/* of so many ends, one is outside */
	uint64_t outside = 1 + random_below(random, 4) * blocks;
	flow_graph_init(&graph, blocks);
	if (random_below(random, 4))
		flow_subject_add(&graph, OUT, 0);
	for (uint64_t i = 0; i < edges; i++) {
		uint32_t from = (uint32_t)random_below(random, blocks);
		uint32_t to = (uint32_t)random_below(random, blocks);
		uint64_t which = random_below(random, outside);
		if (which == 0 && random_below(random, 2))
			flow_subject_add(&graph, OUT, to);
		else
			flow_subject_add(&graph, from, which == 0 ? OUT : to);
	}
	return flow_subject_of(&graph);
}

void flow_subject_release(struct flow_subject *subject)
{
	flow_search_release(&subject->search);
	flow_graph_release(&subject->graph);
}

static void add_ladder(struct flow_graph *graph, uint32_t last)
{
	for (uint32_t block = 0; block < last; block += 2) {
		flow_subject_add(graph, block, block + 1);
		flow_subject_add(graph, block, block + 2);
		flow_subject_add(graph, block + 1, block + 2);
	}
}

static void add_path(struct flow_graph *graph, uint32_t from, uint32_t to)
{
	for (uint32_t block = from; block < to; block++)
		flow_subject_add(graph, block, block + 1);
}

static void add_nest(struct flow_graph *graph, uint32_t last, bool entered)
{
	add_path(graph, 0, last);
	for (uint32_t end = (last + 1) / 2; end <= last; end++) {
		flow_subject_add(graph, end, last - end);
		if (entered)
			flow_subject_add(graph, OUT, end);
	}
}

static void add_tangle(struct flow_graph *graph, uint32_t last)
{
	add_path(graph, 0, last);
	for (uint32_t block = 0; block + 2 <= last; block++) {
		flow_subject_add(graph, block, block + 2);
		flow_subject_add(graph, block + 2, block);
	}
}

static void add_comb(struct flow_graph *graph, uint32_t last)
{
	uint32_t half = last / 2;
	add_path(graph, 0, half);
	add_path(graph, half + 1, last);
	flow_subject_add(graph, 0, half + 1);
	flow_subject_add(graph, half, OUT);
	for (uint32_t block = half + 1; block <= last; block++)
		flow_subject_add(graph, block, half);
}

static void add_fan(struct flow_graph *graph, uint32_t last)
{
	add_path(graph, 0, last);
	for (uint32_t block = 0; block < last; block++)
		flow_subject_add(graph, last, block);
}

static void add_switch(struct flow_graph *graph, uint32_t last)
{
	for (uint32_t block = 1; block < last; block++) {
		flow_subject_add(graph, 0, block);
		flow_subject_add(graph, block, last);
	}
}

struct flow_subject flow_subject_shape(enum flow_shape shape, uint32_t blocks)
{
	struct flow_graph graph;
	uint32_t last = blocks - 1;
	if (shape == FLOW_NEST || shape == FLOW_ENTERED_NEST)
		last -= blocks % 2;
	if (shape == FLOW_LADDER)
		last += last % 2;
	flow_graph_init(&graph, last + 1);
	flow_subject_add(&graph, OUT, 0);
	flow_subject_add(&graph, last, OUT);
	switch (shape) {
	case FLOW_LADDER:
		add_ladder(&graph, last);
		break;
	case FLOW_NEST:
	case FLOW_ENTERED_NEST:
		add_nest(&graph, last, shape == FLOW_ENTERED_NEST);
		break;
	case FLOW_TANGLE:
		add_tangle(&graph, last);
		break;
	case FLOW_COMB:
		add_comb(&graph, last);
		break;
	case FLOW_FAN:
		add_fan(&graph, last);
		break;
	case FLOW_SWITCH:
		add_switch(&graph, last);
		break;
	case FLOW_SHAPES:
		fail_msg("no such shape");
	}
	return flow_subject_of(&graph);
}
