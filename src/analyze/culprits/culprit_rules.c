/*
 * The rules: which causes of a stall cannot be ruled out, which instruction would be to
 * blame, and the most cycles that each can take. docs/methods.md, "Culprits", tells them
 * in the same order.
 *
 * Every bound is a number of times that something can have gone wrong (how often the
 * instruction ran, or the edge that led there, or the load; how many events were counted)
 * times what it costs at most. `cycle` is a processor's cycle in the unit of the time event.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/culprits/culprits_private.h"
#include "analyze/cycles/cycles_private.h"

void culprit_accuse(struct culprit_list *out, enum dynamic_cause cause, uint32_t instruction,
		    double high, bool by_events)
{
	if (!(high > 0))
		return;
	out->list[out->count++] = (struct culprit){
		.cause = cause,
		.instruction = instruction,
		.high = high,
		.bound_by_events = by_events,
	};
}

/*
 * The upper end of the interval of executions; where that is relative the value, as the stalls that
 * bounds are for are relative to it too. INFINITY: not known.
 */
static double times_of(const struct culprit_rules *rules, const struct frequency *frequency)
{
	if (!rules->procedure->frequencies.is_relative && !isnan(frequency->high))
		return frequency->high;
	return isnan(frequency->value) ? INFINITY : frequency->value;
}

double culprit_times_of_block(const struct culprit_rules *rules, uint32_t block)
{
	return times_of(rules, &rules->procedure->frequencies.blocks[block]);
}

double culprit_times_of_edge(const struct culprit_rules *rules, uint32_t edge)
{
	return times_of(rules, &rules->procedure->frequencies.edges[edge]);
}

bool culprit_is_edge_sure(const struct culprit_rules *rules, uint32_t edge)
{
	const struct frequencies *frequencies = &rules->procedure->frequencies;
	return !frequencies->is_relative && !isnan(frequencies->edges[edge].high);
}

const struct cfg_instruction *culprit_at(const struct culprit_rules *rules, uint32_t instruction)
{
	return &rules->procedure->cfg.instructions[instruction];
}

double culprit_unless_rare(const struct culprit_rules *rules, uint32_t block, double times)
{
	return times < CULPRIT_RARE * culprit_times_of_block(rules, block) ? 0 : times;
}

uint64_t culprit_last_byte(const struct cfg_instruction *instruction)
{
	return instruction->vaddr + instruction->length_bytes - 1;
}

uint32_t culprit_last_of(const struct culprit_rules *rules, uint32_t block)
{
	const struct cfg_block *b = &rules->procedure->cfg.blocks[block];
	return b->first + b->count - 1;
}

/* 0 for what costs nothing, even if it may have happened infinitely often. */
static double cycles_of(double times, double each)
{
	return each > 0 ? times * each : 0;
}

double culprit_miss_cycles(double times, double near, double far, const double *near_events,
			   const double *far_events, uint32_t instruction, bool *by_events)
{
	double missed = times, missed_far = times;
	*by_events = false;
	if (near_events && near_events[instruction] < missed) {
		missed = near_events[instruction];
		*by_events = true;
	}
	if (far_events && far_events[instruction] < missed) {
		missed_far = far_events[instruction];
		*by_events = true;
	}
	return cycles_of(missed, near) + cycles_of(fmin(missed, missed_far), far - near);
}

/* Whether its work has no fixed length. */
static bool is_unbounded(const struct culprit_rules *rules, uint32_t instruction)
{
	const struct instruction_effects *op = &rules->procedure->effects[instruction];
	return !op->known || op->class == LATENCY_MICROCODE || op->class == LATENCY_SYSTEM ||
	       op->class == LATENCY_UNKNOWN;
}

/* Work of the instruction itself, or of the one before it, whose end it waits for. */
static void judge_other(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			struct culprit_list *out)
{
	if (is_unbounded(rules, instruction)) {
		const struct instruction_effects *op = &rules->procedure->effects[instruction];
		culprit_accuse(out, DYNAMIC_OTHER, instruction, INFINITY, false);
		out->long_by_nature = op->class == LATENCY_MICROCODE || op->class == LATENCY_SYSTEM;
	} else if (instruction > rules->procedure->cfg.blocks[block].first &&
		   is_unbounded(rules, instruction - 1)) {
		culprit_accuse(out, DYNAMIC_OTHER, instruction - 1, INFINITY, false);
	}
}

/* Out of order a store waits for its page walk, not for its line. */
static bool walks_without_miss(const struct culprit_rules *rules, const struct culprit *culprit)
{
	const struct procedure_cycles *procedure = rules->procedure;
	return !procedure->pipeline->in_order && culprit->cause == DYNAMIC_DTLB &&
	       !procedure->effects[culprit->instruction].reads_memory;
}

/*
 * A page without an entry in the TLB has hardly a line left in the first cache, so a stall by a
 * walk is partly one by a miss: at most walk / (walk + least) of it is the walk's.
 */
static void share_with_misses(const struct culprit_rules *rules, double stall_cycles,
			      struct culprit_list *out)
{
	double walk = rules->costs.walk;
	for (size_t i = 0; i < out->count; i++) {
		struct culprit *at = &out->list[i];
		double least = at->cause == DYNAMIC_DTLB   ? rules->costs.load_least
			       : at->cause == DYNAMIC_ITLB ? rules->costs.fetch_least
							   : 0;
		if (least > 0 && !walks_without_miss(rules, at))
			at->high = fmin(at->high, stall_cycles * walk / (walk + least));
	}
}

