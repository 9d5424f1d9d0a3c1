/*
 * callgrind_counts - what callgrind counted by instruction, with --dump-instr=yes
 * --collect-jumps=yes --cache-sim=yes --branch-sim=yes: the costs of each address and
 * how often control went from one to another. It reads nothing else of the format, and
 * shares no code with src/import.
 *
 * Addresses are those of the object's own file. The program ends when memory runs out
 * or the file was not written with these options.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns, in the order of the "events:" line that is expected. */
enum callgrind_column {
	CALLGRIND_IR,
	CALLGRIND_DR,
	CALLGRIND_DW,
	CALLGRIND_I1MR,
	CALLGRIND_D1MR,
	CALLGRIND_D1MW,
	CALLGRIND_ILMR,
	CALLGRIND_DLMR,
	CALLGRIND_DLMW,
	CALLGRIND_BC,
	CALLGRIND_BCM,
	CALLGRIND_BI,
	CALLGRIND_BIM,
	CALLGRIND_COLUMNS
};

struct callgrind_cost {
	uint64_t vaddr;
	uint64_t counts[CALLGRIND_COLUMNS];
};

/* A jump or a call; a jump into another function is a call to callgrind. */
struct callgrind_step {
	uint64_t from, to;
	uint64_t count;
};

struct callgrind_object {
	char *path;
	struct callgrind_cost *costs; /* by vaddr, each once */
	size_t cost_count, cost_capacity;
	struct callgrind_step *steps; /* within the object; by from, to, each once */
	size_t step_count, step_capacity;
};

struct callgrind_counts {
	struct callgrind_object *objects;
	size_t object_count, object_capacity;
};

/* The caller releases *out. */
void callgrind_counts_read(const char *path, struct callgrind_counts *out);
void callgrind_counts_release(struct callgrind_counts *counts);

/* NULL: it was not executed. */
const struct callgrind_cost *callgrind_cost_at(const struct callgrind_object *object,
					       uint64_t vaddr);
/* How often control went from `from` to `to`. */
uint64_t callgrind_steps(const struct callgrind_object *object, uint64_t from, uint64_t to);
/* The *count steps from `from`. */
const struct callgrind_step *callgrind_steps_from(const struct callgrind_object *object,
						  uint64_t from, size_t *count);
