#include "image/plt.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/sorted.h"
#include "image/elf_file.h"
#include "image/elf_symbol_name.h"

/* A relocation that fills a slot which stubs jump through. */
struct slot {
	uint64_t vaddr;
	uint64_t index; /* in .rela.plt, which lazy stubs push; UINT64_MAX elsewhere */
	struct span symbol;
	uint64_t target; /* of a relocation without symbol */
};

struct slots {
	struct slot *list; /* by vaddr */
	size_t count;
	size_t capacity;
	size_t *by_index; /* positions in `list` of .rela.plt's entries */
	size_t indexed;
};

static int compare_slots(const void *a, const void *b)
{
	const struct slot *left = a;
	const struct slot *right = b;
	if (left->vaddr != right->vaddr)
		return left->vaddr < right->vaddr ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

static const struct slot *find_slot(const struct slots *slots, uint64_t vaddr)
{
	size_t at = SORTED_FROM(slots->list, slots->count, vaddr, vaddr);
	return at < slots->count && slots->list[at].vaddr == vaddr ? &slots->list[at] : NULL;
}

static const struct slot *find_index(const struct slots *slots, uint64_t index)
{
	return index < slots->indexed && slots->by_index[index] != SIZE_MAX
		       ? &slots->list[slots->by_index[index]]
		       : NULL;
}

static bool fills_slot(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
		       type == R_X86_64_IRELATIVE;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
	       type == R_AARCH64_IRELATIVE;
}

static int read_relocations(const struct elf_file *file, const struct elf_section *section,
			    struct slots *slots)
{
	const struct elf_section *symbols = elf_file_section_at(file, section->link);
	struct span bytes = elf_file_section_bytes(file, section);
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	bool indexed = span_equal(section->name, span_of_text(".rela.plt"));
	for (uint64_t i = 0; cursor_left(&cursor) >= 24; i++) {
		uint64_t vaddr = cursor_u64(&cursor);
		uint64_t info = cursor_u64(&cursor);
		uint64_t addend = cursor_u64(&cursor);
		if (!fills_slot(file->machine, (uint32_t)info))
			continue;
		if (array_reserve(&slots->list, &slots->capacity, slots->count,
				  sizeof(*slots->list)) < 0)
			return -ENOMEM;
		struct slot *slot = &slots->list[slots->count++];
		*slot = (struct slot){ .vaddr = vaddr, .index = indexed ? i : UINT64_MAX };
		if (symbols)
			slot->symbol = elf_symbol_name(file, symbols, info >> 32);
		if (slot->symbol.size == 0)
			slot->target = addend;
		if (indexed)
			slots->indexed = i + 1; /* below the section's size */
	}
	return 0;
}

static int read_slots(const struct elf_file *file, struct slots *slots)
{
	for (size_t i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];
		if (section->type != SHT_RELA || !(section->flags & SHF_ALLOC))
			continue;
		int ret = read_relocations(file, section, slots);
		if (ret < 0)
			return ret;
	}
	if (slots->count)
		qsort(slots->list, slots->count, sizeof(*slots->list), compare_slots);
	slots->by_index = malloc((slots->indexed ? slots->indexed : 1) * sizeof(size_t));
	if (!slots->by_index)
		return -ENOMEM;
	for (size_t i = 0; i < slots->indexed; i++)
		slots->by_index[i] = SIZE_MAX;
	for (size_t i = 0; i < slots->count; i++)
		if (slots->list[i].index < slots->indexed)
			slots->by_index[slots->list[i].index] = i;
	return 0;
}

static int add_stub(struct plt *plt, size_t *capacity, uint64_t start, uint64_t size,
		    const struct slot *slot)
{
	if (array_reserve(&plt->stubs, capacity, plt->count, sizeof(*plt->stubs)) < 0)
		return -ENOMEM;
	plt->stubs[plt->count++] = (struct plt_stub){ start, size, slot->symbol, slot->target };
	return 0;
}

/*
 * [endbr64] [bnd] jmp *disp(%rip), or a lazy stub under IBT, which only pushes its
 * relocation's index: [endbr64] push imm32.
 */
static const struct slot *x86_stub_slot(const struct slots *slots, const uint8_t *code, size_t size,
					uint64_t vaddr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = size >= 4 && memcmp(code, endbr64, 4) == 0 ? 4 : 0;
	struct cursor cursor = cursor_of(code, size);
	cursor_take(&cursor, at);
	uint8_t opcode = cursor_u8(&cursor);
	if (opcode == 0x68)
		return at ? find_index(slots, cursor_u32(&cursor)) : NULL;
	if (opcode == 0xf2)
		opcode = cursor_u8(&cursor);
	if (opcode != 0xff || cursor_u8(&cursor) != 0x25)
		return NULL;
	int32_t displacement = (int32_t)cursor_u32(&cursor);
	if (cursor.failed)
		return NULL;
	return find_slot(slots, vaddr + cursor.at + (uint64_t)(int64_t)displacement);
}

