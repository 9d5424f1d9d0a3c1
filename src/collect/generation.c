#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/session.h"

/* Samples that wait for their weight have their places in both until we know that all went well. */
static int carry_waiting(const struct session *session, struct tally *next, uint32_t *carried)
{
	const struct counters *counters = &session->counters;
	size_t at = 0;
	for (size_t i = 0; i < counters->sampler_count * counters->cpu_count; i++) {
		const struct weight *weight = &counters->lanes[i].weight;
		for (size_t sample = 0; sample < weight->count; sample++, at++) {
			carried[at] = SESSION_FILTERED_TARGET;
			if (weight->targets[sample] == SESSION_FILTERED_TARGET)
				continue;
			int ret = tally_carry(&session->tally, weight->targets[sample], next,
					      &carried[at]);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

static size_t count_waiting(const struct counters *counters)
{
	size_t count = 0;
	for (size_t i = 0; i < counters->sampler_count * counters->cpu_count; i++)
		count += counters->lanes[i].weight.count;
	return count;
}

static void redirect_waiting(struct counters *counters, const uint32_t *carried)
{
	size_t at = 0;
	for (size_t i = 0; i < counters->sampler_count * counters->cpu_count; i++) {
		struct weight *weight = &counters->lanes[i].weight;
		for (size_t sample = 0; sample < weight->count; sample++)
			weight->targets[sample] = carried[at++];
	}
}

static void give_back_all(struct shares *shares, struct share *share)
{
	static const enum share_of dropped[] = { SHARE_STACKS, SHARE_PLACES, SHARE_EDGES };
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		share_give_back(shares, share, dropped[i], share->held[dropped[i]]);
}

int session_begin_generation(struct session *session)
{
	size_t position = 0;
	struct tally next;
	CLEANUP(free_pointer)
	uint32_t *carried = calloc(count_waiting(&session->counters) + 1, sizeof(*carried));
	int ret = carried ? tally_init(&next, session->profile) : -ENOMEM;
	if (ret < 0)
		return ret;
	ret = carry_waiting(session, &next, carried);
	if (ret < 0) {
		tally_release(&next);
		return ret;
	}
	redirect_waiting(&session->counters, carried);
	tally_release(&session->tally);
	session->tally = next;
	edge_tally_release(&session->edges.tally);
	/* There is room for them again. */
	give_back_all(&session->shares, &session->shares.rest);
	give_back_all(&session->shares, &session->shares.ended);
	for (struct share *share; (share = number_map_next(&session->shares.by_user, &position));)
		give_back_all(&session->shares, share);
	return 0;
}
