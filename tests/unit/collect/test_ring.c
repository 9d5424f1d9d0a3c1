#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "collect/ring.h"
#include "machine/perf_record.h"

static const struct perf_layout layout = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.sample_id_all = true,
};

static void put_sample_of(struct buffer *out, uint64_t id, uint64_t time, uint64_t ip)
{
	buffer_append_u32(out, PERF_RECORD_SAMPLE);
	buffer_append_u32(out, (uint32_t)40 << 16);
	buffer_append_u64(out, id);
	buffer_append_u64(out, ip);
	buffer_append_u64(out, 0);
	buffer_append_u64(out, time);
}

static void put_sample(struct buffer *out, uint64_t time, uint64_t ip)
{
	put_sample_of(out, 1, time, ip);
}

static void put_exit(struct buffer *out, uint64_t time)
{
	buffer_append_u32(out, PERF_RECORD_EXIT);
	buffer_append_u32(out, (uint32_t)56 << 16);
	for (int i = 0; i < 3; i++)
		buffer_append_u64(out, 0);
	buffer_append_u64(out, 0); /* pid, tid */
	buffer_append_u64(out, time);
	buffer_append_u64(out, 1);
}

struct seen {
	uint64_t times[4096];
	size_t count;
	uint32_t types[4096];
};

static int see(void *context, struct ring *ring, const void *bytes, size_t size)
{
	struct seen *seen = context;
	struct perf_record record;
	(void)ring;
	assert_int_equal(perf_record_decode(bytes, size, &layout, &record), (int)size);
	seen->types[seen->count] = record.type;
	seen->times[seen->count++] = record.identity.time;
	return 0;
}

static void take(struct ring *ring, struct buffer *bytes)
{
	assert_int_equal(ring_append(ring, bytes->data, bytes->size, &layout), 0);
	bytes->size = 0;
}

static void records_of_all_rings_come_in_order_of_time(void **state)
{
	(void)state;
	struct random_state random = random_seed(3);
	struct ring rings[5] = { { 0 } };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	static struct seen seen;
	seen.count = 0;
	uint64_t now = 100;
	size_t put = 0;
	for (int drain = 0; drain < 8; drain++) {
		for (int i = 0; i < 5; i++) {
			uint64_t time = now;
			for (int n = 0; n < 40; n++, put++) {
				time += random_below(&random, 20);
				/* a nested interrupt's record comes a little early */
				put_sample(&bytes, time - random_below(&random, 5), time);
			}
			take(&rings[i], &bytes);
		}
		now += 900;
		assert_int_equal(ring_merge(rings, 5, now - 500, see, &seen), 0);
	}
	assert_int_equal(ring_merge(rings, 5, UINT64_MAX, see, &seen), 0);
	assert_int_equal(seen.count, put);
	for (size_t i = 1; i < seen.count; i++)
		assert_true(seen.times[i - 1] <= seen.times[i]);
	for (int i = 0; i < 5; i++)
		ring_release(&rings[i]);
}

static void what_is_later_than_the_limit_waits(void **state)
{
	(void)state;
	struct ring ring = { 0 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	static struct seen seen;
	seen.count = 0;
	put_sample(&bytes, 10, 1);
	put_sample(&bytes, 20, 1);
	put_sample(&bytes, 30, 1);
	take(&ring, &bytes);
	assert_int_equal(ring_merge(&ring, 1, 20, see, &seen), 0);
	assert_int_equal(seen.count, 2);
	put_sample(&bytes, 25, 1);
	take(&ring, &bytes);
	assert_int_equal(ring_merge(&ring, 1, UINT64_MAX, see, &seen), 0);
	assert_int_equal(seen.count, 4);
	assert_int_equal(seen.times[2], 25);
	ring_release(&ring);
}

static int count_it(void *context, struct ring *ring, const void *bytes, size_t size)
{
	size_t *count = context;
	(void)ring;
	(void)bytes;
	(void)size;
	++*count;
	return 0;
}

/* A copy that came late is of megabytes. */
static void memory_of_a_large_copy_is_given_back(void **state)
{
	(void)state;
	enum { SAMPLES = 100000, WAIT = 10 };
	struct ring ring = { 0 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	static struct seen seen;
	size_t count = 0;
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < SAMPLES; i++)
			put_sample(&bytes, i ^ 1, i); /* two by two out of order */
		take(&ring, &bytes);
		assert_true(ring.copied.capacity >= (size_t)SAMPLES * 40);
		assert_int_equal(ring_merge(&ring, 1, SAMPLES - WAIT - 1, count_it, &count), 0);
		assert_int_equal(count, SAMPLES - WAIT);
		assert_true(ring.copied.capacity <= WAIT * 40);
		put_sample(&bytes, SAMPLES, 1);
		take(&ring, &bytes);
		seen.count = count = 0;
		assert_int_equal(ring_merge(&ring, 1, UINT64_MAX, see, &seen), 0);
		assert_int_equal(seen.count, WAIT + 1);
		for (size_t i = 0; i < seen.count; i++)
			assert_int_equal(seen.times[i], SAMPLES - WAIT + i);
	}
	/* all at once */
	for (uint64_t i = 0; i < SAMPLES; i++)
		put_sample(&bytes, i, i);
	take(&ring, &bytes);
	assert_int_equal(ring_merge(&ring, 1, UINT64_MAX, count_it, &count), 0);
	assert_int_equal(ring.copied.capacity, 0);
	ring_release(&ring);
}

