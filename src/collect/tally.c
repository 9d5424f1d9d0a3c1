#include "collect/tally.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"

int tally_init(struct tally *tally, struct profile *session)
{
	*tally = (struct tally){ .session = session };
	return cells_init(&tally->cells);
}

void tally_release(struct tally *tally)
{
	cells_release(&tally->cells);
	free(tally->places);
	free(tally->changed);
	hash_index_release(&tally->index);
	*tally = (struct tally){ 0 };
}

void tally_close(struct tally *tally)
{
	cells_close(&tally->cells);
	hash_index_release(&tally->index);
}

/* The factors, 2^64 / golden ratio and one of splitmix64's, spread small numbers over all bits. */
static uint64_t place_hash(const struct tally_place *place)
{
	uint64_t who = ((uint64_t)place->event << 32 | place->context) * 0x9e3779b97f4a7c15u;
	uint64_t where = ((uint64_t)place->calls << 32 | place->image) * 0xbf58476d1ce4e5b9u;
	return hash_u64(who ^ hash_u64(where ^ place->vaddr) ^ place->stack ^
			(uint64_t)place->apart << 1);
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct tally_place *a = (const struct tally_place *)rows + position;
	const struct tally_place *b = wanted;
	return a->vaddr == b->vaddr && a->image == b->image && a->calls == b->calls &&
	       a->stack == b->stack && a->apart == b->apart && a->context == b->context &&
	       a->event == b->event;
}

bool tally_knows(const struct tally *tally, const struct tally_place *place)
{
	return hash_index_find(&tally->index, place_hash(place), equal, tally->places, place) !=
	       HASH_INDEX_NONE;
}

int tally_place(struct tally *tally, const struct tally_place *place, uint32_t *number)
{
	uint64_t hash = place_hash(place);
	*number = hash_index_find(&tally->index, hash, equal, tally->places, place);
	if (*number != HASH_INDEX_NONE)
		return 0;
	int ret = array_reserve(&tally->places, &tally->capacity, tally->count,
				sizeof(*tally->places));
	if (ret < 0)
		return ret;
	tally->places[tally->count] = *place;
	tally->places[tally->count].cell = (struct cell){ 0 };
	ret = hash_index_add(&tally->index, hash, (uint32_t)tally->count);
	if (ret < 0)
		return ret;
	*number = (uint32_t)tally->count++;
	return 0;
}

int tally_add(struct tally *tally, uint32_t number, const struct cell *cell)
{
	struct cell *sum = &tally->places[number].cell;
	if (cell_is_empty(cell))
		return 0;
	if (cell_is_empty(sum)) {
		int ret = array_reserve(&tally->changed, &tally->changed_capacity,
					tally->changed_count, sizeof(*tally->changed));
		if (ret < 0)
			return ret;
		tally->changed[tally->changed_count++] = number;
	}
	sum->samples += cell->samples;
	sum->estimate += cell->estimate;
	sum->squares += cell->squares;
	return 0;
}

int tally_translation_init(struct tally_translation *translation, const struct profile *from,
			   struct profile *to)
{
	*translation = (struct tally_translation){ .from = from, .to = to };
	return id_map_init(&translation->ids, from);
}

void tally_translation_release(struct tally_translation *translation)
{
	id_map_release(&translation->ids);
	*translation = (struct tally_translation){ 0 };
}

#define REDACTED_SIZE 32

/* A hash instead of the path: shows which paths are the same, and no more. "[vdso]" and the like
 * stay. */
static struct span redacted_path(struct span path, char *text)
{
	if (!path.size || *(const char *)path.data == '[')
		return path;
	snprintf(text, REDACTED_SIZE, "file_%016" PRIx64, hash128_bytes(path.data, path.size).high);
	return span_of_text(text);
}

int tally_translate(struct tally_translation *translation, enum profile_table table, uint32_t id,
		    uint32_t *translated)
{
	*translated = 0;
	if (!id)
		return 0;
	uint32_t *known = &translation->ids.dictionaries[table][id];
	if (*known) {
		*translated = *known;
		return 0;
	}
	int ret = -EINVAL;
	if (table == PROFILE_EVENT) {
		struct profile_event event = profile_event(translation->from, id);
		ret = profile_add_event(translation->to, &event, known);
	} else if (table == PROFILE_IMAGE) {
		struct profile_image image = profile_image(translation->from, id);
		char text[REDACTED_SIZE];
		if (translation->redact && image.kind == IMAGE_FILE)
			image.name = redacted_path(image.name, text);
		ret = profile_add_image(translation->to, &image, known);
	} else if (table == PROFILE_CONTEXT) {
		struct profile_context context = profile_context(translation->from, id);
		ret = profile_add_context(translation->to, &context, known);
	}
	*translated = *known;
	return ret;
}

