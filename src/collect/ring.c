#include "collect/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "machine/perf_record.h"
#include "machine/perf_ring.h"

/* Of a copy, for the next one: what the kernel wakes us for is less. */
#define KEPT_BYTES ((size_t)2 << 20)

int ring_map(struct ring *ring, int fd, size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	ring->fd = fd;
	ring->memory = memory;
	ring->data_bytes = pages * page;
	return 0;
}

void ring_release(struct ring *ring)
{
	if (ring->memory)
		munmap(ring->memory, ring->data_bytes + (size_t)sysconf(_SC_PAGESIZE));
	buffer_release(&ring->copied);
	free(ring->entries);
	*ring = (struct ring){ .fd = -1 };
}

/* Where in a record its time stands, from the start or (negative) from the end; 0: nowhere. */
static long time_position(const struct perf_layout *layout, uint32_t type)
{
	uint64_t fields = layout->sample_type;
	if (!(fields & PERF_SAMPLE_TIME))
		return 0;
	if (type == PERF_RECORD_SAMPLE) {
		uint64_t before =
			fields & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
		return 8 + 8 * __builtin_popcountll(before);
	}
	if (!layout->sample_id_all)
		return 0;
	uint64_t after = fields & (PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
				   PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	return -8 * (long)__builtin_popcountll(after);
}

static uint64_t record_time(const uint8_t *record, size_t size, const struct perf_layout *layout)
{
	struct perf_event_header header;
	memcpy(&header, record, sizeof(header));
	long position = time_position(layout, header.type);
	size_t at = position < 0 ? size - (size_t)-position : (size_t)position;
	if (!position || (position < 0 && (size_t)-position > size - sizeof(header)) ||
	    at > size - 8)
		return 0;
	uint64_t time;
	memcpy(&time, record + at, sizeof(time));
	return time;
}

/* Insertion sort: entries are nearly in order, and each moves a few places at most. */
static void put_in_order(struct ring *ring, size_t from)
{
	for (size_t i = from ? from : 1; i < ring->count; i++) {
		struct ring_entry entry = ring->entries[i];
		size_t at = i;
		while (at > ring->first && ring->entries[at - 1].time > entry.time) {
			ring->entries[at] = ring->entries[at - 1];
			at--;
		}
		ring->entries[at] = entry;
	}
}

static bool is_attachment(const struct ring *ring, const uint8_t *record, size_t size)
{
	struct perf_event_header header;
	uint64_t id;
	if (!ring->attached_id || size < sizeof(header) + sizeof(id))
		return false;
	memcpy(&header, record, sizeof(header));
	memcpy(&id, record + sizeof(header), sizeof(id)); /* PERF_SAMPLE_IDENTIFIER stands first */
	return header.type == PERF_RECORD_SAMPLE && id == ring->attached_id;
}

/* Adds to a count that other threads may read: ring_counted(). */
static void count(uint64_t *sum, uint64_t more)
{
	__atomic_store_n(sum, *sum + more, __ATOMIC_RELAXED);
}

/* What is to be attached to a record that the kernel has not written yet is left out at the end: it
 * comes with the next copy. */
static int index_records(struct ring *ring, size_t from, const struct perf_layout *layout)
{
	size_t known = ring->count;
	size_t at = from;
	size_t before = 0;
	while (at < ring->copied.size) {
		size_t left = ring->copied.size - at;
		size_t size = perf_record_size(ring->copied.data + at, left);
		if (!size) {
			count(&ring->damaged, 1);
			ring->damaged_bytes += left; /* nothing says where the next one starts */
			before = 0;
			break;
		}
		if (is_attachment(ring, ring->copied.data + at, size)) {
			before = size;
			at += size;
			continue;
		}
		int ret = array_reserve(&ring->entries, &ring->capacity, ring->count,
					sizeof(*ring->entries));
		if (ret < 0)
			return ret;
		uint64_t time = record_time(ring->copied.data + at, size, layout);
		/* A record without a time stays behind the one before it. */
		if (!time && ring->count)
			time = ring->entries[ring->count - 1].time;
		ring->entries[ring->count++] =
			(struct ring_entry){ time, (uint32_t)at, (uint32_t)size, (uint32_t)before };
		before = 0;
		at += size;
	}
	ring->copied.size -= before;
	put_in_order(ring, known);
	return 0;
}

/* Moves the records that wait to the front. */
static void move_to_front(struct ring *ring)
{
	size_t lowest = ring->copied.size;
	for (size_t i = ring->first; i < ring->count; i++)
		if (ring->entries[i].at - ring->entries[i].before_bytes < lowest)
			lowest = ring->entries[i].at - ring->entries[i].before_bytes;
	memmove(ring->copied.data, ring->copied.data + lowest, ring->copied.size - lowest);
	ring->copied.size -= lowest;
	memmove(ring->entries, ring->entries + ring->first,
		(ring->count - ring->first) * sizeof(*ring->entries));
	ring->count -= ring->first;
	ring->first = 0;
	for (size_t i = 0; i < ring->count; i++)
		ring->entries[i].at -= (uint32_t)lowest;
}

/* So that the copy does not grow for ever. */
static void compact(struct ring *ring)
{
	if (ring->first == ring->count) {
		ring->first = ring->count = 0;
		buffer_empty(&ring->copied);
	} else if (ring->first >= ring->count / 2) {
		move_to_front(ring);
	}
}

/* Gives back what a copy that came late, of much, has taken. */
static void give_back(struct ring *ring)
{
	size_t waits = ring_waiting_bytes(ring);
	if (ring->copied.capacity <= KEPT_BYTES || waits > ring->copied.capacity / 4)
		return;
	if (!ring_peek(ring)) {
		buffer_release(&ring->copied);
		free(ring->entries);
		ring->entries = NULL;
		ring->first = ring->count = ring->capacity = 0;
		return;
	}
	move_to_front(ring);
	uint8_t *less = realloc(ring->copied.data, ring->copied.size);
	if (!less)
		return;
	ring->copied.data = less;
	ring->copied.capacity = ring->copied.size;
}

int ring_append(struct ring *ring, const void *bytes, size_t size_bytes,
		const struct perf_layout *layout)
{
	compact(ring);
	size_t from = ring->copied.size;
	buffer_append(&ring->copied, bytes, size_bytes);
	return buffer_failed(&ring->copied) ? -ENOMEM : index_records(ring, from, layout);
}

static bool has_room(const struct ring *ring, size_t size_bytes)
{
	size_t most = 2 * ring->data_bytes;
	size_t limit = most > RING_WAITING_BYTES ? most : RING_WAITING_BYTES;
	return ring_waiting_bytes(ring) <= limit && size_bytes <= limit - ring_waiting_bytes(ring);
}

int ring_copy(struct ring *ring, const struct perf_layout *layout)
{
	if (!ring->memory)
		return 0;
	const struct perf_ring written = { ring->memory, ring->data_bytes };
	struct span parts[2];
	int ret = perf_ring_written(&written, parts);
	size_t size = ret < 0 ? 0 : parts[0].size + parts[1].size;
	ring->has_more = ret == 0 && !has_room(ring, size);
	if (!size || ring->has_more)
		return ret;
	compact(ring);
	if (size > ring->copied.capacity - ring->copied.size && ring->first)
		move_to_front(ring);
	size_t from = ring->copied.size;
	if (size > UINT32_MAX - from)
		return -EOVERFLOW;
	uint8_t *room = buffer_extend(&ring->copied, size);
	if (!room)
		return -ENOMEM;
	memcpy(room, parts[0].data, parts[0].size);
	memcpy(room + parts[0].size, parts[1].data, parts[1].size);
	ret = index_records(ring, from, layout);
	size = ring->copied.size - from;
	perf_ring_take(&written, size);
	count(&ring->bytes, size);
	return ret;
}

/* Earlier times first; at equal times the side-band, then the lower ring. */
static bool comes_first(const struct ring *a, const struct ring *b)
{
	uint64_t left = ring_peek(a)->time;
	uint64_t right = ring_peek(b)->time;
	if (left != right)
		return left < right;
	if (a->sideband != b->sideband)
		return a->sideband;
	return a < b;
}

static void sift_down(struct ring **heap, size_t count, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= count)
			return;
		if (child + 1 < count && comes_first(heap[child + 1], heap[child]))
			child++;
		if (!comes_first(heap[child], heap[at]))
			return;
		struct ring *swap = heap[child];
		heap[child] = heap[at];
		heap[at] = swap;
		at = child;
	}
}

int ring_merge(struct ring *rings, size_t count, uint64_t limit, ring_handle handle, void *context)
{
	CLEANUP(free_pointer) struct ring **heap = calloc(count + 1, sizeof(struct ring *));
	if (!heap)
		return -ENOMEM;
	size_t live = 0;
	for (size_t i = 0; i < count; i++)
		if (ring_peek(&rings[i]) && ring_peek(&rings[i])->time <= limit)
			heap[live++] = &rings[i];
	for (size_t i = live / 2; i-- > 0;)
		sift_down(heap, live, i);
	while (live) {
		struct ring *ring = heap[0];
		const struct ring_entry *entry = &ring->entries[ring->first++];
		ring->attached = (struct span){ ring_bytes(ring, entry) - entry->before_bytes,
						entry->before_bytes };
		int ret = handle(context, ring, ring_bytes(ring, entry), entry->size_bytes);
		if (ret < 0)
			return ret;
		if (!ring_peek(ring) || ring_peek(ring)->time > limit)
			heap[0] = heap[--live];
		sift_down(heap, live, 0);
	}
	for (size_t i = 0; i < count; i++) {
		rings[i].attached = (struct span){ 0 };
		give_back(&rings[i]);
	}
	return 0;
}
