/*
 * What may still be under way when an instruction issues in order: for each register the
 * loads and long operations that wrote it and that no instruction has waited for since. A
 * register that was read is ready, since the reader waited; a new write replaces its producers.
 * Over blocks this is the least fixed point of a union, found by a queue of blocks
 * whose entry changed; sets of producers are cut at REACH_PRODUCERS, so each register of a block
 * changes a few times at most.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/culprits/culprits_private.h"

static const struct reach nothing = {
	.producers = { CULPRIT_NO_INSTRUCTION, CULPRIT_NO_INSTRUCTION },
};

bool reach_is_empty(const struct reach *reach)
{
	return reach->producers[0] == CULPRIT_NO_INSTRUCTION && !reach->elsewhere;
}

/* Adds one set to another; whether it changed. */
static bool reach_add(struct reach *to, const struct reach *from)
{
	bool changed = (from->elsewhere && !to->elsewhere) || (from->more && !to->more);
	to->elsewhere |= from->elsewhere;
	to->more |= from->more;
	for (size_t i = 0; i < REACH_PRODUCERS; i++) {
		uint32_t producer = from->producers[i];
		if (producer == CULPRIT_NO_INSTRUCTION)
			break;
		size_t at = 0;
		while (at < REACH_PRODUCERS && to->producers[at] != producer &&
		       to->producers[at] != CULPRIT_NO_INSTRUCTION)
			at++;
		if (at == REACH_PRODUCERS) {
			changed |= !to->more;
			to->more = true;
		} else if (to->producers[at] != producer) {
			to->producers[at] = producer;
			changed = true;
		}
	}
	return changed;
}

/* Registers of arguments, which the caller may still be loading. */
static void arguments_of(enum isa isa, struct register_set *set)
{
	static const uint8_t x86[] = { X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_R8, X86_R9 };
	if (isa == ISA_AARCH64) {
		for (unsigned r = 0; r < 8; r++) {
			register_set_add(set, AARCH64_X0 + r);
			register_set_add(set, AARCH64_V0 + r);
		}
		return;
	}
	for (size_t i = 0; i < sizeof(x86); i++)
		register_set_add(set, x86[i]);
	for (unsigned r = 0; r < 8; r++)
		register_set_add(set, X86_XMM0 + r);
}

static void results_of(enum isa isa, struct register_set *set)
{
	if (isa == ISA_AARCH64) {
		for (unsigned r = 0; r < 2; r++) {
			register_set_add(set, AARCH64_X0 + r);
			register_set_add(set, AARCH64_V0 + r);
		}
		return;
	}
	register_set_add(set, X86_RAX);
	register_set_add(set, X86_RDX);
	register_set_add(set, X86_XMM0);
	register_set_add(set, X86_XMM0 + 1);
}

static void add_elsewhere(const struct reaching *reaching, const struct register_set *set,
			  struct reach *registers)
{
	for (unsigned r = 0; r < reaching->registers; r++)
		if (register_set_has(set, r))
			registers[r].elsewhere = true;
}

/* Whether the time until its result is there is long or not known. */
static bool takes_long(const struct instruction_effects *effects)
{
	switch (effects->class) {
	case LATENCY_MULTIPLY:
	case LATENCY_VECTOR_MULTIPLY:
	case LATENCY_FP_MULTIPLY:
	case LATENCY_FP_FUSED:
	case LATENCY_DIVIDE:
	case LATENCY_FP_DIVIDE:
	case LATENCY_FP_ROOT:
	case LATENCY_ATOMIC:
		return true;
	default:
		return effects->reads_memory;
	}
}

/*
 * Whether the access itself moves that register of its address on (push, pop, [x1], #8): it is
 * ready at once. A load that writes only to the register of its address loads into it.
 */
static bool moves_on(const struct instruction_effects *effects, unsigned number)
{
	if (!register_set_has(&effects->address, number))
		return false;
	if (!effects->reads_memory)
		return true;
	struct register_set others = register_set_without(&effects->writes, &effects->address);
	return effects->class == LATENCY_LOAD && !register_set_empty(&others);
}

/* What is under way in `registers` behind the instruction. */
static void step(const struct reaching *reaching, struct reach *registers, uint32_t instruction)
{
	const struct procedure_cycles *procedure = reaching->procedure;
	const struct instruction_effects *effects = &procedure->effects[instruction];
	if (procedure->cfg.instructions[instruction].kind == INSTRUCTION_CALL) {
		struct register_set results = { { 0 } };
		for (unsigned r = 0; r < reaching->registers; r++)
			registers[r] = nothing;
		results_of(procedure->isa, &results);
		add_elsewhere(reaching, &results, registers);
		return;
	}
	bool produces = takes_long(effects) && effects->known;
	struct register_set touched = register_set_union(&effects->reads, &effects->writes);
	for (unsigned r = register_set_next(&touched, 0); r < reaching->registers;
	     r = register_set_next(&touched, r + 1)) {
		registers[r] = nothing;
		if (produces && register_set_has(&effects->writes, r) && !moves_on(effects, r))
			registers[r].producers[0] = instruction;
	}
}

