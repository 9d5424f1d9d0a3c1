/*
 * Which registers an x86 instruction may write, and whether memory: by the opcode maps (Intel
 * SDM volume 2, appendix A). Of VEX and EVEX forms only the few that write general registers
 * matter.
 */
#include "isa/transfer_x86_private.h"

/* System V ABI: rax, rcx, rdx, rsi, rdi, r8 to r11 are the callee's. */
#define CALL_WRITES (UINT64_C(0x0fc7) | TRANSFER_WRITES_MEMORY | TRANSFER_CALLS)
#define PUSH_WRITES (BIT(RSP) | TRANSFER_WRITES_MEMORY)
/* movs, cmps, stos, lods, scas, whatever each does of it. */
#define STRING_WRITES (BIT(RAX) | BIT(RCX) | BIT(RSI) | BIT(RDI) | TRANSFER_WRITES_MEMORY)

/* Rows of the tables below are bits of `writes`, and these for what the encoding names. */
#define NOTHING	       (UINT64_C(1) << 40)
#define REG	       (UINT64_C(1) << 41) /* the register in ModRM.reg */
#define RM	       (UINT64_C(1) << 42) /* the register or memory in ModRM.rm */
#define LOW	       (UINT64_C(1) << 43) /* the register in the opcode's low bits */
#define BYTE_REGISTERS (UINT64_C(1) << 44) /* these registers are named as bytes */
#define GROUP	       (UINT64_C(1) << 45) /* ModRM.reg chooses: see group_writes() */
#define NAMED	       (UINT64_MAX << 40)

/* Opcodes of one byte from 0x40 on; 0: not known. */
static const uint64_t one_byte[256] = {
	[0x40 ... 0x4f] = LOW, /* inc, dec of 32-bit mode */
	[0x50 ... 0x57] = PUSH_WRITES,
	[0x58 ... 0x5f] = BIT(RSP) | LOW,
	[0x63] = REG, /* movsxd */
	[0x68] = PUSH_WRITES,
	[0x69] = REG, /* imul */
	[0x6a] = PUSH_WRITES,
	[0x6b] = REG,
	[0x70 ... 0x7f] = NOTHING, /* jcc */
	[0x80 ... 0x81] = GROUP,
	[0x83] = GROUP,
	[0x84 ... 0x85] = NOTHING, /* test */
	[0x86] = RM | REG | BYTE_REGISTERS,
	[0x87] = RM | REG,
	[0x88] = RM | BYTE_REGISTERS, /* mov */
	[0x89] = RM,
	[0x8a] = REG | BYTE_REGISTERS,
	[0x8b] = REG,
	[0x8c] = RM,
	[0x8d] = REG, /* lea */
	[0x8e] = NOTHING,
	[0x8f] = BIT(RSP) | RM,
	[0x90 ... 0x97] = BIT(RAX) | LOW, /* xchg */
	[0x98] = BIT(RAX),
	[0x99] = BIT(RDX),
	[0x9b] = NOTHING,
	[0xa4 ... 0xa7] = STRING_WRITES,
	[0xa8 ... 0xa9] = NOTHING, /* test */
	[0xaa ... 0xaf] = STRING_WRITES,
	[0xb0 ... 0xb7] = LOW | BYTE_REGISTERS, /* mov of a constant */
	[0xb8 ... 0xbf] = LOW,
	[0xc0] = RM | BYTE_REGISTERS, /* shifts */
	[0xc1] = RM,
	[0xc2 ... 0xc3] = BIT(RSP),   /* ret */
	[0xc6] = RM | BYTE_REGISTERS, /* mov of a constant */
	[0xc7] = RM,
	[0xc8] = BIT(RSP) | BIT(RBP) | TRANSFER_WRITES_MEMORY, /* enter, leave */
	[0xc9] = BIT(RSP) | BIT(RBP),
	[0xca ... 0xcb] = BIT(RSP),
	[0xcc] = NOTHING,
	[0xd0] = RM | BYTE_REGISTERS, /* shifts */
	[0xd1] = RM,
	[0xd2] = RM | BYTE_REGISTERS,
	[0xd3] = RM,
	[0xd8 ... 0xde] = TRANSFER_WRITES_MEMORY,   /* x87 */
	[0xdf] = BIT(RAX) | TRANSFER_WRITES_MEMORY, /* fnstsw %ax */
	[0xe0 ... 0xe3] = BIT(RCX),		    /* loop, jrcxz */
	[0xe8] = CALL_WRITES,
	[0xe9] = NOTHING,
	[0xeb] = NOTHING,
	[0xf4] = NOTHING,
	[0xf6 ... 0xf7] = GROUP,
	[0xfe] = RM | BYTE_REGISTERS,
	[0xff] = GROUP,
};

