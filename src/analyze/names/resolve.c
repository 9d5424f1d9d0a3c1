#include "analyze/names/image_claims.h"
#include "analyze/names/resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/local_files.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "image/deleted_path.h"
#include "symbol/demangle.h"
#include "symbol/record.h"

enum procedure_kind {
	BY_FUNCTION, /* a function's extent */
	BY_NAME,     /* a bare name */
	BY_NOTHING,  /* the rest of an image */
};

struct procedure_entry {
	struct procedure procedure;
	enum procedure_kind kind;
	uint32_t name_id; /* of a bare name */
	bool local;	  /* found in this machine's files, not in the profile */
};

struct place_entry {
	struct place place;
	uint64_t hash;
	uint32_t image;
	uint32_t name_id;
	const struct procedure_entry *procedure;
	struct source_frame *frames;
	size_t frame_count;
	bool source_read;
};

struct shown_name {
	struct span linkage;
	const char *name;
};

struct sentences {
	const char **list;
	size_t count, capacity;
};

struct resolver {
	const struct profile *profile;
	struct resolver_options options;
	struct stash_index *stash;
	struct local_files local; /* what this machine's files say */
	struct stash_index *local_stash;
	bool local_read;
	struct demangler demangler;
	struct arena arena;
	const char **images; /* display names by image id - 1 */
	uint8_t *spaces;     /* enum vaddr_space, likewise */
	size_t image_count;
	/* By the number of the record: of the profile's stash, and of this machine's files. */
	struct procedure_entry **by_record[2];
	struct procedure_entry **procedures;
	size_t procedure_count, procedure_capacity;
	struct hash_index procedure_index;
	struct place_entry **places;
	size_t place_count, place_capacity;
	struct hash_index place_index;
	struct shown_name *names; /* demangled names of inlined functions */
	size_t name_count, name_capacity;
	struct hash_index name_index;
	struct image_claims claims;
	struct sentences notes, file_notes;
};

static void add_sentence(struct resolver *resolver, struct sentences *sentences, const char *text)
{
	for (size_t i = 0; i < sentences->count; i++)
		if (strcmp(sentences->list[i], text) == 0)
			return; /* one message per cause */
	char *copy = arena_copy_text(&resolver->arena, text, strlen(text));
	if (copy && array_reserve(&sentences->list, &sentences->capacity, sentences->count,
				  sizeof(*sentences->list)) == 0)
		sentences->list[sentences->count++] = copy;
}

static void add_note(void *context, const char *sentence)
{
	struct resolver *resolver = context;
	add_sentence(resolver, &resolver->notes, sentence);
}

static void add_file_note(void *context, const char *sentence)
{
	struct resolver *resolver = context;
	add_sentence(resolver, &resolver->file_notes, sentence);
}

