#include "analyze/flow/flow_simplex.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define NO_NODE	    UINT32_MAX
#define LEAST_BLOCK 16 /* arcs priced at least before one of them is taken */

/* Where a node stands in the tree besides its join: in the list of its parent's children. */
struct place {
	uint32_t depth;
	uint32_t child; /* the first one */
	uint32_t next, previous;
};

struct tree {
	const struct simplex_arc *arcs;
	struct simplex_join *joins;
	struct place *places;
	int64_t *potentials; /* of an arc in the tree: price + potential(from) = potential(to) */
	uint64_t steps;
};

/* Which arc leaves when another enters. */
struct leaving {
	int64_t flow;  /* that can go round the circle */
	uint32_t node; /* whose join leaves */
	bool at_from;  /* it is between the entering arc's `from` and where both ends meet */
};

int64_t simplex_price_limit(uint32_t node_count)
{
	/* |potential| <= 2 * nodes * price: at most one arc that is none, the rest real ones; a
	 * reduced price is a difference of two and one more price */
	return INT64_MAX / 5 / ((int64_t)node_count + 1);
}

static void attach(struct tree *tree, uint32_t node)
{
	uint32_t parent = tree->joins[node].parent;
	uint32_t next = tree->places[parent].child;
	tree->places[node].previous = NO_NODE;
	tree->places[node].next = next;
	if (next != NO_NODE)
		tree->places[next].previous = node;
	tree->places[parent].child = node;
}

static void detach(struct tree *tree, uint32_t node)
{
	struct place *place = &tree->places[node];
	if (place->previous != NO_NODE)
		tree->places[place->previous].next = place->next;
	else
		tree->places[tree->joins[node].parent].child = place->next;
	if (place->next != NO_NODE)
		tree->places[place->next].previous = place->previous;
}

/* The node after `node` in the part of the tree below `top`, parents first; NO_NODE at its end. */
static uint32_t next_below(const struct tree *tree, uint32_t node, uint32_t top)
{
	if (tree->places[node].child != NO_NODE)
		return tree->places[node].child;
	while (node != top && tree->places[node].next == NO_NODE)
		node = tree->joins[node].parent;
	return node == top ? NO_NODE : tree->places[node].next;
}

static void plant(struct tree *tree, const struct simplex *simplex, int64_t none_price)
{
	tree->places[SIMPLEX_ROOT] = (struct place){ 0, NO_NODE, NO_NODE, NO_NODE };
	for (uint32_t node = 0; node < simplex->node_count; node++)
		tree->places[node].child = NO_NODE;
	for (uint32_t node = 1; node < simplex->node_count; node++) {
		assert(tree->joins[node].flow > 0 || tree->joins[node].up);
		attach(tree, node);
	}
	tree->potentials[SIMPLEX_ROOT] = 0;
	for (uint32_t node = next_below(tree, SIMPLEX_ROOT, SIMPLEX_ROOT); node != NO_NODE;
	     node = next_below(tree, node, SIMPLEX_ROOT)) {
		const struct simplex_join *join = &tree->joins[node];
		int64_t price =
			join->arc == SIMPLEX_NO_ARC ? none_price : tree->arcs[join->arc].price;
		int64_t above = tree->potentials[join->parent];
		tree->potentials[node] = join->up ? above - price : above + price;
		tree->places[node].depth = tree->places[join->parent].depth + 1;
	}
}

static int64_t reduced_price(const struct tree *tree, size_t arc)
{
	const struct simplex_arc *a = &tree->arcs[arc];
	return a->price + tree->potentials[a->from] - tree->potentials[a->to];
}

/* The arc that saves most among a block of them; blocks follow each other round and round. */
static bool find_entering(const struct simplex *simplex, struct tree *tree, size_t block,
			  size_t *position, size_t *entering)
{
	int64_t best = 0;
	size_t left_in_block = block, at = *position;
	for (size_t tried = 0; tried < simplex->arc_count; tried++, tree->steps++) {
		int64_t price = reduced_price(tree, at);
		if (price < best) {
			best = price;
			*entering = at;
		}
		at = at + 1 == simplex->arc_count ? 0 : at + 1;
		if (--left_in_block > 0)
			continue;
		if (best < 0)
			break;
		left_in_block = block;
	}
	*position = at;
	return best < 0;
}

/*
 * Flow goes from where the two ends meet down to `from`, over the arc and up from
 * `to`. Of the arcs that it empties the last on that way leaves: so every arc without
 * flow still goes up, which is what keeps the method from cycling.
 */
