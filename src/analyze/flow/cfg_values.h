/*
 * cfg_values - what a register or a slot of the stack holds at a place in a function,
 * as far as that follows from its code: a constant, a variable, or something read
 * from a table. By walking against the flow, over all ways that lead there, to the
 * instructions that define it.
 *
 * Entries from elsewhere into the middle of a function bring nothing new (an exception
 * or a computed goto keeps the table's address where it was); the function's start
 * does: there, everything is unknown. Memory is followed where the address is a register and
 * a displacement, and stores elsewhere are held not to change it: what comes of that is
 * checked by the user of it (targets that are instructions of the function).
 *
 * Each call costs at most the blocks of the function, and takes them off the builder's
 * budget of steps; when that is spent, nothing is known any more.
 */
#pragma once

#include "analyze/flow/cfg_private.h"
#include "isa/transfer.h"

/* A register, or what lies at its value + displacement. */
struct location {
	uint8_t reg;
	bool in_memory;
	uint64_t displacement;
};

/* The location's value before the instruction `end`, which is of the block or just behind it. */
struct place {
	struct location location;
	uint32_t block, end;
};

enum value_kind {
	VALUE_UNKNOWN,
	VALUE_CONSTANT, /* offset */
	VALUE_VARIABLE, /* offset + scale * variable */
	VALUE_TABLE,	/* offset + scale * entry number `variable` of the table */
};

struct value {
	enum value_kind kind;
	uint64_t offset, scale;
	struct place variable;
	uint64_t table, stride_bytes;
	uint8_t size_bytes;
	bool is_signed;
	bool is_single;	 /* entry 0 is meant, whatever the variable */
	bool is_guessed; /* only those of several definitions that are constants were used */
};

#define DEFINITIONS_LIMIT 64

struct definitions {
	uint32_t list[DEFINITIONS_LIMIT]; /* instructions, ascending */
	size_t count;
	bool incomplete; /* more than fit, or the budget is spent */
	bool outside;	 /* a path from the function's start has no definition */
};

/* Blocks still to be looked at, each once. */
struct block_walk {
	uint32_t *stamps, *queue;
	uint32_t stamp;
	size_t head, tail;
};

struct value_search {
	struct cfg_builder *builder;
	uint64_t *writes_of_block; /* `writes` of all its instructions */
	struct block_walk definitions, guards;
	/* The search saw an element of an array or a sum, as the address of a jump is that comes
	 * from a table, even if none was found. The caller clears it. */
	bool saw_index;
	unsigned address_nesting; /* private */
};

/* For the builder's graph as it is now. 0 or -ENOMEM; release in any case. */
int value_search_init(struct value_search *search, struct cfg_builder *builder);
void value_search_release(struct value_search *search);

struct transfer value_transfer(const struct value_search *search, uint32_t instruction);
/* Its register, in the numbers of isa/transfer.h. */
uint8_t value_stack_pointer(const struct value_search *search);
/* Finds the instructions that define the value at the place, over all paths to it. */
void value_definitions(struct value_search *search, const struct place *place,
		       struct definitions *out);
/* What the instruction makes of the location that it defines. */
struct value value_defined(struct value_search *search, struct location location,
			   uint32_t instruction);
/* What the instruction, with such a transfer, reads. */
struct value value_loaded(struct value_search *search, const struct transfer *transfer,
			  uint32_t instruction);

/*
 * The variable is below the result wherever control comes to the block from it, by masks
 * and comparisons on all ways there (cfg_guards.c); 0: no limit is known.
 */
uint64_t value_limit(struct value_search *search, const struct place *variable, uint32_t block);

/* For cfg_guards.c. */
/* The memory that it accesses, at a register and a displacement; false: in another form. */
bool value_memory_location(const struct transfer *transfer, struct location *out);
bool value_same_location(const struct location *a, const struct location *b);
bool value_take_steps(struct value_search *search, size_t count); /* false: the budget is spent */
void block_walk_start(struct block_walk *walk);
void block_walk_add(struct block_walk *walk, uint32_t block);
