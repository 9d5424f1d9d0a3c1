#include "analyze/flow/frequency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/flow_classes.h"
#include "analyze/flow/flow_distance.h"
#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_least.h"
#include "analyze/flow/flow_likelihood.h"
#include "analyze/flow/flow_posterior.h"
#include "analyze/flow/flow_search.h"
#include "base/cleanup.h"
#include "base/count_of.h"

/* Of the least cost: the part of an estimate that is off anyway, an execution less over one more.
 */
#define OFF_ANYWAY  0.1
#define BELOW_RATIO 0.6
/* Prices of ways from and to outside, over that of the largest estimate: few, made-up ones last. */
#define ENTRY_PRICE   1e-3
#define EXIT_PRICE    1e-2
#define MADE_UP_PRICE 1e-1

/* Estimates so far from the least cost's are not believed: in parts of them or in errors. */
#define BELIEVED_RATIO	0.1
#define BELIEVED_ERRORS 3.0
/* What a sum is off by stalls, in parts of it. */
#define STALLED_RATIO 0.3

/* Samples above what is expected that are no stall yet: in parts of it or in its errors. */
#define UNSTALLED_RATIO	 0.1
#define UNSTALLED_ERRORS 3.0
#define UNSTALLED_ROUNDS 3
/* Edges a block; where computed gotos make more, they share the events that are in none. */
#define USUAL_EDGES 2.0

/* What blocks differ by, before any says so, and for how many blocks that stands. */
#define DIFFER_RATIO  0.02
#define DIFFER_BLOCKS 3.0
/* Expected samples from which on a block tells no more of that. */
#define DIFFER_SAMPLES 1000.0

/* Expected samples from which on a stall would be seen; of how many instructions it is taken
 * what part of them stalls, before any is seen. */
#define STALL_SAMPLES 10.0
#define UNSEEN_STALLS 3.0
#define UNSEEN_RATIO  0.3
/* By how many of its lengths an interval grows for each part of instructions that stall. */
#define STALLED_BELOW 4.0
#define STALLED_ABOVE 2.0

#define AGREE_RATIO  0.1
#define HIGH_SAMPLES 400.0
#define HIGH_WIDTH   0.1  /* of half the interval, without what stalls add to it */
#define HIGH_DOUBT   0.15 /* of the same with what points of a class differ by */
#define MEDIUM_WIDTH 0.12 /* of the interval, up and down */

/*
 * Out of order: variances of the logarithm, half of a 95 % interval in their roots, and up to what
 * half of it is medium. A block beside the one with the most samples is off by DISTANCE_RATIO times
 * their distance, by no more than what its own samples leave, and by LEAST_ERROR anyway.
 */
#define DISTANCE_RATIO 16.0
#define LEAST_ERROR    0.04
#define MOST_ERROR     3.0
#define MEDIUM_LOG     0.25
static const struct relative_error {
	double own_error; /* of a block's own cost */
	double half_width;
} with_branches = { 0.3, 2.2 }, without_branches = { 0.5, 3 };

/* Of a branch stack: how often it may see the same branch. */
#define COUNTED_AT_ONCE 32.0

/* What the samples of a class say, and what the others make of it. */
struct evidence {
	double value, error;  /* by its own samples; NaN when not known */
	double samples, cost; /* over all of its blocks */
	double least;	      /* by the least cost; NaN in other models */
	double events;	      /* of the fit, over all of its blocks */
	enum frequency_source source;
	uint32_t points; /* that agree on the value */
	uint32_t block;	 /* the first of it; FLOW_OUTSIDE: it has edges only */
};