static int split_x86(const struct elf_section *section, struct span code, const struct slots *slots,
		     struct plt *plt, size_t *capacity)
{
	/* .plt.got has stubs of 8 bytes without IBT and says so; everything else has 16. */
	size_t step = section->entry_bytes == 8 ? 8 : 16;
	for (size_t at = 0; at < code.size; at += step) {
		size_t size = code.size - at < step ? code.size - at : step;
		uint64_t vaddr = section->vaddr + at;
		const struct slot *slot =
			x86_stub_slot(slots, (const uint8_t *)code.data + at, size, vaddr);
		if (slot && add_stub(plt, capacity, vaddr, size, slot) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* adrp x16, page; ldr x17, [x16, #offset]; add x16, x16, #..; br x17; perhaps a bti c before. */
static const struct slot *arm_stub_slot(const struct slots *slots, uint32_t adrp, uint32_t load,
					uint64_t vaddr)
{
	if ((adrp & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return NULL;
	uint64_t pages = ((adrp >> 29) & 3) | ((uint64_t)((adrp >> 5) & 0x7ffff) << 2);
	if (pages & (1u << 20))
		pages |= ~(uint64_t)0 << 21;
	uint64_t slot = (vaddr & ~(uint64_t)0xfff) + (pages << 12) + ((load >> 10) & 0xfff) * 8;
	return find_slot(slots, slot);
}

static int split_arm(const struct elf_section *section, struct span code, const struct slots *slots,
		     struct plt *plt, size_t *capacity)
{
	enum { BTI_C = 0xd503245f, PLAIN_STUB = 16, LONGEST_STUB = 24 };
	struct cursor cursor = cursor_of(code.data, code.size);
	uint32_t before = 0;
	uint32_t previous = cursor_u32(&cursor);
	while (cursor_left(&cursor) >= 4) {
		uint64_t adrp_vaddr = section->vaddr + cursor.at - 4;
		uint32_t word = cursor_u32(&cursor);
		const struct slot *slot = arm_stub_slot(slots, previous, word, adrp_vaddr);
		if (slot) {
			uint64_t start = before == BTI_C ? adrp_vaddr - 4 : adrp_vaddr;
			uint64_t left = section->vaddr + code.size - start;
			uint64_t size = before == BTI_C ? LONGEST_STUB : PLAIN_STUB;
			if (add_stub(plt, capacity, start, size < left ? size : left, slot) < 0)
				return -ENOMEM;
		}
		before = previous;
		previous = word;
	}
	return 0;
}

static int compare_stubs(const void *a, const void *b)
{
	const struct plt_stub *left = a;
	const struct plt_stub *right = b;
	return (left->start > right->start) - (left->start < right->start);
}

int plt_read(const struct elf_file *file, struct plt *plt)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
	*plt = (struct plt){ 0 };
	if (!file->wide || (file->machine != EM_X86_64 && file->machine != EM_AARCH64))
		return 0;
	struct slots slots = { 0 };
	size_t capacity = 0;
	int ret = read_slots(file, &slots);
	for (size_t i = 0; ret == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct elf_section *section = elf_file_section(file, names[i]);
		struct span code = elf_file_section_bytes(file, section);
		if (code.size == 0)
			continue;
		ret = file->machine == EM_X86_64 ? split_x86(section, code, &slots, plt, &capacity)
						 : split_arm(section, code, &slots, plt, &capacity);
	}
	free(slots.list);
	free(slots.by_index);
	if (ret < 0) {
		plt_release(plt);
		return ret;
	}
	if (plt->count)
		qsort(plt->stubs, plt->count, sizeof(*plt->stubs), compare_stubs);
	size_t kept = 0;
	for (size_t i = 0; i < plt->count; i++)
		if (kept == 0 || plt->stubs[kept - 1].start != plt->stubs[i].start)
			plt->stubs[kept++] = plt->stubs[i];
	plt->count = kept;
	/* A stub ends where the next begins, at the latest. */
	for (size_t i = 0; i + 1 < plt->count; i++)
		if (plt->stubs[i + 1].start - plt->stubs[i].start < plt->stubs[i].size_bytes)
			plt->stubs[i].size_bytes = plt->stubs[i + 1].start - plt->stubs[i].start;
	return 0;
}

void plt_release(struct plt *plt)
{
	free(plt->stubs);
	*plt = (struct plt){ 0 };
}
