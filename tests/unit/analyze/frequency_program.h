/*
 * frequency_program - a simulated program of random procedures and the samples that a
 * simulated machine takes of it, with all that is true of it known. It shares no code
 * with what estimates frequencies.
 */
#pragma once

#include <stdint.h>

#include "analyze/flow/flow_clusters.h"
#include "analyze/flow/frequency.h"
#include "support/random_flow.h"

struct random_state;

/* What the machine does. */
struct machine {
	const char *name;
	double stall_share;		   /* of instructions that ever stall */
	double least_stall, longest_stall; /* cycles a time, drawn evenly by their logarithm */
	double latency_error; /* by how much of it a wait may be longer or shorter than is said */
};

struct procedure {
	struct random_flow flow; /* executions of blocks and edges */
	uint32_t instruction_count;
	struct flow_range *blocks;
	double *issue_cycles; /* by instruction, as all that follow */
	uint32_t *waits_for;
	double *cycles;	 /* in all executions, with stalls */
	double *samples; /* drawn */
};

struct program {
	struct procedure *procedures;
	uint32_t count;
	double cycles, executions; /* of all instructions */
};

/* What a frequency is asked of; borrows from the procedure. */
struct frequency_input procedure_input(const struct procedure *procedure,
				       enum frequency_model model);

/* Of `count` procedures of 10 to 200 blocks. Fails the test when out of memory. */
void program_init(struct program *program, const struct machine *machine,
		  struct random_state *random, uint32_t count);
void program_release(struct program *program);
/* Samples of cycles, about that many in all. Returns the period, in cycles. */
double program_sample_cycles(struct program *program, struct random_state *random, double samples);
/* Of executions of instructions; returns the period in these. */
double program_sample_executions(struct program *program, struct random_state *random,
				 double samples);