struct work {
	const struct frequency_input *input;
	const struct flow_graph *graph;
	struct flow_search search;
	struct flow_classes classes;
	struct evidence *say; /* by class */
	/* By block: all samples; cycles (or instructions) expected of an execution. */
	double *samples, *costs;
	double *fit_events, *fit_costs; /* by block: what the likelihood is asked */
	bool *unstalled;		/* by instruction */
	struct flow_likelihood likelihood;
	struct flow_likelihood_result fit; /* executions may be the posterior's */
	struct flow_posterior posterior;
	struct flow_likelihood doubting;
	struct flow_likelihood_result doubt; /* in order: its errors are all that is read */
	enum frequency_source source;	     /* of the fit, unless classes tell */
	double *distances;		     /* by block; out of order only */
	double differ;			     /* variance, relative, of blocks beyond chance */
	double stalled_ratio;		     /* of instructions; 0 in other models */
};

static void work_release(struct work *work)
{
	flow_search_release(&work->search);
	flow_classes_release(&work->classes);
	flow_likelihood_release(&work->likelihood);
	flow_posterior_release(&work->posterior);
	flow_likelihood_release(&work->doubting);
	free(work->say);
	free(work->samples);
	free(work->unstalled);
	free(work->distances);
}

static double cost_of(const struct frequency_input *input, uint32_t instruction)
{
	return input->model == FREQUENCY_CYCLES_IN_ORDER ? input->issue_cycles[instruction] : 1;
}

static struct evidence *said_of(const struct work *work, uint32_t block)
{
	return &work->say[work->classes.of_block[block]];
}

static void add_instructions(struct work *work, uint32_t block)
{
	const struct frequency_input *input = work->input;
	for (uint32_t i = input->blocks[block].first; i < input->blocks[block].end; i++) {
		work->samples[block] += input->samples[i];
		work->costs[block] += cost_of(input, i);
	}
}

static int work_init(struct work *work)
{
	const struct frequency_input *input = work->input;
	size_t count = work->graph->block_count;
	if (flow_search_run(work->graph, &work->search) < 0 ||
	    flow_classes_find(work->graph, &work->search, &work->classes) < 0)
		return -ENOMEM;
	work->say = calloc((size_t)work->classes.count + 1, sizeof(*work->say));
	work->samples = calloc(4 * count + 1, sizeof(*work->samples));
	work->unstalled = calloc((size_t)input->instruction_count + 1, sizeof(*work->unstalled));
	if (!work->say || !work->samples || !work->unstalled)
		return -ENOMEM;
	work->costs = work->samples + count;
	work->fit_events = work->costs + count;
	work->fit_costs = work->fit_events + count;
	for (uint32_t class = 0; class < work->classes.count; class ++)
		work->say[class] = (struct evidence){ .value = NAN,
						      .error = NAN,
						      .least = NAN,
						      .source = FREQUENCY_UNKNOWN,
						      .block = FLOW_OUTSIDE };
	for (uint32_t block = 0; block < count; block++) {
		struct evidence *say = said_of(work, block);
		if (input->model == FREQUENCY_COUNTS) {
			work->samples[block] = input->counted_blocks[block];
			work->costs[block] = 1;
		} else {
			add_instructions(work, block);
		}
		say->samples += work->samples[block];
		say->cost += work->costs[block];
		if (say->block == FLOW_OUTSIDE)
			say->block = block;
	}
	return 0;
}

/* Where every sample is of an execution. */
static void add_up(struct work *work)
{
	for (uint32_t class = 0; class < work->classes.count; class ++) {
		struct evidence *say = &work->say[class];
		if (say->cost <= 0)
			continue;
		say->value = say->samples / say->cost;
		say->error = sqrt(fmax(say->samples, 1)) / say->cost;
		say->source = FREQUENCY_SUM;
	}
}

