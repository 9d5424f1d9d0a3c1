#include "image/identity.h"

#include <elf.h>
#include <string.h>

#include "base/cursor.h"
#include "image/elf_file.h"

static struct span find_build_id(const struct elf_file *file)
{
	struct span found = { NULL, 0 };
	for (size_t i = 0; found.size == 0 && i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type != PT_NOTE || segment->offset > file->size_bytes ||
		    segment->file_bytes > file->size_bytes - segment->offset)
			continue;
		found = notes_find_build_id((struct span){ file->bytes + segment->offset,
							   (size_t)segment->file_bytes });
	}
	/* Debug files keep the note's section, but their segments point at bytes that are not
	 * there. */
	for (size_t i = 0; found.size == 0 && i < file->section_count; i++)
		if (file->sections[i].type == SHT_NOTE)
			found = notes_find_build_id(
				elf_file_section_bytes(file, &file->sections[i]));
	return found;
}

/* A plain file name, its NUL, padding to 4 bytes, the CRC. */
static void read_debug_link(const struct elf_file *file, struct identity *identity)
{
	struct span link = elf_file_section_bytes(file, elf_file_section(file, ".gnu_debuglink"));
	struct cursor cursor = cursor_of(link.data, link.size);
	struct span name = cursor_text(&cursor);
	cursor_take(&cursor, (4 - cursor.at % 4) % 4);
	uint32_t crc = cursor_u32(&cursor);
	if (cursor.failed || name.size == 0 || name.size >= sizeof(identity->debug_link) ||
	    memchr(name.data, '/', name.size) || ((const char *)name.data)[0] == '.')
		return;
	memcpy(identity->debug_link, name.data, name.size);
	identity->link_crc = crc;
}

/* A debug file keeps the sections of the code, without their bytes. */
static bool has_code(const struct elf_file *file)
{
	for (size_t i = 0; i < file->section_count; i++)
		if ((file->sections[i].flags & SHF_EXECINSTR) &&
		    file->sections[i].type != SHT_NOBITS)
			return true;
	return file->section_count == 0;
}

void identity_of_file(const struct elf_file *file, struct identity *identity)
{
	memset(identity, 0, sizeof(*identity)); /* padding too: it goes through a pipe */
	struct span build_id = find_build_id(file);
	memcpy(identity->build_id, build_id.data ? build_id.data : "", build_id.size);
	identity->build_id_bytes = (uint32_t)build_id.size;
	identity->machine = file->machine;
	identity->wide = file->wide;
	identity->has_code = has_code(file);
	identity->has_symbols =
		elf_file_section_bytes(file, elf_file_section(file, ".symtab")).size > 0;
	identity->has_lines =
		elf_file_section_bytes(file, elf_file_section(file, ".debug_info")).size > 0 ||
		elf_file_section_bytes(file, elf_file_section(file, ".zdebug_info")).size > 0;
	const struct elf_section *text = elf_file_section(file, ".text");
	identity->text_vaddr = text ? text->vaddr : 0;
	read_debug_link(file, identity);
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type != PT_LOAD || identity->segment_count == IDENTITY_MAX_SEGMENTS)
			continue;
		identity->segments[identity->segment_count++] =
			(struct identity_segment){ segment->offset, segment->vaddr,
						   segment->file_bytes };
	}
}

void identity_add_content(const struct elf_file *file, enum content_kind kind, struct span unique,
			  struct identity *identity)
{
	identity->hash = content_hash(file, kind, unique);
	identity->content = (uint8_t)kind;
}

bool identity_vaddr_of_offset(const struct identity *identity, uint64_t offset, uint64_t *vaddr)
{
	for (uint32_t i = 0; i < identity->segment_count && i < IDENTITY_MAX_SEGMENTS; i++) {
		const struct identity_segment *segment = &identity->segments[i];
		if (offset >= segment->offset && offset - segment->offset < segment->file_bytes) {
			*vaddr = segment->vaddr + (offset - segment->offset);
			return true;
		}
	}
	return false;
}
