/*
 * speedscope_number - the numbers of a speedscope file as whole parts and
 * billionths: weights are decimal, and so they stay.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

#define DECIMAL_ONE UINT64_C(1000000000)

struct decimal {
	uint64_t whole;
	uint32_t billionths; /* below DECIMAL_ONE; finer ones are rounded */
};

/* A JSON number; false below 0 and from 2^64 on. */
bool decimal_parse(struct span text, struct decimal *out);
/* How many decimals it needs, at most 9. */
unsigned decimal_places(struct decimal number);
/* a - b; false when that is below 0. */
bool decimal_subtract(struct decimal a, struct decimal b, struct decimal *out);
/* number * factor, rounded to the nearest whole number; false past 64 bits. */
bool decimal_times(struct decimal number, uint64_t factor, uint64_t *out);
