/*
 * From what an instruction was charged and what it would take at best: its slots, its
 * static stall, its dynamic stall with the causes of it, and what chance explains.
 */
#include "analyze/culprits/culprits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/culprits/culprits_private.h"
#include "analyze/figures/interval.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "isa/registers.h"

/* A cause that can explain less than this share of a stall is not listed. */
#define LEAST_SHARE 0.1
/* Out of order: cycles of several instructions that are charged to one of them, as interrupts come
 * through behind some alone; up to 7.5 on Zen 4 (docs/methods.md, "Parts of an instruction's
 * cycles"). */
#define CHARGED_TOGETHER 16
/* Ways into a block that are looked at one by one; with more of them, the likeliest alone. */
#define MOST_ENTRIES 16

void culprits_free(struct culprits *culprits)
{
	if (!culprits)
		return;
	free(culprits->stalls);
	free(culprits->list);
	free(culprits);
}

void culprits_freep(struct culprits **culprits)
{
	culprits_free(*culprits);
}

/* Whether a best case is no more than a limit, so that nothing within it can be told apart. */
static bool is_relative(const struct procedure_cycles *procedure)
{
	return procedure->scale == CYCLES_RELATIVE || procedure->scale == CYCLES_PROGRAM;
}

/* --- slots and static stalls --- */

static enum static_cause static_cause_of(const struct procedure_cycles *procedure,
					 uint32_t instruction, const struct scheduled *at)
{
	const struct instruction_effects *op = &procedure->effects[instruction];
	unsigned flags =
		procedure->isa == ISA_AARCH64 ? (unsigned)AARCH64_NZCV : (unsigned)X86_FLAGS;
	if (at->wait == SCHEDULE_UNIT)
		return STATIC_UNIT;
	if (at->wait != SCHEDULE_OPERAND)
		return STATIC_SLOTTING;
	if (at->wait_register == flags)
		return STATIC_RC;
	return register_set_has(&op->address, at->wait_register) ? STATIC_RB : STATIC_RA;
}

static void static_reason(const struct procedure_cycles *procedure, uint32_t first,
			  uint32_t instruction, const struct scheduled *at, struct stall *stall)
{
	stall->static_cause = static_cause_of(procedure, instruction, at);
	stall->static_register = at->wait == SCHEDULE_OPERAND ? at->wait_register : REGISTER_NONE;
	stall->static_instruction = (at->wait == SCHEDULE_OPERAND || at->wait == SCHEDULE_UNIT) &&
						    at->wait_for != SCHEDULE_BEFORE
					    ? first + at->wait_for
					    : CULPRIT_NO_INSTRUCTION;
}

/* What best cases in order are split with. */
struct split {
	struct schedule_state *exits; /* by block, of one that begins with nothing under way */
	/* Of one block, by position: its schedule behind one way, and the static cycles of the way
	 * that has most of them. */
	struct scheduled *plan;
	double *most;
};

static void split_release(struct split *split)
{
	free(split->exits);
	free(split->plan);
	free(split->most);
}

/* 0 or -ENOMEM. */
static int split_init(struct split *split, const struct procedure_cycles *procedure)
{
	uint32_t blocks = procedure->cfg.graph.block_count, longest = 0;
	for (uint32_t b = 0; b < blocks; b++)
		if (procedure->cfg.blocks[b].count > longest)
			longest = procedure->cfg.blocks[b].count;
	split->exits = calloc((size_t)blocks + 1, sizeof(*split->exits));
	split->plan = calloc((size_t)longest + 1, sizeof(*split->plan));
	split->most = calloc((size_t)longest + 1, sizeof(*split->most));
	if (!split->exits || !split->plan || !split->most)
		return -ENOMEM;
	for (uint32_t b = 0; b < blocks; b++) {
		const struct cfg_block *at = &procedure->cfg.blocks[b];
		schedule_block(procedure->pipeline, procedure->effects + at->first, at->count, NULL,
			       split->plan, NULL, &split->exits[b]);
	}
	return 0;
}

