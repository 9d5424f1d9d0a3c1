/*
 * cfg_private - what the steps of building a cfg hand each other: cfg_sweep.c fills
 * the instructions, cfg_blocks.c makes blocks and edges of them, cfg_jumps.c finds
 * the targets of indirect jumps in that graph; the last two take turns (cfg.c).
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
	uint64_t *writes;	       /* of each instruction: see isa/transfer.h; NULL: no jumps */
	bool writes_noted;
	uint32_t *block_of_instruction; /* NULL: no jumps */
	uint64_t steps_left;		/* of the search for tables, in all rounds */
	size_t targets_left;		/* of a round */
};

/* Decodes the parts into cfg->instructions, and lists the indirect jumps. 0 or -ENOMEM. */
int cfg_sweep(struct cfg_builder *builder);
/* Bytes of an instruction, in its part. */
const uint8_t *cfg_code(const struct cfg *cfg, const struct cfg_instruction *instruction);

/* Marks where blocks start whatever the indirect jumps do, and calls that do not come back. */
void cfg_mark_leaders(struct cfg_builder *builder);
/* Blocks and the settled graph of the marks and targets as they are. 0 or -ENOMEM. */
int cfg_connect(struct cfg_builder *builder);

/*
 * Finds the targets of all indirect jumps in the graph as it is; marks where they
 * lead. *changed says whether anything differs from before. 0 or -ENOMEM.
 */
int cfg_resolve_jumps(struct cfg_builder *builder, bool *changed);

int cfg_targets_add(struct cfg_targets *targets, uint32_t instruction);
void cfg_targets_settle(struct cfg_targets *targets);
