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

#define TOLD_FILES 1024u /* then the helper starts anew with those that are needed */

static int reserve_told(struct edges *edges, struct edge_lane *lane)
{
	size_t wanted = edges->files->count + 1;
	if (wanted <= lane->told_capacity)
		return 0;
	wanted += wanted / 2;
	uint8_t *told = realloc(lane->told, wanted);
	if (!told)
		return -ENOMEM;
	memset(told + lane->told_capacity, EDGE_UNTOLD, wanted - lane->told_capacity);
	lane->told = told;
	lane->told_capacity = wanted;
	return 0;
}

/* How long a request may be waited for now. */
static uint32_t patience_ms(const struct edges *edges, const struct edge_lane *lane)
{
	if (!lane->strange)
		return EDGES_TIMEOUT_MS;
	uint64_t left_ms = shares_time_left_ns(edges->shares) / 1000000;
	return left_ms < EDGES_STRANGE_TIMEOUT_MS ? (uint32_t)left_ms + 1
						  : EDGES_STRANGE_TIMEOUT_MS;
}

/* Negative when the helper is gone, or we are asked to end. */
static int tell_file(struct edges *edges, struct edge_lane *lane, uint32_t number,
		     struct error *err)
{
	const struct file *file = file_table_get(edges->files, number);
	if (!file || lane->told[number] != EDGE_UNTOLD || !file_may_stay_open(file))
		return 0;
	const struct share *owner = file->share;
	/* The helper maps it: a file elsewhere as a copy only. */
	CLEANUP(close_fd) int fd = file_table_open_for_long(edges->files, number);
	if (fd < 0) {
		bool in_time =
			!lane->strange || shares_time_left_ns(edges->shares) >= SHARE_LEAST_NS;
		lane->told[number] = in_time ? EDGE_REFUSED : EDGE_UNTOLD;
		return 0;
	}
	struct message request = {
		.header = { .operation = EDGE_SET_FILE, .what = number, .fd_count = 1 },
		.fds = { fd }
	};
	struct message answer;
	int ret = helper_ask(&lane->helper, &request, patience_ms(edges, lane), &answer, err);
	if (ret == 0)
		message_release(&answer);
	if (ret == -ECANCELED)
		return ret;
	lane->told_count += ret == 0;
	/* What a stranger had too little time for may be somebody else's. */
	bool its_own = !lane->strange || (owner == lane->payer && !lane->mixed);
	if (ret == 0 || lane->helper.pid || its_own)
		lane->told[number] = ret == 0 ? EDGE_TOLD : EDGE_REFUSED;
	return ret < 0 && !lane->helper.pid ? -EIO : 0;
}

static int tell_files(struct edges *edges, struct edge_lane *lane, struct error *err)
{
	const struct edge_batch *batch = &lane->under_way;
	int ret = reserve_told(edges, lane);
	for (size_t i = 0; i < batch->space_count; i++) {
		struct mapping_place place = { 0 };
		const struct mapping *mapping;
		while (ret == 0 && (mapping = address_space_next(batch->spaces[i], &place)))
			ret = tell_file(edges, lane, mapping->file, err);
	}
	return ret;
}

static int send_batch(struct edges *edges, struct edge_lane *lane, struct error *err)
{
	const struct edge_batch *batch = &lane->under_way;
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
	int ret = helper_send(&lane->helper, &message, patience_ms(edges, lane), err);
	buffer_release(&message.payload);
	return ret;
}

/* Chooses what the helper is given: all that is trusted, or what waits of one stranger. */
static int choose_batch(struct edges *edges, struct edge_lane *lane)
{
	struct edge_batch *gathering = &lane->gathering;
	struct edge_batch spare = lane->under_way; /* empty */
	bool one = true;
	lane->payer = lane->strange ? gathering->waiting[0].share : NULL;
	for (size_t i = 0; lane->strange && i < gathering->count; i++) {
		one = one && gathering->waiting[i].share == gathering->waiting[0].share;
		if (gathering->waiting[i].share == lane->again)
			lane->payer = lane->again;
	}
	lane->again = NULL;
	if (one) {
		lane->under_way = *gathering;
		*gathering = spare;
		return 0;
	}
	int ret = edge_batch_part(gathering, lane->payer, &lane->under_way, &lane->spare,
				  edges->shares);
	spare = *gathering;
	*gathering = lane->spare;
	lane->spare = spare;
	return ret;
}

static int tell_and_send(struct edges *edges, struct edge_lane *lane, struct error *err)
{
	if (lane->told_count > TOLD_FILES) {
		helper_kill(&lane->helper);
		edges_forget_helper(lane);
	}
	lane->mixed = lane->mixed || (lane->first && lane->first != lane->payer);
	lane->first = lane->first ? lane->first : lane->payer;
	int ret = tell_files(edges, lane, err);
	return ret < 0 ? ret : send_batch(edges, lane, err);
}

/* What there is no time for goes the way of what the budget has no room for. */
static bool can_pay(struct edges *edges, struct edge_lane *lane)
{
	struct edge_batch *batch = &lane->under_way;
	if (!lane->strange || share_reading_left_ns(edges->shares, lane->payer) >= SHARE_LEAST_NS)
		return true;
	for (size_t i = 0; i < batch->count; i++)
		edges->sums[batch->waiting[i].sampler].thinned++;
	edge_batch_clear(batch, edges->shares);
	return false;
}

int edges_ask(struct edges *edges, struct edge_lane *lane)
{
	if (!lane->gathering.count)
		return 0;
	int ret = choose_batch(edges, lane);
	lane->asked_ns = clock_monotonic_ns();
	if (ret < 0 || !can_pay(edges, lane))
		return ret;
	if (!lane->on) {
		edges_lose(edges, &lane->under_way);
		return 0;
	}
	struct error err = { 0 };
	struct reader *reader = edges->files->reader;
	if (lane->strange)
		shares_charge(edges->shares, lane->payer, SHARE_READING, 0, reader);
	ret = tell_and_send(edges, lane, &err);
	if (lane->strange)
		shares_settle(edges->shares, reader);
	lane->paid_ns = clock_monotonic_ns() - lane->asked_ns;
	lane->asked = ret == 0;
	if (ret == 0)
		return 0;
	if (ret != -ENOMEM)
		return edges_fail(edges, lane, &err);
	edges_lose(edges, &lane->under_way);
	return ret;
}
