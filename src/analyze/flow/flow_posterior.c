#include "analyze/flow/flow_posterior.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_likelihood.h"
#include "analyze/flow/minimise.h"
#include "base/cleanup.h"
#include "base/count_of.h"

/* Degrees of freedom of Student's distribution of a block's cost: a few may be far off. */
#define FREEDOM 4.0
/* The part of a block's prior that all ways out share evenly, so that none is impossible. */
#define EVEN_SHARE 0.02
/* The least flow from outside, relative to the largest of a block, and the standard error of the
 * logarithm of a flow from outside. */
#define LEAST_ENTRY 1e-4
#define ENTRY_ERROR 5.0
/* Added to the events of a block, so that they have a logarithm. */
#define HALF_EVENT 0.5
#define LEAST_GAIN 1e-9
/* A guess of what samples add to the curvature by a way's odds. Only time depends on it. */
#define BRANCH_CURVATURE 2.0
#define LEAST_CURVATURE	 1e-2

/*
 * The variable of a way out of a block is the logarithm of its odds, that of a way in from outside
 * is the logarithm of its flow. Where a block has one way out, nothing depends on it.
 */
struct flow_posterior_model {
	struct sparse_chain *chain;
	const struct flow_graph *graph;
	const struct flow_edge *made_up;
	const double *events; /* by block */
	size_t edge_count;    /* with made-up ones, which come last */
	uint32_t block_count;
	/* by edge */
	double *variables, *start, *curvature;
	double *counts; /* m_e, of ways out */
	double *ratios; /* P_e, of ways out */
	double *flows;
	double *packed; /* the ratios of ways out alone, for the chain */
	/* by block */
	double *wanted, *weight; /* logarithm of its executions by its events, and 1 / error or 0 */
	double *ways, *count_sum;
	double *visits, *values;
	double *most, *sum; /* scratch, over its ways out */
	double memory[];
};

void flow_posterior_release(struct flow_posterior *work)
{
	sparse_chain_release(&work->chain);
	free(work->model);
	*work = (struct flow_posterior){ 0 };
}

static int allocate(struct flow_posterior *work, const struct flow_graph *graph,
		    const struct flow_likelihood_result *prior)
{
	size_t edges = graph->edge_count + prior->made_up_count, blocks = graph->block_count;
	free(work->model);
	work->model = calloc(1, sizeof(*work->model) + (7 * edges + 8 * blocks) * sizeof(double));
	struct flow_posterior_model *model = work->model;
	if (!model)
		return -ENOMEM;
	*model = (struct flow_posterior_model){ .chain = &work->chain,
						.graph = graph,
						.made_up = prior->made_up,
						.edge_count = edges,
						.block_count = graph->block_count };
	double **by_edge[] = { &model->variables, &model->start, &model->curvature, &model->counts,
			       &model->ratios,	  &model->flows, &model->packed };
	double **by_block[] = { &model->wanted, &model->weight, &model->ways, &model->count_sum,
				&model->visits, &model->values, &model->most, &model->sum };
	double *next = model->memory;
	for (size_t i = 0; i < COUNT_OF(by_edge); i++, next += edges)
		*by_edge[i] = next;
	for (size_t i = 0; i < COUNT_OF(by_block); i++, next += blocks)
		*by_block[i] = next;
	return 0;
}

static const struct flow_edge *edge_at(const struct flow_posterior_model *model, size_t i)
{
	return i < model->graph->edge_count ? &model->graph->edges[i]
					    : &model->made_up[i - model->graph->edge_count];
}

static int analyse(struct flow_posterior_model *model)
{
	CLEANUP(free_pointer)
	struct sparse_edge *ways = calloc(model->edge_count + 1, sizeof(*ways));
	size_t count = 0;
	if (!ways)
		return -ENOMEM;
	for (size_t i = 0; i < model->edge_count; i++) {
		const struct flow_edge *edge = edge_at(model, i);
		if (edge->from != FLOW_OUTSIDE)
			ways[count++] = (struct sparse_edge){ edge->from, edge->to == FLOW_OUTSIDE
										  ? SPARSE_GROUND
										  : edge->to };
	}
	return sparse_chain_analyse(model->chain, model->block_count, ways, count);
}

/* Sets `wanted` and `weight`, by samples. */
static void describe_blocks(struct flow_posterior_model *model, const double *events,
			    const double *costs, const struct flow_posterior_options *options)
{
	double error = options->cost_error;
	model->events = events;
	for (uint32_t block = 0; block < model->block_count; block++) {
		double seen = events[block] + HALF_EVENT;
		if (isnan(costs[block]))
			continue;
		model->wanted[block] = log(seen / costs[block]);
		model->weight[block] = 1 / sqrt(error * error + 1 / seen);
	}
}

