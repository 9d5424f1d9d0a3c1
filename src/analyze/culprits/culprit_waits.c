/*
 * Waiting for memory and for units: in order at the first instruction that needs the result,
 * out of order at the load, the product, the division itself.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/culprits/culprits_private.h"

/*
 * What a load waits, at most, for an earlier store of which it needs a part, or seems to, as their
 * addresses are alike in the last 12 bits: until the store has written (Intel 64 and IA-32
 * Architectures Optimization Reference Manual, "Store Forwarding": some 13 cycles when blocked).
 */
#define STORE_WAIT_CYCLES 13

/* On a page in constant use: of the stack, or of one constant address. */
static bool stays_on_a_page(const struct culprit_rules *rules,
			    const struct instruction_effects *effects)
{
	struct register_set address = effects->address;
	register_set_remove(&address, culprit_stack_pointer(rules));
	return register_set_empty(&address);
}

/* One kind of wait, over all instructions that may have caused it. */
struct wait {
	double cycles; /* at most */
	bool by_events;
	uint32_t blamed; /* the one that may have caused most of them, the first among equals; or
			    CULPRIT_NO_INSTRUCTION */
	double of_blamed;
};

struct waits {
	struct wait load, walk, multiply, divide, chain;
	uint32_t synchroniser; /* or CULPRIT_NO_INSTRUCTION */
};

static void add_wait(struct wait *wait, uint32_t producer, double cycles, bool by_events)
{
	if (wait->blamed == CULPRIT_NO_INSTRUCTION || cycles > wait->of_blamed) {
		wait->blamed = producer;
		wait->of_blamed = cycles;
	}
	wait->cycles += cycles;
	wait->by_events |= by_events;
}

/* A wait for producers that are not known. */
static void add_unknown(struct wait *wait, double cycles)
{
	wait->cycles = fmax(wait->cycles, cycles);
	wait->by_events = false;
}

static void accuse_wait(const struct culprit_rules *rules, enum dynamic_cause cause,
			const struct wait *wait, struct culprit_list *out)
{
	culprit_accuse(out, cause, wait->blamed, wait->cycles * rules->procedure->cycle,
		       wait->by_events);
}

static void add_walk(const struct culprit_rules *rules, uint32_t access, double times,
		     const double *events, struct waits *waits)
{
	bool by_events;
	if (stays_on_a_page(rules, &rules->procedure->effects[access]))
		return;
	double cycles = culprit_miss_cycles(times, rules->costs.walk, rules->costs.walk, events,
					    NULL, access, &by_events);
	add_wait(&waits->walk, access, cycles, by_events);
}

static void add_load(const struct culprit_rules *rules, uint32_t load, double times,
		     struct waits *waits)
{
	double *const *most = rules->bounds.most;
	bool by_events;
	uint32_t from = cfg_block_of(&rules->procedure->cfg, load);
	times = fmin(times, culprit_misses_of_place(rules, from, load));
	double cycles = culprit_miss_cycles(times, rules->costs.load_near, rules->costs.load_far,
					    most[CULPRIT_L1D_MISSES], most[CULPRIT_LOAD_MISSES],
					    load, &by_events);
	add_wait(&waits->load, load, cycles, by_events);
	/* A page without an entry in the TLB has hardly a line left in the first cache. */
	add_walk(rules, load, times,
		 most[CULPRIT_DTLB_MISSES] ? most[CULPRIT_DTLB_MISSES] : most[CULPRIT_L1D_MISSES],
		 waits);
}

/*
 * Out of order the write buffer waits for a store's line, but the store itself waits for the walk
 * of its address, which may fault. Events of walks count loads alone.
 */
static void add_walk_of_store(const struct culprit_rules *rules, uint32_t block, uint32_t store,
			      struct waits *waits)
{
	double times = fmin(culprit_times_of_block(rules, block),
			    culprit_misses_of_place(rules, block, store));
	add_walk(rules, store, times, rules->bounds.most[CULPRIT_STORE_L1_MISSES], waits);
}

