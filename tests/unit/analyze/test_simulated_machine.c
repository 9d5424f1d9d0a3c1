/*
 * The simulated machine that estimates are held against does what docs/methods.md says of
 * it, and an exact program is read as it was written.
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "support/exact_program.h"
#include "support/simulated_machine.h"

#define assert_near(found, expected, error) check_near(found, expected, error, __LINE__)

static void check_near(double found, double expected, double error, int line)
{
	if (!(fabs(found - expected) <= error))
		fail_msg("line %d: %.17g is not %.17g", line, found, expected);
}

/* Blocks 0 and 1: the first runs 1000 times, 900 of these by its own jump, and ends in 1. */
enum { LOAD, ADD, DIVIDE, JUMP, USE, LEAVE, INSTRUCTIONS };

static struct register_set of(unsigned number)
{
	struct register_set set = { { 0 } };
	register_set_add(&set, number);
	return set;
}

static void *copy_of(const void *from, size_t size)
{
	void *memory = malloc(size);
	assert_non_null(memory);
	return memcpy(memory, from, size);
}

static struct exact_program program_of_two_blocks(void)
{
	const struct instruction_effects effects[INSTRUCTIONS] = {
		[LOAD] = { .known = true,
			   .class = LATENCY_LOAD,
			   .reads = of(1),
			   .address = of(1),
			   .writes = of(2),
			   .reads_memory = true },
		[ADD] = { .known = true, .class = LATENCY_ALU, .reads = of(2), .writes = of(3) },
		[DIVIDE] = { .known = true,
			     .class = LATENCY_DIVIDE,
			     .writes = of(4),
			     .width_bits = 64 },
		[JUMP] = { .known = true, .class = LATENCY_BRANCH },
		[USE] = { .known = true, .class = LATENCY_ALU, .reads = of(4), .writes = of(5) },
		[LEAVE] = { .known = true, .class = LATENCY_RETURN },
	};
	const struct exact_instruction instructions[INSTRUCTIONS] = {
		{ 0x1000, 4, INSTRUCTION_OTHER }, { 0x1004, 3, INSTRUCTION_OTHER },
		{ 0x1007, 3, INSTRUCTION_OTHER }, { 0x100a, 2, INSTRUCTION_CONDITIONAL },
		{ 0x100c, 3, INSTRUCTION_OTHER }, { 0x100f, 1, INSTRUCTION_RETURN },
	};
	const uint64_t events[INSTRUCTIONS][EXACT_EVENTS] = {
		[LOAD] = { [EXACT_READ_MISSES] = 50, [EXACT_READ_LAST_MISSES] = 5 },
		[JUMP] = { [EXACT_MISPREDICTS] = 100 },
		[USE] = { [EXACT_FETCH_MISSES] = 3 },
	};
	struct exact_program program = { .count = 1, .executed_ratio = 0.5, .cycles_ratio = 0.25 };
	struct exact_procedure *procedure = calloc(1, sizeof(*procedure));
	assert_non_null(procedure);
	program.procedures = procedure;
	procedure->first = 0x1000;
	procedure->instruction_count = INSTRUCTIONS;
	flow_graph_init(&procedure->graph, 2);
	assert_int_equal(flow_graph_add(&procedure->graph, FLOW_OUTSIDE, 0, FLOW_ENTRY), 0);
	assert_int_equal(flow_graph_add(&procedure->graph, 0, 0, FLOW_BRANCH), 0);
	assert_int_equal(flow_graph_add(&procedure->graph, 0, 1, FLOW_NEXT), 0);
	assert_int_equal(flow_graph_add(&procedure->graph, 1, FLOW_OUTSIDE, FLOW_RETURN), 0);
	assert_int_equal(flow_graph_settle(&procedure->graph), 0);
	procedure->blocks = copy_of((struct flow_range[]){ { LOAD, USE }, { USE, INSTRUCTIONS } },
				    2 * sizeof(struct flow_range));
	procedure->instructions = copy_of(instructions, sizeof(instructions));
	procedure->effects = copy_of(effects, sizeof(effects));
	procedure->events = copy_of(events, sizeof(events));
	procedure->block_executions = copy_of((double[]){ 1000, 100 }, 2 * sizeof(double));
	procedure->edge_executions = calloc(procedure->graph.edge_count, sizeof(double));
	for (size_t i = 0; i < procedure->graph.edge_count; i++)
		procedure->edge_executions[i] =
			procedure->graph.edges[i].from == 0 && procedure->graph.edges[i].to == 0
				? 900
				: 100;
	return program;
}