/*
 * Adds `executions` of a block that go by that schedule. The reason is that of the way with most
 * static cycles, of equal ones of the first.
 */
static void add_way(const struct procedure_cycles *procedure, const struct cfg_block *block,
		    const struct scheduled *plan, double executions, double *most,
		    struct stall *stalls)
{
	double width = procedure->pipeline->issue_width, cycle = procedure->cycle;
	/* What the block before it left empty in its last cycle is not this one's to lose. */
	double used = width;
	for (uint32_t k = 0; k < block->count; k++) {
		struct stall *stall = &stalls[block->first + k];
		double head = plan[k].head_cycles;
		double empty = head >= 1 ? fmax(0, head * width - used) / width : 0;
		double lost = executions * empty * cycle;
		if (lost > most[k]) {
			static_reason(procedure, block->first, block->first + k, &plan[k], stall);
			most[k] = lost;
		}
		stall->static_cycles += lost;
		stall->issue_cycles += executions * (head - empty) * cycle;
		used = head >= 1 ? 1 : fmin(width, used + 1);
	}
}

static void split_block(const struct procedure_cycles *procedure, uint32_t block,
			struct split *split, struct stall *stalls)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	double left = isnan(procedure->cycle) ? NAN : procedure->frequencies.blocks[block].value;
	struct flow_ends into = flow_graph_into(&procedure->cfg.graph, block);
	memset(split->most, 0, at->count * sizeof(*split->most));
	for (size_t i = 0; i < into.count && into.count <= MOST_ENTRIES && left > 0; i++) {
		const struct flow_edge *edge = &procedure->cfg.graph.edges[into.list[i]];
		double executions = procedure->frequencies.edges[into.list[i]].value;
		if (edge->from == FLOW_OUTSIDE || !(executions > 0))
			continue;
		struct schedule_state entry = split->exits[edge->from];
		entry.group_ended = true;
		executions = fmin(executions, left);
		schedule_block(procedure->pipeline, procedure->effects + at->first, at->count,
			       &entry, split->plan, NULL, NULL);
		add_way(procedure, at, split->plan, executions, split->most, stalls);
		left -= executions;
	}
	if (left > 0)
		add_way(procedure, at, procedure->schedule + at->first, left, split->most, stalls);
	else if (isnan(left))
		for (uint32_t i = at->first; i < at->first + at->count; i++)
			stalls[i].issue_cycles = NAN;
}

/*
 * In order a block begins behind what each of those before it leaves under way, as often as it
 * comes from there; procedure->schedule knows the likeliest alone. It begins a cycle of its own:
 * that it could still join the last one's is no reason to call that cycle a stall. 0 or -ENOMEM.
 */
static int split_best_cases(const struct procedure_cycles *procedure, struct stall *stalls)
{
	bool splits = procedure->pipeline->in_order && !is_relative(procedure);
	for (uint32_t i = 0; i < procedure->cfg.instruction_count; i++)
		stalls[i] = (struct stall){
			.static_register = REGISTER_NONE,
			.static_instruction = CULPRIT_NO_INSTRUCTION,
			.dynamic_low = NAN,
			.dynamic_high = NAN,
			.issue_cycles = splits ? 0 : procedure->instructions[i].best_cycles,
		};
	if (!splits)
		return 0;
	CLEANUP(split_release) struct split split = { 0 };
	if (split_init(&split, procedure) < 0)
		return -ENOMEM;
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++)
		split_block(procedure, b, &split, stalls);
	return 0;
}

/* --- dynamic stalls --- */

/* What the cycles of an instruction may be, by its samples and by its executions. Where it has no
 * samples, one would have weighed as much as those of the procedure did. */
static void interval_of(const struct procedure_cycles *procedure, const struct cycles_cost *cost,
			double *low, double *high)
{
	const struct cycles_cost *sampled = cost->samples > 0 ? cost : &procedure->whole;
	if (!isnan(cost->low) && !isnan(cost->high) && !isnan(cost->executed)) {
		*low = cost->low * cost->executed;
		*high = cost->high * cost->executed;
		return;
	}
	double weight = sampled->samples > 0 ? sampled->cycles / sampled->samples : 0;
	*low = interval_count_low(cost->samples) * weight;
	*high = interval_count_high(cost->samples) * weight;
}

