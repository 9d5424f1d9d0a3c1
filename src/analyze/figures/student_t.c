#include "analyze/figures/student_t.h"

#include <math.h>

#include "analyze/figures/incomplete_beta.h"

#define STEPS_MOST 100 /* ten are usual */

double student_t_upper(double t, double degrees)
{
	/* of the two forms the one whose argument keeps its digits */
	double square = t * t;
	double beyond = square < degrees
				? 1 - incomplete_beta(square / (degrees + square), 0.5, degrees / 2)
				: incomplete_beta(degrees / (degrees + square), degrees / 2, 0.5);
	return t < 0 ? 1 - beyond / 2 : beyond / 2;
}

static double density(double t, double degrees)
{
	int sign; /* of gamma functions: positive here */
	double front = exp(lgamma_r((degrees + 1) / 2, &sign) - lgamma_r(degrees / 2, &sign)) /
		       sqrt(degrees * M_PI);
	return front * exp(-(degrees + 1) / 2 * log1p(t * t / degrees));
}

/* Newton's method: the tail is convex above 0, so from a t that is too low it rises to the one that
 * is sought and never passes it. */
double student_t_quantile(double tail, double degrees)
{
	double t = 0;
	for (double next = 1; student_t_upper(next, degrees) > tail; next *= 2)
		t = next;
	for (int i = 0; i < STEPS_MOST; i++) {
		double step = (student_t_upper(t, degrees) - tail) / density(t, degrees);
		t += step;
		if (fabs(step) <= 1e-15 * t)
			break;
	}
	return t;
}
