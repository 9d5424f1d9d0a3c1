#include "collect/burst_evidence.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "collect/bursts.h"
#include "collect/session.h"
#include "profile/bill.h"

#define DECODE_MS 2000 /* that decoding the steps of one stretch may take */

static const char *const end_names[STEP_ENDS] = {
	[STEP_DONE] = "done",	    [STEP_UNSAFE] = "unsafe",	    [STEP_SIGNAL] = "signal",
	[STEP_GONE] = "gone",	    [STEP_IDLE] = "idle",	    [STEP_TRACED] = "traced",
	[STEP_REFUSED] = "refused", [STEP_OWN_TRAPS] = "own_traps", [STEP_NARROW] = "narrow",
	[STEP_SLOW] = "slow",
};

/* Stores in *frame the place of one instruction, and in *known whether it lies in a known file. */
static int locate(struct session *session, struct process *process, uint64_t address,
		  struct profile_frame *frame, bool *known)
{
	struct located place;
	int ret = session_locate(session, process, CODE_USER, address, FRAME_IP, &place);
	*frame = (struct profile_frame){ .kind = FRAME_IP,
					 .image = place.image,
					 .vaddr = place.vaddr };
	*known = place.cause == UNKNOWN_NONE;
	return ret;
}

static uint32_t first_event(const struct session *session)
{
	for (size_t i = 0; i < session->counters.sampler_count; i++)
		if (session->counters.samplers[i].sampled)
			return session->counters.samplers[i].id;
	return 0;
}

/* Adds an empty place to the tally: names and code are gathered of all places there. */
static int note_place(struct session *session, uint32_t event, uint32_t context,
		      const struct profile_frame *frame)
{
	struct tally_place place = {
		.event = event, .context = context, .image = frame->image, .vaddr = frame->vaddr
	};
	uint32_t number;
	return tally_place(&session->tally, &place, &number);
}

