/*
 * exact_program - what a program did in one run, counted exactly: for its hottest
 * procedures the flow of control with the executions of every block and edge, what each
 * instruction does to registers and memory (no byte of its code), and how often it missed
 * in simulated caches and was mispredicted. tests/tools/make-exact-program.c makes one
 * from what callgrind counted; tests/data/exact holds those of docs/methods.md,
 * "Frequencies".
 *
 * All functions end the calling program when memory runs out or a file is damaged: files are part
 * of the tests.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_clusters.h"
#include "isa/effects.h"

struct buffer;

struct exact_instruction {
	uint64_t vaddr;
	uint8_t length_bytes;
	uint8_t kind; /* enum instruction_kind */
};

/* How often, over the whole run. */
enum exact_event {
	EXACT_FETCH_MISSES, /* first cache, and below the last */
	EXACT_FETCH_LAST_MISSES,
	EXACT_READ_MISSES,
	EXACT_READ_LAST_MISSES,
	EXACT_WRITE_MISSES,
	EXACT_WRITE_LAST_MISSES,
	EXACT_MISPREDICTS, /* of conditional and of indirect jumps */
	EXACT_EVENTS
};

struct exact_procedure {
	uint64_t first;		 /* vaddr, in its own file */
	struct flow_graph graph; /* settled */
	uint32_t instruction_count;
	struct flow_range *blocks; /* by block of the graph: its instructions */
	struct exact_instruction *instructions;
	struct instruction_effects *effects; /* by instruction */
	uint64_t (*events)[EXACT_EVENTS];    /* by instruction */
	double *block_executions;
	double *edge_executions; /* by edge of the graph */
};

struct exact_program {
	struct exact_procedure *procedures; /* those that executed most first */
	uint32_t count;
	/* Their share of all that the run executed, and (roughly) of the time that it took. */
	double executed_ratio, cycles_ratio;
};

void exact_procedure_release(struct exact_procedure *procedure);
void exact_program_release(struct exact_program *program); /* also right for a zeroed one */

/* Appends the program's file. */
void exact_program_write(const struct exact_program *program, struct buffer *out);
/* `name` appears in messages only. */
void exact_program_read(const void *bytes, size_t size_bytes, const char *name,
			struct exact_program *out);
void exact_program_read_file(const char *path, struct exact_program *out);
