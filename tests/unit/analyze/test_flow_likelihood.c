/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_likelihood.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "support/poisson.h"
#include "support/random_flow.h"

#define MU   0.05
#define COST 1e-4

static const struct flow_likelihood_options defaults = FLOW_LIKELIHOOD_DEFAULTS;

/* A graph with what was seen in its blocks. */
struct subject {
	struct random_flow flow; /* `blocks` and `edges` NULL when only the graph is known */
	const struct flow_graph *graph;
	double *events, *costs;
};

static void subject_release(struct subject *subject)
{
	random_flow_release(&subject->flow);
	free(subject->events);
	free(subject->costs);
}

static void allocate(struct subject *subject)
{
	subject->graph = &subject->flow.graph;
	subject->events = calloc(subject->graph->block_count + 1, sizeof(double));
	subject->costs = calloc(subject->graph->block_count + 1, sizeof(double));
	assert_true(subject->events && subject->costs);
}

/* 1 to 12 events an execution, `events` in all expected, and that many seen. */
static void structured(struct subject *subject, struct random_state *random, uint32_t blocks,
		       double events)
{
	double sum = 0;
	*subject = (struct subject){ 0 };
	random_flow_init(&subject->flow, random, blocks, 1, 20);
	allocate(subject);
	for (uint32_t b = 0; b < subject->graph->block_count; b++) {
		subject->costs[b] = 1 + (double)random_below(random, 12);
		sum += subject->costs[b] * subject->flow.blocks[b];
	}
	for (uint32_t b = 0; b < subject->graph->block_count; b++) {
		subject->flow.blocks[b] *= events / sum;
		subject->events[b] = subject->costs[b] * subject->flow.blocks[b];
	}
	for (size_t i = 0; i < subject->graph->edge_count; i++)
		subject->flow.edges[i] *= events / sum;
}

static void draw(struct subject *subject, struct random_state *random)
{
	for (uint32_t b = 0; b < subject->graph->block_count; b++)
		subject->events[b] =
			(double)poisson(random, subject->costs[b] * subject->flow.blocks[b]);
}

/* Any edges, so loops without end and code that nothing leads to. */
static void tangled(struct subject *subject, struct random_state *random, uint32_t blocks)
{
	*subject = (struct subject){ 0 };
	random_flow_init_tangled(&subject->flow, random, blocks);
	allocate(subject);
}

/* Events from none to 1e12 that fit nothing, costs over six decades. */
static void upset(struct subject *subject, struct random_state *random)
{
	for (uint32_t b = 0; b < subject->graph->block_count; b++) {
		subject->costs[b] = pow(10, 6 * random_unit(random) - 3);
		subject->events[b] =
			random_below(random, 3) ? 0 : pow(10, 12 * random_unit(random));
	}
}

static struct flow_likelihood_result solve(struct flow_likelihood *work,
					   const struct subject *subject)
{
	struct flow_likelihood_result result;
	assert_int_equal(flow_likelihood_solve(work, subject->graph, subject->events,
					       subject->costs, &defaults, &result),
			 0);
	assert_true(result.converged);
	return result;
}

static void assert_near(const char *what, double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%s is %.17g, expected %.17g", what, value, expected);
}

static void assert_conserved(const struct flow_graph *graph,
			     const struct flow_likelihood_result *result)
{
	double *in = calloc(graph->block_count + 1, sizeof(*in));
	double *out = calloc(graph->block_count + 1, sizeof(*out));
	assert_true(in && out);
	for (size_t i = 0; i < graph->edge_count; i++) {
		assert_true(result->edge_executions[i] > 0);
		if (graph->edges[i].from != FLOW_OUTSIDE)
			out[graph->edges[i].from] += result->edge_executions[i];
		if (graph->edges[i].to != FLOW_OUTSIDE)
			in[graph->edges[i].to] += result->edge_executions[i];
	}
	for (size_t i = 0; i < result->made_up_count; i++) {
		const struct flow_edge *edge = &result->made_up[i];
		if (edge->from != FLOW_OUTSIDE)
			out[edge->from] += result->made_up_executions[i];
		else
			in[edge->to] += result->made_up_executions[i];
	}
	for (uint32_t b = 0; b < graph->block_count; b++) {
		double executions = result->block_executions[b];
		assert_true(executions > 0 && isfinite(executions));
		assert_near("flow in", in[b], executions, 1e-9 * executions);
		assert_near("flow out", out[b], executions, 1e-9 * executions);
	}
	free(in);
	free(out);
}