/* `best` is the instruction's, and out of order that of what retires with it. */
static void find_stall(const struct procedure_cycles *procedure, const struct cycles_cost *cost,
		       double best, struct stall *stall)
{
	double low, high;
	interval_of(procedure, cost, &low, &high);
	double beyond = cost->cycles - best;
	stall->dynamic_low = low - best;
	stall->dynamic_high = high - best;
	if (stall->dynamic_low > 0 || stall->dynamic_high < 0)
		stall->dynamic_cycles = beyond;
	else
		stall->noise_cycles = beyond;
	stall->most_cycles = fmax(0, stall->dynamic_cycles);
}

/*
 * Out of order several instructions retire in one cycle, and its samples are the first one's. So
 * what an instruction is charged less than its best case, the one before it took: `lent` is of the
 * one behind the last. Returns what the first could lend on.
 */
static double lend_back(const struct procedure_cycles *procedure, uint32_t first, uint32_t count,
			double lent)
{
	for (uint32_t i = first + count; i-- > first;) {
		const struct cycles_cost *cost = &procedure->instructions[i];
		lent = fmax(0, cost->best_cycles + lent - cost->cycles);
	}
	return lent;
}

/* What part of a block's executions came from its own end. */
static double share_of_rounds(const struct procedure_cycles *procedure, uint32_t block)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct flow_ends into = flow_graph_into(graph, block);
	double whole = procedure->frequencies.blocks[block].value, rounds = 0;
	for (size_t i = 0; i < into.count; i++)
		if (graph->edges[into.list[i]].from == block)
			rounds += procedure->frequencies.edges[into.list[i]].value;
	return whole > 0 && rounds > 0 ? fmin(1, rounds / whole) : 0;
}

/* The last one of a round retires with the first of the next one. */
static void find_stalls_of_groups(const struct procedure_cycles *procedure, uint32_t block,
				  struct stall *stalls)
{
	uint32_t first = procedure->cfg.blocks[block].first;
	uint32_t count = procedure->cfg.blocks[block].count;
	double around = 0;
	/* In ns a best case is no more than a limit, and would take all of a loop. */
	if (!cycles_events(procedure->cycles)->time_is_clock)
		around = lend_back(procedure, first, count, 0) * share_of_rounds(procedure, block);
	double lent = around;
	for (uint32_t i = first + count; i-- > first;) {
		const struct cycles_cost *cost = &procedure->instructions[i];
		double best = cost->best_cycles + lent;
		lent = fmax(0, best - cost->cycles);
		if (i == first)
			lent = fmin(lent, around);
		stalls[i].issue_cycles += best - lent - cost->best_cycles;
		find_stall(procedure, cost, best - lent, &stalls[i]);
	}
}

/* The most executions that there may be beside those of the hottest block, which tell the scale. */
static double most_executions(const struct frequency *frequency)
{
	return isnan(frequency->high) ? frequency->value : fmax(frequency->high, frequency->value);
}

/*
 * Where figures are relative the scale is free: a cycle is at most procedure->cycle, and may be
 * any part of that. What nothing holds up retires in a cycle, alone or with others, so beyond a
 * cycle at its longest an instruction may have waited. But interrupts do not come between any two:
 * one is charged with some cycles of those beside it. So such a wait is shown by what all of its
 * loop took beyond what issuing takes (`share` of the waits is), or by more cycles than are ever
 * charged together. Whatever is not shown counts as issuing, and so does what chance may have put
 * on top.
 */
