#include "import/perf_data/perf_data_units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/count_of.h"
#include "profile/profile.h"

#define DIGITS	      15 /* that a double has for certain */
#define KEPT_DIGITS   3	 /* of a scale with more: its rounding is below a tenth of a count */
#define DECIMALS_MOST 18 /* finer steps leave no room for counts */

/* ns that a unit of time has; 0: it is none. */
static double unit_ns(struct span name)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 },     { "nsec", 1 },  { "us", 1e3 },
		      { "usec", 1e3 }, { "ms", 1e6 },  { "msec", 1e6 },
		      { "s", 1e9 },    { "sec", 1e9 }, { "seconds", 1e9 } };
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (span_equal(name, span_of_text(units[i].name)))
			return units[i].ns;
	return 0;
}

static uint64_t power_of_ten(unsigned exponent)
{
	uint64_t power = 1;
	while (exponent--)
		power *= 10;
	return power;
}

/* A positive number as digits x 10^-places, without zeros at the end of the digits. */
static void take_apart(double number, uint64_t *digits, unsigned *count, int *places)
{
	char text[40];
	const char *at = text;
	snprintf(text, sizeof(text), "%.*e", DIGITS - 1, number);
	*digits = 0;
	for (; *at && *at != 'e'; at++) /* the point differs by language */
		if (*at >= '0' && *at <= '9')
			*digits = *digits * 10 + (uint64_t)(*at - '0');
	*places = DIGITS - 1 - (*at ? atoi(at + 1) : 0);
	*count = DIGITS;
	while (*digits && *digits % 10 == 0) {
		*digits /= 10;
		--*places;
		--*count;
	}
}

bool perf_unit_of(struct span name, double scale, struct perf_unit *unit)
{
	uint64_t digits;
	unsigned count;
	int places;
	double ns = unit_ns(name);
	*unit = (struct perf_unit){ .factor = 1 };
	if (scale == 0)
		scale = 1;
	double counts = ns > 0 ? scale * ns : scale;
	if (!isfinite(counts) || counts < 0)
		return false;
	take_apart(counts, &digits, &count, &places);
	int decimals = count > KEPT_DIGITS ? places - (int)(count - KEPT_DIGITS) : places;
	if (decimals < 0)
		decimals = 0;
	if (decimals > DECIMALS_MOST || places < (int)count - DECIMALS_MOST)
		return false;
	for (; places < 0; places++)
		digits *= 10;
	unit->name = ns > 0 ? span_of_text("ns") : name;
	unit->factor = digits;
	unit->digits = (uint32_t)(places - decimals);
	unit->decimals = (uint32_t)decimals;
	return true;
}

uint64_t perf_unit_sum(const struct perf_unit *unit, uint64_t counts)
{
	unsigned __int128 sum = (unsigned __int128)counts * unit->factor;
	sum /= power_of_ten(unit->digits);
	return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

struct cell perf_unit_cell(const struct perf_unit *unit, const struct cell *cell, uint64_t *before)
{
	struct cell made = *cell;
	if (unit->factor == 1 && unit->digits == 0)
		return made;
	uint64_t least = perf_unit_sum(unit, *before);
	if (__builtin_add_overflow(*before, cell->estimate, before))
		*before = UINT64_MAX;
	made.estimate = perf_unit_sum(unit, *before) - least;
	double factor = (double)unit->factor / (double)power_of_ten(unit->digits);
	double squares = (double)cell->squares * factor * factor;
	made.squares = squares < 0x1p127 ? (unsigned __int128)squares : ~(unsigned __int128)0 >> 1;
	return made;
}
