#include "analyze/flow/flow_least_cost.h"

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
	struct simplex_arc *arcs;   /* edges, made-up ones, then two a block with a target */
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

static int target_scale(const struct flow_least_input *input)
{
	double sum = 0;
	for (uint32_t block = 0; block < input->graph->block_count; block++) {
		if (!has_target(&input->targets[block]))
			continue;
		assert(input->targets[block].count >= 0);
		sum += input->targets[block].count;
	}
	return scale_to(sum, TARGET_SUM_BITS);
}

static int price_scale(const struct flow_least_input *input, uint32_t node_count)
{
	double dearest = input->made_up_count ? input->made_up_price : 0;
	assert(dearest >= 0);
	for (uint32_t block = 0; block < input->graph->block_count; block++) {
		const struct flow_least_target *target = &input->targets[block];
		assert(target->above_price >= 0 && target->below_price >= 0);
		dearest = fmax(dearest, fmax(target->above_price, target->below_price));
	}
	for (size_t edge = 0; input->edge_prices && edge < input->graph->edge_count; edge++) {
		assert(input->edge_prices[edge] >= 0);
		dearest = fmax(dearest, input->edge_prices[edge]);
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

static struct simplex_arc arc_of(const struct network *network, const struct flow_edge *edge,
				 int64_t price)
{
	bool comes = edge->from == FLOW_OUTSIDE, goes = edge->to == FLOW_OUTSIDE;
	return (struct simplex_arc){ .from = comes ? SIMPLEX_ROOT : network->leaves[edge->from],
				     .to = goes ? SIMPLEX_ROOT : network->enters[edge->to],
				     .price = price };
}

static void lay_arcs(struct network *network, const struct flow_least_input *input, int scale)
{
	const struct flow_graph *graph = input->graph;
	const double *prices = input->edge_prices;
	size_t arc = 0;
	for (size_t i = 0; i < graph->edge_count; i++)
		network->arcs[arc++] =
			arc_of(network, &graph->edges[i], prices ? in_steps(prices[i], scale) : 0);
	for (size_t i = 0; i < input->made_up_count; i++)
		network->arcs[arc++] =
			arc_of(network, &input->made_up[i], in_steps(input->made_up_price, scale));
	for (uint32_t block = 0; block < graph->block_count; block++) {
		const struct flow_least_target *target = &input->targets[block];
		uint32_t enters = network->enters[block], leaves = network->leaves[block];
		start(network, block, (uint32_t)arc + 1);
		if (enters == leaves)
			continue;
		network->arcs[arc++] = (struct simplex_arc){ enters, leaves,
							     in_steps(target->above_price, scale) };
		network->arcs[arc++] = (struct simplex_arc){ leaves, enters,
							     in_steps(target->below_price, scale) };
	}
	network->simplex.arcs = network->arcs;
	network->simplex.arc_count = arc;
	network->simplex.joins = network->joins;
}

static int build(struct network *network, const struct flow_least_input *input, int scale)
{
	size_t blocks = input->graph->block_count;
	size_t edges = input->graph->edge_count + input->made_up_count;
	assert(blocks < UINT32_MAX / 2 - 1 && edges < UINT32_MAX - 2 * blocks - 1);
	network->enters = calloc(blocks + 1, sizeof(*network->enters));
	network->leaves = calloc(blocks + 1, sizeof(*network->leaves));
	network->counts = calloc(blocks + 1, sizeof(*network->counts));
	network->arcs = calloc(edges + 2 * blocks + 1, sizeof(*network->arcs));
	network->joins = calloc(2 * blocks + 1, sizeof(*network->joins));
	if (!network->enters || !network->leaves || !network->counts || !network->arcs ||
	    !network->joins)
		return -ENOMEM;
	for (uint32_t block = 0; block < blocks; block++)
		if (has_target(&input->targets[block]))
			network->counts[block] = in_steps(input->targets[block].count, scale);
	uint32_t nodes = number_nodes(network, input->graph, input->targets);
	network->simplex.node_count = nodes;
	lay_arcs(network, input, price_scale(input, nodes));
	network->simplex.step_limit = input->step_limit ? input->step_limit : USUAL_STEP_LIMIT;
	return 0;
}

/* Sums of multiples of one step, below 2^53 of them: exact in any order. */
static void add_into_block(struct flow_least *least, const struct flow_edge *edge, double flow)
{
	if (edge->to != FLOW_OUTSIDE)
		least->blocks[edge->to] += flow;
}

static void read_flow(const struct network *network, const struct flow_least_input *input,
		      int scale, struct flow_least *least)
{
	const struct flow_graph *graph = input->graph;
	for (uint32_t node = 1; node < network->simplex.node_count; node++) {
		const struct simplex_join *join = &network->joins[node];
		double flow = ldexp((double)join->flow, -scale);
		if (join->arc < graph->edge_count)
			least->edges[join->arc] = flow;
		else if (join->arc < graph->edge_count + input->made_up_count)
			least->made_up[join->arc - graph->edge_count] = flow;
	}
	for (size_t i = 0; i < graph->edge_count; i++)
		add_into_block(least, &graph->edges[i], least->edges[i]);
	for (size_t i = 0; i < input->made_up_count; i++)
		add_into_block(least, &input->made_up[i], least->made_up[i]);
}

static double cost_of(const struct flow_least_input *input, const struct flow_least *least)
{
	double cost = 0;
	for (uint32_t block = 0; block < input->graph->block_count; block++) {
		const struct flow_least_target *target = &input->targets[block];
		if (!has_target(target))
			continue;
		double more = least->blocks[block] - target->count;
		cost += more > 0 ? more * target->above_price : -more * target->below_price;
	}
	for (size_t edge = 0; input->edge_prices && edge < input->graph->edge_count; edge++)
		cost += input->edge_prices[edge] * least->edges[edge];
	for (size_t i = 0; i < input->made_up_count; i++)
		cost += input->made_up_price * least->made_up[i];
	return cost;
}

int flow_least_new(const struct flow_least_input *input, struct flow_least *out)
{
	CLEANUP(network_release) struct network network = { 0 };
	CLEANUP(flow_least_release) struct flow_least least = { 0 };
	int scale = target_scale(input);
	int ret = build(&network, input, scale);
	if (ret < 0)
		return ret;
	least.blocks = calloc(input->graph->block_count + (size_t)1, sizeof(*least.blocks));
	least.edges = calloc(input->graph->edge_count + 1, sizeof(*least.edges));
	least.made_up = calloc(input->made_up_count + 1, sizeof(*least.made_up));
	if (!least.blocks || !least.edges || !least.made_up)
		return -ENOMEM;

	ret = simplex_solve(&network.simplex);
	if (ret < 0)
		return ret;
	read_flow(&network, input, scale, &least);
	least.cost = cost_of(input, &least);
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
	free(least->made_up);
	*least = (struct flow_least){ 0 };
}
