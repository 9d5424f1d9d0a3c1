#include "isa/decode_private.h"
#include "isa/x86_modrm.h"
#include "isa/x86_prefix.h"
#include "isa/x86_vendor_differences.h"

void x86_classify(const cs_insn *decoded, struct instruction *out)
{
	out->kind = x86_kind(decoded->id);
	const cs_x86 *x86 = &decoded->detail->x86;
	bool goes = out->kind == INSTRUCTION_CALL || out->kind == INSTRUCTION_JUMP ||
		    out->kind == INSTRUCTION_CONDITIONAL;
	/* a far call or jump has two immediates, a segment and an offset: no vaddr */
	if (goes && x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM) {
		out->has_target = true;
		out->target = (uint64_t)x86->operands[0].imm;
	}
	for (uint8_t i = 0; i < x86->op_count; i++) {
		const cs_x86_op *operand = &x86->operands[i];
		if (operand->type != X86_OP_MEM || operand->mem.base != X86_REG_RIP)
			continue;
		out->has_reference = true;
		out->reference = out->vaddr + out->length_bytes + (uint64_t)operand->mem.disp;
	}
}

void x86_apply_differences(struct span code, struct instruction *out)
{
	/* All encodings that CPUs read differently begin with a prefix: 66, or REX.W. */
	uint8_t first = *(const uint8_t *)code.data;
	if (out->kind == INSTRUCTION_OTHER || (!x86_is_legacy_prefix(first) && !x86_is_rex(first)))
		return;
	const struct x86_difference *difference = x86_difference_of(code);
	if (!difference || difference->differs != X86_DIFFERS_FLOW)
		return;
	out->cpus_differ = true;
	if (out->has_target)
		out->kind = INSTRUCTION_JUMP;
	out->has_target = false;
	out->target = 0;
}

/* Opcodes of VEX and EVEX map 1 that end in an immediate byte. */
static bool map1_has_immediate(uint8_t opcode)
{
	return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
	       (opcode >= 0xc4 && opcode <= 0xc6);
}

/* `map` 1 is 0F, 2 is 0F 38, 3 is 0F 3A; 5 and 6 are those of AVX512-FP16. 0: not known. */
static size_t opcode_length(struct span code, size_t at, unsigned map)
{
	const uint8_t *bytes = code.data;
	if (at >= code.size || map == 0 || map == 4 || map > 6)
		return 0;
	if (map == 1 && bytes[at] == 0x77) /* vzeroupper has no ModRM */
		return 1;
	size_t operands = x86_modrm_length(code, at + 1);
	if (!operands)
		return 0;
	bool immediate = map == 3 || (map == 1 && map1_has_immediate(bytes[at]));
	return 1 + operands + (immediate ? 1 : 0);
}

size_t x86_unknown_length(struct span code, enum isa isa)
{
	const uint8_t *bytes = code.data;
	size_t at = 0;
	/* 66, F2, F3 and segment prefixes, then REX */
	while (at < code.size && at < 4 &&
	       (bytes[at] == 0x66 || bytes[at] == 0x67 || bytes[at] == 0xf2 || bytes[at] == 0xf3 ||
		bytes[at] == 0x2e || bytes[at] == 0x3e || bytes[at] == 0x64 || bytes[at] == 0x65))
		at++;
	if (isa == ISA_X86_64 && at < code.size && x86_is_rex(bytes[at]))
		at++;
	if (code.size - at < 3)
		return 1;
	/* in 32-bit code the byte after C4, C5 and 62 has its top bits set, else it is LES, LDS or
	 * BOUND */
	bool vector = isa == ISA_X86_64 || bytes[at + 1] >= 0xc0;
	size_t length = 0;
	if (bytes[at] == 0xc5 && vector) {
		at += 2;
		length = opcode_length(code, at, 1);
	} else if (bytes[at] == 0xc4 && vector) {
		unsigned map = bytes[at + 1] & 0x1f;
		at += 3;
		length = opcode_length(code, at, map);
	} else if (bytes[at] == 0x62 && vector) {
		unsigned map = bytes[at + 1] & 7;
		at += 4;
		length = opcode_length(code, at, map);
	} else if (bytes[at] == 0x0f && (bytes[at + 1] == 0x38 || bytes[at + 1] == 0x3a)) {
		unsigned map = bytes[at + 1] == 0x38 ? 2 : 3;
		at += 2;
		length = opcode_length(code, at, map);
	} else if (bytes[at] == 0x0f && bytes[at + 1] == 0x01 && bytes[at + 2] >= 0xc0) {
		at += 2;
		length = 1;
	}
	if (!length || at > code.size || length > code.size - at || at + length > 15)
		return 1;
	return at + length;
}
