#include "analyze/names/resolve_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "symbol/record.h"

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	return hash_u64(hash_u64(a + (c << 32)) + b);
}

static uint64_t hash_procedure(const struct procedure_entry *entry)
{
	return mix(((uint64_t)entry->procedure.image << 2) | entry->kind, entry->procedure.first,
		   entry->procedure.last + entry->name_id);
}

static bool procedure_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct procedure_entry *const *list = rows;
	const struct procedure_entry *a = list[position];
	const struct procedure_entry *b = wanted;
	return a->procedure.image == b->procedure.image && a->kind == b->kind &&
	       a->procedure.first == b->procedure.first && a->procedure.last == b->procedure.last &&
	       a->name_id == b->name_id;
}

struct demangled *resolver_names(struct resolver *resolver, uint32_t image)
{
	struct profile_image row =
		image ? profile_image(resolver->profile, image) : (struct profile_image){ 0 };
	return &resolver->names[row.writer != 0 || row.kind == IMAGE_JIT];
}

const char *resolver_show(struct resolver *resolver, uint32_t image, struct span linkage)
{
	struct demangled *names = resolver_names(resolver, image);
	const char *name = demangled_look_up(names, linkage);
	/* Whatever happened to names that nobody sees. */
	bool mangled =
		demangle_concerns(linkage) && name && span_equal(span_of_text(name), linkage);
	const char *trouble = mangled ? demangled_trouble(names) : NULL;
	if (trouble) {
		char sentence[256];
		snprintf(sentence, sizeof(sentence),
			 "a mangled name %s; such names are shown as the linker has them", trouble);
		resolver_add_note(resolver, sentence);
	}
	return name;
}

/* The functions around it are likely to be shown as well. */
static void look_ahead(struct resolver *resolver, uint32_t image, bool local,
		       const struct stash_function *function)
{
	struct span names[DEMANGLE_BATCH];
	size_t count = stash_names_around(local ? resolver->local_stash : resolver->stash, function,
					  names, DEMANGLE_BATCH);
	demangled_add(resolver_names(resolver, image), names, count);
}

static const char *show_function(struct resolver *resolver, uint32_t image, bool local,
				 const struct stash_function *found)
{
	struct span linkage = found->function.name;
	if (!demangle_concerns(linkage) && !(found->function.flags & FUNCTION_NEAREST))
		return resolver_copy(resolver, linkage);
	if (!demangled_find(resolver_names(resolver, image), linkage))
		look_ahead(resolver, image, local, found);
	const char *name = resolver_show(resolver, image, linkage);
	if (!name || !(found->function.flags & FUNCTION_NEAREST))
		return name;
	return arena_printf(&resolver->arena, "%s (nearest symbol)", name);
}

/* The entry of the procedure, made and named where it is new; NULL when out of memory. */
static struct procedure_entry *keep_procedure(struct resolver *resolver,
					      const struct procedure_entry *wanted,
					      const struct stash_function *found)
{
	uint64_t hash = hash_procedure(wanted);
	uint32_t position = hash_index_find(&resolver->procedure_index, hash, procedure_equal,
					    resolver->procedures, wanted);
	if (position != HASH_INDEX_NONE)
		return resolver->procedures[position];
	struct procedure_entry *entry = arena_allocate(&resolver->arena, sizeof(*entry));
	if (!entry || array_reserve(&resolver->procedures, &resolver->procedure_capacity,
				    resolver->procedure_count, sizeof(entry)) < 0)
		return NULL;
	*entry = *wanted;
	struct procedure *procedure = &entry->procedure;
	const char *image = resolver_image(resolver, procedure->image);
	procedure->linkage = "";
	if (entry->kind == BY_NAME) {
		struct span name = profile_bytes(resolver->profile, entry->name_id);
		procedure->linkage = procedure->name = resolver_copy(resolver, name);
		procedure->named = true;
	} else if (entry->kind == BY_NOTHING || ((wanted->procedure.flags & FUNCTION_WINDOW) &&
						 (wanted->procedure.flags & FUNCTION_UNNAMED))) {
		procedure->name = *image == '[' ? image
				  : *image	? arena_printf(&resolver->arena, "[%s]", image)
						: "[unknown]";
	} else if (wanted->procedure.flags & FUNCTION_UNNAMED) {
		procedure->name =
			arena_printf(&resolver->arena, "%s+0x%" PRIx64, image, procedure->first);
	} else {
		procedure->linkage = resolver_copy(resolver, found->function.name);
		procedure->name = show_function(resolver, procedure->image, wanted->local, found);
		procedure->named = true;
	}
	if (!procedure->name || !procedure->linkage ||
	    hash_index_add(&resolver->procedure_index, hash, (uint32_t)resolver->procedure_count) <
		    0)
		return NULL;
	resolver->procedures[resolver->procedure_count++] = entry;
	return entry;
}

