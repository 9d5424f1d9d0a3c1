#include "support/random_flow.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/random.h"

#define MOST_NESTED 40

struct flow_passage {
	uint32_t from, to;
	double executions;
	enum flow_edge_kind kind;
};

struct making {
	struct random_flow *flow;
	struct random_state *random;
	double most_trips;
};

/* Where control is, and how often it comes there. */
struct place {
	uint32_t block;
	double executions;
};

static void must(int ret)
{
	if (ret < 0)
		abort();
}

static void pass(struct making *making, uint32_t from, uint32_t to, double executions,
		 enum flow_edge_kind kind)
{
	struct random_flow *flow = making->flow;
	must(array_reserve(&flow->passages, &flow->passage_capacity, flow->passage_count,
			   sizeof(*flow->passages)));
	flow->passages[flow->passage_count++] = (struct flow_passage){ from, to, executions, kind };
}

static double part(struct making *making)
{
	return 0.05 + 0.9 * random_unit(making->random);
}

/* A new block, to which control goes from `from` each time. */
static struct place go_on(struct making *making, struct place from, enum flow_edge_kind kind)
{
	uint32_t block = making->flow->block_count++;
	pass(making, from.block, block, from.executions, kind);
	return (struct place){ block, from.executions };
}

static struct place region(struct making *making, struct place at, uint32_t blocks,
			   unsigned nested);

static struct place arms(struct making *making, struct place at, uint32_t blocks, unsigned count,
			 unsigned nested)
{
	struct place ends[8];
	double left = at.executions, sum = 0;
	for (unsigned i = 0; i < count; i++) {
		double executions = i + 1 < count ? left * part(making) : left;
		left -= executions;
		ends[i] = go_on(making, (struct place){ at.block, executions },
				count > 2 ? FLOW_INDIRECT : FLOW_BRANCH);
		ends[i] = region(making, ends[i], blocks / count, nested);
		sum += ends[i].executions;
	}
	uint32_t join = making->flow->block_count++;
	for (unsigned i = 0; i < count; i++)
		pass(making, ends[i].block, join, ends[i].executions, FLOW_NEXT);
	return (struct place){ join, sum };
}

static struct place skip(struct making *making, struct place at, uint32_t blocks, unsigned nested)
{
	double taken = at.executions * part(making);
	struct place then = go_on(making, (struct place){ at.block, taken }, FLOW_NEXT);
	then = region(making, then, blocks, nested);
	uint32_t join = making->flow->block_count++;
	pass(making, then.block, join, then.executions, FLOW_NEXT);
	pass(making, at.block, join, at.executions - taken, FLOW_BRANCH);
	return (struct place){ join, at.executions - taken + then.executions };
}

/* A loop that is left as often as it is entered: by the break or at its end. Nothing returns from
 * inside. */
static struct place loop(struct making *making, struct place at, uint32_t blocks, unsigned nested)
{
	double trips = exp(log(making->most_trips) * random_unit(making->random));
	double broken = random_below(making->random, 3) ? 0 : at.executions * part(making);
	double passed = at.executions * (1 + trips);
	struct place head = go_on(making, at, FLOW_NEXT);
	head.executions = passed;
	struct place end = region(making, head, blocks, nested);
	uint32_t after = making->flow->block_count++;
	if (broken > 0) {
		pass(making, end.block, after, broken, FLOW_BRANCH);
		end.executions -= broken;
		end = go_on(making, end, FLOW_NEXT);
	}
	pass(making, end.block, after, at.executions - broken, FLOW_NEXT);
	pass(making, end.block, head.block, passed - at.executions, FLOW_BRANCH);
	return (struct place){ after, at.executions };
}

static struct place leave(struct making *making, struct place at)
{
	double gone = at.executions * part(making) / 4;
	pass(making, at.block, FLOW_OUTSIDE, gone, FLOW_RETURN);
	at.executions -= gone;
	return go_on(making, at, FLOW_NEXT);
}

