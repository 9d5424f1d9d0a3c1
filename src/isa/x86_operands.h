/*
 * x86_operands - Capstone's x86 registers as numbers of registers.h, and what the VEX and EVEX
 * prefixes say (Intel SDM volume 2, 2.3 and 2.7) that Capstone does not pass on.
 */
#pragma once

#include "isa/effects_private.h"

struct x86_numbered {
	uint8_t number; /* of registers.h, + 1; 0: it has none */
	uint8_t bytes;	/* how many of the register this name means */
};

struct x86_vector_prefix {
	bool vex;	      /* VEX, EVEX or XOP: three operands, and the rest is cleared */
	unsigned mask;	      /* number of the k register of EVEX; 0: none */
	bool merging;	      /* lanes that the mask hides keep their values */
	uint8_t opcode;	      /* of EVEX */
	bool extends_rm;      /* EVEX.X with a register operand */
	uint8_t vector_bytes; /* 16, 32, 64 of EVEX; 0 elsewhere */
};

/* Of one of Capstone's X86_REG_*. Never NULL. */
const struct x86_numbered *x86_number_of(unsigned capstone);
struct x86_vector_prefix x86_vector_prefix_of(const cs_insn *decoded);