/*
 * Whether the listed causes can explain the stall, but for fetches that no event counted, if a
 * cycle is as long as it can be.
 */
static bool can_explain(const struct culprit_list *list, double stall_cycles)
{
	double sum = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct culprit *at = &list->list[i];
		bool fetches = at->cause == DYNAMIC_ICACHE || at->cause == DYNAMIC_ITLB;
		sum += fetches && !at->bound_by_events ? 0 : at->high;
	}
	return sum >= stall_cycles;
}

/* The same for any length of a cycle: where it may be shorter, only unbounded causes can. */
static bool is_explained(const struct culprit_rules *rules, const struct culprit_list *list,
			 double stall_cycles)
{
	bool relative = procedure_cycles_are_relative(rules->procedure);
	return can_explain(list, relative ? INFINITY : stall_cycles);
}

static bool lists(const struct culprit_list *list, enum dynamic_cause cause)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->list[i].cause == cause)
			return true;
	return false;
}

unsigned culprit_stack_pointer(const struct culprit_rules *rules)
{
	return rules->procedure->isa == ISA_AARCH64 ? (unsigned)AARCH64_SP : (unsigned)X86_RSP;
}

static unsigned frame_register(const struct culprit_rules *rules)
{
	return rules->procedure->isa == ISA_AARCH64 ? (unsigned)AARCH64_X0 + 29 : (unsigned)X86_RBP;
}

/* Whether the procedure sets the frame pointer from the stack pointer; compilers may use the
 * register for anything else. */
static bool has_frame(const struct culprit_rules *rules)
{
	unsigned stack = culprit_stack_pointer(rules), frame = frame_register(rules);
	for (uint32_t i = 0; i < rules->procedure->cfg.instruction_count; i++) {
		const struct instruction_effects *op = &rules->procedure->effects[i];
		if (register_set_has(&op->writes, frame) && register_set_has(&op->reads, stack) &&
		    !op->reads_memory)
			return true;
	}
	return false;
}

/*
 * An address that a loop accesses in each round is in the first cache, unless another processor
 * writes to its line, which the stack is taken to be safe from.
 */
static void judge_sharing(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			  struct culprit_list *out)
{
	const struct instruction_effects *op = &rules->procedure->effects[instruction];
	double most = fmax(op->reads_memory ? rules->costs.load_far : 0,
			   op->writes_memory ? rules->costs.store_far : 0);
	if (!(op->reads_memory || op->writes_memory) ||
	    register_set_has(&op->address, culprit_stack_pointer(rules)) ||
	    (rules->frame && register_set_has(&op->address, frame_register(rules))) ||
	    isinf(culprit_misses_of_place(rules, block, instruction)))
		return;
	culprit_accuse(out, DYNAMIC_SYNCHRONISATION, instruction,
		       culprit_times_of_block(rules, block) * most * rules->procedure->cycle,
		       false);
}

static void drop(struct culprit_list *list, enum dynamic_cause cause)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->count; i++)
		if (list->list[i].cause != cause)
			list->list[kept++] = list->list[i];
	list->count = kept;
}

void culprit_rules_apply(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 double stall_cycles, struct culprit_list *out)
{
	*out = (struct culprit_list){ .count = 0 };
	/* A string instruction that is interrupted between two elements was fetched before; but the
	 * first one of a block may not have begun. */
	bool begun = rules->late && cycles_repeats(rules->procedure, instruction) &&
		     instruction > rules->procedure->cfg.blocks[block].first;
	if (!begun) {
		culprit_judge_fetch(rules, block, instruction, out);
		culprit_judge_prediction(rules, block, instruction, TRUST_SHARES, out);
	}
	culprit_judge_waits(rules, block, instruction, out);
	judge_other(rules, block, instruction, out);
	share_with_misses(rules, stall_cycles, out);
	if (!rules->procedure->pipeline->in_order && !is_explained(rules, out, stall_cycles) &&
	    !lists(out, DYNAMIC_SYNCHRONISATION)) {
		out->sharing_is_last = can_explain(out, stall_cycles);
		judge_sharing(rules, block, instruction, out);
	}
	if (rules->procedure->pipeline->in_order && !is_explained(rules, out, stall_cycles)) {
		drop(out, DYNAMIC_MISPREDICT);
		culprit_judge_prediction(rules, block, instruction, TRUST_NO_SHARES, out);
	}
}

int culprit_rules_init(struct culprit_rules *rules, const struct procedure_cycles *procedure,
		       const struct event_columns *columns, const struct culprit_events *events)
{
	*rules = (struct culprit_rules){
		.procedure = procedure,
		.costs = culprit_costs_of(procedure->pipeline),
		.late = !procedure->pipeline->in_order,
	};
	for (uint32_t i = 0; i < procedure->cfg.instruction_count; i++)
		rules->stores |= procedure->effects[i].writes_memory;
	rules->frame = has_frame(rules);
	int ret = culprit_bounds_init(&rules->bounds, procedure, columns, events);
	if (ret == 0 && procedure->pipeline->in_order)
		ret = reaching_init(&rules->reaching, procedure);
	if (ret == 0)
		ret = culprit_find_loops(rules);
	return ret < 0 ? ret : culprit_find_quiet_loops(rules);
}

void culprit_rules_release(struct culprit_rules *rules)
{
	culprit_bounds_release(&rules->bounds);
	reaching_release(&rules->reaching);
	free(rules->quiet_entries);
	rules->quiet_entries = NULL;
	free(rules->loops);
	rules->loops = NULL;
}
