#include "analyze/flow/minimise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Steps remembered. */
#define HISTORY 20
/* Of the line search: a step must gain this part of step * slope, and the slope must fall to that
 * part; after so many tries it gives up. */
#define GAIN_RATIO  1e-4
#define SLOPE_RATIO 0.9
#define MOST_TRIES  40

struct work {
	const struct minimise_problem *problem;
	size_t count;
	double *x, *gradient;		/* of the best so far */
	double *next_x, *next_gradient; /* of the step that is tried */
	double *direction;
	double *steps, *changes; /* the last HISTORY steps and changes of the gradient, in a ring */
	double rates[HISTORY], alphas[HISTORY];
	unsigned kept, newest;
	double value;
	unsigned evaluations;
};

static double dot(const double *a, const double *b, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
}

static double evaluate(struct work *work, const double *x, double *gradient)
{
	work->evaluations++;
	return work->problem->function(work->problem->context, x, gradient);
}

/* -H gradient: Nocedal's two loops over the steps remembered; H begins as the inverse of the
 * curvature, scaled by the last step. */
static void find_direction(struct work *work)
{
	size_t n = work->count;
	double *d = work->direction, scale = 1;
	for (size_t i = 0; i < n; i++)
		d[i] = -work->gradient[i];
	for (unsigned i = 0; i < work->kept; i++) {
		unsigned at = (work->newest + HISTORY - i) % HISTORY;
		work->alphas[at] = work->rates[at] * dot(work->steps + at * n, d, n);
		for (size_t k = 0; k < n; k++)
			d[k] -= work->alphas[at] * work->changes[at * n + k];
	}
	if (work->kept) {
		const double *change = work->changes + work->newest * n;
		double size = 0;
		for (size_t k = 0; k < n; k++)
			size += change[k] * change[k] / work->problem->curvature[k];
		scale = 1 / (work->rates[work->newest] * size);
	}
	for (size_t k = 0; k < n; k++)
		d[k] *= scale / work->problem->curvature[k];
	for (unsigned i = work->kept; i-- > 0;) {
		unsigned at = (work->newest + HISTORY - i) % HISTORY;
		double beta = work->rates[at] * dot(work->changes + at * n, d, n);
		for (size_t k = 0; k < n; k++)
			d[k] += (work->alphas[at] - beta) * work->steps[at * n + k];
	}
}

/* `slope` < 0 is the derivative along the direction. Whether a step was found: it is in next_x
 * then, and its value in *value. */
static bool search_line(struct work *work, double slope, double *value)
{
	double low = 0, high = INFINITY, step = 1;
	for (unsigned i = 0; i < MOST_TRIES; i++) {
		if (work->evaluations >= work->problem->most_evaluations)
			return false;
		for (size_t k = 0; k < work->count; k++)
			work->next_x[k] = work->x[k] + step * work->direction[k];
		*value = evaluate(work, work->next_x, work->next_gradient);
		if (!(*value <= work->value + GAIN_RATIO * step * slope))
			high = step;
		else if (dot(work->next_gradient, work->direction, work->count) <
			 SLOPE_RATIO * slope)
			low = step;
		else
			return true;
		step = isinf(high) ? 2 * low : (low + high) / 2;
	}
	return false;
}

static void remember(struct work *work)
{
	size_t n = work->count;
	unsigned at = work->kept ? (work->newest + 1) % HISTORY : 0;
	double *step = work->steps + at * n, *change = work->changes + at * n;
	for (size_t k = 0; k < n; k++) {
		step[k] = work->next_x[k] - work->x[k];
		change[k] = work->next_gradient[k] - work->gradient[k];
	}
	double product = dot(step, change, n);
	if (!(product > 0) || !isfinite(1 / product))
		return; /* an error of rounding, as the line search makes it positive */
	work->rates[at] = 1 / product;
	work->newest = at;
	if (work->kept < HISTORY)
		work->kept++;
}

static void swap(double **a, double **b)
{
	double *other = *a;
	*a = *b;
	*b = other;
}

/* Whether it converged. */
static bool descend(struct work *work)
{
	for (;;) {
		double value;
		find_direction(work);
		double slope = dot(work->gradient, work->direction, work->count);
		double least_gain = work->problem->least_gain * fmax(1, fabs(work->value));
		if (!(slope < -least_gain))
			return slope <= 0;
		if (!search_line(work, slope, &value)) {
			/* start anew without the old steps, which may be spoilt by rounding */
			if (!work->kept || work->evaluations >= work->problem->most_evaluations)
				return false;
			work->kept = 0;
			continue;
		}
		double gain = work->value - value;
		remember(work);
		swap(&work->x, &work->next_x);
		swap(&work->gradient, &work->next_gradient);
		work->value = value;
		if (gain <= least_gain)
			return true;
	}
}

int minimise(const struct minimise_problem *problem, double *x, struct minimise_result *result)
{
	size_t n = problem->count;
	CLEANUP(free_pointer) double *memory = calloc((2 * HISTORY + 5) * n + 1, sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	struct work work = { .problem = problem,
			     .count = n,
			     .x = memory,
			     .gradient = memory + n,
			     .next_x = memory + 2 * n,
			     .next_gradient = memory + 3 * n,
			     .direction = memory + 4 * n,
			     .steps = memory + 5 * n,
			     .changes = memory + (5 + HISTORY) * n };
	for (size_t i = 0; i < n; i++)
		work.x[i] = x[i];
	work.value = evaluate(&work, work.x, work.gradient);
	bool converged = isfinite(work.value) && descend(&work);
	for (size_t i = 0; i < n; i++)
		x[i] = work.x[i];
	*result = (struct minimise_result){ work.value, work.evaluations, converged };
	return 0;
}
