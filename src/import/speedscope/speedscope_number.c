#include "import/speedscope/speedscope_number.h"

#include <stddef.h>

static const uint64_t powers[] = {
	1ull,
	10ull,
	100ull,
	1000ull,
	10000ull,
	100000ull,
	1000000ull,
	10000000ull,
	100000000ull,
	1000000000ull,
	10000000000ull,
	100000000000ull,
	1000000000000ull,
	10000000000000ull,
	100000000000000ull,
	1000000000000000ull,
	10000000000000000ull,
	100000000000000000ull,
	1000000000000000000ull,
	10000000000000000000ull,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The exponent behind `at`; far beyond what matters it stays where it is. */
static int64_t exponent_of(const char *at, const char *end)
{
	int64_t value = 0;
	bool below = false;
	if (at == end)
		return 0;
	at++; /* the e */
	if (at < end && (*at == '-' || *at == '+'))
		below = *at++ == '-';
	for (; at < end; at++)
		if (value < 1000000)
			value = value * 10 + (*at - '0');
	return below ? -value : value;
}

/* One digit at 10^place. */
static bool add_digit(struct decimal *out, unsigned digit, int64_t place)
{
	uint64_t part;
	if (digit == 0 || place < -10)
		return true;
	if (place == -10)
		out->billionths += digit >= 5; /* may reach DECIMAL_ONE: carried by the caller */
	else if (place < 0)
		out->billionths += digit * (uint32_t)powers[9 + place];
	else if (place > 19 || __builtin_mul_overflow(digit, powers[place], &part) ||
		 __builtin_add_overflow(out->whole, part, &out->whole))
		return false;
	return true;
}

bool decimal_parse(struct span text, struct decimal *out)
{
	const char *at = text.data;
	const char *end = at + text.size;
	bool below = text.size && *at == '-';
	at += below;
	const char *exponent = at;
	int64_t before_point = 0;
	bool point = false;
	while (exponent < end && (is_digit(*exponent) || *exponent == '.')) {
		point |= *exponent == '.';
		before_point += !point;
		exponent++;
	}
	int64_t place = before_point + exponent_of(exponent, end);
	*out = (struct decimal){ 0 };
	for (; at < exponent; at++)
		if (is_digit(*at) && !add_digit(out, (unsigned)(*at - '0'), --place))
			return false;
	if (out->billionths >= DECIMAL_ONE) {
		out->billionths -= (uint32_t)DECIMAL_ONE;
		if (__builtin_add_overflow(out->whole, 1u, &out->whole))
			return false;
	}
	return !below || (out->whole == 0 && out->billionths == 0);
}

unsigned decimal_places(struct decimal number)
{
	unsigned places = number.billionths ? 9 : 0;
	while (places && number.billionths % 10 == 0) {
		number.billionths /= 10;
		places--;
	}
	return places;
}

bool decimal_subtract(struct decimal a, struct decimal b, struct decimal *out)
{
	if (a.whole < b.whole || (a.whole == b.whole && a.billionths < b.billionths))
		return false;
	uint64_t borrow = a.billionths < b.billionths;
	*out = (struct decimal){ a.whole - b.whole - borrow,
				 (uint32_t)(a.billionths + borrow * DECIMAL_ONE - b.billionths) };
	return true;
}

bool decimal_times(struct decimal number, uint64_t factor, uint64_t *out)
{
	uint64_t whole;
	unsigned __int128 part = (unsigned __int128)number.billionths * factor + DECIMAL_ONE / 2;
	return !__builtin_mul_overflow(number.whole, factor, &whole) &&
	       !__builtin_add_overflow(whole, (uint64_t)(part / DECIMAL_ONE), out);
}
