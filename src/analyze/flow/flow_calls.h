/*
 * flow_calls - how the executions of procedures compare where those of each are known up to a
 * factor of its own: a procedure is entered as often as it is called, and branches that were seen
 * while single-stepping were seen as often as they ran. The factors e^a are the maximum a
 * posteriori:
 *
 *     minimise  sum_p t(a_p / cost error)
 *               + sum_p t((log(seen_p / expected_p) - a_p - rate) / seen error)
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
	/* How often control was seen to enter or leave it while stepping. Branches of a procedure
	 * that was never left tell how long it stays, not how often it runs. */
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

/* Of a procedure: its executions times `value` compare with those of others, up to the error. */
struct flow_calls_factor {
	double value; /* 1 is what its cost alone says */
	double error; /* INFINITY: only its cost tells how it compares */
};

/*
 * Fills factors, by procedure. The error of one is that of the surest chain of relations from it to
 * a procedure whose branches were stepped over, or without any to that of most samples; only one
 * chain counts, as relations depend on each other. 0, or -ENOMEM. Time: procedures and calls, at
 * most some 300 times; memory is linear in them.
 */
int flow_calls_fit(const struct flow_calls_input *input, struct flow_calls_factor *factors);
