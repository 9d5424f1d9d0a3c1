/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_likelihood.h"
#include "analyze/flow/flow_posterior.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "support/poisson.h"
#include "support/random_flow.h"

/* Of a block's cost, that nobody knows: more than the model takes it to be off. */
#define COST_ERROR 0.7
/* Blocks of the graphs whose objective is worked out by a dense matrix. */
#define MOST_BLOCKS 64

static const struct flow_likelihood_options likelihood_defaults = FLOW_LIKELIHOOD_DEFAULTS;
static const struct flow_posterior_options defaults = FLOW_POSTERIOR_DEFAULTS;

/* A procedure, its samples, branches that were seen, and both estimates of them. */
struct subject {
	struct random_flow flow;
	const struct flow_graph *graph;
	double *events, *costs, *evidence;
	struct flow_likelihood likelihood;
	struct flow_likelihood_result likely;
	struct flow_posterior posterior;
	struct flow_posterior_result result;
};

static void subject_release(struct subject *subject)
{
	random_flow_release(&subject->flow);
	flow_likelihood_release(&subject->likelihood);
	flow_posterior_release(&subject->posterior);
	free(subject->events);
	free(subject->costs);
	free(subject->evidence);
}

static void allocate(struct subject *subject)
{
	subject->graph = &subject->flow.graph;
	subject->events = calloc(subject->graph->block_count + 1, sizeof(double));
	subject->costs = calloc(subject->graph->block_count + 1, sizeof(double));
	subject->evidence = calloc(subject->graph->edge_count + 1, sizeof(double));
	assert_true(subject->events && subject->costs && subject->evidence);
}

static double normal(struct random_state *random)
{
	return sqrt(-2 * log(1 - random_unit(random))) *
	       cos(6.283185307179586 * random_unit(random));
}

/* `events` samples, of blocks whose costs are off by a factor of their own. */
static void init(struct subject *subject, struct random_state *random, uint32_t blocks,
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
		double off = exp(COST_ERROR * normal(random));
		subject->events[b] =
			(double)poisson(random, off * subject->costs[b] * subject->flow.blocks[b]);
	}
	for (size_t i = 0; i < subject->graph->edge_count; i++)
		subject->flow.edges[i] *= events / sum;
}

/* Any edges, so loops without end and code that nothing leads to; events that fit nothing. */
static void init_tangled(struct subject *subject, struct random_state *random, uint32_t blocks)
{
	*subject = (struct subject){ 0 };
	random_flow_init_tangled(&subject->flow, random, blocks);
	allocate(subject);
	for (uint32_t b = 0; b < blocks; b++) {
		subject->costs[b] =
			random_below(random, 5) ? pow(10, 4 * random_unit(random) - 2) : NAN;
		subject->events[b] = random_below(random, 3) ? 0 : pow(10, 6 * random_unit(random));
	}
	subject->costs[0] = 1;
	for (size_t i = 0; i < subject->graph->edge_count; i++)
		subject->evidence[i] =
			random_below(random, 2) ? 0 : pow(10, 5 * random_unit(random));
}

static void solve(struct subject *subject)
{
	assert_int_equal(flow_likelihood_solve(&subject->likelihood, subject->graph,
					       subject->events, subject->costs,
					       &likelihood_defaults, &subject->likely),
			 0);
	assert_int_equal(flow_posterior_solve(&subject->posterior, subject->graph, subject->events,
					      subject->costs, subject->evidence, &subject->likely,
					      &defaults, &subject->result),
			 0);
}

/* `count` outcomes at each block of more than one way out, as often as they happen. */
static void see_branches(struct subject *subject, struct random_state *random, double count)
{
	for (size_t i = 0; i < subject->graph->edge_count; i++) {
		const struct flow_edge *edge = &subject->graph->edges[i];
		if (edge->from != FLOW_OUTSIDE)
			subject->evidence[i] =
				(double)poisson(random, count * subject->flow.edges[i] /
								subject->flow.blocks[edge->from]);
	}
}

static const struct flow_edge *edge_at(const struct subject *subject, size_t i)
{
	size_t count = subject->graph->edge_count;
	return i < count ? &subject->graph->edges[i] : &subject->likely.made_up[i - count];
}

static double flow_of(const struct subject *subject, size_t i)
{
	size_t count = subject->graph->edge_count;
	return i < count ? subject->result.edge_executions[i]
			 : subject->result.made_up_executions[i - count];
}

static void assert_near(const char *what, double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%s is %.17g, expected %.17g", what, value, expected);
}

