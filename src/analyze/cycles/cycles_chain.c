/*
 * The fewest cycles that code can take out of order, which bound how long a cycle can be where
 * figures are relative. They follow from how many instructions and long operations of a block a
 * processor does at once, and from chains of results over the rounds of a loop, each of which
 * needs the one before. Whatever a processor may do at no cost, or skip, counts as nothing: a
 * comparison together with its jump; copies and sums with a constant (done while registers are
 * renamed), loads from the stack (forwarded from the store), results of calls and of instructions
 * that are not understood.
 */
#include "analyze/cycles/cycles_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* What a load from memory takes at least, on any processor out of order. */
#define LEAST_LOAD_CYCLES 3
/* Rounds before the longest chain decides, and as many to measure it in. */
#define ROUNDS 16
/* Instructions that the largest of today's reorder buffers hold: so far do the first rounds of one
 * turn of a loop run beside the last ones of the turn before. */
#define WINDOW_INSTRUCTIONS 640

/* --- blocks --- */

/* Instructions a cycle that no processor exceeds, where the table does not say. */
#define MOST_WIDTH 10

/* A comparison or sum and the jump that goes by its flags: one operation. */
static bool ends_in_fused_pair(const struct procedure_cycles *procedure, uint32_t block)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	uint32_t last = at->first + at->count - 1;
	return at->count > 1 && procedure->cfg.instructions[last].kind == INSTRUCTION_CONDITIONAL &&
	       procedure->effects[last - 1].class == LATENCY_ALU &&
	       procedure->effects[last - 1].writes_flags;
}

static const struct pipeline_work *work_of(const struct procedure_cycles *procedure,
					   uint32_t instruction)
{
	const struct instruction_effects *op = &procedure->effects[instruction];
	return pipeline_work_of(procedure->pipeline, op->class, op->width_bits);
}

/* Operations that keep their unit for several cycles: those of one class after another. */
static double busy_cycles(const struct procedure_cycles *procedure, uint32_t block)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	double of_class[LATENCY_CLASSES] = { 0 }, most = 0;
	for (uint32_t i = at->first; i < at->first + at->count; i++) {
		const struct instruction_effects *op = &procedure->effects[i];
		const struct pipeline_work *work = work_of(procedure, i);
		if (work->busy_cycles < 2 || !work->units || op->class == LATENCY_BARRIER)
			continue;
		of_class[op->class] += (double)work->busy_cycles / __builtin_popcount(work->units);
		most = fmax(most, of_class[op->class]);
	}
	return most;
}

/* By the processor's width, and by units that take another operation each cycle. */
static double issue_cycles(const struct procedure_cycles *procedure, uint32_t block)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	const struct schedule_bounds *bounds = &procedure->bounds[block];
	double operations = at->count - (ends_in_fused_pair(procedure, block) ? 1 : 0);
	double share = operations / at->count;
	if (procedure->pipeline->generic)
		return operations / MOST_WIDTH;
	double least = bounds->width_cycles * share;
	/* What is done while registers are renamed needs no unit: copies, and results that are the
	 * same whatever the operands. And what keeps one busy is not issued meanwhile. */
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		if (procedure->effects[i].class == LATENCY_MOVE ||
		    procedure->effects[i].class == LATENCY_VECTOR_MOVE ||
		    procedure->effects[i].breaks_dependency ||
		    work_of(procedure, i)->busy_cycles > 1)
			return least;
	return fmax(least, bounds->unit_cycles * share);
}

/* --- loops --- */

static double least_of(const struct pipeline *pipeline, const struct instruction_effects *op)
{
	const struct pipeline_work *work = pipeline_work_of(pipeline, op->class, op->width_bits);
	uint32_t least = work->latency_cycles[PIPELINE_OPERAND];
	if (work->latency_cycles[PIPELINE_ADDRESS] < least)
		least = work->latency_cycles[PIPELINE_ADDRESS];
	return least;
}

static unsigned register_members(const struct register_set *set)
{
	return (unsigned)(__builtin_popcountll(set->bits[0]) + __builtin_popcountll(set->bits[1]));
}

