/*
 * What an exact program costs on the simulated machine: its blocks by a schedule of their own, what
 * blocks before have under way, and what goes wrong, charged at the instruction that waits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "support/allocated.h"
#include "support/simulated_machine.h"
#include "support/simulated_users.h"

#define DRAWN_FOR_CLASSES UINT64_C(0x636c617373657321)

/* ---- schedules */

/* A register's value: when it is ready, from the block's first cycle, and which instruction makes
 * it. */
struct value {
	double ready;
	uint32_t by; /* instruction of the procedure; SIMULATED_NOTHING: none that is known */
};

struct values {
	struct value of[REGISTER_LIMIT];
};

struct issue {
	double head; /* cycles at the head of the queue */
	double at;
	uint32_t waits_for; /* of the procedure's instructions; SIMULATED_NOTHING: none */
};

struct run {
	const struct simulated_machine *machine;
	const struct exact_procedure *exact;
	struct simulated_cost *costs;
	double latency[LATENCY_CLASSES]; /* with latency_error */
	uint64_t seed;
	struct issue *alone;   /* by instruction: with nothing under way before its block */
	struct issue *scratch; /* likewise, behind a block */
	struct values *leaves; /* by block: what is under way behind its end */
	double *at;	       /* by instruction: the cycle of `alone` */
	struct handed_on *handed_on;
};

/*
 * Cycles that another procedure waits than the one that causes them: the exact program does not say
 * which, so they are shared out over all that are called, and behind all calls, by how often these
 * are.
 */
struct handed_on {
	double mispredicted; /* calls, and jumps to other procedures */
	double by_calls[REGISTER_LIMIT], by_returns[REGISTER_LIMIT]; /* loads, by register */
};

static bool accesses(const struct instruction_effects *effects)
{
	return effects->reads_memory || effects->writes_memory;
}

static bool ends_cycle(const struct instruction_effects *effects)
{
	return effects->class == LATENCY_BRANCH || effects->class == LATENCY_CALL ||
	       effects->class == LATENCY_RETURN;
}

/* Whether the access changes its own address register (push, pop): in one cycle, whatever the
 * access takes. */
static bool moves_on(const struct instruction_effects *effects, unsigned number)
{
	if (!register_set_has(&effects->address, number))
		return false;
	if (effects->class != LATENCY_LOAD)
		return effects->class == LATENCY_STORE || ends_cycle(effects);
	struct register_set others = register_set_without(&effects->writes, &effects->address);
	return !register_set_empty(&others);
}

static double result_after(const struct run *run, const struct instruction_effects *effects,
			   unsigned number)
{
	if (moves_on(effects, number))
		return 1;
	bool operand = effects->reads_memory && effects->class != LATENCY_LOAD &&
		       effects->class != LATENCY_ATOMIC;
	return run->latency[effects->class] + (operand ? run->machine->load_operand : 0);
}

/*
 * Issues the block's instructions behind `before` (NULL: nothing is under way), the first in
 * cycle 0 at best. *after is what is under way when the cycle after the last begins.
 */
static void issue_block(const struct run *run, struct flow_range range, const struct values *before,
			struct issue *out, struct values *after)
{
	struct values now;
	double cycle = 0, previous = -1, issued = 0, memory = 0;
	if (before)
		now = *before;
	else
		memset(&now, 0, sizeof(now));
	for (uint32_t i = range.first; i < range.end; i++) {
		const struct instruction_effects *effects = &run->exact->effects[i];
		uint32_t waits_for = SIMULATED_NOTHING;
		double at = cycle;
		for (unsigned r = register_set_next(&effects->reads, 0); r < REGISTER_LIMIT;
		     r = register_set_next(&effects->reads, r + 1))
			if (now.of[r].ready > at) {
				at = now.of[r].ready;
				waits_for = now.of[r].by;
			}
		if (at > cycle)
			issued = memory = 0;
		if (issued >= run->machine->width ||
		    (accesses(effects) && memory >= run->machine->memory_ports)) {
			at += 1;
			issued = memory = 0;
		}
		cycle = at;
		issued += 1;
		memory += accesses(effects);
		out[i] = (struct issue){ cycle - previous, cycle, waits_for };
		previous = cycle;
		for (unsigned r = register_set_next(&effects->writes, 0); r < REGISTER_LIMIT;
		     r = register_set_next(&effects->writes, r + 1))
			now.of[r] = (struct value){ cycle + result_after(run, effects, r), i };
		if (ends_cycle(effects)) {
			cycle += 1;
			issued = memory = 0;
		}
	}
	for (unsigned r = 0; after && r < REGISTER_LIMIT; r++)
		after->of[r] =
			(struct value){ fmax(0, now.of[r].ready - (previous + 1)), now.of[r].by };
}