static void find_stall_at_any_scale(const struct procedure_cycles *procedure,
				    const struct frequency *frequency,
				    const struct cycles_cost *cost, double share,
				    struct stall *stall)
{
	double cycle = most_executions(frequency) * procedure->cycle;
	double shown = fmax(share * (cost->cycles - fmax(cost->best_cycles, cycle)),
			    cost->cycles - CHARGED_TOGETHER * cycle);
	/* In order each instruction takes its best case, whatever the others do. */
	if (procedure->pipeline->in_order)
		shown = cost->cycles - cost->best_cycles;
	double within = cost->cycles - fmax(0, shown);
	find_stall(procedure, cost, within, stall);
	stall->dynamic_cycles = fmax(0, stall->dynamic_cycles);
	stall->issue_cycles = cost->cycles - stall->dynamic_cycles;
	stall->most_cycles = stall->dynamic_low + within > 0 ? cost->cycles : 0;
	stall->dynamic_low = fmax(0, stall->dynamic_low);
	stall->dynamic_high += within;
	stall->noise_cycles = 0;
}

/* What the instructions of each loop, and behind them of the rest, were charged beyond a cycle. */
static void add_waits(const struct procedure_cycles *procedure, double *waits)
{
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		const struct cfg_block *block = &procedure->cfg.blocks[b];
		double cycle =
			most_executions(&procedure->frequencies.blocks[b]) * procedure->cycle;
		uint32_t loop = procedure->loops.of_block[b];
		double *sum = &waits[loop == FLOW_NO_LOOP ? procedure->loops.count : loop];
		for (uint32_t i = block->first; i < block->first + block->count; i++) {
			const struct cycles_cost *cost = &procedure->instructions[i];
			double wait = cost->cycles - fmax(cost->best_cycles, cycle);
			*sum += wait > 0 ? wait : 0;
		}
	}
	/* Inner loops have larger numbers. */
	for (uint32_t l = procedure->loops.count; l-- > 0;) {
		uint32_t parent = procedure->loops.list[l].parent;
		waits[parent == FLOW_NO_LOOP ? procedure->loops.count : parent] += waits[l];
	}
}

/*
 * By loop, and behind them of the rest: what part of these waits its cycles show, since issuing
 * takes the others at most. Not used in order. NULL: no memory.
 */
static double *shares_shown(const struct procedure_cycles *procedure)
{
	uint32_t loops = procedure->loops.count;
	double *shares = calloc((size_t)loops + 1, sizeof(*shares));
	if (!shares)
		return NULL;
	if (procedure->pipeline->in_order)
		return shares;
	add_waits(procedure, shares);
	for (uint32_t l = 0; l <= loops; l++) {
		const struct cycles_cost *cost =
			l < loops ? &procedure->loop_costs[l] : &procedure->whole;
		double issue = procedure->loop_bounds[l].issue_cycles * procedure->cycle;
		double shown = fmax(0, cost->cycles - issue);
		shares[l] = shares[l] > 0 ? fmin(1, shown / shares[l]) : 1;
	}
	return shares;
}

static void find_stalls(const struct procedure_cycles *procedure, uint32_t block,
			const double *shares, struct culprits *culprits)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	if (isnan(culprits->stalls[at->first].issue_cycles) ||
	    isnan(procedure->instructions[at->first].cycles)) {
		for (uint32_t i = at->first; i < at->first + at->count; i++) {
			struct stall *stall = &culprits->stalls[i];
			stall->issue_cycles = stall->static_cycles = stall->dynamic_cycles = NAN;
			stall->noise_cycles = stall->unexplained_cycles = NAN;
			stall->static_cause = STATIC_NONE;
		}
		return;
	}
	culprits->known = true;
	if (is_relative(procedure)) {
		const struct frequency *frequency = &procedure->frequencies.blocks[block];
		uint32_t loop = procedure->loops.of_block[block];
		double share = shares[loop == FLOW_NO_LOOP ? procedure->loops.count : loop];
		for (uint32_t i = at->first; i < at->first + at->count; i++)
			find_stall_at_any_scale(procedure, frequency, &procedure->instructions[i],
						share, &culprits->stalls[i]);
		return;
	}
	if (!procedure->pipeline->in_order) {
		find_stalls_of_groups(procedure, block, culprits->stalls);
		return;
	}
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		find_stall(procedure, &procedure->instructions[i],
			   culprits->stalls[i].issue_cycles + culprits->stalls[i].static_cycles,
			   &culprits->stalls[i]);
}

