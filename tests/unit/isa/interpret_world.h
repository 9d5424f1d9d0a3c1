/*
 * interpret_world - a small program with its memory for the interpreter, and what it
 * reported. Offsets are from the code's start.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "isa/interpret.h"

#define CODE_AT	 UINT64_C(0x401000)
#define TABLE_AT UINT64_C(0x402000)
#define STACK_AT UINT64_C(0x7ffd00001000)
#define EDGES	 16

struct world {
	struct interpreter *interpreter;
	struct interpret_start start;
	uint8_t code[128];
	size_t code_size;
	uint8_t table[64]; /* read-only */
	size_t edge_count;
	struct {
		uint64_t from, to;
		enum interpret_edge kind;
	} edges[EDGES];
	struct interpret_callbacks callbacks;
	struct interpret_result result;
};

/* With a known stack pointer and nothing else; the caller frees `interpreter`. */
struct world world_of(enum isa isa, const void *code, size_t size);
void world_know(struct world *world, unsigned reg, uint64_t value);
void world_run(struct world *world, unsigned limit);
void world_go_on(struct world *world, unsigned limit);
/* The i-th edge. */
void expect_edge(const struct world *world, size_t i, uint64_t from, uint64_t to,
		 enum interpret_edge kind);
void expect_end(const struct world *world, uint64_t at, enum interpret_end end);
