#include "analyze/flow/flow_calls.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/flow/minimise.h"
#include "base/cleanup.h"

/* Of the logarithm, beside chance: what an instruction costs in one procedure and in all; how often
 * it is entered and called; how often its branches were seen. docs/methods.md. */
#define COST_ERROR 1.0
#define CALL_ERROR 0.3
#define SEEN_ERROR 0.3
/* More entries than known calls may have other callers: then the error is that many times as large.
 */
#define OTHER_CALLERS 4.0
/* Branches of one burst are seen together. */
#define SEEN_AT_ONCE 5.0

#define MOST_EVALUATIONS 300
#define LEAST_GAIN	 1e-9
#define MOST_LOGARITHM	 300.0

/* The calls of one callee. */
struct relation {
	size_t first, end;
	double error;
};

/* Variables: the procedures' logarithms, and last the rate at which branches were seen. */
struct model {
	const struct flow_calls_input *input;
	struct relation *relations;
	size_t relation_count;
	double *x, *curvature;
	double *cost_errors, *seen_errors; /* by procedure; NaN: nothing is seen */
};

static void model_release(struct model *model)
{
	free(model->relations);
	free(model->x);
}

static double student(double off, double error, double *slope)
{
	double d = off / error;
	*slope = 5 * d / (4 + d * d) / error;
	return 2.5 * log1p(d * d / 4);
}

/* The second derivative of the above where nothing is off. */
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
		return 0; /* none of fewer than half a branch: as it should be */
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

/* One calls relation; chance is that of all its procedures' samples. */
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
	variance += 1 / (procedures[callee].samples + 0.5);
	for (size_t i = first; i < end; i++) {
		double share = calls[i].executions / sum;
		variance += share * share / (procedures[calls[i].caller].samples + 0.5);
	}
	double error = sqrt(variance);
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
		if (!any || !(procedure->expected > 0))
			continue;
		error = sqrt(SEEN_ERROR * SEEN_ERROR + SEEN_AT_ONCE / (procedure->seen + 0.5));
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

int flow_calls_fit(const struct flow_calls_input *input, double *factors)
{
	CLEANUP(model_release) struct model model = { 0 };
	struct minimise_result result;
	int ret = model_init(&model, input);
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
	for (size_t p = 0; ret == 0 && p < input->procedure_count; p++)
		factors[p] = exp(model.x[p]);
	return ret;
}