static void at_one_time_processes_come_before_samples(void **state)
{
	(void)state;
	struct ring rings[2] = { { .sideband = false }, { .sideband = true } };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	static struct seen seen;
	seen.count = 0;
	put_sample(&bytes, 10, 1);
	take(&rings[0], &bytes);
	put_exit(&bytes, 10);
	take(&rings[1], &bytes);
	assert_int_equal(ring_merge(rings, 2, 10, see, &seen), 0);
	assert_int_equal(seen.types[0], PERF_RECORD_EXIT);
	assert_int_equal(seen.types[1], PERF_RECORD_SAMPLE);
	ring_release(&rings[0]);
	ring_release(&rings[1]);
}

static void damaged_bytes_are_counted_and_end_the_copy(void **state)
{
	(void)state;
	struct ring ring = { 0 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	static struct seen seen;
	seen.count = 0;
	put_sample(&bytes, 10, 1);
	buffer_append_u64(&bytes, 0); /* size 0 */
	buffer_append_u64(&bytes, 0);
	take(&ring, &bytes);
	assert_int_equal(ring_merge(&ring, 1, UINT64_MAX, see, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(ring.damaged_bytes, 16);
	ring_release(&ring);
}

struct attached {
	uint64_t ips[16]; /* of what was attached; 0: nothing */
	size_t count;
};

static int see_attached(void *context, struct ring *ring, const void *bytes, size_t size)
{
	struct attached *seen = context;
	struct perf_record record;
	(void)bytes;
	(void)size;
	seen->ips[seen->count] = 0;
	if (ring->attached.size) {
		assert_int_equal(perf_record_decode(ring->attached.data, ring->attached.size,
						    &layout, &record),
				 (int)ring->attached.size);
		seen->ips[seen->count] = record.sample.ip;
	}
	seen->count++;
	return 0;
}

/* The kernel writes it before the sample, with a time that may be later. */
static void what_is_attached_comes_with_the_record_behind_it(void **state)
{
	(void)state;
	struct ring ring = { .attached_id = 9 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct attached seen = { .count = 0 };
	put_sample(&bytes, 10, 1);
	put_sample_of(&bytes, 9, 25, 100);
	put_sample(&bytes, 20, 1);
	put_sample(&bytes, 15, 1);	   /* nested: handed out before, and has nothing */
	put_sample_of(&bytes, 9, 30, 101); /* its sample was lost */
	put_sample_of(&bytes, 9, 31, 102);
	put_sample(&bytes, 32, 1);
	put_sample_of(&bytes, 9, 33, 103); /* the sample's is not there yet: forgotten */
	take(&ring, &bytes);
	assert_int_equal(ring_merge(&ring, 1, 15, see_attached, &seen), 0);
	assert_int_equal(seen.count, 2);
	/* what waits moves to the front, with what it has */
	put_sample(&bytes, 34, 1);
	put_exit(&bytes, 35);
	take(&ring, &bytes);
	assert_int_equal(ring_merge(&ring, 1, UINT64_MAX, see_attached, &seen), 0);
	const uint64_t expected[] = { 0, 0, 100, 102, 0, 0 };
	assert_int_equal(seen.count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(seen.ips[i], expected[i]);
	ring_release(&ring);
}

/* The kernel writes the two one after the other, and a copy may come between. */
static void what_is_attached_is_left_until_its_record_is_there(void **state)
{
	(void)state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *memory = aligned_alloc(page, 2 * page);
	assert_non_null(memory);
	memset(memory, 0, 2 * page);
	struct perf_event_mmap_page *control = (struct perf_event_mmap_page *)memory;
	struct ring ring = { .attached_id = 9, .memory = memory, .data_bytes = page };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct attached seen = { .count = 0 };
	put_sample(&bytes, 10, 1);
	put_sample_of(&bytes, 9, 25, 100);
	for (int look = 0; look < 2; look++) {
		memcpy(memory + page, bytes.data, bytes.size);
		control->data_head = bytes.size;
		assert_int_equal(ring_copy(&ring, &layout), 0);
		assert_int_equal(control->data_tail, 40);
		assert_int_equal(ring_counted(&ring.bytes), 40);
	}
	put_sample(&bytes, 20, 1);
	memcpy(memory + page, bytes.data, bytes.size);
	control->data_head = bytes.size;
	assert_int_equal(ring_copy(&ring, &layout), 0);
	assert_int_equal(control->data_tail, 120);
	assert_int_equal(ring_merge(&ring, 1, UINT64_MAX, see_attached, &seen), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.ips[0], 0);
	assert_int_equal(seen.ips[1], 100);
	ring.memory = NULL;
	ring_release(&ring);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_all_rings_come_in_order_of_time),
		cmocka_unit_test(what_is_later_than_the_limit_waits),
		cmocka_unit_test(memory_of_a_large_copy_is_given_back),
		cmocka_unit_test(at_one_time_processes_come_before_samples),
		cmocka_unit_test(what_is_attached_comes_with_the_record_behind_it),
		cmocka_unit_test(what_is_attached_is_left_until_its_record_is_there),
		cmocka_unit_test(damaged_bytes_are_counted_and_end_the_copy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
