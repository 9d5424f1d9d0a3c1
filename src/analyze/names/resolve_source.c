#include "analyze/names/resolve_private.h"

#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "symbol/record.h"

static bool name_equal(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct shown_name *)rows)[position].linkage,
			  *(const struct span *)wanted);
}

/* As resolver_show(), each text once. */
static const char *show_once(struct resolver *resolver, struct span linkage)
{
	uint64_t hash = hash_bytes(linkage.data, linkage.size);
	uint32_t position =
		hash_index_find(&resolver->name_index, hash, name_equal, resolver->names, &linkage);
	if (position != HASH_INDEX_NONE)
		return resolver->names[position].name;
	const char *name = resolver_show(resolver, linkage);
	if (!name || array_reserve(&resolver->names, &resolver->name_capacity, resolver->name_count,
				   sizeof(*resolver->names)) < 0)
		return name;
	resolver->names[resolver->name_count] = (struct shown_name){ linkage, name };
	if (hash_index_add(&resolver->name_index, hash, (uint32_t)resolver->name_count) == 0)
		resolver->name_count++;
	return name;
}

const char *resolver_callee(struct resolver *resolver, uint32_t image, uint64_t vaddr)
{
	const struct stash_index *stash = resolver_stash(resolver, image);
	struct span name;
	size_t low = 0, high = stash ? stash_record_count(stash, image, RECORD_CALLEE) : 0;
	size_t count = high, mark = sizeof(resolver_plt_mark) - 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (stash_record(stash, image, RECORD_CALLEE, middle)->first < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count)
		return NULL;
	const struct record *record = stash_record(stash, image, RECORD_CALLEE, low);
	if (record->first != vaddr || !record_get_callee(record, &name) || name.size == 0)
		return NULL;
	if (name.size <= mark ||
	    memcmp((const char *)name.data + name.size - mark, resolver_plt_mark, mark) != 0)
		return show_once(resolver, name);
	const char *shown = show_once(resolver, (struct span){ name.data, name.size - mark });
	return shown ? arena_printf(&resolver->arena, "%s%s", shown, resolver_plt_mark) : NULL;
}

static struct stash_index *stash_of(const struct resolver *resolver,
				    const struct procedure_entry *entry)
{
	return entry->local ? resolver->local_stash : resolver->stash;
}

/* Procedures and places that are given out are the first member of their entries. */
static const struct procedure_entry *entry_of(const struct procedure *procedure)
{
	return (const struct procedure_entry *)(const void *)procedure;
}

bool resolver_has_source(struct resolver *resolver, uint32_t image)
{
	bool local;
	if (image == 0)
		return false;
	/* where frames have names of their own the profile may know lines and no function */
	if (stash_has_lines(resolver->stash, image))
		return true;
	const struct stash_index *stash = resolver_stash_for(resolver, image, &local);
	return stash && stash_has_lines(stash, image);
}

size_t resolver_source(struct resolver *resolver, const struct place *place,
		       const struct source_frame **frames)
{
	struct place_entry *entry = (struct place_entry *)(uintptr_t)place;
	*frames = entry->frames;
	/* an address may have a name of its own, given by another tool */
	if (entry->source_read || entry->procedure->kind == BY_NOTHING || !entry->image)
		return entry->frame_count;
	entry->source_read = true;
	const struct lines_table *lines =
		stash_find_lines(stash_of(resolver, entry->procedure), entry->image, place->vaddr);
	const struct lines_row *row = lines ? lines_table_find(lines, place->vaddr) : NULL;
	struct line_frame found[RECORD_MAX_DEPTH];
	size_t count = row ? lines_table_frames(lines, row, found, RECORD_MAX_DEPTH) : 0;
	if (count == 0)
		return 0;
	entry->frames = arena_allocate(&resolver->arena, count * sizeof(*entry->frames));
	if (!entry->frames)
		return 0;
	for (size_t i = 0; i < count; i++)
		entry->frames[i] = (struct source_frame){
			.function = found[i].function.size ? show_once(resolver, found[i].function)
							   : NULL,
			.file = found[i].file.size ? show_once(resolver, found[i].file) : NULL,
			.line = found[i].line,
		};
	entry->frame_count = count;
	*frames = entry->frames;
	return count;
}

struct span resolver_code(struct resolver *resolver, const struct procedure *procedure,
			  uint64_t *first)
{
	const struct procedure_entry *entry = entry_of(procedure);
	if (entry->kind != BY_FUNCTION)
		return (struct span){ NULL, 0 };
	return stash_find_code(stash_of(resolver, entry), procedure->image, procedure->first,
			       first);
}

const struct lines_table *resolver_lines(struct resolver *resolver,
					 const struct procedure *procedure)
{
	const struct procedure_entry *entry = entry_of(procedure);
	if (entry->kind != BY_FUNCTION)
		return NULL;
	return stash_find_lines(stash_of(resolver, entry), procedure->image, procedure->first);
}

const struct procedure *resolver_cold(struct resolver *resolver, const struct procedure *procedure)
{
	const struct procedure_entry *entry = entry_of(procedure);
	struct stash_function cold;
	if (entry->kind != BY_FUNCTION ||
	    !stash_find_cold(stash_of(resolver, entry), procedure->image, procedure->first, &cold))
		return NULL;
	const struct procedure_entry *found =
		resolver_keep_function(resolver, procedure->image, entry->local, &cold);
	return found ? &found->procedure : NULL;
}
