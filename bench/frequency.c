/*
 * bench-frequency - what the frequencies of whole procedures cost, from samples to intervals:
 * a simulated program, by each model.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unit/analyze/frequency_program.h"
#include "analyze/flow/frequency.h"
#include "base/clock.h"
#include "base/count_of.h"
#include "base/random.h"

#define PROCEDURES 200
#define SAMPLES	   1e6
#define ROUNDS	   3

static const struct machine machine = { "few, long", 0.1, 0.5, 50, 0 };

/* Seconds for all procedures; -1 on an error. */
static double measure(const struct program *program, enum frequency_model model)
{
	uint64_t start = clock_monotonic_ns();
	for (uint32_t p = 0; p < program->count; p++) {
		const struct frequency_input input =
			procedure_input(&program->procedures[p], model);
		struct frequencies frequencies;
		int ret = frequencies_new(&input, &frequencies);
		if (ret < 0) {
			fprintf(stderr, "bench-frequency: %s\n", strerror(-ret));
			return -1;
		}
		frequencies_release(&frequencies);
	}
	return (double)(clock_monotonic_ns() - start) * 1e-9;
}

int main(void)
{
	static const struct {
		enum frequency_model model;
		const char *name;
	} models[] = { { FREQUENCY_CYCLES_IN_ORDER, "cycles in order" },
		       { FREQUENCY_EXECUTIONS, "executions" },
		       { FREQUENCY_CYCLES_OUT_OF_ORDER, "cycles out of order" } };
	struct random_state random = random_seed(1);
	struct program program;
	program_init(&program, &machine, &random, PROCEDURES);
	program_sample_cycles(&program, &random, SAMPLES);
	double blocks = 0;
	for (uint32_t p = 0; p < program.count; p++)
		blocks += program.procedures[p].flow.graph.block_count;
	for (size_t i = 0; i < COUNT_OF(models); i++) {
		double best_s = INFINITY;
		for (int round = 0; round < ROUNDS; round++) {
			double seconds = measure(&program, models[i].model);
			if (seconds < 0)
				return 1;
			best_s = fmin(best_s, seconds);
		}
		printf("%-20s %6.0f procedures/s of %.0f blocks each, %.0f blocks/s\n",
		       models[i].name, program.count / best_s, blocks / program.count,
		       blocks / best_s);
	}
	program_release(&program);
	return 0;
}
