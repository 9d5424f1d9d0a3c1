/*
 * transfer_x86_private - the parts of an x86 instruction as its bytes have them (Intel SDM
 * volume 2, chapter 2), and what the parts of transfer_x86 know of each other.
 */
#pragma once

#include "isa/transfer.h"

/* Registers by number, and as sets: bits of `writes`. */
#define RAX	 0
#define RCX	 1
#define RDX	 2
#define RBX	 3
#define RSP	 4
#define RBP	 5
#define RSI	 6
#define RDI	 7
#define BIT(reg) (UINT64_C(1) << (reg))
/* What an instruction that is not known may write. */
#define ANY_WRITES (UINT64_C(0xffff) | TRANSFER_WRITES_MEMORY)

struct x86_form {
	const uint8_t *bytes;
	size_t size, at; /* `at`: the byte that is read next */
	uint64_t vaddr;
	bool wide;    /* 64-bit mode */
	unsigned rex; /* its W, R, X, B bits, also from VEX */
	bool has_rex; /* byte registers 4 to 7 are then spl to dil, else ah to bh */
	unsigned map; /* 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A; of EVEX also 5 and 6 */
	unsigned opcode;
	unsigned vvvv;	  /* the register that VEX or EVEX adds */
	bool is_vector;	  /* VEX or EVEX */
	bool half;	  /* 66: operands of 16 bits */
	bool far_segment; /* fs or gs */
	/* of ModRM */
	bool has_modrm, is_register;
	uint8_t reg, rm; /* rm: of a register form */
	struct transfer_memory memory;
	size_t behind; /* of the byte behind ModRM, SIB and displacement */
};

/* Reads *form, of which bytes, size, vaddr and wide are given. False: the bytes end too early,
 * or hold what is not followed (XOP, addresses of another size). */
bool x86_form_read(struct x86_form *form);
/* The `bytes` (up to 8) at `at`, as a signed number; 0 where they pass the end. */
uint64_t x86_form_signed(const struct x86_form *form, size_t at, unsigned bytes);

/* Is it ah, ch, dh or bh where `reg` names a byte? */
static inline bool x86_form_is_high_byte(const struct x86_form *form, uint8_t reg)
{
	return !form->has_rex && reg >= 4 && reg < 8;
}

/* Registers and memory that the instruction may write, as in struct transfer. */
uint64_t x86_form_writes(const struct x86_form *form);