static double latency_of(const struct culprit_rules *rules, const struct instruction_effects *op)
{
	const struct pipeline_work *work =
		pipeline_work_of(rules->procedure->pipeline, op->class, op->width_bits);
	return fmax(work->latency_cycles[PIPELINE_OPERAND], work->busy_cycles);
}

static bool divides(enum latency_class class)
{
	return class == LATENCY_DIVIDE || class == LATENCY_FP_DIVIDE || class == LATENCY_FP_ROOT;
}

static bool multiplies(enum latency_class class)
{
	return class == LATENCY_MULTIPLY || class == LATENCY_VECTOR_MULTIPLY ||
	       class == LATENCY_FP_MULTIPLY || class == LATENCY_FP_FUSED;
}

/* Whether it keeps its unit busy for more than a cycle. */
static bool is_busy(const struct culprit_rules *rules, const struct instruction_effects *op)
{
	return pipeline_work_of(rules->procedure->pipeline, op->class, op->width_bits)
		       ->busy_cycles > 1;
}

/* The time of a division depends on its operands: it may be twice what the table says. */
static void add_work(const struct culprit_rules *rules, uint32_t producer, double times,
		     struct waits *waits)
{
	const struct instruction_effects *op = &rules->procedure->effects[producer];
	if (divides(op->class))
		add_wait(&waits->divide, producer, times * 2 * latency_of(rules, op), false);
	else if (multiplies(op->class) && is_busy(rules, op))
		add_wait(&waits->multiply, producer, times * latency_of(rules, op), false);
	else if (multiplies(op->class) && rules->procedure->pipeline->in_order)
		add_wait(&waits->chain, producer, times * latency_of(rules, op), false);
}

static void add_producer(const struct culprit_rules *rules, uint32_t block, uint32_t producer,
			 struct waits *waits)
{
	const struct instruction_effects *op = &rules->procedure->effects[producer];
	uint32_t from = cfg_block_of(&rules->procedure->cfg, producer);
	double times =
		fmin(culprit_times_of_block(rules, block), culprit_times_of_block(rules, from));
	if (op->class == LATENCY_ATOMIC)
		waits->synchroniser = producer;
	if (op->reads_memory)
		add_load(rules, producer, times, waits);
	/* Inside of the block the schedule knows how long a product takes; a division's time
	 * varies. */
	if (from != block || divides(op->class))
		add_work(rules, producer, times, waits);
}

static bool seen(const uint32_t *list, size_t count, uint32_t producer)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == producer)
			return true;
	return false;
}

/* In order: operands that are still under way. */
static void wait_for_operands(const struct culprit_rules *rules, uint32_t block,
			      uint32_t instruction, struct waits *waits)
{
	const struct instruction_effects *op = &rules->procedure->effects[instruction];
	uint32_t producers[8];
	size_t count = 0;
	bool unbounded = false;
	for (unsigned r = register_set_next(&op->reads, 0); r < rules->reaching.registers;
	     r = register_set_next(&op->reads, r + 1)) {
		const struct reach *reach = reaching_register(&rules->reaching, r);
		unbounded |= reach->more || reach->elsewhere;
		for (size_t i = 0; i < REACH_PRODUCERS; i++) {
			uint32_t producer = reach->producers[i];
			if (producer == CULPRIT_NO_INSTRUCTION || seen(producers, count, producer))
				continue;
			if (count == sizeof(producers) / sizeof(producers[0])) {
				unbounded = true;
				continue;
			}
			producers[count++] = producer;
			add_producer(rules, block, producer, waits);
		}
	}
	/* As if a load that is not known had missed each time. */
	if (unbounded) {
		double times = culprit_times_of_block(rules, block);
		add_unknown(&waits->load, times * rules->costs.load_far);
		add_unknown(&waits->walk, times * rules->costs.walk);
	}
}

static void judge_store(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			struct culprit_list *out)
{
	double *const *most = rules->bounds.most;
	bool by_events;
	double times =
		fmin(culprit_times_of_block(rules, block), culprit_waits_of_store(rules, block));
	double high = culprit_miss_cycles(times, rules->costs.store_near, rules->costs.store_far,
					  most[CULPRIT_STORE_L1_MISSES], most[CULPRIT_STORE_MISSES],
					  instruction, &by_events);
	culprit_accuse(out, DYNAMIC_WRITE_BUFFER, instruction, high * rules->procedure->cycle,
		       by_events);
}