static struct simulated_machine machine_named(const char *name)
{
	const char *source = getenv("SOURCE");
	char path[4096];
	struct simulated_machine machine;
	snprintf(path, sizeof(path), "%s/tests/data/simulated/%s.txt",
		 source ? source : CULPRIT_SOURCE, name);
	simulated_machine_read_file(path, &machine);
	return machine;
}

static void cycles_are_those_of_the_schedule_and_of_what_went_wrong(void **state)
{
	(void)state;
	CLEANUP(exact_program_release) struct exact_program exact = program_of_two_blocks();
	CLEANUP(simulated_program_release) struct simulated_program program;
	const struct simulated_machine machine = machine_named("in-order");
	simulated_program_run(&exact, &machine, 1, &program);
	const struct simulated_cost *costs = program.procedures[0].costs;

	/* In its block alone: 1 cycle; the sum waits for the load, which takes 4; the division goes
	 * with it; the jump is third in that cycle. 100 mispredictions in 1000 jumps, 8 cycles
	 * each, are waited for at the targets. */
	assert_near(costs[LOAD].cycles, 1000 + 720, 1e-6);
	assert_near(costs[LOAD].stalls[SIMULATED_BRANCH], 720, 1e-6);
	assert_int_equal(costs[LOAD].culprits[SIMULATED_BRANCH], JUMP);
	assert_near(costs[ADD].cycles, 4000 + 50 * 12 + 5 * 120, 1e-6);
	assert_near(costs[ADD].stalls[SIMULATED_DATA], 50 * 12 + 5 * 120, 1e-6);
	assert_int_equal(costs[ADD].culprits[SIMULATED_DATA], LOAD);
	assert_int_equal(simulated_dominant(&costs[ADD]), SIMULATED_DATA);
	assert_near(costs[DIVIDE].cycles, 0, 1e-6);
	assert_near(costs[JUMP].cycles, 1000, 1e-6);
	assert_int_equal(simulated_dominant(&costs[JUMP]), SIMULATED_CAUSES);
	/* Issued in cycle 4, there in cycle 24; the block behind begins in cycle 6. */
	assert_near(costs[USE].stalls[SIMULATED_EARLIER], 100 * 18, 1e-6);
	assert_int_equal(costs[USE].culprits[SIMULATED_EARLIER], DIVIDE);
	assert_near(costs[USE].stalls[SIMULATED_FETCH], 3 * 12, 1e-6);
	assert_near(costs[USE].cycles, 100 * 19 + 80 + 3 * 12, 1e-6);
	assert_int_equal(simulated_dominant(&costs[USE]), SIMULATED_BRANCH);
	assert_near(costs[LEAVE].cycles, 0, 1e-6);
	assert_near(program.executions, 4000 + 200, 1e-6);
}

static void who_needs_a_load_behind_its_block_waits_for_it(void **state)
{
	(void)state;
	CLEANUP(exact_program_release) struct exact_program exact = program_of_two_blocks();
	CLEANUP(simulated_program_release) struct simulated_program program;
	const struct simulated_machine machine = machine_named("in-order");
	exact.procedures[0].effects[ADD].reads = of(6);
	exact.procedures[0].effects[USE].reads = of(2);
	simulated_program_run(&exact, &machine, 1, &program);
	const struct simulated_cost *costs = program.procedures[0].costs;

	/* Nine times of ten the block runs again, and the load writes what nobody needed. */
	assert_near(costs[USE].stalls[SIMULATED_DATA], 0.1 * (50 * 12 + 5 * 120), 1e-6);
	assert_int_equal(costs[USE].culprits[SIMULATED_DATA], LOAD);
	for (uint32_t i = LOAD; i < USE; i++)
		assert_near(costs[i].stalls[SIMULATED_DATA], 0, 0);
}

