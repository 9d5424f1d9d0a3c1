/*
 * Registers as perf samples them (arch/x86/include/uapi/asm/perf_regs.h,
 * arch/arm64/include/uapi/asm/perf_regs.h of Linux), the same on every host.
 */
#include "isa/interpret.h"

#define NOT_A_REGISTER 0xff
#define PERF_X86_IP    8
#define PERF_X86_FLAGS 9
#define PERF_ARM64_PC  32

/* PERF_REG_X86_AX to PERF_REG_X86_R15; the segments between are not asked for. */
static const uint8_t x86_numbers[24] = {
	X86_RAX,	X86_RBX,	X86_RCX,	X86_RDX,	X86_RSI,
	X86_RDI,	X86_RBP,	X86_RSP,	NOT_A_REGISTER, NOT_A_REGISTER,
	NOT_A_REGISTER, NOT_A_REGISTER, NOT_A_REGISTER, NOT_A_REGISTER, NOT_A_REGISTER,
	NOT_A_REGISTER, X86_R8,		X86_R9,		X86_R10,	X86_R11,
	X86_R12,	X86_R13,	X86_R14,	X86_R15,
};

uint64_t interpret_perf_registers(enum isa isa)
{
	switch (isa) {
	case ISA_X86_64:
		return UINT64_C(0xff03ff);
	case ISA_AARCH64:
		return UINT64_C(0x1ffffffff); /* x0 to x30, sp, pc */
	default:
		return 0;
	}
}

unsigned interpret_stack_bytes(enum isa isa)
{
	return isa == ISA_AARCH64 ? 16 : 8; /* a frame record, a return address */
}

static void take(enum isa isa, unsigned bit, uint64_t value, struct interpret_start *out)
{
	unsigned number = NOT_A_REGISTER;
	if (isa == ISA_AARCH64) {
		if (bit == PERF_ARM64_PC)
			out->pc = value;
		number = bit < 32 ? bit : NOT_A_REGISTER; /* the same numbers */
	} else if (bit == PERF_X86_IP) {
		out->pc = value;
	} else if (bit == PERF_X86_FLAGS) {
		out->flags = value;
		out->flags_known = true;
	} else if (bit < sizeof(x86_numbers)) {
		number = x86_numbers[bit];
	}
	if (number == NOT_A_REGISTER)
		return;
	out->registers[number] = value;
	out->registers_known |= UINT32_C(1) << number;
}

bool interpret_start_of_perf(enum isa isa, uint64_t mask, const uint64_t *values,
			     struct interpret_start *out)
{
	*out = (struct interpret_start){ 0 };
	unsigned pc = isa == ISA_AARCH64 ? PERF_ARM64_PC : PERF_X86_IP;
	if (!interpret_perf_registers(isa) || !(mask >> pc & 1))
		return false;
	size_t at = 0;
	for (unsigned bit = 0; bit < 64; bit++)
		if (mask >> bit & 1)
			take(isa, bit, values[at++], out);
	return true;
}
