/*
 * Arithmetic on values of which some bits are known, against all values that they may be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "isa/interpret_private.h"

#define WIDTH_BITS   8
#define MASK	     UINT64_C(0xff)
#define ROUNDS	     4000
#define UNKNOWN_MOST 3

/* A value of eight bits, of which at most UNKNOWN_MOST are unknown. */
static struct known_bits any_bits(struct random_state *random, unsigned unknown_most)
{
	uint64_t known = MASK;
	for (unsigned i = 0; i < unknown_most; i++)
		if (random_below(random, 2))
			known &= ~(UINT64_C(1) << random_below(random, WIDTH_BITS));
	/* often near each other and near the ends */
	uint64_t value = random_below(random, 2)
				 ? random_u64(random)
				 : 126 + random_below(random, 5) + 128 * random_below(random, 2);
	return (struct known_bits){ value & known, known | ~MASK };
}

/* The next value that `bits` may be; starts and ends with bits.value. */
static uint64_t next_of(struct known_bits bits, uint64_t value)
{
	uint64_t unknown = ~bits.known;
	return (((value | bits.known) + 1) & unknown) | bits.value;
}

struct truths {
	uint64_t ones, zeros; /* results: bits that are always so */
	uint8_t facts, not_facts;
};

static void meet(struct truths *truths, uint64_t result, uint8_t facts)
{
	truths->ones &= result;
	truths->zeros &= ~result;
	truths->facts &= facts;
	truths->not_facts &= (uint8_t)~facts;
}

static uint8_t facts_from(uint64_t result, bool carry, bool overflow)
{
	bool zero = !(result & MASK), sign = result >> (WIDTH_BITS - 1) & 1;
	bool less = sign != overflow;
	return (uint8_t)(carry << FACT_CARRY | zero << FACT_ZERO | sign << FACT_SIGN |
			 overflow << FACT_OVERFLOW |
			 (__builtin_parityll(result & MASK) == 0) << FACT_PARITY |
			 less << FACT_LESS | (carry || zero) << FACT_BELOW_EQUAL |
			 (less || zero) << FACT_LESS_EQUAL);
}

static void meet_sum(struct truths *truths, uint64_t a, uint64_t b, uint64_t carry, bool subtracts)
{
	int64_t x = (int8_t)a, y = (int8_t)b;
	int64_t exact = subtracts ? x - y - (int64_t)carry : x + y + (int64_t)carry;
	uint64_t result = (uint64_t)exact & MASK;
	bool carries = subtracts ? a < b + carry : a + b + carry > MASK;
	meet(truths, result, facts_from(result, carries, exact != (int8_t)exact));
}

static struct truths all_sums(struct known_bits a, struct known_bits b, struct known_bits carry,
			      bool subtracts)
{
	struct truths truths = { UINT64_MAX, UINT64_MAX, 0xff, 0xff };
	uint64_t x = a.value, y = b.value, c = carry.value & 1;
	do {
		do {
			do {
				meet_sum(&truths, x, y, c, subtracts);
				c = carry.known & 1 ? c : !c;
			} while (c != (carry.value & 1));
			y = next_of(b, y);
		} while (y != b.value);
		x = next_of(a, x);
	} while (x != a.value);
	return truths;
}

static void sums_and_their_flags_are_right(void **state)
{
	(void)state;
	struct random_state random = random_seed(1);
	size_t certain = 0, known = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct known_bits a = any_bits(&random, UNKNOWN_MOST);
		struct known_bits b = any_bits(&random, UNKNOWN_MOST);
		struct known_bits carry = bits_of(random_below(&random, 2));
		if (random_below(&random, 3) == 0)
			carry = (struct known_bits){ 0, ~UINT64_C(1) };
		bool subtracts = i % 2;
		struct truths truths = all_sums(a, b, carry, subtracts);
		struct facts facts;
		struct known_bits sum =
			subtracts ? facts_of_subtraction(&facts, a, b, carry, WIDTH_BITS)
				  : facts_of_addition(&facts, a, b, carry, WIDTH_BITS);
		assert_int_equal(sum.value & MASK & ~truths.ones, 0);
		assert_int_equal(~sum.value & sum.known & MASK & ~truths.zeros, 0);
		assert_int_equal(facts.known & facts.value & ~truths.facts, 0);
		assert_int_equal(facts.known & ~facts.value & ~truths.not_facts, 0);
		certain += (size_t)__builtin_popcount(truths.facts | truths.not_facts);
		known += (size_t)__builtin_popcount(facts.known);
		/* of a sum all bits are known that can be */
		assert_int_equal(sum.known & MASK, (truths.ones | truths.zeros) & MASK);
	}
	assert_true(known >= certain / 1000 * 980);
}

