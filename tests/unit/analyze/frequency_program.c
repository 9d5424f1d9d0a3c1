#include "frequency_program.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "support/allocated.h"
#include "support/poisson.h"

#define MOST_IN_BLOCK 16

/* 1 to 16, five on average: as in compiled code for x86-64. */
static uint32_t draw_length(struct random_state *random)
{
	uint32_t length = 1;
	while (length < MOST_IN_BLOCK && random_unit(random) < 0.8)
		length++;
	return length;
}

/*
 * Two instructions issue in a cycle, so some never wait at the head; some wait for the result of
 * an earlier one.
 */
static void draw_block(struct procedure *procedure, struct random_state *random,
		       struct flow_range range)
{
	for (uint32_t i = range.first; i < range.end; i++) {
		double kind = random_unit(random);
		procedure->waits_for[i] = FLOW_WAITS_FOR_NOTHING;
		procedure->issue_cycles[i] = i > range.first && kind < 0.3 ? 0 : 1;
		if (i > range.first && kind > 0.8) {
			procedure->issue_cycles[i] = 2 + (double)random_below(random, 3);
			procedure->waits_for[i] =
				range.first + (uint32_t)random_below(random, i - range.first);
		}
	}
}

/* A stall between an instruction and the one that waits for it shortens the wait. */
static void run_block(struct procedure *procedure, const struct machine *machine,
		      struct random_state *random, struct flow_range range, double executions)
{
	double stalls[MOST_IN_BLOCK] = { 0 };
	for (uint32_t i = range.first; i < range.end; i++) {
		double *stall = &stalls[i - range.first], hidden = 0;
		if (random_unit(random) < machine->stall_share)
			*stall = machine->least_stall *
				 pow(machine->longest_stall / machine->least_stall,
				     random_unit(random));
		if (procedure->waits_for[i] != FLOW_WAITS_FOR_NOTHING)
			for (uint32_t k = procedure->waits_for[i] + 1; k < i; k++)
				hidden += stalls[k - range.first];
		double cycles = procedure->issue_cycles[i];
		if (cycles > 1)
			cycles *= 1 + machine->latency_error * (2 * random_unit(random) - 1);
		double wait = fmax(cycles - hidden, fmin(cycles, 1));
		procedure->cycles[i] = executions * (wait + *stall);
	}
}

static void procedure_init(struct procedure *procedure, const struct machine *machine,
			   struct random_state *random)
{
	uint32_t size = 10 + (uint32_t)(190 * pow(random_unit(random), 2));
	random_flow_init(&procedure->flow, random, size, pow(1000, random_unit(random)), 20);
	uint32_t blocks = procedure->flow.graph.block_count;
	procedure->blocks = allocated(blocks, sizeof(*procedure->blocks));
	procedure->instruction_count = 0;
	for (uint32_t block = 0; block < blocks; block++) {
		procedure->blocks[block].first = procedure->instruction_count;
		procedure->instruction_count += draw_length(random);
		procedure->blocks[block].end = procedure->instruction_count;
	}
	uint32_t count = procedure->instruction_count;
	procedure->issue_cycles = allocated(count, sizeof(double));
	procedure->waits_for = allocated(count, sizeof(uint32_t));
	procedure->cycles = allocated(count, sizeof(double));
	procedure->samples = allocated(count, sizeof(double));
	for (uint32_t block = 0; block < blocks; block++) {
		draw_block(procedure, random, procedure->blocks[block]);
		run_block(procedure, machine, random, procedure->blocks[block],
			  procedure->flow.blocks[block]);
	}
}

static void add_up(struct program *program)
{
	program->cycles = program->executions = 0;
	for (uint32_t p = 0; p < program->count; p++) {
		const struct procedure *procedure = &program->procedures[p];
		for (uint32_t i = 0; i < procedure->instruction_count; i++)
			program->cycles += procedure->cycles[i];
		for (uint32_t block = 0; block < procedure->flow.graph.block_count; block++)
			program->executions +=
				procedure->flow.blocks[block] *
				(procedure->blocks[block].end - procedure->blocks[block].first);
	}
}

void program_init(struct program *program, const struct machine *machine,
		  struct random_state *random, uint32_t count)
{
	program->procedures = allocated(count, sizeof(*program->procedures));
	program->count = count;
	for (uint32_t p = 0; p < count; p++)
		procedure_init(&program->procedures[p], machine, random);
	add_up(program);
}

void program_release(struct program *program)
{
	for (uint32_t p = 0; p < program->count; p++) {
		struct procedure *procedure = &program->procedures[p];
		random_flow_release(&procedure->flow);
		free(procedure->blocks);
		free(procedure->issue_cycles);
		free(procedure->waits_for);
		free(procedure->cycles);
		free(procedure->samples);
	}
	free(program->procedures);
	*program = (struct program){ 0 };
}

double program_sample_cycles(struct program *program, struct random_state *random, double samples)
{
	double period = program->cycles / samples;
	for (uint32_t p = 0; p < program->count; p++) {
		struct procedure *procedure = &program->procedures[p];
		for (uint32_t i = 0; i < procedure->instruction_count; i++)
			procedure->samples[i] =
				(double)poisson(random, procedure->cycles[i] / period);
	}
	return period;
}

double program_sample_executions(struct program *program, struct random_state *random,
				 double samples)
{
	double period = program->executions / samples;
	for (uint32_t p = 0; p < program->count; p++) {
		struct procedure *procedure = &program->procedures[p];
		for (uint32_t block = 0; block < procedure->flow.graph.block_count; block++)
			for (uint32_t i = procedure->blocks[block].first;
			     i < procedure->blocks[block].end; i++)
				procedure->samples[i] = (double)poisson(
					random, procedure->flow.blocks[block] / period);
	}
	return period;
}

struct frequency_input procedure_input(const struct procedure *procedure,
				       enum frequency_model model)
{
	return (struct frequency_input){ .graph = &procedure->flow.graph,
					 .model = model,
					 .instruction_count = procedure->instruction_count,
					 .blocks = procedure->blocks,
					 .samples = procedure->samples,
					 .issue_cycles = procedure->issue_cycles,
					 .waits_for = procedure->waits_for };
}