/* Opcodes behind 0F; 0: of vector registers, writes memory if its operand is there. */
static const uint64_t two_byte[256] = {
	[0x00] = RM,
	[0x01] = CALL_WRITES, /* tables of the system, rdtscp */
	[0x02 ... 0x03] = REG,
	[0x05] = CALL_WRITES,	   /* syscall */
	[0x0d] = NOTHING,	   /* prefetchw */
	[0x18] = NOTHING,	   /* prefetch */
	[0x1e ... 0x1f] = NOTHING, /* endbr, nop */
	[0x20 ... 0x21] = RM,
	[0x2c ... 0x2d] = REG,
	[0x31 ... 0x33] = BIT(RAX) | BIT(RDX), /* rdtsc, rdmsr, rdpmc */
	[0x34] = CALL_WRITES,		       /* sysenter */
	[0x40 ... 0x4f] = REG,		       /* cmov */
	[0x50] = REG,			       /* movmskps */
	[0x7e] = RM,
	[0x90 ... 0x9f] = RM | BYTE_REGISTERS,		    /* setcc */
	[0xa0 ... 0xa1] = PUSH_WRITES,			    /* push, pop of fs and gs */
	[0xa2] = BIT(RAX) | BIT(RBX) | BIT(RCX) | BIT(RDX), /* cpuid */
	[0xa3] = NOTHING,				    /* bt */
	[0xa4 ... 0xa5] = RM,				    /* shld */
	[0xa8 ... 0xa9] = PUSH_WRITES,
	[0xab ... 0xad] = RM,			 /* bts, shrd */
	[0xaf] = REG,				 /* imul */
	[0xb0] = RM | BIT(RAX) | BYTE_REGISTERS, /* cmpxchg */
	[0xb1] = RM | BIT(RAX),
	[0xb3] = RM,	       /* btr */
	[0xb6 ... 0xb9] = REG, /* movzx, popcnt */
	[0xba ... 0xbb] = RM,
	[0xbc ... 0xbf] = REG,		    /* bsf, bsr, movsx */
	[0xc0] = RM | REG | BYTE_REGISTERS, /* xadd */
	[0xc1] = RM | REG,
	[0xc5] = REG,			   /* pextrw */
	[0xc7] = RM | BIT(RAX) | BIT(RDX), /* cmpxchg8b */
	[0xc8 ... 0xcf] = LOW,		   /* bswap */
	[0xd7] = REG,			   /* pmovmskb */
	[0xf7] = TRANSFER_WRITES_MEMORY,   /* maskmovq, maskmovdqu */
};

/* Bit of a register that is named as a byte. */
static uint64_t byte_bit(const struct x86_form *form, unsigned reg)
{
	return BIT(x86_form_is_high_byte(form, (uint8_t)reg) ? reg - 4 : reg);
}

/* Bit of the register that ModRM.rm names, or that of memory. */
static uint64_t rm_bit(const struct x86_form *form)
{
	return form->is_register ? BIT(form->rm) : TRANSFER_WRITES_MEMORY;
}

static uint64_t rm_byte_bit(const struct x86_form *form)
{
	return form->is_register ? byte_bit(form, form->rm) : TRANSFER_WRITES_MEMORY;
}

/* 0F 3A, and its VEX forms: extractions and comparisons of strings. */
static uint64_t map3_writes(const struct x86_form *form)
{
	if (form->opcode >= 0x14 && form->opcode <= 0x17)
		return rm_bit(form);
	if (form->opcode == 0x61 || form->opcode == 0x63)
		return BIT(RCX);
	return form->is_register ? 0 : TRANSFER_WRITES_MEMORY;
}

