#include "analyze/flow/flow_classes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_search.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/random.h"

/*
 * The spanning tree is the search's: every block's own edge, start to end, and the edge
 * it was reached by. A label is put at both ends of its edge and moves up the tree from
 * each; where the two paths join it cancels out. Nothing is kept for outside, the root.
 */
struct labels {
	uint64_t *of_block, *of_edge;
	/* By block, the labels at its end: of edges that leave it and from below them in the tree.
	 * Those at its start are in of_block until label_tree() replaces them by the block's. */
	uint64_t *at_end;
	uint64_t *memory;
};

static void labels_release(struct labels *labels)
{
	free(labels->memory);
}

static void span(struct labels *labels, uint32_t from, uint32_t to, uint64_t label)
{
	if (from != FLOW_OUTSIDE)
		labels->at_end[from] ^= label;
	if (to != FLOW_OUTSIDE)
		labels->of_block[to] ^= label;
}

static void label_edges_beside_tree(const struct flow_graph *graph,
				    const struct flow_search *search, struct labels *labels)
{
	struct random_state random = random_seed(
		hash_bytes_stable(graph->edges, graph->edge_count * sizeof(*graph->edges)));
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		if (edge->to != FLOW_OUTSIDE && search->edge[search->number[edge->to]] == i)
			continue;
		labels->of_edge[i] = random_u64(&random);
		span(labels, edge->from, edge->to, labels->of_edge[i]);
	}
	/* made-up entries are in the tree, made-up exits never are */
	for (size_t i = 0; i < search->closure.exit_count; i++)
		span(labels, search->closure.edges[i].from, FLOW_OUTSIDE, random_u64(&random));
}

static void label_tree(const struct flow_search *search, struct labels *labels)
{
	for (uint32_t number = search->block_count; number > 0; number--) {
		uint32_t block = search->block[number];
		uint32_t parent = search->block[search->parent[number]];
		uint64_t arriving = labels->of_block[block];
		labels->of_block[block] = labels->at_end[block];
		uint64_t label = labels->at_end[block] ^ arriving;
		if (search->edge[number] != FLOW_MADE_UP)
			labels->of_edge[search->edge[number]] = label;
		if (parent != FLOW_OUTSIDE)
			labels->at_end[parent] ^= label;
	}
}

static bool is_label(const void *rows, uint32_t position, const void *wanted)
{
	return ((const uint64_t *)rows)[position] == *(const uint64_t *)wanted;
}

/* Gives equal labels one number. Overwrites `label` by those of the classes. 0 or -ENOMEM. */
static int number_labels(struct flow_classes *classes, uint64_t *label, size_t count)
{
	CLEANUP(hash_index_release) struct hash_index index = { 0 };
	for (size_t i = 0; i < count; i++) {
		uint64_t hash = hash_u64_stable(label[i]);
		uint32_t class = hash_index_find(&index, hash, is_label, label, &label[i]);
		if (class == HASH_INDEX_NONE) {
			class = classes->count++;
			label[class] = label[i];
			if (hash_index_add(&index, hash, class) < 0)
				return -ENOMEM;
		}
		classes->of_block[i] = class; /* of_edge follows it */
	}
	return 0;
}

static int find(const struct flow_graph *graph, const struct flow_search *search,
		struct flow_classes *classes)
{
	CLEANUP(labels_release) struct labels labels = { 0 };
	size_t blocks = graph->block_count, count = blocks + graph->edge_count;
	labels.memory = calloc(count + blocks + 1, sizeof(*labels.memory));
	if (!labels.memory)
		return -ENOMEM;
	labels.of_block = labels.memory;
	labels.of_edge = labels.of_block + blocks;
	labels.at_end = labels.of_edge + graph->edge_count;
	label_edges_beside_tree(graph, search, &labels);
	label_tree(search, &labels);
	return number_labels(classes, labels.of_block, count);
}

int flow_classes_find(const struct flow_graph *graph, const struct flow_search *search,
		      struct flow_classes *classes)
{
	size_t count = graph->block_count + graph->edge_count;
	assert(count < UINT32_MAX && search->block_count == graph->block_count);
	*classes = (struct flow_classes){ .of_block = calloc(count + 1, sizeof(uint32_t)) };
	if (!classes->of_block)
		return -ENOMEM;
	classes->of_edge = classes->of_block + graph->block_count;
	if (graph->missing_edges) {
		for (uint32_t i = 0; i < count; i++)
			classes->of_block[i] = i;
		classes->count = (uint32_t)count;
		return 0;
	}
	int ret = find(graph, search, classes);
	if (ret < 0)
		flow_classes_release(classes);
	return ret;
}

void flow_classes_release(struct flow_classes *classes)
{
	free(classes->of_block);
	*classes = (struct flow_classes){ 0 };
}