static void all_flags_of_known_values_are_known(void **state)
{
	(void)state;
	struct random_state random = random_seed(2);
	for (int i = 0; i < ROUNDS; i++) {
		struct known_bits a = any_bits(&random, 0), b = any_bits(&random, 0);
		struct known_bits carry = bits_of(random_below(&random, 2));
		struct facts facts;
		facts_of_addition(&facts, a, b, carry, WIDTH_BITS);
		assert_int_equal(facts.known, 0xff);
		facts_of_subtraction(&facts, a, b, carry, WIDTH_BITS);
		assert_int_equal(facts.known, 0xff);
		facts_of_logic(&facts, a, WIDTH_BITS);
		assert_int_equal(facts.known, 0xff);
		assert_int_equal(facts.value, facts_from(a.value, false, false));
	}
}

static void logic_knows_what_can_be_known(void **state)
{
	(void)state;
	struct random_state random = random_seed(3);
	for (int i = 0; i < ROUNDS; i++) {
		struct known_bits a = any_bits(&random, UNKNOWN_MOST);
		struct known_bits b = any_bits(&random, UNKNOWN_MOST);
		struct truths and = { UINT64_MAX, UINT64_MAX, 0, 0 }, or = and, xor = and;
		uint64_t x = a.value, y = b.value;
		do {
			do {
				meet(&and, x & y, 0);
				meet(& or, x | y, 0);
				meet(&xor, x ^ y, 0);
				y = next_of(b, y);
			} while (y != b.value);
			x = next_of(a, x);
		} while (x != a.value);
		assert_int_equal(bits_and(a, b).value & MASK, and.ones & MASK);
		assert_int_equal(bits_and(a, b).known & MASK, (and.ones | and.zeros) & MASK);
		assert_int_equal(bits_or(a, b).value & MASK, or.ones & MASK);
		assert_int_equal(bits_or(a, b).known & MASK, (or.ones | or.zeros) & MASK);
		assert_int_equal(bits_xor(a, b).value & MASK, xor.ones &MASK);
		assert_int_equal(bits_xor(a, b).known & MASK, (xor.ones | xor.zeros) & MASK);
	}
}

static void shifts_bring_in_what_is_known(void **state)
{
	(void)state;
	struct known_bits low = { 0x5, 0xf }; /* four bits known */
	assert_int_equal(bits_left(low, 4).value, 0x50);
	assert_int_equal(bits_left(low, 4).known, 0xff);
	assert_int_equal(bits_left(low, 64).known, UINT64_MAX);
	assert_int_equal(bits_right(low, 60).known, ~UINT64_C(0xf));
	assert_int_equal(bits_right(low, 1).known, UINT64_C(1) << 63 | 7);
	assert_int_equal(bits_extend(low, 4).value, 5);
	assert_int_equal(bits_extend(low, 3).value, ~UINT64_C(2));
	assert_int_equal(bits_extend(low, 5).known, 0xf);
	assert_int_equal(bits_low(low, 2).value, 1);
	assert_int_equal(bits_low(low, 2).known, UINT64_MAX);
	assert_int_equal(bits_rotate_right(low, 4, 8).value, 0x50);
	assert_int_equal(bits_rotate_right(low, 4, 8).known, 0xf0);
	assert_int_equal(bits_either(bits_of(6), bits_of(2)).value, 2);
	assert_int_equal(bits_either(bits_of(6), bits_of(2)).known, ~UINT64_C(4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_their_flags_are_right),
		cmocka_unit_test(all_flags_of_known_values_are_known),
		cmocka_unit_test(logic_knows_what_can_be_known),
		cmocka_unit_test(shifts_bring_in_what_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