static void time_that_passes_before_a_load_is_needed_is_not_waited(void **state)
{
	(void)state;
	CLEANUP(exact_program_release) struct exact_program exact = program_of_two_blocks();
	CLEANUP(simulated_program_release) struct simulated_program program;
	const struct simulated_machine machine = machine_named("in-order");
	struct exact_procedure *procedure = exact.procedures;
	procedure->effects[ADD].reads = of(6);
	/* A sum that waits 20 cycles for a quotient in front of the user. */
	procedure->effects[USE] = (struct instruction_effects){
		.known = true, .class = LATENCY_DIVIDE, .writes = of(4), .width_bits = 64
	};
	procedure->effects[LEAVE].reads = of(2);
	register_set_add(&procedure->effects[LEAVE].reads, 4);
	simulated_program_run(&exact, &machine, 1, &program);
	assert_near(program.procedures[0].costs[LEAVE].stalls[SIMULATED_DATA],
		    0.1 * 5 * (12 + 120 - 20), 1e-6);
}

static void what_is_waited_for_elsewhere_falls_where_calls_lead(void **state)
{
	(void)state;
	CLEANUP(exact_program_release) struct exact_program exact = program_of_two_blocks();
	CLEANUP(simulated_program_release) struct simulated_program program;
	const struct simulated_machine machine = machine_named("in-order");
	struct exact_procedure *procedure = exact.procedures;
	/* The load's result is the callee's argument; the call is predicted wrong 30 times. */
	procedure->effects[LOAD].writes = of(1);
	procedure->effects[ADD] = (struct instruction_effects){ .known = true,
								.class = LATENCY_CALL,
								.writes_memory = true };
	procedure->events[ADD][EXACT_MISPREDICTS] = 30;
	simulated_program_run(&exact, &machine, 1, &program);
	const struct simulated_cost *costs = program.procedures[0].costs;
	assert_near(costs[LOAD].stalls[SIMULATED_DATA], 50 * 12 + 5 * 120, 1e-6);
	assert_int_equal(costs[LOAD].culprits[SIMULATED_DATA], SIMULATED_NOTHING);
	assert_near(costs[LOAD].stalls[SIMULATED_BRANCH], 720 + 30 * 8, 1e-6);
	assert_near(costs[USE].stalls[SIMULATED_BRANCH], 80, 1e-6);
}

static void what_is_returned_is_waited_for_behind_calls(void **state)
{
	(void)state;
	CLEANUP(exact_program_release) struct exact_program exact = program_of_two_blocks();
	CLEANUP(simulated_program_release) struct simulated_program program;
	const struct simulated_machine machine = machine_named("in-order");
	struct exact_procedure *procedure = exact.procedures;
	procedure->effects[LOAD] = (struct instruction_effects){ .known = true,
								 .class = LATENCY_CALL,
								 .writes_memory = true };
	procedure->effects[USE] = (struct instruction_effects){ .known = true,
								.class = LATENCY_LOAD,
								.reads_memory = true,
								.reads = of(1),
								.address = of(1),
								.writes = of(2) };
	memset(procedure->events, 0, INSTRUCTIONS * sizeof(*procedure->events));
	procedure->events[USE][EXACT_READ_MISSES] = 7;
	/* Who reads memory to jump there needs that itself. */
	procedure->effects[LEAVE].reads_memory = true;
	procedure->events[LEAVE][EXACT_READ_MISSES] = 2;
	simulated_program_run(&exact, &machine, 1, &program);
	const struct simulated_cost *costs = program.procedures[0].costs;
	assert_near(costs[ADD].stalls[SIMULATED_DATA], 7 * 12, 1e-6);
	assert_near(costs[LEAVE].stalls[SIMULATED_DATA], 2 * 12, 1e-6);
}

static void rough_machine_is_another_one_for_each_seed(void **state)
{
	(void)state;
	CLEANUP(exact_program_release) struct exact_program exact = program_of_two_blocks();
	const struct simulated_machine machine = machine_named("rough");
	double cycles[3];
	for (uint64_t seed = 0; seed < 3; seed++) {
		CLEANUP(simulated_program_release) struct simulated_program program;
		simulated_program_run(&exact, &machine, seed / 2, &program);
		const struct simulated_cost *costs = program.procedures[0].costs;
		cycles[seed] = program.cycles;
		/* the load's 4 cycles are off by a fifth at most, the division's 20 too */
		assert_true(fabs(costs[ADD].cycles - costs[ADD].stalls[SIMULATED_DATA] -
				 costs[ADD].stalls[SIMULATED_TRANSLATION] - 4000) <= 800);
		/* nobody in its block needs the quotient */
		assert_true(costs[JUMP].stalls[SIMULATED_DIVIDE] <= 0);
		assert_true(costs[USE].stalls[SIMULATED_DIVIDE] > 0);
		assert_int_equal(costs[USE].culprits[SIMULATED_DIVIDE], DIVIDE);
	}
	assert_near(cycles[0], cycles[1], 0);
	assert_true(cycles[0] != cycles[2]);
}

