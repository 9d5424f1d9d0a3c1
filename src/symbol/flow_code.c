/* Decodes the chosen functions: what they call, which data they refer to, whether they jump by
 * registers. */
#include "symbol/gather_flow_parts.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/elf_file.h"

#define PARTS_HELD 128 /* the pages of about so many functions are in memory at once */

/* Addresses that registers hold, as far as the instructions before, in address order, show: AArch64
 * makes an address with two instructions. */
struct pages {
	uint64_t address[32]; /* ADRP, then ADD */
	uint64_t slot[32];    /* where it was loaded from */
	bool has_address[32], has_slot[32];
};

struct reading {
	struct flow_gathering *gathering;
	struct flow_references *references;
	struct pages pages;
	uint64_t low, high; /* of what the file loads */
};

static int add_callee(struct reading *reading, uint64_t vaddr)
{
	return vaddr_list_add(&reading->gathering->callees, vaddr);
}

/* An address that the function computes: of data, or of its own code. */
static int add_reference(struct reading *reading, uint64_t vaddr)
{
	size_t at = SIZE_MAX;
	const struct chosen *chosen = &reading->gathering->chosen;
	const struct chosen_function *function;
	if (!chosen_may_hold(chosen, vaddr))
		return vaddr_list_add(&reading->references->data, vaddr);
	while ((function = chosen_next(chosen, vaddr, &at)) != NULL)
		if (function->whole == reading->references->whole)
			return vaddr_list_add(&reading->references->anchors, vaddr);
	return vaddr_list_add(&reading->references->data, vaddr);
}

/* Code that is not position-independent has addresses of data as 4-byte numbers in displacements
 * and immediates; those of the kernel are negative. Which numbers are addresses is decided by what
 * stands there. */
