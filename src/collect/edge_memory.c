#include "collect/edge_memory.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/sorted.h"
#include "collect/edge_symbols.h"
#include "image/elf_file.h"
#include "image/relocations.h"

#define PAGE_BYTES   4096u /* the least that segments are aligned to */
#define SLOT_BYTES   8u
#define NUMBER_LIMIT (1u << 20)

#define WRITTEN 3 /* how many ranges find_written() finds at most */

struct range {
	uint64_t start, end;
};

struct edge_file {
	struct elf_file elf;
	struct mapped_file mapped;     /* empty: the bytes are the caller's */
	uint64_t low, high;	       /* vaddrs of all PT_LOADs */
	uint64_t frozen, frozen_end;   /* vaddrs that are read-only after relocation */
	struct range written[WRITTEN]; /* of these, what the loader writes without a relocation */
	size_t written_count;
	struct relocations relocations; /* all, once `relocated` */
	bool relocated;
	struct edge_symbols symbols;
};

static void file_free(struct edge_file *file)
{
	if (!file)
		return;
	relocations_release(&file->relocations);
	elf_file_release(&file->elf);
	mapped_file_close(&file->mapped);
	free(file);
}

static void file_freep(struct edge_file **file)
{
	file_free(*file);
}

void edge_memory_release(struct edge_memory *memory)
{
	for (size_t i = 0; i < memory->capacity; i++)
		file_free(memory->files[i]);
	free(memory->files);
	*memory = (struct edge_memory){ .isa = memory->isa };
}

static uint64_t page_floor(uint64_t address)
{
	return address & ~(uint64_t)(PAGE_BYTES - 1);
}

/* False when its segments wrap around. */
static bool find_extents(struct edge_file *file)
{
	file->low = UINT64_MAX;
	for (size_t i = 0; i < file->elf.segment_count; i++) {
		const struct elf_segment *segment = &file->elf.segments[i];
		uint64_t end;
		if (segment->type != PT_LOAD && segment->type != PT_GNU_RELRO)
			continue;
		if (__builtin_add_overflow(segment->vaddr, segment->memory_bytes, &end))
			return false;
		if (segment->type == PT_GNU_RELRO) {
			file->frozen = segment->vaddr;
			file->frozen_end = end;
			continue;
		}
		if (segment->vaddr < file->low)
			file->low = segment->vaddr;
		if (end > file->high)
			file->high = end;
	}
	return file->low < file->high;
}

/* DT_SONAME, empty without one. */
static struct span find_soname(const struct elf_file *elf)
{
	struct span dynamic = elf_file_section_bytes(elf, elf_file_section(elf, ".dynamic"));
	struct span strings = elf_file_section_bytes(elf, elf_file_section(elf, ".dynstr"));
	struct cursor cursor = cursor_of(dynamic.data, dynamic.size);
	while (cursor_left(&cursor) >= sizeof(Elf64_Dyn)) {
		uint64_t tag = cursor_u64(&cursor);
		uint64_t value = cursor_u64(&cursor);
		if (tag != DT_SONAME || value >= strings.size)
			continue;
		const char *name = (const char *)strings.data + value;
		return (struct span){ name, strnlen(name, strings.size - value) };
	}
	return (struct span){ NULL, 0 };
}

/*
 * Finds what is written in data that is read-only later, without a relocation that says so. The
 * loader and the C library write all over their own (features of the CPU, sizes of pages and
 * caches); in other files the loader writes words such as the link map and the resolver.
 */
static void find_written(struct edge_file *file)
{
	struct span soname = find_soname(&file->elf);
	if (span_starts_with(soname, "ld-") || span_starts_with(soname, "ld64") ||
	    span_starts_with(soname, "libc.")) {
		file->written[file->written_count++] = (struct range){ 0, UINT64_MAX };
		return;
	}
	static const char *const names[WRITTEN] = { ".dynamic", ".got", ".got.plt" };
	for (size_t i = 0; i < WRITTEN; i++) {
		const struct elf_section *section = elf_file_section(&file->elf, names[i]);
		uint64_t end;
		if (section && !__builtin_add_overflow(section->vaddr, section->size_bytes, &end))
			file->written[file->written_count++] =
				(struct range){ section->vaddr, end };
	}
}

static int reserve(struct edge_memory *memory, uint32_t number)
{
	if (number >= NUMBER_LIMIT)
		return -E2BIG;
	return array_reserve_zeroed(&memory->files, &memory->capacity, number,
				    sizeof(*memory->files));
}

