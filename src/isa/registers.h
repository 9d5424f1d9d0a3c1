/*
 * registers - the registers of each instruction set as small dense numbers, and
 * sets of them. A part of a register counts as the whole: al and eax are rax, w0 is
 * x0, xmm3 and zmm3 are one, d3 and z3 are v3. Not numbered, because nothing waits
 * for them: the instruction pointer, and AArch64's zero register.
 *
 * The arithmetic flags are one register (x86: CF, PF, AF, ZF, SF, OF), the direction
 * flag its own. The x87 stack is one, since its registers turn with its top; MMX
 * registers have numbers although they share its bits. "system" stands for all
 * that only an operating system sets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "isa/isa.h"

enum x86_register {
	X86_RAX, /* 0 to 15 in the order of their encoding */
	X86_RCX,
	X86_RDX,
	X86_RBX,
	X86_RSP,
	X86_RBP,
	X86_RSI,
	X86_RDI,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15,
	X86_FLAGS,
	X86_DIRECTION,
	X86_ES,
	X86_CS,
	X86_SS,
	X86_DS,
	X86_FS,
	X86_GS,
	X86_XMM0,		/* 32 */
	X86_K0 = X86_XMM0 + 32, /* 8 */
	X86_MM0 = X86_K0 + 8,	/* 8 */
	X86_X87 = X86_MM0 + 8,
	X86_MXCSR,
	X86_SYSTEM,
	X86_REGISTER_COUNT,
};

enum aarch64_register {
	AARCH64_X0, /* to x30 */
	AARCH64_SP = 31,
	AARCH64_V0, /* 32 */
	AARCH64_NZCV = AARCH64_V0 + 32,
	AARCH64_FPCR,
	AARCH64_FPSR,
	AARCH64_P0, /* 16 */
	AARCH64_FFR = AARCH64_P0 + 16,
	AARCH64_SYSTEM,
	AARCH64_REGISTER_COUNT,
};

#define REGISTER_LIMIT 128 /* more than any instruction set has */
#define REGISTER_NONE  UINT8_MAX

struct register_set {
	uint64_t bits[REGISTER_LIMIT / 64];
};

/* 0 for an instruction set without numbers (i386). */
unsigned register_count(enum isa isa);
/* "rax", "rflags", "xmm3", "v3"; NULL when there is no such number. */
const char *register_name(enum isa isa, unsigned number);
/* All registers of an instruction set. */
struct register_set register_set_all(enum isa isa);

static inline void register_set_add(struct register_set *set, unsigned number)
{
	set->bits[number / 64] |= UINT64_C(1) << number % 64;
}

static inline void register_set_remove(struct register_set *set, unsigned number)
{
	set->bits[number / 64] &= ~(UINT64_C(1) << number % 64);
}

static inline bool register_set_has(const struct register_set *set, unsigned number)
{
	return set->bits[number / 64] >> number % 64 & 1;
}

static inline bool register_set_empty(const struct register_set *set)
{
	return !(set->bits[0] | set->bits[1]);
}

static inline bool register_set_equal(const struct register_set *a, const struct register_set *b)
{
	return a->bits[0] == b->bits[0] && a->bits[1] == b->bits[1];
}

static inline struct register_set register_set_union(const struct register_set *a,
						     const struct register_set *b)
{
	return (struct register_set){ { a->bits[0] | b->bits[0], a->bits[1] | b->bits[1] } };
}

static inline struct register_set register_set_intersect(const struct register_set *a,
							 const struct register_set *b)
{
	return (struct register_set){ { a->bits[0] & b->bits[0], a->bits[1] & b->bits[1] } };
}

/* What `a` has and `b` has not. */
static inline struct register_set register_set_without(const struct register_set *a,
						       const struct register_set *b)
{
	return (struct register_set){ { a->bits[0] & ~b->bits[0], a->bits[1] & ~b->bits[1] } };
}

/*
 * The lowest member that is >= `from`, or REGISTER_LIMIT:
 * for (unsigned r = register_set_next(&set, 0); r < REGISTER_LIMIT; r = register_set_next(&set, r +
 * 1))
 */
static inline unsigned register_set_next(const struct register_set *set, unsigned from)
{
	for (unsigned word = from / 64; word < REGISTER_LIMIT / 64; word++) {
		uint64_t left = set->bits[word];
		if (word == from / 64)
			left &= ~UINT64_C(0) << from % 64;
		if (left)
			return word * 64 + (unsigned)__builtin_ctzll(left);
	}
	return REGISTER_LIMIT;
}
