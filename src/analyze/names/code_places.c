#include "analyze/names/code_places.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/names/kernel_names.h"
#include "analyze/names/late_samples.h"
#include "analyze/names/procedure_variants.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/text_numbers.h"
#include "symbol/record.h"

struct place_entry {
	uint64_t vaddr;
	uint32_t image, name, kind;
	uint32_t procedure;
	unsigned marks;
	const struct place *resolved; /* NULL: its source was not looked up yet */
};

struct places {
	const struct profile *profile;
	struct resolver *resolver;
	struct late_samples *late;
	struct arena texts;
	struct text_numbers numbers; /* of names, images and source files */

	/*
	 * The first `sorted` entries rise by image, vaddr, name, kind: tables are stored in that
	 * order, so most addresses come that way and need no hash. The others are in the index.
	 */
	struct place_entry *entries;
	size_t count, capacity, sorted;
	size_t next; /* among the sorted: where the next address is likely to be */
	struct hash_index entry_index;
	const struct procedure *last_found; /* what last_procedure is the number of */
	uint32_t last_procedure;
	unsigned last_marks;

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
	int ret = late_samples_new(profile, resolver, &places->late, err);
	if (ret < 0) {
		free(places);
		return ret;
	}
	*out = places;
	return 0;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	late_samples_free(places->late);
	arena_release(&places->texts);
	text_numbers_release(&places->numbers);
	hash_index_release(&places->entry_index);
	hash_index_release(&places->procedure_index);
	hash_index_release(&places->line_index);
	free(places->entries);
	free(places->procedures);
	free(places->lines);
	free(places->chain);
	free(places);
}

/* ---- procedures, by image, name and start */

static uint64_t procedure_hash(const struct place_procedure *procedure)
{
	return hash_u64(((uint64_t)procedure->name_number << 32 | procedure->image) ^
			hash_u64(procedure->first) ^
			((uint64_t)(procedure->marks & PLACE_INLINED) << 32));
}

static bool procedure_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct place_procedure *a = (const struct place_procedure *)rows + position;
	const struct place_procedure *b = wanted;
	return a->image == b->image && a->first == b->first &&
	       (a->marks & PLACE_INLINED) == (b->marks & PLACE_INLINED) &&
	       a->name_number == b->name_number;
}

static int add_procedure(struct places *places, struct place_procedure *wanted, uint32_t *id)
{
	if (text_number(&places->numbers, wanted->name, &wanted->name_number) < 0 ||
	    text_number(&places->numbers, wanted->image_name, &wanted->image_number) < 0)
		return -ENOMEM;
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
	ret = hash_index_add(&places->procedure_index, hash, (uint32_t)places->procedure_count);
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

static int keep_procedure(struct places *places, const struct profile_frame *frame,
			  const struct procedure *found)
{
	unsigned marks = image_marks(places->profile, frame);
	if (found->named)
		marks |= PLACE_NAMED;
	if (found->named && !(found->flags & (FUNCTION_EXPORTED | FUNCTION_PLT)))
		marks |= PLACE_SYMBOL_TABLE;
	if (found->extent_known || (marks & PLACE_BARE_NAME))
		marks |= PLACE_EXTENT;
	if (marks & PLACE_KERNEL && found->named && kernel_name_is_idle(found->linkage))
		marks |= PLACE_IDLE;
	struct place_procedure procedure = {
		.name = found->name,
		.linkage = found->linkage,
		.image_name = resolver_image(places->resolver, frame->image),
		.image = frame->image,
		.first = found->extent_known ? found->first : 0,
		.marks = marks,
		.variant = "",
	};
	/* code without symbol and extent is one row for each image, not one for each address */
	if (!found->named && !found->extent_known && (marks & PLACE_HAS_IMAGE))
		procedure.name = "[no symbol]";
	int ret = add_procedure(places, &procedure, &places->last_procedure);
	places->last_found = ret == 0 ? found : NULL;
	places->last_marks = marks;
	return ret;
}

static int resolve(struct places *places, const struct profile_frame *frame,
		   struct place_entry *entry)
{
	const struct procedure *found = resolver_procedure(places->resolver, frame);
	if (!found)
		return -ENOMEM;
	/* neighbours are mostly in one procedure; one pointer is one procedure of one image */
	if (found != places->last_found) {
		int ret = keep_procedure(places, frame, found);
		if (ret < 0)
			return ret;
	}
	entry->procedure = places->last_procedure;
	entry->marks = places->last_marks;
	if (entry->marks & PLACE_KERNEL && frame->kind == FRAME_IP &&
	    late_samples_at(places->late, found,
			    resolver_vaddr(places->resolver, frame->image, frame->vaddr)))
		entry->marks |= PLACE_LATE;
	return 0;
}

/* ---- places */

static uint64_t entry_hash(const struct place_entry *entry)
{
	return hash_u64(hash_u64(entry->vaddr) ^ ((uint64_t)entry->image << 32 | entry->name) ^
			entry->kind << 7);
}

static bool entry_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct place_entry *a = (const struct place_entry *)rows + position, *b = wanted;
	return a->vaddr == b->vaddr && a->image == b->image && a->name == b->name &&
	       a->kind == b->kind;
}