static double least_cost(const struct subject *subject)
{
	double least = INFINITY;
	for (uint32_t b = 0; b < subject->graph->block_count; b++)
		least = fmin(least, subject->costs[b]);
	return least;
}

struct sums {
	double weights, costs;
};

/* Of w and of c x over blocks, edges and made-up ones. */
static struct sums sum_up(const struct subject *subject,
			  const struct flow_likelihood_result *result)
{
	const struct flow_graph *graph = subject->graph;
	struct sums sums = { 0 };
	double least = least_cost(subject);
	for (uint32_t b = 0; b < graph->block_count; b++) {
		sums.weights += subject->events[b] + MU;
		sums.costs += subject->costs[b] * result->block_executions[b];
	}
	for (size_t i = 0; i < graph->edge_count; i++) {
		sums.weights += MU;
		sums.costs += COST * least * result->edge_executions[i];
	}
	for (size_t i = 0; i < result->made_up_count; i++) {
		sums.weights += MU / 10;
		sums.costs += 10 * COST * least * result->made_up_executions[i];
	}
	return sums;
}

/* f = (W + 3 mu) / (c + 2 c_0): block, entry and return are one. */
static void one_block_is_events_over_cost(void **state)
{
	(void)state;
	static const double events[] = { 0, 1, 1e3, 1e12 };
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	for (size_t i = 0; i < 4; i++)
		for (double cost = 1e-3; cost < 2e3; cost *= 1000) {
			CLEANUP(flow_graph_release) struct flow_graph graph;
			flow_graph_init(&graph, 1);
			assert_int_equal(flow_graph_settle(&graph), 0);
			struct subject subject = { .graph = &graph,
						   .events = (double[]){ events[i] },
						   .costs = &cost };
			struct flow_likelihood_result result = solve(&work, &subject);
			double weight = events[i] + 3 * MU;
			double expected = weight / (cost * (1 + 2 * COST));
			assert_near("block", result.block_executions[0], expected, 1e-9 * expected);
			assert_near("error", result.block_relative_error[0], 1 / sqrt(weight),
				    1e-6 / sqrt(weight));
			assert_near("error of the entry", result.edge_relative_error[0],
				    1 / sqrt(weight), 1e-6 / sqrt(weight) + 2e-6);
		}
}

static void no_blocks_no_values(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	CLEANUP(flow_graph_release) struct flow_graph graph;
	flow_graph_init(&graph, 0);
	assert_int_equal(flow_graph_settle(&graph), 0);
	struct subject subject = { .graph = &graph };
	assert_int_equal(solve(&work, &subject).made_up_count, 0);
}

/*
 * The problem is concave, so x is its maximum if it conserves flow and some potentials y have
 * w/x = c + y_from - y_to on each edge: taken from a spanning tree, they must fit the others.
 */
