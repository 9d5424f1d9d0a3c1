#include "analyze/flow/flow_calls.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/flow/minimise.h"
#include "base/cleanup.h"

/* Standard errors of logarithms, beside chance: of what an instruction costs in one procedure and
 * in all; of how often it is entered and called; of how often its branches were seen.
 * docs/methods.md, "Executions over calls". */
#define COST_ERROR 1.0
#define CALL_ERROR 0.3
#define SEEN_ERROR 0.3
/* More entries than known calls may have other callers: then the error is that many times as large.
 */
#define OTHER_CALLERS 4.0
/* Branches of one burst are seen together, and so are those of one stay in the procedure. */
#define SEEN_AT_ONCE 5.0
#define SEEN_A_STAY  2.0
#define LEAST_CROSSINGS                                                                            \
	4.0 /* with fewer, most stays seen are the first and last ones, which are cut */

#define MOST_EVALUATIONS 300
#define LEAST_GAIN	 1e-9
#define MOST_LOGARITHM	 300.0
#define MOST_STEPS	 30  /* rounds over all relations, for errors */
#define MOST_VARIANCE	 9.0 /* of a caller that is one of many: e^3 */

/* The calls of one callee. */
struct relation {
	size_t first, end;
	double error;
};

/* Variables: the logarithm of each procedure's factor, and last that of the rate at which branches
 * were seen. */
struct model {
	const struct flow_calls_input *input;
	struct relation *relations;
	size_t relation_count;
	double *x, *curvature;
	double *cost_errors,
		*seen_errors; /* by procedure; seen_errors NaN: its branches do not count */
};

static void model_release(struct model *model)
{
	free(model->relations);
	free(model->x);
}

static double square(double value)
{
	return value * value;
}

static double student(double off, double error, double *slope)
{
	double d = off / error;
	*slope = 5 * d / (4 + d * d) / error;
	return 2.5 * log1p(d * d / 4);
}

/* The second derivative of student() at 0. */
static double curvature_of(double error)
{
	return 1.25 / (error * error);
}

static double by_cost(const struct model *model, size_t p, const double *x, double *gradient)
{
	double slope, value = student(x[p], model->cost_errors[p], &slope);
	gradient[p] += slope;
	return value;
}

static double by_seen(const struct model *model, size_t p, const double *x, double *gradient)
{
	const struct flow_calls_procedure *procedure = &model->input->procedures[p];
	size_t rate = model->input->procedure_count;
	double slope;
	if (isnan(model->seen_errors[p]))
		return 0;
	double off = log((procedure->seen + 0.5) / procedure->expected) - x[p] - x[rate];
	if (procedure->seen <= 0 && off > 0)
		return 0; /* half a branch was expected at most, and none seen */
	double value = student(off, model->seen_errors[p], &slope);
	gradient[p] -= slope;
	gradient[rate] -= slope;
	return value;
}

static double by_calls(const struct model *model, const struct relation *relation, const double *x,
		       double *gradient)
{
	const struct flow_call *calls = model->input->calls;
	uint32_t callee = calls[relation->first].callee;
	double sum = 0, slope;
	for (size_t i = relation->first; i < relation->end; i++)
		sum += calls[i].executions * exp(x[calls[i].caller]);
	double off = log(sum) - log(model->input->procedures[callee].entries) - x[callee];
	double error = off < 0 ? relation->error * OTHER_CALLERS : relation->error;
	double value = student(off, error, &slope);
	gradient[callee] -= slope;
	for (size_t i = relation->first; i < relation->end; i++)
		gradient[calls[i].caller] +=
			slope * calls[i].executions * exp(x[calls[i].caller]) / sum;
	return value;
}

static double evaluate(void *context, const double *x, double *gradient)
{
	const struct model *model = context;
	size_t count = model->input->procedure_count;
	double value = 0;
	for (size_t i = 0; i <= count; i++) {
		gradient[i] = 0;
		if (!(fabs(x[i]) < MOST_LOGARITHM))
			return INFINITY;
	}
	for (size_t p = 0; p < count; p++)
		value += by_cost(model, p, x, gradient) + by_seen(model, p, x, gradient);
	for (size_t r = 0; r < model->relation_count; r++)
		value += by_calls(model, &model->relations[r], x, gradient);
	return value;
}

/* Adds the relation of a callee's calls; its error has the chance of all samples involved. */
static void add_relation(struct model *model, size_t first, size_t end)
{
	const struct flow_call *calls = model->input->calls;
	const struct flow_calls_procedure *procedures = model->input->procedures;
	uint32_t callee = calls[first].callee;
	double sum = 0, variance = CALL_ERROR * CALL_ERROR;
	if (!(procedures[callee].entries > 0))
		return;
	for (size_t i = first; i < end; i++)
		sum += calls[i].executions;
	variance +=
		1 / (procedures[callee].samples + 0.5) + square(procedures[callee].entries_error);
	for (size_t i = first; i < end; i++) {
		double share = calls[i].executions / sum;
		variance +=
			share * share *
			(1 / (procedures[calls[i].caller].samples + 0.5) + square(calls[i].error));
	}
	double error = sqrt(variance);
	if (!isfinite(error))
		return;
	model->relations[model->relation_count++] = (struct relation){ first, end, error };
	model->curvature[callee] += curvature_of(error);
	for (size_t i = first; i < end; i++)
		model->curvature[calls[i].caller] +=
			curvature_of(error) * calls[i].executions / sum;
}

static void add_relations(struct model *model)
{
	const struct flow_call *calls = model->input->calls;
	size_t count = model->input->call_count;
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && calls[end].callee == calls[first].callee;)
			end++;
		add_relation(model, first, end);
	}
}

