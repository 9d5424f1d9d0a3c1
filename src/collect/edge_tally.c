#include "collect/edge_tally.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "collect/tally.h"
#include "profile/profile.h"

void edge_tally_release(struct edge_tally *tally)
{
	free(tally->rows);
	free(tally->changed);
	hash_index_release(&tally->index);
	*tally = (struct edge_tally){ 0 };
}

static uint64_t edge_hash(const struct edge_row *edge)
{
	uint64_t who = hash_u64((uint64_t)edge->event << 32 | edge->context);
	uint64_t images = (uint64_t)edge->from_image << 32 | edge->to_image;
	return hash_u64(hash_u64(hash_u64(who ^ images) ^ edge->from_vaddr) ^ edge->to_vaddr);
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct edge_row *a = (const struct edge_row *)rows + position;
	const struct edge_row *b = wanted;
	return a->from_vaddr == b->from_vaddr && a->to_vaddr == b->to_vaddr &&
	       a->from_image == b->from_image && a->to_image == b->to_image &&
	       a->context == b->context && a->event == b->event;
}

bool edge_tally_knows(const struct edge_tally *tally, const struct edge_row *edge)
{
	return hash_index_find(&tally->index, edge_hash(edge), equal, tally->rows, edge) !=
	       HASH_INDEX_NONE;
}

int edge_tally_add(struct edge_tally *tally, const struct edge_row *edge)
{
	uint64_t hash = edge_hash(edge);
	uint32_t at = hash_index_find(&tally->index, hash, equal, tally->rows, edge);
	if (at == HASH_INDEX_NONE) {
		int ret = array_reserve(&tally->rows, &tally->capacity, tally->count,
					sizeof(*tally->rows));
		if (ret < 0)
			return ret;
		at = (uint32_t)tally->count;
		tally->rows[at] = *edge;
		tally->rows[at].count = 0;
		ret = hash_index_add(&tally->index, hash, at);
		if (ret < 0)
			return ret;
		tally->count++;
	}
	if (!edge->asker)
		tally->rows[at].asker = 0;
	if (!tally->rows[at].count) {
		int ret = array_reserve(&tally->changed, &tally->changed_capacity,
					tally->changed_count, sizeof(*tally->changed));
		if (ret < 0)
			return ret;
		tally->changed[tally->changed_count++] = at;
	}
	tally->rows[at].count++;
	return 0;
}

static int flush_edge(struct tally_translation *translation, struct edge_row *edge)
{
	uint32_t event;
	uint32_t context;
	struct profile_frame from = { .kind = FRAME_IP, .vaddr = edge->from_vaddr };
	struct profile_frame to = { .kind = FRAME_IP, .vaddr = edge->to_vaddr };
	int ret = tally_translate(translation, PROFILE_EVENT, edge->event, &event);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_CONTEXT, edge->context, &context);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_IMAGE, edge->from_image, &from.image);
	if (ret == 0)
		ret = tally_translate(translation, PROFILE_IMAGE, edge->to_image, &to.image);
	if (ret == 0)
		ret = profile_add_edge(translation->to, event, context, ORIGIN_INTERPRETED, &from,
				       &to, edge->count, 0);
	if (ret == 0)
		edge->count = 0;
	return ret;
}

int edge_tally_flush(struct edge_tally *tally, struct tally_translation *translation)
{
	for (size_t i = 0; i < tally->changed_count; i++) {
		int ret = flush_edge(translation, &tally->rows[tally->changed[i]]);
		if (ret < 0)
			return ret;
	}
	tally->changed_count = 0;
	return 0;
}