/* Takes over `file`. */
static int set_file(struct edge_memory *memory, uint32_t number, struct edge_file *taken,
		    struct span bytes, struct error *err)
{
	CLEANUP(file_freep) struct edge_file *file = taken;
	int ret = reserve(memory, number);
	if (ret < 0)
		return error_set(err, ret, "no room for another file");
	ret = elf_file_parse(bytes.data, bytes.size, &file->elf, err);
	if (ret < 0)
		return ret;
	if (isa_of_elf_machine(file->elf.machine) != memory->isa || !file->elf.wide ||
	    !find_extents(file))
		return error_set(err, -ENOEXEC, "it holds no code of this machine");
	find_written(file);
	edge_symbols_of(&file->elf, &file->symbols);
	file_free(memory->files[number]);
	memory->files[number] = file;
	file = NULL; /* the memory's from here on */
	return 0;
}

int edge_memory_set_bytes(struct edge_memory *memory, uint32_t number, struct span bytes,
			  struct error *err)
{
	struct edge_file *file = calloc(1, sizeof(*file));
	if (!file)
		return error_set(err, -ENOMEM, "out of memory");
	return set_file(memory, number, file, bytes, err);
}

int edge_memory_set_file(struct edge_memory *memory, uint32_t number, int fd, struct error *err)
{
	struct edge_file *file = calloc(1, sizeof(*file));
	if (!file)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = mapped_file_open(fd, &file->mapped, err);
	if (ret < 0) {
		free(file);
		return ret;
	}
	return set_file(memory, number, file,
			(struct span){ file->mapped.bytes, file->mapped.size_bytes }, err);
}

/* Finds the segment that a mapping shows, and stores its bias. */
static bool find_bias(const struct edge_file *file, const struct mapping *mapping, uint64_t *bias)
{
	for (size_t i = 0; i < file->elf.segment_count; i++) {
		const struct elf_segment *segment = &file->elf.segments[i];
		uint64_t first = page_floor(segment->offset);
		if (segment->type != PT_LOAD || !(segment->flags & PF_X) ||
		    mapping->offset < first ||
		    mapping->offset - first >= segment->file_bytes + (segment->offset - first))
			continue;
		*bias = mapping->start - mapping->offset + segment->offset - segment->vaddr;
		return true;
	}
	return false;
}

int edge_space_init(struct edge_space *space, const struct edge_memory *memory,
		    const struct mapping *mappings, size_t count)
{
	*space = (struct edge_space){ .mappings = calloc(count + 1, sizeof(*space->mappings)),
				      .images = calloc(count + 1, sizeof(*space->images)) };
	if (!space->mappings || !space->images) {
		edge_space_release(space);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const struct mapping *mapping = &mappings[i];
		struct edge_file *file =
			mapping->file < memory->capacity ? memory->files[mapping->file] : NULL;
		uint64_t bias;
		if (!file || mapping->end <= mapping->start || !find_bias(file, mapping, &bias))
			continue;
		space->mappings[space->mapping_count++] =
			(struct edge_mapping){ mapping->start, mapping->end,  mapping->offset,
					       file,	       mapping->file, bias };
		const struct edge_image *last = &space->images[space->image_count];
		if (space->image_count && last[-1].file == file && last[-1].bias == bias)
			continue;
		space->images[space->image_count++] =
			(struct edge_image){ page_floor(file->low) + bias, file->high + bias, file,
					     bias };
	}
	return 0;
}

void edge_space_release(struct edge_space *space)
{
	free(space->mappings);
	free(space->images);
	*space = (struct edge_space){ 0 };
}

static const struct edge_mapping *find_mapping(const struct edge_space *space, uint64_t address)
{
	size_t at = SORTED_BEHIND(space->mappings, space->mapping_count, end, address);
	const struct edge_mapping *found = &space->mappings[at];
	return at < space->mapping_count && found->start <= address ? found : NULL;
}

struct span edge_space_code(const struct edge_space *space, uint64_t address)
{
	const struct edge_mapping *mapping = find_mapping(space, address);
	if (!mapping)
		return (struct span){ NULL, 0 };
	const struct elf_file *elf = &mapping->file->elf;
	uint64_t offset;
	if (__builtin_add_overflow(mapping->offset, address - mapping->start, &offset) ||
	    offset >= elf->size_bytes)
		return (struct span){ NULL, 0 };
	uint64_t size = elf->size_bytes - offset;
	if (size > mapping->end - address)
		size = mapping->end - address;
	return (struct span){ elf->bytes + offset, size };
}

bool edge_space_place(const struct edge_space *space, uint64_t address, uint32_t *file,
		      uint64_t *vaddr)
{
	const struct edge_mapping *mapping = find_mapping(space, address);
	if (!mapping)
		return false;
	*file = mapping->number;
	*vaddr = address - mapping->bias;
	return true;
}

/* Reads the file's relocations, once. Without memory for them its frozen data is unknown from then
 * on. */
static bool need_relocations(struct edge_file *file)
{
	if (!file->relocated && relocations_read_all(&file->elf, &file->relocations) < 0)
		file->frozen = file->frozen_end = 0;
	file->relocated = true;
	return file->relocations.count;
}

