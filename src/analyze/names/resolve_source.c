#include "analyze/names/resolve_private.h"

#include "symbol/record.h"

#define LINES_AHEAD 64	 /* functions whose inlined ones are demangled together */
#define TEXTS_AHEAD 4096 /* of these functions, looked at once */

/* The position of the first of an image's records of a kind that starts at `vaddr` or behind. */
static size_t first_record(const struct stash_index *stash, uint32_t image, enum record_kind kind,
			   uint64_t vaddr)
{
	size_t low = 0, high = stash_record_count(stash, image, kind);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (stash_record(stash, image, kind, middle)->first < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *resolver_callee(struct resolver *resolver, uint32_t image, uint64_t vaddr)
{
	const struct stash_index *stash = resolver_stash(resolver, image);
	struct span name;
	size_t count = stash ? stash_record_count(stash, image, RECORD_CALLEE) : 0;
	size_t position = count ? first_record(stash, image, RECORD_CALLEE, vaddr) : 0;
	if (position == count)
		return NULL;
	const struct record *record = stash_record(stash, image, RECORD_CALLEE, position);
	if (record->first != vaddr || !record_get_callee(record, &name) || name.size == 0)
		return NULL;
	return resolver_show(resolver, image, name);
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

/* Takes names from a line record; *looked counts the texts of all that were looked at. */
static void take_names(const struct demangled *known, struct demangled_batch *batch,
		       const struct record *lines, size_t *looked)
{
	struct lines_texts texts;
	struct span text;
	lines_texts_begin(&texts, lines);
	while (*looked < TEXTS_AHEAD && lines_texts_next(&texts, &text)) {
		(*looked)++;
		if (!demangled_take(known, batch, text))
			*looked = TEXTS_AHEAD;
	}
}

/* The functions inlined near `vaddr` are likely to be shown as well: those of the same function
 * first. Looking takes no longer than demangling what it can find. */
static void look_ahead(struct resolver *resolver, const struct stash_index *stash, uint32_t image,
		       uint64_t vaddr)
{
	struct demangled *names = resolver_names(resolver, image);
	struct demangled_batch batch;
	size_t looked = 0, known = stash_record_count(stash, image, RECORD_LINES);
	size_t behind = first_record(stash, image, RECORD_LINES, vaddr + 1);
	size_t own = behind > 0 ? behind - 1 : 0;
	size_t from = own - own % LINES_AHEAD;
	batch.count = 0;
	if (own < known)
		take_names(names, &batch, stash_record(stash, image, RECORD_LINES, own), &looked);
	for (size_t i = from; i < known && i < from + LINES_AHEAD; i++)
		if (i != own)
			take_names(names, &batch, stash_record(stash, image, RECORD_LINES, i),
				   &looked);
	demangled_add_batch(names, &batch);
}

static const char *show_inlined(struct resolver *resolver, const struct place_entry *entry,
				struct span function)
{
	if (function.size == 0)
		return NULL;
	if (demangle_concerns(function) &&
	    !demangled_find(resolver_names(resolver, entry->image), function))
		look_ahead(resolver, stash_of(resolver, entry->procedure), entry->image,
			   entry->place.vaddr);
	return resolver_show(resolver, entry->image, function);
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
			.function = show_inlined(resolver, entry, found[i].function),
			.file = found[i].file.size
					? resolver_show(resolver, entry->image, found[i].file)
					: NULL,
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
