#include "image/eh_frame.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cursor.h"
#include "image/elf_file.h"
#include "image/frame_pointer.h"

#define AUGMENTATION_MAX 8 /* "zPLRSBG" has 7; a CIE with more is not understood anyway */

struct frame_section {
	struct span bytes;
	uint64_t vaddr;
	uint64_t data_base; /* what data-relative counts from; 0: unknown */
	bool wide;
	bool end_unknown; /* other data follows behind the last entry */
};

/* `cursor` runs over the whole section, so that its position is an address. */
static uint64_t read_pointer(struct cursor *cursor, uint8_t encoding,
			     const struct frame_section *section)
{
	return frame_pointer_read(
		cursor, encoding,
		&(struct frame_base){ section->vaddr, section->data_base, section->wide });
}

/* What a CIE says of its FDEs. */
struct cie {
	uint8_t pointers; /* their encoding */
	uint8_t lsda;	  /* likewise, of the pointer to the table of landing pads; PE_OMIT: none */
	bool augmented;	  /* their augmentation has a length */
};

/* The CIE at `at`. False when it is not understood. */
/* Reads the data of an augmentation that begins with z, letter by letter. */
static bool read_augmentation(struct cursor *cursor, const char *letters, bool wide,
			      struct cie *cie)
{
	bool has_encoding = false;
	cursor_varint(cursor); /* its size */
	for (; *letters; letters++) {
		uint8_t personality;
		switch (*letters) {
		case 'R':
			cie->pointers = cursor_u8(cursor);
			has_encoding = true;
			break;
		case 'L':
			cie->lsda = cursor_u8(cursor);
			break;
		case 'P':
			personality = cursor_u8(cursor);
			if (personality != PE_OMIT)
				frame_value_read(cursor, personality, wide);
			break;
		case 'S':
		case 'B':
		case 'G':
			break;
		default:
			/* what follows cannot be found */
			return has_encoding && !cursor->failed && cie->pointers != PE_OMIT;
		}
	}
	return !cursor->failed && cie->pointers != PE_OMIT;
}

/* The text at the cursor. False when it is longer. */
static bool read_letters(struct cursor *cursor, char letters[AUGMENTATION_MAX + 1])
{
	size_t count = 0;
	for (char letter; (letter = (char)cursor_u8(cursor)) != 0;) {
		if (count == AUGMENTATION_MAX)
			return false;
		letters[count++] = letter;
	}
	letters[count] = 0;
	return true;
}

static bool read_cie(const struct frame_section *section, size_t at, struct cie *cie)
{
	char augmentation[AUGMENTATION_MAX + 1];
	struct cursor cursor = cursor_of(section->bytes.data, section->bytes.size);
	cursor_take(&cursor, at);
	uint64_t length = cursor_u32(&cursor);
	if (length == UINT32_MAX)
		length = cursor_u64(&cursor);
	if (cursor.failed || length > cursor_left(&cursor) || length == 0)
		return false;
	cursor.size = cursor.at + length;
	if (cursor_u32(&cursor) != 0)
		return false;
	uint8_t version = cursor_u8(&cursor);
	if (version != 1 && version != 3 && version != 4)
		return false;
	if (!read_letters(&cursor, augmentation))
		return false;
	if (version == 4)
		cursor_take(&cursor, 2); /* sizes of addresses and segments */
	cursor_varint(&cursor);		 /* code alignment */
	frame_sleb128(&cursor);		 /* data alignment */
	if (version == 1)
		cursor_u8(&cursor);
	else
		cursor_varint(&cursor); /* return register */
	*cie = (struct cie){ PE_ABSOLUTE, PE_OMIT, augmentation[0] == 'z' };
	if (augmentation[0] == 0)
		return !cursor.failed;
	return augmentation[0] == 'z' &&
	       read_augmentation(&cursor, augmentation + 1, section->wide, cie);
}

/* CIEs are few and their FDEs come together: the last one seen is nearly always the next one too.
 */
struct cie_cache {
	size_t at;
	struct cie cie;
	bool usable, filled;
};

static const struct cie *find_cie(struct cie_cache *cache, const struct frame_section *section,
				  size_t at)
{
	if (!cache->filled || cache->at != at) {
		cache->at = at;
		cache->filled = true;
		cache->usable = read_cie(section, at, &cache->cie);
	}
	return cache->usable ? &cache->cie : NULL;
}

/* Where the FDE says its table of landing pads is, behind its extent; 0: none, or not understood.
 */
static uint64_t read_lsda(struct cursor entry, const struct cie *cie,
			  const struct frame_section *section)
{
	if (!cie->augmented || cie->lsda == PE_OMIT || cursor_varint(&entry) == 0)
		return 0;
	/* a zero is no pointer, whatever it counts from */
	struct cursor value = entry;
	if (frame_value_read(&value, cie->lsda, section->wide) == 0 || value.failed)
		return 0;
	uint64_t vaddr = read_pointer(&entry, cie->lsda, section);
	return entry.failed ? 0 : vaddr;
}

