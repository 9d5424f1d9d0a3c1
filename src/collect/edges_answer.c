#include "collect/edges_private.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/error.h"
#include "collect/file_table.h"
#include "collect/shares.h"

/* A helper that dealt with strangers' code is as little trusted as they are. Files may have come
 * since it was asked. */
static bool known_file(const struct edge_lane *lane, uint32_t number)
{
	return number < lane->told_capacity && lane->told[number] == EDGE_TOLD;
}

static int add_edge(struct edges *edges, const struct edge_lane *lane,
		    const struct edge_waiting *waiting, const struct edge_found *found)
{
	if (!known_file(lane, found->from_file) || !known_file(lane, found->to_file))
		return -EBADMSG;
	struct edge_row edge = { .event = waiting->event,
				 .context = waiting->context,
				 .from_vaddr = found->from_vaddr,
				 .to_vaddr = found->to_vaddr,
				 .asker = waiting->share ? share_asker(waiting->share) : 0 };
	int ret = file_table_image(edges->files, found->from_file, &edge.from_image);
	if (ret == 0)
		ret = file_table_image(edges->files, found->to_file, &edge.to_image);
	if (ret < 0)
		return ret;
	/* What its user has no room for is counted there. */
	if (waiting->share && waiting->share->strange && !edge_tally_knows(&edges->tally, &edge) &&
	    !share_take(edges->shares, waiting->share, SHARE_EDGES, 1))
		return 0;
	return edge_tally_add(&edges->tally, &edge);
}

static int take_path(struct edges *edges, const struct edge_lane *lane,
		     const struct edge_waiting *waiting, struct cursor *cursor)
{
	struct edge_sums *sums = &edges->sums[waiting->sampler];
	struct edge_path path;
	const void *header = cursor_take(cursor, sizeof(path));
	if (!header)
		return -EBADMSG;
	memcpy(&path, header, sizeof(path));
	if (path.end >= INTERPRET_ENDS || path.edges > EDGE_INSTRUCTIONS)
		return -EBADMSG;
	for (uint32_t i = 0; i < path.edges; i++) {
		struct edge_found found;
		const void *bytes = cursor_take(cursor, sizeof(found));
		if (!bytes)
			return -EBADMSG;
		memcpy(&found, bytes, sizeof(found));
		int ret = add_edge(edges, lane, waiting, &found);
		if (ret < 0)
			return ret;
	}
	sums->interpreted++;
	sums->silent += path.edges == 0;
	sums->outcomes += path.edges;
	sums->ends[path.end]++;
	return 0;
}

/* What it says that it took, which cannot be more than has passed. */
static uint64_t cpu_time(struct edge_lane *lane, uint64_t told_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t passed_ns = now_ns - lane->answered_ns;
	lane->answered_ns = now_ns;
	return told_ns < passed_ns ? told_ns : passed_ns;
}

static int take_answer(struct edges *edges, struct edge_lane *lane, const struct message *answer,
		       size_t *taken)
{
	const struct edge_batch *batch = &lane->under_way;
	struct cursor cursor = cursor_of(answer->payload.data, answer->payload.size);
	struct edge_answer told;
	const void *header = cursor_take(&cursor, sizeof(told));
	if (!header)
		return -EBADMSG;
	memcpy(&told, header, sizeof(told));
	uint64_t cpu_ns = cpu_time(lane, told.cpu_ns);
	int ret = 0;
	for (*taken = 0; *taken < batch->count && ret == 0; *taken += ret == 0)
		ret = take_path(edges, lane, &batch->waiting[*taken], &cursor);
	pace_settle(&lane->pace, batch->count, batch->set_aside_ns, (double)cpu_ns);
	edges->cpu_ns += cpu_ns;
	return ret;
}

/* Waits for an answer, for which the helper has until its deadline. */
static int await(struct edges *edges, struct edge_lane *lane, struct message *answer,
		 struct error *err)
{
	uint64_t begin_ns = clock_monotonic_ns();
	uint64_t passed_ms = (begin_ns - lane->asked_ns) / 1000000;
	uint64_t most_ms = lane->strange ? EDGES_STRANGE_TIMEOUT_MS : EDGES_TIMEOUT_MS;
	uint64_t left_ms = passed_ms < most_ms ? most_ms - passed_ms : 1;
	if (!lane->strange)
		return helper_receive(&lane->helper, (uint32_t)left_ms, answer, err);
	uint64_t paid_ns = share_reading_left_ns(edges->shares, lane->payer);
	uint64_t paid_ms = (paid_ns > SHARE_LEAST_NS ? paid_ns : SHARE_LEAST_NS) / 1000000;
	left_ms = left_ms < paid_ms ? left_ms : paid_ms;
	int ret = helper_receive(&lane->helper, (uint32_t)left_ms, answer, err);
	uint64_t waited_ns = clock_monotonic_ns() - begin_ns;
	share_spend(edges->shares, lane->payer, SHARE_READING, waited_ns);
	lane->paid_ns += waited_ns;
	return ret;
}

/* Those before are counted. */
static void forget_taken(struct edge_batch *batch, size_t taken)
{
	batch->count -= taken;
	memmove(batch->waiting, batch->waiting + taken, batch->count * sizeof(*batch->waiting));
}

int edges_receive(struct edges *edges, struct edge_lane *lane)
{
	struct message answer;
	struct error err = { 0 };
	size_t taken = 0;
	int ret = await(edges, lane, &answer, &err);
	if (ret == 0) {
		ret = take_answer(edges, lane, &answer, &taken);
		message_release(&answer);
		if (ret == -EBADMSG)
			error_set(&err, ret, "the helper's answer makes no sense");
	} else if (ret == -ENOMEM) {
		ret = -EIO; /* the helper's memory, not ours */
	}
	lane->asked = false;
	if (ret == 0) {
		edge_batch_clear(&lane->under_way, edges->shares);
		return 0;
	}
	if (taken) {
		forget_taken(&lane->under_way, taken);
		edges_lose(edges, &lane->under_way);
	}
	if (ret == -ENOMEM) {
		edges_lose(edges, &lane->under_way);
		return ret;
	}
	helper_kill(&lane->helper);
	return edges_fail(edges, lane, &err);
}
