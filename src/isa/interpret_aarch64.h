/*
 * interpret_aarch64 - what the files of the AArch64 interpreter share: fields of a word, registers,
 * conditions. Sections are of the Arm ARM, DDI 0487, chapter C4.1.
 */
#pragma once

#include "isa/aarch64_word.h"
#include "isa/interpret_private.h"

#define RD(word) word_bits(word, 0, 5)
#define RN(word) word_bits(word, 5, 5)
#define RA(word) word_bits(word, 10, 5)
#define RM(word) word_bits(word, 16, 5)

/* read_x(), write_x(): number 31 is the zero register. Widths are 64 or 32 bits. */
static inline struct known_bits read_x(const struct interpreter *interpreter, unsigned number,
				       unsigned width_bits)
{
	if (number == 31)
		return bits_of(0);
	return bits_low(interpreter->general[number], width_bits);
}

static inline void write_x(struct interpreter *interpreter, unsigned number, unsigned width_bits,
			   struct known_bits bits)
{
	if (number != 31)
		interpreter->general[number] = bits_low(bits, width_bits);
}

/* read_x_sp(), write_x_sp(): number 31 is the stack pointer. */
static inline struct known_bits read_x_sp(const struct interpreter *interpreter, unsigned number,
					  unsigned width_bits)
{
	return bits_low(interpreter->general[number], width_bits);
}

static inline void write_x_sp(struct interpreter *interpreter, unsigned number, unsigned width_bits,
			      struct known_bits bits)
{
	interpreter->general[number] = bits_low(bits, width_bits);
}

/* Whether a condition holds, by the four bits of its encoding. */
enum truth aarch64_condition(const struct interpreter *interpreter, unsigned condition);
/* The flags of a constant: N, Z, C, V from bit 3 to bit 0. */
struct facts facts_of_nzcv(unsigned nzcv);
/*
 * Pointer authentication: a user's pointer without the code in its bits above the 48 of an address,
 * and one with a code, which is not known. An authentication that fails is not followed: the
 * program would go no further.
 */
struct known_bits aarch64_strip_pointer(struct known_bits pointer);
struct known_bits aarch64_sign_pointer(struct known_bits pointer);

/* Each executes instructions of its section, and returns false for one that it does not know, of
 * which only the effects (effects.h) are then used. */
bool aarch64_run_immediate(struct interpreter *interpreter, uint32_t word, uint64_t address);
bool aarch64_run_register(struct interpreter *interpreter, uint32_t word);
bool aarch64_run_memory(struct interpreter *interpreter, uint32_t word, uint64_t address);
bool aarch64_run_vector(struct interpreter *interpreter, uint32_t word);
