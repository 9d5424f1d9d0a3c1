#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/random.h"
#include "store/column_codec.h"

/* Slots of a cell: samples, estimate, squares (two). */
enum { SAMPLES, ESTIMATE, SQUARES, STRIDE = 4 };
#define ROWS 2000

struct cells {
	uint64_t numbers[ROWS * STRIDE];
	struct column_rows rows;
};

static struct cells *cells_new(void)
{
	struct cells *cells = calloc(1, sizeof(*cells));
	assert_non_null(cells);
	cells->rows = (struct column_rows){ cells->numbers, STRIDE, ROWS };
	return cells;
}

static void set(struct cells *cells, size_t row, uint64_t samples, uint64_t estimate,
		unsigned __int128 squares)
{
	uint64_t *cell = cells->numbers + row * STRIDE;
	cell[SAMPLES] = samples;
	cell[ESTIMATE] = estimate;
	cell[SQUARES] = (uint64_t)squares;
	cell[SQUARES + 1] = (uint64_t)(squares >> 64);
}

/* Weights k * unit, k from 8 to 24, as a clock's are; most cells have one sample. */
static struct cells *clock_cells(uint64_t unit, uint64_t seed)
{
	struct cells *cells = cells_new();
	struct random_state random = random_seed(seed);
	for (size_t row = 0; row < ROWS; row++) {
		uint64_t samples = 1 + (random_below(&random, 3) ? 0 : random_below(&random, 30));
		uint64_t sum = 0;
		unsigned __int128 squares = 0;
		for (uint64_t i = 0; i < samples; i++) {
			uint64_t weight = (8 + random_below(&random, 17)) * unit;
			sum += weight;
			squares += (unsigned __int128)weight * weight;
		}
		set(cells, row, samples, sum, squares);
	}
	return cells;
}

/* The sizes that the columns take, in *sizes; the bytes are decoded and must be the same cells. */
static struct buffer coded(const struct cells *cells, size_t sizes[3])
{
	struct buffer bytes = { 0 };
	column_encode(&cells->rows, SAMPLES, COLUMN_NO_SLOT, &bytes);
	sizes[0] = bytes.size;
	column_encode(&cells->rows, ESTIMATE, SAMPLES, &bytes);
	sizes[1] = bytes.size - sizes[0];
	column_encode_wide(&cells->rows, SQUARES, ESTIMATE, SAMPLES, &bytes);
	sizes[2] = bytes.size - sizes[0] - sizes[1];
	assert_false(buffer_failed(&bytes));
	return bytes;
}

static const char *decode(const void *bytes, size_t size, struct cells *cells)
{
	struct cursor in = cursor_of(bytes, size);
	const char *fault = column_decode(&in, &cells->rows, SAMPLES);
	if (!fault)
		fault = column_decode(&in, &cells->rows, ESTIMATE);
	if (!fault)
		fault = column_decode_wide(&in, &cells->rows, SQUARES);
	return fault ? fault : cursor_left(&in) ? "left over" : NULL;
}

static void assert_comes_back(const struct cells *cells, size_t sizes[3])
{
	CLEANUP(buffer_release) struct buffer bytes = coded(cells, sizes);
	CLEANUP(free_pointer) struct cells *back = cells_new();
	back->rows.count = cells->rows.count;
	assert_null(decode(bytes.data, bytes.size, back));
	assert_memory_equal(back->numbers, cells->numbers,
			    cells->rows.count * STRIDE * sizeof(uint64_t));
}

static void a_unit_of_all_weights_is_written_once(void **state)
{
	(void)state;
	static const uint64_t units[] = { 1, 12503, 1000003, UINT64_C(1) << 40 };
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		CLEANUP(free_pointer) struct cells *cells = clock_cells(units[i], i);
		size_t sizes[3];
		assert_comes_back(cells, sizes);
		/* a byte for an estimate but of long sums; of squares only what has several samples
		 */
		assert_in_range(sizes[1], ROWS, ROWS + ROWS / 4);
		assert_in_range(sizes[2], ROWS / 4, ROWS);
	}
}

static void one_weight_that_is_no_multiple_costs_bytes_but_comes_back(void **state)
{
	(void)state;
	CLEANUP(free_pointer) struct cells *cells = clock_cells(12503, 7);
	size_t sizes[3];
	set(cells, 77, 1, 100001, (unsigned __int128)100001 * 100001);
	assert_comes_back(cells, sizes);
	/* estimates that are multiples, squares that are not */
	set(cells, 77, 1, 12503, 12);
	assert_comes_back(cells, sizes);
	set(cells, 77, 3, 12503 * 30, (unsigned __int128)12503 * 12503 * 301);
	assert_comes_back(cells, sizes);
	set(cells, 77, 0, 12503, 5);
	assert_comes_back(cells, sizes);
}

