/* Branches from other code into the middle of chosen functions, searched in all code by its bytes.
 */
#include "symbol/gather_flow_parts.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "image/elf_file.h"
#include "symbol/symbol_table.h"

#define PIECE_BYTES ((size_t)1 << 20)

/* Bytes that read like a branch: whether an instruction really ends there, decoding shows. */
struct hit {
	uint64_t place; /* of its opcode */
	uint64_t end;	/* behind it */
	uint64_t target;
};

struct hits {
	struct hit *list;
	size_t count;
	size_t capacity;
};

/* Does the target lie inside a chosen function that the place is not a part of? */
static bool comes_in(const struct flow_gathering *gathering, uint64_t place, uint64_t target)
{
	size_t at = SIZE_MAX;
	const struct chosen_function *function;
	while ((function = chosen_next(&gathering->chosen, target, &at)) != NULL)
		if (function->first != target &&
		    (place < function->first || place > function->last))
			return true;
	return false;
}

static int add_hit(const struct flow_gathering *gathering, struct hits *hits, struct hit hit)
{
	if (!chosen_may_hold(&gathering->chosen, hit.target) ||
	    !comes_in(gathering, hit.place, hit.target))
		return 0;
	if (array_reserve(&hits->list, &hits->capacity, hits->count, sizeof(*hits->list)) < 0)
		return -ENOMEM;
	hits->list[hits->count++] = hit;
	return 0;
}

/* ---- x86-64 */

