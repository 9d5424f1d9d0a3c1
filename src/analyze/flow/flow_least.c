#include "analyze/flow/flow_least.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_simplex.h"
#include "base/cleanup.h"

#define TARGET_SUM_BITS	 51 /* sums of flow stay below 2^53, where doubles are exact */
#define MOST_PRICE_BITS	 52 /* what a double has */
#define USUAL_STEP_LIMIT (UINT64_C(1) << 32)

/*
 * The network. A block with a target is two nodes, one that its edges enter and one
 * that they leave: the flow from the first to the second is f. Of it the target is
 * taken as given, so the first takes `target` and the second gives it; an arc onward at
 * above_price carries what f has more, one back at below_price what it has less. Both
 * need no limit, as the edges keep f itself from falling below 0. A block without a
 * target is one node. Outside is the root.
 */
struct network {
	uint32_t *enters, *leaves;  /* by block: nodes */
	int64_t *counts;	    /* by block: targets in steps */
	struct simplex_arc *arcs;   /* the graph's edges, then two a block with a target */
	struct simplex_join *joins; /* by node */
	struct simplex simplex;
};

static void network_release(struct network *network)
{
	free(network->enters);
	free(network->leaves);
	free(network->counts);
	free(network->arcs);
	free(network->joins);
}

static bool has_target(const struct flow_least_target *target)
{
	return target->above_price > 0 || target->below_price > 0;
}

/* The power of two that makes `largest` a number of at most that many bits. */
static int scale_to(double largest, int bits)
{
	int exponent = 0;
	assert(isfinite(largest));
	if (largest > 0)
		frexp(largest, &exponent);
	return largest > 0 ? bits - exponent : 0;
}

static int64_t in_steps(double value, int scale)
{
	return (int64_t)nearbyint(ldexp(value, scale));
}

static int target_scale(const struct flow_graph *graph, const struct flow_least_target *targets)
{
	double sum = 0;
	for (uint32_t block = 0; block < graph->block_count; block++) {
		if (!has_target(&targets[block]))
			continue;
		assert(targets[block].count >= 0);
		sum += targets[block].count;
	}
	return scale_to(sum, TARGET_SUM_BITS);
}

static int price_scale(const struct flow_graph *graph, const struct flow_least_target *targets,
		       const double *edge_prices, uint32_t node_count)
{
	double dearest = 0;
	for (uint32_t block = 0; block < graph->block_count; block++) {
		assert(targets[block].above_price >= 0 && targets[block].below_price >= 0);
		dearest =
			fmax(dearest, fmax(targets[block].above_price, targets[block].below_price));
	}
	for (size_t edge = 0; edge_prices && edge < graph->edge_count; edge++) {
		assert(edge_prices[edge] >= 0);
		dearest = fmax(dearest, edge_prices[edge]);
	}
	int bits = 0;
	while (bits < MOST_PRICE_BITS && (int64_t)2 << bits <= simplex_price_limit(node_count))
		bits++;
	return scale_to(dearest, bits);
}

static uint32_t number_nodes(struct network *network, const struct flow_graph *graph,
			     const struct flow_least_target *targets)
{
	uint32_t nodes = SIMPLEX_ROOT + 1;
	for (uint32_t block = 0; block < graph->block_count; block++) {
		network->enters[block] = nodes++;
		network->leaves[block] =
			has_target(&targets[block]) ? nodes++ : network->enters[block];
	}
	return nodes;
}

/* No flow: each target is missed wholly, on the arc back. */
static void start(struct network *network, uint32_t block, uint32_t back)
{
	uint32_t enters = network->enters[block], leaves = network->leaves[block];
	network->joins[enters] = (struct simplex_join){ SIMPLEX_ROOT, SIMPLEX_NO_ARC, true, 0 };
	if (enters != leaves)
		network->joins[leaves] =
			(struct simplex_join){ enters, back, true, network->counts[block] };
}

static void lay_arcs(struct network *network, const struct flow_graph *graph,
		     const struct flow_least_target *targets, const double *edge_prices, int scale)
{
	size_t arc = 0;
	for (; arc < graph->edge_count; arc++) {
		const struct flow_edge *edge = &graph->edges[arc];
		bool comes = edge->from == FLOW_OUTSIDE, goes = edge->to == FLOW_OUTSIDE;
		network->arcs[arc] = (struct simplex_arc){
			.from = comes ? SIMPLEX_ROOT : network->leaves[edge->from],
			.to = goes ? SIMPLEX_ROOT : network->enters[edge->to],
			.price = edge_prices ? in_steps(edge_prices[arc], scale) : 0,
		};
	}
	for (uint32_t block = 0; block < graph->block_count; block++) {
		uint32_t enters = network->enters[block], leaves = network->leaves[block];
		start(network, block, (uint32_t)arc + 1);
		if (enters == leaves)
			continue;
		network->arcs[arc++] =
			(struct simplex_arc){ enters, leaves,
					      in_steps(targets[block].above_price, scale) };
		network->arcs[arc++] =
			(struct simplex_arc){ leaves, enters,
					      in_steps(targets[block].below_price, scale) };
	}
	network->simplex.arcs = network->arcs;
	network->simplex.arc_count = arc;
	network->simplex.joins = network->joins;
}

