/*
 * Waiting for the right instructions after a wrong prediction.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/culprits/culprits_private.h"

/* Out of order that many instructions of a block may wait for the front end to catch up. */
#define CATCHING_UP 4
/* So many outcomes of a branch must have been seen to use their shares. */
#define ENOUGH_SEEN 30

static bool is_indirect(const struct cfg_instruction *instruction)
{
	return !instruction->has_target &&
	       (instruction->kind == INSTRUCTION_JUMP || instruction->kind == INSTRUCTION_CALL);
}

static bool may_be_mispredicted(const struct cfg_instruction *instruction)
{
	return instruction->kind == INSTRUCTION_CONDITIONAL ||
	       instruction->kind == INSTRUCTION_RETURN || is_indirect(instruction);
}

/*
 * The most that the share of a branch's executions can be that did not go along `edge`: by outcomes
 * that were seen; else by executions where these have an interval; else 1.
 */
static double other_ways(const struct culprit_rules *rules, uint32_t edge)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct flow_ends out = flow_graph_out_of(graph, graph->edges[edge].from);
	const struct frequency *own = &procedure->frequencies.edges[edge];
	double seen = 0, seen_others = 0, others = 0;
	for (size_t i = 0; i < out.count; i++) {
		bool other = out.list[i] != edge;
		if (procedure->evidence) {
			seen += procedure->evidence[out.list[i]];
			seen_others += other ? procedure->evidence[out.list[i]] : 0;
		}
		others += other ? culprit_times_of_edge(rules, out.list[i]) : 0;
	}
	if (seen >= ENOUGH_SEEN)
		return fmin(1, (seen_others + 2 + 2 * sqrt(seen_others)) / seen);
	if (!culprit_is_edge_sure(rules, edge))
		return 1;
	return others + own->value > 0 ? fmin(1, others / (others + own->value)) : 1;
}

/*
 * How often the branch at the end of a block can have been predicted wrong on its way along one
 * edge: a predictor that remembers the last outcome alone is wrong once for each change, so not
 * more often than it went the other ways.
 */
static double mispredicted(const struct culprit_rules *rules, uint32_t edge,
			   enum culprit_trust trust, bool *by_events)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct flow_graph *graph = &procedure->cfg.graph;
	uint32_t block = graph->edges[edge].from, branch = culprit_last_of(rules, block);
	const double *counted =
		procedure->cfg.instructions[branch].kind == INSTRUCTION_CONDITIONAL ||
				!rules->bounds.most[CULPRIT_INDIRECT_MISPREDICTS]
			? rules->bounds.most[CULPRIT_MISPREDICTS]
			: rules->bounds.most[CULPRIT_INDIRECT_MISPREDICTS];
	double whole = culprit_times_of_block(rules, block),
	       share = trust == TRUST_SHARES ? other_ways(rules, edge) : 1;
	double times = share < 1 || trust == TRUST_NO_SHARES
			       ? fmin(culprit_times_of_edge(rules, edge), whole * share)
			       : whole;
	/* Where targets are missing, it may go to any of them all the time. */
	if (is_indirect(culprit_at(rules, branch)) && graph->missing_edges)
		times = whole;
	/* A count is better, higher or lower: branches share the entries of a predictor. */
	if (counted) {
		*by_events = true;
		return fmin(counted[branch], culprit_is_edge_sure(rules, edge)
						     ? culprit_times_of_edge(rules, edge)
						     : whole);
	}
	/* Where one way leaves a loop, the loop's entries tell which is rare, whatever the estimate
	 * of the edges. */
	return culprit_is_edge_sure(rules, edge)
		       ? times
		       : fmin(times, culprit_leaves_of_loop(rules, block));
}

void culprit_judge_prediction(const struct culprit_rules *rules, uint32_t block,
			      uint32_t instruction, enum culprit_trust trust,
			      struct culprit_list *out)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct flow_graph *graph = &procedure->cfg.graph;
	uint32_t first = procedure->cfg.blocks[block].first, blamed = CULPRIT_NO_INSTRUCTION;
	double times = 0, largest = -1;
	bool by_events = false;
	if (instruction == first || (rules->late && instruction - first < CATCHING_UP)) {
		struct flow_ends into = flow_graph_into(graph, block);
		for (size_t i = 0; i < into.count; i++) {
			const struct flow_edge *edge = &graph->edges[into.list[i]];
			double here = 0;
			if (edge->from == FLOW_OUTSIDE) {
				here = culprit_times_of_edge(rules, into.list[i]);
			} else if (may_be_mispredicted(
					   culprit_at(rules, culprit_last_of(rules, edge->from)))) {
				here = mispredicted(rules, into.list[i], trust, &by_events);
			}
			if (here < CULPRIT_RARE * culprit_times_of_block(rules, block))
				here = 0;
			times += here;
			if (here > largest && edge->from != FLOW_OUTSIDE) {
				largest = here;
				blamed = here > 0 ? culprit_last_of(rules, edge->from)
						  : CULPRIT_NO_INSTRUCTION;
			}
		}
	}
	/* The return of a call may have been predicted wrong. */
	if (instruction > first && culprit_at(rules, instruction - 1)->kind == INSTRUCTION_CALL) {
		times += culprit_times_of_block(rules, block);
		blamed = instruction - 1;
	}
	if (rules->late && may_be_mispredicted(culprit_at(rules, instruction)) &&
	    instruction == culprit_last_of(rules, block)) {
		struct flow_ends out_of = flow_graph_out_of(graph, block);
		double here = 0;
		for (size_t i = 0; i < out_of.count; i++)
			if (graph->edges[out_of.list[i]].to != FLOW_OUTSIDE)
				here += mispredicted(rules, out_of.list[i], trust, &by_events);
		if (here >= times && here >= CULPRIT_RARE * culprit_times_of_block(rules, block)) {
			times = here;
			blamed = instruction;
		}
	}
	if (rules->late && culprit_at(rules, instruction)->kind == INSTRUCTION_CALL) {
		times = fmax(times, culprit_times_of_block(rules, block));
		blamed = instruction;
	}
	culprit_accuse(out, DYNAMIC_MISPREDICT, blamed,
		       times * rules->costs.mispredict * procedure->cycle, by_events);
}
