/*
 * Tables that a function may jump through, as far as they look like some: offsets
 * of 4 bytes from their own start or from an address of the function's code,
 * pointers of 8 bytes, on AArch64 also offsets of 1 and 2 bytes, which nothing
 * tells from other data.
 */
#include "symbol/gather_flow_parts.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/elf_file.h"
#include "symbol/symbol_table.h"

#define TABLE_MAX_BYTES	  8192u
#define COMPACT_MAX_BYTES 1024u /* of small offsets: their tables have few entries */
#define GAP_MAX		  16 /* entries that lead nowhere, between others: out of bounds, or padding */
#define ANCHORS_MAX	  16

bool flow_is_constant(const struct elf_file *file, const struct elf_section *section)
{
	if (!(section->flags & SHF_ALLOC) || (section->flags & (SHF_EXECINSTR | SHF_TLS)) ||
	    section->type != SHT_PROGBITS)
		return false;
	if (!(section->flags & SHF_WRITE))
		return true;
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type == PT_GNU_RELRO && section->vaddr >= segment->vaddr &&
		    section->vaddr - segment->vaddr < segment->memory_bytes)
			return true;
	}
	return false;
}

const struct elf_section *flow_section_of(const struct elf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];
		if ((section->flags & SHF_ALLOC) && vaddr >= section->vaddr &&
		    vaddr - section->vaddr < section->size_bytes)
			return section;
	}
	return NULL;
}

/* Does the address lie in the function or its cold parts? */
static bool is_own(const struct flow_gathering *gathering, uint64_t whole, uint64_t vaddr)
{
	size_t at = SIZE_MAX;
	const struct chosen_function *function;
	if (!chosen_may_hold(&gathering->chosen, vaddr))
		return false;
	while ((function = chosen_next(&gathering->chosen, vaddr, &at)) != NULL)
		if (function->whole == whole)
			return true;
	return false;
}

/* A tail call through a table leads to the start of another function. */
static bool is_start(const struct flow_gathering *gathering, uint64_t vaddr)
{
	const struct symbol *symbol = symbol_table_find(gathering->table, vaddr);
	return symbol && symbol->start == vaddr;
}

/* How many of the bytes are offsets of 4 bytes from `base` into the function; the first must be
 * one.
 */
static size_t offsets_size(const struct flow_gathering *gathering, uint64_t whole, uint64_t base,
			   const uint8_t *bytes, size_t size)
{
	size_t known = 0;
	for (size_t at = 0; size - at >= 4 && at - known <= GAP_MAX * 4; at += 4) {
		int32_t offset;
		memcpy(&offset, bytes + at, sizeof(offset));
		if (is_own(gathering, whole, base + (uint64_t)(int64_t)offset))
			known = at + 4;
		else if (at == 0)
			break;
	}
	return known;
}

static size_t pointers_size(const struct flow_gathering *gathering, uint64_t whole,
			    const uint8_t *bytes, size_t size)
{
	size_t known = 0;
	for (size_t at = 0; size - at >= 8 && at - known <= GAP_MAX * 8; at += 8) {
		uint64_t value;
		memcpy(&value, bytes + at, sizeof(value));
		if (is_own(gathering, whole, value) || is_start(gathering, value))
			known = at + 8;
		else if (at == 0)
			break;
	}
	return known;
}

/* How many bytes from `first` on may be a table; `size` are known. */
static size_t table_size(const struct flow_gathering *gathering,
			 const struct flow_references *references, uint64_t first,
			 const uint8_t *bytes, size_t size, uint64_t next)
{
	size_t best = pointers_size(gathering, references->whole, bytes, size);
	size_t offsets = offsets_size(gathering, references->whole, first, bytes, size);
	best = offsets > best ? offsets : best;
	size_t anchors = references->anchors.count;
	for (size_t i = 0; i < anchors && i < ANCHORS_MAX; i++) {
		offsets = offsets_size(gathering, references->whole, references->anchors.list[i],
				       bytes, size);
		best = offsets > best ? offsets : best;
	}
	if (gathering->isa == ISA_AARCH64 && anchors) {
		size_t compact = size < COMPACT_MAX_BYTES ? size : COMPACT_MAX_BYTES;
		if (next > first && next - first < compact)
			compact = next - first;
		best = compact > best ? compact : best;
	}
	return best;
}

static int put_data(struct flow_gathering *gathering, uint64_t first, uint64_t end, uint8_t *room)
{
	struct span bytes = elf_file_code(gathering->file, first, end - first);
	for (size_t at = 0; at < bytes.size; at += TABLE_MAX_BYTES) {
		size_t size = bytes.size - at < TABLE_MAX_BYTES ? bytes.size - at : TABLE_MAX_BYTES;
		memcpy(room, (const uint8_t *)bytes.data + at, size);
		relocations_apply(&gathering->relocations, first + at, room, size);
		record_put_data(&gathering->content, (struct span){ room, size });
		if (flow_add_content(gathering, RECORD_DATA, first + at, first + at + size - 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

int flow_add_tables(struct flow_gathering *gathering, struct flow_references *references)
{
	const struct vaddr_list *data = &references->data;
	uint64_t first = 0;
	uint64_t end = 0; /* of what waits to be put */
	int ret = 0;
	vaddr_list_sort(&references->data);
	vaddr_list_sort(&references->anchors);
	if (!references->jumps_by_register || data->count == 0)
		return 0;
	uint8_t *room = malloc(TABLE_MAX_BYTES);
	if (!room)
		return -ENOMEM;
	for (size_t i = 0; ret == 0 && i < data->count; i++) {
		uint64_t vaddr = data->list[i];
		const struct elf_section *section = flow_section_of(gathering->file, vaddr);
		if (!section || !flow_is_constant(gathering->file, section))
			continue;
		uint64_t left = section->size_bytes - (vaddr - section->vaddr);
		struct span bytes = elf_file_code(gathering->file, vaddr,
						  left < TABLE_MAX_BYTES ? left : TABLE_MAX_BYTES);
		memcpy(room, bytes.data ? bytes.data : "", bytes.size);
		relocations_apply(&gathering->relocations, vaddr, room, bytes.size);
		uint64_t next = i + 1 < data->count ? data->list[i + 1] : 0;
		size_t size = table_size(gathering, references, vaddr, room, bytes.size, next);
		if (size == 0)
			continue;
		if (vaddr > end) {
			ret = end > first ? put_data(gathering, first, end, room) : 0;
			first = vaddr;
			end = vaddr;
		}
		if (vaddr + size > end)
			end = vaddr + size;
	}
	if (ret == 0 && end > first)
		ret = put_data(gathering, first, end, room);
	free(room);
	return ret;
}
