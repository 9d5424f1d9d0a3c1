#include "image/frame_entries.h"

#include <elf.h>

#include "base/cursor.h"
#include "image/elf_file.h"
#include "image/frame_pointer.h"

#define AUGMENTATION_MAX 8 /* "zPLRSBG" has 7; a CIE with more is not understood anyway */

struct frame_section {
	struct span bytes;
	uint64_t vaddr;
	uint64_t data_base; /* what data-relative counts from; 0: unknown */
	bool wide;
	bool debug;	  /* .debug_frame */
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

/* Where an entry lies: its head is read. */
struct entry_place {
	struct cursor content; /* up to its end, behind the number that tells a CIE from an FDE */
	bool common;	       /* a CIE */
	uint64_t common_at;    /* of an FDE: where its CIE is; UINT64_MAX: nowhere */
};

/* Reads the head of an entry, whose length has been read. False when it is cut. */
static bool read_head(const struct frame_section *section, const struct cursor *at, uint64_t length,
		      bool wide, struct entry_place *place)
{
	struct cursor content = *at;
	content.size = content.at + length;
	/* The length of an entry of .eh_frame may be wide, its number is not. */
	wide = wide && section->debug;
	uint64_t number = wide ? cursor_u64(&content) : cursor_u32(&content);
	uint64_t of_common = !section->debug ? 0 : wide ? UINT64_MAX : UINT32_MAX;
	*place = (struct entry_place){ .content = content, .common = number == of_common };
	place->common_at = section->debug     ? number
			   : number <= at->at ? at->at - number
					      : UINT64_MAX;
	return !content.failed;
}

static uint64_t read_length(struct cursor *cursor, bool *wide)
{
	uint64_t length = cursor_u32(cursor);
	*wide = length == UINT32_MAX;
	return *wide ? cursor_u64(cursor) : length;
}

/* Reads the data of an augmentation that begins with z, letter by letter. */
static bool read_augmentation(struct cursor *cursor, const char *letters, bool wide,
			      struct frame_common *common)
{
	bool has_encoding = false;
	for (; *letters; letters++) {
		uint8_t personality;
		switch (*letters) {
		case 'R':
			common->pointers = cursor_u8(cursor);
			has_encoding = true;
			break;
		case 'L':
			common->lsda = cursor_u8(cursor);
			break;
		case 'P':
			personality = cursor_u8(cursor);
			if (personality != PE_OMIT)
				frame_value_read(cursor, personality, wide);
			break;
		case 'S':
			common->signal = true;
			break;
		case 'B':
		case 'G':
			break;
		default:
			/* what follows cannot be found */
			return has_encoding && !cursor->failed && common->pointers != PE_OMIT;
		}
	}
	return !cursor->failed && common->pointers != PE_OMIT;
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

/* The CIE at `at`. False when it is not understood. */
static bool read_common(const struct frame_section *section, uint64_t at,
			struct frame_common *common)
{
	char letters[AUGMENTATION_MAX + 1];
	struct cursor cursor = cursor_of(section->bytes.data, section->bytes.size);
	struct entry_place place;
	bool wide;
	if (at > section->bytes.size)
		return false;
	cursor_take(&cursor, at);
	uint64_t length = read_length(&cursor, &wide);
	if (length == 0 || length > cursor_left(&cursor) ||
	    !read_head(section, &cursor, length, wide, &place) || !place.common)
		return false;
	cursor = place.content;
	uint8_t version = cursor_u8(&cursor);
	if (version != 1 && version != 3 && version != 4)
		return false;
	if (!read_letters(&cursor, letters) || (letters[0] && letters[0] != 'z'))
		return false;
	if (version == 4)
		cursor_take(&cursor, 2); /* sizes of addresses and segments */
	*common = (struct frame_common){
		.at = at, .pointers = PE_ABSOLUTE, .lsda = PE_OMIT, .augmented = letters[0] == 'z'
	};
	common->code_align = cursor_varint(&cursor);
	common->data_align = frame_sleb128(&cursor);
	common->return_register = version == 1 ? cursor_u8(&cursor) : cursor_varint(&cursor);
	if (common->augmented) {
		uint64_t size = cursor_varint(&cursor);
		struct cursor augmentation = cursor;
		if (!read_augmentation(&augmentation, letters + 1, section->wide, common))
			return false;
		/* Of a size that cannot be, nothing but the instructions suffers. */
		if (!cursor_take(&cursor, size))
			return true;
	}
	common->instructions = (struct span){ cursor.start + cursor.at, cursor_left(&cursor) };
	return !cursor.failed;
}

/* CIEs are few and their FDEs come together: the last one seen is nearly always the next one too.
 */
struct common_cache {
	uint64_t at;
	struct frame_common common;
	bool usable, filled;
};

static const struct frame_common *find_common(struct common_cache *cache,
					      const struct frame_section *section, uint64_t at)
{
	if (!cache->filled || cache->at != at) {
		cache->at = at;
		cache->filled = true;
		cache->usable = read_common(section, at, &cache->common);
	}
	return cache->usable ? &cache->common : NULL;
}

/* Where the FDE says its table of landing pads is, at the start of its augmentation; 0: none, or
 * not understood. */
static uint64_t read_lsda(struct cursor augmentation, const struct frame_common *common,
			  const struct frame_section *section)
{
	if (common->lsda == PE_OMIT)
		return 0;
	/* a zero is no pointer, whatever it counts from */
	struct cursor value = augmentation;
	if (frame_value_read(&value, common->lsda, section->wide) == 0 || value.failed)
		return 0;
	uint64_t vaddr = read_pointer(&augmentation, common->lsda, section);
	return augmentation.failed ? 0 : vaddr;
}

/* Reads an FDE behind its head. False where it makes no sense; its size is 0 where it is about
 * nothing. */
static bool read_entry(struct cursor cursor, const struct frame_common *common,
		       const struct frame_section *section, struct frame_entry *entry)
{
	*entry = (struct frame_entry){ .common = common };
	entry->start = read_pointer(&cursor, common->pointers, section);
	entry->size_bytes = frame_value_read(&cursor, common->pointers, section->wide);
	if (cursor.failed)
		return false;
	/* 0 is what a linker leaves of a function that it dropped. */
	uint64_t end;
	if (entry->start == 0)
		entry->size_bytes = 0;
	if (__builtin_add_overflow(entry->start, entry->size_bytes, &end))
		return false;
	if (common->augmented) {
		uint64_t size = cursor_varint(&cursor);
		if (size)
			entry->lsda = read_lsda(cursor, common, section);
		cursor_take(&cursor, size);
	}
	entry->instructions = (struct span){ cursor.start + cursor.at, cursor_left(&cursor) };
	return true;
}

static int read_entries(const struct frame_section *section,
			int (*visit)(void *context, const struct frame_entry *entry), void *context,
			size_t *bad)
{
	struct cursor cursor = cursor_of(section->bytes.data, section->bytes.size);
	struct common_cache cache = { 0 };
	int ret = 0;
	while (ret == 0 && cursor_left(&cursor) >= 4) {
		struct entry_place place;
		struct frame_entry entry;
		bool wide;
		uint64_t length = read_length(&cursor, &wide);
		/* A zero ends one input file's entries; linkers leave some in the middle. */
		if (length == 0 && section->end_unknown)
			break;
		if (length == 0)
			continue;
		if (length > cursor_left(&cursor) || length < 4) {
			++*bad;
			break;
		}
		bool whole = read_head(section, &cursor, length, wide, &place);
		cursor_take(&cursor, length);
		if (whole && place.common)
			continue;
		const struct frame_common *common =
			whole ? find_common(&cache, section, place.common_at) : NULL;
		if (!common || !read_entry(place.content, common, section, &entry))
			++*bad;
		else if (entry.size_bytes)
			ret = visit(context, &entry);
	}
	return ret;
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

int frame_entries_read(const struct elf_file *file, enum frame_section_kind kind,
		       int (*visit)(void *context, const struct frame_entry *entry), void *context,
		       size_t *bad)
{
	bool debug = kind == FRAMES_DEBUG;
	struct frame_section section = { .wide = file->wide, .debug = debug };
	const struct elf_section *frames =
		elf_file_section(file, debug ? ".debug_frame" : ".eh_frame");
	*bad = 0;
	if (!frames || !(frames->flags & SHF_COMPRESSED))
		section.bytes = elf_file_section_bytes(file, frames);
	if (section.bytes.size)
		section.vaddr = frames->vaddr;
	else if (debug || !find_by_segment(file, &section))
		return 0;
	const struct elf_section *got = elf_file_section(file, ".got");
	section.data_base = got ? got->vaddr : 0;
	return read_entries(&section, visit, context, bad);
}
