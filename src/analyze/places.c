#include "analyze/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/kernel_names.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"

struct place_entry {
	uint64_t vaddr;
	uint32_t image, name, kind;
	uint32_t procedure;
	unsigned marks;
	const struct place *resolved; /* NULL for a bare name or an unknown image */
};

struct places {
	const struct profile *profile;
	struct resolver *resolver;
	struct arena texts;

	struct place_entry *entries;
	size_t count, capacity;
	struct hash_index entry_index;

	struct place_procedure *procedures;
	size_t procedure_count, procedure_capacity;
	struct hash_index procedure_index;

	struct place_line *lines;
	size_t line_count, line_capacity;
	struct hash_index line_index;

	uint32_t *chain;
	size_t chain_capacity;
};

int places_new(const struct profile *profile, struct resolver *resolver, struct places **out,
	       struct error *err)
{
	struct places *places = calloc(1, sizeof(*places));
	if (!places)
		return error_set(err, -ENOMEM, "out of memory naming code");
	places->profile = profile;
	places->resolver = resolver;
	*out = places;
	return 0;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	arena_release(&places->texts);
	hash_index_release(&places->entry_index);
	hash_index_release(&places->procedure_index);
	hash_index_release(&places->line_index);
	free(places->entries);
	free(places->procedures);
	free(places->lines);
	free(places->chain);
	free(places);
}

void places_freep(struct places **places)
{
	places_free(*places);
}

/* ---- procedures, by image, name and start */

static uint64_t hash_text(const char *text)
{
	return hash_bytes(text, strlen(text));
}

static uint64_t procedure_hash(const struct place_procedure *procedure)
{
	return hash_u64(hash_text(procedure->name) ^ procedure->image ^ hash_u64(procedure->first) ^
			((uint64_t)(procedure->marks & PLACE_INLINED) << 32));
}

static uint64_t procedure_rehash(const void *rows, uint32_t position)
{
	return procedure_hash((const struct place_procedure *)rows + position);
}

static bool procedure_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct place_procedure *a = (const struct place_procedure *)rows + position;
	const struct place_procedure *b = wanted;
	return a->image == b->image && a->first == b->first &&
	       (a->marks & PLACE_INLINED) == (b->marks & PLACE_INLINED) &&
	       strcmp(a->name, b->name) == 0;
}

static int add_procedure(struct places *places, const struct place_procedure *wanted, uint32_t *id)
{
	uint64_t hash = procedure_hash(wanted);
	*id = hash_index_find(&places->procedure_index, hash, procedure_equal, places->procedures,
			      wanted);
	if (*id != HASH_INDEX_NONE)
		return 0;
	int ret = array_reserve(&places->procedures, &places->procedure_capacity,
				places->procedure_count, sizeof(*places->procedures));
	if (ret < 0)
		return ret;
	places->procedures[places->procedure_count] = *wanted;
	ret = hash_index_add(&places->procedure_index, hash, (uint32_t)places->procedure_count,
			     procedure_rehash, places->procedures);
	if (ret == 0)
		*id = (uint32_t)places->procedure_count++;
	return ret;
}

static unsigned image_marks(const struct profile *profile, const struct profile_frame *frame)
{
	unsigned name = frame->name ? PLACE_BARE_NAME : 0;
	if (!frame->image)
		return name ? PLACE_HAS_IMAGE | name : 0;
	switch (profile_image(profile, frame->image).kind) {
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_BPF:
		return PLACE_HAS_IMAGE | PLACE_KERNEL | name;
	case IMAGE_UNKNOWN:
		return 0;
	default:
		return PLACE_HAS_IMAGE | name;
	}
}

