/*
 * cfg - from one function of a code space to its flow_graph. A function and the
 * cold part that was split off it are one graph.
 *
 * The extents are swept linearly, each byte once. Blocks start where the function
 * does, at targets of jumps, behind jumps, returns and traps, and where control comes
 * in from elsewhere; a call ends a block only if it does not come back
 * (cfg_no_return.h). Indirect jumps get their targets from the tables that they read
 * (cfg_jumps.c); what stays unknown is declared, never guessed: see `jumps`.
 *
 * Code may be hostile. Extents are cut at CFG_EXTENT_LIMIT bytes, the search for
 * tables has a budget of steps in proportion to the instructions, and no call nests
 * deeper than a constant. Time is near-linear in the bytes: O(n log n) from ordering
 * edges and finding targets. Memory: 24 bytes an instruction, about 60 a block, and
 * 12 an instruction more while a function with indirect jumps is being worked on.
 *
 * A cfg borrows nothing but the bytes' addresses in `parts`, which live as long as
 * the space. Nothing changes it once built, and threads may share it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/flow/code_space.h"
#include "analyze/flow/flow_graph.h"

struct error;

/* The largest known functions have some 300 KB; code behind the limit is outside. */
#define CFG_EXTENT_LIMIT   (UINT64_C(16) << 20)
#define CFG_NO_BLOCK	   UINT32_MAX
#define CFG_NO_INSTRUCTION UINT32_MAX

struct cfg_instruction {
	uint64_t vaddr;
	uint64_t target; /* with has_target: where a jump, call or conditional goes, or with
			    through_slot the slot that holds that address */
	uint8_t length_bytes;
	uint8_t kind; /* enum instruction_kind */
	bool has_target : 1;
	bool through_slot : 1;
	bool traps : 1;	      /* ud2, hlt, brk, udf */
	bool pads : 1;	      /* does nothing: nop, int3 */
	bool leads : 1;	      /* first instruction of a block */
	bool no_return : 1;   /* a call that does not come back */
	bool cpus_differ : 1; /* a jump whose length and target depend on the CPU's vendor */
};

struct cfg_block {
	uint32_t first, count; /* instructions */
	uint32_t part;
};

struct cfg_part {
	uint64_t first, last; /* inclusive; of what was swept */
	bool is_cold;
	bool is_cut; /* the extent goes on: beyond the limit, or its bytes are not known */
	struct span bytes;
	uint32_t first_instruction, instruction_count;
};

enum cfg_jump_fate {
	CFG_JUMP_TABLE,	   /* targets read from a table */
	CFG_JUMP_POINTERS, /* every place of the function that data holds the address of */
	CFG_JUMP_TAIL,	   /* leaves the function */
	CFG_JUMP_UNKNOWN,  /* targets are missing, see `missing` */
};

enum cfg_missing {
	CFG_MISSING_NOTHING,
	CFG_MISSING_BASE,   /* where its table starts is not known */
	CFG_MISSING_TABLE,  /* the table's bytes are not known, or hold no place in the function */
	CFG_MISSING_CPU,    /* CPUs of different vendors read the jump differently */
	CFG_MISSING_EFFORT, /* the budget of steps or targets was spent */
};

/* An indirect jump. */
struct cfg_jump {
	uint32_t instruction;
	enum cfg_jump_fate fate;
	enum cfg_missing missing;
	bool is_bounded; /* the number of entries came from a comparison or a mask */
	uint64_t table;	 /* vaddr; of the last one, where several lead here; 0: none */
	uint32_t target_count;
};

struct cfg {
	struct flow_graph graph;  /* settled; missing_edges is set when a jump is unknown */
	uint64_t first;		  /* of the function */
	uint32_t entry;		  /* block */
	struct cfg_part parts[2]; /* by address */
	uint32_t part_count;
	struct cfg_instruction *instructions; /* by vaddr */
	uint32_t instruction_count;
	struct cfg_block *blocks; /* by vaddr: graph.block_count of them */
	struct cfg_jump *jumps;	  /* by vaddr */
	size_t jump_count;
};

/*
 * Builds the graph of the function that holds `vaddr`, which may lie in a cold part.
 * The decoder is one of the space's instruction set. Returns 0 and the caller
 * releases *out; or -ENOENT (no function there), -ENODATA (its bytes are not known)
 * or -ENOMEM, with *err filled, and *out needs no release.
 */
int cfg_build(const struct code_space *space, struct decoder *decoder, uint64_t vaddr,
	      struct cfg *out, struct error *err);
void cfg_release(struct cfg *cfg); /* also right for a zeroed one */

/* The instruction that holds the address, or CFG_NO_INSTRUCTION. */
uint32_t cfg_instruction_at(const struct cfg *cfg, uint64_t vaddr);
/* The first instruction at or behind the address; instruction_count when there is none. */
uint32_t cfg_instruction_from(const struct cfg *cfg, uint64_t vaddr);
/* The block of an instruction. */
uint32_t cfg_block_of(const struct cfg *cfg, uint32_t instruction);
/* The block that holds the address, or CFG_NO_BLOCK. */
uint32_t cfg_block_at(const struct cfg *cfg, uint64_t vaddr);
/* "where its table starts is not known"; "" for CFG_MISSING_NOTHING. */
const char *cfg_missing_text(enum cfg_missing missing);
