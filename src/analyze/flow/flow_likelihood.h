/*
 * flow_likelihood - how often each block and edge of a procedure ran, from events
 * that were seen in its blocks: Poisson maximum likelihood under conservation of
 * flow. Where a block b costs c_b events an execution, W_b events are Poisson
 * distributed about c_b f_b; what flows into a block flows out of it:
 *
 *     maximise  sum_b (W_b + mu) log f_b - c_b f_b  +  sum_edges mu log x_e - c_0 x_e
 *     subject to  sum of x into b = f_b = sum of x out of b
 *
 * mu events and the little cost c_0 keep flow positive where nothing was seen.
 * docs/methods.md, "Executions of blocks", derives the method and the errors.
 *
 * A struct flow_likelihood is work space that keeps its memory from one procedure
 * to the next; threads need one each. Time is linear in blocks and edges for structured
 * code (the factor's entries, sparse_order.h), times some 15 steps. The worst that is
 * not refused, hundreds of computed gotos to hundreds of places each, takes seconds.
 *
 * Events count as they are: for sums of weights, of about u each, give mu in the same unit
 * and multiply the errors by sqrt(u).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/flow/flow_closure.h"
#include "analyze/flow/sparse_ldl.h"

struct flow_graph;

struct flow_likelihood_options {
	double mu_events;	/* > 0 */
	double edge_cost_ratio; /* c_0 to the least known cost, > 0 */
	unsigned most_steps;
	/* By edge of the graph, as events and cost_events are by block; NULL: no edge has any. */
	const double *edge_events, *edge_cost_events;
};
/* Tests took 9 to 35 steps with events that fit, and 151 at most with any. */
#define FLOW_LIKELIHOOD_DEFAULTS                                                                   \
	((struct flow_likelihood_options){                                                         \
		.mu_events = 0.05, .edge_cost_ratio = 1e-4, .most_steps = 400 })

/* All borrowed until the next solve, and NAN throughout when it did not converge. */
struct flow_likelihood_result {
	bool converged; /* flow conserved to 1e-11 of each block, each condition met to 1e-8 */
	unsigned steps; /* of Newton's method */
	/* Executions are events over events an execution; all > 0. */
	const double *block_executions; /* by block */
	const double *edge_executions;	/* by edge of the graph */
	/* Standard error over the value, if events are Poisson; about 1/sqrt(mu) where no event
	 * tells. */
	const double *block_relative_error;
	const double *edge_relative_error;
	/* Ways that the graph lacks (flow_closure.h); they carry flow too. */
	const struct flow_edge *made_up;
	const double *made_up_executions;
	size_t made_up_count;
};

struct flow_likelihood {
	/* private; by edge of the network: the blocks, the graph's edges, made-up ones */
	struct flow_closure closure;
	struct sparse_ldl ldl;
	struct sparse_edge *ends; /* from a to b */
	double *weight, *cost, least_weight;
	double *flow, *slack, *infeasible;	  /* x, s, c + A'y - s */
	double *flow_step, *slack_step, *missing; /* the last: target - x s */
	double *conductance;
	double *imbalance, *throughput; /* by node */
	size_t edge_count, edge_capacity, node_capacity;
	uint32_t node_count;
};

/*
 * `events` and `cost_events` (an execution's, > 0, or NAN where it is not known: then the
 * block's events say nothing) by block of the settled graph. Events must be >= 0 and finite.
 * Returns 0 and fills *result; or -ENOMEM; -EFBIG: the graph is too large and tangled
 * (sparse_order.h); -ENODATA: there are blocks and no cost is known.
 */
int flow_likelihood_solve(struct flow_likelihood *work, const struct flow_graph *graph,
			  const double *events, const double *cost_events,
			  const struct flow_likelihood_options *options,
			  struct flow_likelihood_result *result);
void flow_likelihood_release(struct flow_likelihood *work); /* also right for a zeroed one */
