#include "image/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/mapped_file.h"

/* The fields of the ELF header that we use, of either width. */
struct header {
	uint64_t segments_offset;
	uint64_t sections_offset;
	uint16_t segment_bytes;
	uint16_t section_bytes;
	uint64_t segment_count;
	uint64_t section_count;
	uint64_t names_section;
};

static uint64_t read_word(struct cursor *cursor, bool wide)
{
	return wide ? cursor_u64(cursor) : cursor_u32(cursor);
}

/* `size` bytes at `offset`, or empty when they are not all there. */
static struct span bytes_at(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	if (size == 0 || offset > file->size_bytes || size > file->size_bytes - offset)
		return (struct span){ NULL, 0 };
	return (struct span){ file->bytes + offset, (size_t)size };
}

static struct elf_section read_section(const struct elf_file *file, uint64_t offset,
				       uint16_t entry_bytes, uint32_t *name)
{
	struct span bytes = bytes_at(file, offset, entry_bytes);
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	struct elf_section section = { 0 };
	*name = cursor_u32(&cursor);
	section.type = cursor_u32(&cursor);
	section.flags = read_word(&cursor, file->wide);
	section.vaddr = read_word(&cursor, file->wide);
	section.offset = read_word(&cursor, file->wide);
	section.size_bytes = read_word(&cursor, file->wide);
	section.link = cursor_u32(&cursor);
	section.info = cursor_u32(&cursor);
	read_word(&cursor, file->wide); /* alignment */
	section.entry_bytes = read_word(&cursor, file->wide);
	return section;
}

static int read_header(struct elf_file *file, struct header *header, struct error *err)
{
	struct cursor cursor = cursor_of(file->bytes, file->size_bytes);
	const uint8_t *ident = cursor_take(&cursor, EI_NIDENT);
	if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return error_set(err, -ENOEXEC, "not an ELF file");
	if (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32)
		return error_set(err, -EBADMSG, "ELF class %u is unknown", ident[EI_CLASS]);
	if (ident[EI_DATA] != ELFDATA2LSB)
		return error_set(err, -ENOTSUP, "not a little-endian ELF file");
	file->wide = ident[EI_CLASS] == ELFCLASS64;
	file->type = cursor_u16(&cursor);
	file->machine = cursor_u16(&cursor);
	cursor_u32(&cursor);		/* version */
	file->entry = read_word(&cursor, file->wide);
	header->segments_offset = read_word(&cursor, file->wide);
	header->sections_offset = read_word(&cursor, file->wide);
	cursor_u32(&cursor); /* flags */
	cursor_u16(&cursor); /* header size */
	header->segment_bytes = cursor_u16(&cursor);
	header->segment_count = cursor_u16(&cursor);
	header->section_bytes = cursor_u16(&cursor);
	header->section_count = cursor_u16(&cursor);
	header->names_section = cursor_u16(&cursor);
	if (cursor.failed)
		return error_set(err, -EBADMSG, "the ELF file ends at byte %zu, inside its header",
				 file->size_bytes);

	/* Numbers that do not fit 16 bits stand in the first section header (elf(5), PN_XNUM). */
	bool has_sections =
		header->sections_offset != 0 && header->section_bytes >= (file->wide ? 64 : 40);
	if (has_sections) {
		uint32_t name;
		struct elf_section first =
			read_section(file, header->sections_offset, header->section_bytes, &name);
		if (header->section_count == 0)
			header->section_count = first.size_bytes;
		if (header->names_section == SHN_XINDEX)
			header->names_section = first.link;
		if (header->segment_count == PN_XNUM)
			header->segment_count = first.info;
	} else {
		header->section_count = 0;
	}
	return 0;
}

static int read_segments(struct elf_file *file, const struct header *header, struct error *err)
{
	if (header->segment_count == 0)
		return 0;
	if (header->segment_bytes < (file->wide ? 56 : 32))
		return error_set(err, -EBADMSG, "program headers of %u bytes are too small",
				 header->segment_bytes);
	struct span table = bytes_at(file, header->segments_offset,
				     header->segment_count * header->segment_bytes);
	if (table.size == 0)
		return error_set(err, -EBADMSG, "the program headers lie outside the file");
	file->segments = calloc(header->segment_count, sizeof(*file->segments));
	if (!file->segments)
		return error_set(err, -ENOMEM, "out of memory");
	file->header_table = table;
	for (size_t i = 0; i < header->segment_count; i++) {
		struct cursor cursor =
			cursor_of((const uint8_t *)table.data + i * header->segment_bytes,
				  header->segment_bytes);
		struct elf_segment *segment = &file->segments[file->segment_count++];
		segment->type = cursor_u32(&cursor);
		if (file->wide)
			segment->flags = cursor_u32(&cursor);
		segment->offset = read_word(&cursor, file->wide);
		segment->vaddr = read_word(&cursor, file->wide);
		read_word(&cursor, file->wide); /* physical address */
		segment->file_bytes = read_word(&cursor, file->wide);
		segment->memory_bytes = read_word(&cursor, file->wide);
		if (!file->wide)
			segment->flags = cursor_u32(&cursor);
	}
	return 0;
}