static void add_stall(struct run *run, uint32_t at, enum simulated_cause cause, double cycles,
		      uint32_t culprit)
{
	struct simulated_cost *cost = &run->costs[at];
	if (cycles <= 0)
		return;
	if (cost->stalls[cause] == 0 || cycles > cost->stalls[cause] / 2)
		cost->culprits[cause] =
			culprit; /* of several nearly always the one that costs most */
	cost->stalls[cause] += cycles;
	cost->cycles += cycles;
}

static void charge_schedule(struct run *run, struct flow_range range, const struct issue *issue,
			    double executions)
{
	for (uint32_t i = range.first; i < range.end; i++) {
		double more = issue[i].head - run->alone[i].head;
		run->costs[i].cycles += executions * issue[i].head;
		if (more <= 0)
			continue;
		struct simulated_cost *cost = &run->costs[i];
		cost->stalls[SIMULATED_EARLIER] += executions * more;
		cost->culprits[SIMULATED_EARLIER] = issue[i].waits_for;
	}
}

/* Charges a block behind each of the blocks that lead to it. */
static void charge_block(struct run *run, uint32_t block)
{
	const struct exact_procedure *exact = run->exact;
	struct flow_range range = exact->blocks[block];
	struct flow_ends edges = flow_graph_into(&exact->graph, block);
	double left = exact->block_executions[block];
	for (size_t i = 0; i < edges.count && left > 0; i++) {
		uint32_t from = exact->graph.edges[edges.list[i]].from;
		double executions = fmin(left, exact->edge_executions[edges.list[i]]);
		if (from == FLOW_OUTSIDE || executions <= 0)
			continue;
		issue_block(run, range, &run->leaves[from], run->scratch, NULL);
		charge_schedule(run, range, run->scratch, executions);
		left -= executions;
	}
	charge_schedule(run, range, run->alone, left);
}

/* ---- what goes wrong */

/* A random number in [0, 1) that belongs to `what`. */
static double drawn(const struct run *run, uint64_t what)
{
	struct random_state random =
		random_seed(run->seed ^ hash_u64(run->exact->first + 1) ^ what);
	return random_unit(&random);
}

/* The store that waits for room after store i missed: the next one, or itself the next time. */
static uint32_t store_after(const struct exact_procedure *exact, struct flow_range range,
			    uint32_t i)
{
	for (uint32_t k = i + 1; k < range.end; k++)
		if (exact->effects[k].writes_memory)
			return k;
	return i;
}

/* The last wait for memory in the block: of which instruction, since when, how many cycles. */
struct earlier_wait {
	uint32_t user;
	double cycles;
};

static struct late_search search_of(const struct run *run)
{
	return (struct late_search){ .exact = run->exact,
				     .at = run->at,
				     .longest = run->machine->read_miss +
						run->machine->read_last_miss };
}

static void charge_reads(struct run *run, uint32_t block, uint32_t i, struct earlier_wait *earlier)
{
	const struct simulated_machine *machine = run->machine;
	const uint64_t *events = run->exact->events[i];
	double near = (double)events[EXACT_READ_MISSES],
	       far = fmin(near, (double)events[EXACT_READ_LAST_MISSES]);
	double whole = near * machine->read_miss + far * machine->read_last_miss;
	double often = drawn(run, 4 * (uint64_t)i) * 2 - 1;
	double translation =
		near * fmax(0, often) * machine->translation_ratio * machine->translation_miss;
	CLEANUP(late_users_release) struct late_users users = { 0 };
	const struct late_search search = search_of(run);
	if (whole <= 0)
		return;
	late_users_of_result(&search, block, i, &users);
	/* the part that passed while an earlier access was waited for */
	double shared = earlier->user > i ? machine->overlap * fmin(earlier->cycles, whole) : 0;
	for (size_t u = 0; u < users.count; u++) {
		const struct late_user *user = &users.list[u];
		double cycles = user->share *
				((near - far) * fmax(0, machine->read_miss - user->passed) +
				 far * fmax(0, search.longest - user->passed)) *
				(1 - shared / whole);
		if (user->place == LATE_IN_CALLEES) {
			run->handed_on->by_calls[user->number] += cycles;
		} else if (user->place == LATE_IN_CALLERS) {
			run->handed_on->by_returns[user->number] += cycles;
		} else {
			add_stall(run, user->instruction, SIMULATED_DATA, cycles, i);
			add_stall(run, user->instruction, SIMULATED_TRANSLATION,
				  user->share * translation, i);
			if (user->passed == 0)
				*earlier = (struct earlier_wait){ user->instruction, whole };
		}
	}
}