static void assert_potentials(const struct subject *subject,
			      const struct flow_likelihood_result *result)
{
	const struct flow_graph *graph = subject->graph;
	uint32_t n = graph->block_count, outside = 2 * n;
	size_t edges = n + graph->edge_count + result->made_up_count;
	double *potential = calloc(2 * n + 1, sizeof(*potential));
	bool *known = calloc(2 * n + 1, sizeof(*known));
	struct link {
		uint32_t from, to;
		double fall, size; /* of the potential; of its terms */
	} *links = calloc(edges, sizeof(*links));
	assert_true(potential && known && links);
	double least = least_cost(subject), largest = 0;
	for (size_t e = 0; e < edges; e++) {
		double weight = MU, cost = COST * least, x;
		if (e < n) {
			links[e].from = 2 * (uint32_t)e;
			links[e].to = 2 * (uint32_t)e + 1;
			weight += subject->events[e];
			cost = subject->costs[e];
			x = result->block_executions[e];
		} else if (e < n + graph->edge_count) {
			const struct flow_edge *edge = &graph->edges[e - n];
			links[e].from = edge->from == FLOW_OUTSIDE ? outside : 2 * edge->from + 1;
			links[e].to = edge->to == FLOW_OUTSIDE ? outside : 2 * edge->to;
			x = result->edge_executions[e - n];
		} else {
			const struct flow_edge *edge = &result->made_up[e - n - graph->edge_count];
			links[e].from = edge->from == FLOW_OUTSIDE ? outside : 2 * edge->from + 1;
			links[e].to = edge->to == FLOW_OUTSIDE ? outside : 2 * edge->to;
			weight /= 10;
			cost *= 10;
			x = result->made_up_executions[e - n - graph->edge_count];
		}
		links[e].fall = weight / x - cost;
		double terms = weight / x + cost;
		if (terms > largest)
			largest = terms;
	}
	for (uint32_t root = 0; root <= outside; root++) {
		if (known[root])
			continue;
		known[root] = true;
		for (bool found = true; found;) {
			found = false;
			for (size_t e = 0; e < edges; e++) {
				const struct link *link = &links[e];
				if (known[link->from] == known[link->to])
					continue;
				if (known[link->from])
					potential[link->to] = potential[link->from] - link->fall;
				else
					potential[link->from] = potential[link->to] + link->fall;
				known[link->from] = known[link->to] = found = true;
			}
		}
	}
	for (size_t e = 0; e < edges; e++)
		assert_near("fall of the potential",
			    potential[links[e].from] - potential[links[e].to], links[e].fall,
			    1e-7 * largest);
	free(potential);
	free(known);
	free(links);
}

static void finds_the_maximum(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(1);
	for (size_t round = 0; round < 300; round++) {
		CLEANUP(subject_release) struct subject subject;
		uint32_t blocks = 1 + (uint32_t)random_below(&random, 60);
		if (round % 2) {
			structured(&subject, &random, blocks, 2000);
			draw(&subject, &random);
		} else {
			tangled(&subject, &random, blocks);
			for (uint32_t b = 0; b < blocks; b++) {
				subject.costs[b] = 1 + (double)random_below(&random, 12);
				subject.events[b] = (double)random_below(&random, 200);
			}
		}
		struct flow_likelihood_result result = solve(&work, &subject);
		assert_conserved(subject.graph, &result);
		assert_potentials(&subject, &result);
	}
}

/* The sum of c x is that of w, so that of c f the events' but for mu and c_0. */
static void all_events_are_explained(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(2);
	for (size_t round = 0; round < 100; round++) {
		CLEANUP(subject_release) struct subject subject;
		structured(&subject, &random, 40, 1e5);
		draw(&subject, &random);
		struct flow_likelihood_result result = solve(&work, &subject);
		struct sums sums = sum_up(&subject, &result);
		assert_near("sum of costs", sums.costs, sums.weights, 1e-8 * sums.weights);
		double events = 0, explained = 0;
		for (uint32_t b = 0; b < subject.graph->block_count; b++) {
			events += subject.events[b];
			explained += subject.costs[b] * result.block_executions[b];
		}
		size_t edges = subject.graph->block_count + subject.graph->edge_count;
		assert_near("events explained", explained, events,
			    MU * (double)edges + 2 * COST * events);
	}
}

static void recovers_what_fits_exactly(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(3);
	const struct flow_likelihood_options hardly = { .mu_events = 1e-9,
							.edge_cost_ratio = 1e-8,
							.most_steps = 400 };
	for (size_t round = 0; round < 100; round++) {
		CLEANUP(subject_release) struct subject subject;
		struct flow_likelihood_result result;
		structured(&subject, &random, 1 + (uint32_t)random_below(&random, 100), 1e5);
		assert_int_equal(flow_likelihood_solve(&work, subject.graph, subject.events,
						       subject.costs, &hardly, &result),
				 0);
		assert_true(result.converged);
		for (uint32_t b = 0; b < subject.graph->block_count; b++)
			assert_near("block", result.block_executions[b], subject.flow.blocks[b],
				    1e-6 * subject.flow.blocks[b]);
	}
}

