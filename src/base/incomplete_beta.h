/*
 * incomplete_beta - the regularised incomplete beta function, of which the tails of the binomial
 * and of Student's t are values.
 */
#pragma once

/* I_x(a, b) for 0 <= x <= 1, a and b from 0 to about 500,000; its limits where a or b is 0. */
double incomplete_beta(double x, double a, double b);
