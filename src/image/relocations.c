#include "image/relocations.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/sorted.h"
#include "image/elf_file.h"
#include "image/elf_symbol_name.h"

#ifndef SHT_RELR
#define SHT_RELR 19
#endif

enum { SLOT_BYTES = 8 };

static int add(struct relocations *relocations, const struct relocation *relocation)
{
	if (array_reserve(&relocations->list, &relocations->capacity, relocations->count,
			  sizeof(*relocations->list)) < 0)
		return -ENOMEM;
	relocations->list[relocations->count++] = *relocation;
	return 0;
}

static bool is_relative(uint16_t machine, uint32_t type)
{
	return machine == EM_X86_64 ? type == R_X86_64_RELATIVE : type == R_AARCH64_RELATIVE;
}

/* Does the loader write the address of the symbol itself? */
static bool is_address(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
		       type == R_X86_64_64;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
}

enum wanted { WANTED_TOLD, WANTED_ALL };

static int read_rela(const struct elf_file *file, const struct elf_section *section,
		     enum wanted wanted, struct relocations *relocations)
{
	const struct elf_section *symbols = elf_file_section_at(file, section->link);
	struct span bytes = elf_file_section_bytes(file, section);
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	while (cursor_left(&cursor) >= 24) {
		struct relocation relocation = { .vaddr = cursor_u64(&cursor) };
		uint64_t info = cursor_u64(&cursor);
		uint64_t addend = cursor_u64(&cursor);
		if (is_relative(file->machine, (uint32_t)info))
			relocation.value = addend;
		else if (is_address(file->machine, (uint32_t)info) && addend == 0 && symbols)
			relocation.symbol = elf_symbol_name(file, symbols, info >> 32);
		relocation.other =
			!is_relative(file->machine, (uint32_t)info) && relocation.symbol.size == 0;
		if (relocation.other && wanted != WANTED_ALL)
			continue;
		if (add(relocations, &relocation) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The value that stands in the file is what is written at load address 0. */
static int add_in_place(const struct elf_file *file, uint64_t vaddr,
			struct relocations *relocations)
{
	struct span bytes = elf_file_code(file, vaddr, SLOT_BYTES);
	struct relocation relocation = { .vaddr = vaddr };
	if (bytes.size < SLOT_BYTES)
		return 0;
	memcpy(&relocation.value, bytes.data, SLOT_BYTES);
	return add(relocations, &relocation);
}

/* gABI: an even word is the address of a slot; an odd one has bits for the 63 slots that follow. */
static int read_relr(const struct elf_file *file, const struct elf_section *section,
		     struct relocations *relocations)
{
	struct span bytes = elf_file_section_bytes(file, section);
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	uint64_t next = 0;
	int ret = 0;
	while (ret == 0 && cursor_left(&cursor) >= SLOT_BYTES) {
		uint64_t word = cursor_u64(&cursor);
		if (!(word & 1)) {
			ret = add_in_place(file, word, relocations);
			next = word + SLOT_BYTES;
			continue;
		}
		for (unsigned bit = 1; ret == 0 && bit < 64; bit++)
			if (word >> bit & 1)
				ret = add_in_place(file, next + (bit - 1) * SLOT_BYTES,
						   relocations);
		next += 63 * SLOT_BYTES;
	}
	return ret;
}

static int compare_relocations(const void *a, const void *b)
{
	const struct relocation *left = a;
	const struct relocation *right = b;
	if (left->vaddr != right->vaddr)
		return left->vaddr < right->vaddr ? -1 : 1;
	int order = span_compare(left->symbol, right->symbol);
	if (order)
		return order;
	if (left->other != right->other)
		return left->other ? -1 : 1; /* what is unknown stays so */
	return (left->value > right->value) - (left->value < right->value);
}

/* Linkers put relative ones first, by place: then only what follows needs sorting. */
static int sort(struct relocation *list, size_t count)
{
	size_t sorted = count ? 1 : 0;
	while (sorted < count && compare_relocations(&list[sorted - 1], &list[sorted]) <= 0)
		sorted++;
	size_t rest = count - sorted;
	if (!rest)
		return 0;
	qsort(list + sorted, rest, sizeof(*list), compare_relocations);
	struct relocation *tail = malloc(rest * sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	memcpy(tail, list + sorted, rest * sizeof(*tail));
	while (rest) {
		bool from_tail =
			!sorted || compare_relocations(&list[sorted - 1], &tail[rest - 1]) <= 0;
		list[sorted + rest - 1] = from_tail ? tail[rest - 1] : list[sorted - 1];
		rest -= from_tail;
		sorted -= !from_tail;
	}
	free(tail);
	return 0;
}

static int sort_unique(struct relocations *relocations)
{
	struct relocation *list = relocations->list;
	int ret = sort(list, relocations->count);
	if (ret < 0)
		return ret;
	size_t kept = 0;
	for (size_t i = 0; i < relocations->count; i++)
		if (kept == 0 || list[i].vaddr != list[kept - 1].vaddr)
			list[kept++] = list[i];
	relocations->count = kept;
	return 0;
}

static int read_sections(const struct elf_file *file, enum wanted wanted,
			 struct relocations *relocations)
{
	*relocations = (struct relocations){ 0 };
	if (!file->wide || (file->machine != EM_X86_64 && file->machine != EM_AARCH64))
		return 0;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];
		if (!(section->flags & SHF_ALLOC))
			continue;
		if (section->type == SHT_RELA)
			ret = read_rela(file, section, wanted, relocations);
		else if (section->type == SHT_RELR)
			ret = read_relr(file, section, relocations);
	}
	if (ret == 0)
		ret = sort_unique(relocations);
	if (ret < 0)
		relocations_release(relocations);
	return ret;
}

int relocations_read(const struct elf_file *file, struct relocations *relocations)
{
	return read_sections(file, WANTED_TOLD, relocations);
}

int relocations_read_all(const struct elf_file *file, struct relocations *relocations)
{
	return read_sections(file, WANTED_ALL, relocations);
}

void relocations_release(struct relocations *relocations)
{
	free(relocations->list);
	*relocations = (struct relocations){ 0 };
}

size_t relocations_from(const struct relocations *relocations, uint64_t vaddr)
{
	return SORTED_FROM(relocations->list, relocations->count, vaddr, vaddr);
}

const struct relocation *relocations_find(const struct relocations *relocations, uint64_t vaddr)
{
	size_t at = relocations_from(relocations, vaddr);
	return at < relocations->count && relocations->list[at].vaddr == vaddr
		       ? &relocations->list[at]
		       : NULL;
}

void relocations_apply(const struct relocations *relocations, uint64_t vaddr, void *bytes,
		       size_t size)
{
	uint64_t below = vaddr < SLOT_BYTES ? 0 : vaddr - (SLOT_BYTES - 1);
	for (size_t i = relocations_from(relocations, below); i < relocations->count; i++) {
		const struct relocation *relocation = &relocations->list[i];
		uint8_t value[SLOT_BYTES];
		if (relocation->vaddr >= vaddr && relocation->vaddr - vaddr >= size)
			return;
		if (relocation->symbol.size || relocation->other)
			continue;
		memcpy(value, &relocation->value, sizeof(value));
		/* may begin before the bytes, and end behind them */
		size_t skipped = relocation->vaddr < vaddr ? vaddr - relocation->vaddr : 0;
		size_t at = relocation->vaddr < vaddr ? 0 : relocation->vaddr - vaddr;
		size_t count = SLOT_BYTES - skipped;
		if (count > size - at)
			count = size - at;
		memcpy((uint8_t *)bytes + at, value + skipped, count);
	}
}
