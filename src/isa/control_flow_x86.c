/*
 * Kind, target and reference of an x86 instruction from Capstone's id and the
 * bytes (Intel SDM volume 2, chapter 2 and appendix A), without its details,
 * which would take a third of the time.
 */
#include <string.h>

#include "isa/decode_private.h"
#include "isa/x86_modrm.h"
#include "isa/x86_prefix.h"

enum instruction_kind x86_kind(unsigned id)
{
	switch (id) {
	case X86_INS_CALL:
	case X86_INS_LCALL:
		return INSTRUCTION_CALL;
	case X86_INS_JMP:
	case X86_INS_LJMP:
		return INSTRUCTION_JUMP;
	case X86_INS_JAE:
	case X86_INS_JA:
	case X86_INS_JBE:
	case X86_INS_JB:
	case X86_INS_JE:
	case X86_INS_JGE:
	case X86_INS_JG:
	case X86_INS_JLE:
	case X86_INS_JL:
	case X86_INS_JNE:
	case X86_INS_JNO:
	case X86_INS_JNP:
	case X86_INS_JNS:
	case X86_INS_JO:
	case X86_INS_JP:
	case X86_INS_JS:
	case X86_INS_JCXZ:
	case X86_INS_JECXZ:
	case X86_INS_JRCXZ:
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
	case X86_INS_XBEGIN: /* its target is where an abort goes */
		return INSTRUCTION_CONDITIONAL;
	case X86_INS_RET:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_SYSRET:
	case X86_INS_SYSEXIT:
		return INSTRUCTION_RETURN;
	}
	return INSTRUCTION_OTHER;
}

struct encoding {
	const uint8_t *bytes;
	size_t size;
	size_t opcode; /* where the opcode begins, or the VEX, EVEX or XOP prefix */
	bool operand_size, address_size; /* 66 and 67 are there */
};

static struct encoding skip_prefixes(const cs_insn *decoded, enum isa isa)
{
	struct encoding e = { .bytes = decoded->bytes, .size = decoded->size };
	for (; e.opcode < e.size; e.opcode++) {
		uint8_t byte = e.bytes[e.opcode];
		if (!x86_is_legacy_prefix(byte) && byte != 0x9b && /* fwait */
		    (isa != ISA_X86_64 || !x86_is_rex(byte)))
			break;
		e.operand_size = e.operand_size || byte == 0x66;
		e.address_size = e.address_size || byte == 0x67;
	}
	return e;
}

/* The place of the ModRM byte; 0: there is none (it never is the first). */
static size_t find_modrm(const struct encoding *e)
{
	size_t at = e->opcode;
	switch (e->bytes[at]) {
	case 0x0f:
		if (e->bytes[at + 1] == 0x38 || e->bytes[at + 1] == 0x3a)
			return at + 3;
		return x86_takes_modrm(X86_MAP_0F, e->bytes[at + 1]) ? at + 2 : 0;
	case 0xc5:
		return at + 3;
	case 0xc4:
		return at + 4;
	case 0x62:
		return at + 5;
	case 0x8f: /* XOP where the map is 8 and above, else pop */
		return (e->bytes[at + 1] & 0x1f) >= 8 ? at + 4 : at + 1;
	}
	return x86_takes_modrm(X86_ONE_BYTE, e->bytes[at]) ? at + 1 : 0;
}

static void find_reference(const struct encoding *e, struct instruction *out)
{
	if (e->address_size)
		return; /* relative to eip, which is no place in 64-bit code */
	size_t at = find_modrm(e);
	if (!at || at + 5 > e->size || (e->bytes[at] & 0xc7) != 0x05)
		return;
	int32_t displacement;
	memcpy(&displacement, e->bytes + at + 1, sizeof(displacement));
	out->has_reference = true;
	out->reference = out->vaddr + out->length_bytes + (uint64_t)(int64_t)displacement;
}

/* How many bytes at the end are the distance to the target; 0: it is elsewhere. */
static size_t distance_size(uint8_t opcode)
{
	if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3) || opcode == 0xeb)
		return 1;
	if (opcode == 0xe8 || opcode == 0xe9 || opcode == 0x0f || opcode == 0xc7)
		return 4;
	return 0;
}

static void find_target(const struct encoding *e, struct instruction *out)
{
	size_t size = distance_size(e->bytes[e->opcode]);
	if (!size || size > e->size)
		return;
	const uint8_t *end = e->bytes + e->size;
	int32_t distance = (int8_t)end[-1];
	if (size == sizeof(distance))
		memcpy(&distance, end - size, sizeof(distance));
	out->has_target = true;
	out->target = out->vaddr + out->length_bytes + (uint64_t)(int64_t)distance;
}

bool x86_classify_flow(const cs_insn *decoded, enum isa isa, struct instruction *out)
{
	out->kind = x86_kind(decoded->id);
	struct encoding e = skip_prefixes(decoded, isa);
	if (e.opcode >= e.size)
		return true;
	bool goes = out->kind == INSTRUCTION_CALL || out->kind == INSTRUCTION_JUMP ||
		    out->kind == INSTRUCTION_CONDITIONAL;
	if (goes && (e.operand_size || e.address_size))
		return false;
	if (isa == ISA_X86_64)
		find_reference(&e, out);
	if (goes)
		find_target(&e, out);
	return true;
}
