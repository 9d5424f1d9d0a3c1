#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collect/session.h"
#include "collect/still_used.h"

/* What the next epoch begins with, until it replaces what there is. */
struct generation {
	struct tally tally;
	struct profile *dictionaries;
	struct still_used used;
	struct tally_translation translation; /* from the present dictionaries to these */
	struct number_map jits;		      /* by the new numbers of their images */
	struct groups groups;
	uint32_t *group_numbers; /* by the present numbers of control groups */
	uint32_t *carried;	 /* by sample that waits for its weight: its place in `tally` */
};

static void generation_release(struct generation *generation)
{
	tally_release(&generation->tally);
	tally_translation_release(&generation->translation);
	still_used_release(&generation->used);
	number_map_release(&generation->jits);
	groups_release(&generation->groups);
	free(generation->group_numbers);
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
	generation->group_numbers =
		calloc(session->groups.paths.count + 1, sizeof(*generation->group_numbers));
	if (!generation->dictionaries || !generation->carried || !generation->group_numbers)
		return -ENOMEM;
	int ret = tally_init(&generation->tally, session->profile);
	return ret < 0 ? ret
		       : tally_translation_init(&generation->translation, session->profile,
						generation->dictionaries);
}

/* Adds all events, under the ids that they have. */
static int keep_events(struct generation *generation)
{
	size_t count = profile_table(generation->translation.from, PROFILE_EVENT)->count;
	for (uint32_t id = 1; id <= count; id++) {
		uint32_t same;
		int ret = tally_translate(&generation->translation, PROFILE_EVENT, id, &same);
		if (ret < 0)
			return ret;
		if (same != id)
			return -EINVAL; /* two rows were equal, which is a bug */
	}
	return 0;
}

/* Adds the images that are still used, in the order that they have: lists that are sorted stay so.
 */
static int keep_images(struct generation *generation)
{
	size_t count = profile_table(generation->translation.from, PROFILE_IMAGE)->count;
	uint32_t last = 0;
	for (uint32_t id = 1; id <= count; id++) {
		uint32_t kept;
		if (!generation->used.images[id])
			continue;
		int ret = tally_translate(&generation->translation, PROFILE_IMAGE, id, &kept);
		if (ret < 0)
			return ret;
		if (kept != ++last)
			return -EINVAL; /* as above */
	}
	return 0;
}

static int keep_paths(struct generation *generation)
{
	const struct table *paths = profile_table(generation->translation.from, PROFILE_PATH);
	int ret = 0;
	for (size_t row = 0; row < paths->count && ret == 0; row++) {
		const uint64_t *keys = table_keys(paths, row);
		if (still_used_path(&generation->used, (uint32_t)keys[PATH_IMAGE],
				    (uint32_t)keys[PATH_PATH]))
			ret = tally_translate_path(&generation->translation, row);
	}
	return ret;
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
	struct edge_batch *batch;
	for (size_t i = 0; (batch = edges_batch(edges, i)); i++) {
		if (position < batch->count)
			return &batch->waiting[position].context;
		position -= batch->count;
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

static void renumber_spots(struct code_spots *spots, const uint32_t *images)
{
	for (size_t i = 0; i < spots->count; i++)
		spots->list[i].image = images[spots->list[i].image];
}

/* Gives everything that knows an image by its number the new number. */
static void renumber_images(struct generation *generation, struct session *session)
{
	const uint32_t *images = generation->translation.ids.dictionaries[PROFILE_IMAGE];
	size_t position = 0;
	for (struct process *process;
	     (process = number_map_next(&session->processes.processes, &position));)
		process->runtime_image = images[process->runtime_image];
	for (size_t cause = 0; cause < UNKNOWN_CAUSES; cause++)
		session->unknown_images[cause] = images[session->unknown_images[cause]];
	renumber_spots(&session->named, images);
	renumber_spots(&session->owed, images);
	kernel_map_renumber_images(&session->kernel, images);
	file_table_renumber_images(&session->files, images);
	jit_table_renumber_images(&session->jits, images, &generation->jits);
}

/* Replaces tally and dictionaries. The struct profile stays where it is, since others point at it,
 * and so do ids of events. */
static void replace(struct generation *generation, struct session *session)
{
	struct profile before = *session->profile;
	struct tally tally = session->tally;
	redirect(generation, session);
	renumber_images(generation, session);
	groups_renumber(&session->groups, &generation->groups, generation->group_numbers,
			&session->processes, &session->shares);
	edges_forget_files(&session->edges, generation->used.files);
	file_table_forget(&session->files, generation->used.files);
	frame_tables_forget(&session->frames, generation->used.files);
	*session->profile = *generation->dictionaries;
	*generation->dictionaries = before;
	session->tally = generation->tally;
	generation->tally = tally;
	edge_tally_release(&session->edges.tally);
	memset(session->contexts, 0, sizeof(session->contexts));
	session->dictionaries++;
	give_back_all(&session->shares);
}

int session_begin_generation(struct session *session)
{
	CLEANUP(generation_release) struct generation generation = { 0 };
	int ret = init(&generation, session);
	if (ret == 0)
		ret = still_used_find(&generation.used, session);
	if (ret == 0)
		ret = keep_events(&generation);
	if (ret == 0)
		ret = keep_images(&generation);
	if (ret == 0)
		ret = keep_paths(&generation);
	if (ret == 0)
		ret = jit_table_plan_images(&session->jits,
					    generation.translation.ids.dictionaries[PROFILE_IMAGE],
					    &generation.jits);
	if (ret == 0)
		ret = groups_plan(&session->groups, &session->processes, &generation.groups,
				  generation.group_numbers);
	if (ret == 0)
		ret = carry_places(&generation, session);
	if (ret == 0)
		ret = carry_contexts(&generation, session);
	if (ret == 0)
		replace(&generation, session);
	return ret;
}