struct procedure_entry *resolver_keep_function(struct resolver *resolver, uint32_t image,
					       bool local, const struct stash_function *found)
{
	const struct stash_index *stash = local ? resolver->local_stash : resolver->stash;
	struct procedure_entry ***known = &resolver->by_record[local];
	if (!*known)
		*known = calloc(stash_index_count(stash), sizeof(**known));
	if (!*known)
		return NULL;
	struct procedure_entry *last = (*known)[found->number];
	if (last && last->procedure.image == image) /* images may share their records */
		return last;
	struct procedure_entry wanted = {
		.procedure = { .image = image,
			       .extent_known = !(found->function.flags & FUNCTION_WINDOW),
			       .flags = found->function.flags,
			       .first = found->first,
			       .last = found->last },
		.kind = BY_FUNCTION,
		.local = local,
	};
	/* Records of one extent that differ otherwise are one procedure. */
	(*known)[found->number] = keep_procedure(resolver, &wanted, found);
	return (*known)[found->number];
}

static struct procedure_entry *find_procedure(struct resolver *resolver,
					      const struct place_entry *place)
{
	struct procedure_entry wanted = { .procedure.image = place->image, .kind = BY_NOTHING };
	if (place->name_id) {
		wanted.kind = BY_NAME;
		wanted.name_id = place->name_id;
		return keep_procedure(resolver, &wanted, NULL);
	}
	bool local;
	struct stash_function found;
	struct stash_index *stash = resolver_stash_for(resolver, place->image, &local);
	if (stash && stash_find_function(stash, place->image, place->place.vaddr, &found))
		return resolver_keep_function(resolver, place->image, local, &found);
	return keep_procedure(resolver, &wanted, NULL);
}

static uint64_t hash_place(const struct place_entry *entry)
{
	return mix(entry->image, entry->place.vaddr, entry->name_id);
}

static bool place_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct place_entry *const *list = rows;
	const struct place_entry *a = list[position];
	const struct place_entry *b = wanted;
	return a->image == b->image && a->place.vaddr == b->place.vaddr && a->name_id == b->name_id;
}

/* The call of a return address is the instruction before it. */
static struct place_entry to_look_up(struct resolver *resolver, const struct profile_frame *frame)
{
	struct place_entry entry = { .image = frame->image, .name_id = frame->name };
	entry.place.vaddr = frame->vaddr;
	if (frame->kind == FRAME_RETURN && frame->vaddr > 0)
		entry.place.vaddr--;
	if (!frame->name)
		entry.place.vaddr = resolver_vaddr(resolver, frame->image, entry.place.vaddr);
	return entry;
}

const struct procedure *resolver_procedure(struct resolver *resolver,
					   const struct profile_frame *frame)
{
	const struct place_entry wanted = to_look_up(resolver, frame);
	const struct procedure_entry *found = find_procedure(resolver, &wanted);
	return found ? &found->procedure : NULL;
}

static const struct place *find_place(struct resolver *resolver, struct place_entry wanted)
{
	uint64_t hash = wanted.hash = hash_place(&wanted);
	uint32_t position = hash_index_find(&resolver->place_index, hash, place_equal,
					    resolver->places, &wanted);
	if (position != HASH_INDEX_NONE)
		return &resolver->places[position]->place;
	wanted.procedure = find_procedure(resolver, &wanted);
	struct place_entry *entry = arena_allocate(&resolver->arena, sizeof(*entry));
	if (!wanted.procedure || !entry ||
	    array_reserve(&resolver->places, &resolver->place_capacity, resolver->place_count,
			  sizeof(entry)) < 0)
		return NULL;
	wanted.place.procedure = &wanted.procedure->procedure;
	*entry = wanted;
	resolver->places[resolver->place_count] = entry;
	if (hash_index_add(&resolver->place_index, hash, (uint32_t)resolver->place_count) < 0)
		return NULL;
	resolver->place_count++;
	return &entry->place;
}

const struct place *resolver_place(struct resolver *resolver, const struct profile_frame *frame)
{
	return find_place(resolver, to_look_up(resolver, frame));
}

const struct place *resolver_place_in_file(struct resolver *resolver, uint32_t image,
					   uint64_t vaddr)
{
	return find_place(resolver, (struct place_entry){ .image = image, .place.vaddr = vaddr });
}
