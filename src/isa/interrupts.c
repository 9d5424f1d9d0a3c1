#include "isa/interrupts.h"

#include <stdlib.h>
#include <string.h>

#include "isa/decode_private.h"
#include "isa/x86_prefix.h"

#define NEAR_BYTES 30 /* two of the longest instructions */

enum effect {
	EFFECT_OTHER,
	EFFECT_ENABLES,	      /* interrupts are delivered behind it */
	EFFECT_ENABLES_LATER, /* or behind the instruction that follows */
};

static enum effect effect_x86(const uint8_t *bytes, size_t size)
{
	if (size == 1 && bytes[0] == 0xfb)
		return EFFECT_ENABLES_LATER;
	if (bytes[size - 1] != 0x9d)
		return EFFECT_OTHER;
	for (size_t i = 0; i + 1 < size; i++) /* popf with prefixes */
		if (bytes[i] != 0x66 && !x86_is_rex(bytes[i]))
			return EFFECT_OTHER;
	return EFFECT_ENABLES;
}

/* A quick look: 9 of 10 addresses have no byte of sti or popf shortly before them. */
static bool may_arrive_x86(const uint8_t *bytes, uint64_t offset)
{
	size_t near = offset < NEAR_BYTES ? (size_t)offset : NEAR_BYTES;
	const uint8_t *from = bytes + (offset - near);
	return memchr(from, 0xfb, near) || memchr(from, 0x9d, near);
}

/* A bit for each byte of the code, set where interrupts may be delivered. Decodes from the
 * procedure's begin, since where an instruction begins shows only there. NULL: out of memory. */
static uint8_t *mark_x86(struct decoder *decoder, struct span code, uint64_t first)
{
	const uint8_t *bytes = code.data;
	uint8_t *marks = calloc(1, code.size / 8 + 1);
	enum effect last = EFFECT_OTHER;
	for (size_t at = 0; marks && at < code.size;) {
		struct instruction instruction;
		decoder_flow(decoder, (struct span){ bytes + at, code.size - at }, first + at,
			     &instruction);
		enum effect effect = effect_x86(bytes + at, instruction.length_bytes);
		bool leaves = instruction.kind == INSTRUCTION_JUMP ||
			      instruction.kind == INSTRUCTION_RETURN ||
			      instruction.kind == INSTRUCTION_CALL;
		bool enabled = effect != EFFECT_OTHER || (last == EFFECT_ENABLES_LATER && !leaves);
		last = effect;
		at += instruction.length_bytes;
		if (enabled && at < code.size)
			marks[at / 8] |= (uint8_t)(1u << at % 8);
	}
	return marks;
}

static bool arrive_x86(struct decoder *decoder, struct span code, uint64_t first, uint64_t vaddr,
		       uint8_t **marks)
{
	uint64_t wanted = vaddr - first;
	if (!may_arrive_x86(code.data, wanted))
		return false;
	if (!*marks)
		*marks = mark_x86(decoder, code, first);
	return *marks && (*marks)[wanted / 8] >> wanted % 8 & 1;
}

static bool arrive_aarch64(struct span code, uint64_t first, uint64_t vaddr)
{
	uint32_t word;
	uint64_t offset = vaddr - first;
	if (offset < sizeof(word) || offset % sizeof(word))
		return false;
	memcpy(&word, (const uint8_t *)code.data + offset - sizeof(word), sizeof(word));
	bool clears = (word & 0xfffff0ff) == 0xd50340ff && word >> 8 & 2; /* msr daifclr, #imm */
	bool restores = (word & 0xffffffe0) == 0xd51b4220;		  /* msr daif, xN */
	bool unmasks = (word & 0xffffffe0) == 0xd5184600;		  /* msr icc_pmr_el1, xN */
	return clears || restores || unmasks;
}

bool interrupts_arrive_at(struct decoder *decoder, struct span code, uint64_t first, uint64_t vaddr,
			  uint8_t **marks)
{
	if (vaddr < first || vaddr - first >= code.size)
		return false;
	return decoder->isa == ISA_AARCH64 ? arrive_aarch64(code, first, vaddr)
					   : arrive_x86(decoder, code, first, vaddr, marks);
}
