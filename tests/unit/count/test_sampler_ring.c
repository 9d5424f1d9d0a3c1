/* Records in a ring of one page, as the kernel and nobody writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <unistd.h>

#include "count/sampler_ring.h"
#include "machine/perf_ring.h"

#define DATA_BYTES 4096u
#define SEEN_MOST  256

struct made_ring {
	struct perf_ring ring;
	uint8_t *data;
	uint8_t *room;
};

static struct made_ring make_ring(uint64_t begin)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *control = calloc(1, page + DATA_BYTES);
	uint8_t *room = malloc(SAMPLER_RECORD_MOST);
	assert_true(control && room);
	control->data_head = control->data_tail = begin;
	return (struct made_ring){ { control, DATA_BYTES }, (uint8_t *)control + page, room };
}

static void free_ring(struct made_ring *made)
{
	free(made->ring.control);
	free(made->room);
}

/* A record of `size` bytes whose words are all `word`. */
static void put_record(struct made_ring *made, uint16_t size, uint64_t word)
{
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = size };
	uint64_t *head = (uint64_t *)&made->ring.control->data_head;
	memcpy(made->data + *head % DATA_BYTES, &header, sizeof(header));
	for (size_t at = sizeof(header); at < size; at += sizeof(word))
		memcpy(made->data + (*head + at) % DATA_BYTES, &word, sizeof(word));
	*head += size < sizeof(header) ? sizeof(header) : size;
}

struct seen {
	size_t count;
	size_t sizes[SEEN_MOST];
	uint64_t words[SEEN_MOST];
	bool one_piece; /* never in the room */
	const uint8_t *room;
};

static void see(void *context, const uint8_t *record, size_t size)
{
	struct seen *seen = context;
	uint64_t first = 0, word;
	for (size_t at = sizeof(struct perf_event_header); at < size; at += sizeof(word)) {
		memcpy(&word, record + at, sizeof(word));
		first = at == sizeof(struct perf_event_header) ? word : first;
		assert_int_equal(word, first);
	}
	seen->one_piece &= record != seen->room;
	seen->sizes[seen->count] = size;
	seen->words[seen->count++] = first;
}

static int take(struct made_ring *made, struct seen *seen)
{
	*seen = (struct seen){ .one_piece = true, .room = made->room };
	return sampler_ring_take(&made->ring, made->room, see, seen);
}

static void records_come_in_order_and_where_they_lie(void **state)
{
	(void)state;
	struct made_ring made = make_ring(0);
	struct seen seen;
	put_record(&made, 40, 1);
	put_record(&made, 8, 0);
	put_record(&made, 64, 3);
	assert_int_equal(take(&made, &seen), 0);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.sizes[0], 40);
	assert_int_equal(seen.sizes[1], 8);
	assert_int_equal(seen.words[2], 3);
	assert_true(seen.one_piece);
	assert_int_equal(take(&made, &seen), 0);
	assert_int_equal(seen.count, 0);
	free_ring(&made);
}

static void a_record_that_wraps_comes_whole_wherever_it_is_cut(void **state)
{
	(void)state;
	for (uint64_t before = 0; before <= 48; before += 8) {
		struct made_ring made = make_ring(7 * DATA_BYTES - before);
		struct seen seen;
		put_record(&made, 48, 0x1122334455667788);
		put_record(&made, 16, 5);
		assert_int_equal(take(&made, &seen), 0);
		assert_int_equal(seen.count, 2);
		assert_int_equal(seen.words[0], 0x1122334455667788);
		assert_int_equal(seen.words[1], 5);
		assert_int_equal(seen.one_piece, before == 0 || before == 48);
		assert_int_equal(made.ring.control->data_tail, made.ring.control->data_head);
		free_ring(&made);
	}
}

static void a_ring_goes_round_many_times(void **state)
{
	(void)state;
	struct made_ring made =
		make_ring(UINT64_MAX - 8 * DATA_BYTES + 1); /* the position wraps, too */
	uint64_t put = 0, got = 0;
	struct seen seen;
	for (int round = 0; round < 1000; round++) {
		for (int i = 0; i < 1 + round % 7; i++)
			put_record(&made, (uint16_t)(16 + 8 * (put % 60)), put), put++;
		assert_int_equal(take(&made, &seen), 0);
		for (size_t i = 0; i < seen.count; i++, got++) {
			assert_int_equal(seen.words[i], got);
			assert_int_equal(seen.sizes[i], 16 + 8 * (got % 60));
		}
	}
	assert_int_equal(got, put);
	free_ring(&made);
}

static void what_is_not_there_whole_waits(void **state)
{
	(void)state;
	struct made_ring made = make_ring(64);
	struct seen seen;
	put_record(&made, 24, 1);
	put_record(&made, 80, 2);
	made.ring.control->data_head -= 32; /* torn */
	assert_int_equal(take(&made, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(made.ring.control->data_tail, 64 + 24);
	made.ring.control->data_head += 32;
	assert_int_equal(take(&made, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.words[0], 2);
	free_ring(&made);
}

static void a_record_of_impossible_size_ends_what_can_be_read(void **state)
{
	(void)state;
	struct made_ring made = make_ring(0);
	struct seen seen;
	put_record(&made, 24, 1);
	put_record(&made, 4, 0);
	put_record(&made, 24, 2);
	assert_int_equal(take(&made, &seen), -EBADMSG);
	assert_int_equal(seen.count, 1);
	put_record(&made, 24, 3); /* the ring is of use again */
	assert_int_equal(take(&made, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.words[0], 3);
	free_ring(&made);
}

static void a_control_page_that_lies_is_an_error_and_nothing_is_read(void **state)
{
	(void)state;
	struct made_ring made = make_ring(0);
	struct seen seen;
	made.ring.control->data_head = 2 * DATA_BYTES;
	assert_int_equal(take(&made, &seen), -EOVERFLOW);
	assert_int_equal(seen.count, 0);
	assert_int_equal(made.ring.control->data_tail, 0);
	free_ring(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_in_order_and_where_they_lie),
		cmocka_unit_test(a_record_that_wraps_comes_whole_wherever_it_is_cut),
		cmocka_unit_test(a_ring_goes_round_many_times),
		cmocka_unit_test(what_is_not_there_whole_waits),
		cmocka_unit_test(a_record_of_impossible_size_ends_what_can_be_read),
		cmocka_unit_test(a_control_page_that_lies_is_an_error_and_nothing_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
