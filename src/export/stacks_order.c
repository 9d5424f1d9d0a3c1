#include "export/stacks_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "export/stack_tree.h"

/* What is sorted: a frame's own line, or the lines below it, where a ';' follows its text. */
struct entry {
	const struct stack_frame *frame;
	uint32_t number;
	uint32_t below;
};

static int compare_places(const struct stack_frame *a, const struct stack_frame *b)
{
	int order = strcmp(a->file ? a->file : "", b->file ? b->file : "");
	if (!order)
		order = (a->line > b->line) - (a->line < b->line);
	if (!order)
		order = (a->context > b->context) - (a->context < b->context);
	if (!order)
		order = (a->address.image > b->address.image) -
			(a->address.image < b->address.image);
	if (!order)
		order = (a->address.vaddr > b->address.vaddr) -
			(a->address.vaddr < b->address.vaddr);
	if (!order)
		order = (a->address.kind > b->address.kind) - (a->address.kind < b->address.kind);
	return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	struct span at = a->frame->text, bt = b->frame->text;
	size_t common = at.size < bt.size ? at.size : bt.size;
	int order = common ? memcmp(at.data, bt.data, common) : 0;
	if (order)
		return order;
	/* -1: the line ends here */
	int an = at.size > common ? ((const uint8_t *)at.data)[common] : a->below ? ';' : -1;
	int bn = bt.size > common ? ((const uint8_t *)bt.data)[common] : b->below ? ';' : -1;
	if (an != bn)
		return an < bn ? -1 : 1;
	order = compare_places(a->frame, b->frame);
	return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* Stores ranks[2 * frame + below], which the caller frees also after an error. */
static int rank_frames(const struct stacks *stacks, uint32_t **out)
{
	size_t count = 2 * stacks->frame_count;
	uint32_t *ranks = calloc(count + 1, sizeof(*ranks));
	CLEANUP(free_pointer) struct entry *entries = calloc(count + 1, sizeof(*entries));
	*out = ranks;
	if (!ranks || !entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct entry){ &stacks->frames[i / 2], i / 2, i & 1 };
	if (count)
		qsort(entries, count, sizeof(*entries), compare_entries);
	for (uint32_t i = 0; i < count; i++)
		ranks[2 * entries[i].number + entries[i].below] = i;
	return 0;
}

/* What is still to be visited: the line of a node, or what is below it. */
struct visit {
	uint32_t rank, node, depth;
	bool below;
};

struct walk {
	struct stacks *stacks;
	uint32_t *ranks;
	struct visit *visits;
	size_t count, capacity;
	uint32_t deepest;
};

static void walk_release(struct walk *walk)
{
	free(walk->ranks);
	free(walk->visits);
}

/* The last one is visited first. */
static int compare_visits(const void *left, const void *right)
{
	const struct visit *a = left, *b = right;
	return (a->rank < b->rank) - (a->rank > b->rank);
}

static int push(struct walk *walk, uint32_t node, uint32_t depth, bool below)
{
	if (array_reserve(&walk->visits, &walk->capacity, walk->count, sizeof(*walk->visits)) < 0)
		return -ENOMEM;
	uint32_t rank = walk->ranks[2 * walk->stacks->nodes[node].frame + below];
	walk->visits[walk->count++] = (struct visit){ rank, node, depth, below };
	return 0;
}

/* Joins node b, which has the same frame and parent, with a. */
static void merge_nodes(struct stacks *stacks, uint32_t a, uint32_t b)
{
	struct stack_node *into = &stacks->nodes[a], *from = &stacks->nodes[b];
	if (into->line == STACK_NONE) {
		into->line = from->line;
	} else if (from->line != STACK_NONE) {
		struct cell *cells = &stacks->cells[into->line * stacks->columns];
		for (size_t c = 0; c < stacks->columns; c++)
			cell_add(&cells[c], &stacks->cells[from->line * stacks->columns + c]);
	}
	if (!from->child)
		return;
	uint32_t last = from->child;
	while (stacks->nodes[last].next)
		last = stacks->nodes[last].next;
	stacks->nodes[last].next = into->child;
	into->child = from->child;
}

/* Puts the children of a node on the pile, those of one frame as one. */
static int visit_children(struct walk *walk, uint32_t parent, uint32_t depth)
{
	struct stacks *stacks = walk->stacks;
	size_t start = walk->count, kept = start;
	int ret = 0;
	for (uint32_t node = stacks->nodes[parent].child; ret == 0 && node;
	     node = stacks->nodes[node].next) {
		stacks->nodes[node].parent = parent;
		ret = push(walk, node, depth, true);
	}
	if (ret < 0)
		return ret;
	if (walk->count - start > 1)
		qsort(walk->visits + start, walk->count - start, sizeof(*walk->visits),
		      compare_visits);
	for (size_t i = start; i < walk->count; i++) {
		if (kept > start && walk->visits[kept - 1].rank == walk->visits[i].rank)
			merge_nodes(stacks, walk->visits[kept - 1].node, walk->visits[i].node);
		else
			walk->visits[kept++] = walk->visits[i];
	}
	walk->count = kept;
	for (size_t i = start; ret == 0 && i < kept; i++) {
		struct visit *visit = &walk->visits[i];
		const struct stack_node *node = &stacks->nodes[visit->node];
		if (node->line == STACK_NONE)
			continue;
		if (node->child) {
			ret = push(walk, visit->node, depth, false);
			continue;
		}
		visit->below = false;
		visit->rank = walk->ranks[2 * node->frame];
	}
	if (ret == 0 && walk->count - start > 1)
		qsort(walk->visits + start, walk->count - start, sizeof(*walk->visits),
		      compare_visits);
	return ret;
}

int stacks_sort(struct stacks *stacks)
{
	CLEANUP(walk_release) struct walk walk = { .stacks = stacks };
	stacks->lines = calloc(stacks->cell_count + 1, sizeof(*stacks->lines));
	if (!stacks->lines || rank_frames(stacks, &walk.ranks) < 0)
		return -ENOMEM;
	int ret = visit_children(&walk, 0, 1);
	while (ret == 0 && walk.count > 0) {
		const struct visit visit = walk.visits[--walk.count];
		if (visit.depth > walk.deepest)
			walk.deepest = visit.depth;
		if (visit.below)
			ret = visit_children(&walk, visit.node, visit.depth + 1);
		else
			stacks->lines[stacks->line_count++] = visit.node;
	}
	if (ret < 0)
		return ret;
	stacks->path = calloc((size_t)walk.deepest + 1, sizeof(*stacks->path));
	return stacks->path ? 0 : -ENOMEM;
}