static struct reach *entry_of(const struct reaching *reaching, uint32_t block)
{
	return reaching->at_entry + (size_t)block * reaching->registers;
}

void reaching_enter(struct reaching *reaching, uint32_t block)
{
	memcpy(reaching->now, entry_of(reaching, block),
	       reaching->registers * sizeof(*reaching->now));
}

const struct reach *reaching_register(const struct reaching *reaching, unsigned number)
{
	return &reaching->now[number];
}

void reaching_step(struct reaching *reaching, uint32_t instruction)
{
	step(reaching, reaching->now, instruction);
}

/* A queue of the blocks whose entry changed since hand_on(). */
struct waiting {
	uint32_t *ring; /* of `size` blocks */
	bool *queued;
	uint32_t first, count, size;
};

static void enqueue(struct waiting *waiting, uint32_t block)
{
	if (waiting->queued[block])
		return;
	waiting->queued[block] = true;
	waiting->ring[(waiting->first + waiting->count++) % waiting->size] = block;
}

static uint32_t dequeue(struct waiting *waiting)
{
	uint32_t block = waiting->ring[waiting->first];
	waiting->first = (waiting->first + 1) % waiting->size;
	waiting->count--;
	waiting->queued[block] = false;
	return block;
}

/* Adds what is under way at the end of a block to the entries of those that follow. */
static void hand_on(struct reaching *reaching, uint32_t block, struct waiting *waiting)
{
	const struct cfg *cfg = &reaching->procedure->cfg;
	const struct cfg_block *at = &cfg->blocks[block];
	struct flow_ends out = flow_graph_out_of(&cfg->graph, block);
	reaching_enter(reaching, block);
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		reaching_step(reaching, i);
	for (size_t i = 0; i < out.count; i++) {
		uint32_t to = cfg->graph.edges[out.list[i]].to;
		bool changed = false;
		if (to == FLOW_OUTSIDE)
			continue;
		struct reach *entry = entry_of(reaching, to);
		for (unsigned r = 0; r < reaching->registers; r++)
			if (!reach_is_empty(&reaching->now[r]))
				changed |= reach_add(&entry[r], &reaching->now[r]);
		if (changed)
			enqueue(waiting, to);
	}
}

static int settle(struct reaching *reaching)
{
	uint32_t blocks = reaching->procedure->cfg.graph.block_count;
	struct waiting waiting = { .size = blocks };
	waiting.ring = calloc((size_t)blocks + 1, sizeof(*waiting.ring));
	waiting.queued = calloc((size_t)blocks + 1, sizeof(*waiting.queued));
	int ret = waiting.ring && waiting.queued ? 0 : -ENOMEM;
	for (uint32_t b = 0; ret == 0 && b < blocks; b++)
		enqueue(&waiting, b);
	while (ret == 0 && waiting.count)
		hand_on(reaching, dequeue(&waiting), &waiting);
	free(waiting.ring);
	free(waiting.queued);
	return ret;
}

int reaching_init(struct reaching *reaching, const struct procedure_cycles *procedure)
{
	const struct cfg *cfg = &procedure->cfg;
	struct register_set arguments = { { 0 } };
	*reaching = (struct reaching){
		.procedure = procedure,
		.registers = register_count(procedure->isa),
	};
	size_t count = (size_t)cfg->graph.block_count * reaching->registers;
	reaching->at_entry = malloc((count + 1) * sizeof(*reaching->at_entry));
	reaching->now = malloc((reaching->registers + 1u) * sizeof(*reaching->now));
	if (!reaching->at_entry || !reaching->now)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		reaching->at_entry[i] = nothing;
	arguments_of(procedure->isa, &arguments);
	for (size_t e = 0; e < cfg->graph.edge_count; e++)
		if (cfg->graph.edges[e].from == FLOW_OUTSIDE)
			add_elsewhere(reaching, &arguments,
				      entry_of(reaching, cfg->graph.edges[e].to));
	return settle(reaching);
}

void reaching_release(struct reaching *reaching)
{
	free(reaching->at_entry);
	free(reaching->now);
	*reaching = (struct reaching){ 0 };
}
