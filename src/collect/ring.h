/*
 * ring - the memory in which the kernel leaves records for us, and what was
 * copied out of it and waits to be handled. A ring's records come roughly in the
 * order of their time; ring_merge() hands them out exactly so, up to a limit, the
 * rest waits for the next drain.
 *
 * Copying first makes the room free again at once, so a slow consumer loses
 * nothing that a fast one would keep.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

struct error;
struct perf_layout;

struct ring_entry {
	uint64_t time;
	uint32_t at; /* in `copied` */
	uint32_t size_bytes;
	uint32_t before_bytes; /* of what was attached to it */
};

struct ring {
	int fd;	    /* of the event that owns the memory; not closed here */
	bool alone; /* no counter has that descriptor any more */
	size_t cpu_slot;
	bool sideband; /* processes and mappings; of equal times these come first */
	/* Samples of the event with this identifier are no records of their own: each is attached
	   to the record that the kernel wrote right behind it, whatever their times are. 0: none.
	 */
	uint64_t attached_id;
	struct span attached; /* to the record that is handed out now; empty: nothing */
	void *memory;	      /* NULL: not mapped */
	size_t data_bytes;
	struct buffer copied;
	struct ring_entry *entries;
	size_t first, count, capacity;
	uint64_t damaged_bytes; /* that made no sense as records */
	/* Of ring_counted(), which may be asked while another thread copies: */
	uint64_t damaged; /* how often: what follows in the copy is not understood either */
	uint64_t bytes;	  /* copied in all */
};

/* `pages`: of data, a power of two. 0 or negative errno (-EPERM: past the memory that may be
 * locked). */
int ring_map(struct ring *ring, int fd, size_t pages);
void ring_release(struct ring *ring); /* also right for a zeroed one */

/* Copies what the kernel has written so far and puts it in order. 0 or -ENOMEM; then the rest stays
 * in the ring. */
int ring_copy(struct ring *ring, const struct perf_layout *layout);

static inline const struct ring_entry *ring_peek(const struct ring *ring)
{
	return ring->first < ring->count ? &ring->entries[ring->first] : NULL;
}
static inline const uint8_t *ring_bytes(const struct ring *ring, const struct ring_entry *entry)
{
	return ring->copied.data + entry->at;
}

/* About what was copied and waits to be handled. */
static inline size_t ring_waiting_bytes(const struct ring *ring)
{
	const struct ring_entry *first = ring_peek(ring);
	return first ? ring->copied.size - first->at : 0;
}
/* One of the two counts above, for whoever does not own the ring now. */
static inline uint64_t ring_counted(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/*
 * Hands out the records of all rings up to `limit` in the order of their time.
 * Returns 0 or the first negative result of `handle`.
 */
typedef int (*ring_handle)(void *context, struct ring *ring, const void *record, size_t size_bytes);
int ring_merge(struct ring *rings, size_t count, uint64_t limit, ring_handle handle, void *context);

/* For tests and files: takes `size_bytes` of records as if the kernel had written them. */
int ring_append(struct ring *ring, const void *bytes, size_t size_bytes,
		const struct perf_layout *layout);
