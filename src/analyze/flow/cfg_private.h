/*
 * cfg_private - shared by the steps of building a cfg: cfg_sweep.c fills the instructions,
 * cfg_blocks.c makes blocks and edges of them, cfg_jumps.c finds the targets of indirect jumps in
 * that graph; the last two take turns (cfg.c).
 */
#pragma once

#include "analyze/flow/cfg.h"

/* Where an indirect jump may go: instructions, ascending, each once. */
struct cfg_targets {
	uint32_t *list;
	size_t count, capacity;
	bool leaves; /* or into other code */
};

struct cfg_entries {
	const struct code_entry *list;
	size_t count;
};

struct cfg_builder {
	const struct code_space *space;
	struct decoder *decoder;
	struct cfg *cfg;
	struct cfg_entries entries[2]; /* of each part */
	struct cfg_targets *targets;   /* of each jump */
	/* By instruction: what it writes (isa/transfer.h), filled in the first round, and its
	 * block. NULL: the function has no indirect jumps. */
	uint64_t *writes;
	bool writes_noted;
	uint32_t *block_of_instruction;
	uint64_t steps_left; /* of the search for tables, in all rounds */
	size_t targets_left; /* that this round may still add */
};

/* Decodes the parts into cfg->instructions, and lists the indirect jumps. 0 or -ENOMEM. */
int cfg_sweep(struct cfg_builder *builder);
/* Bytes of an instruction, in its part. */
const uint8_t *cfg_code(const struct cfg *cfg, const struct cfg_instruction *instruction);
/* The instruction that starts exactly there, or CFG_NO_INSTRUCTION. */
uint32_t cfg_instruction_starting_at(const struct cfg *cfg, uint64_t vaddr);

/* Marks where blocks start whatever the indirect jumps do, and calls that do not come back. */
void cfg_mark_leaders(struct cfg_builder *builder);
/* Makes blocks and the settled graph, by the marks and targets as they are. 0 or -ENOMEM. */
int cfg_connect(struct cfg_builder *builder);

/*
 * Finds the targets of all indirect jumps in the graph as it is; marks where they
 * lead. *changed says whether anything differs from before. 0 or -ENOMEM.
 */
int cfg_resolve_jumps(struct cfg_builder *builder, bool *changed);

int cfg_targets_add(struct cfg_targets *targets, uint32_t instruction); /* 0 or -ENOMEM */
void cfg_targets_settle(struct cfg_targets *targets);			/* orders them, each once */
