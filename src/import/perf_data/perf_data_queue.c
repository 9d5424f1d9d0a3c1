#include "import/perf_data/perf_data_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/growth.h"

void perf_queue_release(struct perf_queue *queue)
{
	free(queue->bytes);
	free(queue->entries);
	free(queue->spare);
	free(queue->kept);
	*queue = (struct perf_queue){ 0 };
}

/* Grows *bytes to at least `size` bytes. 0 or -ENOMEM. */
static int reserve_bytes(uint8_t **bytes, size_t *capacity, size_t size)
{
	if (size <= *capacity)
		return 0;
	size_t wanted = growth_capacity(*capacity, size, 65536, 1);
	if (!wanted)
		return -ENOMEM;
	uint8_t *grown = realloc(*bytes, wanted);
	if (!grown)
		return -ENOMEM;
	*bytes = grown;
	*capacity = wanted;
	return 0;
}

int perf_queue_add(struct perf_queue *queue, uint64_t time, const void *record, size_t size,
		   bool *late)
{
	size_t padded = (size + 7) & ~(size_t)7;
	if (reserve_bytes(&queue->bytes, &queue->capacity, queue->size + padded) < 0 ||
	    array_reserve(&queue->entries, &queue->entry_capacity, queue->count,
			  sizeof(*queue->entries)) < 0)
		return -ENOMEM;
	memcpy(queue->bytes + queue->size, record, size);
	if (queue->count && queue->entries[queue->count - 1].time > time)
		queue->unordered = true;
	queue->entries[queue->count++] = (struct perf_queue_entry){ time, queue->size };
	queue->size += padded;
	if (time > queue->newest)
		queue->newest = time;
	*late = time < queue->done;
	return 0;
}

size_t perf_queue_bytes(const struct perf_queue *queue)
{
	return queue->capacity + queue->kept_capacity +
	       (queue->entry_capacity + queue->spare_capacity) * sizeof(*queue->entries);
}

/* The end of the ordered run that begins at `at`. */
static size_t run_end(const struct perf_queue_entry *entries, size_t count, size_t at)
{
	while (at + 1 < count && entries[at].time <= entries[at + 1].time)
		at++;
	return at < count ? at + 1 : count;
}

static void merge_two(const struct perf_queue_entry *from, size_t start, size_t middle, size_t end,
		      struct perf_queue_entry *to)
{
	size_t left = start, right = middle;
	for (size_t at = start; at < end; at++) {
		bool take_left =
			right == end || (left < middle && from[left].time <= from[right].time);
		to[at] = take_left ? from[left++] : from[right++];
	}
}

/* Merges neighbouring runs, which are the CPUs' turns, until one is left. Stable. */
static int sort_entries(struct perf_queue *queue)
{
	if (!queue->unordered)
		return 0;
	if (queue->spare_capacity < queue->count) {
		free(queue->spare);
		queue->spare = calloc(queue->entry_capacity, sizeof(*queue->spare));
		queue->spare_capacity = queue->spare ? queue->entry_capacity : 0;
		if (!queue->spare)
			return -ENOMEM;
	}
	for (;;) {
		size_t at = 0;
		if (run_end(queue->entries, queue->count, 0) == queue->count)
			break;
		while (at < queue->count) {
			size_t middle = run_end(queue->entries, queue->count, at);
			size_t end = middle < queue->count
					     ? run_end(queue->entries, queue->count, middle)
					     : middle;
			merge_two(queue->entries, at, middle, end, queue->spare);
			at = end;
		}
		struct perf_queue_entry *merged = queue->spare;
		size_t capacity = queue->spare_capacity;
		queue->spare = queue->entries;
		queue->spare_capacity = queue->entry_capacity;
		queue->entries = merged;
		queue->entry_capacity = capacity;
	}
	queue->unordered = false;
	return 0;
}

/* Moves the entries from `first` on, and their bytes, to the front. */
static int keep_rest(struct perf_queue *queue, size_t first)
{
	if (first == queue->count) {
		queue->count = queue->size = 0;
		return 0;
	}
	size_t size = 0;
	if (reserve_bytes(&queue->kept, &queue->kept_capacity, queue->size) < 0)
		return -ENOMEM;
	for (size_t i = first; i < queue->count; i++) {
		const uint8_t *record = queue->bytes + queue->entries[i].at;
		uint16_t record_size;
		memcpy(&record_size, record + 6, sizeof(record_size));
		memcpy(queue->kept + size, record, record_size);
		queue->entries[i - first] =
			(struct perf_queue_entry){ queue->entries[i].time, size };
		size += (record_size + 7u) & ~7u;
	}
	queue->count -= first;
	uint8_t *bytes = queue->bytes;
	size_t capacity = queue->capacity;
	queue->bytes = queue->kept;
	queue->capacity = queue->kept_capacity;
	queue->kept = bytes;
	queue->kept_capacity = capacity;
	queue->size = size;
	return 0;
}

static int take_until(struct perf_queue *queue, uint64_t limit, perf_queue_take take, void *context)
{
	int ret = sort_entries(queue);
	size_t at = 0;
	for (; ret == 0 && at < queue->count && queue->entries[at].time <= limit; at++)
		ret = take(context, queue->bytes + queue->entries[at].at, queue->entries[at].time);
	if (ret < 0)
		return ret;
	if (at && queue->entries[at - 1].time > queue->done)
		queue->done = queue->entries[at - 1].time;
	return keep_rest(queue, at);
}

int perf_queue_round(struct perf_queue *queue, perf_queue_take take, void *context)
{
	int ret = queue->newest_before ? take_until(queue, queue->newest_before, take, context) : 0;
	queue->newest_before = queue->newest;
	return ret;
}

int perf_queue_flush(struct perf_queue *queue, perf_queue_take take, void *context)
{
	return take_until(queue, UINT64_MAX, take, context);
}