static int build(struct network *network, const struct flow_graph *graph,
		 const struct flow_least_target *targets, const double *edge_prices, int scale)
{
	size_t blocks = graph->block_count;
	assert(blocks < UINT32_MAX / 2 - 1 && graph->edge_count < UINT32_MAX - 2 * blocks - 1);
	network->enters = calloc(blocks + 1, sizeof(*network->enters));
	network->leaves = calloc(blocks + 1, sizeof(*network->leaves));
	network->counts = calloc(blocks + 1, sizeof(*network->counts));
	network->arcs = calloc(graph->edge_count + 2 * blocks + 1, sizeof(*network->arcs));
	network->joins = calloc(2 * blocks + 1, sizeof(*network->joins));
	if (!network->enters || !network->leaves || !network->counts || !network->arcs ||
	    !network->joins)
		return -ENOMEM;
	for (uint32_t block = 0; block < blocks; block++)
		if (has_target(&targets[block]))
			network->counts[block] = in_steps(targets[block].count, scale);
	uint32_t nodes = number_nodes(network, graph, targets);
	network->simplex.node_count = nodes;
	lay_arcs(network, graph, targets, edge_prices,
		 price_scale(graph, targets, edge_prices, nodes));
	return 0;
}

static void read_flow(const struct network *network, const struct flow_graph *graph, int scale,
		      struct flow_least *least)
{
	for (uint32_t node = 1; node < network->simplex.node_count; node++) {
		const struct simplex_join *join = &network->joins[node];
		if (join->arc < graph->edge_count)
			least->edges[join->arc] = ldexp((double)join->flow, -scale);
	}
	/* sums of multiples of one step below 2^53 of them: exact in any order */
	for (size_t i = 0; i < graph->edge_count; i++)
		if (graph->edges[i].to != FLOW_OUTSIDE)
			least->blocks[graph->edges[i].to] += least->edges[i];
}

static double cost_of(const struct flow_graph *graph, const struct flow_least_target *targets,
		      const double *edge_prices, const struct flow_least *least)
{
	double cost = 0;
	for (uint32_t block = 0; block < graph->block_count; block++) {
		if (!has_target(&targets[block]))
			continue;
		double more = least->blocks[block] - targets[block].count;
		cost += more > 0 ? more * targets[block].above_price
				 : -more * targets[block].below_price;
	}
	for (size_t edge = 0; edge_prices && edge < graph->edge_count; edge++)
		cost += edge_prices[edge] * least->edges[edge];
	return cost;
}

int flow_least_new(const struct flow_graph *graph, const struct flow_least_target *targets,
		   const double *edge_prices, uint64_t step_limit, struct flow_least *out)
{
	CLEANUP(network_release) struct network network = { 0 };
	CLEANUP(flow_least_release) struct flow_least least = { 0 };
	int scale = target_scale(graph, targets);
	int ret = build(&network, graph, targets, edge_prices, scale);
	if (ret < 0)
		return ret;
	least.blocks = calloc(graph->block_count + (size_t)1, sizeof(*least.blocks));
	least.edges = calloc(graph->edge_count + 1, sizeof(*least.edges));
	if (!least.blocks || !least.edges)
		return -ENOMEM;

	network.simplex.step_limit =
		step_limit == FLOW_LEAST_USUAL_LIMIT ? USUAL_STEP_LIMIT : step_limit;
	ret = simplex_solve(&network.simplex);
	if (ret < 0)
		return ret;
	read_flow(&network, graph, scale, &least);
	least.cost = cost_of(graph, targets, edge_prices, &least);
	least.steps = network.simplex.steps;
	least.pivots = network.simplex.pivots;
	least.is_least = network.simplex.cheapest;
	*out = least;
	least = (struct flow_least){ 0 };
	return 0;
}

void flow_least_release(struct flow_least *least)
{
	free(least->blocks);
	free(least->edges);
	*least = (struct flow_least){ 0 };
}
