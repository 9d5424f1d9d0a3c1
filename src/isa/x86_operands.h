/*
 * x86_operands - Capstone's x86 registers as our numbers, and what the VEX and EVEX
 * prefixes say (Intel SDM volume 2, 2.3 and 2.7) that Capstone does not pass on.
 */
#pragma once

#include "isa/effects_private.h"

struct x86_numbered {
	uint8_t number; /* + 1; 0: not numbered */
	uint8_t bytes;
};

struct x86_vector_prefix {
	bool vex;      /* VEX, EVEX or XOP: three operands, and the rest is cleared */
	unsigned mask; /* the k register of EVEX; 0: none */
	bool merging;
	uint8_t opcode;	      /* of EVEX */
	bool extends_rm;      /* EVEX.X with a register operand */
	uint8_t vector_bytes; /* 16, 32, 64 of EVEX; 0 elsewhere */
};

/* Never NULL. */
const struct x86_numbered *x86_number_of(unsigned capstone);
struct x86_vector_prefix x86_vector_prefix_of(const cs_insn *decoded);