/* From the operands that it works on to its result, at least. */
static double operation_cycles(const struct procedure_cycles *procedure,
			       const struct instruction_effects *op)
{
	const struct register_set values = register_set_without(&op->reads, &op->address);
	double least = least_of(procedure->pipeline, op);
	switch (op->class) {
	case LATENCY_ALU:
		/* With one operand the other is a constant. */
		return register_members(&values) > 1 || op->reads_memory ? fmin(1, least) : 0;
	case LATENCY_SHIFT:
	case LATENCY_BIT_COUNT:
	case LATENCY_VECTOR_INTEGER:
	case LATENCY_SHUFFLE:
	case LATENCY_TRANSFER:
		return fmin(1, least);
	case LATENCY_MULTIPLY:
	case LATENCY_VECTOR_MULTIPLY:
		return fmin(3, least);
	case LATENCY_FP_ADD:
	case LATENCY_FP_MULTIPLY:
	case LATENCY_FP_FUSED:
	case LATENCY_CONVERT:
	case LATENCY_CRYPTO:
		/* Some are forwarded to their like a cycle earlier. */
		return fmax(1, least - 1);
	case LATENCY_DIVIDE:
	case LATENCY_FP_DIVIDE:
	case LATENCY_FP_ROOT:
		/* Short operands are done sooner than the table says, but hold the unit. */
		return fmin(least, pipeline_work_of(procedure->pipeline, op->class, op->width_bits)
					   ->busy_cycles);
	default:
		return 0;
	}
}

/* From the registers of its address to what it loads. */
static double load_cycles(const struct procedure_cycles *procedure,
			  const struct instruction_effects *op)
{
	bool arm = procedure->isa == ISA_AARCH64;
	struct register_set address = op->address;
	register_set_remove(&address, arm ? (unsigned)AARCH64_SP : (unsigned)X86_RSP);
	register_set_remove(&address, arm ? (unsigned)AARCH64_X0 + 29 : (unsigned)X86_RBP);
	if (!op->reads_memory || register_set_empty(&address))
		return 0;
	return LEAST_LOAD_CYCLES;
}

static double latest(const double *ready, const struct register_set *set)
{
	double cycle = 0;
	for (unsigned r = register_set_next(set, 0); r < REGISTER_LIMIT;
	     r = register_set_next(set, r + 1))
		cycle = fmax(cycle, ready[r]);
	return cycle;
}

static void set_ready(double *ready, const struct register_set *set, double cycle)
{
	for (unsigned r = register_set_next(set, 0); r < REGISTER_LIMIT;
	     r = register_set_next(set, r + 1))
		ready[r] = cycle;
}

/* Executes an instruction: `ready`, by register, is the earliest cycle in which its value is there.
 */
static void step(const struct procedure_cycles *procedure, uint32_t instruction, double *ready)
{
	const struct instruction_effects *op = &procedure->effects[instruction];
	if (!op->known || procedure->cfg.instructions[instruction].kind == INSTRUCTION_CALL) {
		memset(ready, 0, REGISTER_LIMIT * sizeof(*ready));
		return;
	}
	if (op->breaks_dependency) {
		set_ready(ready, &op->writes, 0);
		return;
	}
	const struct register_set values = register_set_without(&op->reads, &op->address);
	double result = fmax(latest(ready, &values),
			     latest(ready, &op->address) + load_cycles(procedure, op)) +
			operation_cycles(procedure, op);
	/* An address that the access itself moves on is there at once (push, [x1], #8). */
	struct register_set moved = register_set_intersect(&op->writes, &op->address);
	struct register_set others = register_set_without(&op->writes, &op->address);
	if (register_set_empty(&others) && op->class == LATENCY_LOAD)
		others = moved; /* loads into the register of its address */
	else
		set_ready(ready, &moved, 0);
	set_ready(ready, &others, result);
}

/* Executes a loop round by round, along all of its edges at once. */
struct rounds {
	const struct procedure_cycles *procedure;
	uint32_t loop;
	uint32_t *blocks; /* of the loop, by address from its header on, then those before it */
	uint32_t block_count;
	uint64_t steps; /* of one round: instructions and edges */
	double *at_end; /* by block, then register: ready cycles at its end */
	bool *done;	/* by block, in this round; false of all that are not in the loop */
	struct register_set writes; /* of all of the loop */
};

static void rounds_release(struct rounds *rounds)
{
	free(rounds->blocks);
	free(rounds->at_end);
	free(rounds->done);
}

/* Memory for all loops of the procedure. 0 or -ENOMEM. */
static int rounds_init(struct rounds *rounds, const struct procedure_cycles *procedure)
{
	size_t blocks = procedure->cfg.graph.block_count;
	rounds->procedure = procedure;
	rounds->blocks = calloc(blocks + 1, sizeof(*rounds->blocks));
	rounds->at_end = malloc((blocks + 1) * REGISTER_LIMIT * sizeof(*rounds->at_end));
	rounds->done = calloc(blocks + 1, sizeof(*rounds->done));
	return rounds->blocks && rounds->at_end && rounds->done ? 0 : -ENOMEM;
}

