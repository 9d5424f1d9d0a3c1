#include "image/eh_frame.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cursor.h"
#include "image/elf_file.h"

/* Pointer encodings: Linux Standard Base, section 10.5. */
enum {
	PE_ABSOLUTE = 0x00,
	PE_ULEB128 = 0x01,
	PE_U16 = 0x02,
	PE_U32 = 0x03,
	PE_U64 = 0x04,
	PE_SLEB128 = 0x09,
	PE_S16 = 0x0a,
	PE_S32 = 0x0b,
	PE_S64 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_RELATIVE_TO = 0x70,
	PE_RELATIVE_TO_HERE = 0x10,
	PE_RELATIVE_TO_DATA = 0x30,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

#define AUGMENTATION_MAX 8 /* "zPLRSBG" has 7; a CIE with more is not understood anyway */

struct frame_section {
	struct span bytes;
	uint64_t vaddr;
	uint64_t data_base; /* what data-relative counts from; 0: unknown */
	bool wide;
	bool end_unknown; /* other data follows behind the last entry */
};

static int64_t cursor_sleb128(struct cursor *cursor)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;
	do {
		byte = cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (shift > 7 * VARINT_MAX_BYTES)
			cursor->failed = true;
	} while ((byte & 0x80) && !cursor->failed);
	if (shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

/* The value alone, before it is made relative to anything. */
static uint64_t read_format(struct cursor *cursor, uint8_t encoding, bool wide)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSOLUTE:
		return wide ? cursor_u64(cursor) : cursor_u32(cursor);
	case PE_ULEB128:
		return cursor_varint(cursor);
	case PE_U16:
		return cursor_u16(cursor);
	case PE_U32:
		return cursor_u32(cursor);
	case PE_U64:
	case PE_S64:
		return cursor_u64(cursor);
	case PE_SLEB128:
		return (uint64_t)cursor_sleb128(cursor);
	case PE_S16:
		return (uint64_t)(int16_t)cursor_u16(cursor);
	case PE_S32:
		return (uint64_t)(int32_t)cursor_u32(cursor);
	default:
		cursor->failed = true;
		return 0;
	}
}

/* `cursor` runs over the whole section, so that its position is an address. */
static uint64_t read_pointer(struct cursor *cursor, uint8_t encoding,
			     const struct frame_section *section)
{
	uint64_t here = section->vaddr + cursor->at;
	uint64_t value = read_format(cursor, encoding, section->wide);
	switch (encoding & PE_RELATIVE_TO) {
	case 0:
		break;
	case PE_RELATIVE_TO_HERE:
		value += here;
		break;
	case PE_RELATIVE_TO_DATA:
		if (!section->data_base)
			cursor->failed = true;
		value += section->data_base;
		break;
	default: /* relative to text, to the function, aligned: in no linked file */
		cursor->failed = true;
	}
	if (encoding & PE_INDIRECT)
		cursor->failed = true;
	return section->wide ? value : (uint32_t)value;
}

/* How the FDEs of the CIE at `at` write pointers. False when the CIE is not understood. */
static bool read_cie_encoding(const struct frame_section *section, size_t at, uint8_t *encoding)
{
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

	char augmentation[AUGMENTATION_MAX + 1];
	size_t letters = 0;
	for (char letter; (letter = (char)cursor_u8(&cursor)) != 0;) {
		if (letters == AUGMENTATION_MAX)
			return false;
		augmentation[letters++] = letter;
	}
	augmentation[letters] = 0;
	if (version == 4)
		cursor_take(&cursor, 2); /* sizes of addresses and segments */
	cursor_varint(&cursor);		 /* code alignment */
	cursor_sleb128(&cursor);	 /* data alignment */
	if (version == 1)
		cursor_u8(&cursor);
	else
		cursor_varint(&cursor); /* return register */
	*encoding = PE_ABSOLUTE;
	if (augmentation[0] == 0)
		return !cursor.failed;
	if (augmentation[0] != 'z')
		return false;
	cursor_varint(&cursor);
	for (size_t i = 1; augmentation[i]; i++) {
		uint8_t personality;
		switch (augmentation[i]) {
		case 'R':
			*encoding = cursor_u8(&cursor);
			return !cursor.failed && *encoding != PE_OMIT;
		case 'L':
			cursor_u8(&cursor);
			break;
		case 'P':
			personality = cursor_u8(&cursor);
			if (personality != PE_OMIT)
				read_format(&cursor, personality, section->wide);
			break;
		case 'S':
		case 'B':
		case 'G':
			break;
		default:
			return false; /* what follows cannot be found */
		}
	}
	return !cursor.failed;
}

/* CIEs are few and their FDEs come together: the last one seen is nearly always the next one too.
 */
struct cie_cache {
	size_t at;
	uint8_t encoding;
	bool usable, filled;
};

static bool cie_encoding(struct cie_cache *cache, const struct frame_section *section, size_t at,
			 uint8_t *encoding)
{
	if (!cache->filled || cache->at != at) {
		cache->at = at;
		cache->filled = true;
		cache->usable = read_cie_encoding(section, at, &cache->encoding);
	}
	*encoding = cache->encoding;
	return cache->usable;
}

static int compare_extents(const void *a, const void *b)
{
	const struct extent *left = a;
	const struct extent *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->size_bytes > right->size_bytes) - (left->size_bytes < right->size_bytes);
}

static void sort_unique(struct extents *extents)
{
	if (extents->count == 0)
		return;
	qsort(extents->list, extents->count, sizeof(*extents->list), compare_extents);
	size_t kept = 1;
	for (size_t i = 1; i < extents->count; i++)
		if (compare_extents(&extents->list[i], &extents->list[kept - 1]) != 0)
			extents->list[kept++] = extents->list[i];
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
		uint8_t encoding;
		if (distance > id_at ||
		    !cie_encoding(&cache, section, id_at - distance, &encoding)) {
			extents->bad++;
			continue;
		}
		uint64_t start = read_pointer(&entry, encoding, section);
		uint64_t size = read_format(&entry, encoding, section->wide);
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
		extents->list[extents->count++] = (struct extent){ start, size };
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
		/* Its size is not told: entries are read up to the first zero. */
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