int resolver_new(const struct profile *profile, const struct resolver_options *options,
		 struct resolver **out, struct error *err)
{
	CLEANUP(resolver_freep) struct resolver *resolver = calloc(1, sizeof(*resolver));
	if (!resolver)
		return error_set(err, -ENOMEM, "out of memory");
	resolver->profile = profile;
	demangler_init(&resolver->demangler);
	if (options)
		resolver->options = *options;
	if (options && options->perf_cache)
		resolver->options.perf_cache = arena_copy_text(
			&resolver->arena, options->perf_cache, strlen(options->perf_cache));
	resolver->image_count = profile_table(profile, PROFILE_IMAGE)->count;
	resolver->images =
		calloc(resolver->image_count ? resolver->image_count : 1, sizeof(char *));
	resolver->spaces = calloc(resolver->image_count ? resolver->image_count : 1, 1);
	if (!resolver->images || !resolver->spaces ||
	    stash_index_new(profile, &resolver->stash) < 0 ||
	    image_claims_init(&resolver->claims, profile, &resolver->arena) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	for (uint32_t id = 1; id <= resolver->image_count; id++)
		resolver->spaces[id - 1] = (uint8_t)profile_image(profile, id).space;
	size_t damaged = stash_index_damaged(resolver->stash);
	if (damaged) {
		char sentence[128];
		snprintf(sentence, sizeof(sentence),
			 "%zu records of names or code in the profile are damaged and left out",
			 damaged);
		add_note(resolver, sentence);
	}
	if (image_claims_tell(&resolver->claims, add_file_note, resolver) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	*out = resolver;
	resolver = NULL;
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	stash_index_free(resolver->stash);
	stash_index_free(resolver->local_stash);
	local_files_release(&resolver->local);
	demangler_release(&resolver->demangler);
	arena_release(&resolver->arena);
	image_claims_release(&resolver->claims);
	free(resolver->images);
	free(resolver->spaces);
	free(resolver->by_record[0]);
	free(resolver->by_record[1]);
	free(resolver->procedures);
	free(resolver->places);
	free(resolver->names);
	free(resolver->notes.list);
	free(resolver->file_notes.list);
	hash_index_release(&resolver->procedure_index);
	hash_index_release(&resolver->place_index);
	hash_index_release(&resolver->name_index);
	free(resolver);
}

void resolver_freep(struct resolver **resolver)
{
	resolver_free(*resolver);
}

size_t resolver_notes(const struct resolver *resolver, const char *const **notes)
{
	*notes = resolver->notes.list;
	return resolver->notes.count;
}

size_t resolver_file_notes(const struct resolver *resolver, const char *const **notes)
{
	*notes = resolver->file_notes.list;
	return resolver->file_notes.count;
}

static int read_local_files(struct resolver *resolver)
{
	struct local_files *local = &resolver->local;
	int ret = local_files_gather(resolver->profile, resolver->stash, &resolver->options,
				     add_note, resolver, local);
	if (ret == 0)
		ret = stash_index_new(local->stash, &resolver->local_stash);
	for (uint32_t id = 1; ret == 0 && id <= local->image_count; id++)
		if (local->images[id - 1].records_of)
			stash_index_share(resolver->local_stash, id,
					  local->images[id - 1].records_of);
	return ret;
}

/* What this machine's files say of an image; NULL: nothing. They are read at the first asking. */
static const struct local_image *local_image(struct resolver *resolver, uint32_t image)
{
	if (resolver->options.stash_only)
		return NULL;
	if (!resolver->local_read) {
		resolver->local_read = true;
		if (read_local_files(resolver) < 0)
			add_note(resolver, "out of memory reading this machine's files");
	}
	return resolver->local_stash && image && image <= resolver->local.image_count
		       ? &resolver->local.images[image - 1]
		       : NULL;
}

/* The stash to ask about an image: the profile's own, or else this machine's files. NULL: neither.
 * Where a recording brought names by offsets and the file is here, the file knows more. */
static struct stash_index *stash_for(struct resolver *resolver, uint32_t image, bool *local)
{
	*local = false;
	const struct local_image *found = NULL;
	if (!stash_has_image(resolver->stash, image) || resolver->spaces[image - 1] == SPACE_OFFSET)
		found = local_image(resolver, image);
	if (stash_has_image(resolver->stash, image) && !(found && found->found))
		return resolver->stash;
	*local = found != NULL;
	return found ? resolver->local_stash : NULL;
}

uint64_t resolver_vaddr(struct resolver *resolver, uint32_t image, uint64_t vaddr)
{
	bool local;
	if (image == 0 || resolver->spaces[image - 1] == SPACE_ELF)
		return vaddr;
	stash_for(resolver, image, &local);
	const struct local_image *found = local ? local_image(resolver, image) : NULL;
	/* what no part of the file holds must not look like another part */
	if (found && !local_image_translate(found, &vaddr))
		vaddr |= 1ull << 63;
	return vaddr;
}

const struct stash_index *resolver_stash(struct resolver *resolver, uint32_t image)
{
	bool local;
	return image && image <= resolver->image_count ? stash_for(resolver, image, &local) : NULL;
}

uint16_t resolver_machine(struct resolver *resolver, uint32_t image)
{
	bool local;
	if (image == 0)
		return 0;
	stash_for(resolver, image, &local);
	const struct local_image *found = local ? local_image(resolver, image) : NULL;
	return found ? found->machine : 0;
}

static const char *copy_span(struct resolver *resolver, struct span text)
{
	return arena_copy_text(&resolver->arena, text.data, text.size);
}

static struct span base_name(struct span path)
{
	const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	if (!slash || slash + 1 == (const char *)path.data + path.size)
		return path;
	size_t before = (size_t)(slash + 1 - (const char *)path.data);
	return (struct span){ slash + 1, path.size - before };
}

static const char *bracketed(struct resolver *resolver, const char *what, struct span name)
{
	if (name.size == 0)
		return arena_printf(&resolver->arena, "[%s]", what);
	return arena_printf(&resolver->arena, "[%s%s%.*s]", what, *what ? " " : "", (int)name.size,
			    (const char *)name.data);
}

/* "comm pid start boot" identifies the process for good; people know it by the first two. */
static struct span without_last_two_words(struct span name)
{
	const char *text = name.data;
	size_t size = name.size;
	for (int words = 0; words < 2; words++) {
		const char *space = size ? memrchr(text, ' ', size) : NULL;
		if (!space || space == text)
			return name;
		size = (size_t)(space - text);
	}
	return (struct span){ text, size };
}

static const char *file_name(struct resolver *resolver, uint32_t id,
			     const struct profile_image *image)
{
	const char *name = image_claims_name(&resolver->claims, id, &resolver->arena);
	if (name)
		return name;
	char hexadecimal[17] = "";
	struct span identity = image->build_id.size ? image->build_id : image->hash;
	for (size_t i = 0; i < identity.size && i < 8; i++)
		snprintf(hexadecimal + 2 * i, 3, "%02x", ((const uint8_t *)identity.data)[i]);
	return bracketed(resolver, image->build_id.size ? "build-id" : "hash",
			 span_of_text(hexadecimal));
}

static const char *name_image(struct resolver *resolver, uint32_t id)
{
	struct profile_image image = profile_image(resolver->profile, id);
	struct span none = { NULL, 0 };
	switch (image.kind) {
	case IMAGE_FILE:
		return file_name(resolver, id, &image);
	case IMAGE_KERNEL:
		return image.name.size && image.build_id.size == 0
			       ? bracketed(resolver, "", image.name)
			       : bracketed(resolver, "kernel", none);
	case IMAGE_MODULE:
		return bracketed(resolver, image.name.size ? "" : "module", image.name);
	case IMAGE_VDSO:
		return bracketed(resolver, "vdso", none);
	case IMAGE_BPF:
		return bracketed(resolver, "bpf", image.name);
	case IMAGE_JIT:
		return bracketed(resolver, "jit", without_last_two_words(image.name));
	case IMAGE_NAME:
		return copy_span(resolver, base_name(deleted_path_strip(image.name)));
	default:
		return image.name.size ? bracketed(resolver, "unknown:", image.name)
				       : bracketed(resolver, "unknown", none);
	}
}

const char *resolver_image(struct resolver *resolver, uint32_t image)
{
	if (image == 0 || image > resolver->image_count)
		return "";
	if (!resolver->images[image - 1])
		resolver->images[image - 1] = name_image(resolver, image);
	return resolver->images[image - 1] ? resolver->images[image - 1] : "";
}

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

static const char *show(struct resolver *resolver, struct span linkage)
{
	CLEANUP(free_pointer) char *plain = demangle(&resolver->demangler, linkage);
	const char *trouble = plain ? NULL : demangler_trouble(&resolver->demangler);
	if (trouble) {
		char sentence[256];
		snprintf(sentence, sizeof(sentence),
			 "a mangled name %s; such names are shown as the linker has them", trouble);
		add_note(resolver, sentence);
	}
	return plain ? arena_copy_text(&resolver->arena, plain, strlen(plain))
		     : copy_span(resolver, linkage);
}

static const char plt_mark[] = "@plt";

/* "_ZN3fooEv@plt" is demangled up to its @. */
static const char *show_function(struct resolver *resolver, const struct function_record *function)
{
	size_t size = sizeof(plt_mark) - 1;
	struct span name = function->name;
	if (function->flags & FUNCTION_NEAREST) {
		const char *nearest = show(resolver, name);
		return nearest ? arena_printf(&resolver->arena, "%s (nearest symbol)", nearest)
			       : NULL;
	}
	if (!(function->flags & FUNCTION_PLT) || name.size <= size)
		return show(resolver, name);
	name.size -= size;
	const char *shown = show(resolver, name);
	return shown ? arena_printf(&resolver->arena, "%s%s", shown, plt_mark) : NULL;
}

/* Returns the entry that stays, named; NULL when out of memory. */
static struct procedure_entry *keep_procedure(struct resolver *resolver,
					      const struct procedure_entry *wanted,
					      const struct function_record *function)
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
		procedure->linkage = procedure->name = copy_span(resolver, name);
		procedure->named = true;
	} else if (entry->kind == BY_NOTHING ||
		   (function->flags & FUNCTION_WINDOW && function->flags & FUNCTION_UNNAMED)) {
		procedure->name = *image == '[' ? image
				  : *image	? arena_printf(&resolver->arena, "[%s]", image)
						: "[unknown]";
	} else if (function->flags & FUNCTION_UNNAMED) {
		procedure->name =
			arena_printf(&resolver->arena, "%s+0x%" PRIx64, image, procedure->first);
	} else {
		procedure->linkage = copy_span(resolver, function->name);
		procedure->name = show_function(resolver, function);
		procedure->named = true;
	}
	if (!procedure->name || !procedure->linkage ||
	    hash_index_add(&resolver->procedure_index, hash, (uint32_t)resolver->procedure_count) <
		    0)
		return NULL;
	resolver->procedures[resolver->procedure_count++] = entry;
	return entry;
}