static struct span name_at(struct span names, uint32_t offset)
{
	if (offset >= names.size)
		return (struct span){ NULL, 0 };
	const char *name = (const char *)names.data + offset;
	return (struct span){ name, strnlen(name, names.size - offset) };
}

/* Sections are an aid: a file whose section headers are damaged reads as one without. */
static int read_sections(struct elf_file *file, const struct header *header, struct error *err)
{
	if (header->section_count < 2 ||
	    header->section_count > file->size_bytes / header->section_bytes)
		return 0;
	struct span table = bytes_at(file, header->sections_offset,
				     header->section_count * header->section_bytes);
	if (table.size == 0)
		return 0;
	file->sections = calloc(header->section_count - 1, sizeof(*file->sections));
	uint32_t *names = calloc(header->section_count - 1, sizeof(*names));
	if (!file->sections || !names) {
		free(names);
		return error_set(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i + 1 < header->section_count; i++)
		file->sections[i] = read_section(
			file, header->sections_offset + (i + 1) * header->section_bytes,
			header->section_bytes, &names[i]);
	file->section_count = header->section_count - 1;
	struct span text =
		elf_file_section_bytes(file, elf_file_section_at(file, header->names_section));
	for (size_t i = 0; i < file->section_count; i++)
		file->sections[i].name = name_at(text, names[i]);
	free(names);
	return 0;
}

int elf_file_parse(const void *bytes, size_t size_bytes, struct elf_file *file, struct error *err)
{
	struct header header = { 0 };
	*file = (struct elf_file){ .bytes = bytes, .size_bytes = size_bytes };
	int ret = read_header(file, &header, err);
	if (ret == 0)
		ret = read_segments(file, &header, err);
	if (ret == 0)
		ret = read_sections(file, &header, err);
	if (ret < 0)
		elf_file_release(file);
	return ret;
}

void elf_file_release(struct elf_file *file)
{
	free(file->segments);
	free(file->sections);
	*file = (struct elf_file){ 0 };
}

void elf_file_let_go_of(const struct elf_file *file, struct span bytes)
{
	if (file->comes_back)
		mapped_file_let_go(bytes.data, bytes.size);
}

void elf_file_let_go(const struct elf_file *file)
{
	elf_file_let_go_of(file, (struct span){ file->bytes, file->size_bytes });
}

const struct elf_section *elf_file_section(const struct elf_file *file, const char *name)
{
	struct span wanted = span_of_text(name);
	for (size_t i = 0; i < file->section_count; i++)
		if (span_equal(file->sections[i].name, wanted))
			return &file->sections[i];
	return NULL;
}

const struct elf_section *elf_file_section_at(const struct elf_file *file, size_t number)
{
	if (number == 0 || number > file->section_count)
		return NULL;
	return &file->sections[number - 1];
}

struct span elf_file_section_bytes(const struct elf_file *file, const struct elf_section *section)
{
	if (!section || section->type == SHT_NOBITS)
		return (struct span){ NULL, 0 };
	return bytes_at(file, section->offset, section->size_bytes);
}

static const struct elf_segment *segment_of_vaddr(const struct elf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type == PT_LOAD && vaddr >= segment->vaddr &&
		    vaddr - segment->vaddr < segment->file_bytes)
			return segment;
	}
	return NULL;
}

bool elf_file_offset_of_vaddr(const struct elf_file *file, uint64_t vaddr, uint64_t *offset)
{
	const struct elf_segment *segment = segment_of_vaddr(file, vaddr);
	return segment && !__builtin_add_overflow(segment->offset, vaddr - segment->vaddr, offset);
}

struct span elf_file_code(const struct elf_file *file, uint64_t vaddr, uint64_t size_bytes)
{
	const struct elf_segment *segment = segment_of_vaddr(file, vaddr);
	uint64_t offset;
	if (!segment || __builtin_add_overflow(segment->offset, vaddr - segment->vaddr, &offset) ||
	    offset >= file->size_bytes)
		return (struct span){ NULL, 0 };
	uint64_t left = segment->file_bytes - (vaddr - segment->vaddr);
	if (left > file->size_bytes - offset)
		left = file->size_bytes - offset;
	return bytes_at(file, offset, size_bytes < left ? size_bytes : left);
}
