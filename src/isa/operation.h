/*
 * operation - what one instruction does to the values that jump tables are reached
 * by: constants, copies, addresses, loads, comparisons with a constant. All other
 * work is OPERATION_OTHER, of which only the registers that it may write are known.
 * From the encoding (Intel SDM volume 2; Arm ARM DDI 0487 C4.1), not from a text.
 *
 * Who follows values errs on the safe side with `writes`: where the encoding is not
 * known here, it holds more registers than are written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/decode.h"

#define OPERATION_NO_REGISTER 0xff
/* Bits of `writes`: registers by number (x86: rax 0 ... r15 15; AArch64: x0 ... x30, sp 31). */
#define OPERATION_WRITES_MEMORY (UINT64_C(1) << 32)
#define OPERATION_CALLS		(UINT64_C(1) << 33) /* memory behind pointers may change */

enum operation_kind {
	OPERATION_OTHER,
	OPERATION_CONSTANT, /* to = constant */
	OPERATION_COPY,	    /* to = from */
	OPERATION_EXTEND,   /* to = the low size_bytes of from, the rest zero or sign */
	OPERATION_ADDRESS,  /* to = address of memory */
	OPERATION_LOAD,	    /* to = memory, size_bytes of it, extended */
	OPERATION_STORE,    /* memory = from */
	OPERATION_ADD,	 /* to = from + (other, its low size_bytes extended, << shift) + constant */
	OPERATION_SHIFT, /* to = from << shift */
	OPERATION_LIMIT, /* to is below `constant`, whatever it is */
	OPERATION_JUMP,	 /* to the address in `from`, or in memory */
};

enum operation_condition {
	CONDITION_NONE,
	CONDITION_BELOW, /* unsigned */
	CONDITION_BELOW_EQUAL,
	CONDITION_ABOVE,
	CONDITION_ABOVE_EQUAL,
};

/* base + index * scale + displacement; without a base: the displacement is an address. */
struct operation_memory {
	uint8_t base, index;
	uint8_t scale;
	uint64_t displacement;
};

struct operation {
	enum operation_kind kind;
	uint8_t to, from, other;
	uint8_t size_bytes;
	uint8_t shift;
	bool is_signed;
	bool has_memory;
	bool compares; /* sets the flags to `from` (or memory) - compared */
	bool sets_flags;
	struct operation_memory memory;
	uint64_t constant;
	uint64_t compared;
	enum operation_condition condition; /* of a branch that is taken by it */
	uint64_t writes;
};

/* `code` holds one instruction, whole. */
void operation_read(enum isa isa, struct span code, uint64_t vaddr, struct operation *out);
void operation_read_x86(bool wide, struct span code, uint64_t vaddr, struct operation *out);
void operation_read_aarch64(uint32_t word, uint64_t vaddr, struct operation *out);
/* Register that addresses the stack frame. */
bool operation_is_frame(enum isa isa, uint8_t reg);
