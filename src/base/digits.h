/*
 * digits - the numbers that stand in lines of text which is not trusted: no
 * terminator, no signs, no blanks, and never a number that wrapped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* 0 to 15, or -1. */
static inline int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/*
 * The number whose digits begin at *at, in base 10 or 16; *at moves behind them. False, and nothing
 * changed, when there are none or the number is not below 2^64.
 */
static inline bool digits_take(const char **at, const char *end, unsigned base, uint64_t *value)
{
	const char *next = *at;
	uint64_t number = 0;
	for (; next < end; next++) {
		int digit = hex_digit(*next);
		if (digit < 0 || (unsigned)digit >= base)
			break;
		if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit, &number))
			return false;
	}
	if (next == *at)
		return false;
	*at = next;
	*value = number;
	return true;
}
