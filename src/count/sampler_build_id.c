#include "count/sampler_build_id.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"

struct build_search {
	uint64_t address;
	uint8_t id[SAMPLER_BUILD_ID_BYTES];
	size_t size;
};

static size_t take_build_id(struct cursor notes, uint8_t *id)
{
	while (cursor_left(&notes) >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		memcpy(&note, cursor_take(&notes, sizeof(note)), sizeof(note));
		uint64_t name_room = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
		uint64_t room = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
		const char *name = cursor_take(&notes, name_room);
		const void *bytes = cursor_take(&notes, room);
		if (!name || !bytes)
			return 0;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(name, "GNU", 4) || note.n_descsz > SAMPLER_BUILD_ID_BYTES)
			continue;
		memcpy(id, bytes, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

/* Whether a segment of notes is in memory: within what was loaded to be read. */
static bool is_loaded(const struct dl_phdr_info *object, const ElfW(Phdr) * notes)
{
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &object->dlpi_phdr[i];
		if (load->p_type == PT_LOAD && load->p_flags & PF_R &&
		    notes->p_vaddr >= load->p_vaddr &&
		    notes->p_vaddr - load->p_vaddr <= load->p_filesz &&
		    notes->p_memsz <= load->p_filesz - (notes->p_vaddr - load->p_vaddr))
			return true;
	}
	return false;
}

static bool holds(const struct dl_phdr_info *object, uint64_t address)
{
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &object->dlpi_phdr[i];
		/* A mapping begins up to a page before its segment. */
		uint64_t end = object->dlpi_addr + load->p_vaddr + load->p_memsz;
		uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
		uint64_t start = (object->dlpi_addr + load->p_vaddr) & ~(page - 1);
		if (load->p_type == PT_LOAD && address >= start && address < end)
			return true;
	}
	return false;
}

static int search_object(struct dl_phdr_info *object, size_t size, void *context)
{
	struct build_search *search = context;
	(void)size;
	if (!holds(object, search->address))
		return 0;
	for (size_t i = 0; i < object->dlpi_phnum && !search->size; i++) {
		const ElfW(Phdr) *notes = &object->dlpi_phdr[i];
		if (notes->p_type != PT_NOTE || !is_loaded(object, notes))
			continue;
		const void *bytes = (const void *)(uintptr_t)(object->dlpi_addr + notes->p_vaddr);
		search->size = take_build_id(cursor_of(bytes, notes->p_memsz), search->id);
	}
	return 1;
}

size_t sampler_build_id(uint64_t address, uint8_t id[SAMPLER_BUILD_ID_BYTES])
{
	struct build_search search = { .address = address };
	dl_iterate_phdr(search_object, &search);
	memcpy(id, search.id, search.size);
	return search.size;
}
