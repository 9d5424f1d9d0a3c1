/*
 * From what an instruction was charged and what it would take at best: its slots, its
 * static stall, its dynamic stall with the causes of it, and what chance explains.
 */
#include "analyze/cycles/culprits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/cycles/culprits_private.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "isa/registers.h"

#define Z_95 1.96
/* A cause that can explain less than this share of a stall is not listed. */
#define LEAST_SHARE 0.05

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

/* --- slots and static stalls --- */

static enum static_cause static_cause_of(const struct procedure_cycles *procedure,
					 uint32_t instruction)
{
	const struct scheduled *at = &procedure->schedule[instruction];
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

/* Of an instruction in order, when `used` slots of the cycle before it were taken. */
static void split_best(const struct procedure_cycles *procedure, uint32_t first,
		       uint32_t instruction, unsigned used, struct stall *stall)
{
	const struct scheduled *at = &procedure->schedule[instruction];
	const struct cycles_cost *cost = &procedure->instructions[instruction];
	double width = procedure->pipeline->issue_width;
	double empty = at->head_cycles * width - used;
	if (!procedure->pipeline->in_order || at->head_cycles < 1 || empty <= 0) {
		stall->issue_cycles = cost->best_cycles;
		return;
	}
	stall->static_cycles = cost->best_cycles * (empty / (at->head_cycles * width));
	stall->issue_cycles = cost->best_cycles - stall->static_cycles;
	stall->static_cause = static_cause_of(procedure, instruction);
	if (at->wait == SCHEDULE_OPERAND)
		stall->static_register = at->wait_register;
	if ((at->wait == SCHEDULE_OPERAND || at->wait == SCHEDULE_UNIT) &&
	    at->wait_for != SCHEDULE_BEFORE)
		stall->static_instruction = first + at->wait_for;
}

static void split_block(const struct procedure_cycles *procedure, uint32_t block,
			struct culprits *culprits)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	/* What the block before it left empty in its last cycle is not this one's to lose. */
	unsigned used = procedure->pipeline->issue_width;
	for (uint32_t i = at->first; i < at->first + at->count; i++) {
		struct stall *stall = &culprits->stalls[i];
		*stall = (struct stall){
			.static_register = REGISTER_NONE,
			.static_instruction = CULPRIT_NO_INSTRUCTION,
			.dynamic_low = NAN,
			.dynamic_high = NAN,
		};
		split_best(procedure, at->first, i, used, stall);
		used = procedure->schedule[i].head_cycles >= 1 ? 1 : used + 1;
		if (used > procedure->pipeline->issue_width)
			used = procedure->pipeline->issue_width;
	}
}

/* --- dynamic stalls --- */

/* What the cycles of an instruction may be, by its samples and by its executions. */
static void interval_of(const struct cycles_cost *cost, double *low, double *high)
{
	if (!isnan(cost->low) && !isnan(cost->high) && !isnan(cost->executed)) {
		*low = cost->low * cost->executed;
		*high = cost->high * cost->executed;
		return;
	}
	double weight = cost->samples > 0 ? cost->cycles / cost->samples : 0;
	double root = sqrt(cost->samples) - Z_95 / 2;
	*low = root > 0 ? root * root * weight : 0;
	root = sqrt(cost->samples + 1) + Z_95 / 2;
	*high = root * root * weight;
}

/* `best` is the instruction's, and out of order that of what retires with it. */
static void find_stall(const struct cycles_cost *cost, double best, struct stall *stall)
{
	double low, high;
	interval_of(cost, &low, &high);
	double beyond = cost->cycles - best;
	stall->dynamic_low = low - best;
	stall->dynamic_high = high - best;
	if (stall->dynamic_low > 0 || stall->dynamic_high < 0)
		stall->dynamic_cycles = beyond;
	else
		stall->noise_cycles = beyond;
}

/*
 * Out of order several instructions retire in one cycle, and its samples are the first one's. So
 * what an instruction is charged less than its best case, the one before it took.
 */
static void find_stalls_of_groups(const struct procedure_cycles *procedure, uint32_t first,
				  uint32_t count, struct stall *stalls)
{
	double lent = 0;
	for (uint32_t i = first + count; i-- > first;) {
		const struct cycles_cost *cost = &procedure->instructions[i];
		double best = cost->best_cycles + lent;
		lent = best > cost->cycles && i > first ? best - cost->cycles : 0;
		stalls[i].issue_cycles += best - lent - cost->best_cycles;
		find_stall(cost, best - lent, &stalls[i]);
	}
}

/*
 * Where figures are relative a best case is no more than a limit: what an instruction is charged
 * within it counts as issuing, and so does what chance may have put on top.
 */
static void find_stall_beyond_limit(const struct cycles_cost *cost, struct stall *stall)
{
	find_stall(cost, fmin(cost->best_cycles, cost->cycles), stall);
	stall->issue_cycles = cost->cycles - fmax(0, stall->dynamic_cycles);
	stall->dynamic_cycles = fmax(0, stall->dynamic_cycles);
	stall->noise_cycles = 0;
}

static void find_stalls(const struct procedure_cycles *procedure, uint32_t block,
			struct culprits *culprits)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	if (at->count == 0)
		return;
	if (isnan(procedure->instructions[at->first].best_cycles) ||
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
	if (procedure->scale == CYCLES_RELATIVE) {
		for (uint32_t i = at->first; i < at->first + at->count; i++)
			find_stall_beyond_limit(&procedure->instructions[i], &culprits->stalls[i]);
		return;
	}
	if (!procedure->pipeline->in_order) {
		find_stalls_of_groups(procedure, at->first, at->count, culprits->stalls);
		return;
	}
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		find_stall(&procedure->instructions[i], procedure->instructions[i].best_cycles,
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

static int by_bound(const void *a, const void *b)
{
	const struct culprit *x = a, *y = b;
	if (x->high != y->high)
		return x->high < y->high ? 1 : -1;
	return rank_of(x->cause) - rank_of(y->cause);
}

/* Cuts bounds to the stall, drops what does not matter, and finds what only one can explain. */
static void weigh(struct culprit_list *found, struct stall *stall)
{
	double sum = 0, whole = stall->dynamic_cycles;
	size_t kept = 0;
	for (size_t i = 0; i < found->count; i++) {
		struct culprit culprit = found->list[i];
		if (culprit.high < LEAST_SHARE * whole)
			continue;
		culprit.high = fmin(culprit.high, whole);
		sum += culprit.high;
		found->list[kept++] = culprit;
	}
	found->count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct culprit *culprit = &found->list[i];
		culprit->low = fmax(0, fmin(culprit->high, whole - (sum - culprit->high)));
	}
	stall->unexplained_cycles = fmax(0, whole - sum);
	qsort(found->list, kept, sizeof(found->list[0]), by_bound);
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
	while (end > at->first && !(culprits->stalls[end - 1].dynamic_cycles > 0))
		end--;
	if (end == at->first)
		return 0;
	if (rules->procedure->pipeline->in_order)
		reaching_enter(&rules->reaching, block);
	for (uint32_t i = at->first; i < end; i++) {
		struct stall *stall = &culprits->stalls[i];
		struct culprit_list found;
		if (stall->dynamic_cycles > 0) {
			culprit_rules_apply(rules, block, i, &found);
			weigh(&found, stall);
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
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		split_block(procedure, b, culprits);
		find_stalls(procedure, b, culprits);
	}
	if (culprits->known && accuse_all(culprits, columns, events) < 0)
		return error_set(err, -ENOMEM, "out of memory for the culprits of a procedure");
	*out = culprits;
	culprits = NULL;
	return 0;
}