static uint64_t vector_writes(const struct x86_form *form)
{
	unsigned op = form->opcode;
	uint64_t store = form->is_register ? 0 : TRANSFER_WRITES_MEMORY;
	switch (form->map) {
	case 1:
		if (op == 0x2c || op == 0x2d || op == 0x50 || op == 0x78 || op == 0x79 ||
		    op == 0xc5 || op == 0xd7 || op == 0x93)
			return BIT(form->reg);
		if (op == 0xf7) /* vmaskmovdqu */
			return TRANSFER_WRITES_MEMORY;
		return op == 0x7e ? rm_bit(form) : store;
	case 2: /* F2 to F7: BMI */
		if (op < 0xe0)
			return store;
		return BIT(form->reg) | BIT(form->vvvv) | rm_bit(form);
	case 3:
		return op == 0xf0 ? BIT(form->reg) : map3_writes(form);
	case 5: /* conversions and vmovw of half precision */
		if (op == 0x2c || op == 0x2d || op == 0x78 || op == 0x79)
			return BIT(form->reg);
		return op == 0x7e ? rm_bit(form) : store;
	case 6:
		return store;
	}
	return ANY_WRITES;
}

/* Opcodes 80, 81, 83, F6, F7 and FF, whose operation is in ModRM.reg. */
static uint64_t group_writes(const struct x86_form *form)
{
	unsigned operation = form->reg & 7;
	switch (form->opcode) {
	case 0x80:
		return operation == 7 ? 0 : rm_byte_bit(form);
	case 0x81:
	case 0x83:
		return operation == 7 ? 0 : rm_bit(form); /* 7: cmp */
	case 0xf6:
	case 0xf7:
		if (operation < 2) /* test */
			return 0;
		if (operation >= 4) /* mul, div */
			return BIT(RAX) | BIT(RDX);
		return form->opcode == 0xf6 ? rm_byte_bit(form) : rm_bit(form);
	}
	if (operation < 2) /* inc, dec */
		return rm_bit(form);
	if (operation == 2 || operation == 3)
		return CALL_WRITES;
	return operation == 6 ? PUSH_WRITES : 0;
}

/* What a row of the tables comes to. */
static uint64_t row_writes(const struct x86_form *form, uint64_t row)
{
	bool bytes = row & BYTE_REGISTERS;
	unsigned low = (form->opcode & 7) | (form->rex & 1) << 3;
	uint64_t writes = row & ~NAMED;
	if (row & REG)
		writes |= bytes ? byte_bit(form, form->reg) : BIT(form->reg);
	if (row & RM)
		writes |= bytes ? rm_byte_bit(form) : rm_bit(form);
	if (row & LOW)
		writes |= bytes ? byte_bit(form, low) : BIT(low);
	return writes;
}

/* Opcodes below 40: add, or, adc, sbb, and, sub, xor, cmp. */
static uint64_t arithmetic_writes(const struct x86_form *form)
{
	if (form->opcode >= 0x38) /* cmp */
		return 0;
	switch (form->opcode & 7) {
	case 0:
		return rm_byte_bit(form);
	case 1:
		return rm_bit(form);
	case 2:
		return byte_bit(form, form->reg);
	case 3:
		return BIT(form->reg);
	}
	return BIT(RAX);
}

static uint64_t one_byte_writes(const struct x86_form *form)
{
	if (form->opcode < 0x40)
		return arithmetic_writes(form);
	if (form->opcode == 0x90 && !form->rex) /* nop */
		return 0;
	uint64_t row = one_byte[form->opcode];
	if (row & GROUP)
		return group_writes(form);
	return row ? row_writes(form, row) : ANY_WRITES;
}

static uint64_t two_byte_writes(const struct x86_form *form)
{
	uint64_t row = two_byte[form->opcode];
	if (row)
		return row_writes(form, row);
	return form->has_modrm && !form->is_register ? TRANSFER_WRITES_MEMORY : 0;
}

uint64_t x86_form_writes(const struct x86_form *form)
{
	if (form->is_vector)
		return vector_writes(form);
	switch (form->map) {
	case 0:
		return one_byte_writes(form);
	case 1:
		return two_byte_writes(form);
	case 2: /* F0 to FF: crc32, movbe, adcx */
		return form->opcode >= 0xf0 ? BIT(form->reg) | rm_bit(form) : 0;
	default:
		return map3_writes(form);
	}
}