static struct procedure_entry *keep_function(struct resolver *resolver, uint32_t image, bool local,
					     const struct stash_function *found)
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
	(*known)[found->number] = keep_procedure(resolver, &wanted, &found->function);
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
	struct stash_index *stash = stash_for(resolver, place->image, &local);
	if (stash && stash_find_function(stash, place->image, place->place.vaddr, &found))
		return keep_function(resolver, place->image, local, &found);
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
static struct place_entry looked_up(struct resolver *resolver, const struct profile_frame *frame)
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
	const struct place_entry wanted = looked_up(resolver, frame);
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
	return find_place(resolver, looked_up(resolver, frame));
}

const struct place *resolver_place_in_file(struct resolver *resolver, uint32_t image,
					   uint64_t vaddr)
{
	return find_place(resolver, (struct place_entry){ .image = image, .place.vaddr = vaddr });
}

static bool name_equal(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct shown_name *)rows)[position].linkage,
			  *(const struct span *)wanted);
}

/* As show(), each text once. */
static const char *show_once(struct resolver *resolver, struct span linkage)
{
	uint64_t hash = hash_bytes(linkage.data, linkage.size);
	uint32_t position =
		hash_index_find(&resolver->name_index, hash, name_equal, resolver->names, &linkage);
	if (position != HASH_INDEX_NONE)
		return resolver->names[position].name;
	const char *name = show(resolver, linkage);
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
	size_t count = high, mark = sizeof(plt_mark) - 1;
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
	    memcmp((const char *)name.data + name.size - mark, plt_mark, mark) != 0)
		return show_once(resolver, name);
	const char *shown = show_once(resolver, (struct span){ name.data, name.size - mark });
	return shown ? arena_printf(&resolver->arena, "%s%s", shown, plt_mark) : NULL;
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
	const struct stash_index *stash = stash_for(resolver, image, &local);
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
		keep_function(resolver, procedure->image, entry->local, &cold);
	return found ? &found->procedure : NULL;
}