static int ask_points(struct work *work)
{
	static const enum frequency_source sources[] = {
		[FLOW_POINTS_NONE] = FREQUENCY_UNKNOWN,
		[FLOW_POINTS_SUM] = FREQUENCY_SUM,
		[FLOW_POINTS_CLUSTER] = FREQUENCY_CLUSTER,
	};
	const struct frequency_input *input = work->input;
	CLEANUP(free_pointer)
	struct flow_points *points = calloc((size_t)work->classes.count + 1, sizeof(*points));
	if (!points)
		return -ENOMEM;
	struct flow_points_code code = { .instruction_count = input->instruction_count,
					 .block_count = work->graph->block_count,
					 .class_count = work->classes.count,
					 .blocks = input->blocks,
					 .class_of_block = work->classes.of_block,
					 .issue_cycles = input->issue_cycles,
					 .waits_for = input->waits_for };
	int ret = flow_points_estimate(&code, input->samples, points);
	for (uint32_t class = 0; ret == 0 && class < work->classes.count; class ++) {
		work->say[class].value = points[class].executions;
		work->say[class].error = points[class].standard_error;
		work->say[class].source = sources[points[class].kind];
		work->say[class].points = points[class].in_cluster;
	}
	return ret;
}

/* A class's price is shared among its blocks by what they cost. Returns the largest target. */
static double set_targets(const struct work *work, struct flow_least_target *targets)
{
	double largest = 0;
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		const struct evidence *say = said_of(work, block);
		if (isnan(say->value) || say->cost <= 0)
			continue;
		double least = fmax(say->value, 1 / say->cost), off = OFF_ANYWAY * say->value;
		double price = work->costs[block] / say->cost / sqrt(least / say->cost + off * off);
		targets[block] =
			(struct flow_least_target){ say->value, price, BELOW_RATIO * price };
		largest = fmax(largest, least);
	}
	return largest;
}

static int find_least(struct work *work)
{
	const struct flow_graph *graph = work->graph;
	CLEANUP(flow_least_release) struct flow_least least = { 0 };
	CLEANUP(free_pointer)
	struct flow_least_target *targets =
		calloc((size_t)graph->block_count + 1, sizeof(*targets));
	CLEANUP(free_pointer) double *prices = calloc(graph->edge_count + 1, sizeof(*prices));
	if (!targets || !prices)
		return -ENOMEM;
	double largest = set_targets(work, targets);
	if (largest == 0)
		return 0;
	for (size_t i = 0; i < graph->edge_count; i++)
		if (graph->edges[i].from == FLOW_OUTSIDE)
			prices[i] = ENTRY_PRICE / largest;
		else if (graph->edges[i].to == FLOW_OUTSIDE)
			prices[i] = EXIT_PRICE / largest;
	struct flow_least_input input = { .graph = graph,
					  .targets = targets,
					  .edge_prices = prices,
					  .made_up = work->search.closure.edges,
					  .made_up_count = work->search.closure.count,
					  .made_up_price = MADE_UP_PRICE / largest };
	int ret = flow_least_new(&input, &least);
	for (uint32_t block = 0; ret == 0 && block < graph->block_count; block++)
		said_of(work, block)->least = least.blocks[block];
	return ret;
}

static struct flow_likelihood_options by_samples(const struct work *work)
{
	struct flow_likelihood_options options = FLOW_LIKELIHOOD_DEFAULTS;
	const struct flow_graph *graph = work->graph;
	if ((double)graph->edge_count > USUAL_EDGES * graph->block_count)
		options.mu_events *= USUAL_EDGES * graph->block_count / (double)graph->edge_count;
	return options;
}

/* Without an answer all of it is NaN. 0 or -ENOMEM. */
static int ask_likelihood(struct work *work, const struct flow_likelihood_options *options)
{
	int ret = flow_likelihood_solve(&work->likelihood, work->graph, work->fit_events,
					work->fit_costs, options, &work->fit);
	if (ret < 0)
		work->fit = (struct flow_likelihood_result){ .converged = false };
	return ret == -ENOMEM ? ret : 0;
}

static bool is_believed(const struct evidence *say)
{
	double off = fabs(say->least - say->value);
	return off <= BELIEVED_RATIO * say->value || off <= BELIEVED_ERRORS * say->error;
}