static int add_numbers(struct reading *reading, const uint8_t *bytes, size_t size)
{
	for (size_t at = 1; at + 4 <= size; at++) {
		int32_t value;
		memcpy(&value, bytes + at, sizeof(value));
		uint64_t vaddr = (uint64_t)(int64_t)value;
		if (vaddr >= reading->low && vaddr <= reading->high &&
		    flow_section_of(reading->gathering->file, vaddr) &&
		    add_reference(reading, vaddr) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_x86(struct reading *reading, const struct instruction *instruction,
		    const uint8_t *bytes)
{
	bool goes = instruction->kind == INSTRUCTION_CALL || instruction->kind == INSTRUCTION_JUMP;
	if (goes && !instruction->has_target && instruction->has_reference)
		return add_callee(reading, instruction->reference);
	if (instruction->kind == INSTRUCTION_JUMP && !instruction->has_target)
		reading->references->jumps_by_register = true;
	if (instruction->has_reference && add_reference(reading, instruction->reference) < 0)
		return -ENOMEM;
	if (reading->gathering->file->type == ET_EXEC && !instruction->has_target)
		return add_numbers(reading, bytes, instruction->length_bytes);
	return 0;
}

/* Arm ARM DDI 0487, C4.1: ADRP, ADD (immediate), LDR (unsigned offset), BR and BLR. */
static int read_aarch64(struct reading *reading, const struct instruction *instruction,
			const uint8_t *bytes)
{
	struct pages *pages = &reading->pages;
	uint32_t word;
	if (instruction->length_bytes != 4)
		return 0;
	memcpy(&word, bytes, sizeof(word));
	unsigned to = word & 31;
	unsigned from = (word >> 5) & 31;
	uint64_t immediate = (word >> 10) & 0xfff;
	if ((word & 0x9f000000) == 0x90000000) { /* ADRP: of a page; alone it is the start of one */
		pages->address[to] = instruction->reference;
		pages->has_address[to] = true;
		pages->has_slot[to] = false;
		return 0;
	}
	if ((word & 0xff800000) == 0x91000000 && pages->has_address[from]) { /* ADD */
		if (word & 0x400000)
			immediate <<= 12;
		pages->address[to] = pages->address[from] + immediate;
		pages->has_address[to] = true;
		pages->has_slot[to] = false;
		return add_reference(reading, pages->address[to]);
	}
	if ((word & 0xffc00000) == 0xf9400000 && pages->has_address[from]) { /* LDR */
		pages->slot[to] = pages->address[from] + immediate * 8;
		pages->has_slot[to] = true;
		pages->has_address[to] = false;
		return 0;
	}
	if (instruction->has_reference) /* ADR, literals */
		return add_reference(reading, instruction->reference);
	bool goes = instruction->kind == INSTRUCTION_CALL || instruction->kind == INSTRUCTION_JUMP;
	if (!goes || instruction->has_target)
		return 0;
	if (pages->has_slot[from] &&
	    relocations_find(&reading->gathering->relocations, pages->slot[from]))
		return add_callee(reading, pages->slot[from]);
	if (instruction->kind == INSTRUCTION_JUMP)
		reading->references->jumps_by_register = true;
	return 0;
}

/* Whether the target lies in the function itself. */
static bool stays(const struct reading *reading, uint64_t target)
{
	size_t at = SIZE_MAX;
	const struct chosen_function *function;
	while ((function = chosen_next(&reading->gathering->chosen, target, &at)) != NULL)
		if (function->whole == reading->references->whole)
			return true;
	return false;
}

static int read_part(struct reading *reading, const struct chosen_function *part)
{
	struct flow_gathering *gathering = reading->gathering;
	struct span code =
		elf_file_code(gathering->file, part->first, part->last - part->first + 1);
	uint64_t vaddr = part->first;
	int ret = 0;
	reading->pages = (struct pages){ 0 };
	while (ret == 0 && code.size > 0) {
		struct instruction instruction;
		decoder_flow(gathering->decoder, code, vaddr, &instruction);
		if (instruction.has_target && !stays(reading, instruction.target))
			ret = add_callee(reading, instruction.target);
		if (ret == 0)
			ret = gathering->isa == ISA_X86_64
				      ? read_x86(reading, &instruction, code.data)
				      : read_aarch64(reading, &instruction, code.data);
		vaddr += instruction.length_bytes;
		code.data = (const uint8_t *)code.data + instruction.length_bytes;
		code.size -= instruction.length_bytes;
	}
	return ret;
}

static void find_bounds(const struct elf_file *file, uint64_t *low, uint64_t *high)
{
	*low = UINT64_MAX;
	*high = 0;
	for (size_t i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];
		uint64_t last = section->vaddr + (section->size_bytes - 1);
		if (!(section->flags & SHF_ALLOC) || section->size_bytes == 0 ||
		    last < section->vaddr)
			continue;
		*low = section->vaddr < *low ? section->vaddr : *low;
		*high = last > *high ? last : *high;
	}
}

static int compare_parts(const void *a, const void *b)
{
	const struct chosen_function *const *left = a;
	const struct chosen_function *const *right = b;
	if ((*left)->whole != (*right)->whole)
		return (*left)->whole < (*right)->whole ? -1 : 1;
	return (*left > *right) - (*left < *right);
}

int flow_read_code(struct flow_gathering *gathering)
{
	const struct chosen *chosen = &gathering->chosen;
	const struct chosen_function **parts = calloc(chosen->count, sizeof(*parts));
	int ret = parts ? 0 : -ENOMEM;
	uint64_t low, high;
	find_bounds(gathering->file, &low, &high);
	for (size_t i = 0; ret == 0 && i < chosen->count; i++)
		parts[i] = &chosen->list[i];
	if (ret == 0)
		qsort(parts, chosen->count, sizeof(const struct chosen_function *), compare_parts);
	for (size_t from = 0, to; ret == 0 && from < chosen->count; from = to) {
		struct flow_references references = { .whole = parts[from]->whole };
		struct reading reading = {
			.gathering = gathering, .references = &references, .low = low, .high = high
		};
		for (to = from;
		     ret == 0 && to < chosen->count && parts[to]->whole == references.whole; to++)
			ret = read_part(&reading, parts[to]);
		if (ret == 0)
			ret = flow_add_tables(gathering, &references);
		vaddr_list_release(&references.data);
		vaddr_list_release(&references.anchors);
		if (from / PARTS_HELD != to / PARTS_HELD)
			elf_file_let_go(gathering->file);
	}
	free(parts);
	return ret;
}
