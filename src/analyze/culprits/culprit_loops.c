/*
 * What a loop tells of the accesses and branches inside of it: a place that each round accesses
 * stays in the first cache, and a branch that stays in the loop or leaves it cannot be predicted
 * wrong much more often than the loop was left.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/culprits/culprits_private.h"
#include "base/cleanup.h"

/* The line of an access that runs in a smaller part of a loop's rounds may have been evicted. */
#define OFTEN 0.1

/* The innermost loop around a block; FLOW_NO_LOOP for FLOW_OUTSIDE too. */
static uint32_t loop_of(const struct flow_loops *loops, uint32_t block)
{
	return block == FLOW_OUTSIDE ? FLOW_NO_LOOP : loops->of_block[block];
}

/* The innermost loop that holds both blocks, or FLOW_NO_LOOP. */
static uint32_t common_loop(const struct flow_loops *loops, uint32_t block, uint32_t other)
{
	uint32_t a = loop_of(loops, block), b = loop_of(loops, other);
	while (a != b && a != FLOW_NO_LOOP && b != FLOW_NO_LOOP) {
		/* inner loops have larger numbers */
		uint32_t *inner = a > b ? &a : &b;
		*inner = loops->list[*inner].parent;
	}
	return a == b ? a : FLOW_NO_LOOP;
}

/* An edge into or out of a loop that has few samples may have been taken up to so many times more
 * often than estimated, but no more often than its interval says. */
#define UNSURE 5

static double most_times_of_edge(const struct culprit_rules *rules, uint32_t edge)
{
	const struct frequency *frequency = &rules->procedure->frequencies.edges[edge];
	double times = culprit_times_of_edge(rules, edge);
	if (!rules->procedure->frequencies.is_relative)
		return times;
	return isnan(frequency->high) ? UNSURE * times
				      : fmin(UNSURE * times, fmax(times, frequency->high));
}

/* Adds to the sums of all loops that hold `inside` and not `outside`. */
static void cross(const struct culprit_rules *rules, uint32_t inside, uint32_t outside,
		  double times, double *sums)
{
	const struct flow_loops *loops = &rules->procedure->loops;
	uint32_t both = common_loop(loops, inside, outside);
	for (uint32_t loop = loop_of(loops, inside); loop != both; loop = loops->list[loop].parent)
		sums[loop] += times;
}

/* Sets how often each loop was entered, at most; it was left as often. 0 or -ENOMEM. */
static int count_entries(const struct culprit_rules *rules, struct loop_facts *facts)
{
	const struct flow_graph *graph = &rules->procedure->cfg.graph;
	const struct flow_loops *loops = &rules->procedure->loops;
	CLEANUP(free_pointer) double *sums = calloc(2 * (size_t)loops->count + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	double *entries = sums, *leaves = sums + loops->count;
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		double times = most_times_of_edge(rules, e);
		cross(rules, graph->edges[e].to, graph->edges[e].from, times, entries);
		cross(rules, graph->edges[e].from, graph->edges[e].to, times, leaves);
	}
	/* Missing edges may be other ways in. */
	for (uint32_t l = 0; l < loops->count; l++)
		facts[l].entries = graph->missing_edges ? INFINITY : fmin(entries[l], leaves[l]);
	return 0;
}

/* Whether an access has one address in all rounds of a loop. */
static bool keeps_its_place(const struct instruction_effects *op, const struct loop_facts *facts)
{
	struct register_set moved = register_set_intersect(&op->address, &facts->writes);
	return op->known && op->class != LATENCY_MICROCODE && register_set_empty(&moved);
}

static void add_to_loop(const struct culprit_rules *rules, uint32_t block, struct loop_facts *facts)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	for (uint32_t i = at->first; i < at->first + at->count; i++) {
		const struct instruction_effects *op = &procedure->effects[i];
		facts->writes = register_set_union(&facts->writes, &op->writes);
		facts->calls |= !op->known || op->class == LATENCY_SYSTEM ||
				procedure->cfg.instructions[i].kind == INSTRUCTION_CALL;
	}
}

