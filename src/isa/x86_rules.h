/*
 * x86_rules - what x86-64 instructions do with their operands, and which other registers they use,
 * one row for a family of names (Intel SDM volume 2, AMD APM volumes 3 and 4). Read by
 * x86_effects() alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What happens to the operands, in Intel's order. */
enum x86_shape {
	SHAPE_READ,	/* all are read */
	SHAPE_WRITE,	/* the first is written, the others read */
	SHAPE_UPDATE,	/* the first is read and written */
	SHAPE_VECTOR,	/* SSE: as UPDATE, since the rest of the register stays; VEX and EVEX: as
			   WRITE; a first operand in memory is written */
	SHAPE_LOW_LANE, /* movss, movsd: as VECTOR between registers, a load as WRITE */
	SHAPE_EXCHANGE, /* the first two are read and written */
	SHAPE_TWO,	/* the first two are written */
	SHAPE_MULTIPLY, /* imul: WRITE of three, UPDATE of two, implicit with one */
	SHAPE_LEA,	/* WRITE, and the address is the value */
	SHAPE_ADDRESS,	/* the address is formed, its memory not touched in a way that counts */
	SHAPE_NONE,	/* operands are neither read nor written (nopw 0(%rax)) */
	SHAPE_GATHER,	/* the first is read and written, masks too */
	SHAPE_ALL,	/* reads and writes all registers and memory */
};

/* Sets of implicit registers: general ones by their number, then: */
#define RULE_RAX     (UINT32_C(1) << 0)
#define RULE_RCX     (UINT32_C(1) << 1)
#define RULE_RDX     (UINT32_C(1) << 2)
#define RULE_RBX     (UINT32_C(1) << 3)
#define RULE_RSP     (UINT32_C(1) << 4)
#define RULE_RBP     (UINT32_C(1) << 5)
#define RULE_RSI     (UINT32_C(1) << 6)
#define RULE_RDI     (UINT32_C(1) << 7)
#define RULE_FLAGS   (UINT32_C(1) << 16)
#define RULE_DF	     (UINT32_C(1) << 17)
#define RULE_X87     (UINT32_C(1) << 18)
#define RULE_XMM0    (UINT32_C(1) << 19)
#define RULE_MXCSR   (UINT32_C(1) << 20)
#define RULE_FS	     (UINT32_C(1) << 21)
#define RULE_GS	     (UINT32_C(1) << 22)
#define RULE_SYS     (UINT32_C(1) << 23)
#define RULE_ALL_XMM (UINT32_C(1) << 24) /* xmm0 to xmm15 */

/* Notes. */
#define RULE_MERGES    (1 << 0) /* some flags stay */
#define RULE_SELECTS   (1 << 1) /* a conditional move */
#define RULE_IDIOM     (1 << 2) /* of one register with itself: a constant */
#define RULE_MOVES     (1 << 3) /* does no work but to load, or to store */
#define RULE_PUSHES    (1 << 4) /* writes below rsp */
#define RULE_POPS      (1 << 5) /* reads at rsp */
#define RULE_STRING    (1 << 6) /* operands in memory at rsi, rdi; rep counts in rcx */
#define RULE_WIDE      (1 << 7) /* rdx is a half only where operands are wider than a byte */
#define RULE_ADDRESSES (1 << 8) /* implicit registers but rsp only form addresses */
#define RULE_BLENDS    (1 << 9) /* the mask chooses among sources: nothing merges */

struct x86_rule {
	const char *names; /* words, in which * stands for any characters */
	uint8_t shape;	   /* enum x86_shape */
	uint8_t class;	   /* enum latency_class */
	uint32_t reads, writes;
	uint16_t notes;
};

/*
 * The first row whose names match `name`; NULL: none. Names of VEX and EVEX forms that have
 * no row of their own are looked up without their v. movsd and cmpsd are names of string
 * instructions and of others: `is_string` chooses.
 */
const struct x86_rule *x86_rule_of(const char *name, bool is_string);
