#include "analyze/flow/flow_likelihood.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "base/count_of.h"

/* mu of a made-up edge relative to the graph's edges, so that it is used last. */
#define MADE_UP_MU_RATIO   0.1
#define MADE_UP_COST_RATIO 10.0

/* Slacks start at the costs, and at this part of the mean cost at least. */
#define LEAST_SLACK 0.01
/* The part of the way to the boundary that a step goes at most, and the factor by which the common
 * target falls. */
#define STEP_RATIO   0.95
#define TARGET_RATIO 0.1
/* The target falls if at least this part of Newton's step could be taken, and by the root of that
 * factor above the second. */
#define LONG_STEP  0.7
#define SHORT_STEP 0.3
/* Relative to a node's throughput and to a target: errors of rounding that no step mends. */
#define ROUNDING 1e-14
/* Relative errors at convergence: of flow in and out, of products flow * slack to weights, of
 * slacks to costs and potentials. */
#define CONSERVED 1e-11
#define CENTRED	  1e-8
#define FEASIBLE  1e-12

static int reserve(struct flow_likelihood *work)
{
	double **by_edge[] = { &work->weight,	  &work->cost,	     &work->flow,
			       &work->slack,	  &work->infeasible, &work->flow_step,
			       &work->slack_step, &work->missing,    &work->conductance };
	double **by_node[] = { &work->imbalance, &work->throughput };
	size_t edges = work->edge_count + 1, nodes = work->node_count + (size_t)1;
	if (edges > work->edge_capacity) {
		work->edge_capacity = 0;
		free(work->ends);
		work->ends = calloc(edges, sizeof(*work->ends));
		if (!work->ends)
			return -ENOMEM;
		for (size_t i = 0; i < COUNT_OF(by_edge); i++) {
			free(*by_edge[i]);
			*by_edge[i] = calloc(edges, sizeof(**by_edge[i]));
			if (!*by_edge[i])
				return -ENOMEM;
		}
		work->edge_capacity = edges;
	}
	if (nodes > work->node_capacity) {
		work->node_capacity = 0;
		for (size_t i = 0; i < COUNT_OF(by_node); i++) {
			free(*by_node[i]);
			*by_node[i] = calloc(nodes, sizeof(**by_node[i]));
			if (!*by_node[i])
				return -ENOMEM;
		}
		work->node_capacity = nodes;
	}
	return 0;
}

void flow_likelihood_release(struct flow_likelihood *work)
{
	flow_closure_release(&work->closure);
	sparse_ldl_release(&work->ldl);
	free(work->ends);
	free(work->weight);
	free(work->cost);
	free(work->flow);
	free(work->slack);
	free(work->infeasible);
	free(work->flow_step);
	free(work->slack_step);
	free(work->missing);
	free(work->conductance);
	free(work->imbalance);
	free(work->throughput);
	*work = (struct flow_likelihood){ 0 };
}

/* A block is an edge from the node where control enters it to the one where it leaves. */
static uint32_t node_in(uint32_t block)
{
	return block == FLOW_OUTSIDE ? SPARSE_GROUND : 2 * block;
}

static uint32_t node_out(uint32_t block)
{
	return block == FLOW_OUTSIDE ? SPARSE_GROUND : 2 * block + 1;
}

struct costs {
	double mean, least; /* of the known ones; NAN when there are none */
};

static void sum_up(struct costs *known, double *known_count, const double *costs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (isnan(costs[i]))
			continue;
		assert(costs[i] > 0 && isfinite(costs[i]));
		known->mean += costs[i];
		known->least = fmin(known->least, costs[i]);
		++*known_count;
	}
}

static struct costs known_costs(const struct flow_graph *graph, const double *costs,
				const struct flow_likelihood_options *options)
{
	struct costs known = { 0, INFINITY };
	double count = 0;
	sum_up(&known, &count, costs, graph->block_count);
	if (options->edge_events)
		sum_up(&known, &count, options->edge_cost_events, graph->edge_count);
	if (count == 0)
		return (struct costs){ NAN, NAN };
	known.mean /= count;
	return known;
}

