/*
 * minimise - a smooth function of many variables from its values and gradients, by L-BFGS (Liu,
 * Nocedal, "On the limited memory BFGS method for large scale optimization", Math. Programming 45,
 * 1989) and a line search by bisection for the weak conditions of Wolfe (Lewis, Overton,
 * "Nonsmooth optimization via quasi-Newton methods", Math. Programming 141, 2013).
 *
 * Finds a minimum near the start, where there are several. Pure; equal input gives equal output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The value at x, and its gradient; INFINITY (no gradient then) where there is none. */
typedef double (*minimise_function)(void *context, const double *x, double *gradient);

struct minimise_problem {
	minimise_function function;
	void *context;
	size_t count;
	/* By variable, > 0: about what its own second derivative is. The first step goes by it. */
	const double *curvature;
	unsigned most_evaluations;
	/* It has converged when a step lowers the value, or would by its slope, by no more than
	 * this part of it, or of 1 if the value is less. */
	double least_gain;
};

struct minimise_result {
	double value;
	unsigned evaluations;
	bool converged;
};

/* Starts from x, where the function must have a value; x becomes the minimum found. 0, or -ENOMEM
 * with x unchanged. */
int minimise(const struct minimise_problem *problem, double *x, struct minimise_result *result);