/* Sets `counts`: the branches that were seen, and the prior by the likelihood's flow. */
static void describe_ways(struct flow_posterior_model *model, const double *evidence,
			  const struct flow_likelihood_result *prior,
			  const struct flow_posterior_options *options)
{
	size_t graph_edges = model->graph->edge_count;
	for (size_t i = 0; i < model->edge_count; i++) {
		const struct flow_edge *edge = edge_at(model, i);
		model->flows[i] = i < graph_edges ? prior->edge_executions[i]
						  : prior->made_up_executions[i - graph_edges];
		if (edge->from == FLOW_OUTSIDE)
			continue;
		model->ways[edge->from]++;
		model->sum[edge->from] += model->flows[i];
	}
	for (size_t i = 0; i < model->edge_count; i++) {
		uint32_t from = edge_at(model, i)->from;
		if (from == FLOW_OUTSIDE)
			continue;
		double likely = (1 - EVEN_SHARE) * model->flows[i] / model->sum[from] +
				EVEN_SHARE / model->ways[from];
		model->counts[i] =
			(i < graph_edges ? evidence[i] : 0) + options->prior_counts * likely;
		model->count_sum[from] += model->counts[i];
	}
}

/* Sets where to start, and the curvature of the objective there. */
static void set_out(struct flow_posterior_model *model, const struct flow_likelihood_result *prior)
{
	double largest = DBL_MIN, entries = 0, information = 0;
	for (uint32_t block = 0; block < model->block_count; block++) {
		largest = fmax(largest, prior->block_executions[block]);
		information += model->weight[block] * model->weight[block];
	}
	for (size_t i = 0; i < model->edge_count; i++)
		if (edge_at(model, i)->from == FLOW_OUTSIDE)
			entries += fmax(model->flows[i], LEAST_ENTRY * largest);
	for (size_t i = 0; i < model->edge_count; i++) {
		uint32_t from = edge_at(model, i)->from;
		if (from == FLOW_OUTSIDE) {
			double flow = fmax(model->flows[i], LEAST_ENTRY * largest);
			model->variables[i] = log(flow);
			model->curvature[i] =
				1 / (ENTRY_ERROR * ENTRY_ERROR) + information * flow / entries;
		} else {
			double ratio = model->counts[i] / model->count_sum[from];
			model->variables[i] = log(ratio);
			model->curvature[i] =
				(model->count_sum[from] + BRANCH_CURVATURE) * ratio * (1 - ratio) +
				LEAST_CURVATURE;
		}
		model->start[i] = model->variables[i];
	}
}

/* Ratios of ways out from their odds. Returns the logarithm of their likelihood. */
static double find_ratios(struct flow_posterior_model *model, const double *variables)
{
	double likelihood = 0;
	size_t way = 0;
	for (uint32_t block = 0; block < model->block_count; block++) {
		model->most[block] = -INFINITY;
		model->sum[block] = 0;
	}
	for (size_t i = 0; i < model->edge_count; i++) {
		uint32_t from = edge_at(model, i)->from;
		if (from != FLOW_OUTSIDE)
			model->most[from] = fmax(model->most[from], variables[i]);
	}
	for (size_t i = 0; i < model->edge_count; i++) {
		uint32_t from = edge_at(model, i)->from;
		if (from == FLOW_OUTSIDE)
			continue;
		model->ratios[i] = exp(variables[i] - model->most[from]);
		model->sum[from] += model->ratios[i];
	}
	for (size_t i = 0; i < model->edge_count; i++) {
		uint32_t from = edge_at(model, i)->from;
		if (from == FLOW_OUTSIDE)
			continue;
		model->ratios[i] /= model->sum[from];
		model->packed[way++] = model->ratios[i];
		likelihood += model->counts[i] *
			      (variables[i] - model->most[from] - log(model->sum[from]));
	}
	return likelihood;
}

/* Executions of all blocks for those ratios and the flows from outside. 0 or -EDOM. */
static int find_visits(struct flow_posterior_model *model, const double *variables)
{
	int ret = sparse_chain_factor(model->chain, model->packed);
	if (ret < 0)
		return ret;
	for (uint32_t block = 0; block < model->block_count; block++)
		model->visits[block] = 0;
	for (size_t i = 0; i < model->edge_count; i++) {
		const struct flow_edge *edge = edge_at(model, i);
		if (edge->from != FLOW_OUTSIDE)
			continue;
		model->flows[i] = exp(variables[i]);
		model->visits[edge->to] += model->flows[i];
	}
	sparse_chain_visits(model->chain, model->visits);
	for (uint32_t block = 0; block < model->block_count; block++)
		if (!(model->visits[block] >= DBL_MIN) || !isfinite(model->visits[block]))
			return -EDOM;
	return 0;
}

