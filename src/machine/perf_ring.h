/*
 * perf_ring - the buffer that the kernel writes an event's records into (perf_event_open(2), "MMAP
 * layout"): what of it was written and not taken yet. One thread takes at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct perf_event_mmap_page;

struct perf_ring {
	struct perf_event_mmap_page *control; /* its first page; NULL: not mapped */
	size_t data_bytes;		      /* of what follows; a power of two */
};

/*
 * Finds the bytes that the kernel has written since the last perf_ring_take(): parts[0], and
 * parts[1] where they go on at the ring's start (else empty). They stay as they are until they are
 * taken. 0; or -EOVERFLOW when the control page says what cannot be: something else has written it.
 */
int perf_ring_written(const struct perf_ring *ring, struct span parts[2]);
/* Copies `size` of these bytes from `at` on; at + size is at most what both parts have. */
void perf_ring_copy(const struct span parts[2], size_t at, void *to, size_t size);
/* Gives the first `size_bytes` of them back to the kernel. */
void perf_ring_take(const struct perf_ring *ring, size_t size_bytes);
