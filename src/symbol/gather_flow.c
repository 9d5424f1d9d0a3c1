#include "symbol/gather_flow.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "image/eh_frame.h"
#include "image/elf_file.h"
#include "image/landing_pads.h"
#include "symbol/gather_flow_parts.h"
#include "symbol/symbol_table.h"

#define PIECE_BYTES ((size_t)1 << 20)

int vaddr_list_add(struct vaddr_list *list, uint64_t vaddr)
{
	if (array_reserve(&list->list, &list->capacity, list->count, sizeof(*list->list)) < 0)
		return -ENOMEM;
	list->list[list->count++] = vaddr;
	return 0;
}

static int compare_vaddrs(const void *a, const void *b)
{
	const uint64_t *left = a;
	const uint64_t *right = b;
	return (*left > *right) - (*left < *right);
}

void vaddr_list_sort(struct vaddr_list *list)
{
	if (list->count == 0)
		return;
	qsort(list->list, list->count, sizeof(*list->list), compare_vaddrs);
	size_t kept = 1;
	for (size_t i = 1; i < list->count; i++)
		if (list->list[i] != list->list[kept - 1])
			list->list[kept++] = list->list[i];
	list->count = kept;
}

void vaddr_list_release(struct vaddr_list *list)
{
	free(list->list);
	*list = (struct vaddr_list){ 0 };
}

int flow_add_entry(struct flow_gathering *gathering, uint64_t vaddr, enum entry_kind kind,
		   uint64_t whole)
{
	size_t at = SIZE_MAX;
	const struct chosen_function *function;
	if (!chosen_may_hold(&gathering->chosen, vaddr))
		return 0;
	while ((function = chosen_next(&gathering->chosen, vaddr, &at)) != NULL) {
		if (function->first == vaddr || function->whole == whole)
			continue;
		if (array_reserve(&gathering->entries, &gathering->entry_capacity,
				  gathering->entry_count, sizeof(*gathering->entries)) < 0)
			return -ENOMEM;
		gathering->entries[gathering->entry_count++] =
			(struct found_entry){ function, { vaddr, kind } };
	}
	return 0;
}

/* ---- Landing pads */

static int add_pads(struct flow_gathering *gathering, const struct extent *extent,
		    uint64_t data_base)
{
	const struct elf_file *file = gathering->file;
	struct landing_pads pads;
	int ret = landing_pads_read(elf_file_code(file, extent->lsda, UINT64_MAX),
				    &(struct frame_base){ extent->lsda, data_base, file->wide },
				    extent->start, &pads);
	for (size_t i = 0; ret == 0 && i < pads.count; i++)
		ret = flow_add_entry(gathering, pads.list[i], ENTRY_LANDING, UINT64_MAX);
	landing_pads_release(&pads);
	return ret;
}

static int find_pads(struct flow_gathering *gathering)
{
	struct extents extents;
	const struct elf_section *got = elf_file_section(gathering->file, ".got");
	int ret = extents_read(gathering->file, &extents);
	for (size_t i = 0; ret == 0 && i < extents.count; i++) {
		const struct extent *extent = &extents.list[i];
		size_t at = SIZE_MAX;
		/* an FDE that begins within a function is of a function nested in it, or of a part
		 */
		if (extent->lsda && chosen_may_hold(&gathering->chosen, extent->start) &&
		    chosen_next(&gathering->chosen, extent->start, &at))
			ret = add_pads(gathering, extent, got ? got->vaddr : 0);
	}
	extents_release(&extents);
	return ret;
}

/* ---- Pointers in data */

static int find_pointers_in_place(struct flow_gathering *gathering,
				  const struct elf_section *section)
{
	struct span bytes = elf_file_section_bytes(gathering->file, section);
	const uint8_t *data = bytes.data;
	size_t held = 0; /* up to there its pages are let go of */
	int ret = 0;
	for (size_t at = -section->vaddr & 7; ret == 0 && at < bytes.size && bytes.size - at >= 8;
	     at += 8) {
		uint64_t value;
		memcpy(&value, data + at, sizeof(value));
		ret = flow_add_entry(gathering, value, ENTRY_POINTER, UINT64_MAX);
		if (at - held >= PIECE_BYTES) {
			elf_file_let_go_of(gathering->file,
					   (struct span){ data + held, at - held });
			held = at;
		}
	}
	return ret;
}