/* Whether the block stores to addresses that differ from round to round; facts->writes is complete.
 */
static bool scatters(const struct culprit_rules *rules, uint32_t block,
		     const struct loop_facts *facts)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		if (procedure->effects[i].writes_memory &&
		    !keeps_its_place(&procedure->effects[i], facts))
			return true;
	return false;
}

int culprit_find_loops(struct culprit_rules *rules)
{
	const struct flow_loops *loops = &rules->procedure->loops;
	uint32_t blocks = rules->procedure->cfg.graph.block_count;
	struct loop_facts *facts = calloc((size_t)loops->count + 1, sizeof(*facts));
	rules->loops = facts;
	if (!facts)
		return -ENOMEM;
	for (uint32_t l = 0; l < loops->count; l++)
		facts[l].inner = true;
	for (uint32_t b = 0; b < blocks; b++)
		if (loops->of_block[b] != FLOW_NO_LOOP)
			add_to_loop(rules, b, &facts[loops->of_block[b]]);
	/* Inner loops have larger numbers. */
	for (uint32_t l = loops->count; l-- > 0;) {
		uint32_t parent = loops->list[l].parent;
		if (parent == FLOW_NO_LOOP)
			continue;
		facts[parent].inner = false;
		facts[parent].calls |= facts[l].calls;
		facts[parent].writes = register_set_union(&facts[parent].writes, &facts[l].writes);
	}
	for (uint32_t b = 0; b < blocks; b++)
		if (loops->of_block[b] != FLOW_NO_LOOP)
			facts[loops->of_block[b]].scatters |=
				scatters(rules, b, &facts[loops->of_block[b]]);
	return count_entries(rules, facts);
}

/* The loop around a block, if it has no calls and no loop inside and the block runs often in it. */
static const struct loop_facts *steady_loop(const struct culprit_rules *rules, uint32_t block)
{
	const struct flow_loops *loops = &rules->procedure->loops;
	uint32_t loop = loops->of_block[block];
	if (loop == FLOW_NO_LOOP || !rules->loops[loop].inner || rules->loops[loop].calls)
		return NULL;
	double rounds = culprit_times_of_block(rules, loops->list[loop].header);
	return culprit_times_of_block(rules, block) >= OFTEN * rounds ? &rules->loops[loop] : NULL;
}

double culprit_misses_of_place(const struct culprit_rules *rules, uint32_t block,
			       uint32_t instruction)
{
	const struct loop_facts *facts = steady_loop(rules, block);
	bool keeps = facts && keeps_its_place(&rules->procedure->effects[instruction], facts);
	return keeps ? culprit_unless_rare(rules, block, facts->entries) : INFINITY;
}

double culprit_waits_of_store(const struct culprit_rules *rules, uint32_t block)
{
	const struct loop_facts *facts = steady_loop(rules, block);
	return facts && !facts->scatters ? culprit_unless_rare(rules, block, facts->entries)
					 : INFINITY;
}

double culprit_leaves_of_loop(const struct culprit_rules *rules, uint32_t branch_block)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct flow_ends out_of = flow_graph_out_of(graph, branch_block);
	uint32_t last = culprit_last_of(rules, branch_block), innermost = FLOW_NO_LOOP;
	bool differ = false;
	if (culprit_at(rules, last)->kind != INSTRUCTION_CONDITIONAL)
		return INFINITY;
	/* The innermost loop around the branch that one of its edges stays in. */
	for (size_t i = 0; i < out_of.count; i++) {
		uint32_t to = graph->edges[out_of.list[i]].to;
		uint32_t stays = common_loop(&procedure->loops, branch_block, to);
		differ |= i > 0 && stays != innermost;
		if (innermost == FLOW_NO_LOOP || (stays != FLOW_NO_LOOP && stays > innermost))
			innermost = stays;
	}
	return differ ? rules->loops[innermost].entries : INFINITY;
}