/* --- causes --- */

/* Of two that can explain as much, the one that more often does. */
static int rank_of(enum dynamic_cause cause)
{
	static const enum dynamic_cause order[DYNAMIC_CAUSES] = {
		DYNAMIC_SYNCHRONISATION, DYNAMIC_DIVIDE,       DYNAMIC_MULTIPLY, DYNAMIC_DCACHE,
		DYNAMIC_MISPREDICT,	 DYNAMIC_WRITE_BUFFER, DYNAMIC_ICACHE,	 DYNAMIC_DTLB,
		DYNAMIC_CHAIN,		 DYNAMIC_ITLB,	       DYNAMIC_OTHER,
	};
	int rank = 0;
	while (order[rank] != cause)
		rank++;
	return rank;
}

/*
 * Out of order, who is charged is who was busy. So what the instruction itself does is before what
 * may have kept it from beginning: the wrong prediction of another, a late fetch. Work that is
 * known to be of no fixed length is before everything.
 */
static int rank_at(const struct culprit_list *list, const struct culprit *culprit,
		   uint32_t instruction, bool in_order)
{
	bool is_before_it =
		culprit->cause == DYNAMIC_ICACHE || culprit->cause == DYNAMIC_ITLB ||
		(culprit->cause == DYNAMIC_MISPREDICT && culprit->instruction != instruction);
	if (in_order)
		return rank_of(culprit->cause);
	if (list->long_by_nature && culprit->cause == DYNAMIC_OTHER)
		return -1;
	return rank_of(culprit->cause) + (is_before_it ? DYNAMIC_CAUSES : 0);
}

static double explains(const struct culprit_list *list, const struct culprit *culprit, double whole)
{
	if (culprit->cause == DYNAMIC_SYNCHRONISATION && list->sharing_is_last)
		return 0;
	return fmin(culprit->high, whole);
}

/* By what each can explain of the stall; of two that can explain as much, by rank. */
static void sort(struct culprit_list *list, uint32_t instruction, bool in_order, double whole)
{
	for (size_t i = 1; i < list->count; i++) {
		struct culprit moved = list->list[i];
		double high = explains(list, &moved, whole);
		int rank = rank_at(list, &moved, instruction, in_order);
		size_t at = i;
		for (; at; at--) {
			const struct culprit *before = &list->list[at - 1];
			double other = explains(list, before, whole);
			if (other > high ||
			    (other == high && rank_at(list, before, instruction, in_order) <= rank))
				break;
			list->list[at] = *before;
		}
		list->list[at] = moved;
	}
}

/*
 * Where a cycle may be shorter than taken here, a stall is longer and a cause takes less: of C
 * cycles charged, A of them the best case and a bound of H at the longest cycle, at most
 * min(C - A s, H s) for any s up to 1. Where that is known, s is 1.
 */
static double most_at_any_scale(double high, const struct cycles_cost *cost,
				const struct stall *stall)
{
	if (stall->most_cycles <= stall->dynamic_cycles)
		return fmin(high, stall->dynamic_cycles);
	if (high <= stall->most_cycles - cost->best_cycles)
		return high;
	return isinf(high) ? stall->most_cycles
			   : stall->most_cycles * high / (high + cost->best_cycles);
}

/* One that is shown; else what may be one. */
static double stall_that_may_be(const struct stall *stall)
{
	return stall->dynamic_cycles > 0 ? stall->dynamic_cycles : stall->most_cycles;
}