static struct place region(struct making *making, struct place at, uint32_t blocks, unsigned nested)
{
	uint32_t until = making->flow->block_count + blocks;
	while (making->flow->block_count < until) {
		uint32_t left = until - making->flow->block_count;
		uint32_t inside = (uint32_t)random_below(making->random, left);
		if (left < 4 || nested == MOST_NESTED) {
			at = go_on(making, at, FLOW_NEXT);
			continue;
		}
		switch (random_below(making->random, 6)) {
		case 0:
			at = arms(making, at, inside, 3 + (unsigned)random_below(making->random, 6),
				  nested + 1);
			break;
		case 1:
			at = arms(making, at, inside, 2, nested + 1);
			break;
		case 2:
		case 3:
			at = skip(making, at, inside, nested + 1);
			break;
		case 4:
			at = loop(making, at, inside, nested + 1);
			break;
		default:
			at = nested ? go_on(making, at, FLOW_NEXT) : leave(making, at);
		}
	}
	return at;
}

/* Adds up the executions of the graph's edges. */
static void count(struct random_flow *flow)
{
	flow->blocks = calloc(flow->block_count, sizeof(*flow->blocks));
	flow->edges = calloc(flow->graph.edge_count, sizeof(*flow->edges));
	if (!flow->blocks || !flow->edges)
		abort();
	for (size_t i = 0; i < flow->passage_count; i++) {
		const struct flow_passage *passage = &flow->passages[i];
		bool in = passage->from == FLOW_OUTSIDE;
		struct flow_ends ends = in ? flow_graph_into(&flow->graph, passage->to)
					   : flow_graph_out_of(&flow->graph, passage->from);
		for (size_t k = 0; k < ends.count; k++) {
			const struct flow_edge *edge = &flow->graph.edges[ends.list[k]];
			if (edge->from == passage->from && edge->to == passage->to)
				flow->edges[ends.list[k]] += passage->executions;
		}
		if (passage->to != FLOW_OUTSIDE)
			flow->blocks[passage->to] += passage->executions;
	}
}

void random_flow_init(struct random_flow *flow, struct random_state *random, uint32_t blocks,
		      double entries, double most_trips)
{
	*flow = (struct random_flow){ 0 };
	struct making making = { flow, random, most_trips };
	struct place at = go_on(&making, (struct place){ FLOW_OUTSIDE, entries }, FLOW_ENTRY);
	at = region(&making, at, blocks > 1 ? blocks - 1 : 0, 0);
	pass(&making, at.block, FLOW_OUTSIDE, at.executions, FLOW_RETURN);
	flow_graph_init(&flow->graph, flow->block_count);
	for (size_t i = 0; i < flow->passage_count; i++)
		must(flow_graph_add(&flow->graph, flow->passages[i].from, flow->passages[i].to,
				    flow->passages[i].kind));
	must(flow_graph_settle(&flow->graph));
	count(flow);
}

void random_flow_init_tangled(struct random_flow *flow, struct random_state *random,
			      uint32_t blocks)
{
	*flow = (struct random_flow){ .block_count = blocks };
	flow_graph_init(&flow->graph, blocks);
	for (size_t i = 0; i < blocks + random_below(random, blocks); i++) {
		uint32_t a = (uint32_t)random_below(random, blocks);
		uint32_t b = (uint32_t)random_below(random, blocks);
		uint64_t kind = random_below(random, 16);
		must(flow_graph_add(&flow->graph, kind == 0 ? FLOW_OUTSIDE : a,
				    kind == 1 ? FLOW_OUTSIDE : b, FLOW_BRANCH));
	}
	must(flow_graph_settle(&flow->graph));
}

void random_flow_release(struct random_flow *flow)
{
	flow_graph_release(&flow->graph);
	free(flow->blocks);
	free(flow->edges);
	free(flow->passages);
	*flow = (struct random_flow){ 0 };
}
