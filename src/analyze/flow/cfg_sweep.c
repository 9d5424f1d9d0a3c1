#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/cfg_private.h"
#include "base/array.h"
#include "base/sorted.h"

/* The one place that decodes; the texts are not used. */
static void decode(struct cfg_builder *builder, struct span code, uint64_t vaddr,
		   struct instruction *out)
{
	decoder_flow(builder->decoder, code, vaddr, out);
}

/* ud0, ud1, ud2, hlt. Not int3: debuggers go on behind it, and it pads. */
static bool traps_x86(const uint8_t *bytes, size_t size)
{
	return (size >= 2 && bytes[0] == 0x0f &&
		(bytes[1] == 0x0b || bytes[1] == 0xb9 || bytes[1] == 0xff)) ||
	       bytes[0] == 0xf4;
}

/* nop in all its lengths, int3. endbr is no padding: indirect jumps may lead there. */
static bool pads_x86(const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	if (bytes[0] == 0xcc)
		return true;
	while (at < size && (bytes[at] == 0x66 || bytes[at] == 0x2e))
		at++;
	if (at + 1 == size)
		return bytes[at] == 0x90;
	return size - at >= 3 && bytes[at] == 0x0f && bytes[at + 1] == 0x1f;
}

static bool traps_aarch64(uint32_t word)
{
	return (word & 0xffe0001f) == 0xd4200000 || /* BRK */
	       (word & 0xffe0001f) == 0xd4400000 || /* HLT */
	       (word & 0xffff0000) == 0;	    /* UDF */
}

static void note_bytes(const struct cfg_builder *builder, const uint8_t *bytes,
		       struct cfg_instruction *out)
{
	if (builder->space->isa == ISA_AARCH64) {
		uint32_t word;
		if (out->length_bytes < sizeof(word))
			return;
		memcpy(&word, bytes, sizeof(word));
		out->traps = traps_aarch64(word);
		out->pads = word == 0xd503201f;
		return;
	}
	out->traps = traps_x86(bytes, out->length_bytes);
	out->pads = pads_x86(bytes, out->length_bytes);
}

static int add_jump(struct cfg_builder *builder, size_t *capacity)
{
	struct cfg *cfg = builder->cfg;
	if (array_reserve(&cfg->jumps, capacity, cfg->jump_count, sizeof(*cfg->jumps)) < 0)
		return -ENOMEM;
	cfg->jumps[cfg->jump_count++] = (struct cfg_jump){ .instruction = cfg->instruction_count };
	return 0;
}

static struct cfg_instruction describe(const struct cfg_builder *builder, const uint8_t *bytes,
				       const struct instruction *decoded)
{
	struct cfg_instruction out = {
		.vaddr = decoded->vaddr,
		.target = decoded->has_target ? decoded->target : decoded->reference,
		.length_bytes = (uint8_t)decoded->length_bytes,
		.kind = (uint8_t)decoded->kind,
		.has_target = decoded->has_target,
		.cpus_differ = decoded->cpus_differ,
	};
	bool goes = decoded->kind == INSTRUCTION_CALL || decoded->kind == INSTRUCTION_JUMP;
	out.through_slot = goes && !decoded->has_target && decoded->has_reference;
	note_bytes(builder, bytes, &out);
	return out;
}

static int sweep_part(struct cfg_builder *builder, struct cfg_part *part, size_t *capacity,
		      size_t *jump_capacity)
{
	struct cfg *cfg = builder->cfg;
	const uint8_t *bytes = part->bytes.data;
	part->first_instruction = cfg->instruction_count;
	for (size_t at = 0; at < part->bytes.size;) {
		struct instruction decoded;
		decode(builder, (struct span){ bytes + at, part->bytes.size - at },
		       part->first + at, &decoded);
		if (array_reserve(&cfg->instructions, capacity, cfg->instruction_count,
				  sizeof(*cfg->instructions)) < 0)
			return -ENOMEM;
		struct cfg_instruction instruction = describe(builder, bytes + at, &decoded);
		if (instruction.kind == INSTRUCTION_JUMP && !instruction.has_target &&
		    add_jump(builder, jump_capacity) < 0)
			return -ENOMEM;
		cfg->instructions[cfg->instruction_count++] = instruction;
		at += decoded.length_bytes;
	}
	part->instruction_count = cfg->instruction_count - part->first_instruction;
	return 0;
}

int cfg_sweep(struct cfg_builder *builder)
{
	size_t capacity = 0, jump_capacity = 0;
	for (uint32_t i = 0; i < builder->cfg->part_count; i++)
		if (sweep_part(builder, &builder->cfg->parts[i], &capacity, &jump_capacity) < 0)
			return -ENOMEM;
	return 0;
}

static const struct cfg_part *part_at(const struct cfg *cfg, uint64_t vaddr)
{
	for (uint32_t i = 0; i < cfg->part_count; i++)
		if (vaddr >= cfg->parts[i].first && vaddr <= cfg->parts[i].last)
			return &cfg->parts[i];
	return NULL;
}

uint32_t cfg_instruction_at(const struct cfg *cfg, uint64_t vaddr)
{
	const struct cfg_part *part = part_at(cfg, vaddr);
	if (!part)
		return CFG_NO_INSTRUCTION;
	/* the last that starts at or before */
	uint32_t low = part->first_instruction, high = low + part->instruction_count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (cfg->instructions[middle].vaddr <= vaddr)
			low = middle;
		else
			high = middle;
	}
	return low;
}

const uint8_t *cfg_code(const struct cfg *cfg, const struct cfg_instruction *instruction)
{
	const struct cfg_part *part = part_at(cfg, instruction->vaddr);
	return (const uint8_t *)part->bytes.data + (instruction->vaddr - part->first);
}

uint32_t cfg_instruction_from(const struct cfg *cfg, uint64_t vaddr)
{
	return (uint32_t)SORTED_FROM(cfg->instructions, cfg->instruction_count, vaddr, vaddr);
}
