#include "analyze/flow/sparse_order.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NONE		   UINT32_MAX
#define LEAST_DENSE_DEGREE 16

/*
 * A node's slot holds its neighbours that stay at the front and the elements it is
 * in at the end. Each step takes at least one of either from it and adds one
 * element, so the original neighbours' room is enough.
 */
struct sparse_order_node {
	uint32_t neighbours, elements; /* in its slot */
	uint32_t degree;	       /* at least that of the present graph */
	uint32_t next, previous;       /* of the same degree */
	uint32_t mark;		       /* step in which it was last seen as a member */
	uint32_t position;	       /* in the order, NONE while it waits */
	bool dense;
	/* as an element */
	bool absorbed;
	uint32_t counted; /* step in which `outside` was last set */
	uint32_t outside; /* members that are not among the pivot's */
	uint32_t member_count;
};

struct run {
	struct sparse_order *order;
	uint32_t step; /* from 1; 0 marks nothing */
	uint32_t done; /* nodes eliminated */
	uint32_t least;
	size_t entry_count;
	uint64_t operations; /* of a factorization */
};

static uint32_t *elements_of(const struct sparse_order *order, uint32_t node)
{
	return order->slots + order->slot_start[node + 1] - order->state[node].elements;
}

static int reserve(struct sparse_order *order, uint32_t node_count, size_t edge_count)
{
	if (node_count >= order->node_capacity) {
		size_t capacity = (size_t)node_count + 1;
		order->node_capacity = 0;
		free(order->nodes);
		free(order->entries_start);
		free(order->slot_start);
		free(order->state);
		free(order->bucket);
		order->nodes = malloc(capacity * sizeof(*order->nodes));
		order->entries_start = malloc(capacity * sizeof(*order->entries_start));
		order->slot_start = malloc((capacity + 1) * sizeof(*order->slot_start));
		order->state = malloc(capacity * sizeof(*order->state));
		order->bucket = malloc(capacity * sizeof(*order->bucket));
		if (!order->nodes || !order->entries_start || !order->slot_start || !order->state ||
		    !order->bucket)
			return -ENOMEM;
		order->node_capacity = capacity;
	}
	return array_reserve(&order->slots, &order->slot_capacity, 2 * edge_count,
			     sizeof(*order->slots));
}

/* Puts each node's neighbours, each once, at the front of its slot. */
static void list_neighbours(struct sparse_order *order, const struct sparse_edge *edges,
			    size_t edge_count)
{
	uint32_t node_count = order->node_count;
	size_t *start = order->slot_start;
	memset(start, 0, ((size_t)node_count + 2) * sizeof(*start));
	for (size_t i = 0; i < edge_count; i++) {
		if (edges[i].a == SPARSE_GROUND || edges[i].b == SPARSE_GROUND)
			continue;
		assert(edges[i].a != edges[i].b);
		assert(edges[i].a < node_count && edges[i].b < node_count);
		start[edges[i].a + 2]++;
		start[edges[i].b + 2]++;
	}
	for (size_t node = 2; node < (size_t)node_count + 2; node++)
		start[node] += start[node - 1];
	/* filling moves each start to where it belongs */
	for (size_t i = 0; i < edge_count; i++) {
		if (edges[i].a == SPARSE_GROUND || edges[i].b == SPARSE_GROUND)
			continue;
		order->slots[start[edges[i].a + 1]++] = edges[i].b;
		order->slots[start[edges[i].b + 1]++] = edges[i].a;
	}
	for (uint32_t node = 0; node < node_count; node++) {
		struct sparse_order_node *state = &order->state[node];
		*state = (struct sparse_order_node){ .position = NONE };
	}
	for (uint32_t node = 0; node < node_count; node++) {
		uint32_t *slot = order->slots + start[node];
		size_t count = start[node + 1] - start[node], kept = 0;
		for (size_t i = 0; i < count; i++) {
			if (order->state[slot[i]].mark == node + 1)
				continue;
			order->state[slot[i]].mark = node + 1;
			slot[kept++] = slot[i];
		}
		order->state[node].neighbours = (uint32_t)kept;
		order->state[node].degree = (uint32_t)kept;
	}
	for (uint32_t node = 0; node < node_count; node++)
		order->state[node].mark = 0;
}

