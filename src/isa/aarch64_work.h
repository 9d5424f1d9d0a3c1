/*
 * aarch64_work - what the files that work out the effects of AArch64 instructions share: the word,
 * its fields, and the effects found so far. Sections are of the Arm ARM, DDI 0487, chapter C4.1.
 */
#pragma once

#include "isa/aarch64_word.h"
#include "isa/effects_private.h"

struct aarch64_work {
	uint32_t word;
	struct register_set data, address; /* registers read as values, and to form addresses */
	struct instruction_effects *effects;
	bool newer; /* an instruction, also where the disassembler does not know it */
};

/* Field of `bits` bits from bit `low` on. */
static inline unsigned field(const struct aarch64_work *work, unsigned low, unsigned bits)
{
	return word_bits(work->word, low, bits);
}

static inline unsigned rd(const struct aarch64_work *work)
{
	return field(work, 0, 5);
}

static inline unsigned rn(const struct aarch64_work *work)
{
	return field(work, 5, 5);
}

static inline unsigned rm(const struct aarch64_work *work)
{
	return field(work, 16, 5);
}

static inline unsigned ra(const struct aarch64_work *work)
{
	return field(work, 10, 5);
}

/* read_x(), write_x(): number 31 is the zero register. */
static inline void read_x(struct aarch64_work *work, unsigned n)
{
	if (n != 31)
		register_set_add(&work->data, n);
}

static inline void write_x(struct aarch64_work *work, unsigned n)
{
	if (n != 31)
		register_set_add(&work->effects->writes, n);
}

/* read_x_sp(), write_x_sp(): number 31 is the stack pointer. */
static inline void read_x_sp(struct aarch64_work *work, unsigned n)
{
	register_set_add(&work->data, n);
}

static inline void write_x_sp(struct aarch64_work *work, unsigned n)
{
	register_set_add(&work->effects->writes, n);
}

static inline void read_v(struct aarch64_work *work, unsigned n)
{
	register_set_add(&work->data, AARCH64_V0 + n % 32);
}

static inline void write_v(struct aarch64_work *work, unsigned n)
{
	register_set_add(&work->effects->writes, AARCH64_V0 + n % 32);
}

static inline void read_flags(struct aarch64_work *work)
{
	register_set_add(&work->data, AARCH64_NZCV);
}

static inline void write_flags(struct aarch64_work *work)
{
	register_set_add(&work->effects->writes, AARCH64_NZCV);
}

/* Ends a word whose effects are all found. */
static inline bool settle(struct aarch64_work *work, enum latency_class class)
{
	work->effects->class = class;
	return true;
}

/* Each finds the effects of words of its section, and returns false for a word that it does not
 * know; what *work holds then means nothing. */
bool aarch64_memory_effects(struct aarch64_work *work);
bool aarch64_vector_effects(struct aarch64_work *work);
