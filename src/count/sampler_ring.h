/*
 * sampler_ring - the records of a ring, one after the other, without memory of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct perf_ring;

/* A record's size is 16 bits wide. */
#define SAMPLER_RECORD_MOST 65536

typedef void (*sampler_handle)(void *context, const uint8_t *record, size_t size_bytes);

/*
 * Calls `handle` for each record that the kernel has written, and gives its room back afterwards.
 * `room` has SAMPLER_RECORD_MOST bytes, for a record that goes on at the ring's start. What ends
 * inside a record is left for the next call. 0; -EOVERFLOW (perf_ring_written()), nothing is taken
 * then; -EBADMSG for a record of impossible size: what stands before it was handled, the rest, in
 * which no record can be found any more, is given back.
 */
int sampler_ring_take(const struct perf_ring *ring, uint8_t *room, sampler_handle handle,
		      void *context);
