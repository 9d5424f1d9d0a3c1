/*
 * ring - the buffer that the kernel writes records into (perf_event_open(2)), and the
 * records that were copied out of it and wait to be processed. A ring's records come
 * roughly in the order of their time; ring_merge() hands them out exactly so, up to a
 * limit. The rest waits for the next call.
 *
 * Copying frees the kernel's room at once, so that a slow consumer loses nothing that
 * a fast one would keep. To bound memory no more than RING_WAITING_BYTES of a ring may wait,
 * or twice its size where that is more: what the consumer never catches up with the kernel
 * loses, and counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

/* Of 10,000 samples a second with short stacks these are 3 s. */
#define RING_WAITING_BYTES ((size_t)4 << 20)

struct error;
struct perf_layout;

struct ring_entry {
	uint64_t time;
	uint32_t at; /* in `copied` */
	uint32_t size_bytes;
	uint32_t before_bytes; /* size of the record before it that is attached to it; or 0 */
};

struct ring {
	int fd;		  /* of the event that owns the memory; not closed here */
	bool fd_orphaned; /* no counter has that descriptor any more: counters_release() closes it
			   */
	size_t cpu_slot;
	bool sideband; /* records about processes and mappings; at equal times these come first */
	/* Samples of the event with this identifier are no records of their own: each is attached
	   to the record that the kernel wrote right behind it, whatever their times are. 0: none.
	 */
	uint64_t attached_id;
	struct span attached; /* the one attached to the record that is handed out now; or empty */
	void *memory;	      /* NULL: not mapped */
	size_t data_bytes;
	struct buffer copied;
	struct ring_entry *entries;
	size_t first, count, capacity;
	bool has_more;		/* than was copied: too much waited for it */
	uint64_t damaged_bytes; /* that are no records */
	/* For ring_counted(), also while another thread copies: */
	uint64_t damaged; /* how often a copy had such bytes, up to its end */
	uint64_t bytes;	  /* copied in all */
};

/* Maps the ring of an event; `pages`: of data, a power of two. 0 or negative errno (-EPERM: past
 * the memory that may be locked). */
int ring_map(struct ring *ring, int fd, size_t pages);
void ring_release(struct ring *ring); /* also right for a zeroed one */

/* Copies what the kernel has written so far and sorts it, if there is room for what waits. 0;
 * -ENOMEM: what was not copied stays in the ring; or -EOVERFLOW: the ring's control page is
 * damaged. */
int ring_copy(struct ring *ring, const struct perf_layout *layout);

/* The next record that waits; NULL: none does. */
static inline const struct ring_entry *ring_peek(const struct ring *ring)
{
	return ring->first < ring->count ? &ring->entries[ring->first] : NULL;
}
/* The bytes of a record that waits. */
static inline const uint8_t *ring_bytes(const struct ring *ring, const struct ring_entry *entry)
{
	return ring->copied.data + entry->at;
}

/* How much was copied and waits, about. */
static inline size_t ring_waiting_bytes(const struct ring *ring)
{
	const struct ring_entry *first = ring_peek(ring);
	return first ? ring->copied.size - first->at : 0;
}
/* Until when all records are copied: of those of other rings, no later one may be handed out. */
static inline uint64_t ring_copied_until(const struct ring *ring)
{
	return ring->has_more && ring_peek(ring) ? ring->entries[ring->count - 1].time : UINT64_MAX;
}
/* Reads `damaged` or `bytes` of a ring that another thread may own now. */
static inline uint64_t ring_counted(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/*
 * Calls `handle` for the records of all rings up to time `limit`, in the order of their
 * time. 0, -ENOMEM, or the first negative result of `handle`.
 */
typedef int (*ring_handle)(void *context, struct ring *ring, const void *record, size_t size_bytes);
int ring_merge(struct ring *rings, size_t count, uint64_t limit, ring_handle handle, void *context);

/* For tests: adds records as if they had been copied from the kernel. As ring_copy(). */
int ring_append(struct ring *ring, const void *bytes, size_t size_bytes,
		const struct perf_layout *layout);
