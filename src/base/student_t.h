/*
 * student_t - tails and quantiles of Student's t, by the incomplete beta function (Abramowitz and
 * Stegun 26.7.1, 26.5.27). Pure; relative error below 1e-9.
 */
#pragma once

/* P(T >= t) with that many degrees of freedom, above 0 and at most 1,000,000. */
double student_t_upper(double t, double degrees);
/* The t with P(T >= t) = tail, 0 < tail <= 1/2. */
double student_t_quantile(double tail, double degrees);
