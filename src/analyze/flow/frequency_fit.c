/*
 * The fit of each model, from the estimates in the order of docs/methods.md, "Frequencies".
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/frequency_private.h"
#include "base/cleanup.h"

/* Estimates of classes that are farther than that from the fit get less weight: relative, and in
 * standard errors. Then rounds of reweighting at most, and the change of a weight that needs no
 * further round. */
#define OUTLIER_RATIO	0.1
#define OUTLIER_ERRORS	3.0
#define REWEIGHT_ROUNDS 5
#define SAME_WEIGHT	0.05

/* Samples above the expected that are no stall yet: relative to it, and in its errors. */
#define UNSTALLED_RATIO	 0.1
#define UNSTALLED_ERRORS 3.0
#define UNSTALLED_ROUNDS 3
/* Edges a block; where computed gotos make more, the prior events of all edges are no more. */
#define USUAL_EDGES 2.0

/* How often one branch stack may hold the same branch. */
#define COUNTED_AT_ONCE 32.0

/* Each class's samples by the cost of an execution, stalls and all. */
static void estimate_by_sums(struct frequency_work *work)
{
	for (uint32_t class = 0; class < work->classes.count; class ++) {
		struct frequency_own *own = &work->own[class];
		if (own->cost <= 0)
			continue;
		own->value = own->samples / own->cost;
		own->error = sqrt(fmax(own->samples, 1)) / own->cost;
		own->source = FREQUENCY_SUM;
	}
}

/* In order: the lowest clusters of points (flow_clusters.h). 0 or -ENOMEM. */
static int estimate_classes(struct frequency_work *work)
{
	static const enum frequency_source sources[] = {
		[FLOW_CLUSTERS_UNKNOWN] = FREQUENCY_UNKNOWN,
		[FLOW_CLUSTERS_SUM] = FREQUENCY_SUM,
		[FLOW_CLUSTERS_LOWEST] = FREQUENCY_CLUSTER,
	};
	const struct frequency_input *input = work->input;
	CLEANUP(free_pointer)
	struct flow_clusters *points = calloc((size_t)work->classes.count + 1, sizeof(*points));
	if (!points)
		return -ENOMEM;
	struct flow_clusters_code code = { .instruction_count = input->instruction_count,
					   .block_count = work->graph->block_count,
					   .class_count = work->classes.count,
					   .blocks = input->blocks,
					   .class_of_block = work->classes.of_block,
					   .issue_cycles = input->issue_cycles,
					   .waits_for = input->waits_for };
	int ret = flow_clusters_estimate(&code, input->samples, points);
	for (uint32_t class = 0; ret == 0 && class < work->classes.count; class ++) {
		work->own[class].value = points[class].executions;
		work->own[class].error = points[class].standard_error;
		work->own[class].source = sources[points[class].kind];
		work->own[class].points = points[class].in_cluster;
	}
	return ret;
}

struct flow_likelihood_options frequency_by_samples(const struct frequency_work *work)
{
	struct flow_likelihood_options options = FLOW_LIKELIHOOD_DEFAULTS;
	const struct flow_graph *graph = work->graph;
	if ((double)graph->edge_count > USUAL_EDGES * graph->block_count)
		options.mu_events *= USUAL_EDGES * graph->block_count / (double)graph->edge_count;
	return options;
}

/* From fit_events and fit_costs; where that fails the fit is not converged. 0 or -ENOMEM. */
static int solve_likelihood(struct frequency_work *work,
			    const struct flow_likelihood_options *options)
{
	int ret = flow_likelihood_solve(&work->likelihood, work->graph, work->fit_events,
					work->fit_costs, options, &work->fit);
	if (ret < 0)
		work->fit = (struct flow_likelihood_result){ .converged = false };
	return ret == -ENOMEM ? ret : 0;
}

/* 1 within the usual distance from the fit, beyond it the square of usual over actual distance. */
static double weight_of(const struct frequency_own *own, double fitted)
{
	double off = fabs(fitted - own->value);
	double usual = fmax(OUTLIER_RATIO * own->value, OUTLIER_ERRORS * own->error);
	return off <= usual ? 1 : usual / off * (usual / off);
}

