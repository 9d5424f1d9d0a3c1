#include "export/figure.h"

#define DIGITS	      20  /* of UINT64_MAX */
#define MOST_DECIMALS 300 /* of a stranger's file: more would be no number */

/* Writes the digits at the end of `digits` and returns how many. */
static size_t digits_of(uint64_t value, char digits[DIGITS])
{
	size_t count = 0;
	do {
		digits[DIGITS - ++count] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return count;
}

void figure_append_u64(struct buffer *out, uint64_t value)
{
	char digits[DIGITS];
	size_t count = digits_of(value, digits);
	buffer_append(out, digits + DIGITS - count, count);
}

void figure_append_estimate(struct buffer *out, uint64_t estimate, uint64_t scale)
{
	char digits[DIGITS];
	size_t decimals = scale < MOST_DECIMALS ? (size_t)scale : MOST_DECIMALS;
	while (decimals && estimate % 10 == 0) {
		decimals = estimate ? decimals - 1 : 0;
		estimate /= 10;
	}
	size_t count = digits_of(estimate, digits);
	const char *text = digits + DIGITS - count;
	size_t whole = count > decimals ? count - decimals : 0;
	buffer_append(out, whole ? text : "0", whole ? whole : 1);
	if (!decimals)
		return;
	buffer_append_u8(out, '.');
	for (size_t zeros = decimals - (count - whole); zeros > 0; zeros--)
		buffer_append_u8(out, '0');
	buffer_append(out, text + whole, count - whole);
}