static void converges_on_events_that_fit_nothing(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(4);
	unsigned most = 0;
	for (size_t round = 0; round < 1000; round++) {
		CLEANUP(subject_release) struct subject subject;
		uint32_t blocks = 1 + (uint32_t)random_below(&random, round % 50 ? 40 : 1000);
		if (round % 2)
			structured(&subject, &random, blocks, 1);
		else
			tangled(&subject, &random, blocks);
		upset(&subject, &random);
		struct flow_likelihood_result result = solve(&work, &subject);
		assert_conserved(subject.graph, &result);
		struct sums sums = sum_up(&subject, &result);
		assert_near("sum of costs", sums.costs, sums.weights, 1e-7 * sums.weights);
		for (uint32_t b = 0; b < subject.graph->block_count; b++)
			assert_true(result.block_relative_error[b] >= 0 &&
				    result.block_relative_error[b] < 5);
		if (result.steps > most)
			most = result.steps;
	}
	if (most > 150)
		fail_msg("%u steps", most);
}

/* A hot loop that nothing leads to, with a cold one beside it that few ever take. */
static void a_lone_part_keeps_its_cold_flow(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	CLEANUP(flow_graph_release) struct flow_graph graph;
	double events[] = { 1e12, 0, 0 }, costs[] = { 1e-3, 1e3, 1e3 };
	flow_graph_init(&graph, 3);
	assert_int_equal(flow_graph_add(&graph, 0, 0, FLOW_BRANCH), 0);
	assert_int_equal(flow_graph_add(&graph, 0, 1, FLOW_NEXT), 0);
	assert_int_equal(flow_graph_add(&graph, 1, 2, FLOW_NEXT), 0);
	assert_int_equal(flow_graph_add(&graph, 2, 0, FLOW_BRANCH), 0);
	assert_int_equal(flow_graph_settle(&graph), 0);
	struct subject subject = { .graph = &graph, .events = events, .costs = costs };
	struct flow_likelihood_result result = solve(&work, &subject);
	assert_conserved(&graph, &result);
	assert_near("hot", result.block_executions[0], 1e15, 1.1e11);
	/* 5.2 mu over 2000, nearly: the hot block costs nothing beside that, nor made-up ways */
	assert_near("cold", result.block_executions[2], 0.26 / 2000, 1e-6);
	assert_near("out", result.made_up_executions[0], result.made_up_executions[1], 1e-7);
}

static void nothing_seen_is_known_as_little(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(5);
	CLEANUP(subject_release) struct subject subject;
	structured(&subject, &random, 100, 1);
	memset(subject.events, 0, subject.graph->block_count * sizeof(double));
	struct flow_likelihood_result result = solve(&work, &subject);
	assert_conserved(subject.graph, &result);
	for (uint32_t b = 0; b < subject.graph->block_count; b++) {
		assert_true(result.block_executions[b] < 10);
		/* all of its mu together are 0.05 * (blocks + edges) events */
		assert_true(result.block_relative_error[b] > 0.25);
	}
}

/* In a chain, all blocks run as often as those of which the cost is known. */
static void blocks_of_unknown_cost_follow_the_others(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	CLEANUP(flow_graph_release) struct flow_graph graph;
	double events[] = { 1000, 77777, 1020 }, costs[] = { 10, NAN, 10 };
	struct flow_likelihood_result result;
	flow_graph_init(&graph, 3);
	assert_int_equal(flow_graph_add(&graph, 0, 1, FLOW_NEXT), 0);
	assert_int_equal(flow_graph_add(&graph, 1, 2, FLOW_NEXT), 0);
	assert_int_equal(flow_graph_settle(&graph), 0);
	struct subject subject = { .graph = &graph, .events = events, .costs = costs };
	result = solve(&work, &subject);
	for (size_t b = 0; b < 3; b++) {
		assert_near("chain", result.block_executions[b], 101, 0.03);
		assert_near("error", result.block_relative_error[b], 1 / sqrt(2020.35), 1e-6);
	}
	costs[0] = costs[2] = NAN;
	assert_int_equal(flow_likelihood_solve(&work, &graph, events, costs, &defaults, &result),
			 -ENODATA);
}

