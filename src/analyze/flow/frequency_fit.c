/*
 * One estimate of each model: the order of asking is docs/methods.md, "Frequencies".
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/frequency_private.h"
#include "base/cleanup.h"

/* Estimates of classes that are so far from the fit are believed less: in parts of them or in
 * errors. */
#define BELIEVED_RATIO	0.1
#define BELIEVED_ERRORS 3.0
#define BELIEVED_ROUNDS 5
#define BELIEVED_AS_BEFORE                                                                         \
	0.05 /* what a belief may have changed by in a round that needs no other */

/* Samples above what is expected that are no stall yet: in parts of it or in its errors. */
#define UNSTALLED_RATIO	 0.1
#define UNSTALLED_ERRORS 3.0
#define UNSTALLED_ROUNDS 3
/* Edges a block; where computed gotos make more, they share the events that are in none. */
#define USUAL_EDGES 2.0

/* Of a branch stack: how often it may see the same branch. */
#define COUNTED_AT_ONCE 32.0

/* Where every sample is of an execution. */
static void add_up(struct frequency_work *work)
{
	for (uint32_t class = 0; class < work->classes.count; class ++) {
		struct frequency_say *say = &work->say[class];
		if (say->cost <= 0)
			continue;
		say->value = say->samples / say->cost;
		say->error = sqrt(fmax(say->samples, 1)) / say->cost;
		say->source = FREQUENCY_SUM;
	}
}

static int ask_points(struct frequency_work *work)
{
	static const enum frequency_source sources[] = {
		[FLOW_POINTS_NONE] = FREQUENCY_UNKNOWN,
		[FLOW_POINTS_SUM] = FREQUENCY_SUM,
		[FLOW_POINTS_CLUSTER] = FREQUENCY_CLUSTER,
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
		work->say[class].value = points[class].executions;
		work->say[class].error = points[class].standard_error;
		work->say[class].source = sources[points[class].kind];
		work->say[class].points = points[class].in_cluster;
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

/* Without an answer all of it is NaN. 0 or -ENOMEM. */
static int ask_likelihood(struct frequency_work *work,
			  const struct flow_likelihood_options *options)
{
	int ret = flow_likelihood_solve(&work->likelihood, work->graph, work->fit_events,
					work->fit_costs, options, &work->fit);
	if (ret < 0)
		work->fit = (struct flow_likelihood_result){ .converged = false };
	return ret == -ENOMEM ? ret : 0;
}

/* One that is off by more than is usual loses its weight by the square of how much. */
static double belief(const struct frequency_say *say, double fitted)
{
	double off = fabs(fitted - say->value);
	double usual = fmax(BELIEVED_RATIO * say->value, BELIEVED_ERRORS * say->error);
	return off <= usual ? 1 : usual / off * (usual / off);
}

/* The estimates of classes, each as as many events as would have its error. */
static void ask_of_classes(struct frequency_work *work)
{
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		const struct frequency_say *say = frequency_said_of(work, block);
		work->fit_events[block] = 0;
		work->fit_costs[block] = NAN;
		if (isnan(say->value) || work->costs[block] <= 0)
			continue;
		work->fit_costs[block] = work->costs[block];
		if (say->value <= 0)
			continue;
		double stalled = say->source == FREQUENCY_SUM ? STALLED_RATIO : 0;
		double error = say->error / say->value;
		work->fit_events[block] =
			work->costs[block] / say->cost / (error * error + stalled * stalled);
		work->fit_costs[block] = work->fit_events[block] / say->value;
	}
}

/*
 * The same by as much as the last fit believes them, so that one bad estimate does not move the
 * good ones: `beliefs`, by block, are what they were asked by. Whether any of them changed.
 */
static bool ask_of_believed(struct frequency_work *work, double *beliefs)
{
	bool changed = false;
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		if (work->fit_events[block] <= 0)
			continue;
		double now =
			belief(frequency_said_of(work, block), work->fit.block_executions[block]);
		changed |= fabs(now - beliefs[block]) > BELIEVED_AS_BEFORE;
		work->fit_events[block] *= now / beliefs[block];
		work->fit_costs[block] *= now / beliefs[block];
		beliefs[block] = now;
	}
	return changed;
}

/* From the estimates of classes, those that do not fit the others left out. 0 or -ENOMEM. */
static int fit_classes(struct frequency_work *work, const struct flow_likelihood_options *options)
{
	CLEANUP(free_pointer)
	double *beliefs = calloc((size_t)work->graph->block_count + 1, sizeof(*beliefs));
	if (!beliefs)
		return -ENOMEM;
	for (uint32_t block = 0; block < work->graph->block_count; block++)
		beliefs[block] = 1;
	ask_of_classes(work);
	int ret = ask_likelihood(work, options);
	for (int i = 0; ret == 0 && work->fit.converged && i < BELIEVED_ROUNDS; i++) {
		if (!ask_of_believed(work, beliefs))
			break;
		ret = ask_likelihood(work, options);
	}
	return ret;
}

static bool is_unstalled(double samples, double expected)
{
	return samples <=
	       expected + fmax(UNSTALLED_RATIO * expected, UNSTALLED_ERRORS * sqrt(expected) + 1);
}

/* One stands for all of its window; or alone, if what else stalled there did not take it along. */
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

/* Samples of the instructions that did not stall if the last fit is right. Whether there are any.
 */
static bool ask_of_unstalled(struct frequency_work *work)
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
	int ret = ask_points(work);
	if (ret < 0)
		return ret;
	const struct flow_likelihood_options options = frequency_by_samples(work);
	ret = fit_classes(work, &options);
	for (int i = 0; ret == 0 && work->fit.converged && i < UNSTALLED_ROUNDS; i++)
		if (ask_of_unstalled(work))
			ret = ask_likelihood(work, &options);
	return ret;
}

/* Moves the fit by the branches that were seen; without an answer it stays. 0 or -ENOMEM. */
static int ask_posterior(struct frequency_work *work)
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
	add_up(work);
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		work->fit_events[block] = work->samples[block];
		work->fit_costs[block] = work->costs[block] > 0 ? work->costs[block] : NAN;
	}
	work->source = FREQUENCY_LIKELIHOOD;
	const struct flow_likelihood_options options = frequency_by_samples(work);
	int ret = ask_likelihood(work, &options);
	return ret < 0 || !has_evidence(work->input) ? ret : ask_posterior(work);
}

/*
 * What leaves a block tells how often it ran, so blocks say nothing beside; but those that nothing
 * was seen to leave. A stack of branches sees the same ones many times at once: errors are those of
 * as many fewer counts.
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
		bool told = from != FLOW_OUTSIDE &&
			    (left[from] > 0 || input->counted_blocks[from] <= 0);
		edges[i] = told ? input->counted_edges[i] / COUNTED_AT_ONCE : 0;
		costs[i] = told ? 1 / COUNTED_AT_ONCE : NAN;
	}
	for (uint32_t block = 0; block < graph->block_count; block++) {
		bool told = left[block] <= 0 && input->counted_blocks[block] > 0;
		work->fit_events[block] = told ? input->counted_blocks[block] / COUNTED_AT_ONCE : 0;
		work->fit_costs[block] = told ? 1 / COUNTED_AT_ONCE : NAN;
	}
	options.edge_events = edges;
	options.edge_cost_events = costs;
	work->source = FREQUENCY_COUNTED;
	add_up(work);
	return ask_likelihood(work, &options);
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