static void add_edge(struct flow_likelihood *work, uint32_t from, uint32_t to, double weight,
		     double cost)
{
	work->ends[work->edge_count] = (struct sparse_edge){ from, to };
	work->weight[work->edge_count] = weight;
	work->cost[work->edge_count++] = cost; /* in mean costs */
}

static int describe(struct flow_likelihood *work, const struct flow_graph *graph,
		    const double *events, const double *costs, struct costs known,
		    const struct flow_likelihood_options *options)
{
	flow_closure_release(&work->closure);
	int ret = flow_closure_find(graph, &work->closure);
	if (ret < 0)
		return ret;
	work->node_count = 2 * graph->block_count;
	work->edge_count = graph->block_count + graph->edge_count + work->closure.count;
	ret = reserve(work);
	if (ret < 0)
		return ret;

	double mu = options->mu_events, cost = options->edge_cost_ratio * known.least / known.mean;
	work->edge_count = 0;
	for (uint32_t block = 0; block < graph->block_count; block++) {
		bool known_cost = !isnan(costs[block]);
		assert(events[block] >= 0 && isfinite(events[block]));
		add_edge(work, node_in(block), node_out(block),
			 known_cost ? events[block] + mu : mu,
			 known_cost ? costs[block] / known.mean : cost);
	}
	for (size_t i = 0; i < graph->edge_count; i++) {
		bool known_cost = options->edge_events && !isnan(options->edge_cost_events[i]);
		assert(!known_cost ||
		       (options->edge_events[i] >= 0 && isfinite(options->edge_events[i])));
		add_edge(work, node_out(graph->edges[i].from), node_in(graph->edges[i].to),
			 known_cost ? options->edge_events[i] + mu : mu,
			 known_cost ? options->edge_cost_events[i] / known.mean : cost);
	}
	for (size_t i = 0; i < work->closure.count; i++)
		add_edge(work, node_out(work->closure.edges[i].from),
			 node_in(work->closure.edges[i].to), mu * MADE_UP_MU_RATIO,
			 cost * MADE_UP_COST_RATIO);
	return sparse_ldl_analyse(&work->ldl, work->node_count, work->ends, work->edge_count);
}

/* All products flow * slack at the greatest weight, far from every boundary. Returns that. */
static double start(struct flow_likelihood *work)
{
	double target = 0;
	work->least_weight = INFINITY;
	for (size_t e = 0; e < work->edge_count; e++) {
		target = fmax(target, work->weight[e]);
		work->least_weight = fmin(work->least_weight, work->weight[e]);
	}
	for (size_t e = 0; e < work->edge_count; e++) {
		work->slack[e] = fmax(work->cost[e], LEAST_SLACK);
		work->infeasible[e] = work->cost[e] - work->slack[e];
		work->flow[e] = target / work->slack[e];
	}
	return target;
}

static void add_at(double *by_node, uint32_t node, double value)
{
	if (node != SPARSE_GROUND)
		by_node[node] += value;
}

/* What flows out of each node less what flows in; and what flows in and out. */
static void balance(struct flow_likelihood *work)
{
	for (uint32_t node = 0; node < work->node_count; node++)
		work->imbalance[node] = work->throughput[node] = 0;
	for (size_t e = 0; e < work->edge_count; e++) {
		uint32_t from = work->ends[e].a, to = work->ends[e].b;
		add_at(work->imbalance, from, work->flow[e]);
		add_at(work->imbalance, to, -work->flow[e]);
		add_at(work->throughput, from, work->flow[e]);
		add_at(work->throughput, to, work->flow[e]);
	}
}