static void a_loop_without_end_gets_what_enters_it(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	CLEANUP(flow_graph_release) struct flow_graph graph;
	double events[] = { 50, 10000, 10000 }, costs[] = { 5, 1, 1 };
	flow_graph_init(&graph, 3);
	assert_int_equal(flow_graph_add(&graph, 0, 1, FLOW_NEXT), 0);
	assert_int_equal(flow_graph_add(&graph, 1, 2, FLOW_NEXT), 0);
	assert_int_equal(flow_graph_add(&graph, 2, 1, FLOW_BRANCH), 0);
	assert_int_equal(flow_graph_settle(&graph), 0);
	struct subject subject = { .graph = &graph, .events = events, .costs = costs };
	struct flow_likelihood_result result = solve(&work, &subject);
	assert_conserved(&graph, &result);
	assert_int_equal(result.made_up_count, 1);
	assert_int_equal(result.made_up[0].from, 2);
	assert_near("way out", result.made_up_executions[0], result.block_executions[0], 1e-9);
	assert_near("before the loop", result.block_executions[0], 10, 0.1);
	assert_near("loop", result.block_executions[1], 10000, 10);
}

static void says_when_it_does_not_converge(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(6);
	CLEANUP(subject_release) struct subject subject;
	struct flow_likelihood_options few = FLOW_LIKELIHOOD_DEFAULTS;
	struct flow_likelihood_result result;
	few.most_steps = 3;
	structured(&subject, &random, 50, 1000);
	assert_int_equal(flow_likelihood_solve(&work, subject.graph, subject.events, subject.costs,
					       &few, &result),
			 0);
	assert_false(result.converged);
	assert_int_equal(result.steps, 3);
	for (uint32_t b = 0; b < subject.graph->block_count; b++)
		assert_true(isnan(result.block_executions[b]) &&
			    isnan(result.block_relative_error[b]));
	for (size_t i = 0; i < subject.graph->edge_count; i++)
		assert_true(isnan(result.edge_executions[i]));
}

#define MOST_UNKNOWNS 200

/* The inverse of a matrix by elimination with the largest pivot of each column. */
static void invert(long double (*m)[2 * MOST_UNKNOWNS], size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			m[i][n + j] = i == j;
	for (size_t k = 0; k < n; k++) {
		size_t best = k;
		for (size_t i = k; i < n; i++)
			if (fabsl(m[i][k]) > fabsl(m[best][k]))
				best = i;
		assert_true(m[best][k] != 0);
		for (size_t j = 0; j < 2 * n; j++) {
			long double value = m[k][j];
			m[k][j] = m[best][j];
			m[best][j] = value;
		}
		for (size_t j = 2 * n; j-- > k;)
			m[k][j] /= m[k][k];
		for (size_t i = 0; i < n; i++)
			for (size_t j = 2 * n; i != k && j-- > k;)
				m[i][j] -= m[i][k] * m[k][j];
	}
}

/*
 * Errors are those of the inverse of | H A' | : the covariance of x under A x = 0 is its
 *                                    | A 0  |   first part, H = diag(w / x^2).
 */