static void assert_conserved(const struct subject *subject)
{
	uint32_t blocks = subject->graph->block_count;
	CLEANUP(free_pointer) double *in = calloc(2 * (size_t)blocks + 1, sizeof(*in));
	assert_non_null(in);
	double *out = in + blocks;
	for (size_t i = 0; i < subject->graph->edge_count + subject->likely.made_up_count; i++) {
		double flow = flow_of(subject, i);
		assert_true(flow >= 0 && isfinite(flow));
		if (edge_at(subject, i)->from != FLOW_OUTSIDE)
			out[edge_at(subject, i)->from] += flow;
		if (edge_at(subject, i)->to != FLOW_OUTSIDE)
			in[edge_at(subject, i)->to] += flow;
	}
	for (uint32_t b = 0; b < blocks; b++) {
		double executions = subject->result.block_executions[b];
		assert_true(executions > 0);
		assert_near("flow in", in[b], executions, 1e-9 * executions);
		assert_near("flow out", out[b], executions, 1e-9 * executions);
	}
}

/* f = (I - P')^-1 entries by elimination with pivots; `ratios` of edges, of entries their flow. */
static void visit(const struct subject *subject, const double *ratios, double *visits)
{
	static double matrix[MOST_BLOCKS][MOST_BLOCKS + 1];
	uint32_t n = subject->graph->block_count;
	for (uint32_t b = 0; b < n; b++)
		for (uint32_t c = 0; c <= n; c++)
			matrix[b][c] = b == c;
	for (size_t i = 0; i < subject->graph->edge_count + subject->likely.made_up_count; i++) {
		const struct flow_edge *edge = edge_at(subject, i);
		if (edge->from == FLOW_OUTSIDE)
			matrix[edge->to][n] += ratios[i];
		else if (edge->to != FLOW_OUTSIDE)
			matrix[edge->to][edge->from] -= ratios[i];
	}
	for (uint32_t k = 0; k < n; k++) {
		uint32_t best = k;
		for (uint32_t row = k; row < n; row++)
			if (fabs(matrix[row][k]) > fabs(matrix[best][k]))
				best = row;
		for (uint32_t c = 0; c <= n; c++) {
			double other = matrix[k][c];
			matrix[k][c] = matrix[best][c];
			matrix[best][c] = other;
		}
		for (uint32_t row = 0; row < n; row++) {
			double share = matrix[row][k] / matrix[k][k];
			for (uint32_t c = k; row != k && c <= n; c++)
				matrix[row][c] -= share * matrix[k][c];
		}
	}
	for (uint32_t b = 0; b < n; b++)
		visits[b] = matrix[b][n] / matrix[b][b];
}

/* The objective as docs/methods.md has it, of whatever ratios and flows from outside. */
static double objective(const struct subject *subject, const double *ratios)
{
	size_t graph_edges = subject->graph->edge_count;
	size_t edges = graph_edges + subject->likely.made_up_count;
	uint32_t blocks = subject->graph->block_count;
	double visits[MOST_BLOCKS], ways[MOST_BLOCKS] = { 0 };
	double left[MOST_BLOCKS] = { 0 }, sum = 0, largest = 0;
	visit(subject, ratios, visits);
	for (uint32_t b = 0; b < blocks; b++) {
		double events = subject->events[b] + 0.5;
		double off = log(events / subject->costs[b]) - log(visits[b]);
		largest = fmax(largest, subject->likely.block_executions[b]);
		if (isnan(subject->costs[b]) || (subject->events[b] == 0 && off > 0))
			continue;
		sum -= 2.5 * log1p(off * off / (0.5 * 0.5 + 1 / events) / 4);
	}
	for (size_t i = 0; i < edges; i++) {
		uint32_t from = edge_at(subject, i)->from;
		double likely = i < graph_edges
					? subject->likely.edge_executions[i]
					: subject->likely.made_up_executions[i - graph_edges];
		if (from == FLOW_OUTSIDE) {
			double off = log(ratios[i] / fmax(likely, 1e-4 * largest)) / 5;
			sum -= off * off / 2;
			continue;
		}
		ways[from]++;
		left[from] += likely;
	}
	for (size_t i = 0; i < edges; i++) {
		uint32_t from = edge_at(subject, i)->from;
		if (from == FLOW_OUTSIDE || ways[from] < 2)
			continue;
		double likely = i < graph_edges
					? subject->likely.edge_executions[i]
					: subject->likely.made_up_executions[i - graph_edges];
		double count = i < graph_edges ? subject->evidence[i] : 0;
		count += 0.98 * likely / left[from] + 0.02 / ways[from];
		sum += count * log(ratios[i]);
	}
	return sum;
}

