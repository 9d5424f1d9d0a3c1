/*
 * run_values - what one event counted in repeated runs of one or more commands. Runs are in
 * rounds: each round runs every command once, in an order drawn at random (run_order.h). Runs of
 * one command are rounds of one.
 *
 * The values are borrowed. Counts, times and quotients are all values; one that is NAN was not
 * counted in that run, which is not 0. All functions of this folder are pure: threads may call them
 * at once.
 */
#pragma once

#include <math.h>
#include <stddef.h>

/* More rounds are refused: the sums of ranks stay exact in a double, and nobody waits for them. */
#define RUN_ROUNDS_MOST 1000000

struct run_values {
	const double *values; /* of round r, command c: [r * commands + c] */
	size_t rounds, commands;
};

static inline double run_value(const struct run_values *values, size_t round, size_t command)
{
	return values->values[round * values->commands + command];
}