/* Believed estimates, each as as many events as would have its error. */
static void ask_of_classes(struct work *work)
{
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		const struct evidence *say = said_of(work, block);
		work->fit_events[block] = 0;
		work->fit_costs[block] = NAN;
		if (!is_believed(say) || work->costs[block] <= 0)
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

static bool is_unstalled(double samples, double expected)
{
	return samples <=
	       expected + fmax(UNSTALLED_RATIO * expected, UNSTALLED_ERRORS * sqrt(expected) + 1);
}

/* One stands for all of its window; or alone, if what else stalled there did not take it along. */
static void mark_unstalled(struct work *work, struct flow_range range, double executions)
{
	const struct frequency_input *input = work->input;
	for (uint32_t i = range.first; i < range.end; i++)
		work->unstalled[i] = false;
	for (uint32_t i = range.first; i < range.end; i++) {
		double samples = 0, cycles = 0, expected = executions * input->issue_cycles[i];
		if (input->issue_cycles[i] <= 0)
			continue;
		uint32_t from = flow_points_window(input->issue_cycles, input->waits_for,
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
static bool ask_of_unstalled(struct work *work)
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

static int fit_in_order(struct work *work)
{
	int ret = ask_points(work);
	if (ret == 0)
		ret = find_least(work);
	if (ret < 0)
		return ret;
	ask_of_classes(work);
	const struct flow_likelihood_options options = by_samples(work);
	ret = ask_likelihood(work, &options);
	for (int i = 0; ret == 0 && work->fit.converged && i < UNSTALLED_ROUNDS; i++)
		if (ask_of_unstalled(work))
			ret = ask_likelihood(work, &options);
	return ret;
}

/* Moves the fit by the branches that were seen; without an answer it stays. 0 or -ENOMEM. */
static int ask_posterior(struct work *work)
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

static int fit_all(struct work *work)
{
	add_up(work);
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		work->fit_events[block] = work->samples[block];
		work->fit_costs[block] = work->costs[block] > 0 ? work->costs[block] : NAN;
	}
	work->source = FREQUENCY_LIKELIHOOD;
	const struct flow_likelihood_options options = by_samples(work);
	int ret = ask_likelihood(work, &options);
	return ret < 0 || !has_evidence(work->input) ? ret : ask_posterior(work);
}

/*
 * What leaves a block tells how often it ran, so blocks say nothing beside; but those that nothing
 * was seen to leave. A stack of branches sees the same ones many times at once: errors are those of
 * as many fewer counts.
 */
static int fit_counts(struct work *work)
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

/* How much blocks differ from what flow makes of all of them, beyond what chance leaves there. */
static void find_differ(struct work *work)
{
	double squares = DIFFER_BLOCKS * DIFFER_SAMPLES * DIFFER_RATIO * DIFFER_RATIO;
	double weights = DIFFER_BLOCKS * DIFFER_SAMPLES;
	for (uint32_t block = 0; work->fit.converged && block < work->graph->block_count; block++) {
		double expected = work->fit_costs[block] * work->fit.block_executions[block];
		double error = work->fit.block_relative_error[block];
		if (isnan(expected) || expected < 1)
			continue;
		double weight = fmin(expected, DIFFER_SAMPLES);
		double off = work->fit_events[block] / expected - 1;
		double free = fmax(0, 1 - expected * error * error); /* of its own samples' say */
		squares += weight * (off * off - free / expected);
		weights += weight * free;
	}
	work->differ = fmax(0, squares / weights);
}

/* The share of instructions that stall, of those with enough samples to see it. */
static void find_stalled(struct work *work)
{
	const struct frequency_input *input = work->input;
	double seen = UNSEEN_STALLS, stalled = UNSEEN_RATIO * UNSEEN_STALLS;
	for (uint32_t block = 0; work->fit.converged && block < work->graph->block_count; block++) {
		struct flow_range range = input->blocks[block];
		double executions = work->fit.block_executions[block];
		for (uint32_t i = range.first; i < range.end; i++) {
			if (input->issue_cycles[i] * executions < STALL_SAMPLES)
				continue;
			seen++;
			stalled += !work->unstalled[i];
		}
	}
	work->stalled_ratio = stalled / seen;
}

/*
 * What the points of a class differ by beyond chance, as a relative variance. A point that is a
 * cluster alone may stall as a sum may, and nothing shows it. Of sums flow shows it.
 */
static double spread_of(const struct evidence *say)
{
	if (say->source != FREQUENCY_CLUSTER)
		return 0;
	if (say->points < 2)
		return STALLED_RATIO * STALLED_RATIO;
	double own = say->error / say->value;
	return fmax(0, own * own - 1 / fmax(say->samples, 1));
}

/* The same, as far as its own samples are what tells its value. */
static double own_spread(const struct work *work, uint32_t block)
{
	double expected = work->fit_costs[block] * work->fit.block_executions[block];
	double error = work->fit.block_relative_error[block];
	if (!(expected > 0))
		return 0;
	return fmin(1, expected * error * error) * spread_of(said_of(work, block));
}

/*
 * Errors of values where each class knows its own no better than its points agree: as the fit's,
 * with the events of a class as many fewer. So doubt goes where values go.
 */
static int find_doubt(struct work *work)
{
	uint32_t blocks = work->graph->block_count;
	CLEANUP(free_pointer)
	double *events = calloc(2 * (size_t)blocks + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	double *costs = events + blocks;
	for (uint32_t block = 0; block < blocks; block++)
		said_of(work, block)->events += work->fit_events[block];
	for (uint32_t block = 0; block < blocks; block++) {
		const struct evidence *say = said_of(work, block);
		double part = 1 / (1 + say->events * spread_of(say));
		events[block] = part * work->fit_events[block];
		costs[block] = part * work->fit_costs[block];
	}
	const struct flow_likelihood_options options = by_samples(work);
	int ret = flow_likelihood_solve(&work->doubting, work->graph, events, costs, &options,
					&work->doubt);
	if (ret < 0)
		work->doubt = (struct flow_likelihood_result){ .converged = false };
	return ret == -ENOMEM ? ret : 0;
}

/* An error with doubt, from one without; all is doubted where that is not known. */
static double doubted(const struct work *work, double error, const double *relative_error, size_t i)
{
	if (work->input->model != FREQUENCY_CYCLES_IN_ORDER)
		return error;
	if (!work->doubt.converged)
		return INFINITY;
	return fmax(error, sqrt(relative_error[i] * relative_error[i] + work->differ));
}

static bool agree(double a, double b)
{
	return fabs(a - b) <= AGREE_RATIO * b;
}

/*
 * 95 % on the scale of square roots, on which counts have one error, small ones too. Where many
 * stall, some do so by too little to be seen: mostly values are too high.
 */
static void set_interval(const struct work *work, struct frequency *out, double relative_error)
{
	double low = 0.98 * (1 + STALLED_BELOW * work->stalled_ratio);
	double high = 0.98 * (1 + STALLED_ABOVE * work->stalled_ratio);
	double below = fmax(0, 1 - low * relative_error), above = 1 + high * relative_error;
	out->low = out->value * below * below;
	out->high = out->value * above * above;
}

/* From the block with the most samples, by which the others are judged. 0 or -ENOMEM. */
static int find_distances(struct work *work)
{
	uint32_t most = 0;
	work->distances = calloc((size_t)work->graph->block_count + 1, sizeof(*work->distances));
	if (!work->distances)
		return -ENOMEM;
	if (!work->fit.converged || !work->graph->block_count)
		return 0;
	for (uint32_t block = 1; block < work->graph->block_count; block++)
		if (work->samples[block] > work->samples[most])
			most = block;
	return flow_distance_find(
		work->graph, work->fit.block_executions, work->fit.edge_executions,
		work->source == FREQUENCY_POSTERIOR ? work->input->evidence : NULL, most,
		work->distances);
}

static bool is_relative(const struct work *work)
{
	return work->input->model == FREQUENCY_CYCLES_OUT_OF_ORDER;
}

static const struct relative_error *relative_error(const struct work *work)
{
	return work->source == FREQUENCY_POSTERIOR ? &with_branches : &without_branches;
}

/* Of the logarithm of a block's executions, beside the procedure's others. */
static double relative_variance(const struct work *work, uint32_t block)
{
	double own_error = relative_error(work)->own_error;
	double far = DISTANCE_RATIO * work->distances[block];
	if (work->samples[block] <= 0)
		return far;
	double own = own_error * own_error + 1 / work->samples[block];
	return isinf(far) ? own : far * own / (far + own);
}

/* By the nearer of its ends. */
static double relative_variance_of_edge(const struct work *work, size_t i)
{
	const struct flow_edge *edge = &work->graph->edges[i];
	double variance = INFINITY, x = work->fit.edge_executions[i];
	if (edge->from != FLOW_OUTSIDE) {
		struct flow_ends out = flow_graph_out_of(work->graph, edge->from);
		double seen = out.count < 2 ? INFINITY : 0;
		for (size_t k = 0; work->source == FREQUENCY_POSTERIOR && k < out.count; k++)
			seen += work->input->evidence[out.list[k]];
		double from = work->fit.block_executions[edge->from];
		variance = relative_variance(work, edge->from) +
			   DISTANCE_RATIO * flow_distance_of_edge(x, from, x, seen);
	}
	if (edge->to != FLOW_OUTSIDE) {
		double to = work->fit.block_executions[edge->to];
		variance = fmin(variance,
				relative_variance(work, edge->to) +
					DISTANCE_RATIO * flow_distance_of_edge(x, x, to, INFINITY));
	}
	return variance;
}

/* Right up to the procedure's factor, and never high. */
static void set_relative(const struct work *work, struct frequency *out, double variance)
{
	double half = relative_error(work)->half_width *
		      sqrt(LEAST_ERROR * LEAST_ERROR + fmin(variance, MOST_ERROR * MOST_ERROR));
	out->low = out->value * exp(-half);
	out->high = out->value * exp(half);
	out->confidence = half <= MEDIUM_LOG ? FREQUENCY_MEDIUM : FREQUENCY_LOW;
}

/* What is marked medium is seldom off by more than 15 %: docs/methods.md, "Frequencies". */
static bool is_narrow(const struct frequency *frequency, double width)
{
	double value = frequency->value;
	return frequency->low >= (1 - width) * value && frequency->high <= (1 + width) * value;
}

/* By its own samples alone: there is no fit, or the flow is not known to be conserved. */
static struct frequency alone(const struct evidence *say)
{
	struct frequency out = { NAN, NAN, NAN, FREQUENCY_UNKNOWN, FREQUENCY_LOW };
	if (isnan(say->value))
		return out;
	out = (struct frequency){ .value = say->value,
				  .low = fmax(0, say->value - 1.96 * say->error),
				  .high = say->value + 1.96 * say->error,
				  .source = say->source };
	if (say->source == FREQUENCY_CLUSTER && is_narrow(&out, MEDIUM_WIDTH))
		out.confidence = FREQUENCY_MEDIUM;
	return out;
}

/* Out of order nothing tells how far off that is. */
static struct frequency alone_relative(const struct evidence *say)
{
	struct frequency out = alone(say);
	out.low = out.high = NAN;
	return out;
}

static struct frequency of_block(const struct work *work, uint32_t block)
{
	const struct evidence *say = said_of(work, block);
	bool in_order = work->input->model == FREQUENCY_CYCLES_IN_ORDER;
	if (!work->fit.converged || (work->graph->missing_edges && !isnan(say->value)))
		return is_relative(work) ? alone_relative(say) : alone(say);
	struct frequency out = { .value = work->fit.block_executions[block] };
	if (is_relative(work)) {
		out.source = work->source;
		set_relative(work, &out, relative_variance(work, block));
		return out;
	}
	double error = work->fit.block_relative_error[block];
	error = sqrt(error * error + work->differ);
	set_interval(work, &out, error);
	struct frequency wider = out; /* for confidence: the interval has what stalls add */
	double own = in_order ? sqrt(error * error + own_spread(work, block)) : error;
	double doubt = doubted(work, own, work->doubt.block_relative_error, block);
	set_interval(work, &wider, doubt);
	bool all_agree =
		agree(out.value, say->value) && (!in_order || agree(say->least, say->value));
	out.source = !in_order			    ? work->source
		     : agree(out.value, say->value) ? say->source
						    : FREQUENCY_PROPAGATED;
	if (all_agree && (!in_order || say->source == FREQUENCY_CLUSTER) &&
	    say->samples >= HIGH_SAMPLES && 1.96 * error <= HIGH_WIDTH && 1.96 * own <= HIGH_DOUBT)
		out.confidence = FREQUENCY_HIGH;
	else if (is_narrow(&wider, MEDIUM_WIDTH))
		out.confidence = FREQUENCY_MEDIUM;
	return out;
}

/* An edge of a block's class is that block; another is as sure as its ends and its error are. */
static struct frequency of_edge(const struct work *work, const struct frequency *blocks, size_t i)
{
	const struct flow_edge *edge = &work->graph->edges[i];
	uint32_t same = work->say[work->classes.of_edge[i]].block;
	if (same != FLOW_OUTSIDE)
		return blocks[same];
	struct frequency out = { NAN, NAN, NAN, FREQUENCY_UNKNOWN, FREQUENCY_LOW };
	if (!work->fit.converged)
		return out;
	double error = work->fit.edge_relative_error[i];
	error = sqrt(error * error + work->differ);
	out.value = work->fit.edge_executions[i];
	out.source = work->source == FREQUENCY_COUNTED && edge->from != FLOW_OUTSIDE
			     ? FREQUENCY_COUNTED
			     : FREQUENCY_PROPAGATED;
	if (is_relative(work)) {
		set_relative(work, &out, relative_variance_of_edge(work, i));
		return out;
	}
	set_interval(work, &out, error);
	struct frequency wider = out;
	set_interval(work, &wider, doubted(work, error, work->doubt.edge_relative_error, i));
	enum frequency_confidence ends = FREQUENCY_HIGH;
	if (edge->from != FLOW_OUTSIDE && blocks[edge->from].confidence < ends)
		ends = blocks[edge->from].confidence;
	if (edge->to != FLOW_OUTSIDE && blocks[edge->to].confidence < ends)
		ends = blocks[edge->to].confidence;
	if (ends == FREQUENCY_HIGH && 1.96 * error <= HIGH_WIDTH)
		out.confidence = FREQUENCY_HIGH;
	else if (ends >= FREQUENCY_MEDIUM && is_narrow(&wider, MEDIUM_WIDTH))
		out.confidence = FREQUENCY_MEDIUM;
	return out;
}

static int fit(struct work *work)
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

int frequencies_new(const struct frequency_input *input, struct frequencies *out)
{
	CLEANUP(work_release) struct work work = { .input = input, .graph = input->graph };
	size_t blocks = input->graph->block_count, all = blocks + input->graph->edge_count;
	int ret = work_init(&work);
	if (ret == 0)
		ret = fit(&work);
	if (ret < 0)
		return ret;
	find_differ(&work);
	if (input->model == FREQUENCY_CYCLES_IN_ORDER) {
		find_stalled(&work);
		ret = find_doubt(&work);
	} else if (is_relative(&work)) {
		ret = find_distances(&work);
	}
	if (ret < 0)
		return ret;
	struct frequency *frequency = calloc(all + 1, sizeof(*frequency));
	if (!frequency)
		return -ENOMEM;
	for (uint32_t block = 0; block < blocks; block++)
		frequency[block] = of_block(&work, block);
	for (size_t i = blocks; i < all; i++)
		frequency[i] = of_edge(&work, frequency, i - blocks);
	*out = (struct frequencies){ frequency, frequency + blocks, is_relative(&work) };
	return 0;
}

void frequencies_release(struct frequencies *frequencies)
{
	free(frequencies->blocks);
	*frequencies = (struct frequencies){ 0 };
}
