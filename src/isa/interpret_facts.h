/*
 * interpret_facts - the flags of x86 and AArch64 as far as they are known, and the flags of
 * operations whose operands are known in part (known_bits.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "isa/known_bits.h"

/*
 * What conditions test. Each is known or not by itself: less may be known though
 * neither sign nor overflow is. AArch64's C is always kept inverted, so that
 * FACT_CARRY is "below" in both instruction sets.
 */
enum fact {
	FACT_CARRY, /* unsigned below */
	FACT_ZERO,  /* equal */
	FACT_SIGN,
	FACT_OVERFLOW,
	FACT_PARITY,	  /* x86 alone */
	FACT_LESS,	  /* signed: sign differs from overflow */
	FACT_BELOW_EQUAL, /* carry or zero */
	FACT_LESS_EQUAL,  /* less or zero */
};

/* Sets of bits by enum fact; a bit of `value` means something only where `known` has it. */
struct facts {
	uint8_t value, known;
};

enum truth {
	TRUTH_UNKNOWN = -1,
	TRUTH_FALSE,
	TRUTH_TRUE,
};

static inline enum truth truth_not(enum truth truth)
{
	if (truth == TRUTH_UNKNOWN)
		return truth;
	return truth == TRUTH_TRUE ? TRUTH_FALSE : TRUTH_TRUE;
}

static inline enum truth bits_are_zero(struct known_bits bits)
{
	if (bits.value)
		return TRUTH_FALSE;
	return bits_are_known(bits, 64) ? TRUTH_TRUE : TRUTH_UNKNOWN;
}

static inline void fact_set(struct facts *facts, enum fact fact, bool value)
{
	facts->known |= (uint8_t)(1u << fact);
	facts->value = (uint8_t)((facts->value & ~(1u << fact)) | (unsigned)value << fact);
}

static inline void fact_forget(struct facts *facts, enum fact fact)
{
	facts->known &= (uint8_t) ~(1u << fact);
}

static inline enum truth fact_of(const struct facts *facts, enum fact fact)
{
	if (!(facts->known >> fact & 1))
		return TRUTH_UNKNOWN;
	return facts->value >> fact & 1 ? TRUTH_TRUE : TRUTH_FALSE;
}

static inline void fact_set_truth(struct facts *facts, enum fact fact, enum truth truth)
{
	if (truth == TRUTH_UNKNOWN)
		fact_forget(facts, fact);
	else
		fact_set(facts, fact, truth == TRUTH_TRUE);
}

/* Works out FACT_LESS, FACT_BELOW_EQUAL and FACT_LESS_EQUAL from the flags where they are not
 * known yet. */
void facts_conclude(struct facts *facts);
/* Zero, sign and parity of a result; the others are forgotten. */
void facts_of_result(struct facts *facts, struct known_bits result, unsigned width_bits);
/* As facts_of_result(), with carry and overflow 0: and, or, xor, test. */
void facts_of_logic(struct facts *facts, struct known_bits result, unsigned width_bits);
/* Returns a + b + carry and sets its flags. */
struct known_bits facts_of_addition(struct facts *facts, struct known_bits a, struct known_bits b,
				    struct known_bits carry, unsigned width_bits);
/* Returns a - b - borrow and sets its flags. */
struct known_bits facts_of_subtraction(struct facts *facts, struct known_bits a,
				       struct known_bits b, struct known_bits borrow,
				       unsigned width_bits);
