/*
 * Branches and PC-relative addresses of AArch64, from the bits (Arm ARM DDI 0487,
 * C4.1): all branches of the base architecture, pointer authentication included,
 * whatever the disassembler's age.
 */
#include "isa/aarch64_word.h"
#include "isa/decode_private.h"

static void set_target(struct instruction *out, enum instruction_kind kind, uint64_t offset_words)
{
	out->kind = kind;
	out->has_target = true;
	out->target = out->vaddr + offset_words * 4;
}

/* 1101011 Z op A...: BR, BLR, RET, ERET and their authenticated forms. */
static void classify_register_branch(uint32_t word, struct instruction *out)
{
	switch (word_bits(word, 21, 3)) { /* opc without its top bit, which says "with modifier" */
	case 0:
		out->kind = INSTRUCTION_JUMP;
		break;
	case 1:
		out->kind = INSTRUCTION_CALL;
		break;
	case 2:
	case 4:
		out->kind = INSTRUCTION_RETURN;
		break;
	}
}

void aarch64_classify(uint32_t word, uint64_t vaddr, struct instruction *out)
{
	out->vaddr = vaddr;
	if ((word & 0x7c000000) == 0x14000000) { /* B, BL */
		set_target(out, word & 0x80000000 ? INSTRUCTION_CALL : INSTRUCTION_JUMP,
			   word_signed_bits(word, 0, 26));
	} else if ((word & 0xff000000) == 0x54000000) { /* B.cond, BC.cond */
		set_target(out, INSTRUCTION_CONDITIONAL, word_signed_bits(word, 5, 19));
	} else if ((word & 0x7e000000) == 0x34000000) { /* CBZ, CBNZ */
		set_target(out, INSTRUCTION_CONDITIONAL, word_signed_bits(word, 5, 19));
	} else if ((word & 0x7e000000) == 0x36000000) { /* TBZ, TBNZ */
		set_target(out, INSTRUCTION_CONDITIONAL, word_signed_bits(word, 5, 14));
	} else if ((word & 0xfe1f0000) == 0xd61f0000) {
		classify_register_branch(word, out);
	} else if ((word & 0x1f000000) == 0x10000000) { /* ADR, ADRP */
		uint64_t offset =
			word_sign_extend(word_bits(word, 5, 19) << 2 | word_bits(word, 29, 2), 21);
		out->has_reference = true;
		out->reference = word & 0x80000000 ? (vaddr & ~UINT64_C(0xfff)) + (offset << 12)
						   : vaddr + offset;
	} else if ((word & 0x3b000000) == 0x18000000) { /* load of a literal */
		out->has_reference = true;
		out->reference = vaddr + word_signed_bits(word, 5, 19) * 4;
	}
}

const char *aarch64_hint(uint32_t word)
{
	if ((word & 0xfffff01f) != 0xd503201f)
		return NULL;
	static const char *const names[] = {
		[0] = "nop",	   [1] = "yield",      [2] = "wfe",	   [3] = "wfi",
		[4] = "sev",	   [5] = "sevl",       [6] = "dgh",	   [7] = "xpaclri",
		[8] = "pacia1716", [10] = "pacib1716", [12] = "autia1716", [14] = "autib1716",
		[16] = "esb",	   [17] = "psb csync", [18] = "tsb csync", [20] = "csdb",
		[24] = "paciaz",   [25] = "paciasp",   [26] = "pacibz",	   [27] = "pacibsp",
		[28] = "autiaz",   [29] = "autiasp",   [30] = "autibz",	   [31] = "autibsp",
		[32] = "bti",	   [34] = "bti c",     [36] = "bti j",	   [38] = "bti jc",
	};
	unsigned number = word_bits(word, 5, 7);
	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}