static int32_t read_s32(const uint8_t *bytes)
{
	int32_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* E9 rel32, and 0F 80 to 8F rel32. */
static int search_long(const struct flow_gathering *gathering, struct span code, size_t from,
		       size_t to, uint64_t vaddr, struct hits *hits)
{
	const uint8_t *bytes = code.data, *stop = bytes + to;
	for (size_t opcode_bytes = 1; opcode_bytes <= 2; opcode_bytes++) {
		uint8_t wanted = opcode_bytes == 1 ? 0xe9 : 0x0f;
		size_t size = opcode_bytes + 4;
		const uint8_t *at = bytes + from;
		while ((at = memchr(at, wanted, (size_t)(stop - at))) != NULL) {
			size_t offset = (size_t)(at++ - bytes);
			if (code.size - offset < size)
				break;
			if (opcode_bytes == 2 && (at[0] & 0xf0) != 0x80)
				continue;
			uint64_t end = vaddr + offset + size;
			uint64_t target =
				end + (uint64_t)(int64_t)read_s32(bytes + offset + opcode_bytes);
			if (chosen_may_hold(&gathering->chosen, target) &&
			    add_hit(gathering, hits, (struct hit){ vaddr + offset, end, target }) <
				    0)
				return -ENOMEM;
		}
	}
	return 0;
}

static bool is_short_branch(uint8_t opcode)
{
	return opcode == 0xeb || (opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3);
}

/* Short branches reach 128 bytes: only what lies beside a chosen function can come into it. */
static int search_short(const struct flow_gathering *gathering, struct span code, uint64_t vaddr,
			uint64_t from, uint64_t to, struct hits *hits)
{
	const uint8_t *bytes = code.data;
	if (from < vaddr)
		from = vaddr;
	for (uint64_t place = from; place < to && place - vaddr < code.size; place++) {
		size_t offset = place - vaddr;
		if (code.size - offset < 2 || !is_short_branch(bytes[offset]))
			continue;
		uint64_t target = place + 2 + (uint64_t)(int64_t)(int8_t)bytes[offset + 1];
		if (add_hit(gathering, hits, (struct hit){ place, place + 2, target }) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int search_beside(const struct flow_gathering *gathering, struct span code, uint64_t vaddr,
			 struct hits *hits)
{
	enum { REACH = 130 };
	const struct chosen *chosen = &gathering->chosen;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < chosen->count; i++) {
		const struct chosen_function *function = &chosen->list[i];
		if (function->last < vaddr || function->first - vaddr > code.size + REACH)
			continue;
		uint64_t before = function->first < REACH ? 0 : function->first - REACH;
		ret = search_short(gathering, code, vaddr, before, function->first, hits);
		if (ret == 0 && function->last < UINT64_MAX - REACH)
			ret = search_short(gathering, code, vaddr, function->last + 1,
					   function->last + REACH, hits);
	}
	return ret;
}

static int compare_hits(const void *a, const void *b)
{
	const struct hit *left = a;
	const struct hit *right = b;
	if (left->end != right->end)
		return left->end < right->end ? -1 : 1;
	return (left->target > right->target) - (left->target < right->target);
}

/* Decodes a function from its start as far as its hits go; those that end no branch are dropped. */
static int confirm(struct flow_gathering *gathering, const struct symbol *symbol,
		   const struct hit *hits, size_t count)
{
	struct span code = elf_file_code(gathering->file, symbol->start, symbol->size_bytes);
	uint64_t vaddr = symbol->start;
	size_t next = 0;
	while (code.size > 0 && next < count) {
		struct instruction instruction;
		decoder_flow(gathering->decoder, code, vaddr, &instruction);
		vaddr += instruction.length_bytes;
		code.data = (const uint8_t *)code.data + instruction.length_bytes;
		code.size -= instruction.length_bytes;
		for (; next < count && hits[next].end <= vaddr; next++)
			if (hits[next].end == vaddr && instruction.has_target &&
			    instruction.target == hits[next].target &&
			    (instruction.kind == INSTRUCTION_JUMP ||
			     instruction.kind == INSTRUCTION_CONDITIONAL) &&
			    flow_add_entry(gathering, hits[next].target, ENTRY_JUMP,
					   chosen_whole(symbol)) < 0)
				return -ENOMEM;
	}
	return 0;
}

static int confirm_all(struct flow_gathering *gathering, struct hits *hits)
{
	int ret = 0;
	if (hits->count)
		qsort(hits->list, hits->count, sizeof(*hits->list), compare_hits);
	for (size_t from = 0, to; ret == 0 && from < hits->count; from = to) {
		const struct symbol *symbol =
			symbol_table_find(gathering->table, hits->list[from].place);
		for (to = from + 1; to < hits->count; to++)
			if (symbol_table_find(gathering->table, hits->list[to].place) != symbol)
				break;
		/* in no function: where instructions start is not known */
		if (symbol)
			ret = confirm(gathering, symbol, hits->list + from, to - from);
	}
	return ret;
}

/* ---- AArch64: each word is an instruction */

static bool branch_target(uint32_t word, uint64_t vaddr, uint64_t *target)
{
	unsigned low, bits;
	if ((word & 0xfc000000) == 0x14000000) { /* B */
		low = 0;
		bits = 26;
	} else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
		low = 5; /* B.cond, CBZ, CBNZ */
		bits = 19;
	} else if ((word & 0x7e000000) == 0x36000000) { /* TBZ, TBNZ */
		low = 5;
		bits = 14;
	} else {
		return false;
	}
	uint64_t offset = (word >> low) & ((UINT64_C(1) << bits) - 1);
	uint64_t sign = UINT64_C(1) << (bits - 1);
	*target = vaddr + ((offset ^ sign) - sign) * 4;
	return true;
}

static int search_aarch64(struct flow_gathering *gathering, struct span code, size_t from,
			  size_t to, uint64_t vaddr)
{
	const uint8_t *bytes = code.data;
	for (size_t at = from + (-(vaddr + from) & 3); at < to && code.size - at >= 4; at += 4) {
		uint32_t word;
		uint64_t target;
		memcpy(&word, bytes + at, sizeof(word));
		if (!branch_target(word, vaddr + at, &target) ||
		    !chosen_may_hold(&gathering->chosen, target) ||
		    !comes_in(gathering, vaddr + at, target))
			continue;
		const struct symbol *symbol = symbol_table_find(gathering->table, vaddr + at);
		if (flow_add_entry(gathering, target, ENTRY_JUMP,
				   symbol ? chosen_whole(symbol) : UINT64_MAX) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- */

/* In pieces, since it may be a hundred megabytes of a file. */
static int search(struct flow_gathering *gathering, struct span code, uint64_t vaddr,
		  struct hits *hits)
{
	const uint8_t *bytes = code.data;
	bool x86 = gathering->isa == ISA_X86_64;
	int ret = 0;
	for (size_t from = 0, to; ret == 0 && from < code.size; from = to) {
		to = code.size - from < PIECE_BYTES ? code.size : from + PIECE_BYTES;
		ret = x86 ? search_long(gathering, code, from, to, vaddr, hits)
			  : search_aarch64(gathering, code, from, to, vaddr);
		elf_file_let_go_of(gathering->file, (struct span){ bytes + from, to - from });
	}
	return ret == 0 && x86 ? search_beside(gathering, code, vaddr, hits) : ret;
}

int flow_find_branches(struct flow_gathering *gathering)
{
	const struct elf_file *file = gathering->file;
	struct hits hits = { 0 };
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];
		if ((section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR))
			ret = search(gathering, elf_file_section_bytes(file, section),
				     section->vaddr, &hits);
	}
	for (size_t i = 0; ret == 0 && file->section_count == 0 && i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type == PT_LOAD && (segment->flags & PF_X))
			ret = search(gathering,
				     elf_file_code(file, segment->vaddr, segment->file_bytes),
				     segment->vaddr, &hits);
	}
	if (ret == 0)
		ret = confirm_all(gathering, &hits);
	free(hits.list);
	return ret;
}
