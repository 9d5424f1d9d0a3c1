#include "isa/x86_modrm.h"

/* One bit an opcode, 32 in a row of 20h: does a ModRM byte follow it? */
static const uint32_t one_byte[8] = {
	0x0f0f0f0f,		/* 00: add, or, adc, sbb */
	0x0f0f0f0f,		/* 20: and, sub, xor, cmp */
	0x00000000, 0x00000a0c, /* 62 (bound), 63, 69, 6B */
	0x0000ffff,		/* 80 to 8F */
	0x00000000, 0xff0f00f3, /* C0, C1, C4 to C7, D0 to D3, D8 to DF */
	0xc0c00000,		/* F6, F7, FE, FF */
};
static const uint32_t two_byte[8] = {
	0xffffa00f, /* 00 to 03, 0D, 0F, 10 to 1F */
	0x0000ff0f, /* 20 to 23, which name registers only, 28 to 2F */
	0xffffffff, /* 40 to 5F */
	0xff7fffff, /* 60 to 7F but 77 */
	0xffff0000, /* 90 to 9F */
	0xfffff8f8, /* A3 to A7, AB to BF */
	0xffff00ff, /* C0 to C7, D0 to DF */
	0xffffffff,
};

static bool has_bit(const uint32_t table[8], uint8_t opcode)
{
	return table[opcode / 32] >> opcode % 32 & 1;
}

bool x86_takes_modrm(enum x86_map map, uint8_t opcode)
{
	if (map == X86_ONE_BYTE)
		return has_bit(one_byte, opcode);
	return map != X86_MAP_0F || has_bit(two_byte, opcode);
}

size_t x86_modrm_length(struct span code, size_t at)
{
	const uint8_t *bytes = code.data;
	if (at >= code.size)
		return 0;
	unsigned mod = bytes[at] >> 6;
	unsigned rm = bytes[at] & 7;
	if (mod == 3)
		return 1;
	size_t length = 1;
	unsigned base = rm;
	if (rm == 4) {
		if (at + 1 >= code.size)
			return 0;
		base = bytes[at + 1] & 7;
		length++;
	}
	if (mod == 1)
		return length + 1;
	if (mod == 2 || base == 5)
		return length + 4;
	return length;
}