/* Makes the estimate of each class the number of events that would have the same error. */
static void set_events_by_classes(struct frequency_work *work)
{
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		const struct frequency_own *own = frequency_own_of(work, block);
		work->fit_events[block] = 0;
		work->fit_costs[block] = NAN;
		if (isnan(own->value) || work->costs[block] <= 0)
			continue;
		work->fit_costs[block] = work->costs[block];
		if (own->value <= 0)
			continue;
		double stalled = own->source == FREQUENCY_SUM ? STALLED_RATIO : 0;
		double error = own->error / own->value;
		work->fit_events[block] =
			work->costs[block] / own->cost / (error * error + stalled * stalled);
		work->fit_costs[block] = work->fit_events[block] / own->value;
	}
}

/*
 * Gives these events new weights by how far the last fit is from each estimate, so that one bad
 * estimate does not move the good ones. `weights`, by block, are those of the last fit, and become
 * those of the next. Whether any of them changed.
 */
static bool reweight_classes(struct frequency_work *work, double *weights)
{
	bool changed = false;
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		if (work->fit_events[block] <= 0)
			continue;
		double now =
			weight_of(frequency_own_of(work, block), work->fit.block_executions[block]);
		changed |= fabs(now - weights[block]) > SAME_WEIGHT;
		work->fit_events[block] *= now / weights[block];
		work->fit_costs[block] *= now / weights[block];
		weights[block] = now;
	}
	return changed;
}

/* From the estimates of classes, iteratively reweighted. 0 or -ENOMEM. */
static int fit_classes(struct frequency_work *work, const struct flow_likelihood_options *options)
{
	CLEANUP(free_pointer)
	double *weights = calloc((size_t)work->graph->block_count + 1, sizeof(*weights));
	if (!weights)
		return -ENOMEM;
	for (uint32_t block = 0; block < work->graph->block_count; block++)
		weights[block] = 1;
	set_events_by_classes(work);
	int ret = solve_likelihood(work, options);
	for (int i = 0; ret == 0 && work->fit.converged && i < REWEIGHT_ROUNDS; i++) {
		if (!reweight_classes(work, weights))
			break;
		ret = solve_likelihood(work, options);
	}
	return ret;
}

static bool is_unstalled(double samples, double expected)
{
	return samples <=
	       expected + fmax(UNSTALLED_RATIO * expected, UNSTALLED_ERRORS * sqrt(expected) + 1);
}

/*
 * Sets work->unstalled of a block's instructions, as if it ran that often. A window
 * (flow_clusters_window()) without a stall clears all of its instructions. In one with a stall the
 * last instruction is clear if it alone takes cycles there and has about the samples of these.
 */
static void mark_unstalled(struct frequency_work *work, struct flow_range range, double executions)
{
	const struct frequency_input *input = work->input;
	for (uint32_t i = range.first; i < range.end; i++)
		work->unstalled[i] = false;
	for (uint32_t i = range.first; i < range.end; i++) {
		double samples = 0, cycles = 0, expected = executions * input->issue_cycles[i];
		if (input->issue_cycles[i] <= 0)
			continue;
		uint32_t from = flow_clusters_window(input->issue_cycles, input->waits_for,
						     input->samples, range.first, i);
		for (uint32_t k = from; k <= i; k++) {
			samples += input->samples[k];
			cycles += input->issue_cycles[k];
		}
		if (!is_unstalled(samples, executions * cycles)) {
			from = i;
			if (cycles > input->issue_cycles[i] ||
			    input->samples[i] < (1 - UNSTALLED_RATIO) * expected ||
			    !is_unstalled(input->samples[i], expected))
				continue;
		}
		for (uint32_t k = from; k <= i; k++)
			work->unstalled[k] = true;
	}
}

/* Makes the samples and cycles of the instructions that did not stall, if the last fit is right,
 * the events and costs of the next. Whether there are any. */
static bool set_events_by_unstalled(struct frequency_work *work)
{
	const struct frequency_input *input = work->input;
	bool any = false;
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		struct flow_range range = input->blocks[block];
		double samples = 0, cycles = 0;
		mark_unstalled(work, range, work->fit.block_executions[block]);
		for (uint32_t i = range.first; i < range.end; i++) {
			if (!work->unstalled[i])
				continue;
			samples += input->samples[i];
			cycles += input->issue_cycles[i];
		}
		any |= cycles > 0;
		work->fit_events[block] = cycles > 0 ? samples : 0;
		work->fit_costs[block] = cycles > 0 ? cycles : NAN;
	}
	return any;
}