static bool resolve(struct places *places, const struct profile_frame *frame,
		    struct place_entry *entry, struct place_procedure *procedure)
{
	entry->resolved = resolver_place(places->resolver, frame);
	if (!entry->resolved)
		return false;
	const struct procedure *found = entry->resolved->procedure;
	unsigned marks = image_marks(places->profile, frame);
	if (found->named)
		marks |= PLACE_NAMED;
	if (found->extent_known || (marks & PLACE_BARE_NAME))
		marks |= PLACE_EXTENT;
	if (marks & PLACE_KERNEL && found->named) {
		if (kernel_name_is_late(found->linkage))
			marks |= PLACE_LATE;
		if (kernel_name_is_idle(found->linkage))
			marks |= PLACE_IDLE;
	}
	*procedure = (struct place_procedure){
		.name = found->name,
		.linkage = found->linkage,
		.image_name = resolver_image(places->resolver, frame->image),
		.image = frame->image,
		.first = found->extent_known ? found->first : 0,
		.marks = marks,
		.variant = "",
	};
	/* code that nothing delimits is one row an image: a row an address would tell less */
	if (!found->named && !found->extent_known && (marks & PLACE_HAS_IMAGE))
		procedure->name = "[no symbol]";
	entry->marks = marks;
	return true;
}

/* ---- places */

static uint64_t entry_hash(const struct place_entry *entry)
{
	return hash_u64(hash_u64(entry->vaddr) ^ ((uint64_t)entry->image << 32 | entry->name) ^
			entry->kind << 7);
}

static uint64_t entry_rehash(const void *rows, uint32_t position)
{
	return entry_hash((const struct place_entry *)rows + position);
}

static bool entry_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct place_entry *a = (const struct place_entry *)rows + position, *b = wanted;
	return a->vaddr == b->vaddr && a->image == b->image && a->name == b->name &&
	       a->kind == b->kind;
}

int places_add(struct places *places, const struct profile_frame *frame, uint32_t *place)
{
	struct place_entry entry = { .vaddr = frame->vaddr,
				     .image = frame->image,
				     .name = frame->name,
				     .kind = (uint32_t)frame->kind };
	/* sorted tables bring one address many times in a row */
	if (places->count && entry_equal(places->entries, (uint32_t)places->count - 1, &entry)) {
		*place = (uint32_t)places->count - 1;
		return 0;
	}
	uint64_t hash = entry_hash(&entry);
	*place = hash_index_find(&places->entry_index, hash, entry_equal, places->entries, &entry);
	if (*place != HASH_INDEX_NONE)
		return 0;
	struct place_procedure procedure;
	if (!resolve(places, frame, &entry, &procedure))
		return -ENOMEM;
	int ret = add_procedure(places, &procedure, &entry.procedure);
	if (ret == 0)
		ret = array_reserve(&places->entries, &places->capacity, places->count,
				    sizeof(*places->entries));
	if (ret < 0)
		return ret;
	places->entries[places->count] = entry;
	ret = hash_index_add(&places->entry_index, hash, (uint32_t)places->count, entry_rehash,
			     places->entries);
	if (ret == 0)
		*place = (uint32_t)places->count++;
	return ret;
}

uint32_t places_procedure_of(const struct places *places, uint32_t place)
{
	return places->entries[place].procedure;
}

uint32_t places_image_of(const struct places *places, uint32_t place)
{
	return places->entries[place].image;
}

unsigned places_marks_of(const struct places *places, uint32_t place)
{
	return places->entries[place].marks;
}

size_t places_procedure_count(const struct places *places)
{
	return places->procedure_count;
}

const struct place_procedure *places_procedure(const struct places *places, uint32_t procedure)
{
	return &places->procedures[procedure];
}

/* ---- inlined functions and lines */

static int add_inlined(struct places *places, uint32_t outer, const char *function, uint32_t *id)
{
	struct place_procedure inlined = places->procedures[outer];
	inlined.name = function;
	inlined.linkage = function;
	inlined.first = 0;
	inlined.marks = (inlined.marks & ~(unsigned)(PLACE_LATE | PLACE_IDLE)) | PLACE_NAMED |
			PLACE_INLINED;
	return add_procedure(places, &inlined, id);
}

const uint32_t *places_chain(struct places *places, uint32_t place, size_t *count)
{
	const struct place_entry *entry = &places->entries[place];
	const struct source_frame *frames = NULL;
	size_t depth = resolver_source(places->resolver, entry->resolved, &frames);
	if (depth == 0)
		depth = 1;
	if (depth > places->chain_capacity) {
		uint32_t *grown = reallocarray(places->chain, depth, sizeof(*grown));
		if (!grown)
			return NULL;
		places->chain = grown;
		places->chain_capacity = depth;
	}
	size_t used = 0;
	places->chain[used++] = entry->procedure;
	for (size_t i = depth - 1; i-- > 0;) {
		if (!frames[i].function)
			continue;
		uint32_t id;
		if (add_inlined(places, entry->procedure, frames[i].function, &id) < 0)
			return NULL;
		places->chain[used++] = id;
	}
	*count = used;
	return places->chain;
}

