/*
 * flow_calls - how the executions of procedures compare where those of each are known up to a
 * factor of its own: a procedure is entered as often as it is called, and branches that were seen
 * while single-stepping were seen as often as they ran. The factors e^a are the maximum a
 * posteriori:
 *
 *     minimise  sum_p t(a_p / cost error) + sum_p t((log(seen_p / expected_p) - a_p - rate) / ..)
 *               + sum_q t((log(sum_c calls_c e^a_caller) - log entries_q - a_q) / call error)
 *
 * with t(d) = 5/2 log(1 + d^2 / 4), Student's with 4 degrees of freedom, so that a few relations
 * may be far off. docs/methods.md, "Executions over calls", has all of it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Executions are in the unit in which an instruction costs the same in all procedures. Errors are
 * standard deviations of a logarithm; INFINITY: nothing is known of it. */
struct flow_calls_procedure {
	double entries; /* by calls and tail calls; 0: not known */
	double entries_error;
	double samples;
	/* Of its branches: how often they were seen while stepping, and how often they ran.
	 * `expected` 0: it has none. */
	double seen, expected;
	/* How often control was seen to come or go while stepping. Who is seen and never left says
	 * how long he stays, not how often he runs. */
	double crossings;
};

struct flow_call {
	uint32_t caller, callee; /* positions */
	double executions;	 /* > 0, finite; in the caller's unit */
	double error;
};

struct flow_calls_input {
	const struct flow_calls_procedure *procedures;
	size_t procedure_count;
	const struct flow_call *calls; /* by callee; other callers may be missing */
	size_t call_count;
};

/* By procedure: executions times `value` compare with each other, up to the error. */
struct flow_calls_factor {
	double value; /* 1 is what its cost alone says */
	double error; /* INFINITY: nothing but its cost says how it compares */
};

/*
 * Fills factors, by procedure. The error of one is that of the surest way from it over relations to
 * what was stepped over, or without steps to the procedure of most samples; so it is never too
 * small because relations hang together. 0, or -ENOMEM. Time: procedures and calls, at most some
 * 300 times; memory is linear in them.
 */
int flow_calls_fit(const struct flow_calls_input *input, struct flow_calls_factor *factors);
