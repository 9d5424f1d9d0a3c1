/*
 * interpret_aarch64 - what the parts of the AArch64 interpreter share. Sections are of
 * the Arm ARM, DDI 0487, chapter C4.1.
 */
#pragma once

#include "isa/interpret_private.h"

static inline unsigned part(uint32_t word, unsigned low, unsigned bits)
{
	return word >> low & ((1u << bits) - 1);
}

/* As a signed number. */
static inline uint64_t signed_part(uint32_t word, unsigned low, unsigned bits)
{
	return (uint64_t)bits_signed(part(word, low, bits), bits);
}

#define RD(word) part(word, 0, 5)
#define RN(word) part(word, 5, 5)
#define RA(word) part(word, 10, 5)
#define RM(word) part(word, 16, 5)

/* Where 31 is the zero register, of 64 or 32 bits; */
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

/* and where it is the stack pointer. */
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

/* By the four bits of the encoding. */
enum truth aarch64_condition(const struct interpreter *interpreter, unsigned condition);
/* The flags that two instructions may leave, of which one is it. */
struct facts facts_of_nzcv(unsigned nzcv);
/*
 * User addresses have 48 bits; what authentication puts above them is taken off. So is what
 * it would have found: a program goes on only where it found no fault.
 */
struct known_bits aarch64_without_code(struct known_bits pointer);
struct known_bits aarch64_with_code(struct known_bits pointer);

/* Each is false for what it does not know: then the effects hold. */
bool aarch64_run_immediate(struct interpreter *interpreter, uint32_t word, uint64_t address);
bool aarch64_run_register(struct interpreter *interpreter, uint32_t word);
bool aarch64_run_memory(struct interpreter *interpreter, uint32_t word, uint64_t address);
bool aarch64_run_vector(struct interpreter *interpreter, uint32_t word);
