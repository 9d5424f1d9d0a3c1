#include "isa/interpret_facts.h"

static enum truth either(enum truth a, enum truth b)
{
	if (a == TRUTH_TRUE || b == TRUTH_TRUE)
		return TRUTH_TRUE;
	return a == TRUTH_FALSE && b == TRUTH_FALSE ? TRUTH_FALSE : TRUTH_UNKNOWN;
}

static void conclude(struct facts *facts, enum fact fact, enum truth truth)
{
	if (fact_of(facts, fact) == TRUTH_UNKNOWN)
		fact_set_truth(facts, fact, truth);
}

void facts_conclude(struct facts *facts)
{
	enum truth sign = fact_of(facts, FACT_SIGN);
	enum truth overflow = fact_of(facts, FACT_OVERFLOW);
	enum truth zero = fact_of(facts, FACT_ZERO);
	if (sign != TRUTH_UNKNOWN && overflow != TRUTH_UNKNOWN)
		conclude(facts, FACT_LESS, sign != overflow ? TRUTH_TRUE : TRUTH_FALSE);
	conclude(facts, FACT_BELOW_EQUAL, either(fact_of(facts, FACT_CARRY), zero));
	conclude(facts, FACT_LESS_EQUAL, either(fact_of(facts, FACT_LESS), zero));
}

void facts_of_result(struct facts *facts, struct known_bits result, unsigned width_bits)
{
	uint64_t mask = bits_mask(width_bits);
	uint64_t sign = UINT64_C(1) << (width_bits - 1);
	*facts = (struct facts){ 0, 0 };
	if (result.value & mask)
		fact_set(facts, FACT_ZERO, false);
	else if (bits_are_known(result, width_bits))
		fact_set(facts, FACT_ZERO, true);
	if (result.known & sign)
		fact_set(facts, FACT_SIGN, result.value & sign);
	if (bits_are_known(result, 8))
		fact_set(facts, FACT_PARITY, __builtin_parityll(result.value & 0xff) == 0);
}

void facts_of_logic(struct facts *facts, struct known_bits result, unsigned width_bits)
{
	facts_of_result(facts, result, width_bits);
	fact_set(facts, FACT_CARRY, false);
	fact_set(facts, FACT_OVERFLOW, false);
	facts_conclude(facts);
}

/* FACT_CARRY and FACT_ZERO of a sum from its least and greatest value. */
static void set_unsigned(struct facts *facts, unsigned __int128 least, unsigned __int128 most,
			 unsigned width_bits)
{
	unsigned __int128 limit = (unsigned __int128)1 << width_bits;
	if (least >= limit)
		fact_set(facts, FACT_CARRY, true);
	else if (most < limit)
		fact_set(facts, FACT_CARRY, false);
	if ((least > 0 && most < limit) || least > limit)
		fact_set(facts, FACT_ZERO, false);
}

/* FACT_OVERFLOW and FACT_LESS of a signed sum or difference from its least and greatest value. */
static void set_signed(struct facts *facts, __int128 least, __int128 most, unsigned width_bits)
{
	__int128 limit = (__int128)1 << (width_bits - 1);
	if (least >= -limit && most < limit)
		fact_set(facts, FACT_OVERFLOW, false);
	else if (most < -limit || least >= limit)
		fact_set(facts, FACT_OVERFLOW, true);
	/* the true sum's sign, which is the sign flag where nothing overflows */
	if (most < 0)
		fact_set(facts, FACT_LESS, true);
	else if (least >= 0)
		fact_set(facts, FACT_LESS, false);
}

struct known_bits facts_of_addition(struct facts *facts, struct known_bits a, struct known_bits b,
				    struct known_bits carry, unsigned width_bits)
{
	struct known_bits sum = bits_add(a, b, carry);
	facts_of_result(facts, sum, width_bits);
	set_unsigned(facts,
		     (unsigned __int128)bits_least(a, width_bits) + bits_least(b, width_bits) +
			     (carry.value & 1),
		     (unsigned __int128)bits_most(a, width_bits) + bits_most(b, width_bits) +
			     bits_most(carry, 1),
		     width_bits);
	set_signed(facts,
		   (__int128)bits_least_signed(a, width_bits) + bits_least_signed(b, width_bits) +
			   (int)(carry.value & 1),
		   (__int128)bits_most_signed(a, width_bits) + bits_most_signed(b, width_bits) +
			   (int)bits_most(carry, 1),
		   width_bits);
	facts_conclude(facts);
	return sum;
}

struct known_bits facts_of_subtraction(struct facts *facts, struct known_bits a,
				       struct known_bits b, struct known_bits borrow,
				       unsigned width_bits)
{
	struct known_bits difference = bits_add(a, bits_not(b), bits_not(borrow));
	uint64_t least_a = bits_least(a, width_bits), most_a = bits_most(a, width_bits);
	uint64_t least_b = bits_least(b, width_bits), most_b = bits_most(b, width_bits);
	unsigned borrow_most = (unsigned)bits_most(borrow, 1);
	unsigned borrow_least = (unsigned)(borrow.value & 1);
	__int128 least = (__int128)bits_least_signed(a, width_bits) -
			 bits_most_signed(b, width_bits) - (int)borrow_most;
	__int128 most = (__int128)bits_most_signed(a, width_bits) -
			bits_least_signed(b, width_bits) - (int)borrow_least;
	facts_of_result(facts, difference, width_bits);
	if (most_a < least_b || (most_a == least_b && borrow_least))
		fact_set(facts, FACT_CARRY, true);
	else if (least_a > most_b || (least_a == most_b && !borrow_most))
		fact_set(facts, FACT_CARRY, false);
	/* with a borrow the least difference is -2^width, which is 0 */
	bool least_is_zero = borrow_most && least_a == 0 && most_b == bits_mask(width_bits);
	__int128 limit = (__int128)1 << width_bits;
	if (least > 0 || (most < 0 && least > -limit) || least_a > most_b + (__int128)borrow_most ||
	    (most_a < least_b + (__int128)borrow_least && !least_is_zero))
		fact_set(facts, FACT_ZERO, false);
	if (borrow_most == 0) {
		if ((a.value ^ b.value) & a.known & b.known & bits_mask(width_bits))
			fact_set(facts, FACT_ZERO, false);
		if (most_a <= least_b)
			fact_set(facts, FACT_BELOW_EQUAL, true);
		if (most <= 0)
			fact_set(facts, FACT_LESS_EQUAL, true);
	}
	set_signed(facts, least, most, width_bits);
	facts_conclude(facts);
	return difference;
}