static struct leaving find_leaving(struct tree *tree, const struct simplex_arc *arc)
{
	struct leaving down = { INT64_MAX, NO_NODE, true }, up = { INT64_MAX, NO_NODE, false };
	uint32_t from = arc->from, to = arc->to;
	for (; from != to; tree->steps++) {
		if (tree->places[from].depth >= tree->places[to].depth) {
			const struct simplex_join *join = &tree->joins[from];
			if (join->up && join->flow < down.flow) {
				down.flow = join->flow;
				down.node = from;
			}
			from = join->parent;
		} else {
			const struct simplex_join *join = &tree->joins[to];
			if (!join->up && join->flow <= up.flow) {
				up.flow = join->flow;
				up.node = to;
			}
			to = join->parent;
		}
	}
	/* a circle whose arcs all go one way has a price >= 0, so nothing on it would enter */
	assert(down.node != NO_NODE || up.node != NO_NODE);
	return up.node != NO_NODE && up.flow <= down.flow ? up : down;
}

static void send_round(struct tree *tree, const struct simplex_arc *arc, int64_t flow)
{
	uint32_t from = arc->from, to = arc->to;
	while (from != to) {
		bool is_from = tree->places[from].depth >= tree->places[to].depth;
		struct simplex_join *join = &tree->joins[is_from ? from : to];
		join->flow += join->up == is_from ? -flow : flow;
		*(is_from ? &from : &to) = join->parent;
	}
}

/* Cuts what hangs on the leaving join off and hangs it on the entering arc. */
static void exchange(struct tree *tree, size_t entering, struct leaving leaving)
{
	const struct simplex_arc *arc = &tree->arcs[entering];
	int64_t saved = -reduced_price(tree, entering);
	uint32_t top = leaving.at_from ? arc->from : arc->to;
	struct simplex_join join = { .parent = leaving.at_from ? arc->to : arc->from,
				     .arc = (uint32_t)entering,
				     .up = leaving.at_from,
				     .flow = leaving.flow };

	for (uint32_t node = top, last = NO_NODE; last != leaving.node;) {
		struct simplex_join old = tree->joins[node];
		detach(tree, node);
		tree->joins[node] = join;
		attach(tree, node);
		join = (struct simplex_join){ node, old.arc, !old.up, old.flow };
		last = node;
		node = old.parent;
	}
	int64_t change = leaving.at_from ? saved : -saved;
	for (uint32_t node = top; node != NO_NODE; node = next_below(tree, node, top)) {
		tree->steps++;
		tree->potentials[node] += change;
		tree->places[node].depth = tree->places[tree->joins[node].parent].depth + 1;
	}
}

static void pivot_on(struct simplex *simplex, struct tree *tree, size_t block)
{
	size_t position = 0, entering = 0;
	simplex->pivots = 0;
	while (find_entering(simplex, tree, block, &position, &entering)) {
		if (tree->steps >= simplex->step_limit)
			return;
		simplex->pivots++;
		struct leaving leaving = find_leaving(tree, &tree->arcs[entering]);
		if (leaving.flow > 0)
			send_round(tree, &tree->arcs[entering], leaving.flow);
		exchange(tree, entering, leaving);
	}
	simplex->cheapest = true;
}

int simplex_solve(struct simplex *simplex)
{
	size_t nodes = simplex->node_count;
	CLEANUP(free_pointer) struct place *places = calloc(nodes, sizeof(*places));
	CLEANUP(free_pointer) int64_t *potentials = calloc(nodes, sizeof(*potentials));
	if (!places || !potentials)
		return -ENOMEM;

	struct tree tree = { simplex->arcs, simplex->joins, places, potentials, 0 };
	int64_t dearest = 0;
	for (size_t i = 0; i < simplex->arc_count; i++) {
		assert(simplex->arcs[i].price >= 0);
		if (simplex->arcs[i].price > dearest)
			dearest = simplex->arcs[i].price;
	}
	assert(dearest <= simplex_price_limit(simplex->node_count));
	simplex->cheapest = false;
	/* dearer than any way of real arcs: flow over it would save nothing, so it gets none */
	plant(&tree, simplex, dearest * ((int64_t)nodes + 1) + 1);
	size_t block = (size_t)sqrt((double)simplex->arc_count);
	pivot_on(simplex, &tree, block < LEAST_BLOCK ? LEAST_BLOCK : block);
	simplex->steps = tree.steps;
	return 0;
}
