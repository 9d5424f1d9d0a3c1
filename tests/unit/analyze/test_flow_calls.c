#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "analyze/flow/flow_calls.h"
#include "base/random.h"

#define PROCEDURES 200
#define CALLS	   600
#define SEEDS	   10

/* A program whose true factors are known. What an estimator sees of it is off by these. */
struct program {
	struct flow_calls_procedure procedures[PROCEDURES];
	struct flow_call calls[CALLS];
	size_t call_count;
	double factors[PROCEDURES]; /* logarithms */
};

/* About normal, of variance 1. */
static double normal(struct random_state *random)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += random_unit(random);
	return sum;
}

/* Each procedure but the first is called from up to three of those before it, and each estimate is
 * off by a factor of e^0.7 or so of its procedure's own, and by e^`off` beside. */
static void make_program(struct program *program, uint64_t seed, double off)
{
	struct random_state random = random_seed(seed);
	*program = (struct program){ 0 };
	for (uint32_t p = 0; p < PROCEDURES; p++) {
		double truth = 0, scale = program->factors[p] = 0.7 * normal(&random);
		for (uint32_t i = 0; p > 0 && i < 1 + p % 3; i++) {
			uint32_t caller = (uint32_t)(random_unit(&random) * p);
			double calls = exp(3 + 2 * random_unit(&random));
			truth += calls;
			program->calls[program->call_count++] = (struct flow_call){
				caller, p,
				calls * exp(off * normal(&random) - program->factors[caller]), off
			};
		}
		program->procedures[p].entries = truth * exp(off * normal(&random) - scale);
		program->procedures[p].entries_error = off;
		program->procedures[p].samples = 1000;
	}
}

/* Steps over branches of every procedure: half of each one's steps are seen. */
static void add_steps(struct program *program, uint64_t seed, double off)
{
	struct random_state random = random_seed(seed);
	for (uint32_t p = 0; p < PROCEDURES; p++) {
		double truth = 400 + 4000 * random_unit(&random);
		program->procedures[p].seen = truth / 2 * exp(off * normal(&random));
		program->procedures[p].expected = truth * exp(-program->factors[p]);
		program->procedures[p].crossings = 100;
	}
}

/* Mean |log| that factors are off by, up to one of the whole program. */
static double off_by(const struct program *program, const struct flow_calls_factor *factors)
{
	double mean = 0, sum = 0;
	for (uint32_t p = 0; p < PROCEDURES; p++)
		mean += (log(factors[p].value) - program->factors[p]) / PROCEDURES;
	for (uint32_t p = 0; p < PROCEDURES; p++)
		sum += fabs(log(factors[p].value) - program->factors[p] - mean);
	return sum / PROCEDURES;
}

static double fit(const struct program *program)
{
	static struct flow_calls_factor factors[PROCEDURES];
	const struct flow_calls_input input = { program->procedures, PROCEDURES, program->calls,
						program->call_count };
	assert_int_equal(flow_calls_fit(&input, factors), 0);
	return off_by(program, factors);
}

/* What costs alone say: that all factors are 1. */
static double by_costs(const struct program *program)
{
	struct flow_calls_factor ones[PROCEDURES];
	for (uint32_t p = 0; p < PROCEDURES; p++)
		ones[p] = (struct flow_calls_factor){ 1, 0 };
	return off_by(program, ones);
}

static void calls_make_procedures_compare(void **state)
{
	static struct program program;
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		make_program(&program, seed, 0.1);
		double costs = by_costs(&program), calls = fit(&program);
		if (costs < 0.45 || calls > costs / 1.7)
			fail_msg("seed %d: off by %.3f with calls, %.3f without", (int)seed, calls,
				 costs);
	}
}

static void steps_make_procedures_compare(void **state)
{
	static struct program program;
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		make_program(&program, seed, 0.1);
		program.call_count = 0;
		add_steps(&program, seed, 0.1);
		double steps = fit(&program);
		if (steps > 0.15)
			fail_msg("seed %d: off by %.3f with steps", (int)seed, steps);
	}
}

/* One in ten procedures is mostly entered by callers that are not known. */
static void unknown_callers_do_little_harm(void **state)
{
	static struct program program;
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		make_program(&program, seed, 0.1);
		double known = fit(&program), costs = by_costs(&program);
		for (uint32_t p = 5; p < PROCEDURES; p += 10)
			program.procedures[p].entries *= 30;
		double unknown = fit(&program);
		if (unknown > costs / 1.3 || unknown < known)
			fail_msg("seed %d: off by %.3f with unknown callers, %.3f without, %.3f by "
				 "costs",
				 (int)seed, unknown, known, costs);
	}
}

