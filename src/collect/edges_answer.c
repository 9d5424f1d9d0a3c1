#include "collect/edges_private.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/error.h"
#include "collect/file_table.h"
#include "collect/shares.h"

/* A helper that dealt with strangers' code is as little trusted as they are: it may only name files
 * that it was sent. */
static bool known_file(const struct edge_worker *worker, uint32_t number)
{
	return number < worker->file_state_capacity &&
	       worker->file_states[number] == EDGE_FILE_SENT;
}

static int add_edge(struct edges *edges, const struct edge_worker *worker,
		    const struct edge_waiting *waiting, const struct edge_found *found)
{
	if (!known_file(worker, found->from_file) || !known_file(worker, found->to_file))
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
	/* share_take() counts what it refuses. */
	if (waiting->share && waiting->share->strange && !edge_tally_knows(&edges->tally, &edge) &&
	    !share_take(edges->shares, waiting->share, SHARE_EDGES, 1))
		return 0;
	return edge_tally_add(&edges->tally, &edge);
}

static int read_path(struct edges *edges, const struct edge_worker *worker,
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
		int ret = add_edge(edges, worker, waiting, &found);
		if (ret < 0)
			return ret;
	}
	sums->interpreted++;
	sums->silent += path.edges == 0;
	sums->outcomes += path.edges;
	sums->ends[path.end]++;
	return 0;
}

/* The CPU time that the helper reports, but no more than has passed since its last answer. */
static uint64_t cpu_time(struct edge_worker *worker, uint64_t reported_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t passed_ns = now_ns - worker->answered_ns;
	worker->answered_ns = now_ns;
	return reported_ns < passed_ns ? reported_ns : passed_ns;
}

static int read_answer(struct edges *edges, struct edge_worker *worker,
		       const struct message *answer, size_t *taken)
{
	const struct edge_batch *batch = &worker->under_way;
	struct cursor cursor = cursor_of(answer->payload.data, answer->payload.size);
	struct edge_answer head;
	const void *header = cursor_take(&cursor, sizeof(head));
	if (!header)
		return -EBADMSG;
	memcpy(&head, header, sizeof(head));
	uint64_t cpu_ns = cpu_time(worker, head.cpu_ns);
	int ret = 0;
	for (*taken = 0; *taken < batch->count && ret == 0; *taken += ret == 0)
		ret = read_path(edges, worker, &batch->waiting[*taken], &cursor);
	pace_settle(&worker->pace, batch->count, batch->set_aside_ns, (double)cpu_ns);
	edges->cpu_ns += cpu_ns;
	return ret;
}

/* Waits for the answer until the helper's deadline; a stranger's share pays for the wait. */
static int await(struct edges *edges, struct edge_worker *worker, struct message *answer,
		 struct error *err)
{
	uint64_t begin_ns = clock_monotonic_ns();
	uint64_t passed_ms = (begin_ns - worker->asked_ns) / 1000000;
	uint64_t most_ms = worker->strange ? EDGES_STRANGE_TIMEOUT_MS : EDGES_TIMEOUT_MS;
	uint64_t left_ms = passed_ms < most_ms ? most_ms - passed_ms : 1;
	if (!worker->strange)
		return helper_receive(&worker->helper, (uint32_t)left_ms, answer, err);
	uint64_t paid_ns = share_reading_left_ns(edges->shares, worker->payer);
	uint64_t paid_ms = (paid_ns > SHARE_LEAST_NS ? paid_ns : SHARE_LEAST_NS) / 1000000;
	left_ms = left_ms < paid_ms ? left_ms : paid_ms;
	int ret = helper_receive(&worker->helper, (uint32_t)left_ms, answer, err);
	uint64_t waited_ns = clock_monotonic_ns() - begin_ns;
	share_spend(edges->shares, worker->payer, SHARE_READING, waited_ns);
	worker->paid_ns += waited_ns;
	return ret;
}

/* Removes the first samples, whose paths are counted: only the others are lost. */
static void forget_counted(struct edge_batch *batch, size_t taken)
{
	batch->count -= taken;
	memmove(batch->waiting, batch->waiting + taken, batch->count * sizeof(*batch->waiting));
}

int edges_receive(struct edges *edges, struct edge_worker *worker)
{
	struct message answer;
	struct error err = { 0 };
	size_t taken = 0;
	int ret = await(edges, worker, &answer, &err);
	if (ret == 0) {
		ret = read_answer(edges, worker, &answer, &taken);
		message_release(&answer);
		if (ret == -EBADMSG)
			error_set(&err, ret, "the helper's answer makes no sense");
	} else if (ret == -ENOMEM) {
		ret = -EIO; /* the helper's memory, not ours */
	}
	worker->asked = false;
	if (ret == 0) {
		edge_batch_clear(&worker->under_way, edges->shares);
		return 0;
	}
	if (taken) {
		forget_counted(&worker->under_way, taken);
		edges_lose(edges, &worker->under_way);
	}
	if (ret == -ENOMEM) {
		edges_lose(edges, &worker->under_way);
		return ret;
	}
	helper_kill(&worker->helper);
	return edges_fail(edges, worker, &err);
}