static void errors_are_those_of_the_information_under_conservation(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(7);
	long double(*matrix)[2 * MOST_UNKNOWNS] = calloc(MOST_UNKNOWNS, sizeof(*matrix));
	assert_non_null(matrix);
	for (size_t round = 0; round < 10; round++) {
		CLEANUP(subject_release) struct subject subject;
		structured(&subject, &random, 2 + (uint32_t)random_below(&random, 20), 3000);
		draw(&subject, &random);
		struct flow_likelihood_result result = solve(&work, &subject);
		const struct flow_graph *graph = subject.graph;
		size_t blocks = graph->block_count, edges = blocks + graph->edge_count;
		size_t unknowns = edges + 2 * blocks;
		assert_true(unknowns <= MOST_UNKNOWNS);
		memset(matrix, 0, MOST_UNKNOWNS * sizeof(*matrix));
		for (size_t e = 0; e < edges; e++) {
			bool block = e < blocks;
			double x = block ? result.block_executions[e]
					 : result.edge_executions[e - blocks];
			double weight = block ? subject.events[e] + MU : MU;
			size_t from = 2 * e, to = 2 * e + 1;
			if (!block) {
				const struct flow_edge *edge = &graph->edges[e - blocks];
				from = edge->from == FLOW_OUTSIDE ? SIZE_MAX : 2 * edge->from + 1;
				to = edge->to == FLOW_OUTSIDE ? SIZE_MAX : 2 * edge->to;
			}
			matrix[e][e] = weight / ((long double)x * x);
			if (from != SIZE_MAX)
				matrix[e][edges + from] = matrix[edges + from][e] = 1;
			if (to != SIZE_MAX)
				matrix[e][edges + to] = matrix[edges + to][e] = -1;
		}
		invert(matrix, unknowns);
		for (size_t e = 0; e < edges; e++) {
			bool block = e < blocks;
			double x = block ? result.block_executions[e]
					 : result.edge_executions[e - blocks];
			double expected = (double)sqrtl(matrix[e][unknowns + e]) / x;
			double error = block ? result.block_relative_error[e]
					     : result.edge_relative_error[e - blocks];
			assert_near("error", error, expected, 1e-7 * expected + 1e-7);
		}
	}
	free(matrix);
}

struct tally {
	unsigned runs, held;
};

static void count(struct tally *tally, double value, double relative_error, double truth)
{
	tally->runs++;
	tally->held += fabs(value - truth) <= 1.959964 * relative_error * value;
}

static void assert_coverage(const char *what, double events, const struct tally *tally)
{
	double share = (double)tally->held / tally->runs;
	if (share < 0.93 || share > 0.97)
		fail_msg("%s of %g events: the interval held the truth in %.2f %% of %u", what,
			 events, 100 * share, tally->runs);
}

/*
 * 95 % intervals, each graph drawn 100 times: of blocks where 25 events are expected or more,
 * and of edges that as many executions of a cost of 1 are expected of and whose error is below 30
 * %.
 */
static void intervals_hold_the_truth(void **state)
{
	(void)state;
	static const struct {
		uint32_t blocks;
		unsigned graphs;
		double events;
	} cases[] = { { 12, 20, 1e3 }, { 12, 20, 1e5 }, { 60, 12, 1e4 }, { 300, 5, 1e5 } };
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(8);
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct tally blocks = { 0 }, edges = { 0 };
		for (unsigned round = 0; round < 100 * cases[c].graphs;) {
			CLEANUP(subject_release) struct subject subject;
			structured(&subject, &random, cases[c].blocks, cases[c].events);
			const struct flow_graph *graph = subject.graph;
			const double *truth = subject.flow.blocks, *passed = subject.flow.edges;
			for (unsigned again = 0; again < 100; again++, round++) {
				draw(&subject, &random);
				struct flow_likelihood_result r = solve(&work, &subject);
				for (uint32_t b = 0; b < graph->block_count; b++)
					if (truth[b] * subject.costs[b] >= 25)
						count(&blocks, r.block_executions[b],
						      r.block_relative_error[b], truth[b]);
				for (size_t i = 0; i < graph->edge_count; i++)
					if (passed[i] >= 25 && r.edge_relative_error[i] < 0.3)
						count(&edges, r.edge_executions[i],
						      r.edge_relative_error[i], passed[i]);
			}
		}
		assert_coverage("blocks", cases[c].events, &blocks);
		assert_coverage("edges", cases[c].events, &edges);
	}
}

