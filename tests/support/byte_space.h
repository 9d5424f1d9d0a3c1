/*
 * byte_space - a code space over bytes that lie at BYTE_SPACE_START, and cfg_check(): what must
 * hold of every cfg, of whatever bytes. Header only: fuzz targets use it too.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "analyze/flow/cfg.h"

#define BYTE_SPACE_START   UINT64_C(0x10000)
#define BYTE_SPACE_ENTRIES 64

struct byte_space {
	struct code_space space;
	struct span bytes;
	struct code_function functions[3];	       /* none: first > last */
	struct code_entry entries[BYTE_SPACE_ENTRIES]; /* by vaddr, then kind */
	size_t entry_count;
	uint64_t no_return; /* abort() lies there */
};

static inline bool byte_space_function(void *context, uint64_t vaddr, struct code_function *out)
{
	const struct byte_space *space = context;
	for (size_t i = 0; i < 3; i++) {
		const struct code_function *function = &space->functions[i];
		if (function->first <= vaddr && vaddr <= function->last && function->last) {
			*out = *function;
			return true;
		}
	}
	return false;
}

static inline bool byte_space_cold(void *context, uint64_t first, struct code_function *out)
{
	const struct byte_space *space = context;
	for (size_t i = 0; i < 3; i++) {
		*out = space->functions[i];
		if (out->is_cold && out->parent == first)
			return true;
	}
	return false;
}

static inline struct span byte_space_bytes(void *context, uint64_t vaddr, size_t size)
{
	const struct byte_space *space = context;
	uint64_t at = vaddr - BYTE_SPACE_START;
	if (at >= space->bytes.size)
		return (struct span){ NULL, 0 };
	size_t left = space->bytes.size - (size_t)at;
	return (struct span){ (const char *)space->bytes.data + at, size < left ? size : left };
}

static inline const struct code_entry *byte_space_entries(void *context, uint64_t first,
							  uint64_t last, size_t *count)
{
	const struct byte_space *space = context;
	size_t start = 0;
	while (start < space->entry_count && space->entries[start].vaddr <= first)
		start++;
	*count = 0;
	while (start + *count < space->entry_count && space->entries[start + *count].vaddr <= last)
		++*count;
	return space->entries + start;
}

static inline struct span byte_space_callee(void *context, uint64_t target)
{
	const struct byte_space *space = context;
	bool known = space->no_return && target == space->no_return;
	return known ? span_of_text("abort@plt") : (struct span){ NULL, 0 };
}

/* One function is all of the bytes, which are borrowed. *space must not be moved afterwards. */
static inline void byte_space_init(struct byte_space *space, enum isa isa, const void *bytes,
				   size_t size)
{
	*space = (struct byte_space){ .bytes = { bytes, size } };
	space->space = (struct code_space){
		.isa = isa,
		.context = space,
		.function = byte_space_function,
		.cold_part = byte_space_cold,
		.bytes = byte_space_bytes,
		.entries = byte_space_entries,
		.callee = byte_space_callee,
	};
	space->functions[0].first = BYTE_SPACE_START;
	space->functions[0].last = BYTE_SPACE_START + size - 1;
}

#define CFG_HOLDS(condition)                                                                       \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Ends the process unless every byte of the parts is in one instruction, every instruction in one
 * block, every edge between blocks, and no block without an edge in and one out; and targets of
 * direct jumps begin blocks. */
static inline void cfg_check(const struct cfg *cfg)
{
	uint32_t instruction = 0, block = 0;
	for (uint32_t i = 0; i < cfg->part_count; i++) {
		const struct cfg_part *part = &cfg->parts[i];
		uint64_t vaddr = part->first;
		CFG_HOLDS(part->first_instruction == instruction);
		for (uint32_t j = 0; j < part->instruction_count; j++, instruction++) {
			CFG_HOLDS(cfg->instructions[instruction].vaddr == vaddr);
			vaddr += cfg->instructions[instruction].length_bytes;
		}
		CFG_HOLDS(vaddr == part->last + 1);
	}
	CFG_HOLDS(instruction == cfg->instruction_count);
	for (instruction = 0; block < cfg->graph.block_count; block++) {
		const struct cfg_block *at = &cfg->blocks[block];
		CFG_HOLDS(at->first == instruction && at->count > 0);
		instruction += at->count;
		CFG_HOLDS(cfg_block_at(cfg, cfg->instructions[at->first].vaddr) == block);
		CFG_HOLDS(flow_graph_into(&cfg->graph, block).count > 0);
		CFG_HOLDS(flow_graph_out_of(&cfg->graph, block).count > 0);
		for (uint32_t i = at->first; i + 1 < at->first + at->count; i++) {
			unsigned kind = cfg->instructions[i].kind;
			CFG_HOLDS(kind != INSTRUCTION_JUMP && kind != INSTRUCTION_CONDITIONAL &&
				  kind != INSTRUCTION_RETURN && !cfg->instructions[i + 1].leads);
		}
	}
	CFG_HOLDS(instruction == cfg->instruction_count);
	CFG_HOLDS(cfg->entry == cfg_block_at(cfg, cfg->first));
	for (size_t i = 0; i < cfg->graph.edge_count; i++) {
		const struct flow_edge *edge = &cfg->graph.edges[i];
		CFG_HOLDS(edge->from == FLOW_OUTSIDE || edge->from < cfg->graph.block_count);
		CFG_HOLDS(edge->to == FLOW_OUTSIDE || edge->to < cfg->graph.block_count);
		CFG_HOLDS(edge->kind != FLOW_NEXT || edge->to == edge->from + 1);
	}
	bool missing = false;
	for (size_t i = 0; i < cfg->jump_count; i++) {
		missing |= cfg->jumps[i].fate == CFG_JUMP_UNKNOWN;
		CFG_HOLDS((cfg->jumps[i].fate == CFG_JUMP_UNKNOWN) ==
			  (cfg->jumps[i].missing != CFG_MISSING_NOTHING));
	}
	CFG_HOLDS(missing == cfg->graph.missing_edges);
}