static void charge_division(struct run *run, uint32_t block, uint32_t i)
{
	double cycles = run->exact->block_executions[block] * run->machine->divide_more *
			drawn(run, 4 * (uint64_t)i + 1);
	CLEANUP(late_users_release) struct late_users users = { 0 };
	const struct late_search search = search_of(run);
	if (cycles > 0)
		late_users_of_result(&search, block, i, &users);
	for (size_t u = 0; u < users.count; u++)
		if (users.list[u].place == LATE_HERE)
			add_stall(run, users.list[u].instruction, SIMULATED_DIVIDE,
				  cycles * users.list[u].share, i);
}

static void charge_jump(struct run *run, struct flow_range range, uint32_t block, double cycles)
{
	const struct exact_procedure *exact = run->exact;
	struct flow_ends edges = flow_graph_out_of(&exact->graph, block);
	double all = 0;
	for (size_t i = 0; i < edges.count; i++)
		all += exact->edge_executions[edges.list[i]];
	for (size_t i = 0; i < edges.count && all > 0; i++) {
		uint32_t to = exact->graph.edges[edges.list[i]].to;
		double part = cycles * exact->edge_executions[edges.list[i]] / all;
		if (to == FLOW_OUTSIDE)
			run->handed_on->mispredicted += part;
		else
			add_stall(run, exact->blocks[to].first, SIMULATED_BRANCH, part,
				  range.end - 1);
	}
}

static void charge_events(struct run *run, uint32_t block)
{
	const struct simulated_machine *machine = run->machine;
	const struct exact_procedure *exact = run->exact;
	struct flow_range range = exact->blocks[block];
	struct earlier_wait earlier = { 0, 0 };
	double mispredicts = 0;
	for (uint32_t i = range.first; i < range.end; i++) {
		const uint64_t *events = exact->events[i];
		charge_reads(run, block, i, &earlier);
		add_stall(run, i, SIMULATED_DATA,
			  (double)events[EXACT_WRITE_LAST_MISSES] * machine->write_last_miss, i);
		add_stall(run, i, SIMULATED_FETCH,
			  (double)events[EXACT_FETCH_MISSES] * machine->fetch_miss +
				  (double)events[EXACT_FETCH_LAST_MISSES] *
					  machine->fetch_last_miss,
			  i);
		add_stall(run, store_after(exact, range, i), SIMULATED_STORE,
			  (double)events[EXACT_WRITE_MISSES] * machine->store_miss, i);
		if (exact->effects[i].class == LATENCY_DIVIDE ||
		    exact->effects[i].class == LATENCY_FP_DIVIDE)
			charge_division(run, block, i);
		if (exact->effects[i].class == LATENCY_CALL)
			run->handed_on->mispredicted +=
				(double)events[EXACT_MISPREDICTS] * machine->mispredict;
		else
			mispredicts += (double)events[EXACT_MISPREDICTS];
	}
	charge_jump(run, range, block, mispredicts * machine->mispredict);
}

static void set_latencies(struct run *run)
{
	struct random_state random = random_seed(run->seed ^ DRAWN_FOR_CLASSES);
	for (int class = 0; class < LATENCY_CLASSES; class ++) {
		double said = run->machine->latency[class];
		double off = run->machine->latency_error * (2 * random_unit(&random) - 1);
		run->latency[class] = said > 1 ? said * (1 + off) : said;
	}
}

static void run_init(struct run *run, const struct simulated_machine *machine, uint64_t seed,
		     struct simulated_procedure *procedure, struct handed_on *handed_on)
{
	const struct exact_procedure *exact = procedure->exact;
	*run = (struct run){ .machine = machine,
			     .exact = exact,
			     .seed = seed,
			     .costs = procedure->costs,
			     .handed_on = handed_on };
	set_latencies(run);
	run->alone = allocated(exact->instruction_count, sizeof(*run->alone));
	run->scratch = allocated(exact->instruction_count, sizeof(*run->scratch));
	run->leaves = allocated(exact->graph.block_count, sizeof(*run->leaves));
	run->at = allocated(exact->instruction_count, sizeof(*run->at));
	for (uint32_t block = 0; block < exact->graph.block_count; block++)
		issue_block(run, exact->blocks[block], NULL, run->alone, &run->leaves[block]);
	for (uint32_t i = 0; i < exact->instruction_count; i++)
		run->at[i] = run->alone[i].at;
}

static void run_release(struct run *run)
{
	free(run->alone);
	free(run->scratch);
	free(run->leaves);
	free(run->at);
}

