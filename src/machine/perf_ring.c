#include "machine/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <linux/perf_event.h>
#include <unistd.h>

int perf_ring_written(const struct perf_ring *ring, struct span parts[2])
{
	const uint8_t *data = (const uint8_t *)ring->control + (size_t)sysconf(_SC_PAGESIZE);
	/* Pairs with the kernel's store of data_head after the records. */
	uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->control->data_tail;
	uint64_t size = head - tail;
	if (size > ring->data_bytes)
		return -EOVERFLOW;
	size_t start = tail & (ring->data_bytes - 1);
	size_t whole = ring->data_bytes - start < size ? ring->data_bytes - start : size;
	parts[0] = (struct span){ data + start, whole };
	parts[1] = (struct span){ data, size - whole };
	return 0;
}

void perf_ring_copy(const struct span parts[2], size_t at, void *to, size_t size)
{
	const uint8_t *first = parts[0].data, *second = parts[1].data;
	size_t there = at < parts[0].size ? parts[0].size - at : 0;
	if (there > size)
		there = size;
	if (there)
		memcpy(to, first + at, there);
	if (size > there)
		memcpy((uint8_t *)to + there, second + (at + there - parts[0].size), size - there);
}

void perf_ring_take(const struct perf_ring *ring, size_t size_bytes)
{
	uint64_t tail = ring->control->data_tail + size_bytes;
	__atomic_store_n(&ring->control->data_tail, tail, __ATOMIC_RELEASE);
}