static void no_step_from_the_estimate_is_more_likely(void **state)
{
	(void)state;
	struct random_state random = random_seed(1);
	unsigned steps = 0;
	for (unsigned round = 0; round < 60; round++) {
		CLEANUP(subject_release) struct subject subject;
		double ratios[4 * MOST_BLOCKS];
		if (round % 3 == 0) {
			init_tangled(&subject, &random, 2 + (uint32_t)random_below(&random, 20));
		} else {
			init(&subject, &random, 5 + (uint32_t)random_below(&random, 30), 1e4);
			see_branches(&subject, &random, round % 3 == 1 ? 0 : 300);
		}
		solve(&subject);
		assert_true(subject.result.converged);
		assert_conserved(&subject);
		size_t edges = subject.graph->edge_count + subject.likely.made_up_count;
		assert_true(edges <= 4 * MOST_BLOCKS && subject.graph->block_count <= MOST_BLOCKS);
		for (size_t i = 0; i < edges; i++) {
			uint32_t from = edge_at(&subject, i)->from;
			ratios[i] = flow_of(&subject, i);
			if (from != FLOW_OUTSIDE)
				ratios[i] /= subject.result.block_executions[from];
		}
		double best = objective(&subject, ratios);
		/* odds or flow up or down by a tenth */
		for (size_t i = 0; i < edges; i++)
			for (int sign = -1; sign <= 1; sign += 2) {
				uint32_t from = edge_at(&subject, i)->from;
				double moved[4 * MOST_BLOCKS], factor = exp(0.1 * sign);
				double sum = 1 + ratios[i] * (factor - 1);
				for (size_t k = 0; k < edges; k++) {
					moved[k] = ratios[k] * (k == i ? factor : 1);
					if (from != FLOW_OUTSIDE &&
					    edge_at(&subject, k)->from == from)
						moved[k] /= sum;
				}
				double gain = objective(&subject, moved) - best;
				if (gain > 1e-3)
					fail_msg("round %u: edge %zu, %+d: %g more likely", round,
						 i, sign, gain);
				steps++;
			}
	}
	assert_true(steps > 1000);
}

/* Of executions' logarithms, over blocks by their executions; up to a factor of the procedure's. */
static double error_of(const struct subject *subject, const double *executions)
{
	double sum = 0, mean = 0, squares = 0;
	for (uint32_t b = 0; b < subject->graph->block_count; b++) {
		double off = log(executions[b] / subject->flow.blocks[b]);
		sum += subject->flow.blocks[b];
		mean += subject->flow.blocks[b] * off;
		squares += subject->flow.blocks[b] * off * off;
	}
	return sqrt(fmax(0, squares / sum - mean / sum * mean / sum));
}

struct errors {
	double likelihood, posterior; /* means over procedures */
};

static struct errors mean_errors(uint64_t seed, double outcomes)
{
	struct random_state random = random_seed(seed);
	struct errors mean = { 0, 0 };
	const unsigned rounds = 100;
	unsigned stopped = 0;
	for (unsigned round = 0; round < rounds; round++) {
		CLEANUP(subject_release) struct subject subject;
		init(&subject, &random, 20 + (uint32_t)random_below(&random, 100), 1e5);
		see_branches(&subject, &random, outcomes);
		solve(&subject);
		stopped += !subject.result.converged;
		assert_conserved(&subject);
		mean.likelihood += error_of(&subject, subject.likely.block_executions) / rounds;
		mean.posterior += error_of(&subject, subject.result.block_executions) / rounds;
	}
	/* By rounding, which differs by processor, one may take more evaluations than it has. */
	assert_true(stopped <= 2);
	return mean;
}

static void without_branches_it_is_no_worse_than_the_likelihood(void **state)
{
	(void)state;
	struct errors errors = mean_errors(2, 0);
	assert_true(errors.likelihood > 0.3); /* there is something to be worse than */
	assert_true(errors.posterior < 1.02 * errors.likelihood);
}

static void branches_lead_to_the_truth(void **state)
{
	(void)state;
	static const double outcomes[] = { 1, 10, 100, 1000 };
	static const double most[] = { 0.9, 0.7, 0.5, 0.25 }; /* parts of the likelihood's */
	for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
		struct errors errors = mean_errors(3, outcomes[i]);
		if (!(errors.posterior < most[i] * errors.likelihood))
			fail_msg("%g outcomes: off by %g, the likelihood by %g", outcomes[i],
				 errors.posterior, errors.likelihood);
	}
}