static void run_procedure(const struct simulated_machine *machine, uint64_t seed,
			  struct simulated_procedure *procedure, struct handed_on *handed_on)
{
	const struct exact_procedure *exact = procedure->exact;
	CLEANUP(run_release) struct run run;
	procedure->costs = allocated(exact->instruction_count, sizeof(*procedure->costs));
	procedure->samples = allocated(exact->instruction_count, sizeof(double));
	for (uint32_t i = 0; i < exact->instruction_count; i++)
		for (int cause = 0; cause < SIMULATED_CAUSES; cause++)
			procedure->costs[i].culprits[cause] = SIMULATED_NOTHING;
	run_init(&run, machine, seed, procedure, handed_on);
	for (uint32_t block = 0; block < exact->graph.block_count; block++) {
		if (exact->block_executions[block] <= 0)
			continue;
		charge_block(&run, block);
		charge_events(&run, block);
	}
}

/* ---- what is waited for in other procedures */

static double entries_of(const struct exact_procedure *exact)
{
	double entries = 0;
	for (size_t i = 0; i < exact->graph.edge_count; i++)
		if (exact->graph.edges[i].from == FLOW_OUTSIDE)
			entries += exact->edge_executions[i];
	return entries;
}

static double calls_of(const struct exact_procedure *exact)
{
	double calls = 0;
	for (uint32_t block = 0; block < exact->graph.block_count; block++)
		for (uint32_t i = exact->blocks[block].first; i + 1 < exact->blocks[block].end; i++)
			if (exact->effects[i].class == LATENCY_CALL)
				calls += exact->block_executions[block];
	return calls;
}

/* `ratio`: the share of all entries, or of all calls, that come here. */
static void charge_late(struct run *run, uint32_t block, uint32_t instruction, double ratio,
			const double *by_register)
{
	const struct late_search search = search_of(run);
	for (unsigned r = 0; r < REGISTER_LIMIT; r++) {
		CLEANUP(late_users_release) struct late_users users = { 0 };
		if (by_register[r] <= 0)
			continue;
		late_users_of_register(&search, block, instruction, r, &users);
		for (size_t u = 0; u < users.count; u++)
			if (users.list[u].place == LATE_HERE)
				add_stall(run, users.list[u].instruction, SIMULATED_DATA,
					  ratio * users.list[u].share * by_register[r],
					  SIMULATED_NOTHING);
	}
}

static void charge_from_elsewhere(const struct simulated_machine *machine, uint64_t seed,
				  struct simulated_procedure *procedure,
				  struct handed_on *handed_on, double entries, double calls)
{
	const struct exact_procedure *exact = procedure->exact;
	CLEANUP(run_release) struct run run;
	run_init(&run, machine, seed, procedure, handed_on);
	for (size_t e = 0; e < exact->graph.edge_count; e++) {
		uint32_t to = exact->graph.edges[e].to;
		if (exact->graph.edges[e].from != FLOW_OUTSIDE || exact->edge_executions[e] <= 0)
			continue;
		double ratio = exact->edge_executions[e] / entries;
		add_stall(&run, exact->blocks[to].first, SIMULATED_BRANCH,
			  ratio * handed_on->mispredicted, SIMULATED_NOTHING);
		charge_late(&run, to, exact->blocks[to].first, ratio, handed_on->by_calls);
	}
	for (uint32_t block = 0; block < exact->graph.block_count; block++)
		for (uint32_t i = exact->blocks[block].first; i + 1 < exact->blocks[block].end; i++)
			if (exact->effects[i].class == LATENCY_CALL &&
			    exact->block_executions[block] > 0)
				charge_late(&run, block, i + 1,
					    exact->block_executions[block] / calls,
					    handed_on->by_returns);
}

void simulated_program_run(const struct exact_program *exact,
			   const struct simulated_machine *machine, uint64_t seed,
			   struct simulated_program *out)
{
	struct handed_on handed_on = { 0 };
	double entries = 0, calls = 0;
	*out = (struct simulated_program){ .procedures = allocated(exact->count,
								   sizeof(*out->procedures)),
					   .count = exact->count,
					   .cycles_ratio = exact->cycles_ratio,
					   .executed_ratio = exact->executed_ratio };
	for (uint32_t p = 0; p < exact->count; p++) {
		struct simulated_procedure *procedure = &out->procedures[p];
		procedure->exact = &exact->procedures[p];
		run_procedure(machine, seed, procedure, &handed_on);
		entries += entries_of(procedure->exact);
		calls += calls_of(procedure->exact);
	}
	for (uint32_t p = 0; p < exact->count; p++)
		charge_from_elsewhere(machine, seed, &out->procedures[p], &handed_on, entries,
				      calls);
	for (uint32_t p = 0; p < exact->count; p++) {
		struct simulated_procedure *procedure = &out->procedures[p];
		for (uint32_t i = 0; i < procedure->exact->instruction_count; i++)
			out->cycles += procedure->costs[i].cycles;
		for (uint32_t block = 0; block < procedure->exact->graph.block_count; block++)
			out->executions += procedure->exact->block_executions[block] *
					   (procedure->exact->blocks[block].end -
					    procedure->exact->blocks[block].first);
	}
}
