#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <unistd.h>

#include "machine/perf_ring.h"

#define DATA_BYTES 4096u

struct made_ring {
	struct perf_ring ring;
	uint8_t *data;
};

/* Its bytes are 0, 1, 2 ... 250, 0, 1 ... */
static struct made_ring make_ring(uint64_t head, uint64_t tail)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *control = calloc(1, page + DATA_BYTES);
	assert_non_null(control);
	uint8_t *data = (uint8_t *)control + page;
	for (size_t i = 0; i < DATA_BYTES; i++)
		data[i] = (uint8_t)(i % 251);
	control->data_head = head;
	control->data_tail = tail;
	return (struct made_ring){ { control, DATA_BYTES }, data };
}

static void what_was_written_is_found_in_one_piece(void **state)
{
	(void)state;
	struct made_ring made = make_ring(3 * DATA_BYTES + 100, 3 * DATA_BYTES + 40);
	struct span parts[2];
	assert_int_equal(perf_ring_written(&made.ring, parts), 0);
	assert_ptr_equal(parts[0].data, made.data + 40);
	assert_int_equal(parts[0].size, 60);
	assert_int_equal(parts[1].size, 0);
	free(made.ring.control);
}

static void what_goes_on_at_the_start_is_found_in_two_pieces(void **state)
{
	(void)state;
	struct made_ring made = make_ring(DATA_BYTES + 24, DATA_BYTES - 16);
	struct span parts[2];
	assert_int_equal(perf_ring_written(&made.ring, parts), 0);
	assert_ptr_equal(parts[0].data, made.data + DATA_BYTES - 16);
	assert_int_equal(parts[0].size, 16);
	assert_ptr_equal(parts[1].data, made.data);
	assert_int_equal(parts[1].size, 24);
	free(made.ring.control);
}

static void a_full_ring_is_found_whole_and_an_empty_one_empty(void **state)
{
	(void)state;
	struct made_ring made = make_ring(DATA_BYTES + 8, 8);
	struct span parts[2];
	assert_int_equal(perf_ring_written(&made.ring, parts), 0);
	assert_int_equal(parts[0].size + parts[1].size, DATA_BYTES);
	perf_ring_take(&made.ring, DATA_BYTES);
	assert_int_equal(perf_ring_written(&made.ring, parts), 0);
	assert_int_equal(parts[0].size + parts[1].size, 0);
	free(made.ring.control);
}

static void what_was_taken_is_given_back_and_no_more(void **state)
{
	(void)state;
	struct made_ring made = make_ring(100, 20);
	struct span parts[2];
	perf_ring_take(&made.ring, 48);
	assert_int_equal(made.ring.control->data_tail, 68);
	assert_int_equal(perf_ring_written(&made.ring, parts), 0);
	assert_ptr_equal(parts[0].data, made.data + 68);
	assert_int_equal(parts[0].size, 32);
	free(made.ring.control);
}

static void copies_go_on_at_the_start(void **state)
{
	(void)state;
	struct made_ring made = make_ring(DATA_BYTES + 24, DATA_BYTES - 16);
	struct span parts[2];
	uint8_t copy[40];
	assert_int_equal(perf_ring_written(&made.ring, parts), 0);
	static const size_t cases[][2] = { { 0, 16 },  { 0, 40 }, { 10, 12 },
					   { 16, 24 }, { 20, 4 }, { 3, 0 } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t at = cases[i][0], size = cases[i][1];
		memset(copy, 255, sizeof(copy));
		perf_ring_copy(parts, at, copy, size);
		for (size_t k = 0; k < sizeof(copy); k++)
			assert_int_equal(
				copy[k],
				k < size ? made.data[(DATA_BYTES - 16 + at + k) % DATA_BYTES]
					 : 255);
	}
	free(made.ring.control);
}

static void positions_beyond_the_ring_are_refused(void **state)
{
	(void)state;
	struct span parts[2];
	struct made_ring ahead = make_ring(DATA_BYTES + 8, 0);
	struct made_ring behind = make_ring(0, 8);
	assert_int_equal(perf_ring_written(&ahead.ring, parts), -EOVERFLOW);
	assert_int_equal(perf_ring_written(&behind.ring, parts), -EOVERFLOW);
	free(ahead.ring.control);
	free(behind.ring.control);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_found_in_one_piece),
		cmocka_unit_test(what_goes_on_at_the_start_is_found_in_two_pieces),
		cmocka_unit_test(a_full_ring_is_found_whole_and_an_empty_one_empty),
		cmocka_unit_test(what_was_taken_is_given_back_and_no_more),
		cmocka_unit_test(copies_go_on_at_the_start),
		cmocka_unit_test(positions_beyond_the_ring_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