static void add_block(struct rounds *rounds, uint32_t block)
{
	const struct procedure_cycles *procedure = rounds->procedure;
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	if (!flow_loops_hold(&procedure->loops, rounds->loop, block))
		return;
	rounds->blocks[rounds->block_count++] = block;
	rounds->steps += at->count + flow_graph_into(&procedure->cfg.graph, block).count;
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		rounds->writes = register_set_union(&rounds->writes, &procedure->effects[i].writes);
}

/* Lists the blocks of the loop. */
static void enter_loop(struct rounds *rounds, uint32_t loop)
{
	const struct procedure_cycles *procedure = rounds->procedure;
	uint32_t header = procedure->loops.list[loop].header;
	rounds->loop = loop;
	rounds->block_count = 0;
	rounds->steps = 0;
	rounds->writes = (struct register_set){ { 0 } };
	for (uint32_t b = header; b < procedure->cfg.graph.block_count; b++)
		add_block(rounds, b);
	for (uint32_t b = 0; b < header; b++)
		add_block(rounds, b);
}

/* When registers are ready where a block begins: the earliest of all edges into it. */
static void enter_block(const struct rounds *rounds, uint32_t block, double *ready)
{
	const struct flow_graph *graph = &rounds->procedure->cfg.graph;
	struct flow_ends into = flow_graph_into(graph, block);
	bool first = true, unknown = false;
	for (size_t i = 0; i < into.count; i++) {
		uint32_t from = graph->edges[into.list[i]].from;
		if (from == FLOW_OUTSIDE)
			continue;
		if (!rounds->done[from]) {
			/* a back edge, of a loop inside of this one */
			unknown |= flow_loops_hold(&rounds->procedure->loops, rounds->loop, from);
			continue;
		}
		const double *end = rounds->at_end + (size_t)from * REGISTER_LIMIT;
		if (first)
			memcpy(ready, end, REGISTER_LIMIT * sizeof(*ready));
		for (unsigned r = 0; !first && r < REGISTER_LIMIT; r++)
			ready[r] = end[r] < ready[r] ? end[r] : ready[r];
		first = false;
	}
	if (first)
		memset(ready, 0, REGISTER_LIMIT * sizeof(*ready));
	else if (unknown)
		set_ready(ready, &rounds->writes, 0);
}

/* `header`: when registers are ready where this round begins, and then where the next one does. */
static void run_round(struct rounds *rounds, double *header)
{
	const struct procedure_cycles *procedure = rounds->procedure;
	const struct cfg *cfg = &procedure->cfg;
	double ready[REGISTER_LIMIT];
	/* By address; a block that only later ones lead to begins with all registers ready. */
	for (uint32_t n = 0; n < rounds->block_count; n++) {
		uint32_t b = rounds->blocks[n];
		if (n == 0)
			memcpy(ready, header, sizeof(ready));
		else
			enter_block(rounds, b, ready);
		for (uint32_t i = cfg->blocks[b].first;
		     i < cfg->blocks[b].first + cfg->blocks[b].count; i++)
			step(procedure, i, ready);
		memcpy(rounds->at_end + (size_t)b * REGISTER_LIMIT, ready, sizeof(ready));
		rounds->done[b] = true;
	}
	enter_block(rounds, rounds->blocks[0], header);
	for (uint32_t n = 0; n < rounds->block_count; n++)
		rounds->done[rounds->blocks[n]] = false;
}

static double furthest(const double *ready)
{
	double most = 0;
	for (unsigned r = 0; r < REGISTER_LIMIT; r++)
		most = fmax(most, ready[r]);
	return most;
}

/* Runs ROUNDS, or fewer if one changes nothing. Returns how many ran. */
static uint64_t run_rounds(struct rounds *rounds, double *header)
{
	double before[REGISTER_LIMIT];
	for (uint64_t i = 0; i < ROUNDS; i++) {
		memcpy(before, header, sizeof(before));
		run_round(rounds, header);
		if (memcmp(before, header, sizeof(before)) == 0)
			return i + 1;
	}
	return ROUNDS;
}

/* Finds the cycles of the longest chain a round. 0 or -ENOMEM. Takes its steps from the procedure's
 * budget; if that is spent *out is 0, which is still a lower bound. */
