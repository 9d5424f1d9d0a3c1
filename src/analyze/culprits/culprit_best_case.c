/*
 * What of an instruction's cycles the processor needs at best: those of its issue slots, and in
 * order the static stall that empty slots before it are, with the reason for them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/culprits/culprits_private.h"
#include "base/cleanup.h"
#include "isa/registers.h"

/* Edges into a block, each of which the block is scheduled behind; of a block with more edges the
 * schedule behind the likeliest one stands for all. */
#define MOST_ENTRIES 16

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

/* Memory for splitting best cases in order. */
struct split {
	/* By block: what is under way at its end when nothing was at its beginning. */
	struct schedule_state *exits;
	/* Of the block at hand, by position in it: its schedule behind one edge into it, and the
	 * most static cycles that any edge so far has given the instruction. */
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
 * Adds to `stalls` the cycles of `executions` of a block that has this schedule. An instruction's
 * reason is that of the edge with most static cycles, of the first one among equals.
 */
static void add_executions(const struct procedure_cycles *procedure, const struct cfg_block *block,
			   const struct scheduled *plan, double executions, double *most,
			   struct stall *stalls)
{
	double width = procedure->pipeline->issue_width, cycle = procedure->cycle;
	/* Slots that the block before left empty in its last cycle are not counted here. */
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

/* Splits the best cases of a block, as often behind each block before it as control came from
 * there.
 */
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
		add_executions(procedure, at, split->plan, executions, split->most, stalls);
		left -= executions;
	}
	if (left > 0)
		add_executions(procedure, at, procedure->schedule + at->first, left, split->most,
			       stalls);
	else if (isnan(left))
		for (uint32_t i = at->first; i < at->first + at->count; i++)
			stalls[i].issue_cycles = NAN;
}

/*
 * In order a block is scheduled behind each block that leads to it, as often as control comes from
 * there; procedure->schedule is behind the likeliest alone. Its first instruction begins a new
 * cycle: that it could have issued with the last one before it is no reason to call that cycle a
 * stall.
 */
int culprit_find_best_cases(struct culprits *culprits)
{
	const struct procedure_cycles *procedure = culprits->procedure;
	struct stall *stalls = culprits->stalls;
	bool splits = procedure->pipeline->in_order && !procedure_cycles_are_relative(procedure);
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
