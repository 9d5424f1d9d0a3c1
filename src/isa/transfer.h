/*
 * transfer - the transfer function of one instruction, as data-flow analysis calls it: how it
 * computes the values that lead to a jump table. Constants, copies, addresses, loads and
 * comparisons with a constant are known; all other work is TRANSFER_OTHER, of which only the
 * registers that it may write are known. From the encoding (Intel SDM volume 2; Arm ARM DDI 0487
 * C4.1), not from a text.
 *
 * `writes` is on the safe side: where the encoding is not known here, it holds more registers than
 * are written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/decode.h"

#define TRANSFER_NO_REGISTER 0xff
/* Bits of `writes`: registers by number (x86: rax 0 ... r15 15; AArch64: x0 ... x30, sp 31). */
#define TRANSFER_WRITES_MEMORY (UINT64_C(1) << 32)
#define TRANSFER_CALLS	       (UINT64_C(1) << 33) /* memory behind pointers may change */

enum transfer_kind {
	TRANSFER_OTHER,
	TRANSFER_CONSTANT, /* to = constant */
	TRANSFER_COPY,	   /* to = from */
	TRANSFER_EXTEND,   /* to = the low size_bytes of from, the rest zero or sign */
	TRANSFER_ADDRESS,  /* to = address of memory */
	TRANSFER_LOAD,	   /* to = memory, size_bytes of it, extended */
	TRANSFER_STORE,	   /* memory = from */
	TRANSFER_ADD,	/* to = from + (other, its low size_bytes extended, << shift) + constant */
	TRANSFER_SHIFT, /* to = from << shift */
	TRANSFER_LIMIT, /* to is a number below `constant`, not known which */
	TRANSFER_JUMP,	/* to the address in `from`, or in memory */
};

enum transfer_condition {
	CONDITION_NONE,
	CONDITION_BELOW, /* unsigned */
	CONDITION_BELOW_EQUAL,
	CONDITION_ABOVE,
	CONDITION_ABOVE_EQUAL,
};

/* base + index * scale + displacement; without a base: the displacement is an address. */
struct transfer_memory {
	uint8_t base, index;
	uint8_t scale;
	uint64_t displacement;
};

struct transfer {
	enum transfer_kind kind;
	uint8_t to, from, other;
	uint8_t size_bytes;
	uint8_t shift;
	bool is_signed;
	bool has_memory;
	bool compares; /* sets the flags to `from` (or memory) - compared */
	bool sets_flags;
	struct transfer_memory memory;
	uint64_t constant;
	uint64_t compared;
	enum transfer_condition condition; /* under which a branch is taken */
	uint64_t writes; /* registers and TRANSFER_WRITES_MEMORY, TRANSFER_CALLS */
};

/* `code` is exactly one instruction. *out is filled whatever it is. */
void transfer_read(enum isa isa, struct span code, uint64_t vaddr, struct transfer *out);
void transfer_read_x86(bool wide, struct span code, uint64_t vaddr, struct transfer *out);
void transfer_read_aarch64(uint32_t word, uint64_t vaddr, struct transfer *out);
/* Whether the register usually addresses the stack frame. */
bool transfer_is_frame(enum isa isa, uint8_t reg);
