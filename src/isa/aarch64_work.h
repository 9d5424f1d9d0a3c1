/*
 * aarch64_work - what the parts of the AArch64 effects decoder share: the word, and
 * where its effects gather. Sections below are of the Arm ARM, DDI 0487, chapter C4.1.
 */
#pragma once

#include "isa/effects_private.h"

struct aarch64_work {
	uint32_t word;
	struct register_set data, address; /* read */
	struct instruction_effects *effects;
	bool newer; /* recognized whether or not the disassembler knows it */
};

/* Field of `bits` bits from bit `low` on. */
static inline unsigned field(const struct aarch64_work *work, unsigned low, unsigned bits)
{
	return work->word >> low & ((1u << bits) - 1);
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

/* Number 31 is the zero register in these, */
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

/* and the stack pointer in these. */
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

static inline bool settle(struct aarch64_work *work, enum latency_class class)
{
	work->effects->class = class;
	return true;
}

/* Each is false for what it does not know. */
bool aarch64_memory_effects(struct aarch64_work *work);
bool aarch64_vector_effects(struct aarch64_work *work);