static void samples_fall_where_cycles_and_executions_are(void **state)
{
	(void)state;
	CLEANUP(exact_program_release) struct exact_program exact = program_of_two_blocks();
	CLEANUP(simulated_program_release) struct simulated_program program;
	struct random_state random = random_seed(3);
	const struct simulated_machine machine = machine_named("in-order");
	simulated_program_run(&exact, &machine, 1, &program);
	const double *samples = program.procedures[0].samples;

	/* a quarter of the run's time is kept, half of its instructions */
	double period = simulated_sample_cycles(&program, &random, 4e6);
	assert_near(period, program.cycles / 1e6, 1e-9);
	for (uint32_t i = 0; i < INSTRUCTIONS; i++) {
		double expected = program.procedures[0].costs[i].cycles / period;
		assert_true(fabs(samples[i] - expected) <= 5 * sqrt(expected));
	}
	period = simulated_sample_executions(&program, &random, 2e6);
	for (uint32_t i = 0; i < INSTRUCTIONS; i++) {
		double expected = (i < USE ? 1000 : 100) / period;
		assert_true(fabs(samples[i] - expected) <= 5 * sqrt(expected));
	}
}

static void program_is_read_as_it_was_written(void **state)
{
	(void)state;
	CLEANUP(exact_program_release) struct exact_program exact = program_of_two_blocks();
	CLEANUP(exact_program_release) struct exact_program read;
	CLEANUP(buffer_release) struct buffer file = { 0 };
	exact_program_write(&exact, &file);
	exact_program_read(file.data, file.size, "t", &read);

	const struct exact_procedure *a = exact.procedures, *b = read.procedures;
	assert_int_equal(read.count, 1);
	assert_near(read.executed_ratio, 0.5, 1e-6);
	assert_near(read.cycles_ratio, 0.25, 1e-6);
	assert_int_equal(b->first, a->first);
	assert_int_equal(b->instruction_count, a->instruction_count);
	assert_int_equal(b->graph.edge_count, a->graph.edge_count);
	assert_memory_equal(b->graph.edges, a->graph.edges,
			    a->graph.edge_count * sizeof(*a->graph.edges));
	assert_memory_equal(b->blocks, a->blocks, 2 * sizeof(*a->blocks));
	assert_memory_equal(b->events, a->events, INSTRUCTIONS * sizeof(*a->events));
	assert_memory_equal(b->block_executions, a->block_executions, 2 * sizeof(double));
	assert_memory_equal(b->edge_executions, a->edge_executions,
			    a->graph.edge_count * sizeof(double));
	for (uint32_t i = 0; i < INSTRUCTIONS; i++) {
		const struct instruction_effects *e = &a->effects[i], *f = &b->effects[i];
		assert_int_equal(b->instructions[i].vaddr, a->instructions[i].vaddr);
		assert_int_equal(b->instructions[i].length_bytes, a->instructions[i].length_bytes);
		assert_int_equal(b->instructions[i].kind, a->instructions[i].kind);
		assert_int_equal(f->class, e->class);
		assert_int_equal(f->width_bits, e->width_bits);
		assert_int_equal(f->reads_memory, e->reads_memory);
		assert_true(register_set_equal(&f->reads, &e->reads));
		assert_true(register_set_equal(&f->writes, &e->writes));
		assert_true(register_set_equal(&f->address, &e->address));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cycles_are_those_of_the_schedule_and_of_what_went_wrong),
		cmocka_unit_test(who_needs_a_load_behind_its_block_waits_for_it),
		cmocka_unit_test(time_that_passes_before_a_load_is_needed_is_not_waited),
		cmocka_unit_test(what_is_waited_for_elsewhere_falls_where_calls_lead),
		cmocka_unit_test(what_is_returned_is_waited_for_behind_calls),
		cmocka_unit_test(rough_machine_is_another_one_for_each_seed),
		cmocka_unit_test(samples_fall_where_cycles_and_executions_are),
		cmocka_unit_test(program_is_read_as_it_was_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
