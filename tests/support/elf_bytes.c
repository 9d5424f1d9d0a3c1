#include "support/elf_bytes.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static void put(struct buffer *out, uint64_t value, size_t size)
{
	buffer_append(out, &value, size);
}

static void put_header(struct buffer *out, bool wide, uint16_t machine, uint64_t sections_at,
		       size_t segment_count, size_t section_count)
{
	size_t word = wide ? 8 : 4;
	static const uint8_t ident[EI_NIDENT] = { 0x7f, 'E', 'L', 'F' };
	size_t start = out->size;
	buffer_append(out, ident, sizeof(ident));
	out->data[start + EI_CLASS] = wide ? ELFCLASS64 : ELFCLASS32;
	out->data[start + EI_DATA] = ELFDATA2LSB;
	out->data[start + EI_VERSION] = EV_CURRENT;
	put(out, ET_DYN, 2);
	put(out, machine, 2);
	put(out, EV_CURRENT, 4);
	put(out, 0, word);		/* entry */
	put(out, wide ? 64 : 52, word); /* program headers */
	put(out, sections_at, word);
	put(out, 0, 4);
	put(out, wide ? 64 : 52, 2);
	put(out, wide ? 56 : 32, 2);
	put(out, segment_count, 2);
	put(out, wide ? 64 : 40, 2);
	put(out, section_count, 2);
	put(out, section_count - 1, 2);
}

static void put_segment(struct buffer *out, bool wide, uint32_t type, uint64_t offset,
			uint64_t vaddr, uint64_t size)
{
	size_t word = wide ? 8 : 4;
	put(out, type, 4);
	if (wide)
		put(out, PF_R | PF_X, 4);
	put(out, offset, word);
	put(out, vaddr, word);
	put(out, vaddr, word);
	put(out, size, word);
	put(out, size, word);
	if (!wide)
		put(out, PF_R | PF_X, 4);
	put(out, 4, word);
}

static void put_section(struct buffer *out, bool wide, uint32_t name, uint64_t offset,
			const struct elf_bytes_section *section)
{
	size_t word = wide ? 8 : 4;
	put(out, name, 4);
	put(out, section->type, 4);
	put(out, section->flags, word);
	put(out, section->vaddr, word);
	put(out, offset, word);
	put(out, section->size_bytes, word);
	put(out, section->link, 4);
	put(out, 0, 4);
	put(out, 1, word);
	put(out, section->entry_bytes, word);
}

struct buffer elf_bytes_make(bool wide, uint16_t machine, uint64_t vaddr,
			     struct elf_bytes_section *sections, size_t count)
{
	struct buffer out = { 0 };
	struct buffer names = { 0 };
	struct buffer headers = { 0 };
	size_t note = count;
	uint64_t at = (wide ? 64 : 52) + 2 * (wide ? 56 : 32);
	uint64_t *offsets = calloc(count + 1, sizeof(*offsets));
	buffer_append_u8(&names, 0);
	put_section(&headers, wide, 0, 0, &(struct elf_bytes_section){ 0 });
	for (size_t i = 0; i < count; i++) {
		at = (at + 7) & ~(uint64_t)7;
		offsets[i] = at;
		if (sections[i].vaddr == 0 && (sections[i].flags & SHF_ALLOC))
			sections[i].vaddr = vaddr + at;
		if (sections[i].type == SHT_NOTE && note == count)
			note = i;
		put_section(&headers, wide, (uint32_t)names.size, at, &sections[i]);
		buffer_append(&names, sections[i].name, strlen(sections[i].name) + 1);
		at += sections[i].size_bytes;
	}
	uint32_t own_name = (uint32_t)names.size;
	buffer_append(&names, ".shstrtab", sizeof(".shstrtab"));
	put_section(&headers, wide, own_name, at,
		    &(struct elf_bytes_section){ .type = SHT_STRTAB, .size_bytes = names.size });
	uint64_t sections_at = at + names.size;
	uint64_t size = sections_at + headers.size;

	put_header(&out, wide, machine, sections_at, note < count ? 2 : 1, count + 2);
	put_segment(&out, wide, PT_LOAD, 0, vaddr, size);
	if (note < count)
		put_segment(&out, wide, PT_NOTE, offsets[note], vaddr + offsets[note],
			    sections[note].size_bytes);
	for (size_t i = 0; i < count; i++) {
		void *gap = buffer_extend(&out, offsets[i] - out.size);
		memset(gap, 0, (size_t)((uint8_t *)out.data + out.size - (uint8_t *)gap));
		buffer_append(&out, sections[i].bytes, sections[i].size_bytes);
	}
	buffer_append(&out, names.data, names.size);
	buffer_append(&out, headers.data, headers.size);
	buffer_release(&names);
	buffer_release(&headers);
	free(offsets);
	return out;
}
