/*
 * Waiting to be fetched: the caches and translations of instructions. The paper's rule: who is
 * in the same line as everything that can run just before it was fetched with that.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/cycles/culprits_private.h"

#define PAGE_BYTES 4096u

struct fetch {
	double line_times,
		page_times; /* how often it followed code of another line, another page */
};

/* What ran much less often before it does not matter: an edge, or the entries of a loop. */
static double unless_rare(const struct culprit_rules *rules, uint32_t block, double times)
{
	return times < CULPRIT_RARE * culprit_times_of_block(rules, block) ? 0 : times;
}

/* `before` ran just before `instruction`, so often. */
static void fetched_after(const struct culprit_rules *rules, uint32_t before, uint32_t instruction,
			  double times, struct fetch *fetch)
{
	uint64_t from = culprit_last_byte(culprit_at(rules, before)),
		 to = culprit_last_byte(culprit_at(rules, instruction));
	uint32_t line = rules->procedure->pipeline->l1i.line_bytes;
	if (line == PIPELINE_UNKNOWN || line == 0)
		line = 64;
	/* A call's code lies elsewhere, and what runs behind it runs after that. */
	bool left = culprit_at(rules, before)->kind == INSTRUCTION_CALL;
	if (left || from / line != to / line)
		fetch->line_times += times;
	if (left || from / PAGE_BYTES != to / PAGE_BYTES)
		fetch->page_times += times;
}

/* How often a loop was entered from outside of it. */
static double entries_of(const struct culprit_rules *rules, uint32_t loop)
{
	const struct procedure_cycles *procedure = rules->procedure;
	uint32_t header = procedure->loops.list[loop].header;
	struct flow_ends into = flow_graph_into(&procedure->cfg.graph, header);
	double times = 0;
	for (size_t i = 0; i < into.count; i++) {
		uint32_t from = procedure->cfg.graph.edges[into.list[i]].from;
		uint32_t inside =
			from == FLOW_OUTSIDE ? FLOW_NO_LOOP : procedure->loops.of_block[from];
		while (inside != FLOW_NO_LOOP && inside != loop)
			inside = procedure->loops.list[inside].parent;
		if (inside != loop)
			times += culprit_times_of_edge(rules, into.list[i]);
	}
	return times;
}

static struct fetch fetch_of(const struct culprit_rules *rules, uint32_t block,
			     uint32_t instruction)
{
	const struct flow_graph *graph = &rules->procedure->cfg.graph;
	struct fetch fetch = { 0 };
	if (instruction > rules->procedure->cfg.blocks[block].first) {
		fetched_after(rules, instruction - 1, instruction,
			      culprit_times_of_block(rules, block), &fetch);
	} else {
		struct flow_ends into = flow_graph_into(graph, block);
		for (size_t i = 0; i < into.count; i++) {
			const struct flow_edge *edge = &graph->edges[into.list[i]];
			double times = unless_rare(rules, block,
						   culprit_times_of_edge(rules, into.list[i]));
			if (edge->from != FLOW_OUTSIDE) {
				fetched_after(rules, culprit_last_of(rules, edge->from),
					      instruction, times, &fetch);
				continue;
			}
			fetch.line_times += times;
			fetch.page_times += times;
		}
	}
	/* What a loop that fits has fetched stays there until the loop is left. */
	if (rules->quiet_loop[block] != FLOW_NO_LOOP) {
		double entries =
			unless_rare(rules, block, entries_of(rules, rules->quiet_loop[block]));
		fetch.line_times = fmin(fetch.line_times, entries);
		fetch.page_times = fmin(fetch.page_times, entries);
	}
	return fetch;
}

static void blame_fetch(const struct culprit_rules *rules, uint32_t instruction, struct fetch fetch,
			struct culprit_list *out)
{
	double *const *most = rules->bounds.most;
	double cycle = rules->procedure->cycle;
	bool by_events;
	double high = culprit_miss_cycles(fetch.line_times, rules->costs.fetch_near,
					  rules->costs.fetch_far, most[CULPRIT_L1I_MISSES],
					  most[CULPRIT_FETCH_MISSES], instruction, &by_events);
	culprit_accuse(out, DYNAMIC_ICACHE, instruction, high * cycle, by_events);
	/* A translation that is missing belongs to lines that are missing too. */
	const double *events =
		most[CULPRIT_ITLB_MISSES] ? most[CULPRIT_ITLB_MISSES] : most[CULPRIT_L1I_MISSES];
	high = culprit_miss_cycles(fetch.page_times, rules->costs.walk, rules->costs.walk, events,
				   NULL, instruction, &by_events);
	culprit_accuse(out, DYNAMIC_ITLB, instruction, high * cycle, by_events);
}

