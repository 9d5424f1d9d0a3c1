/*
 * Waiting to be fetched: the caches and translations of instructions. The paper's rule: an
 * instruction in the same line as everything that can run just before it was fetched with that.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/culprits/culprits_private.h"
#include "base/cleanup.h"

#define PAGE_BYTES 4096u
/* The smallest first cache of a processor that runs Linux: a Cortex-A53 may have one. */
#define LEAST_L1I_BYTES 8192u

/* How often an instruction followed code of another line, of another page. */
struct fetch {
	double line_times, page_times;
};

/* Adds the `times` that `before` ran just before `instruction`. */
static void fetched_after(const struct culprit_rules *rules, uint32_t before, uint32_t instruction,
			  double times, struct fetch *fetch)
{
	uint64_t from = culprit_last_byte(culprit_at(rules, before)),
		 to = culprit_last_byte(culprit_at(rules, instruction));
	uint32_t line = rules->procedure->pipeline->l1i.line_bytes;
	if (line == PIPELINE_UNKNOWN || line == 0)
		line = 64;
	/* Behind a call runs what comes back from code elsewhere. */
	bool left = culprit_at(rules, before)->kind == INSTRUCTION_CALL;
	if (left || from / line != to / line)
		fetch->line_times += times;
	if (left || from / PAGE_BYTES != to / PAGE_BYTES)
		fetch->page_times += times;
}

/* The code of a loop that fits the cache is fetched once each time that the loop is entered. */
static void cap_by_loop(const struct culprit_rules *rules, uint32_t block, struct fetch *fetch)
{
	double entries = culprit_unless_rare(rules, block, rules->quiet_entries[block]);
	fetch->line_times = fmin(fetch->line_times, entries);
	fetch->page_times = fmin(fetch->page_times, entries);
}

/* How often the instruction may have waited for its fetch, by what ran just before it. */
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
			double times = culprit_unless_rare(
				rules, block, culprit_times_of_edge(rules, into.list[i]));
			if (edge->from != FLOW_OUTSIDE) {
				fetched_after(rules, culprit_last_of(rules, edge->from),
					      instruction, times, &fetch);
				continue;
			}
			fetch.line_times += times;
			fetch.page_times += times;
		}
	}
	cap_by_loop(rules, block, &fetch);
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
	/* A missing translation comes with a missing line, so misses bound it too. */
	const double *events =
		most[CULPRIT_ITLB_MISSES] ? most[CULPRIT_ITLB_MISSES] : most[CULPRIT_L1I_MISSES];
	high = culprit_miss_cycles(fetch.page_times, rules->costs.walk, rules->costs.walk, events,
				   NULL, instruction, &by_events);
	culprit_accuse(out, DYNAMIC_ITLB, instruction, high * cycle, by_events);
}

/* Of the blocks that can run just behind a block. */
static struct fetch fetch_behind(const struct culprit_rules *rules, uint32_t block)
{
	const struct flow_graph *graph = &rules->procedure->cfg.graph;
	struct flow_ends out_of = flow_graph_out_of(graph, block);
	struct fetch fetch = { 0 };
	for (size_t i = 0; i < out_of.count; i++) {
		uint32_t to = graph->edges[out_of.list[i]].to;
		if (to == FLOW_OUTSIDE)
			continue;
		double times = culprit_unless_rare(rules, block,
						   culprit_times_of_edge(rules, out_of.list[i]));
		fetched_after(rules, culprit_last_of(rules, block),
			      rules->procedure->cfg.blocks[to].first, times, &fetch);
	}
	cap_by_loop(rules, block, &fetch);
	return fetch;
}

void culprit_judge_fetch(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 struct culprit_list *out)
{
	struct fetch fetch = fetch_of(rules, block, instruction);
	uint32_t blamed = instruction;
	/* The wait of an instruction for its fetch is charged to the one before it. */
	if (rules->late) {
		bool is_last = instruction == culprit_last_of(rules, block);
		struct fetch next = is_last ? fetch_behind(rules, block)
					    : fetch_of(rules, block, instruction + 1);
		if (!is_last && next.line_times > fetch.line_times)
			blamed = instruction + 1;
		fetch.line_times = fmax(fetch.line_times, next.line_times);
		fetch.page_times = fmax(fetch.page_times, next.page_times);
	}
	blame_fetch(rules, blamed, fetch, out);
}

/* --- loops whose code stays in the first cache --- */

/* Of a loop, with the loops inside. */
struct loop_code {
	uint64_t bytes; /* of its blocks, each with a line more, as it may begin in the middle of
			   one */
	bool calls;
	double quiet_entries; /* see struct culprit_rules */
};

static void measure_loops(const struct culprit_rules *rules, struct loop_code *codes)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct flow_loops *loops = &procedure->loops;
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		const struct cfg_block *block = &procedure->cfg.blocks[b];
		uint32_t loop = loops->of_block[b];
		if (loop == FLOW_NO_LOOP)
			continue;
		codes[loop].bytes +=
			culprit_last_byte(culprit_at(rules, culprit_last_of(rules, b))) + 64 -
			culprit_at(rules, block->first)->vaddr;
		for (uint32_t i = block->first; i < block->first + block->count; i++)
			codes[loop].calls |= culprit_at(rules, i)->kind == INSTRUCTION_CALL;
	}
	/* Inner loops have larger numbers. */
	for (uint32_t l = loops->count; l-- > 0;) {
		uint32_t parent = loops->list[l].parent;
		if (parent == FLOW_NO_LOOP)
			continue;
		codes[parent].bytes += codes[l].bytes;
		codes[parent].calls |= codes[l].calls;
	}
}

int culprit_find_quiet_loops(struct culprit_rules *rules)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct flow_loops *loops = &procedure->loops;
	uint32_t blocks = procedure->cfg.graph.block_count;
	uint32_t size = procedure->pipeline->l1i.size_bytes;
	if (size == PIPELINE_UNKNOWN)
		size = LEAST_L1I_BYTES;
	CLEANUP(free_pointer)
	struct loop_code *codes = calloc((size_t)loops->count + 1, sizeof(*codes));
	rules->quiet_entries = calloc((size_t)blocks + 1, sizeof(*rules->quiet_entries));
	if (!codes || !rules->quiet_entries)
		return -ENOMEM;
	measure_loops(rules, codes);
	for (uint32_t l = 0; l < loops->count; l++) {
		uint32_t parent = loops->list[l].parent;
		bool fits = codes[l].bytes <= size / 2;
		codes[l].quiet_entries =
			parent == FLOW_NO_LOOP ? INFINITY : codes[parent].quiet_entries;
		/* An irreducible loop has other ways in than its header's. */
		if (isinf(codes[l].quiet_entries) && fits && !codes[l].calls &&
		    !loops->list[l].irreducible)
			codes[l].quiet_entries = rules->loops[l].entries;
	}
	for (uint32_t b = 0; b < blocks; b++)
		rules->quiet_entries[b] = loops->of_block[b] == FLOW_NO_LOOP
						  ? INFINITY
						  : codes[loops->of_block[b]].quiet_entries;
	return 0;
}