/* 0 goes to 1 or 2, both to 3; samples say nine in ten, branches one in two. */
static void what_is_seen_counts_the_more_the_more_there_is(void **state)
{
	(void)state;
	double shares[3];
	for (unsigned i = 0; i < COUNT_OF(shares); i++) {
		CLEANUP(subject_release) struct subject subject = { 0 };
		flow_graph_init(&subject.flow.graph, 4);
		for (uint32_t way = 1; way <= 2; way++) {
			assert_int_equal(flow_graph_add(&subject.flow.graph, 0, way, FLOW_BRANCH),
					 0);
			assert_int_equal(flow_graph_add(&subject.flow.graph, way, 3, FLOW_BRANCH),
					 0);
		}
		assert_int_equal(flow_graph_settle(&subject.flow.graph), 0);
		allocate(&subject);
		for (uint32_t b = 0; b < 4; b++) {
			subject.costs[b] = 1;
			subject.events[b] = b == 0 || b == 3 ? 10000 : b == 1 ? 9000 : 1000;
		}
		for (size_t k = 0; k < subject.graph->edge_count; k++)
			if (subject.graph->edges[k].from == 0)
				subject.evidence[k] = i == 0 ? 0 : i == 1 ? 20 : 1e6;
			else
				subject.evidence[k] = 50; /* where there is but one way */
		solve(&subject);
		shares[i] = subject.result.block_executions[1] / subject.result.block_executions[0];
	}
	assert_near("none seen", shares[0], 0.9, 0.01);
	assert_true(shares[1] < 0.8 && shares[1] > 0.55);
	assert_near("a million", shares[2], 0.5, 1e-3);
}

static void whatever_was_seen_flow_is_conserved(void **state)
{
	(void)state;
	struct random_state random = random_seed(4);
	unsigned solved = 0;
	for (unsigned round = 0; round < 300; round++) {
		CLEANUP(subject_release) struct subject subject;
		init_tangled(&subject, &random, 1 + (uint32_t)random_below(&random, 300));
		assert_int_equal(flow_likelihood_solve(&subject.likelihood, subject.graph,
						       subject.events, subject.costs,
						       &likelihood_defaults, &subject.likely),
				 0);
		int ret = flow_posterior_solve(&subject.posterior, subject.graph, subject.events,
					       subject.costs, subject.evidence, &subject.likely,
					       &defaults, &subject.result);
		assert_true(ret == 0 || ret == -EDOM);
		if (ret == 0)
			assert_conserved(&subject);
		solved += ret == 0;
		assert_true(ret < 0 || subject.result.evaluations <= defaults.most_evaluations);
	}
	assert_true(solved > 290);
}

static void a_tangle_gets_fewer_evaluations(void **state)
{
	(void)state;
	struct flow_posterior_options options = FLOW_POSTERIOR_DEFAULTS;
	struct random_state random = random_seed(6);
	CLEANUP(subject_release) struct subject subject;
	init(&subject, &random, 200, 1e5);
	solve(&subject);
	assert_true(subject.result.evaluations > 20);
	options.most_operations = 1000;
	assert_int_equal(flow_posterior_solve(&subject.posterior, subject.graph, subject.events,
					      subject.costs, subject.evidence, &subject.likely,
					      &options, &subject.result),
			 0);
	assert_false(subject.result.converged);
	assert_true(subject.result.evaluations <= 5); /* of 200 operations at least */
	assert_conserved(&subject);
}

static void without_a_likelihood_there_is_none(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject;
	struct random_state random = random_seed(5);
	init(&subject, &random, 10, 1000);
	solve(&subject);
	subject.likely.converged = false;
	assert_int_equal(flow_posterior_solve(&subject.posterior, subject.graph, subject.events,
					      subject.costs, subject.evidence, &subject.likely,
					      &defaults, &subject.result),
			 -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_branches_it_is_no_worse_than_the_likelihood),
		cmocka_unit_test(branches_lead_to_the_truth),
		cmocka_unit_test(what_is_seen_counts_the_more_the_more_there_is),
		cmocka_unit_test(whatever_was_seen_flow_is_conserved),
		cmocka_unit_test(a_tangle_gets_fewer_evaluations),
		cmocka_unit_test(without_a_likelihood_there_is_none),
		cmocka_unit_test(no_step_from_the_estimate_is_more_likely),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