/* Cuts bounds to the stall, drops what does not matter, and finds what only one can explain. */
static void weigh(const struct procedure_cycles *procedure, uint32_t instruction,
		  struct culprit_list *found, struct stall *stall)
{
	double sum = 0, whole = stall->dynamic_cycles, possible = stall_that_may_be(stall);
	size_t kept = 0;
	sort(found, instruction, procedure->pipeline->in_order, possible);
	for (size_t i = 0; i < found->count; i++) {
		struct culprit culprit = found->list[i];
		if (culprit.high < LEAST_SHARE * possible)
			continue;
		sum += fmin(culprit.high, whole);
		found->list[kept++] = culprit;
	}
	found->count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct culprit *culprit = &found->list[i];
		double most = fmin(culprit->high, whole);
		culprit->low = fmax(0, fmin(most, whole - (sum - most)));
		culprit->high = most_at_any_scale(culprit->high,
						  &procedure->instructions[instruction], stall);
	}
	stall->unexplained_cycles = fmax(0, whole - sum);
}

static int append(struct culprits *culprits, size_t *capacity, const struct culprit_list *found,
		  struct stall *stall)
{
	if (culprits->count + found->count > *capacity) {
		size_t wanted = 2 * *capacity + 2 * DYNAMIC_CAUSES;
		struct culprit *list =
			reallocarray(culprits->list, wanted, sizeof(*culprits->list));
		if (!list)
			return -ENOMEM;
		culprits->list = list;
		*capacity = wanted;
	}
	stall->culprits = (uint32_t)culprits->count;
	stall->culprit_count = (uint32_t)found->count;
	for (size_t i = 0; i < found->count; i++)
		culprits->list[culprits->count++] = found->list[i];
	return 0;
}

static int accuse_block(struct culprit_rules *rules, uint32_t block, struct culprits *culprits,
			size_t *capacity)
{
	const struct cfg_block *at = &rules->procedure->cfg.blocks[block];
	uint32_t end = at->first + at->count;
	while (end > at->first && !(stall_that_may_be(&culprits->stalls[end - 1]) > 0))
		end--;
	if (end == at->first)
		return 0;
	if (rules->procedure->pipeline->in_order)
		reaching_enter(&rules->reaching, block);
	for (uint32_t i = at->first; i < end; i++) {
		struct stall *stall = &culprits->stalls[i];
		struct culprit_list found;
		double possible = stall_that_may_be(stall);
		if (possible > 0) {
			culprit_rules_apply(rules, block, i, possible, &found);
			weigh(rules->procedure, i, &found, stall);
			if (append(culprits, capacity, &found, stall) < 0)
				return -ENOMEM;
		}
		if (rules->procedure->pipeline->in_order)
			reaching_step(&rules->reaching, i);
	}
	return 0;
}

static int accuse_all(struct culprits *culprits, const struct event_columns *columns,
		      const struct culprit_events *events)
{
	CLEANUP(culprit_rules_release) struct culprit_rules rules;
	size_t capacity = 0;
	int ret = culprit_rules_init(&rules, culprits->procedure, columns, events);
	for (uint32_t b = 0; ret == 0 && b < culprits->procedure->cfg.graph.block_count; b++)
		ret = accuse_block(&rules, b, culprits, &capacity);
	return ret;
}

int culprits_new(const struct procedure_cycles *procedure, const struct event_columns *columns,
		 const struct culprit_events *events, struct culprits **out, struct error *err)
{
	CLEANUP(culprits_freep) struct culprits *culprits = calloc(1, sizeof(*culprits));
	if (culprits) {
		culprits->procedure = procedure;
		culprits->stalls = calloc((size_t)procedure->cfg.instruction_count + 1,
					  sizeof(*culprits->stalls));
	}
	if (!culprits || !culprits->stalls)
		return error_set(err, -ENOMEM, "out of memory for the culprits of a procedure");
	if (split_best_cases(procedure, culprits->stalls) < 0)
		return error_set(err, -ENOMEM, "out of memory for the culprits of a procedure");
	CLEANUP(free_pointer) double *shares = shares_shown(procedure);
	if (!shares)
		return error_set(err, -ENOMEM, "out of memory for the culprits of a procedure");
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++)
		find_stalls(procedure, b, shares, culprits);
	if (culprits->known && accuse_all(culprits, columns, events) < 0)
		return error_set(err, -ENOMEM, "out of memory for the culprits of a procedure");
	*out = culprits;
	culprits = NULL;
	return 0;
}
