/*
 * The causes of each stall: those that the rules leave, in order of how much of it they can
 * explain, each with the cycles that it took at least and at most.
 */
#include "analyze/culprits/culprits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/culprits/culprits_private.h"
#include "base/cleanup.h"
#include "base/error.h"

/* A cause that can explain less than this share of a stall is not listed. */
#define LEAST_SHARE 0.1

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

/* By how often each is the cause, the most frequent first (docs/methods.md, "Culprits"). */
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
 * Out of order the instruction that is charged was busy. So causes in its own work come before
 * those that kept it from beginning: the wrong prediction of another, a late fetch. Work that is
 * known to have no fixed length comes before all.
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

/* By how much of the stall each can explain; among equals by rank. */
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
 * Where a cycle may be shorter than assumed, by a factor s up to 1, a stall is longer and a cause
 * takes less: with C cycles charged, a best case of A and a bound of H (both at s = 1), at most the
 * largest min(C - A s, H s) of any s. Where the length is known, s is 1.
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

/* The stall that is shown, else the one that there may be. */
static double stall_that_may_be(const struct stall *stall)
{
	return stall->dynamic_cycles > 0 ? stall->dynamic_cycles : stall->most_cycles;
}

/* Sorts the causes, drops those that can explain too little, and sets the bounds of the others. */
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

/* 0 or -ENOMEM. */
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
	if (!culprits || !culprits->stalls || culprit_find_best_cases(culprits) < 0 ||
	    culprit_find_stalls(culprits) < 0 ||
	    (culprits->known && accuse_all(culprits, columns, events) < 0))
		return error_set(err, -ENOMEM, "out of memory for the culprits of a procedure");
	*out = culprits;
	culprits = NULL;
	return 0;
}