static void numbering_does_not_matter(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	CLEANUP(flow_likelihood_release) struct flow_likelihood other_work = { 0 };
	struct random_state random = random_seed(9);
	for (size_t round = 0; round < 100; round++) {
		CLEANUP(subject_release) struct subject subject;
		CLEANUP(subject_release) struct subject other = { 0 };
		structured(&subject, &random, 60, 1e4);
		draw(&subject, &random);
		uint32_t n = subject.graph->block_count, *name = calloc(n, sizeof(*name));
		assert_non_null(name);
		for (uint32_t b = 0; b < n; b++) {
			uint32_t swap = (uint32_t)random_below(&random, b + 1);
			name[b] = name[swap];
			name[swap] = b;
		}
		flow_graph_init(&other.flow.graph, n);
		for (size_t i = 0; i < subject.graph->edge_count; i++) {
			const struct flow_edge *edge = &subject.graph->edges[i];
			assert_int_equal(flow_graph_add(&other.flow.graph,
							edge->from == FLOW_OUTSIDE
								? FLOW_OUTSIDE
								: name[edge->from],
							edge->to == FLOW_OUTSIDE ? FLOW_OUTSIDE
										 : name[edge->to],
							edge->kind),
					 0);
		}
		assert_int_equal(flow_graph_settle(&other.flow.graph), 0);
		allocate(&other);
		for (uint32_t b = 0; b < n; b++) {
			other.events[name[b]] = subject.events[b];
			other.costs[name[b]] = subject.costs[b];
		}
		struct flow_likelihood_result result = solve(&work, &subject);
		struct flow_likelihood_result renamed = solve(&other_work, &other);
		for (uint32_t b = 0; b < n; b++) {
			double executions = result.block_executions[b];
			double error = result.block_relative_error[b];
			assert_near("block", renamed.block_executions[name[b]], executions,
				    1e-7 * executions);
			assert_near("error", renamed.block_relative_error[name[b]], error,
				    1e-6 * error);
		}
		free(name);
	}
}

/* Large and small in turn: the same bits as from new work space. */
static void work_space_leaves_no_trace(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood used = { 0 };
	struct random_state random = random_seed(10);
	for (size_t round = 0; round < 40; round++) {
		CLEANUP(subject_release) struct subject subject;
		CLEANUP(flow_likelihood_release) struct flow_likelihood fresh = { 0 };
		tangled(&subject, &random,
			1 + (uint32_t)random_below(&random, round % 3 ? 20 : 300));
		upset(&subject, &random);
		struct flow_likelihood_result a = solve(&used, &subject);
		struct flow_likelihood_result b = solve(&fresh, &subject);
		size_t bytes = subject.graph->block_count * sizeof(double);
		assert_int_equal(a.steps, b.steps);
		assert_memory_equal(a.block_executions, b.block_executions, bytes);
		assert_memory_equal(a.block_relative_error, b.block_relative_error, bytes);
	}
}

static void ten_thousand_blocks(void **state)
{
	(void)state;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(11);
	CLEANUP(subject_release) struct subject subject;
	structured(&subject, &random, 10000, 1e5);
	draw(&subject, &random);
	struct flow_likelihood_result result = solve(&work, &subject);
	assert_conserved(subject.graph, &result);
	if (work.ldl.entry_count > 4 * work.ldl.node_count)
		fail_msg("%zu entries for %u nodes", work.ldl.entry_count, work.ldl.node_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_block_is_events_over_cost),
		cmocka_unit_test(no_blocks_no_values),
		cmocka_unit_test(finds_the_maximum),
		cmocka_unit_test(all_events_are_explained),
		cmocka_unit_test(recovers_what_fits_exactly),
		cmocka_unit_test(converges_on_events_that_fit_nothing),
		cmocka_unit_test(a_lone_part_keeps_its_cold_flow),
		cmocka_unit_test(nothing_seen_is_known_as_little),
		cmocka_unit_test(blocks_of_unknown_cost_follow_the_others),
		cmocka_unit_test(a_loop_without_end_gets_what_enters_it),
		cmocka_unit_test(says_when_it_does_not_converge),
		cmocka_unit_test(errors_are_those_of_the_information_under_conservation),
		cmocka_unit_test(intervals_hold_the_truth),
		cmocka_unit_test(numbering_does_not_matter),
		cmocka_unit_test(work_space_leaves_no_trace),
		cmocka_unit_test(ten_thousand_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
