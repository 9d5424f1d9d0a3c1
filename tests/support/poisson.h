/*
 * poisson - random counts, to check intervals and tests of significance.
 */
#pragma once

#include <stdint.h>

struct random_state;

/* A count that is Poisson distributed about `mean`; equal for equal states. */
uint64_t poisson(struct random_state *random, double mean);