static void enlist(struct run *run, uint32_t node)
{
	struct sparse_order *order = run->order;
	struct sparse_order_node *state = &order->state[node];
	uint32_t first = order->bucket[state->degree];
	state->previous = NONE;
	state->next = first;
	if (first != NONE)
		order->state[first].previous = node;
	order->bucket[state->degree] = node;
	if (state->degree < run->least)
		run->least = state->degree;
}

static void delist(struct run *run, uint32_t node)
{
	struct sparse_order *order = run->order;
	const struct sparse_order_node *state = &order->state[node];
	if (state->previous != NONE)
		order->state[state->previous].next = state->next;
	else
		order->bucket[state->degree] = state->next;
	if (state->next != NONE)
		order->state[state->next].previous = state->previous;
}

/* The next entry's place must have been reserved. */
static void add_member(struct run *run, uint32_t node)
{
	struct sparse_order_node *state = &run->order->state[node];
	if (state->mark == run->step || state->position != NONE)
		return;
	state->mark = run->step;
	run->order->entries[run->entry_count++] = node;
}

/* Makes the pivot's present neighbours its members; the elements that it was in are absorbed. 0 or
 * -ENOMEM. */
static int gather(struct run *run, uint32_t pivot)
{
	struct sparse_order *order = run->order;
	struct sparse_order_node *state = &order->state[pivot];
	const uint32_t *elements = elements_of(order, pivot);
	size_t most = state->neighbours;
	for (uint32_t i = 0; i < state->elements; i++)
		most += order->state[elements[i]].member_count;
	if (array_reserve(&order->entries, &order->entry_capacity, run->entry_count + most,
			  sizeof(*order->entries)) < 0)
		return -ENOMEM;
	state->mark = run->step;
	for (uint32_t i = 0; i < state->neighbours; i++)
		add_member(run, order->slots[order->slot_start[pivot] + i]);
	for (uint32_t i = 0; i < state->elements; i++) {
		struct sparse_order_node *element = &order->state[elements[i]];
		if (element->absorbed)
			continue;
		element->absorbed = true;
		size_t start = order->entries_start[element->position];
		for (uint32_t m = 0; m < element->member_count; m++)
			add_member(run, order->entries[start + m]);
	}
	return 0;
}

/* For each element that a member is in: how many of its members are not the pivot's. */
static void count_outside(struct run *run, const uint32_t *members, uint32_t member_count)
{
	struct sparse_order *order = run->order;
	for (uint32_t m = 0; m < member_count; m++) {
		const struct sparse_order_node *member = &order->state[members[m]];
		const uint32_t *elements = elements_of(order, members[m]);
		for (uint32_t i = 0; i < member->elements; i++) {
			struct sparse_order_node *element = &order->state[elements[i]];
			if (element->counted != run->step)
				element->outside = element->member_count;
			element->counted = run->step;
			element->outside--;
		}
	}
}

static uint32_t least_of(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t least = a < b ? a : b;
	return (uint32_t)(least < c ? least : c);
}

/* Replaces in a member's slot what the pivot now stands for by the pivot, and sets its degree. */
static void update_member(struct run *run, uint32_t pivot, uint32_t node, uint32_t member_count)
{
	struct sparse_order *order = run->order;
	struct sparse_order_node *state = &order->state[node];
	uint32_t *end = order->slots + order->slot_start[node + 1];
	uint64_t degree = 0;
	uint32_t kept = 0;
	for (uint32_t i = 1; i <= state->elements; i++) {
		struct sparse_order_node *element = &order->state[*(end - i)];
		if (!element->absorbed && element->outside == 0)
			element->absorbed = true; /* all of its members are the pivot's */
		if (element->absorbed)
			continue;
		degree += element->outside;
		kept++;
		*(end - kept) = *(end - i);
	}
	uint32_t *slot = order->slots + order->slot_start[node];
	uint32_t neighbours = 0;
	for (uint32_t i = 0; i < state->neighbours; i++)
		if (order->state[slot[i]].mark != run->step &&
		    order->state[slot[i]].position == NONE)
			slot[neighbours++] = slot[i];
	state->neighbours = neighbours;
	state->elements = kept + 1;
	*(end - state->elements) = pivot;
	degree += neighbours + member_count - 1;
	state->degree = least_of(degree, (uint64_t)state->degree + member_count - 1,
				 (uint64_t)order->node_count - run->done - 1);
}

