#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collect/session.h"

/* What the next epoch begins with, until it replaces what there is. */
struct generation {
	struct tally tally;
	struct profile *dictionaries;
	struct tally_translation translation; /* from the present dictionaries to these */
	uint32_t *carried; /* by sample that waits for its weight: its place in `tally` */
};

static void generation_release(struct generation *generation)
{
	tally_release(&generation->tally);
	tally_translation_release(&generation->translation);
	profile_free(generation->dictionaries);
	free(generation->carried);
}

static size_t lane_count(const struct counters *counters)
{
	return counters->sampler_count * counters->cpu_count;
}

static size_t count_waiting(const struct counters *counters)
{
	size_t count = 0;
	for (size_t i = 0; i < lane_count(counters); i++)
		count += counters->lanes[i].weight.count;
	return count;
}

static int init(struct generation *generation, const struct session *session)
{
	generation->dictionaries = profile_new();
	generation->carried =
		calloc(count_waiting(&session->counters) + 1, sizeof(*generation->carried));
	if (!generation->dictionaries || !generation->carried)
		return -ENOMEM;
	int ret = tally_init(&generation->tally, session->profile);
	return ret < 0 ? ret
		       : tally_translation_init(&generation->translation, session->profile,
						generation->dictionaries);
}

/* Adds all rows of a dictionary, under the ids that they have. */
static int keep_rows(struct generation *generation, enum profile_table which)
{
	size_t count = profile_table(generation->translation.from, which)->count;
	for (uint32_t id = 1; id <= count; id++) {
		uint32_t same;
		int ret = tally_translate(&generation->translation, which, id, &same);
		if (ret < 0)
			return ret;
		if (same != id)
			return -EINVAL; /* two rows were equal, which is a bug */
	}
	return 0;
}

/* Carries the places of samples that wait for their weight; until all has succeeded they have
 * places in both tallies. */
static int carry_places(struct generation *generation, const struct session *session)
{
	size_t at = 0;
	for (size_t i = 0; i < lane_count(&session->counters); i++) {
		const struct weight *weight = &session->counters.lanes[i].weight;
		for (size_t sample = 0; sample < weight->count; sample++, at++) {
			uint32_t *carried = &generation->carried[at];
			*carried = weight->targets[sample];
			if (*carried == SESSION_FILTERED_TARGET)
				continue;
			int ret =
				tally_carry(&session->tally, weight->targets[sample],
					    &generation->translation, &generation->tally, carried);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

/* The context of one of the samples that wait to be interpreted, numbered in any order; NULL: there
 * are no more. */
static uint32_t *context_waiting(struct edges *edges, size_t position)
{
	struct edge_batch *batches[] = { &edges->own.gathering,	    &edges->own.under_way,
					 &edges->own.spare,	    &edges->strange.gathering,
					 &edges->strange.under_way, &edges->strange.spare };
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		if (position < batches[i]->count)
			return &batches[i]->waiting[position].context;
		position -= batches[i]->count;
	}
	return NULL;
}

/* Carries the contexts of samples that wait to be interpreted. */
static int carry_contexts(struct generation *generation, struct session *session)
{
	const uint32_t *context;
	uint32_t translated;
	int ret = 0;
	for (size_t i = 0; ret == 0 && (context = context_waiting(&session->edges, i)); i++)
		ret = tally_translate(&generation->translation, PROFILE_CONTEXT, *context,
				      &translated);
	return ret;
}

/* Points samples that wait at what was carried for them. */
static void redirect(const struct generation *generation, struct session *session)
{
	uint32_t *context;
	size_t at = 0;
	for (size_t i = 0; i < lane_count(&session->counters); i++) {
		struct weight *weight = &session->counters.lanes[i].weight;
		for (size_t sample = 0; sample < weight->count; sample++)
			weight->targets[sample] = generation->carried[at++];
	}
	for (size_t i = 0; (context = context_waiting(&session->edges, i)); i++)
		*context = generation->translation.ids.dictionaries[PROFILE_CONTEXT][*context];
}

/* Gives a share back what was dropped with the epoch. */
static void give_back(struct shares *shares, struct share *share)
{
	static const enum share_of dropped[] = { SHARE_STACKS, SHARE_PLACES, SHARE_EDGES };
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		share_give_back(shares, share, dropped[i], share->held[dropped[i]]);
	share_give_back(shares, share, SHARE_CONTEXTS, share->names);
	share->names = 0;
}

static void give_back_all(struct shares *shares)
{
	size_t position = 0;
	for (struct share *share; (share = number_map_next(&shares->by_user, &position));)
		give_back(shares, share);
	give_back(shares, &shares->own);
	give_back(shares, &shares->rest);
	give_back(shares, &shares->ended);
}

/* Replaces tally and dictionaries. The struct profile stays where it is, since others point at it,
 * and so do ids of images and events. */
static void replace(struct generation *generation, struct session *session)
{
	struct profile before = *session->profile;
	struct tally tally = session->tally;
	redirect(generation, session);
	*session->profile = *generation->dictionaries;
	*generation->dictionaries = before;
	session->tally = generation->tally;
	generation->tally = tally;
	edge_tally_release(&session->edges.tally);
	memset(session->contexts, 0, sizeof(session->contexts));
	give_back_all(&session->shares);
}

int session_begin_generation(struct session *session)
{
	CLEANUP(generation_release) struct generation generation = { 0 };
	int ret = init(&generation, session);
	if (ret == 0)
		ret = keep_rows(&generation, PROFILE_EVENT);
	if (ret == 0)
		ret = keep_rows(&generation, PROFILE_IMAGE);
	if (ret == 0)
		ret = tally_translate_paths(&generation.translation);
	if (ret == 0)
		ret = carry_places(&generation, session);
	if (ret == 0)
		ret = carry_contexts(&generation, session);
	if (ret == 0)
		replace(&generation, session);
	return ret;
}