/* Position-independent files have a relocation for each pointer; others have plain values. */
static int find_pointers(struct flow_gathering *gathering)
{
	const struct elf_file *file = gathering->file;
	const struct relocations *relocations = &gathering->relocations;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < relocations->count; i++)
		if (relocations->list[i].symbol.size == 0)
			ret = flow_add_entry(gathering, relocations->list[i].value, ENTRY_POINTER,
					     UINT64_MAX);
	for (size_t i = 0; ret == 0 && file->type == ET_EXEC && i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];
		if ((section->flags & SHF_ALLOC) && !(section->flags & SHF_EXECINSTR) &&
		    section->type == SHT_PROGBITS)
			ret = find_pointers_in_place(gathering, section);
	}
	return ret;
}

/* ---- Records */

static int compare_entries(const void *a, const void *b)
{
	const struct found_entry *left = a;
	const struct found_entry *right = b;
	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	if (left->place.vaddr != right->place.vaddr)
		return left->place.vaddr < right->place.vaddr ? -1 : 1;
	return (left->place.kind > right->place.kind) - (left->place.kind < right->place.kind);
}

static int put_entries(struct flow_gathering *gathering)
{
	struct found_entry *entries = gathering->entries;
	if (gathering->entry_count == 0)
		return 0;
	qsort(entries, gathering->entry_count, sizeof(*entries), compare_entries);
	struct entry_place *places = calloc(gathering->entry_count, sizeof(*places));
	int ret = places ? 0 : -ENOMEM;
	for (size_t from = 0, to; ret == 0 && from < gathering->entry_count; from = to) {
		const struct chosen_function *function = entries[from].function;
		size_t count = 0;
		for (to = from; to < gathering->entry_count && entries[to].function == function;
		     to++)
			if (to == from || compare_entries(&entries[to - 1], &entries[to]) != 0)
				places[count++] = entries[to].place;
		record_put_entries(&gathering->content, function->first, places, count);
		ret = record_set_take(gathering->out, RECORD_ENTRIES, function->first,
				      function->last, &gathering->content);
	}
	free(places);
	return ret;
}

/* The name of the function that starts there, or empty. */
static struct span function_name(const struct flow_gathering *gathering, uint64_t vaddr)
{
	const struct symbol *symbol = symbol_table_find(gathering->table, vaddr);
	return symbol && symbol->start == vaddr ? symbol->name : (struct span){ NULL, 0 };
}

static struct span callee_name(const struct flow_gathering *gathering, uint64_t vaddr)
{
	const struct relocation *slot = relocations_find(&gathering->relocations, vaddr);
	if (!slot)
		return function_name(gathering, vaddr);
	return slot->symbol.size ? slot->symbol : function_name(gathering, slot->value);
}

static int put_callees(struct flow_gathering *gathering)
{
	int ret = 0;
	vaddr_list_sort(&gathering->callees);
	for (size_t i = 0; ret == 0 && i < gathering->callees.count; i++) {
		uint64_t vaddr = gathering->callees.list[i];
		struct span name = callee_name(gathering, vaddr);
		if (name.size == 0)
			continue;
		record_put_callee(&gathering->content, name);
		ret = record_set_take(gathering->out, RECORD_CALLEE, vaddr, vaddr,
				      &gathering->content);
	}
	return ret;
}

static int gather_all(struct flow_gathering *gathering)
{
	int ret = relocations_read(gathering->file, &gathering->relocations);
	if (ret == 0)
		ret = flow_find_branches(gathering);
	if (ret == 0)
		ret = find_pads(gathering);
	elf_file_let_go(gathering->file);
	if (ret == 0)
		ret = find_pointers(gathering);
	elf_file_let_go(gathering->file);
	if (ret == 0)
		ret = flow_read_code(gathering);
	if (ret == 0)
		ret = put_entries(gathering);
	return ret < 0 ? ret : put_callees(gathering);
}

int gather_flow(const struct elf_file *file, const struct symbol_table *table, const bool *marks,
		struct record_set *out)
{
	struct flow_gathering gathering = {
		.file = file, .table = table, .isa = isa_of_elf_machine(file->machine), .out = out
	};
	if (!file->wide || (gathering.isa != ISA_X86_64 && gathering.isa != ISA_AARCH64))
		return 0;
	int ret = decoder_new(gathering.isa, ISA_SYNTAX_INTEL, &gathering.decoder, NULL);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0; /* nothing can be followed without a decoder */
	ret = chosen_build(table, marks, &gathering.chosen);
	if (ret == 0 && gathering.chosen.count)
		ret = gather_all(&gathering);
	decoder_free(gathering.decoder);
	chosen_release(&gathering.chosen);
	relocations_release(&gathering.relocations);
	vaddr_list_release(&gathering.callees);
	free(gathering.entries);
	buffer_release(&gathering.content);
	return ret;
}
