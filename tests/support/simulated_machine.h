/*
 * simulated_machine - what the procedures of an exact program (exact_program.h) cost on
 * a machine that exists in tests alone, and the samples that a profiler would take there.
 * Estimates are compared with it, so it shares nothing with src/analyze but the
 * graph: it has a scheduler and figures of its own (tests/data/simulated/NAME.txt).
 *
 * The machine issues instructions in their order. A block's schedule begins with the results
 * that the block before it has under way, edge by edge. Counted misses and mispredictions
 * cost cycles at the instruction that waits for them (simulated_users.h). Where that is in
 * another procedure, they are shared out over all procedures that are called, and over what
 * follows all calls, by how often these are: the exact program does not say which calls which.
 *
 * Functions end the program when memory runs out or a file is damaged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/latency_class.h"
#include "support/exact_program.h"

struct random_state;

struct simulated_machine {
	double width, memory_ports;
	double latency[LATENCY_CLASSES], load_operand;
	double read_miss, read_last_miss, write_last_miss, fetch_miss, fetch_last_miss;
	double mispredict;
	/* 0 on the standard machine: see tests/data/simulated/rough.txt. */
	double latency_error, overlap, translation_miss, translation_ratio, store_miss, divide_more;
};

/* Why an instruction waits longer than in its block alone when nothing goes wrong. */
enum simulated_cause {
	SIMULATED_FETCH,       /* its bytes were not in the first cache */
	SIMULATED_DATA,	       /* memory that it, or one whose result it needs, reads or writes */
	SIMULATED_TRANSLATION, /* of addresses of data */
	SIMULATED_BRANCH,      /* the jump to it was mispredicted */
	SIMULATED_STORE,       /* no room for another store */
	SIMULATED_DIVIDE,      /* a division took longer than it had to */
	SIMULATED_EARLIER,     /* static: for a result of the block before */
	SIMULATED_CAUSES
};

#define SIMULATED_NOTHING UINT32_MAX

/* Over all executions of one instruction, in cycles. */
struct simulated_cost {
	double cycles;			 /* at the head of the queue */
	double stalls[SIMULATED_CAUSES]; /* of these, by cause */
	/* For each cause the instruction whose access, result or jump it waits for, of several the
	 * one that costs most; SIMULATED_NOTHING: none. */
	uint32_t culprits[SIMULATED_CAUSES];
};

struct simulated_procedure {
	const struct exact_procedure *exact; /* borrowed */
	struct simulated_cost *costs;	     /* by instruction */
	double *samples;		     /* by instruction, as they were last drawn */
};

struct simulated_program {
	struct simulated_procedure *procedures; /* as in the exact program */
	uint32_t count;
	double cycles;			     /* of all */
	double executions;		     /* of instructions */
	double cycles_ratio, executed_ratio; /* shares of the whole run, as in the exact program */
};

void simulated_machine_read_file(const char *path, struct simulated_machine *out);

/* Only machines with errors (rough.txt) depend on the seed. The exact program must outlive the
 * result. */
void simulated_program_run(const struct exact_program *exact,
			   const struct simulated_machine *machine, uint64_t seed,
			   struct simulated_program *out);
void simulated_program_release(struct simulated_program *program); /* also right for a zeroed one */

/* The dynamic cause that costs the instruction most, or SIMULATED_CAUSES when none does. */
enum simulated_cause simulated_dominant(const struct simulated_cost *cost);

/* Draws about that many samples of cycles of the whole run, each at the instruction that waits.
 * Returns the period, in cycles. */
double simulated_sample_cycles(struct simulated_program *program, struct random_state *random,
			       double samples);
/* The same of executed instructions, each sample at the instruction executed next. Returns the
 * period, in instructions. */
double simulated_sample_executions(struct simulated_program *program, struct random_state *random,
				   double samples);
