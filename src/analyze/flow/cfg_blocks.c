#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/cfg_no_return.h"
#include "analyze/flow/cfg_private.h"

static bool is_last_of_part(const struct cfg *cfg, uint32_t instruction)
{
	for (uint32_t i = 0; i < cfg->part_count; i++)
		if (instruction + 1 ==
		    cfg->parts[i].first_instruction + cfg->parts[i].instruction_count)
			return true;
	return false;
}

static bool never_returns(const struct code_space *space, const struct cfg_instruction *call)
{
	return (call->has_target || call->through_slot) &&
	       cfg_is_no_return(space->callee(space->context, call->target));
}

/* The compiler put nothing but padding behind the last call, so it knew that it does not return. */
static void mark_last_call(struct cfg *cfg, const struct cfg_part *part)
{
	if (part->is_cut)
		return;
	for (uint32_t i = part->instruction_count; i-- > 0;) {
		struct cfg_instruction *last = &cfg->instructions[part->first_instruction + i];
		if (last->kind == INSTRUCTION_CALL)
			last->no_return = true;
		if (!last->pads)
			return;
	}
}

static bool ends_block(const struct cfg_instruction *instruction)
{
	return instruction->kind == INSTRUCTION_JUMP ||
	       instruction->kind == INSTRUCTION_CONDITIONAL ||
	       instruction->kind == INSTRUCTION_RETURN || instruction->traps ||
	       instruction->no_return;
}

/* A call into the function's own middle: an entry (of a cold part), unless it calls the next
 * instruction, as i386 code does to read the program counter. */
static bool enters_middle(const struct cfg *cfg, const struct cfg_instruction *instruction)
{
	return instruction->kind == INSTRUCTION_CALL && instruction->has_target &&
	       instruction->target != cfg->first &&
	       instruction->target != instruction->vaddr + instruction->length_bytes;
}

static void mark_target(struct cfg *cfg, const struct cfg_instruction *instruction)
{
	bool jumps = instruction->kind == INSTRUCTION_JUMP ||
		     instruction->kind == INSTRUCTION_CONDITIONAL;
	if (!instruction->has_target || (!jumps && !enters_middle(cfg, instruction)))
		return;
	/* into the middle of an instruction: glibc jumps over a lock prefix; the same code runs */
	uint32_t target = cfg_instruction_at(cfg, instruction->target);
	if (target != CFG_NO_INSTRUCTION)
		cfg->instructions[target].leads = true;
}

static uint32_t entry_instruction(const struct cfg *cfg, const struct code_entry *entry)
{
	return entry->kind == CODE_ENTRY_POINTER ? cfg_instruction_starting_at(cfg, entry->vaddr)
						 : cfg_instruction_at(cfg, entry->vaddr);
}

void cfg_mark_leaders(struct cfg_builder *builder)
{
	struct cfg *cfg = builder->cfg;
	for (uint32_t i = 0; i < cfg->part_count; i++) {
		cfg->instructions[cfg->parts[i].first_instruction].leads = true;
		mark_last_call(cfg, &cfg->parts[i]);
		for (size_t j = 0; j < builder->entries[i].count; j++) {
			uint32_t at = entry_instruction(cfg, &builder->entries[i].list[j]);
			if (at != CFG_NO_INSTRUCTION)
				cfg->instructions[at].leads = true;
		}
	}
	for (uint32_t i = 0; i < cfg->instruction_count; i++) {
		struct cfg_instruction *instruction = &cfg->instructions[i];
		if (instruction->kind == INSTRUCTION_CALL &&
		    never_returns(builder->space, instruction))
			instruction->no_return = true;
		mark_target(cfg, instruction);
		if (ends_block(instruction) && i + 1 < cfg->instruction_count)
			cfg->instructions[i + 1].leads = true;
	}
}

