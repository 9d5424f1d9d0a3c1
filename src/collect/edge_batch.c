#include "collect/edge_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/shares.h"
#include "image/address_space.h"
#include "machine/perf_record.h"

/* The process may be gone, or go on with a copy: then the batch is the last to use the space and
 * gives its mappings back to the share. */
static void drop_space(struct shares *shares, struct address_space *space)
{
	if (shares && space->share && space->references == 1)
		share_give_back(shares, space->share, SHARE_MAPPINGS, space->held);
	address_space_drop(space);
}

void edge_batch_clear(struct edge_batch *batch, struct shares *shares)
{
	for (size_t i = 0; i < batch->space_count; i++)
		drop_space(shares, batch->spaces[i]);
	batch->space_count = 0;
	batch->count = 0;
	buffer_empty(&batch->blocks);
	batch->set_aside_ns = 0;
}

void edge_batch_release(struct edge_batch *batch, struct shares *shares)
{
	edge_batch_clear(batch, shares);
	free(batch->samples);
	free(batch->waiting);
	free(batch->spaces);
	buffer_release(&batch->blocks);
	*batch = (struct edge_batch){ 0 };
}

/* The number of a space in the batch. -E2BIG: there are too many. */
static int find_space(struct edge_batch *batch, struct address_space *space, uint32_t *number)
{
	for (size_t i = batch->space_count; i-- > 0;)
		if (batch->spaces[i] == space) {
			*number = (uint32_t)i;
			return 0;
		}
	if (batch->space_count == EDGE_BATCH_SPACES)
		return -E2BIG;
	int ret = array_reserve(&batch->spaces, &batch->space_capacity, batch->space_count,
				sizeof(struct address_space *));
	if (ret < 0)
		return ret;
	*number = (uint32_t)batch->space_count;
	batch->spaces[batch->space_count++] = address_space_share(space);
	return 0;
}

/* Adds one more sample of that space, with its blocks; the caller fills batch->samples. */
static int extend(struct edge_batch *batch, const struct edge_waiting *waiting, struct span blocks,
		  struct address_space *space, uint32_t *number)
{
	int ret = batch->count < EDGE_BATCH_SAMPLES ? find_space(batch, space, number) : -E2BIG;
	if (ret == 0)
		ret = array_reserve(&batch->samples, &batch->capacity, batch->count,
				    sizeof(*batch->samples));
	if (ret == 0)
		ret = array_reserve(&batch->waiting, &batch->waiting_capacity, batch->count,
				    sizeof(*batch->waiting));
	if (ret < 0)
		return ret;
	buffer_append(&batch->blocks, blocks.data, blocks.size);
	if (buffer_failed(&batch->blocks))
		return -ENOMEM;
	batch->waiting[batch->count++] = *waiting;
	return 0;
}

int edge_batch_add(struct edge_batch *batch, const struct edge_waiting *waiting,
		   const struct perf_sample *sample, struct span blocks,
		   struct address_space *space)
{
	size_t block_count = blocks.size / sizeof(struct sample_memory_block);
	if (block_count > SAMPLE_MEMORY_BLOCKS)
		block_count = SAMPLE_MEMORY_BLOCKS;
	blocks.size = block_count * sizeof(struct sample_memory_block);
	uint32_t number;
	int ret = extend(batch, waiting, blocks, space, &number);
	if (ret < 0)
		return ret;
	struct edge_sample *added = &batch->samples[batch->count - 1];
	*added = (struct edge_sample){ .space = number, .blocks = (uint32_t)block_count };
	for (uint64_t i = 0; i < sample->user_registers.count; i++)
		added->registers[i] = perf_word(&sample->user_registers, i);
	added->stack_bytes = sample->user_stack.size < sizeof(added->stack)
				     ? (uint32_t)sample->user_stack.size
				     : (uint32_t)sizeof(added->stack);
	if (added->stack_bytes)
		memcpy(added->stack, sample->user_stack.data, added->stack_bytes);
	return 0;
}

/* Copies sample `i`, whose blocks begin at `at`. */
static int copy(const struct edge_batch *batch, size_t i, size_t at, struct edge_batch *to)
{
	const struct edge_sample *sample = &batch->samples[i];
	const struct span blocks = { batch->blocks.data ? batch->blocks.data + at : NULL,
				     sample->blocks * sizeof(struct sample_memory_block) };
	uint32_t number;
	int ret = extend(to, &batch->waiting[i], blocks, batch->spaces[sample->space], &number);
	if (ret < 0)
		return ret;
	to->samples[to->count - 1] = *sample;
	to->samples[to->count - 1].space = number;
	double part = batch->set_aside_ns / (double)batch->count;
	to->set_aside_ns += part;
	return 0;
}

static size_t blocks_size(const struct edge_batch *batch, size_t i)
{
	return batch->samples[i].blocks * sizeof(struct sample_memory_block);
}

int edge_batch_part(struct edge_batch *batch, const struct share *share,
		    struct edge_batch *of_share, struct edge_batch *rest, struct shares *shares)
{
	int ret = 0;
	for (size_t i = 0, at = 0; i < batch->count && ret == 0; i++) {
		ret = copy(batch, i, at, batch->waiting[i].share == share ? of_share : rest);
		at += blocks_size(batch, i);
	}
	edge_batch_clear(batch, shares);
	return ret;
}

int edge_batch_append(struct edge_batch *batch, struct edge_batch *to, struct shares *shares)
{
	if (to->count + batch->count > EDGE_BATCH_SAMPLES ||
	    to->space_count + batch->space_count > EDGE_BATCH_SPACES)
		return -E2BIG;
	int ret = 0;
	for (size_t i = 0, at = 0; i < batch->count && ret == 0; i++) {
		ret = copy(batch, i, at, to);
		at += blocks_size(batch, i);
	}
	edge_batch_clear(batch, shares);
	return ret;
}