void culprit_judge_fetch(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 struct culprit_list *out)
{
	struct fetch fetch = fetch_of(rules, block, instruction);
	uint32_t blamed = instruction;
	/* Who waits to be fetched is charged to the one before it. */
	if (rules->late) {
		struct fetch next = { 0 };
		if (instruction < culprit_last_of(rules, block)) {
			next = fetch_of(rules, block, instruction + 1);
			if (next.line_times > fetch.line_times)
				blamed = instruction + 1;
		} else {
			const struct flow_graph *graph = &rules->procedure->cfg.graph;
			struct flow_ends out_of = flow_graph_out_of(graph, block);
			for (size_t i = 0; i < out_of.count; i++) {
				uint32_t to = graph->edges[out_of.list[i]].to;
				if (to == FLOW_OUTSIDE)
					continue;
				fetched_after(
					rules, instruction, rules->procedure->cfg.blocks[to].first,
					unless_rare(rules, block,
						    culprit_times_of_edge(rules, out_of.list[i])),
					&next);
			}
			if (rules->quiet_loop[block] != FLOW_NO_LOOP) {
				double entries = unless_rare(
					rules, block, entries_of(rules, rules->quiet_loop[block]));
				next.line_times = fmin(next.line_times, entries);
				next.page_times = fmin(next.page_times, entries);
			}
		}
		fetch.line_times = fmax(fetch.line_times, next.line_times);
		fetch.page_times = fmax(fetch.page_times, next.page_times);
	}
	blame_fetch(rules, blamed, fetch, out);
}

/* --- loops whose code stays in the first cache --- */

/* By loop: bytes of its blocks, and whether one calls; with the loops inside. */
int culprit_find_quiet_loops(struct culprit_rules *rules)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct flow_loops *loops = &procedure->loops;
	uint32_t size = procedure->pipeline->l1i.size_bytes;
	uint64_t *bytes = calloc((size_t)loops->count + 1, sizeof(*bytes));
	bool *calls = calloc((size_t)loops->count + 1, sizeof(*calls));
	uint32_t *quiet = calloc((size_t)loops->count + 1, sizeof(*quiet));
	if (!bytes || !calls || !quiet) {
		free(bytes);
		free(calls);
		free(quiet);
		return -ENOMEM;
	}
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		const struct cfg_block *block = &procedure->cfg.blocks[b];
		uint32_t loop = loops->of_block[b];
		if (loop == FLOW_NO_LOOP || !block->count)
			continue;
		bytes[loop] += culprit_last_byte(culprit_at(rules, culprit_last_of(rules, b))) +
			       64 - culprit_at(rules, block->first)->vaddr;
		for (uint32_t i = block->first; i < block->first + block->count; i++)
			calls[loop] |= culprit_at(rules, i)->kind == INSTRUCTION_CALL;
	}
	/* Inner loops have larger numbers. */
	for (uint32_t l = loops->count; l-- > 0;) {
		uint32_t parent = loops->list[l].parent;
		if (parent == FLOW_NO_LOOP)
			continue;
		bytes[parent] += bytes[l];
		calls[parent] |= calls[l];
	}
	/* An irreducible loop has other ways in than its header's. */
	for (uint32_t l = 0; l < loops->count; l++) {
		uint32_t parent = loops->list[l].parent;
		quiet[l] = parent == FLOW_NO_LOOP ? FLOW_NO_LOOP : quiet[parent];
		if (quiet[l] == FLOW_NO_LOOP && !calls[l] && !loops->list[l].irreducible &&
		    size != PIPELINE_UNKNOWN && bytes[l] <= size / 2)
			quiet[l] = l;
	}
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++)
		rules->quiet_loop[b] = loops->of_block[b] == FLOW_NO_LOOP
					       ? FLOW_NO_LOOP
					       : quiet[loops->of_block[b]];
	free(bytes);
	free(calls);
	free(quiet);
	return 0;
}