static int fit_in_order(struct frequency_work *work)
{
	int ret = estimate_classes(work);
	if (ret < 0)
		return ret;
	const struct flow_likelihood_options options = frequency_by_samples(work);
	ret = fit_classes(work, &options);
	for (int i = 0; ret == 0 && work->fit.converged && i < UNSTALLED_ROUNDS; i++)
		if (set_events_by_unstalled(work))
			ret = solve_likelihood(work, &options);
	return ret;
}

/* Replaces the fit's executions by the posterior's, unless that fails. 0 or -ENOMEM. */
static int solve_posterior(struct frequency_work *work)
{
	struct flow_posterior_options options = FLOW_POSTERIOR_DEFAULTS;
	struct flow_posterior_result moved;
	int ret = flow_posterior_solve(&work->posterior, work->graph, work->fit_events,
				       work->fit_costs, work->input->evidence, &work->fit, &options,
				       &moved);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	work->fit.block_executions = moved.block_executions;
	work->fit.edge_executions = moved.edge_executions;
	work->source = FREQUENCY_POSTERIOR;
	return 0;
}

static bool has_evidence(const struct frequency_input *input)
{
	if (input->model != FREQUENCY_CYCLES_OUT_OF_ORDER || !input->evidence)
		return false;
	for (size_t i = 0; i < input->graph->edge_count; i++)
		if (input->evidence[i] > 0)
			return true;
	return false;
}

static int fit_all(struct frequency_work *work)
{
	estimate_by_sums(work);
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		work->fit_events[block] = work->samples[block];
		work->fit_costs[block] = work->costs[block] > 0 ? work->costs[block] : NAN;
	}
	work->source = FREQUENCY_LIKELIHOOD;
	const struct flow_likelihood_options options = frequency_by_samples(work);
	int ret = solve_likelihood(work, &options);
	return ret < 0 || !has_evidence(work->input) ? ret : solve_posterior(work);
}

/*
 * The edges out of a block tell how often it ran, so its own count is used only where no edge out
 * of it was seen. As one branch stack may hold the same branch COUNTED_AT_ONCE times, counts are
 * divided by that, so that their errors are right.
 */
static int fit_counts(struct frequency_work *work)
{
	const struct flow_graph *graph = work->graph;
	const struct frequency_input *input = work->input;
	struct flow_likelihood_options options = FLOW_LIKELIHOOD_DEFAULTS;
	CLEANUP(free_pointer)
	double *edges = calloc(2 * graph->edge_count + graph->block_count + 1, sizeof(*edges));
	if (!edges)
		return -ENOMEM;
	double *costs = edges + graph->edge_count, *left = costs + graph->edge_count;
	for (size_t i = 0; i < graph->edge_count; i++)
		if (graph->edges[i].from != FLOW_OUTSIDE)
			left[graph->edges[i].from] += input->counted_edges[i];
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t from = graph->edges[i].from;
		bool counts = from != FLOW_OUTSIDE &&
			      (left[from] > 0 || input->counted_blocks[from] <= 0);
		edges[i] = counts ? input->counted_edges[i] / COUNTED_AT_ONCE : 0;
		costs[i] = counts ? 1 / COUNTED_AT_ONCE : NAN;
	}
	for (uint32_t block = 0; block < graph->block_count; block++) {
		bool counts = left[block] <= 0 && input->counted_blocks[block] > 0;
		work->fit_events[block] =
			counts ? input->counted_blocks[block] / COUNTED_AT_ONCE : 0;
		work->fit_costs[block] = counts ? 1 / COUNTED_AT_ONCE : NAN;
	}
	options.edge_events = edges;
	options.edge_cost_events = costs;
	work->source = FREQUENCY_COUNTED;
	estimate_by_sums(work);
	return solve_likelihood(work, &options);
}

int frequency_fit(struct frequency_work *work)
{
	switch (work->input->model) {
	case FREQUENCY_CYCLES_IN_ORDER:
		return fit_in_order(work);
	case FREQUENCY_COUNTS:
		return fit_counts(work);
	default:
		return fit_all(work);
	}
}