/* After balance(). Comparisons are false for NAN. */
static bool has_converged(const struct flow_likelihood *work)
{
	for (uint32_t node = 0; node < work->node_count; node++)
		if (!(fabs(work->imbalance[node]) <= CONSERVED * work->throughput[node]))
			return false;
	for (size_t e = 0; e < work->edge_count; e++) {
		double product = work->flow[e] * work->slack[e], weight = work->weight[e];
		if (!(fabs(product - weight) <= CENTRED * weight) ||
		    !(fabs(work->infeasible[e]) <= FEASIBLE * work->slack[e]))
			return false;
	}
	return true;
}

/*
 * What is sent from all nodes and from outside adds up to 0. The error of rounding in that sum is
 * put at the node with most flow, where it is negligible: elsewhere it would be the flow of a part
 * whose only edges from and to outside are made up.
 */
static void settle_busiest(struct flow_likelihood *work, double from_outside)
{
	uint32_t busiest = 0;
	double others = from_outside;
	for (uint32_t node = 1; node < work->node_count; node++)
		if (!(work->throughput[node] <= work->throughput[busiest]))
			busiest = node;
	for (uint32_t node = 0; node < work->node_count; node++)
		if (node != busiest)
			others += work->imbalance[node];
	work->imbalance[busiest] = -others;
}

enum falls {
	FALLS_ROUGH, /* differences of potentials, exact enough far from the boundary */
	FALLS_EXACT  /* sparse_ldl_differences() */
};

/* The fall of the step's potentials along each edge, from what is sent from each node
 * (`imbalance`). Into `slack_step`. */
static void find_falls(struct flow_likelihood *work, enum falls falls)
{
	if (falls == FALLS_EXACT) {
		sparse_ldl_differences(&work->ldl, work->imbalance, work->slack_step);
		return;
	}
	sparse_ldl_solve(&work->ldl, work->imbalance);
	for (size_t e = 0; e < work->edge_count; e++) {
		work->slack_step[e] = 0;
		if (work->ends[e].a != SPARSE_GROUND)
			work->slack_step[e] += work->imbalance[work->ends[e].a];
		if (work->ends[e].b != SPARSE_GROUND)
			work->slack_step[e] -= work->imbalance[work->ends[e].b];
	}
}

/*
 * Newton's step of the primal-dual interior point method (Wright, "Primal-dual interior-point
 * methods", SIAM 1997) for A x = 0, s = c + A'y, x s = t, from x, s that fulfil none of them. Of
 *
 *     A (x + dx) = 0    ds = A'dy + r, r = c + A'y - s    s dx + x ds = t - x s
 *
 * dx and ds are eliminated: A diag(x/s) A' dy = A x + A (t - x s - x r) / s, conductances
 * x/s between the nodes. Errors of rounding of A x at nodes with much flow would become flow
 * where there is little, so they are replaced by 0, as are those of t - x s.
 * After balance(). 0 or -EDOM.
 */
static int find_step(struct flow_likelihood *work, double common_target)
{
	double *current = work->imbalance, from_outside = 0;
	for (uint32_t node = 0; node < work->node_count; node++)
		if (fabs(current[node]) <= ROUNDING * work->throughput[node])
			current[node] = 0;
	for (size_t e = 0; e < work->edge_count; e++) {
		double flow = work->flow[e], slack = work->slack[e];
		double target = fmax(work->weight[e], common_target);
		double missing = target - flow * slack;
		if (fabs(missing) <= ROUNDING * target)
			missing = 0;
		double sent = (missing - flow * work->infeasible[e]) / slack;
		add_at(current, work->ends[e].a, sent);
		add_at(current, work->ends[e].b, -sent);
		if (work->ends[e].a == SPARSE_GROUND)
			from_outside += flow + sent;
		if (work->ends[e].b == SPARSE_GROUND)
			from_outside -= flow + sent;
		work->missing[e] = missing;
		work->conductance[e] = flow / slack;
	}
	settle_busiest(work, from_outside);
	int ret = sparse_ldl_factor(&work->ldl, work->conductance);
	if (ret < 0)
		return ret;
	find_falls(work, common_target > work->least_weight ? FALLS_ROUGH : FALLS_EXACT);
	for (size_t e = 0; e < work->edge_count; e++) {
		work->slack_step[e] += work->infeasible[e];
		work->flow_step[e] =
			(work->missing[e] - work->flow[e] * work->slack_step[e]) / work->slack[e];
	}
	return 0;
}