/* The address of the one definition of a symbol in a process. */
static bool find_symbol(const struct edge_space *space, struct span name, uint64_t *address)
{
	uint32_t hash = edge_symbols_hash(name);
	bool found = false;
	for (size_t i = 0; i < space->image_count; i++) {
		const struct edge_image *image = &space->images[i];
		uint64_t vaddr;
		enum edge_symbol known =
			edge_symbols_find(&image->file->symbols, name, hash, &vaddr);
		if (known == EDGE_SYMBOL_NONE)
			continue;
		if (known == EDGE_SYMBOL_UNKNOWN || (found && *address != vaddr + image->bias))
			return false;
		*address = vaddr + image->bias;
		found = true;
	}
	return found;
}

/*
 * Reads a slot that the loader fills with the address of a symbol, in the GOT or among constants.
 * For a function that is bound at its first call: the address that it will be bound to.
 */
static bool read_slot(const struct edge_space *space, const struct edge_image *image,
		      uint64_t vaddr, unsigned bytes, uint64_t *value)
{
	if (bytes != SLOT_BYTES || !need_relocations(image->file))
		return false;
	const struct relocation *relocation = relocations_find(&image->file->relocations, vaddr);
	return relocation && !relocation->other && relocation->symbol.size &&
	       find_symbol(space, relocation->symbol, value);
}

/* Applies to the bytes at `vaddr` the relocations that the loader writes there. False: unknown. */
static bool relocate(struct edge_file *file, uint64_t bias, uint64_t vaddr, unsigned bytes,
		     uint8_t *value)
{
	need_relocations(file);
	if (!file->frozen_end)
		return false;
	const struct relocations *relocations = &file->relocations;
	uint64_t below = vaddr < SLOT_BYTES ? 0 : vaddr - (SLOT_BYTES - 1);
	for (size_t i = relocations_from(relocations, below);
	     i < relocations->count && relocations->list[i].vaddr < vaddr + bytes; i++) {
		const struct relocation *relocation = &relocations->list[i];
		if (relocation->other || relocation->symbol.size)
			return false;
		uint64_t written = relocation->value + bias;
		for (unsigned j = 0; j < bytes; j++) {
			uint64_t at = vaddr + j - relocation->vaddr;
			if (at < SLOT_BYTES)
				value[j] = (uint8_t)(written >> (8 * at));
		}
	}
	return true;
}

/* The segment that `bytes` at `vaddr` lie in, all of them. */
static const struct elf_segment *find_segment(const struct elf_file *elf, uint64_t vaddr,
					      unsigned bytes)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		if (segment->type == PT_LOAD && vaddr >= segment->vaddr &&
		    segment->file_bytes >= bytes &&
		    vaddr - segment->vaddr <= segment->file_bytes - bytes)
			return segment;
	}
	return NULL;
}

static bool is_frozen(const struct edge_file *file, uint64_t vaddr, unsigned bytes)
{
	/* Without section headers find_written() knows nothing. */
	if (!file->elf.section_count || vaddr < file->frozen || vaddr + bytes > file->frozen_end)
		return false;
	for (size_t i = 0; i < file->written_count; i++)
		if (vaddr < file->written[i].end && vaddr + bytes > file->written[i].start)
			return false;
	return true;
}

static bool read_image(const struct edge_space *space, const struct edge_image *image,
		       uint64_t address, unsigned bytes, uint64_t *value)
{
	struct edge_file *file = image->file;
	uint64_t vaddr = address - image->bias;
	const struct elf_segment *segment = find_segment(&file->elf, vaddr, bytes);
	if (!segment)
		return false;
	struct span found = elf_file_code(&file->elf, vaddr, bytes);
	uint8_t read[SLOT_BYTES] = { 0 };
	if (found.size < bytes)
		return false;
	memcpy(read, found.data, bytes);
	if (segment->flags & PF_W && read_slot(space, image, vaddr, bytes, value))
		return true;
	if (segment->flags & PF_W &&
	    (!is_frozen(file, vaddr, bytes) || !relocate(file, image->bias, vaddr, bytes, read)))
		return false;
	memcpy(value, read, sizeof(*value));
	return true;
}

bool edge_space_read(struct edge_space *space, uint64_t address, unsigned bytes, uint64_t *value)
{
	if (!bytes || bytes > SLOT_BYTES || address > UINT64_MAX - SLOT_BYTES)
		return false;
	for (size_t i = 0; i < space->image_count; i++) {
		size_t at = space->last_image + i;
		if (at >= space->image_count)
			at -= space->image_count;
		const struct edge_image *image = &space->images[at];
		if (address < image->start || address >= image->end)
			continue;
		space->last_image = at;
		return read_image(space, image, address, bytes, value);
	}
	return false;
}