/* Makes the pivot an element, of which its neighbours are members. 0, -ENOMEM or -EFBIG. */
static int eliminate(struct run *run, uint32_t pivot)
{
	struct sparse_order *order = run->order;
	struct sparse_order_node *state = &order->state[pivot];
	size_t start = run->entry_count;
	order->nodes[run->done] = pivot;
	order->entries_start[run->done] = start;
	run->step++;
	int ret = gather(run, pivot);
	if (ret < 0)
		return ret;
	state->position = run->done++;
	state->member_count = (uint32_t)(run->entry_count - start);
	state->absorbed = state->member_count == 0;
	run->operations += (uint64_t)state->member_count * state->member_count;
	if (run->operations > SPARSE_MOST_OPERATIONS)
		return -EFBIG;

	/* dense nodes are looked at again when only they are left */
	const uint32_t *members = order->entries + start;
	count_outside(run, members, state->member_count);
	for (uint32_t m = 0; m < state->member_count; m++) {
		if (order->state[members[m]].dense)
			continue;
		delist(run, members[m]);
		update_member(run, pivot, members[m], state->member_count);
		enlist(run, members[m]);
	}
	return 0;
}

static bool take_least(struct run *run, uint32_t *node)
{
	struct sparse_order *order = run->order;
	while (run->least < order->node_count && order->bucket[run->least] == NONE)
		run->least++;
	if (run->least >= order->node_count)
		return false;
	*node = order->bucket[run->least];
	delist(run, *node);
	return true;
}

/* When only dense nodes are left: lists the elements that each is in, and enlists the nodes. */
static void admit_dense(struct run *run)
{
	struct sparse_order *order = run->order;
	for (uint32_t node = 0; node < order->node_count; node++) {
		struct sparse_order_node *state = &order->state[node];
		uint32_t *slot = order->slots + order->slot_start[node], kept = 0;
		for (uint32_t i = 0; state->position == NONE && i < state->neighbours; i++)
			if (order->state[slot[i]].position == NONE)
				slot[kept++] = slot[i];
		state->neighbours = kept;
		state->degree = kept;
	}
	for (uint32_t at = 0; at < run->done; at++) {
		const struct sparse_order_node *element = &order->state[order->nodes[at]];
		for (uint32_t m = 0; !element->absorbed && m < element->member_count; m++) {
			uint32_t node = order->entries[order->entries_start[at] + m];
			struct sparse_order_node *state = &order->state[node];
			state->elements++;
			*elements_of(order, node) = order->nodes[at];
			state->degree =
				least_of((uint64_t)state->degree + element->member_count - 1,
					 UINT32_MAX, (uint64_t)order->node_count - run->done - 1);
		}
	}
	run->least = 0;
	for (uint32_t node = 0; node < order->node_count; node++) {
		order->state[node].dense = false;
		if (order->state[node].position == NONE)
			enlist(run, node);
	}
}

int sparse_order_make(struct sparse_order *order, uint32_t node_count,
		      const struct sparse_edge *edges, size_t edge_count)
{
	assert(node_count < UINT32_MAX / 2);
	order->node_count = node_count;
	int ret = reserve(order, node_count, edge_count);
	if (ret < 0)
		return ret;
	list_neighbours(order, edges, edge_count);

	struct run run = { .order = order };
	double dense = 10 * sqrt(node_count);
	for (uint32_t node = 0; node < node_count; node++)
		order->bucket[node] = NONE;
	for (uint32_t node = 0; node < node_count; node++) {
		struct sparse_order_node *state = &order->state[node];
		state->dense = state->degree > LEAST_DENSE_DEGREE && state->degree > dense;
		if (!state->dense)
			enlist(&run, node);
	}
	uint32_t pivot;
	while (run.done < node_count && ret == 0) {
		if (take_least(&run, &pivot))
			ret = eliminate(&run, pivot);
		else
			admit_dense(&run);
	}
	order->entries_start[run.done] = run.entry_count;
	return ret;
}

void sparse_order_release(struct sparse_order *order)
{
	free(order->nodes);
	free(order->entries_start);
	free(order->entries);
	free(order->slot_start);
	free(order->slots);
	free(order->state);
	free(order->bucket);
	*order = (struct sparse_order){ 0 };
}