/* The part of a step, 1 at most, that leaves all values above 0. */
static double step_ratio(const double *values, const double *steps, size_t count)
{
	double ratio = 1;
	for (size_t i = 0; i < count; i++)
		if (steps[i] < 0 && -STEP_RATIO * values[i] > ratio * steps[i])
			ratio = -STEP_RATIO * values[i] / steps[i];
	return ratio;
}

/* Steps of flows and slacks may be cut differently; returns the smaller part. */
static double take_step(struct flow_likelihood *work)
{
	double flow_ratio = step_ratio(work->flow, work->flow_step, work->edge_count);
	double slack_ratio = step_ratio(work->slack, work->slack_step, work->edge_count);
	for (size_t e = 0; e < work->edge_count; e++) {
		work->flow[e] += flow_ratio * work->flow_step[e];
		work->slack[e] += slack_ratio * work->slack_step[e];
		work->infeasible[e] *= 1 - slack_ratio;
	}
	return fmin(flow_ratio, slack_ratio);
}

/* Whether it converged. */
static bool maximise(struct flow_likelihood *work, unsigned most_steps, unsigned *steps)
{
	double target = start(work);
	for (*steps = 0;; ++*steps) {
		balance(work);
		if (has_converged(work))
			return true;
		if (*steps == most_steps || find_step(work, target) < 0)
			return false;
		double ratio = take_step(work);
		if (ratio > LONG_STEP)
			target *= TARGET_RATIO;
		else if (ratio > SHORT_STEP)
			target *= sqrt(TARGET_RATIO);
	}
}

/*
 * Var(x) / x^2 = (1 - g R) / w, with g = x^2 / w the conductance of the edge and R the
 * resistance between its ends in the network of all g (docs/methods.md). Into `slack_step`.
 */
static int find_errors(struct flow_likelihood *work)
{
	for (size_t e = 0; e < work->edge_count; e++)
		work->conductance[e] = work->flow[e] / work->weight[e] * work->flow[e];
	int ret = sparse_ldl_factor(&work->ldl, work->conductance);
	if (ret < 0)
		return ret;
	sparse_ldl_resistances(&work->ldl, work->slack_step, NULL);
	for (size_t e = 0; e < work->edge_count; e++) {
		double left = 1 - work->conductance[e] * work->slack_step[e];
		work->slack_step[e] = sqrt(fmax(left, 0) / work->weight[e]);
	}
	return 0;
}

int flow_likelihood_solve(struct flow_likelihood *work, const struct flow_graph *graph,
			  const double *events, const double *cost_events,
			  const struct flow_likelihood_options *options,
			  struct flow_likelihood_result *result)
{
	assert(options->mu_events > 0 && options->edge_cost_ratio > 0);
	struct costs known = known_costs(graph, cost_events, options);
	if (graph->block_count && isnan(known.mean))
		return -ENODATA;
	int ret = describe(work, graph, events, cost_events, known, options);
	if (ret < 0)
		return ret;

	unsigned steps;
	bool converged = maximise(work, options->most_steps, &steps) && find_errors(work) == 0;
	double *executions = work->flow_step, *errors = work->slack_step;
	for (size_t e = 0; e < work->edge_count; e++) {
		executions[e] = converged ? work->flow[e] / known.mean : NAN;
		if (!converged)
			errors[e] = NAN;
	}
	size_t blocks = graph->block_count, edges = graph->edge_count;
	*result = (struct flow_likelihood_result){
		.converged = converged,
		.steps = steps,
		.block_executions = executions,
		.edge_executions = executions + blocks,
		.block_relative_error = errors,
		.edge_relative_error = errors + blocks,
		.made_up = work->closure.edges,
		.made_up_executions = executions + blocks + edges,
		.made_up_count = work->closure.count,
	};
	return 0;
}