static int carry_calls(const struct cells *cells, uint32_t number,
		       struct tally_translation *translation, struct cells *next, uint32_t *carried)
{
	uint32_t parent, image;
	*carried = 0;
	if (!number)
		return 0;
	const struct cells_node *node = &cells->nodes[number - 1];
	int ret = carry_calls(cells, node->parent, translation, next, &parent);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_IMAGE, node->image_kind / 2, &image);
	return ret < 0 ? ret
		       : cells_node(next, parent, image, node->vaddr,
				    node->image_kind & 1 ? FRAME_RETURN : FRAME_IP, carried);
}

int tally_carry(const struct tally *tally, uint32_t number, struct tally_translation *translation,
		struct tally *next, uint32_t *carried)
{
	struct tally_place place = tally->places[number];
	int ret = carry_calls(&tally->cells, place.calls, translation, &next->cells, &place.calls);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_IMAGE, place.image, &place.image);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_CONTEXT, place.context, &place.context);
	return ret < 0 ? ret : tally_place(next, &place, carried);
}

/* Translates the tally's calls into nodes of a profile that is being made. */
struct calls_translation {
	const struct cells *cells;
	struct tally_translation *all;
	uint32_t *nodes; /* by number; 0: not made */
};

static int translate_calls(struct calls_translation *calls, uint32_t number, uint32_t *translated)
{
	*translated = calls->nodes[number];
	if (!number || *translated)
		return 0;
	const struct cells_node *node = &calls->cells->nodes[number - 1];
	struct profile_frame frame = { .kind = node->image_kind & 1 ? FRAME_RETURN : FRAME_IP,
				       .vaddr = node->vaddr };
	uint32_t parent;
	int ret = translate_calls(calls, node->parent, &parent);
	if (ret == 0)
		ret = tally_translate(calls->all, PROFILE_IMAGE, node->image_kind / 2,
				      &frame.image);
	if (ret == 0)
		ret = profile_add_node(calls->all->to, parent, &frame, translated);
	calls->nodes[number] = *translated;
	return ret;
}

static int add_stack(struct calls_translation *calls, const struct tally_place *place,
		     uint32_t event, uint32_t context, const struct profile_frame *leaf)
{
	uint32_t node;
	int ret = translate_calls(calls, place->calls, &node);
	if (ret == 0)
		ret = profile_add_node(calls->all->to, node, leaf, &node);
	return ret < 0 ? ret
		       : profile_add_stack(calls->all->to, event, context, node, &place->cell);
}

static int flush_place(struct calls_translation *calls, struct tally_place *place)
{
	struct tally_translation *translation = calls->all;
	uint32_t event;
	uint32_t context;
	struct profile_frame leaf = { .kind = FRAME_IP, .vaddr = place->vaddr };
	int ret = tally_translate(translation, PROFILE_EVENT, place->event, &event);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_CONTEXT, place->context, &context);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_IMAGE, place->image, &leaf.image);
	if (ret == 0 && !place->apart)
		ret = profile_add_flat(translation->to, event, context, &leaf, &place->cell);
	if (ret == 0 && place->stack)
		ret = add_stack(calls, place, event, context, &leaf);
	if (ret == 0)
		place->cell = (struct cell){ 0 };
	return ret;
}

int tally_translate_path(struct tally_translation *translation, size_t row)
{
	const struct table *paths = profile_table(translation->from, PROFILE_PATH);
	const uint64_t *keys = table_keys(paths, row);
	uint32_t image = translation->ids.dictionaries[PROFILE_IMAGE][keys[PATH_IMAGE]];
	if (!image)
		return 0;
	char text[REDACTED_SIZE];
	struct span path = profile_bytes(translation->from, keys[PATH_PATH]);
	if (translation->redact)
		path = redacted_path(path, text);
	return profile_add_seen_path(translation->to, image, path,
				     (enum path_seen)table_values(paths, row)[PATH_SEEN]);
}

static int translate_paths(struct tally_translation *translation)
{
	size_t count = profile_table(translation->from, PROFILE_PATH)->count;
	int ret = 0;
	for (size_t row = 0; row < count && ret == 0; row++)
		ret = tally_translate_path(translation, row);
	return ret;
}

int tally_flush(struct tally *tally, struct tally_translation *translation)
{
	CLEANUP(free_pointer) uint32_t *nodes = calloc(tally->cells.node_count + 1, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	struct calls_translation calls = { &tally->cells, translation, nodes };
	for (size_t i = 0; i < tally->changed_count; i++) {
		int ret = flush_place(&calls, &tally->places[tally->changed[i]]);
		if (ret < 0)
			return ret;
	}
	tally->changed_count = 0;
	return translate_paths(translation);
}