/* It needs what it reads from memory itself: as a target, or to write memory. */
static bool needs_its_own_load(const struct instruction_effects *op)
{
	return op->reads_memory && (op->writes_memory || op->class == LATENCY_BRANCH ||
				    op->class == LATENCY_CALL || op->class == LATENCY_RETURN);
}

/* It takes a known time for a result in a register. */
static bool has_result(const struct instruction_effects *op)
{
	return op->class != LATENCY_MICROCODE && op->class != LATENCY_SYSTEM &&
	       op->class != LATENCY_BARRIER && !register_set_empty(&op->writes);
}

/*
 * Out of order an instruction at the head of the reorder buffer has its operands, so it waits for
 * its own latency; one cycle of that is no wait. A product whose multiplier takes another each
 * cycle is such an operand chain too.
 */
static void judge_chain(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			struct culprit_list *out)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct instruction_effects *op = &procedure->effects[instruction];
	if (divides(op->class) || (multiplies(op->class) && is_busy(rules, op)))
		return;
	double cycles = has_result(op) ? latency_of(rules, op) - 1 : 0;
	if (has_result(op) && op->reads_memory && op->class != LATENCY_LOAD)
		cycles += procedure->pipeline->load_operand_cycles;
	if (has_result(op) && op->reads_memory && rules->stores)
		cycles += STORE_WAIT_CYCLES;
	uint32_t loop = procedure->loops.of_block[block];
	double high = culprit_times_of_block(rules, block) * cycles;
	/* It may be charged with the chain of its loop, whether it is in the chain or not, as far
	 * as the chain takes longer than issuing. */
	if (loop != FLOW_NO_LOOP)
		high = fmax(high, procedure->loop_bounds[loop].chain_cycles -
					  procedure->loop_bounds[loop].issue_cycles);
	culprit_accuse(out, DYNAMIC_CHAIN, instruction, high * procedure->cycle, false);
}

void culprit_judge_waits(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 struct culprit_list *out)
{
	const struct procedure_cycles *procedure = rules->procedure;
	const struct instruction_effects *op = &procedure->effects[instruction];
	double times = culprit_times_of_block(rules, block);
	const struct wait nobody = { .blamed = CULPRIT_NO_INSTRUCTION };
	struct waits waits = { nobody, nobody, nobody, nobody, nobody, CULPRIT_NO_INSTRUCTION };
	if (procedure->pipeline->in_order) {
		wait_for_operands(rules, block, instruction, &waits);
		if (needs_its_own_load(op))
			add_load(rules, instruction, times, &waits);
		/* An instruction of an earlier block may keep its unit busy. */
		if (divides(op->class) || (multiplies(op->class) && is_busy(rules, op)))
			add_work(rules, instruction, times, &waits);
	} else {
		if (op->reads_memory)
			add_load(rules, instruction, times, &waits);
		add_work(rules, instruction, times, &waits);
		if (op->writes_memory && !op->reads_memory)
			add_walk_of_store(rules, block, instruction, &waits);
	}
	if (op->class == LATENCY_ATOMIC || op->class == LATENCY_BARRIER)
		waits.synchroniser = instruction;
	if (waits.synchroniser != CULPRIT_NO_INSTRUCTION)
		culprit_accuse(out, DYNAMIC_SYNCHRONISATION, waits.synchroniser, INFINITY, false);
	accuse_wait(rules, DYNAMIC_DCACHE, &waits.load, out);
	accuse_wait(rules, DYNAMIC_DTLB, &waits.walk, out);
	accuse_wait(rules, DYNAMIC_MULTIPLY, &waits.multiply, out);
	accuse_wait(rules, DYNAMIC_DIVIDE, &waits.divide, out);
	accuse_wait(rules, DYNAMIC_CHAIN, &waits.chain, out);
	if (op->writes_memory)
		judge_store(rules, block, instruction, out);
	if (!procedure->pipeline->in_order)
		judge_chain(rules, block, instruction, out);
}
