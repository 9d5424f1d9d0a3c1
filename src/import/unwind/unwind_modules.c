#include "import/unwind/unwind_modules.h"

#include <elf.h>
#include <errno.h>

#include "base/array.h"
#include "base/span.h"

#define PAGE_MASK UINT64_C(4095) /* the smallest page of these machines */

/*
 * Which segment a mapping is of: the one that begins in its first page, code before data; else one
 * that holds its offset. Two segments may share a page of the file. NULL: none.
 */
static const struct elf_segment *segment_of(const struct elf_file *elf,
					    const struct mapping *mapping)
{
	const struct elf_segment *best = NULL;
	int best_rank = 0;
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		uint64_t first = segment->offset & ~PAGE_MASK;
		if (segment->type != PT_LOAD || mapping->offset < first ||
		    mapping->offset - first >= segment->file_bytes + (segment->offset - first))
			continue;
		int rank = 1 + (mapping->offset == first) * 2 + ((segment->flags & PF_X) != 0);
		if (rank > best_rank) {
			best = segment;
			best_rank = rank;
		}
	}
	return best;
}

/* The first and the last address of a file's vaddrs, both 0 when it has none that make sense. */
static void extent_of(const struct elf_file *elf, uint64_t *low, uint64_t *high)
{
	*low = UINT64_MAX;
	*high = 0;
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		uint64_t end;
		if (segment->type != PT_LOAD)
			continue;
		if (__builtin_add_overflow(segment->vaddr, segment->memory_bytes, &end)) {
			*high = 0;
			break;
		}
		*low = segment->vaddr < *low ? segment->vaddr : *low;
		*high = end > *high ? end : *high;
	}
	if (*low >= *high)
		*low = *high = 0;
}

/* The module that was added first of those that the address lies in, or NULL. */
static const struct unwind_module *find(const struct unwind_modules *modules, uint64_t address)
{
	for (size_t i = 0; i < modules->count; i++)
		if (address >= modules->list[i].low && address < modules->list[i].high)
			return &modules->list[i];
	return NULL;
}

int unwind_modules_add(struct unwind_modules *modules, const struct elf_file *elf, void *owner,
		       const struct mapping *mapping)
{
	const struct unwind_module *there = find(modules, mapping->start);
	const struct elf_segment *segment = segment_of(elf, mapping);
	uint64_t low, high;
	if ((there && there->elf == elf) || !segment)
		return 0;
	extent_of(elf, &low, &high);
	uint64_t bias = mapping->start - mapping->offset + segment->offset - segment->vaddr;
	if (low == high || bias + low >= bias + high)
		return 0;
	if (array_reserve(&modules->list, &modules->capacity, modules->count,
			  sizeof(*modules->list)) < 0)
		return -ENOMEM;
	modules->list[modules->count++] =
		(struct unwind_module){ elf, owner, bias, bias + low, bias + high };
	return 0;
}

const void *unwind_modules_read(const struct unwind_modules *modules, uint64_t address, size_t size)
{
	const struct unwind_module *module = find(modules, address);
	if (!module)
		return NULL;
	const struct elf_file *elf = module->elf;
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		uint64_t inside = address - module->bias - segment->vaddr;
		if (segment->type != PT_LOAD || (segment->flags & PF_W) ||
		    inside >= segment->file_bytes)
			continue;
		struct span bytes = elf_file_code(elf, address - module->bias, size);
		return bytes.size == size ? bytes.data : NULL;
	}
	return NULL;
}
