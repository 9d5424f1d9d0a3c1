#include "collect/edges_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "image/address_space.h"

#define MOST_FILES_SENT 1024u /* with more a new helper is started, for those still needed */

static int reserve_file_states(struct edges *edges, struct edge_worker *worker)
{
	size_t wanted = edges->files->count + 1;
	if (wanted <= worker->file_state_capacity)
		return 0;
	wanted += wanted / 2;
	uint8_t *grown = realloc(worker->file_states, wanted);
	if (!grown)
		return -ENOMEM;
	memset(grown + worker->file_state_capacity, EDGE_FILE_UNSENT,
	       wanted - worker->file_state_capacity);
	worker->file_states = grown;
	worker->file_state_capacity = wanted;
	return 0;
}

/* How long the helper may take for one request. */
static uint32_t patience_ms(const struct edges *edges, const struct edge_worker *worker)
{
	if (!worker->strange)
		return EDGES_TIMEOUT_MS;
	uint64_t left_ms = shares_time_left_ns(edges->shares) / 1000000;
	return left_ms < EDGES_STRANGE_TIMEOUT_MS ? (uint32_t)left_ms + 1
						  : EDGES_STRANGE_TIMEOUT_MS;
}

/* A file that cannot be sent is marked and passed over. Negative when the helper is gone, or
 * recording was asked to end. */
static int send_file(struct edges *edges, struct edge_worker *worker, uint32_t number,
		     struct error *err)
{
	const struct file *file = file_table_get(edges->files, number);
	if (!file || worker->file_states[number] != EDGE_FILE_UNSENT || !file_may_stay_open(file))
		return 0;
	const struct share *owner = file->share;
	/* The helper keeps it mapped, which must not keep a file system from being unmounted. */
	CLEANUP(close_fd) int fd = file_table_open_for_long(edges->files, number);
	if (fd < 0) {
		bool in_time =
			!worker->strange || shares_time_left_ns(edges->shares) >= SHARE_LEAST_NS;
		worker->file_states[number] = in_time ? EDGE_FILE_REFUSED : EDGE_FILE_UNSENT;
		return 0;
	}
	struct message request = {
		.header = { .operation = EDGE_SET_FILE, .what = number, .fd_count = 1 },
		.fds = { fd }
	};
	struct message answer;
	int ret = helper_ask(&worker->helper, &request, patience_ms(edges, worker), &answer, err);
	if (ret == 0)
		message_release(&answer);
	if (ret == -ECANCELED)
		return ret;
	worker->files_sent += ret == 0;
	/* That a helper died, or ran out of time, is this file's fault only where no other
	 * stranger's files or samples can be to blame. */
	bool its_own = !worker->strange || (owner == worker->payer && !worker->mixed);
	if (ret == 0 || worker->helper.pid || its_own)
		worker->file_states[number] = ret == 0 ? EDGE_FILE_SENT : EDGE_FILE_REFUSED;
	return ret < 0 && !worker->helper.pid ? -EIO : 0;
}

static int send_files(struct edges *edges, struct edge_worker *worker, struct error *err)
{
	const struct edge_batch *batch = &worker->under_way;
	int ret = reserve_file_states(edges, worker);
	for (size_t i = 0; i < batch->space_count; i++) {
		struct mapping_place place = { 0 };
		const struct mapping *mapping;
		while (ret == 0 && (mapping = address_space_next(batch->spaces[i], &place)))
			ret = send_file(edges, worker, mapping->file, err);
	}
	return ret;
}

static int send_batch(struct edges *edges, struct edge_worker *worker, struct error *err)
{
	const struct edge_batch *batch = &worker->under_way;
	struct message message = { .header.operation = EDGE_RUN };
	struct edge_request request = { .registers = edges->registers,
					.spaces = (uint32_t)batch->space_count,
					.samples = (uint32_t)batch->count };
	buffer_append(&message.payload, &request, sizeof(request));
	for (size_t i = 0; i < batch->space_count; i++) {
		const struct address_space *space = batch->spaces[i];
		struct edge_space_request header = { .count = space->count };
		buffer_append(&message.payload, &header, sizeof(header));
		for (size_t j = 0; j < space->block_count; j++)
			buffer_append(&message.payload, space->blocks[j].list,
				      space->blocks[j].count * sizeof(struct mapping));
	}
	buffer_append(&message.payload, batch->samples, batch->count * sizeof(*batch->samples));
	buffer_append(&message.payload, batch->blocks.data, batch->blocks.size);
	int ret = helper_send(&worker->helper, &message, patience_ms(edges, worker), err);
	buffer_release(&message.payload);
	return ret;
}

/* Moves to `under_way` what is sent next: all that waits, or the samples of one stranger. */
static int choose_batch(struct edges *edges, struct edge_worker *worker)
{
	struct edge_batch *gathering = &worker->gathering;
	struct edge_batch spare = worker->under_way; /* empty */
	bool one = true;
	worker->payer = worker->strange ? gathering->waiting[0].share : NULL;
	for (size_t i = 0; worker->strange && i < gathering->count; i++) {
		one = one && gathering->waiting[i].share == gathering->waiting[0].share;
		if (gathering->waiting[i].share == worker->again)
			worker->payer = worker->again;
	}
	worker->again = NULL;
	if (one) {
		worker->under_way = *gathering;
		*gathering = spare;
		return 0;
	}
	int ret = edge_batch_part(gathering, worker->payer, &worker->under_way, &worker->spare,
				  edges->shares);
	spare = *gathering;
	*gathering = worker->spare;
	worker->spare = spare;
	return ret;
}

static int send_files_and_batch(struct edges *edges, struct edge_worker *worker, struct error *err)
{
	if (worker->files_sent > MOST_FILES_SENT || worker->outdated) {
		helper_kill(&worker->helper);
		edges_forget_helper(worker);
	}
	worker->mixed = worker->mixed || (worker->first && worker->first != worker->payer);
	worker->first = worker->first ? worker->first : worker->payer;
	int ret = send_files(edges, worker, err);
	return ret < 0 ? ret : send_batch(edges, worker, err);
}

/* False: the payer has no time left, and the batch is counted as thinned. */
static bool can_pay(struct edges *edges, struct edge_worker *worker)
{
	struct edge_batch *batch = &worker->under_way;
	if (!worker->strange ||
	    share_reading_left_ns(edges->shares, worker->payer) >= SHARE_LEAST_NS)
		return true;
	for (size_t i = 0; i < batch->count; i++)
		edges->sums[batch->waiting[i].sampler].thinned++;
	edge_batch_clear(batch, edges->shares);
	return false;
}

int edges_ask(struct edges *edges, struct edge_worker *worker)
{
	if (!worker->gathering.count)
		return 0;
	int ret = choose_batch(edges, worker);
	worker->asked_ns = clock_monotonic_ns();
	if (ret < 0 || !can_pay(edges, worker))
		return ret;
	if (!worker->on) {
		edges_lose(edges, &worker->under_way);
		return 0;
	}
	struct error err = { 0 };
	struct reader *reader = edges->files->reader;
	if (worker->strange)
		shares_charge(edges->shares, worker->payer, SHARE_READING, 0, reader);
	ret = send_files_and_batch(edges, worker, &err);
	if (worker->strange)
		shares_settle(edges->shares, reader);
	worker->paid_ns = clock_monotonic_ns() - worker->asked_ns;
	worker->asked = ret == 0;
	if (ret == 0)
		return 0;
	if (ret != -ENOMEM)
		return edges_fail(edges, worker, &err);
	edges_lose(edges, &worker->under_way);
	return ret;
}
