#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/count_of.h"

bool number_parse_u64(const char *text, uint64_t *value)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hexadecimal ? text + 2 : text;
	if (!(hexadecimal ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)))
		return false;
	char *end;
	errno = 0;
	unsigned long long parsed = strtoull(digits, &end, hexadecimal ? 16 : 10);
	if (errno || *end)
		return false;
	*value = parsed;
	return true;
}

bool number_parse_size(const char *text, uint64_t *value)
{
	static const char powers[] = "KMGT";
	char *end;
	errno = 0;
	unsigned long long parsed = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || errno)
		return false;
	const char *power = *end ? strchr(powers, toupper((unsigned char)*end)) : NULL;
	unsigned int shift = power ? 10 * (unsigned int)(power - powers + 1) : 0;
	const char *rest = power ? end + 1 : end;
	if (power && *rest == 'B')
		rest++;
	if (*rest || parsed > UINT64_MAX >> shift)
		return false;
	*value = (uint64_t)parsed << shift;
	return true;
}

/* strtod accepts "inf", "nan", hexadecimal and leading spaces; none of them is a number here. */
static bool parse_decimal(const char *text, double *value, const char **rest)
{
	const char *p = text;
	if (!isdigit((unsigned char)*p) && *p != '.')
		return false;
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		return false;
	char *end;
	errno = 0;
	*value = strtod_l(text, &end, c_locale());
	if (errno || end == text || !isfinite(*value))
		return false;
	*rest = end;
	return true;
}

bool number_parse_double(const char *text, double *value)
{
	const char *rest;
	if (!parse_decimal(text, value, &rest))
		return false;
	return !*rest || strcmp(rest, "%") == 0;
}

bool number_parse_duration_ns(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e9 },  { "ns", 1 },   { "us", 1e3 },   { "ms", 1e6 },
		      { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 } };
	double value;
	const char *rest;
	if (!parse_decimal(text, &value, &rest))
		return false;
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		if (strcmp(rest, units[i].unit))
			continue;
		double result = value * units[i].ns;
		if (result >= 9e18)
			return false;
		*ns = (uint64_t)llround(result);
		return true;
	}
	return false;
}