static void any_numbers_come_back(void **state)
{
	(void)state;
	static const uint64_t odd[] = {
		0, 1, 2, 3, UINT32_MAX, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63
	};
	struct random_state random = random_seed(3);
	for (int round = 0; round < 200; round++) {
		CLEANUP(free_pointer) struct cells *cells = cells_new();
		cells->rows.count = random_below(&random, 40);
		uint64_t mask = UINT64_MAX >> random_below(&random, 64);
		for (size_t i = 0; i < cells->rows.count * STRIDE; i++)
			cells->numbers[i] = random_below(&random, 3)
						    ? random_u64(&random) & mask
						    : odd[random_below(&random, 8)];
		size_t sizes[3];
		assert_comes_back(cells, sizes);
	}
}

static void addresses_that_rise_take_a_byte_up_to_127(void **state)
{
	(void)state;
	CLEANUP(free_pointer) struct cells *cells = cells_new();
	struct random_state random = random_seed(1);
	for (size_t row = 0; row < ROWS; row++)
		set(cells, row,
		    (row ? cells->numbers[(row - 1) * STRIDE] : UINT64_C(1) << 40) +
			    random_below(&random, 128),
		    0, 0);
	size_t sizes[3];
	assert_comes_back(cells, sizes);
	assert_true(sizes[0] < ROWS + 10);
}

static void a_column_cut_short_is_refused_at_every_length(void **state)
{
	(void)state;
	CLEANUP(free_pointer) struct cells *cells = clock_cells(12503, 4);
	CLEANUP(free_pointer) struct cells *back = cells_new();
	cells->rows.count = back->rows.count = 200;
	size_t sizes[3];
	CLEANUP(buffer_release) struct buffer bytes = coded(cells, sizes);
	for (size_t size = 0; size < bytes.size; size++) {
		CLEANUP(free_pointer) uint8_t *part = malloc(size + 1);
		memcpy(part, bytes.data, size);
		assert_non_null(decode(part, size, back));
	}
}

static void a_flipped_byte_is_refused_or_read_as_other_numbers(void **state)
{
	(void)state;
	CLEANUP(free_pointer) struct cells *cells = clock_cells(12503, 5);
	CLEANUP(free_pointer) struct cells *back = cells_new();
	cells->rows.count = back->rows.count = 100;
	size_t sizes[3];
	CLEANUP(buffer_release) struct buffer bytes = coded(cells, sizes);
	size_t refused = 0;
	for (size_t at = 0; at < bytes.size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes.data[at] ^= (uint8_t)(1u << bit);
			refused += decode(bytes.data, bytes.size, back) != NULL;
			bytes.data[at] ^= (uint8_t)(1u << bit);
		}
	assert_true(refused > 0);
	assert_null(decode(bytes.data, bytes.size, back));
}

static void what_no_writer_writes_is_named(void **state)
{
	(void)state;
	static const struct {
		bool wide;
		uint8_t bytes[8];
		size_t size;
		const char *says;
	} columns[] = {
		{ false, { 6 }, 1, "a column has an unknown encoding" },
		{ false, { ENCODE_SPREAD }, 1, "a column has an unknown encoding" },
		{ false,
		  { ENCODE_PRODUCT, 2, 1, 1, 0 },
		  5,
		  "a column is derived from a later one" },
		{ false, { ENCODE_PRODUCT, 0, 0, 1, 0 }, 5, "a column is divided by nothing" },
		{ false, { ENCODE_PRODUCT, 0 }, 2, "a column ends early" },
		{ true,
		  { ENCODE_SPREAD, 2, 0, 0, 1, 0, 0 },
		  7,
		  "a column is derived from a later one" },
		{ true,
		  { ENCODE_SPREAD, 1, 2, 0, 1, 0, 0 },
		  7,
		  "a column is derived from a later one" },
		{ true, { ENCODE_SPREAD, 1, 0, 4, 1, 0, 0 }, 7, "a column has unknown flags" },
		{ true, { ENCODE_SPREAD, 1, 0, 0, 0, 0, 0 }, 7, "a column is divided by nothing" },
		{ true, { ENCODE_SPREAD, 1, 0, 3, 1, 0x80 }, 6, "a column ends early" },
		{ true, { ENCODE_DELTA, 0 }, 2, "a column has an unknown encoding" },
	};
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		CLEANUP(free_pointer) struct cells *cells = cells_new();
		cells->rows.count = 1;
		struct cursor in = cursor_of(columns[i].bytes, columns[i].size);
		const char *what = columns[i].wide ? column_decode_wide(&in, &cells->rows, SQUARES)
						   : column_decode(&in, &cells->rows, ESTIMATE);
		assert_non_null(what);
		assert_string_equal(what, columns[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_of_all_weights_is_written_once),
		cmocka_unit_test(one_weight_that_is_no_multiple_costs_bytes_but_comes_back),
		cmocka_unit_test(any_numbers_come_back),
		cmocka_unit_test(addresses_that_rise_take_a_byte_up_to_127),
		cmocka_unit_test(a_column_cut_short_is_refused_at_every_length),
		cmocka_unit_test(a_flipped_byte_is_refused_or_read_as_other_numbers),
		cmocka_unit_test(what_no_writer_writes_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
