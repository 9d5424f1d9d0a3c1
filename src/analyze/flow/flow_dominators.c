#include "analyze/flow/flow_dominators.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_search.h"
#include "base/cleanup.h"

#define NONE UINT32_MAX

/* All by the search's numbers; 0 is outside. Names are the paper's. */
struct forest {
	uint32_t *semi;	    /* semidominator, or its own number while not known */
	uint32_t *ancestor; /* in the forest of those done; NONE: a root */
	uint32_t *label;    /* of least semi on the way to the ancestor, which is left out */
	uint32_t *bucket;   /* a list of those it is the semidominator of; 0 ends it */
	uint32_t *next;	    /* in the bucket it is in */
	uint32_t *dom;
	uint32_t *path; /* for eval */
	uint32_t *memory;
};

static void forest_release(struct forest *forest)
{
	free(forest->memory);
}

static int forest_init(struct forest *forest, size_t numbers)
{
	forest->memory = calloc(7 * numbers, sizeof(*forest->memory));
	if (!forest->memory)
		return -ENOMEM;
	forest->semi = forest->memory;
	forest->ancestor = forest->semi + numbers;
	forest->label = forest->ancestor + numbers;
	forest->bucket = forest->label + numbers;
	forest->next = forest->bucket + numbers;
	forest->dom = forest->next + numbers;
	forest->path = forest->dom + numbers;
	for (uint32_t number = 0; number < numbers; number++) {
		forest->semi[number] = forest->label[number] = number;
		forest->ancestor[number] = NONE;
	}
	return 0;
}

/* The number of least semidominator from `number` up to its root, which is left out. */
static uint32_t eval(struct forest *forest, uint32_t number)
{
	if (forest->ancestor[number] == NONE)
		return number;
	uint32_t depth = 0;
	for (uint32_t at = number; forest->ancestor[forest->ancestor[at]] != NONE;
	     at = forest->ancestor[at])
		forest->path[depth++] = at;
	while (depth > 0) {
		uint32_t at = forest->path[--depth];
		uint32_t above = forest->ancestor[at];
		if (forest->semi[forest->label[above]] < forest->semi[forest->label[at]])
			forest->label[at] = forest->label[above];
		forest->ancestor[at] = forest->ancestor[above];
	}
	return forest->label[number];
}

static void find_semidominator(const struct flow_graph *graph, const struct flow_search *search,
			       struct forest *forest, uint32_t number)
{
	uint32_t least = search->parent[number]; /* the only one there is for a made-up edge */
	struct flow_ends into = flow_graph_into(graph, search->block[number]);
	for (size_t i = 0; i < into.count; i++) {
		uint32_t from = flow_search_number(search, graph->edges[into.list[i]].from);
		uint32_t semi = forest->semi[eval(forest, from)];
		if (semi < least)
			least = semi;
	}
	forest->semi[number] = least;
	forest->next[number] = forest->bucket[least];
	forest->bucket[least] = number;
}

/* Dominators of those whose semidominator is `parent`: known, or that of another number. */
static void empty_bucket(struct forest *forest, uint32_t parent)
{
	for (uint32_t number = forest->bucket[parent]; number; number = forest->next[number]) {
		uint32_t least = eval(forest, number);
		forest->dom[number] = forest->semi[least] < forest->semi[number] ? least : parent;
	}
	forest->bucket[parent] = 0;
}

int flow_dominators_find(const struct flow_graph *graph, const struct flow_search *search,
			 struct flow_dominators *dominators)
{
	assert(search->block_count == graph->block_count);
	CLEANUP(forest_release) struct forest forest = { 0 };
	uint32_t *immediate = calloc((size_t)graph->block_count + 1, sizeof(*immediate));
	if (!immediate || forest_init(&forest, (size_t)graph->block_count + 1) < 0) {
		free(immediate);
		return -ENOMEM;
	}
	for (uint32_t number = graph->block_count; number > 0; number--) {
		find_semidominator(graph, search, &forest, number);
		forest.ancestor[number] = search->parent[number];
		empty_bucket(&forest, search->parent[number]);
	}
	for (uint32_t number = 1; number <= graph->block_count; number++) {
		if (forest.dom[number] != forest.semi[number])
			forest.dom[number] = forest.dom[forest.dom[number]];
		immediate[search->block[number]] = search->block[forest.dom[number]];
	}
	*dominators = (struct flow_dominators){ immediate };
	return 0;
}

void flow_dominators_release(struct flow_dominators *dominators)
{
	free(dominators->immediate);
	*dominators = (struct flow_dominators){ 0 };
}
