/*
 * edge_batch - samples that wait to be interpreted (collect/edges.h), with the registers, the
 * memory and the mappings as they were at the sample.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"
#include "bpf/sample_memory.h"
#include "collect/edge_helper.h"

struct address_space;
struct perf_sample;
struct share;
struct shares;

/* 3 MB, or 10 MB with the memory that registers point to. */
#define EDGE_BATCH_SAMPLES 8192u
#define EDGE_BATCH_SPACES  256u

struct edge_waiting { /* what a sample belongs to */
	uint32_t sampler, event, context;
	struct share *share; /* of the program's user; NULL: not limited */
};

struct edge_batch {
	struct edge_sample *samples;
	struct edge_waiting *waiting; /* by sample, too */
	size_t count, capacity, waiting_capacity;
	struct buffer blocks; /* struct sample_memory_block of all samples, in their order */
	struct address_space **spaces; /* references, whose mappings do not change any more */
	size_t space_count, space_capacity;
	double set_aside_ns; /* by pace_admit(), for all samples */
};

/* Adds a sample with its `blocks` (struct sample_memory_block) and mappings. 0; -E2BIG: the batch
 * is full; or -ENOMEM. */
int edge_batch_add(struct edge_batch *batch, const struct edge_waiting *waiting,
		   const struct perf_sample *sample, struct span blocks,
		   struct address_space *space);
/* Drops all samples; `shares` (or NULL) get back what address spaces held that nobody else uses. */
void edge_batch_clear(struct edge_batch *batch, struct shares *shares);
void edge_batch_release(struct edge_batch *batch, struct shares *shares);
/* Moves the samples of `share` to `of_share` and the others to `rest`, both empty before. 0 or
 * -ENOMEM, and then some are in neither. */
int edge_batch_part(struct edge_batch *batch, const struct share *share,
		    struct edge_batch *of_share, struct edge_batch *rest, struct shares *shares);
/* Moves all samples behind those of `to`. 0, -E2BIG (no room: nothing is moved) or -ENOMEM. */
int edge_batch_append(struct edge_batch *batch, struct edge_batch *to, struct shares *shares);