static int make_blocks(struct cfg_builder *builder)
{
	struct cfg *cfg = builder->cfg;
	uint32_t count = 0, block = 0, part = 0;
	for (uint32_t i = 0; i < cfg->instruction_count; i++)
		count += cfg->instructions[i].leads;
	free(cfg->blocks);
	flow_graph_release(&cfg->graph);
	flow_graph_init(&cfg->graph, count);
	cfg->blocks = calloc(count + (size_t)1, sizeof(*cfg->blocks));
	if (!cfg->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->instruction_count; i++) {
		if (part + 1 < cfg->part_count && i == cfg->parts[part + 1].first_instruction)
			part++;
		if (cfg->instructions[i].leads)
			cfg->blocks[block++] = (struct cfg_block){ i, 0, part };
		cfg->blocks[block - 1].count++;
		if (builder->block_of_instruction)
			builder->block_of_instruction[i] = block - 1;
	}
	return 0;
}

/* State of cfg_connect(); arrays are by block. */
struct connection {
	struct cfg_builder *builder;
	struct cfg *cfg;
	bool *reached; /* an edge from inside leads to it */
	bool *crossed; /* so does one from the other part */
	size_t jump;   /* position in cfg->jumps, which only rises */
	int ret;
};

static uint32_t block_of(const struct connection *connection, uint32_t instruction)
{
	if (connection->builder->block_of_instruction)
		return connection->builder->block_of_instruction[instruction];
	const struct cfg *cfg = connection->cfg;
	return cfg_block_at(cfg, cfg->instructions[instruction].vaddr);
}

static void add_edge(struct connection *connection, uint32_t from, uint32_t to,
		     enum flow_edge_kind kind)
{
	struct cfg *cfg = connection->cfg;
	if (from != FLOW_OUTSIDE && to != FLOW_OUTSIDE) {
		connection->reached[to] = true;
		if (cfg->blocks[from].part != cfg->blocks[to].part)
			connection->crossed[to] = true;
	}
	if (connection->ret == 0)
		connection->ret = flow_graph_add(&cfg->graph, from, to, kind);
}

/* An edge to the next block, or behind the last one of a part to outside. */
static void add_next(struct connection *connection, uint32_t block)
{
	const struct cfg_block *from = &connection->cfg->blocks[block];
	if (is_last_of_part(connection->cfg, from->first + from->count - 1))
		add_edge(connection, block, FLOW_OUTSIDE, FLOW_NO_RETURN);
	else
		add_edge(connection, block, block + 1, FLOW_NEXT);
}

static void add_branch(struct connection *connection, uint32_t block,
		       const struct cfg_instruction *last)
{
	uint32_t target = cfg_instruction_at(connection->cfg, last->target);
	if (target == CFG_NO_INSTRUCTION)
		add_edge(connection, block, FLOW_OUTSIDE, FLOW_TAIL);
	else
		add_edge(connection, block, block_of(connection, target), FLOW_BRANCH);
}

/* Targets that are not known have no edge; a block without any gets one to outside from
 * flow_graph_settle(). */
static void add_indirect(struct connection *connection, uint32_t block, uint32_t instruction)
{
	struct cfg *cfg = connection->cfg;
	while (cfg->jumps[connection->jump].instruction != instruction)
		connection->jump++;
	const struct cfg_jump *jump = &cfg->jumps[connection->jump];
	const struct cfg_targets *targets = &connection->builder->targets[connection->jump];
	for (size_t i = 0; i < targets->count; i++)
		add_edge(connection, block, block_of(connection, targets->list[i]), FLOW_INDIRECT);
	if (jump->fate == CFG_JUMP_TAIL || targets->leaves)
		add_edge(connection, block, FLOW_OUTSIDE, FLOW_TAIL);
	if (jump->fate == CFG_JUMP_UNKNOWN)
		cfg->graph.missing_edges = true;
}