static void without_calls_costs_are_what_is_known(void **state)
{
	const struct flow_calls_procedure procedures[] = {
		{ .entries = 10, .samples = 100 }, { .entries = 20, .samples = 50, .expected = 50 }
	};
	const struct flow_calls_input input = { procedures, 2, NULL, 0 };
	struct flow_calls_factor factors[2] = { { NAN, NAN }, { NAN, NAN } };
	(void)state;
	assert_int_equal(flow_calls_fit(&input, factors), 0);
	assert_true(factors[0].value == 1 && factors[1].value == 1);
	assert_true(factors[0].error == 0 && isinf(factors[1].error)); /* beside the first */
}

/* It calls itself as often as it is entered but for once: that says nothing, and fails nothing. */
static void recursion_is_no_contradiction(void **state)
{
	const struct flow_calls_procedure procedures[] = { { .samples = 100 },
							   { .entries = 100, .samples = 100 } };
	const struct flow_call calls[] = { { 0, 1, 1, 0 }, { 1, 1, 99, 0 } };
	const struct flow_calls_input input = { procedures, 2, calls, 2 };
	struct flow_calls_factor factors[2] = { { NAN, NAN }, { NAN, NAN } };
	(void)state;
	assert_int_equal(flow_calls_fit(&input, factors), 0);
	assert_true(fabs(factors[0].value - 1) < 1e-6 && fabs(factors[1].value - 1) < 1e-6);
	assert_true(isinf(factors[1].error));
}

/* Factors that are within twice their error, of those whose error is small. */
static void count_held(const struct program *program, size_t *held, size_t *known)
{
	static struct flow_calls_factor factors[PROCEDURES];
	const struct flow_calls_input input = { program->procedures, PROCEDURES, program->calls,
						program->call_count };
	double mean = 0, weights = 0;
	assert_int_equal(flow_calls_fit(&input, factors), 0);
	for (uint32_t p = 0; p < PROCEDURES; p++)
		if (factors[p].error <= 1) {
			mean += log(factors[p].value) - program->factors[p];
			weights++;
		}
	for (uint32_t p = 0; p < PROCEDURES && weights > 0; p++) {
		double off = log(factors[p].value) - program->factors[p] - mean / weights;
		if (!(factors[p].error <= 1))
			continue;
		(*known)++;
		*held += fabs(off) <= 1.96 * factors[p].error;
	}
}

static void errors_hold_what_they_promise(void **state)
{
	static struct program program;
	(void)state;
	for (int steps = 0; steps < 2; steps++) {
		size_t held = 0, known = 0;
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			make_program(&program, seed, 0.1);
			if (steps)
				add_steps(&program, seed, 0.1);
			for (uint32_t p = 5; p < PROCEDURES; p += 10)
				program.procedures[p].entries *= 30;
			count_held(&program, &held, &known);
		}
		if (known < (steps ? 1500 : 100) || held < known * (steps ? 95 : 90) / 100)
			fail_msg("%s: %zu of %zu hold", steps ? "steps" : "calls alone", held,
				 known);
	}
}

/*
 * Two that work for long, one at a cycle an instruction and one at 27: how often they are entered
 * no sample tells, and steps tell who takes the time. Neither compares them.
 */
static void long_stays_do_not_compare(void **state)
{
	struct flow_calls_procedure procedures[] = {
		{ .entries = 1, .entries_error = 0.1, .samples = 100 },
		{ .entries = 8,
		  .entries_error = 3,
		  .samples = 1000,
		  .seen = 9000,
		  .expected = 3000 },
		{ .entries = 9,
		  .entries_error = 3,
		  .samples = 9000,
		  .seen = 3000,
		  .expected = 9000 },
	};
	const struct flow_call calls[] = { { 0, 1, 1, 0.1 }, { 0, 2, 1, 0.1 } };
	const struct flow_calls_input input = { procedures, 3, calls, 2 };
	struct flow_calls_factor factors[3];
	(void)state;
	assert_int_equal(flow_calls_fit(&input, factors), 0);
	assert_true(factors[0].error > 1 && factors[1].error > 1 && factors[2].error == 0);
	/* left and entered often, they are */
	for (int i = 1; i < 3; i++) {
		procedures[i].entries_error = 0.1;
		procedures[i].crossings = 1000;
	}
	assert_int_equal(flow_calls_fit(&input, factors), 0);
	for (int i = 1; i < 3; i++)
		assert_true(factors[i].error < 0.4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_make_procedures_compare),
		cmocka_unit_test(steps_make_procedures_compare),
		cmocka_unit_test(unknown_callers_do_little_harm),
		cmocka_unit_test(without_calls_costs_are_what_is_known),
		cmocka_unit_test(recursion_is_no_contradiction),
		cmocka_unit_test(errors_hold_what_they_promise),
		cmocka_unit_test(long_stays_do_not_compare),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