static int add_edges(struct bursts *bursts, struct session *session, struct process *process,
		     uint32_t event, uint32_t context)
{
	for (size_t i = 0; i < bursts->path->edge_count; i++) {
		struct profile_frame from;
		struct profile_frame to;
		bool from_known;
		bool to_known;
		int ret = locate(session, process, bursts->path->edges[i].from, &from, &from_known);
		if (ret == 0)
			ret = locate(session, process, bursts->path->edges[i].to, &to, &to_known);
		if (ret == 0 && from_known && to_known)
			ret = profile_add_edge(bursts->found, event, context, ORIGIN_STEPPED, &from,
					       &to, 1, 0);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int add_runs(struct bursts *bursts, struct session *session, struct process *process,
		    uint32_t event, uint32_t context)
{
	for (size_t i = 0; i < bursts->path->run_count; i++) {
		struct profile_frame first;
		struct profile_frame last;
		bool first_known;
		bool last_known;
		int ret =
			locate(session, process, bursts->path->runs[i].first, &first, &first_known);
		if (ret == 0)
			ret = locate(session, process, bursts->path->runs[i].last, &last,
				     &last_known);
		if (ret == 0 && first_known && last_known && first.image == last.image)
			ret = profile_add_range(bursts->found, event, context, ORIGIN_STEPPED,
						first.image, first.vaddr, last.vaddr, 1);
		if (ret == 0 && first_known)
			ret = note_place(session, event, context, &first);
		if (ret == 0 && last_known)
			ret = note_place(session, event, context, &last);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* How long decoding may take: it is charged to the user whose program was stepped. */
static uint32_t patience_ms(struct shares *shares, struct share *share)
{
	uint64_t left_ns = share_reading_left_ns(shares, share);
	if (left_ns < SHARE_LEAST_NS)
		return 0;
	return left_ns / 1000000 < DECODE_MS ? (uint32_t)(left_ns / 1000000) : DECODE_MS;
}

/* False: it could not be decoded, which costs this stretch only. */
static bool decode(struct bursts *bursts, struct shares *shares, struct share *share,
		   struct step_flow *flow)
{
	const struct steps *steps = bursts->answer;
	struct message request = { 0 };
	struct message answer = { 0 };
	uint64_t begin_ns = clock_monotonic_ns();
	uint32_t most_ms = patience_ms(shares, share);
	buffer_append(&request.payload, steps->places, steps->count * sizeof(steps->places[0]));
	int ret = buffer_failed(&request.payload) ? -ENOMEM
		  : !most_ms			  ? -EDQUOT
			     : helper_ask(&bursts->decoder, &request, most_ms, &answer, NULL);
	buffer_release(&request.payload);
	share_spend(shares, share, SHARE_READING, clock_monotonic_ns() - begin_ns);
	if (ret < 0) {
		bursts->failures++;
		return false;
	}
	bool whole = answer.payload.size == steps->count * sizeof(*flow);
	if (whole)
		memcpy(flow, answer.payload.data, answer.payload.size);
	else
		bursts->failures++;
	message_release(&answer);
	return whole;
}

static int add_up(struct bursts *bursts, struct session *session)
{
	struct step_flow flow[STEP_LIMIT];
	struct process *process = process_find(&session->processes, bursts->stepped.pid);
	uint32_t context = 0;
	uint32_t event = first_event(session);
	if (!process || !decode(bursts, &session->shares, session_share(session, process), flow))
		return 0;
	step_path_make(bursts->answer, flow, bursts->path);
	/* Contexts by CPU have none: on which CPU the stretch ran is not known. */
	int ret = session->identity & COLLECT_PER_CPU
			  ? 0
			  : session_context(session, process, bursts->stepped.tid, 0, &context);
	if (ret == 0)
		ret = add_edges(bursts, session, process, event, context);
	return ret < 0 ? ret : add_runs(bursts, session, process, event, context);
}

int burst_evidence_add(struct session *session, uint64_t limit_ns)
{
	struct bursts *bursts = &session->bursts;
	if (!bursts->answered || limit_ns < bursts->answer->end_ns)
		return 0;
	bursts->answered = false;
	return add_up(bursts, session);
}

static int flush_edges(const struct bursts *bursts, struct tally_translation *translation)
{
	const struct table *edges = profile_table(bursts->found, PROFILE_EDGE);
	int ret = 0;
	for (size_t row = 0; row < edges->count && ret == 0; row++) {
		const uint64_t *keys = table_keys(edges, row);
		struct profile_frame from = { .vaddr = keys[EDGE_FROM_VADDR] };
		struct profile_frame to = { .vaddr = keys[EDGE_TO_VADDR] };
		uint32_t event;
		uint32_t context;
		ret = tally_translate(translation, PROFILE_EVENT, (uint32_t)keys[EDGE_EVENT],
				      &event);
		if (ret == 0)
			ret = tally_translate(translation, PROFILE_CONTEXT,
					      (uint32_t)keys[EDGE_CONTEXT], &context);
		if (ret == 0)
			ret = tally_translate(translation, PROFILE_IMAGE,
					      (uint32_t)keys[EDGE_FROM_IMAGE], &from.image);
		if (ret == 0)
			ret = tally_translate(translation, PROFILE_IMAGE,
					      (uint32_t)keys[EDGE_TO_IMAGE], &to.image);
		if (ret == 0)
			ret = profile_add_edge(translation->to, event, context, ORIGIN_STEPPED,
					       &from, &to, table_values(edges, row)[0], 0);
	}
	return ret;
}

static int flush_runs(const struct bursts *bursts, struct tally_translation *translation)
{
	const struct table *runs = profile_table(bursts->found, PROFILE_RANGE);
	int ret = 0;
	for (size_t row = 0; row < runs->count && ret == 0; row++) {
		const uint64_t *keys = table_keys(runs, row);
		uint32_t event;
		uint32_t context;
		uint32_t image;
		ret = tally_translate(translation, PROFILE_EVENT, (uint32_t)keys[RANGE_EVENT],
				      &event);
		if (ret == 0)
			ret = tally_translate(translation, PROFILE_CONTEXT,
					      (uint32_t)keys[RANGE_CONTEXT], &context);
		if (ret == 0)
			ret = tally_translate(translation, PROFILE_IMAGE,
					      (uint32_t)keys[RANGE_IMAGE], &image);
		if (ret == 0)
			ret = profile_add_range(translation->to, event, context, ORIGIN_STEPPED,
						image, keys[RANGE_FIRST], keys[RANGE_LAST],
						table_values(runs, row)[0]);
	}
	return ret;
}

static int add_bill(struct profile *to, const char *item, uint64_t now, uint64_t *billed)
{
	int ret = profile_add_bill(to, 0, OPTIONAL_ABSENT, item, now - *billed);
	*billed = now;
	return ret;
}

static int write_bill(struct bursts *bursts, struct profile *to)
{
	int ret = add_bill(to, BILL_BURSTS, bursts->started, &bursts->billed_started);
	if (ret == 0)
		ret = add_bill(to, BILL_STEPS, bursts->steps, &bursts->billed_steps);
	if (ret == 0)
		ret = add_bill(to, BILL_BURST_NS, bursts->ns, &bursts->billed_ns);
	for (size_t i = 0; i < STEP_ENDS && ret == 0; i++) {
		char item[64];
		if (bursts->ends[i] == bursts->billed_ends[i])
			continue;
		snprintf(item, sizeof(item), "%s%s", BILL_BURST_END_PREFIX, end_names[i]);
		ret = add_bill(to, item, bursts->ends[i], &bursts->billed_ends[i]);
	}
	return ret;
}

int burst_evidence_flush(struct bursts *bursts, struct tally_translation *translation)
{
	if (!bursts->stepper)
		return 0;
	int ret = flush_edges(bursts, translation);
	if (ret == 0)
		ret = flush_runs(bursts, translation);
	if (ret == 0)
		ret = write_bill(bursts, translation->to);
	if (ret < 0)
		return ret;
	struct profile *empty = profile_new();
	if (!empty)
		return -ENOMEM;
	profile_free(bursts->found);
	bursts->found = empty;
	return 0;
}
