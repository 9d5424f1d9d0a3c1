/*
 * edge_batch - samples that wait to be interpreted (collect/edges.h), with the registers, the
 * memory and the mappings of their moment.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"
#include "collect/edge_helper.h"
#include "machine/sample_memory.h"

struct address_space;
struct perf_sample;
struct share;
struct shares;

/* 3 MB, 10 with what they point to; a service comes ten times a second. */
#define EDGE_BATCH_SAMPLES 8192u
#define EDGE_BATCH_SPACES  256u

struct edge_waiting { /* whose sample it is */
	uint32_t sampler, event, context;
	struct share *share; /* whose program it is; NULL: nobody's that is limited */
};

struct edge_batch {
	struct edge_sample *samples;
	struct edge_waiting *waiting; /* as many */
	size_t count, capacity, waiting_capacity;
	struct buffer blocks;	       /* of all samples, in their order */
	struct address_space **spaces; /* shared: they stay as they are */
	size_t space_count, space_capacity;
	double set_aside_ns; /* by the pace */
};

/* 0; -E2BIG: it is full; or -ENOMEM. */
int edge_batch_add(struct edge_batch *batch, const struct edge_waiting *waiting,
		   const struct perf_sample *sample, struct span blocks,
		   struct address_space *space);
/* Forgets all samples; `shares` (or NULL) get back what only they still held. */
void edge_batch_clear(struct edge_batch *batch, struct shares *shares);
void edge_batch_release(struct edge_batch *batch, struct shares *shares);
/* Moves the samples of `share` to `of_share` and the others to `rest`, both empty before. 0 or
 * -ENOMEM, and then some are in neither. */
int edge_batch_part(struct edge_batch *batch, const struct share *share,
		    struct edge_batch *of_share, struct edge_batch *rest, struct shares *shares);
/* Moves all samples behind those of `to`. 0, -E2BIG (no room: nothing is moved) or -ENOMEM. */
int edge_batch_append(struct edge_batch *batch, struct edge_batch *to, struct shares *shares);
