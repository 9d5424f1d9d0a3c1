/*
 * aarch64_word - fields of an AArch64 instruction (Arm ARM, DDI 0487, chapter C4.1).
 */
#pragma once

#include <stdint.h>

/* `count` bits from bit `low` on. */
static inline unsigned word_bits(uint32_t word, unsigned low, unsigned count)
{
	return word >> low & ((1u << count) - 1);
}

/* The lowest `count` bits as a signed number, in 64 bits. */
static inline uint64_t word_sign_extend(uint64_t value, unsigned count)
{
	uint64_t sign = UINT64_C(1) << (count - 1);
	return (value ^ sign) - sign;
}

/* `count` bits from bit `low` on, as a signed number. */
static inline uint64_t word_signed_bits(uint32_t word, unsigned low, unsigned count)
{
	return word_sign_extend(word_bits(word, low, count), count);
}
