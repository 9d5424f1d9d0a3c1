/* From counts to figures: the formulas of a method, with what the counts' steps leave open. */
#include <math.h>
#include <stddef.h>

#include "machine/topdown_method.h"
#include "machine/topdown_registers.h"

struct inputs {
	double counts[TOPDOWN_EVENTS];	    /* scaled; NaN: not known */
	double resolutions[TOPDOWN_EVENTS]; /* half-widths */
	double running_shares[TOPDOWN_EVENTS];
};

static void scale(const struct topdown_count *count, double *value, double *running_share)
{
	*value = NAN;
	*running_share = 1;
	if (!count->known || (count->enabled_ns && !count->running_ns))
		return;
	*value = (double)count->value;
	if (count->running_ns < count->enabled_ns) {
		*running_share = (double)count->running_ns / (double)count->enabled_ns;
		*value /= *running_share;
	}
}

/*
 * A count that the kernel makes of a field is slots * field / 255, summed over its readings, after
 * each of which it resets the registers (topdown.txt, "Resetting metrics counters"): it is off by
 * half a step of the slots at most. The slots lead the group.
 */
static void take_inputs(const struct topdown_method *method, const struct topdown_count *counts,
			struct inputs *inputs)
{
	double leader = NAN;
	for (size_t i = 0; i < method->event_count; i++) {
		const struct topdown_event *event = &method->events[i];
		scale(&counts[i], &inputs->counts[i], &inputs->running_shares[i]);
		if (i == 0 || method->events[i - 1].group != event->group)
			leader = inputs->counts[i];
		inputs->resolutions[i] = event->field == TOPDOWN_NO_FIELD || isnan(leader)
						 ? 0
						 : 0.5 / TOPDOWN_FIELD_STEPS * leader;
	}
}

/*
 * All nodes as counted, and how far each moves when one count after the other moves by its
 * resolution. The moves add up: right to first order whatever a formula does with a count twice.
 */
static void compute(const struct topdown_method *method, struct inputs *inputs,
		    struct topdown_result *results, double *moves)
{
	struct topdown_result moved[TOPDOWN_NODES];
	const struct topdown_pool *pool = &method->pool;
	topdown_pool_compute(pool, inputs->counts, results);
	for (size_t n = 0; n < pool->count; n++)
		moves[n] = 0;
	for (size_t i = 0; i < method->event_count; i++) {
		double count = inputs->counts[i];
		if (isnan(count) || inputs->resolutions[i] == 0)
			continue;
		inputs->counts[i] = count + inputs->resolutions[i];
		topdown_pool_compute(pool, inputs->counts, moved);
		inputs->counts[i] = count;
		for (size_t n = 0; n < pool->count; n++)
			if (results[n].outcome == TOPDOWN_FINE && moved[n].outcome == TOPDOWN_FINE)
				moves[n] += fabs(moved[n].value - results[n].value);
	}
}

/* The least share of the time that an event below the node was counted. */
static double running_share(const struct topdown_method *method, const struct inputs *inputs,
			    uint16_t node)
{
	bool used[TOPDOWN_EVENTS] = { false };
	double least = 1;
	topdown_expression_events(&method->pool, node, used);
	for (size_t i = 0; i < method->event_count; i++)
		if (used[i] && inputs->running_shares[i] < least)
			least = inputs->running_shares[i];
	return least;
}

static const char *reason(const struct topdown_method *method, const struct topdown_result *result)
{
	return result->outcome == TOPDOWN_COUNT_MISSING ? method->events[result->event].uncounted
							: "a count that it is divided by is 0";
}

/* Corrections are made when each category of level 1 that has one can be computed. If not, *why. */
static bool can_correct(const struct topdown_method *method, const struct topdown_result *results,
			const char **why)
{
	bool any = false;
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++) {
		uint16_t node = method->formulas[i].corrected;
		if (topdown_category_level((enum topdown_category)i) != 1 ||
		    node == TOPDOWN_NO_NODE)
			continue;
		any = true;
		if (results[node].outcome != TOPDOWN_FINE) {
			*why = reason(method, &results[node]);
			return false;
		}
	}
	return any;
}

static struct topdown_figure figure_of(const struct topdown_method *method,
				       const struct inputs *inputs,
				       const struct topdown_result *results, const double *moves,
				       uint16_t node)
{
	const struct topdown_result *result = &results[node];
	if (result->outcome != TOPDOWN_FINE)
		return (struct topdown_figure){ .why = reason(method, result) };
	bool whole = running_share(method, inputs, node) >= 1;
	return (struct topdown_figure){ .known = true,
					.value = result->value,
					.resolution = moves[node],
					.doubts = whole ? 0 : TOPDOWN_EXTRAPOLATED };
}

void topdown_of_counts(const struct topdown_method *method, const struct topdown_count *counts,
		       struct topdown *out)
{
	struct inputs inputs;
	struct topdown_result results[TOPDOWN_NODES];
	double moves[TOPDOWN_NODES];
	take_inputs(method, counts, &inputs);
	compute(method, &inputs, results, moves);
	const char *uncorrected = NULL; /* why a figure without a plain formula is not known */
	*out = (struct topdown){ .method = method->name,
				 .unit = method->unit,
				 .running_share = 1,
				 .corrected = can_correct(method, results, &uncorrected) };
	out->slots = figure_of(method, &inputs, results, moves, method->slots);
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++) {
		const struct topdown_formula *formula = &method->formulas[i];
		bool corrected = formula->corrected != TOPDOWN_NO_NODE && out->corrected;
		uint16_t node = corrected ? formula->corrected : formula->plain;
		if (node == TOPDOWN_NO_NODE) {
			out->figures[i].why = formula->absent ? formula->absent : uncorrected;
			continue;
		}
		out->figures[i] = figure_of(method, &inputs, results, moves, node);
		double share = running_share(method, &inputs, node);
		if (out->figures[i].known && share < out->running_share)
			out->running_share = share;
	}
	topdown_judge(out);
	if (method->unit != TOPDOWN_SLOTS)
		return;
	if (method->sum == TOPDOWN_NO_NODE)
		out->sum_state =
			out->slots.known ? TOPDOWN_SUM_BY_CONSTRUCTION : TOPDOWN_SUM_UNKNOWN;
	else if (results[method->sum].outcome == TOPDOWN_FINE)
		topdown_judge_sum(out, results[method->sum].value, moves[method->sum]);
}