const uint32_t *places_outer(const struct places *places, uint32_t place)
{
	return &places->entries[place].procedure;
}

static uint64_t line_hash(const struct place_line *line)
{
	return hash_u64((line->file ? hash_text(line->file) : 0) ^
			((uint64_t)line->line << 32 | line->procedure));
}

static uint64_t line_rehash(const void *rows, uint32_t position)
{
	return line_hash((const struct place_line *)rows + position);
}

static bool line_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct place_line *a = (const struct place_line *)rows + position, *b = wanted;
	return a->line == b->line && a->procedure == b->procedure && !a->file == !b->file &&
	       (!a->file || strcmp(a->file, b->file) == 0);
}

int places_line_of(struct places *places, uint32_t place, uint32_t *id)
{
	size_t depth;
	const uint32_t *chain = places_chain(places, place, &depth);
	if (!chain)
		return -ENOMEM;
	struct place_line line = { .procedure = chain[depth - 1] };
	const struct source_frame *frames = NULL;
	if (resolver_source(places->resolver, places->entries[place].resolved, &frames) &&
	    frames[0].file) {
		line.file = frames[0].file;
		line.line = frames[0].line;
	}
	uint64_t hash = line_hash(&line);
	*id = hash_index_find(&places->line_index, hash, line_equal, places->lines, &line);
	if (*id != HASH_INDEX_NONE)
		return 0;
	int ret = array_reserve(&places->lines, &places->line_capacity, places->line_count,
				sizeof(*places->lines));
	if (ret < 0)
		return ret;
	places->lines[places->line_count] = line;
	ret = hash_index_add(&places->line_index, hash, (uint32_t)places->line_count, line_rehash,
			     places->lines);
	if (ret == 0)
		*id = (uint32_t)places->line_count++;
	return ret;
}

const struct place_line *places_line(const struct places *places, uint32_t line)
{
	return &places->lines[line];
}

/* ---- procedures that look alike */

static int compare_looks(const void *left, const void *right)
{
	const struct place_procedure *a = *(struct place_procedure *const *)left;
	const struct place_procedure *b = *(struct place_procedure *const *)right;
	int order = strcmp(a->name, b->name);
	if (!order)
		order = strcmp(a->image_name, b->image_name);
	if (!order)
		order = (int)(a->marks & PLACE_INLINED) - (int)(b->marks & PLACE_INLINED);
	return order;
}

/* What a reader can look up: where in the image, or which build of it. */
static const char *variant_of(struct places *places, const struct place_procedure *procedure,
			      bool one_image)
{
	if (one_image)
		return arena_printf(&places->texts, "@0x%llx",
				    (unsigned long long)procedure->first);
	if (!procedure->image)
		return "";
	struct profile_image image = profile_image(places->profile, procedure->image);
	if (image.build_id.size < 4)
		return arena_printf(&places->texts, "image %u", (unsigned)procedure->image);
	const uint8_t *id = image.build_id.data;
	return arena_printf(&places->texts, "build %02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
}

int places_tell_apart(struct places *places)
{
	size_t count = places->procedure_count;
	CLEANUP(free_pointer)
	struct place_procedure **order = calloc(count + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = &places->procedures[i];
	qsort(order, count, sizeof(*order), compare_looks);
	for (size_t i = 0; i < count;) {
		size_t end = i + 1;
		bool one_image = true;
		while (end < count && compare_looks(&order[i], &order[end]) == 0) {
			one_image &= order[end]->image == order[i]->image;
			end++;
		}
		for (size_t j = i; end - i > 1 && j < end; j++) {
			order[j]->variant = variant_of(places, order[j], one_image);
			if (!order[j]->variant)
				return -ENOMEM;
		}
		i = end;
	}
	return 0;
}