static int cycles_a_round(struct procedure_cycles *procedure, struct rounds *rounds, uint32_t loop,
			  double *out)
{
	double header[REGISTER_LIMIT] = { 0 };
	uint64_t look = procedure->cfg.graph.block_count;
	*out = 0;
	if (!rounds->procedure && rounds_init(rounds, procedure) < 0)
		return -ENOMEM;
	bool enough = look <= procedure->chain_steps;
	if (enough) {
		procedure->chain_steps -= look;
		enter_loop(rounds, loop);
		enough = rounds->steps <= procedure->chain_steps / (2 * ROUNDS);
	}
	if (!enough) {
		procedure->chains_left_out = true;
		return 0;
	}
	uint64_t ran = run_rounds(rounds, header);
	double before = furthest(header);
	ran += run_rounds(rounds, header);
	*out = (furthest(header) - before) / ROUNDS;
	procedure->chain_steps -= ran * rounds->steps;
	return 0;
}

static double loop_entries(const struct procedure_cycles *procedure, uint32_t loop)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct flow_ends into = flow_graph_into(graph, procedure->loops.list[loop].header);
	double times = 0;
	for (size_t i = 0; i < into.count; i++) {
		uint32_t from = graph->edges[into.list[i]].from;
		if (from == FLOW_OUTSIDE || !flow_loops_hold(&procedure->loops, loop, from))
			times += procedure->frequencies.edges[into.list[i]].value;
	}
	return times;
}

/* Procedures with more edges have so many branches that hardly a chain leads over them. */
#define MOST_EDGES 1000

/* Of a loop, over all its executions. 0 or -ENOMEM. */
static int chain_cycles(struct procedure_cycles *procedure, struct rounds *room, uint32_t loop,
			double *cycles)
{
	const struct flow_loop *at = &procedure->loops.list[loop];
	const struct cycles_cost *cost = &procedure->loop_costs[loop];
	double rounds = procedure->frequencies.blocks[at->header].value, each;
	double entries = loop_entries(procedure, loop);
	*cycles = 0;
	if (at->irreducible || procedure->cfg.graph.edge_count > MOST_EDGES || !(rounds > 0) ||
	    isnan(entries) || !(cost->samples >= CYCLES_POOL_SAMPLES) || !(cost->executed > 0))
		return 0;
	int ret = cycles_a_round(procedure, room, loop, &each);
	if (ret < 0)
		return ret;
	double instructions = cost->executed / rounds;
	*cycles = each * fmax(0, rounds - entries * WINDOW_INSTRUCTIONS / instructions);
	return 0;
}

int cycles_find_bounds(struct procedure_cycles *procedure)
{
	const struct flow_loops *loops = &procedure->loops;
	struct cycles_bounds *found = calloc((size_t)loops->count + 1, sizeof(*found));
	CLEANUP(rounds_release) struct rounds rounds = { 0 };
	procedure->loop_bounds = found;
	if (!found)
		return -ENOMEM;
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		double times = procedure->frequencies.blocks[b].value;
		uint32_t loop = loops->of_block[b];
		struct cycles_bounds *at = &found[loop == FLOW_NO_LOOP ? loops->count : loop];
		at->issue_cycles += times * issue_cycles(procedure, b);
		at->busy_cycles += times * busy_cycles(procedure, b);
	}
	/* Inner loops have larger numbers. */
	for (uint32_t l = loops->count; l-- > 0;) {
		uint32_t parent = loops->list[l].parent;
		struct cycles_bounds *around =
			&found[parent == FLOW_NO_LOOP ? loops->count : parent];
		around->issue_cycles += found[l].issue_cycles;
		around->busy_cycles += found[l].busy_cycles;
		if (chain_cycles(procedure, &rounds, l, &found[l].chain_cycles) < 0)
			return -ENOMEM;
	}
	return 0;
}

static double most_of_cycle_by(const struct cycles_cost *cost, const struct cycles_bounds *bounds)
{
	double least = fmax(fmax(bounds->issue_cycles, bounds->busy_cycles), bounds->chain_cycles);
	return least > 0 ? cost->cycles / least : NAN;
}

double cycles_most_of_cycle(const struct procedure_cycles *procedure)
{
	uint32_t loops = procedure->loops.count;
	double most = most_of_cycle_by(&procedure->whole, &procedure->loop_bounds[loops]);
	for (uint32_t l = 0; l < loops; l++)
		if (procedure->loop_costs[l].samples >= CYCLES_POOL_SAMPLES)
			most = fmin(most, most_of_cycle_by(&procedure->loop_costs[l],
							   &procedure->loop_bounds[l]));
	return most;
}