/* Log likelihood of the samples; into `values` its derivative by each block's executions. */
static double judge_visits(struct flow_posterior_model *model)
{
	double likelihood = 0;
	for (uint32_t block = 0; block < model->block_count; block++) {
		double weight = model->weight[block];
		double off = (model->wanted[block] - log(model->visits[block])) * weight;
		model->values[block] = 0;
		/* without events, no number of executions is too small */
		if (weight == 0 || (model->events[block] <= 0 && off > 0))
			continue;
		likelihood -= (FREEDOM + 1) / 2 * log1p(off * off / FREEDOM);
		model->values[block] =
			(FREEDOM + 1) * off / (FREEDOM + off * off) * weight / model->visits[block];
	}
	return likelihood;
}

/* After sparse_chain_values(): the gradient of what is minimised. */
static void find_gradient(struct flow_posterior_model *model, const double *variables,
			  double *gradient)
{
	for (uint32_t block = 0; block < model->block_count; block++)
		model->sum[block] = 0;
	for (size_t i = 0; i < model->edge_count; i++) {
		const struct flow_edge *edge = edge_at(model, i);
		if (edge->from == FLOW_OUTSIDE)
			continue;
		gradient[i] = edge->to == FLOW_OUTSIDE
				      ? 0
				      : model->visits[edge->from] * model->values[edge->to];
		model->sum[edge->from] += model->ratios[i] * gradient[i];
	}
	for (size_t i = 0; i < model->edge_count; i++) {
		const struct flow_edge *edge = edge_at(model, i);
		if (edge->from == FLOW_OUTSIDE)
			gradient[i] =
				(variables[i] - model->start[i]) / (ENTRY_ERROR * ENTRY_ERROR) -
				model->values[edge->to] * model->flows[i];
		else
			gradient[i] = model->count_sum[edge->from] * model->ratios[i] -
				      model->counts[i] -
				      model->ratios[i] * (gradient[i] - model->sum[edge->from]);
	}
}

static double evaluate(void *context, const double *variables, double *gradient)
{
	struct flow_posterior_model *model = context;
	double likelihood = find_ratios(model, variables);
	if (find_visits(model, variables) < 0)
		return INFINITY;
	likelihood += judge_visits(model);
	for (size_t i = 0; i < model->edge_count; i++) {
		double off = (variables[i] - model->start[i]) / ENTRY_ERROR;
		if (edge_at(model, i)->from == FLOW_OUTSIDE)
			likelihood -= off * off / 2;
	}
	sparse_chain_values(model->chain, model->values);
	find_gradient(model, variables, gradient);
	return -likelihood;
}

/* An evaluation's operations are about the squares of the factor's columns. */
static unsigned most_evaluations(const struct flow_posterior_model *model,
				 const struct flow_posterior_options *options)
{
	const size_t *start = model->chain->columns.start;
	double operations = 1;
	for (uint32_t at = 0; at < model->block_count; at++) {
		double entries = (double)(start[at + 1] - start[at]);
		operations += entries * entries + 1;
	}
	return (unsigned)fmin(options->most_evaluations, 1 + options->most_operations / operations);
}

int flow_posterior_solve(struct flow_posterior *work, const struct flow_graph *graph,
			 const double *events, const double *cost_events, const double *evidence,
			 const struct flow_likelihood_result *prior,
			 const struct flow_posterior_options *options,
			 struct flow_posterior_result *result)
{
	assert(options->prior_counts > 0 && options->cost_error > 0);
	if (!prior->converged)
		return -ENODATA;
	int ret = allocate(work, graph, prior);
	if (ret == 0)
		ret = analyse(work->model);
	if (ret < 0)
		return ret;
	struct flow_posterior_model *model = work->model;
	describe_blocks(model, events, cost_events, options);
	describe_ways(model, evidence, prior, options);
	set_out(model, prior);
	struct minimise_problem problem = { .function = evaluate,
					    .context = model,
					    .count = model->edge_count,
					    .curvature = model->curvature,
					    .most_evaluations = most_evaluations(model, options),
					    .least_gain = LEAST_GAIN };
	struct minimise_result found;
	ret = minimise(&problem, model->variables, &found);
	if (ret < 0)
		return ret;
	find_ratios(model, model->variables);
	ret = find_visits(model, model->variables);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < model->edge_count; i++) {
		uint32_t from = edge_at(model, i)->from;
		if (from != FLOW_OUTSIDE)
			model->flows[i] = model->visits[from] * model->ratios[i];
	}
	*result = (struct flow_posterior_result){
		.converged = found.converged,
		.evaluations = found.evaluations,
		.block_executions = model->visits,
		.edge_executions = model->flows,
		.made_up_executions = model->flows + graph->edge_count,
	};
	return 0;
}