static int compare_extents(const void *a, const void *b)
{
	const struct extent *left = a;
	const struct extent *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->size_bytes != right->size_bytes)
		return left->size_bytes < right->size_bytes ? -1 : 1;
	return (left->lsda > right->lsda) - (left->lsda < right->lsda);
}

static void sort_unique(struct extents *extents)
{
	if (extents->count == 0)
		return;
	qsort(extents->list, extents->count, sizeof(*extents->list), compare_extents);
	size_t kept = 1;
	for (size_t i = 1; i < extents->count; i++)
		if (extents->list[i].start != extents->list[kept - 1].start ||
		    extents->list[i].size_bytes != extents->list[kept - 1].size_bytes)
			extents->list[kept++] = extents->list[i];
		else if (extents->list[i].lsda)
			extents->list[kept - 1].lsda = extents->list[i].lsda;
	extents->count = kept;
}

static int read_entries(const struct frame_section *section, struct extents *extents)
{
	struct cursor cursor = cursor_of(section->bytes.data, section->bytes.size);
	struct cie_cache cache = { 0 };
	size_t capacity = 0;
	while (cursor_left(&cursor) >= 4) {
		uint64_t length = cursor_u32(&cursor);
		if (length == UINT32_MAX)
			length = cursor_u64(&cursor);
		/* A zero ends one input file's entries; linkers leave some in the middle. */
		if (length == 0 && section->end_unknown)
			break;
		if (length == 0)
			continue;
		if (length > cursor_left(&cursor) || length < 4) {
			extents->bad++;
			break;
		}
		size_t id_at = cursor.at;
		struct cursor entry = cursor;
		entry.size = cursor.at + length;
		cursor_take(&cursor, length);
		uint32_t distance = cursor_u32(&entry);
		if (distance == 0)
			continue; /* a CIE */
		const struct cie *cie =
			distance > id_at ? NULL : find_cie(&cache, section, id_at - distance);
		if (!cie) {
			extents->bad++;
			continue;
		}
		uint64_t start = read_pointer(&entry, cie->pointers, section);
		uint64_t size = frame_value_read(&entry, cie->pointers, section->wide);
		uint64_t end;
		/* 0 is what a linker leaves of a function that it dropped. */
		if (!entry.failed && (size == 0 || start == 0))
			continue;
		if (entry.failed || __builtin_add_overflow(start, size, &end)) {
			extents->bad++;
			continue;
		}
		if (array_reserve(&extents->list, &capacity, extents->count,
				  sizeof(*extents->list)) < 0)
			return -ENOMEM;
		extents->list[extents->count++] =
			(struct extent){ start, size, read_lsda(entry, cie, section) };
	}
	sort_unique(extents);
	return 0;
}

/* Without section headers: PT_GNU_EH_FRAME leads to .eh_frame_hdr, whose second field points at
 * .eh_frame. */
static bool find_by_segment(const struct elf_file *file, struct frame_section *section)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type != PT_GNU_EH_FRAME)
			continue;
		struct frame_section header = {
			.bytes = elf_file_code(file, segment->vaddr, segment->file_bytes),
			.vaddr = segment->vaddr,
			.data_base = segment->vaddr,
			.wide = file->wide,
		};
		struct cursor cursor = cursor_of(header.bytes.data, header.bytes.size);
		uint8_t version = cursor_u8(&cursor);
		uint8_t encoding = cursor_u8(&cursor);
		cursor_take(&cursor, 2); /* encodings of the search table */
		uint64_t vaddr = read_pointer(&cursor, encoding, &header);
		if (cursor.failed || version != 1)
			return false;
		/* Its size is not known: entries are read up to the first zero. */
		section->end_unknown = true;
		section->bytes = elf_file_code(file, vaddr, UINT64_MAX);
		section->vaddr = vaddr;
		return section->bytes.size > 0;
	}
	return false;
}

int extents_read(const struct elf_file *file, struct extents *extents)
{
	*extents = (struct extents){ 0 };
	struct frame_section section = { .wide = file->wide };
	const struct elf_section *frames = elf_file_section(file, ".eh_frame");
	section.bytes = elf_file_section_bytes(file, frames);
	if (section.bytes.size)
		section.vaddr = frames->vaddr;
	else if (!find_by_segment(file, &section))
		return 0;
	const struct elf_section *got = elf_file_section(file, ".got");
	section.data_base = got ? got->vaddr : 0;
	int ret = read_entries(&section, extents);
	if (ret < 0)
		extents_release(extents);
	return ret;
}

void extents_release(struct extents *extents)
{
	free(extents->list);
	*extents = (struct extents){ 0 };
}