static void add_edges_of(struct connection *connection, uint32_t block)
{
	const struct cfg *cfg = connection->cfg;
	uint32_t at = cfg->blocks[block].first + cfg->blocks[block].count - 1;
	const struct cfg_instruction *last = &cfg->instructions[at];
	if (last->traps || last->no_return) {
		add_edge(connection, block, FLOW_OUTSIDE, FLOW_NO_RETURN);
	} else if (last->kind == INSTRUCTION_RETURN) {
		add_edge(connection, block, FLOW_OUTSIDE, FLOW_RETURN);
	} else if (last->kind == INSTRUCTION_JUMP && last->has_target) {
		add_branch(connection, block, last);
	} else if (last->kind == INSTRUCTION_JUMP) {
		add_indirect(connection, block, at);
	} else {
		if (last->kind == INSTRUCTION_CONDITIONAL && last->has_target)
			add_branch(connection, block, last);
		add_next(connection, block);
	}
}

static void add_inner_entries(struct connection *connection)
{
	const struct cfg *cfg = connection->cfg;
	for (uint32_t i = 0; i < cfg->instruction_count; i++) {
		const struct cfg_instruction *call = &cfg->instructions[i];
		uint32_t target = enters_middle(cfg, call) ? cfg_instruction_at(cfg, call->target)
							   : CFG_NO_INSTRUCTION;
		if (target != CFG_NO_INSTRUCTION)
			add_edge(connection, FLOW_OUTSIDE, block_of(connection, target),
				 FLOW_OTHER_ENTRY);
	}
}

static void add_entries(struct connection *connection)
{
	struct cfg *cfg = connection->cfg;
	cfg->entry = cfg_block_at(cfg, cfg->first);
	add_edge(connection, FLOW_OUTSIDE, cfg->entry, FLOW_ENTRY);
	add_inner_entries(connection);
	for (uint32_t i = 0; i < cfg->part_count; i++) {
		const struct cfg_entries *entries = &connection->builder->entries[i];
		for (size_t j = 0; j < entries->count; j++) {
			uint32_t at = entry_instruction(cfg, &entries->list[j]);
			if (at == CFG_NO_INSTRUCTION || entries->list[j].kind == CODE_ENTRY_POINTER)
				continue;
			uint32_t block = block_of(connection, at);
			if (entries->list[j].kind == CODE_ENTRY_LANDING)
				add_edge(connection, FLOW_OUTSIDE, block, FLOW_LANDING);
			else if (!connection->crossed[block]) /* else our own other part jumps there
							       */
				add_edge(connection, FLOW_OUTSIDE, block, FLOW_OTHER_ENTRY);
		}
	}
}

static bool is_padding(const struct cfg *cfg, uint32_t block)
{
	const struct cfg_block *all = &cfg->blocks[block];
	for (uint32_t i = 0; i < all->count; i++)
		if (!cfg->instructions[all->first + i].pads)
			return false;
	return true;
}

/*
 * Padding that nothing leads to gets no edge to the next block, often a loop head that it aligns:
 * control would seem to enter the loop there.
 */
static void add_padding_edges(struct connection *connection)
{
	const struct cfg *cfg = connection->cfg;
	for (uint32_t block = 0; block < cfg->graph.block_count; block++)
		if (is_padding(cfg, block) && (connection->reached[block] || block == cfg->entry))
			add_next(connection, block);
}

int cfg_connect(struct cfg_builder *builder)
{
	struct cfg *cfg = builder->cfg;
	if (make_blocks(builder) < 0)
		return -ENOMEM;
	struct connection connection = { .builder = builder, .cfg = cfg };
	connection.reached = calloc(cfg->graph.block_count + (size_t)1, 2 * sizeof(bool));
	if (!connection.reached)
		return -ENOMEM;
	connection.crossed = connection.reached + cfg->graph.block_count;
	for (uint32_t block = 0; block < cfg->graph.block_count; block++)
		if (!is_padding(cfg, block))
			add_edges_of(&connection, block);
	add_entries(&connection);
	add_padding_edges(&connection);
	free(connection.reached);
	return connection.ret < 0 ? connection.ret : flow_graph_settle(&cfg->graph);
}
