#include "collect/tally.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"

void tally_release(struct tally *tally)
{
	free(tally->places);
	free(tally->changed);
	hash_index_release(&tally->index);
	*tally = (struct tally){ 0 };
}

static uint64_t place_hash(const struct tally_place *place)
{
	uint64_t who = ((uint64_t)place->event << 32 | place->context) * 0x9e3779b97f4a7c15u;
	uint64_t where = ((uint64_t)place->node << 32 | place->image) * 0xbf58476d1ce4e5b9u;
	return hash_u64(who ^ hash_u64(where ^ place->vaddr));
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct tally_place *a = (const struct tally_place *)rows + position;
	const struct tally_place *b = wanted;
	return a->vaddr == b->vaddr && a->image == b->image && a->node == b->node &&
	       a->context == b->context && a->event == b->event;
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

static bool cell_empty(const struct cell *cell)
{
	return !cell->samples && !cell->estimate && !cell->squares;
}

int tally_add(struct tally *tally, uint32_t number, const struct cell *cell)
{
	struct cell *sum = &tally->places[number].cell;
	if (cell_empty(cell))
		return 0;
	if (cell_empty(sum)) {
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
	for (size_t i = 0; i < PROFILE_DICTIONARIES; i++) {
		translation->ids[i] = calloc(profile_table(from, i)->count + 1, sizeof(uint32_t));
		if (!translation->ids[i])
			return -ENOMEM;
	}
	return 0;
}

void tally_translation_release(struct tally_translation *translation)
{
	for (size_t i = 0; i < PROFILE_DICTIONARIES; i++)
		free(translation->ids[i]);
	*translation = (struct tally_translation){ 0 };
}

static int translate_node(struct tally_translation *translation, uint32_t id, uint32_t *translated)
{
	uint32_t parent;
	struct profile_frame frame = profile_node(translation->from, id, &parent);
	uint32_t own_parent = 0;
	int ret = tally_translate(translation, PROFILE_NODE, parent, &own_parent);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_IMAGE, frame.image, &frame.image);
	return ret < 0 ? ret : profile_add_node(translation->to, own_parent, &frame, translated);
}

#define REDACTED_SIZE 32

/* Tells same from different, and no more. "[vdso]" and the like are everybody's. */
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
	uint32_t *known = &translation->ids[table][id];
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
	} else if (table == PROFILE_NODE) {
		ret = translate_node(translation, id, known);
	}
	*translated = *known;
	return ret;
}

static int take_place(struct tally_translation *translation, struct tally_place *place)
{
	uint32_t event;
	uint32_t context;
	uint32_t node;
	struct profile_frame leaf = { .kind = FRAME_IP, .vaddr = place->vaddr };
	int ret = tally_translate(translation, PROFILE_EVENT, place->event, &event);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_CONTEXT, place->context, &context);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_IMAGE, place->image, &leaf.image);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_NODE, place->node, &node);
	if (ret == 0)
		ret = profile_add_flat(translation->to, event, context, &leaf, &place->cell);
	if (ret == 0 && node)
		ret = profile_add_stack(translation->to, event, context, node, &place->cell);
	if (ret == 0)
		place->cell = (struct cell){ 0 };
	return ret;
}

static int take_paths(struct tally_translation *translation)
{
	const struct table *paths = profile_table(translation->from, PROFILE_PATH);
	for (size_t row = 0; row < paths->count; row++) {
		const uint64_t *keys = table_keys(paths, row);
		uint32_t image = translation->ids[PROFILE_IMAGE][keys[PATH_IMAGE]];
		if (!image)
			continue;
		char text[REDACTED_SIZE];
		struct span path = profile_bytes(translation->from, keys[PATH_PATH]);
		if (translation->redact)
			path = redacted_path(path, text);
		int ret =
			profile_add_seen_path(translation->to, image, path,
					      (enum path_seen)table_values(paths, row)[PATH_SEEN]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int tally_take(struct tally *tally, struct tally_translation *translation)
{
	for (size_t i = 0; i < tally->changed_count; i++) {
		int ret = take_place(translation, &tally->places[tally->changed[i]]);
		if (ret < 0)
			return ret;
	}
	tally->changed_count = 0;
	return take_paths(translation);
}
