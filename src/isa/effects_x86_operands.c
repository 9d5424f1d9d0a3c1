#include "isa/x86_operands.h"

/* clang-format off */
#define GENERAL(name, r64, r32, r16, r8)                                                           \
	[X86_REG_##r64] = { (name) + 1, 8 }, [X86_REG_##r32] = { (name) + 1, 4 },                  \
	[X86_REG_##r16] = { (name) + 1, 2 }, [X86_REG_##r8] = { (name) + 1, 1 }
#define NEW_GENERAL(n) GENERAL(X86_R##n, R##n, R##n##D, R##n##W, R##n##B)
#define SEGMENT(name)  [X86_REG_##name] = { X86_##name + 1, 2 }
#define VECTOR(n)                                                                                  \
	[X86_REG_XMM##n] = { X86_XMM0 + (n) + 1, 16 },                                             \
	[X86_REG_YMM##n] = { X86_XMM0 + (n) + 1, 32 },                                             \
	[X86_REG_ZMM##n] = { X86_XMM0 + (n) + 1, 64 }
#define SMALL(n)                                                                                   \
	[X86_REG_K##n] = { X86_K0 + (n) + 1, 8 }, [X86_REG_MM##n] = { X86_MM0 + (n) + 1, 8 },      \
	[X86_REG_ST##n] = { X86_X87 + 1, 10 }
#define SYSTEM(name) [X86_REG_##name] = { X86_SYSTEM + 1, 8 }

static const struct x86_numbered numbers[X86_REG_ENDING] = {
	GENERAL(X86_RAX, RAX, EAX, AX, AL), GENERAL(X86_RCX, RCX, ECX, CX, CL),
	GENERAL(X86_RDX, RDX, EDX, DX, DL), GENERAL(X86_RBX, RBX, EBX, BX, BL),
	GENERAL(X86_RSP, RSP, ESP, SP, SPL), GENERAL(X86_RBP, RBP, EBP, BP, BPL),
	GENERAL(X86_RSI, RSI, ESI, SI, SIL), GENERAL(X86_RDI, RDI, EDI, DI, DIL),
	[X86_REG_AH] = { X86_RAX + 1, 1 }, [X86_REG_CH] = { X86_RCX + 1, 1 },
	[X86_REG_DH] = { X86_RDX + 1, 1 }, [X86_REG_BH] = { X86_RBX + 1, 1 }, NEW_GENERAL(8),
	NEW_GENERAL(9), NEW_GENERAL(10), NEW_GENERAL(11), NEW_GENERAL(12), NEW_GENERAL(13),
	NEW_GENERAL(14), NEW_GENERAL(15), SEGMENT(ES), SEGMENT(CS), SEGMENT(SS), SEGMENT(DS),
	SEGMENT(FS), SEGMENT(GS), VECTOR(0), VECTOR(1), VECTOR(2), VECTOR(3), VECTOR(4),
	VECTOR(5), VECTOR(6), VECTOR(7), VECTOR(8), VECTOR(9), VECTOR(10), VECTOR(11),
	VECTOR(12), VECTOR(13), VECTOR(14), VECTOR(15), VECTOR(16), VECTOR(17), VECTOR(18),
	VECTOR(19), VECTOR(20), VECTOR(21), VECTOR(22), VECTOR(23), VECTOR(24), VECTOR(25),
	VECTOR(26), VECTOR(27), VECTOR(28), VECTOR(29), VECTOR(30), VECTOR(31), SMALL(0),
	SMALL(1), SMALL(2), SMALL(3), SMALL(4), SMALL(5), SMALL(6), SMALL(7), SYSTEM(CR0),
	SYSTEM(CR1), SYSTEM(CR2), SYSTEM(CR3), SYSTEM(CR4), SYSTEM(CR5), SYSTEM(CR6),
	SYSTEM(CR7), SYSTEM(CR8), SYSTEM(CR9), SYSTEM(CR10), SYSTEM(CR11), SYSTEM(CR12),
	SYSTEM(CR13), SYSTEM(CR14), SYSTEM(CR15), SYSTEM(DR0), SYSTEM(DR1), SYSTEM(DR2),
	SYSTEM(DR3), SYSTEM(DR4), SYSTEM(DR5), SYSTEM(DR6), SYSTEM(DR7), SYSTEM(DR8),
	SYSTEM(DR9), SYSTEM(DR10), SYSTEM(DR11), SYSTEM(DR12), SYSTEM(DR13), SYSTEM(DR14),
	SYSTEM(DR15),
};
/* clang-format on */

struct x86_vector_prefix x86_vector_prefix_of(const cs_insn *decoded)
{
	const uint8_t *bytes = decoded->bytes;
	size_t at = 0;
	while (at + 1 < decoded->size &&
	       (bytes[at] == 0x26 || bytes[at] == 0x2e || bytes[at] == 0x36 || bytes[at] == 0x3e ||
		(bytes[at] >= 0x64 && bytes[at] <= 0x67)))
		at++;
	struct x86_vector_prefix prefix = { 0 };
	if (bytes[at] == 0xc5 || bytes[at] == 0xc4) {
		prefix.vex = true;
	} else if (bytes[at] == 0x8f && at + 1 < decoded->size) {
		prefix.vex = (bytes[at + 1] & 0x1f) >= 8;
	} else if (bytes[at] == 0x62 && at + 4 < decoded->size) {
		prefix.vex = true;
		prefix.opcode = bytes[at + 4];
		prefix.vector_bytes = (uint8_t)(16 << (bytes[at + 3] >> 5 & 3));
		prefix.extends_rm =
			!(bytes[at + 1] & 0x40) && at + 5 < decoded->size && bytes[at + 5] >= 0xc0;
		prefix.mask = bytes[at + 3] & 7;
		prefix.merging = prefix.mask && !(bytes[at + 3] & 0x80);
	}
	return prefix;
}

const struct x86_numbered *x86_number_of(unsigned capstone)
{
	static const struct x86_numbered none;
	return capstone < X86_REG_ENDING ? &numbers[capstone] : &none;
}
