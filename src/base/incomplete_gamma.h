/*
 * incomplete_gamma - the regularised incomplete gamma function, of which the tails of chi-square
 * and Poisson distributions are values.
 */
#pragma once

/* Q(a, x) = 1/Gamma(a) * integral from x of t^(a-1) exp(-t), for a from 0 to about 500,000 and x of
 * 0 or more; relative error below 1e-9. */
double incomplete_gamma_upper(double a, double x);

/* P(X >= x) of a chi-square with that many degrees of freedom. */
double chi_square_upper(double x, double degrees);