static void add_procedures(struct model *model)
{
	size_t rate = model->input->procedure_count;
	double seen = 0, expected = 0;
	for (size_t p = 0; p < rate; p++) {
		if (model->input->procedures[p].crossings < LEAST_CROSSINGS)
			continue;
		seen += model->input->procedures[p].seen;
		expected += model->input->procedures[p].expected;
	}
	bool any = seen > 0 && expected > 0;
	model->x[rate] = any ? log(seen / expected) : 0;
	model->curvature[rate] = 1;
	for (size_t p = 0; p < rate; p++) {
		const struct flow_calls_procedure *procedure = &model->input->procedures[p];
		double error = sqrt(COST_ERROR * COST_ERROR + 1 / (procedure->samples + 0.5));
		model->cost_errors[p] = error;
		model->curvature[p] = curvature_of(error);
		model->seen_errors[p] = NAN;
		if (!any || !(procedure->expected > 0) || procedure->crossings < LEAST_CROSSINGS)
			continue;
		error = sqrt(SEEN_ERROR * SEEN_ERROR + SEEN_AT_ONCE / (procedure->seen + 0.5) +
			     SEEN_A_STAY / procedure->crossings);
		model->seen_errors[p] = error;
		model->curvature[p] += curvature_of(error);
		model->curvature[rate] += curvature_of(error);
	}
}

static int model_init(struct model *model, const struct flow_calls_input *input)
{
	size_t count = input->procedure_count;
	model->input = input;
	model->relations = calloc(input->call_count + 1, sizeof(*model->relations));
	model->x = calloc(4 * (count + 1), sizeof(*model->x));
	if (!model->relations || !model->x)
		return -ENOMEM;
	model->curvature = model->x + count + 1;
	model->cost_errors = model->curvature + count + 1;
	model->seen_errors = model->cost_errors + count + 1;
	add_procedures(model);
	add_relations(model);
	return 0;
}

/* ---- errors; `known`: by procedure, the variance of its factor's logarithm */

/* Of the procedures that all chains begin at, INFINITY for others. */
static void begin(const struct model *model, double *known)
{
	const struct flow_calls_procedure *procedures = model->input->procedures;
	size_t most = 0;
	bool any = false;
	for (size_t p = 0; p < model->input->procedure_count; p++) {
		bool seen = !isnan(model->seen_errors[p]);
		known[p] = seen ? square(model->seen_errors[p]) : INFINITY;
		any |= seen;
		if (procedures[p].samples > procedures[most].samples)
			most = p;
	}
	if (!any && model->input->procedure_count)
		known[most] = 0;
}

/* Whether the variance is less than the known one, which it then replaces. */
static bool improve(double *known, double variance)
{
	if (!(variance < *known * 0.999))
		return false;
	*known = variance;
	return true;
}

/* Improves the callee of a relation by its callers, and a caller with more than half of the calls
 * by the callee. How far the relation is off at the solution counts as error. Whether any became
 * surer.
 */
static bool go_over(const struct model *model, const struct relation *relation, double *known)
{
	const struct flow_call *calls = model->input->calls;
	uint32_t callee = calls[relation->first].callee;
	double sum = 0, own = 0, callers = 0;
	bool surer = false;
	for (size_t i = relation->first; i < relation->end; i++) {
		double executions = calls[i].executions * exp(model->x[calls[i].caller]);
		sum += executions;
		own += calls[i].caller == callee ? executions : 0;
	}
	if (own > sum / 2)
		return false; /* it mostly calls itself, which compares it with no other */
	double off = log(sum) - log(model->input->procedures[callee].entries) - model->x[callee];
	double variance = square(relation->error) + square(off);
	for (size_t i = relation->first; i < relation->end; i++) {
		double share = calls[i].executions * exp(model->x[calls[i].caller]) / sum;
		if (share > 0.5 && calls[i].caller != callee && !isfinite(known[calls[i].caller]))
			callers = INFINITY;
		else if (share > 0 && calls[i].caller != callee)
			callers += square(share) * fmin(known[calls[i].caller], MOST_VARIANCE);
	}
	surer |= improve(&known[callee], variance + callers);
	for (size_t i = relation->first; i < relation->end; i++) {
		uint32_t caller = calls[i].caller;
		double share = calls[i].executions * exp(model->x[caller]) / sum;
		/* all that the other callers have may be wrong */
		double others = square((1 - share) / share);
		if (caller != callee && share > 0.5)
			surer |= improve(&known[caller],
					 (variance + known[callee]) / square(share) + others);
	}
	return surer;
}

static void find_errors(const struct model *model, double *known)
{
	begin(model, known);
	for (int step = 0; step < MOST_STEPS; step++) {
		bool surer = false;
		for (size_t r = 0; r < model->relation_count; r++)
			surer |= go_over(model, &model->relations[r], known);
		if (!surer)
			return;
	}
}

int flow_calls_fit(const struct flow_calls_input *input, struct flow_calls_factor *factors)
{
	CLEANUP(model_release) struct model model = { 0 };
	CLEANUP(free_pointer)
	double *known = calloc(input->procedure_count + 1, sizeof(*known));
	struct minimise_result result;
	int ret = known ? model_init(&model, input) : -ENOMEM;
	if (ret < 0)
		return ret;
	const struct minimise_problem problem = {
		.function = evaluate,
		.context = &model,
		.count = input->procedure_count + 1,
		.curvature = model.curvature,
		.most_evaluations = MOST_EVALUATIONS,
		.least_gain = LEAST_GAIN,
	};
	ret = minimise(&problem, model.x, &result);
	if (ret < 0)
		return ret;
	find_errors(&model, known);
	for (size_t p = 0; p < input->procedure_count; p++)
		factors[p] = (struct flow_calls_factor){ exp(model.x[p]), sqrt(known[p]) };
	return 0;
}
