#include "render/quantity.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct prefix {
	double divisor;
	const char *name;
};

static const struct prefix plain[] = { { 1, "" },    { 1e3, "k" },  { 1e6, "M" },
				       { 1e9, "G" }, { 1e12, "T" }, { 1e15, "P" } };
static const struct prefix times[] = { { 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" } };

static struct prefix choose(double largest, struct span unit)
{
	const struct prefix *list = plain;
	size_t count = sizeof(plain) / sizeof(plain[0]);
	if (span_equal(unit, span_of_text("ns"))) {
		list = times;
		count = sizeof(times) / sizeof(times[0]);
	}
	size_t at = 0;
	while (at + 1 < count && largest >= list[at + 1].divisor)
		at++;
	return list[at];
}

/* Counts of whole things have no digits after the point; Joules, and counts that came with
 * decimals, have. */
static bool has_digits(double value, struct prefix prefix, struct span unit)
{
	bool is_time = span_equal(unit, span_of_text("ns"));
	return prefix.divisor > 1 || (unit.size && !is_time && value != trunc(value));
}

struct quantity_scale quantity_scale_for(double largest, struct span unit)
{
	struct prefix prefix = choose(largest, unit);
	struct quantity_scale scale = { .divisor = prefix.divisor };
	snprintf(scale.unit, sizeof(scale.unit), "%s", prefix.name);
	double mantissa = largest / prefix.divisor;
	if (has_digits(largest, prefix, unit))
		scale.decimals = mantissa < 10 ? 4 : mantissa < 100 ? 3 : mantissa < 1000 ? 2 : 1;
	return scale;
}

void quantity_format(const struct quantity_scale *scale, double value, char text[QUANTITY_SIZE])
{
	snprintf(text, QUANTITY_SIZE, "%.*f", scale->decimals, value / scale->divisor);
}

void quantity_describe(double value, struct span unit, char text[QUANTITY_SIZE])
{
	struct prefix prefix = choose(value, unit);
	double mantissa = value / prefix.divisor;
	int decimals = !has_digits(value, prefix, unit) ? 0
		       : mantissa < 10			? 3
		       : mantissa < 100			? 2
							: 1;
	snprintf(text, QUANTITY_SIZE, "%.*f%s%s", decimals, mantissa, *prefix.name ? " " : "",
		 prefix.name);
}

void quantity_bytes(uint64_t bytes, char text[QUANTITY_SIZE])
{
	static const char *const names[] = { "bytes", "kB", "MB", "GB", "TB" };
	double value = (double)bytes;
	size_t at = 0;
	while (at + 1 < sizeof(names) / sizeof(names[0]) && value >= 1000) {
		value /= 1000;
		at++;
	}
	snprintf(text, QUANTITY_SIZE, "%.*f %s",
		 at == 0      ? 0
		 : value < 10 ? 2
			      : 1,
		 value, names[at]);
}

void quantity_count(uint64_t count, char text[QUANTITY_SIZE])
{
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t out = 0;
	for (int i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0 && size > 4)
			text[out++] = ' ';
		text[out++] = digits[i];
	}
	text[out] = 0;
}

void quantity_percent(double part, double whole, char text[QUANTITY_SIZE])
{
	double percent = whole > 0 ? 100 * part / whole : 0;
	if (whole <= 0)
		snprintf(text, QUANTITY_SIZE, "-");
	else if (part > 0 && percent < 0.01)
		snprintf(text, QUANTITY_SIZE, "<0.01 %%");
	else if (percent > 1000) /* of what isn't a part, as CPU time of the time that passed */
		snprintf(text, QUANTITY_SIZE, ">1000 %%");
	else if (part >= whole)
		snprintf(text, QUANTITY_SIZE, "%.0f %%", percent);
	else if (percent >= 99.995) /* almost all is not all */
		snprintf(text, QUANTITY_SIZE, ">99.99 %%");
	else
		snprintf(text, QUANTITY_SIZE, "%.*f %%", percent < 10 || percent > 99 ? 2 : 1,
			 percent);
}
