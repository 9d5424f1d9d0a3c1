/*
 * flow_posterior - how often each block and edge of a procedure ran, from samples of cycles and
 * from branches that were seen to go one way or the other, each of which tells what the other
 * cannot: samples how long is spent in a block, which goes with its executions only roughly where
 * a core hides waits; branches what share of a block's executions goes where. The maximum a
 * posteriori over the probabilities of branches and the flows from outside:
 *
 *     maximise  sum_edges m_e log P_e  -  sum_b 5/2 log(1 + d_b^2 / 4)
 *               -  sum_entries 1/2 (log(entry / entry by samples alone) / 5)^2
 *     where     f = (I - P')^-1 entries,   d_b = log(W_b / (c_b f_b)) / error_b
 *
 * m_e is the evidence and a count or so by the ratios that samples alone give (flow_likelihood.h).
 * docs/methods.md, "Executions from samples and branches", has all of it.
 *
 * Flow is conserved by construction. Errors of the result are not given: models of cycles are wrong
 * by more than chance.
 *
 * A struct flow_posterior is work space that keeps its memory from one procedure to the next;
 * threads need one each. Time is the factor's entries (sparse_order.h) times evaluations, of which
 * there are at most options->most_evaluations; seconds at worst, in a tangle of hundreds of
 * computed gotos to hundreds of places each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/flow/sparse_chain.h"

struct flow_graph;
struct flow_posterior_model;
struct flow_likelihood_result;

struct flow_posterior_options {
	double prior_counts; /* > 0; that the prior has at a block, by the likelihood's ratios */
	double cost_error;   /* of the logarithm of a block's cost, beside chance; > 0 */
	unsigned most_evaluations;
	double most_operations; /* over all of them: fewer evaluations where each costs more */
};
#define FLOW_POSTERIOR_DEFAULTS ((struct flow_posterior_options){ 1, 0.5, 300, 2e9 })

/* All borrowed until the next solve. */
struct flow_posterior_result {
	bool converged; /* or stopped by most_evaluations, at the best so far */
	unsigned evaluations;
	const double *block_executions;
	const double *edge_executions; /* by edge of the graph */
	/* By made-up edge of the likelihood. */
	const double *made_up_executions;
};

struct flow_posterior {
	/* private */
	struct sparse_chain chain;
	struct flow_posterior_model *model; /* of the last solve */
};

/*
 * `events` and `cost_events` by block of the settled graph as flow_likelihood_solve() has them, and
 * `prior`, what that gave for them, of the same graph. `evidence` by edge: how often each was
 * seen, weighted as seen_branches_weigh() does, >= 0 and finite; only shares among a block's
 * edges out count. Returns 0 and fills *result; -ENOMEM; -EFBIG as
 * flow_likelihood_solve(); -ENODATA: `prior` did not converge; -EDOM: with the
 * ratios of `prior` some block is left too seldom for a double.
 */
int flow_posterior_solve(struct flow_posterior *work, const struct flow_graph *graph,
			 const double *events, const double *cost_events, const double *evidence,
			 const struct flow_likelihood_result *prior,
			 const struct flow_posterior_options *options,
			 struct flow_posterior_result *result);
void flow_posterior_release(struct flow_posterior *work); /* also right for a zeroed one */