static int compare_entries(const struct place_entry *a, const struct place_entry *b)
{
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

static uint32_t find_sorted(struct places *places, const struct place_entry *wanted)
{
	size_t low = 0, high = places->sorted;
	for (size_t at = places->next; at < high && at <= places->next + 1; at++)
		if (compare_entries(&places->entries[at], wanted) == 0) {
			places->next = at;
			return (uint32_t)at;
		}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_entries(&places->entries[middle], wanted);
		if (order == 0) {
			places->next = middle;
			return (uint32_t)middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return PLACE_NONE;
}

static bool continues_order(const struct places *places, const struct place_entry *entry)
{
	return places->sorted == places->count &&
	       (places->count == 0 ||
		compare_entries(&places->entries[places->count - 1], entry) < 0);
}

int places_add(struct places *places, const struct profile_frame *frame, uint32_t *place)
{
	struct place_entry entry = { .vaddr = frame->vaddr,
				     .image = frame->image,
				     .name = frame->name,
				     .kind = (uint32_t)frame->kind };
	bool in_order = continues_order(places, &entry);
	uint64_t hash = 0;
	if (!in_order) {
		*place = find_sorted(places, &entry);
		if (*place != PLACE_NONE)
			return 0;
		hash = entry_hash(&entry);
		*place = hash_index_find(&places->entry_index, hash, entry_equal, places->entries,
					 &entry);
		if (*place != HASH_INDEX_NONE)
			return 0;
	}
	int ret = resolve(places, frame, &entry);
	if (ret == 0)
		ret = array_reserve(&places->entries, &places->capacity, places->count,
				    sizeof(*places->entries));
	if (ret < 0)
		return ret;
	places->entries[places->count] = entry;
	if (in_order)
		places->sorted++;
	else
		ret = hash_index_add(&places->entry_index, hash, (uint32_t)places->count);
	if (ret == 0)
		*place = (uint32_t)places->count++;
	return ret;
}

struct profile_frame places_frame_of(const struct places *places, uint32_t place)
{
	const struct place_entry *entry = &places->entries[place];
	return (struct profile_frame){ .kind = entry->kind,
				       .image = entry->image,
				       .vaddr = entry->vaddr,
				       .name = entry->name };
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

bool places_can_be_late(const struct places *places, const struct event_column *column)
{
	return late_samples_can_be(places->late, column);
}

void places_mark_late(struct places *places, uint32_t procedure)
{
	places->procedures[procedure].marks |= PLACE_LATE;
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

/* Stores the source frames at a place, innermost first, and how many; 0: not known. Returns 0 or
 * -ENOMEM. */
static int source_at(struct places *places, uint32_t place, const struct source_frame **frames,
		     size_t *count)
{
	struct place_entry *entry = &places->entries[place];
	*count = 0;
	if (!resolver_has_source(places->resolver, entry->image))
		return 0;
	if (!entry->resolved) {
		struct profile_frame frame = places_frame_of(places, place);
		entry->resolved = resolver_place(places->resolver, &frame);
	}
	if (!entry->resolved)
		return -ENOMEM;
	*count = resolver_source(places->resolver, entry->resolved, frames);
	return 0;
}

const uint32_t *places_chain(struct places *places, uint32_t place, size_t *count)
{
	const struct place_entry *entry = &places->entries[place];
	const struct source_frame *frames = NULL;
	size_t depth;
	if (source_at(places, place, &frames, &depth) < 0)
		return NULL;
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
	return hash_u64((line->file ? hash_u64(line->file_number) : 0) ^
			((uint64_t)line->line << 32 | line->procedure));
}

static bool line_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct place_line *a = (const struct place_line *)rows + position, *b = wanted;
	return a->line == b->line && a->procedure == b->procedure && !a->file == !b->file &&
	       (!a->file || a->file_number == b->file_number);
}

int places_line_of(struct places *places, uint32_t place, uint32_t *id)
{
	size_t depth;
	const uint32_t *chain = places_chain(places, place, &depth);
	if (!chain)
		return -ENOMEM;
	struct place_line line = { .procedure = chain[depth - 1] };
	const struct source_frame *frames = NULL;
	size_t frame_count;
	int ret = source_at(places, place, &frames, &frame_count);
	if (ret < 0)
		return ret;
	if (frame_count && frames[0].file) {
		line.file = frames[0].file;
		line.line = frames[0].line;
		if (text_number(&places->numbers, line.file, &line.file_number) < 0)
			return -ENOMEM;
	}
	uint64_t hash = line_hash(&line);
	*id = hash_index_find(&places->line_index, hash, line_equal, places->lines, &line);
	if (*id != HASH_INDEX_NONE)
		return 0;
	ret = array_reserve(&places->lines, &places->line_capacity, places->line_count,
			    sizeof(*places->lines));
	if (ret < 0)
		return ret;
	places->lines[places->line_count] = line;
	ret = hash_index_add(&places->line_index, hash, (uint32_t)places->line_count);
	if (ret == 0)
		*id = (uint32_t)places->line_count++;
	return ret;
}

const struct place_line *places_line(const struct places *places, uint32_t line)
{
	return &places->lines[line];
}

int places_tell_apart(struct places *places)
{
	return procedure_variants_fill(places->profile, places->procedures, places->procedure_count,
				       &places->texts);
}
