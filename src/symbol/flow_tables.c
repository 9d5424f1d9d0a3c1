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

#define TABLE_MAX_BYTES	  16384u /* the largest known has 10 KB: 1250 entries in python3 */
#define COMPACT_MAX_BYTES 1024u	 /* of small offsets: their tables have few entries */
#define GAP_MAX		  16	 /* entries in a row that lead nowhere: out of bounds, or padding */
#define AWAY_MAX	  64	 /* entries in a row that do not lead home */
#define TAIL_MAX	  32	 /* of those behind the last that leads home */
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

/* Where an entry of a table leads. */
enum lead {
	LEADS_NOWHERE,
	LEADS_AWAY, /* to other code: a tail call, or a cold part that nothing names */
	LEADS_HOME, /* into the function or its cold parts */
};

static enum lead lead_of(const struct flow_gathering *gathering, uint64_t whole, uint64_t vaddr)
{
	size_t at = SIZE_MAX;
	const struct chosen_function *function;
	if (chosen_may_hold(&gathering->chosen, vaddr))
		while ((function = chosen_next(&gathering->chosen, vaddr, &at)) != NULL)
			if (function->whole == whole)
				return LEADS_HOME;
	const struct elf_section *section = flow_section_of(gathering->file, vaddr);
	return section && (section->flags & SHF_EXECINSTR) ? LEADS_AWAY : LEADS_NOWHERE;
}

/* A table while it is read: it ends with the last entry that leads home, and up to TAIL_MAX behind.
 */
struct growth {
	size_t count;	/* of entries seen */
	size_t home;	/* up to the last that leads home */
	size_t away;	/* those behind it that lead away, without a gap */
	size_t nowhere; /* in a row */
};

/* Counts one more entry. False: the table has ended before it. */
static bool grow(struct growth *growth, enum lead lead)
{
	growth->count++;
	growth->nowhere = lead == LEADS_NOWHERE ? growth->nowhere + 1 : 0;
	if (lead == LEADS_HOME) {
		growth->home = growth->count;
		growth->away = 0;
	} else if (lead == LEADS_AWAY && growth->home + growth->away + 1 == growth->count) {
		growth->away++;
	}
	/* the first entry must lead somewhere */
	return growth->nowhere < growth->count && growth->nowhere <= GAP_MAX &&
	       growth->count - growth->home <= AWAY_MAX;
}

static size_t grown(const struct growth *growth)
{
	if (growth->home == 0)
		return 0;
	return growth->home + (growth->away < TAIL_MAX ? growth->away : TAIL_MAX);
}

/* How many of the bytes are offsets of 4 bytes, from the table's own start (`first`) or from an
 * address of the function's code; from there small numbers of any meaning lead to code. */
static size_t offsets_size(const struct flow_gathering *gathering, uint64_t whole, uint64_t first,
			   uint64_t base, const uint8_t *bytes, size_t size)
{
	struct growth growth = { 0 };
	for (size_t at = 0; size - at >= 4; at += 4) {
		int32_t offset;
		memcpy(&offset, bytes + at, sizeof(offset));
		enum lead lead = lead_of(gathering, whole, base + (uint64_t)(int64_t)offset);
		if (base != first && lead == LEADS_AWAY)
			lead = LEADS_NOWHERE;
		if (!grow(&growth, lead))
			break;
	}
	return grown(&growth) * 4;
}

static size_t pointers_size(const struct flow_gathering *gathering, uint64_t whole,
			    const uint8_t *bytes, size_t size)
{
	struct growth growth = { 0 };
	for (size_t at = 0; size - at >= 8; at += 8) {
		uint64_t value;
		memcpy(&value, bytes + at, sizeof(value));
		if (!grow(&growth, lead_of(gathering, whole, value)))
			break;
	}
	return grown(&growth) * 8;
}

/* How many bytes from `first` on may be a table; `size` are known. */
static size_t table_size(const struct flow_gathering *gathering,
			 const struct flow_references *references, uint64_t first,
			 const uint8_t *bytes, size_t size, uint64_t next)
{
	size_t best = pointers_size(gathering, references->whole, bytes, size);
	size_t offsets = offsets_size(gathering, references->whole, first, first, bytes, size);
	best = offsets > best ? offsets : best;
	size_t anchors = references->anchors.count;
	for (size_t i = 0; i < anchors && i < ANCHORS_MAX; i++) {
		offsets = offsets_size(gathering, references->whole, first,
				       references->anchors.list[i], bytes, size);
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
		if (record_set_take(gathering->out, RECORD_DATA, first + at, first + at + size - 1,
				    &gathering->content) < 0)
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
