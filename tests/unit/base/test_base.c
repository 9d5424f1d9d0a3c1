#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/cursor.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/growth.h"
#include "base/hash_index.h"
#include "base/mapped_file.h"
#include "base/number.h"
#include "base/random.h"
#include "base/sum.h"
#include "base/utf8.h"

static void varints_survive_a_round_trip(void **state)
{
	(void)state;
	static const uint64_t values[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX };
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		uint8_t bytes[VARINT_MAX_BYTES];
		size_t size = varint_put(bytes, values[i]);
		uint64_t back = 1;
		assert_int_equal(varint_get(bytes, size, &back), size);
		assert_int_equal(back, values[i]);
		for (size_t cut = 0; cut < size; cut++)
			assert_int_equal(varint_get(bytes, cut, &back), 0);
	}
}

static void a_varint_past_64_bits_is_refused(void **state)
{
	(void)state;
	uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
	uint64_t value;
	assert_int_equal(varint_get(bytes, sizeof(bytes), &value), 0);
}

static void zigzag_keeps_the_sign(void **state)
{
	(void)state;
	static const int64_t values[] = { 0, -1, 1, INT64_MIN, INT64_MAX };
	for (size_t i = 0; i < COUNT_OF(values); i++)
		assert_int_equal(zigzag_get(zigzag_put(values[i])), values[i]);
}

static void a_cursor_fails_for_good_at_its_end(void **state)
{
	(void)state;
	struct cursor cursor = cursor_of("abc", 3);
	assert_int_equal(cursor_u16(&cursor), 'a' | 'b' << 8);
	assert_int_equal(cursor_u16(&cursor), 0);
	assert_true(cursor.failed);
	assert_int_equal(cursor_u8(&cursor), 0);
	assert_int_equal(cursor_left(&cursor), 0);
}

static void a_cursor_takes_text_up_to_its_nul(void **state)
{
	(void)state;
	struct cursor cursor = cursor_of("ab\0cd", 5);
	struct span text = cursor_text(&cursor);
	assert_true(span_equal(text, span_of_text("ab")));
	cursor_text(&cursor);
	assert_true(cursor.failed);
}

static void numbers_are_parsed_strictly(void **state)
{
	(void)state;
	uint64_t value = 7;
	assert_true(number_parse_u64("18446744073709551615", &value));
	assert_true(value == UINT64_MAX);
	assert_true(number_parse_u64("0xff", &value));
	assert_int_equal(value, 255);
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1 ", "0x", "18446744073709551616", "1k"
	};
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(number_parse_u64(bad[i], &value));
	double ratio;
	assert_true(number_parse_double("1.5%", &ratio));
	assert_true(ratio == 1.5);
	assert_false(number_parse_double("nan", &ratio));
	assert_false(number_parse_double("0x10", &ratio));
	assert_true(number_parse_duration_ns("1.5s", &value));
	assert_int_equal(value, 1500000000);
	assert_true(number_parse_duration_ns("20ms", &value));
	assert_int_equal(value, 20000000);
	assert_true(number_parse_duration_ns("30d", &value));
	assert_int_equal(value, UINT64_C(30) * 86400 * 1000000000);
	assert_false(number_parse_duration_ns("5 s", &value));
	assert_false(number_parse_duration_ns("1e30s", &value));
}

static void digits_are_taken_as_far_as_they_go(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned base;
		size_t used; /* 0: no number */
		uint64_t value;
	} wanted[] = {
		{ "17", 10, 2, 17 },
		{ "17f", 10, 2, 17 },
		{ "17Fg", 16, 3, 0x17f },
		{ "000000000000000000000000", 10, 24, 0 },
		{ "18446744073709551615", 10, 20, UINT64_MAX },
		{ "ffffffffffffffff ", 16, 16, UINT64_MAX },
		{ "18446744073709551616", 10, 0, 0 },
		{ "18446744073709551620", 10, 0, 0 },
		{ "10000000000000000", 16, 0, 0 },
		{ "", 10, 0, 0 },
		{ "-1", 10, 0, 0 },
		{ " 1", 10, 0, 0 },
		{ "a", 10, 0, 0 },
		{ "/", 16, 0, 0 },
		{ ":", 16, 0, 0 },
		{ "G", 16, 0, 0 },
	};
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		const char *at = wanted[i].text;
		uint64_t value = 5;
		bool taken = digits_take(&at, at + strlen(at), wanted[i].base, &value);
		if (taken != (wanted[i].used > 0))
			fail_msg("'%s'", wanted[i].text);
		assert_int_equal(at - wanted[i].text, wanted[i].used);
		assert_int_equal(value, taken ? wanted[i].value : 5);
	}
}

static void an_error_gets_its_place_in_front(void **state)
{
	(void)state;
	struct error err;
	assert_int_equal(error_set(&err, -5, "row %d is odd", 3), -5);
	assert_int_equal(error_prefix(&err, "file '%s'", "x"), -5);
	assert_string_equal(err.text, "file 'x': row 3 is odd");
	assert_int_equal(error_set(NULL, -7, "nobody listens"), -7);
}

static void a_long_name_does_not_hide_the_cause(void **state)
{
	(void)state;
	struct error err = { 0 };
	char name[5001];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	error_set(&err, -2, "cannot open '%s': no such file", name);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "cannot open 'nnn", 16);
	assert_non_null(strstr(err.text, "nnn ... nnn"));
	assert_string_equal(err.text + strlen(err.text) - 15, "': no such file");
	error_prefix(&err, "reading '%s'", name);
	assert_memory_equal(err.text, "reading 'nnn", 12);
	assert_string_equal(err.text + strlen(err.text) - 15, "': no such file");
	for (size_t i = 0; i + 1 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	for (size_t more = 0; more < 4; more++) { /* never cut inside a character */
		error_set(&err, -2, "%.*s%s: no such file", (int)more, "abc", name);
		for (size_t i = 0; err.text[i];) {
			size_t size =
				utf8_sequence((const uint8_t *)err.text + i, strlen(err.text + i));
			assert_int_not_equal(size, 0);
			i += size;
		}
	}
}

struct rows {
	uint64_t values[1000];
};

static bool row_equal(const void *rows, uint32_t position, const void *wanted)
{
	return ((const struct rows *)rows)->values[position] == *(const uint64_t *)wanted;
}

static void an_index_finds_every_row_in_spite_of_collisions(void **state)
{
	(void)state;
	static struct rows rows;
	struct hash_index index = { 0 };
	for (uint32_t i = 0; i < 1000; i++) {
		rows.values[i] = i * 3;
		assert_int_equal(
			hash_index_find(&index, i * 3 % 16, row_equal, &rows, &rows.values[i]),
			HASH_INDEX_NONE);
		assert_int_equal(hash_index_add(&index, i * 3 % 16, i), 0);
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(
			hash_index_find(&index, i * 3 % 16, row_equal, &rows, &rows.values[i]), i);
	hash_index_release(&index);
}

static void a_buffer_grows_and_ends_its_text(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer buffer = { 0 };
	for (int i = 0; i < 1000; i++)
		buffer_printf(&buffer, "%d,", i % 10);
	assert_int_equal(buffer.size, 2000);
	assert_int_equal(strlen(buffer_text(&buffer)), 2000);
	assert_null(buffer_extend(&buffer, SIZE_MAX));
	assert_true(buffer_failed(&buffer));
}

static void numbers_are_appended_as_digits(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer buffer = { 0 };
	buffer_append_decimal(&buffer, 0);
	buffer_append_u8(&buffer, ' ');
	buffer_append_decimal(&buffer, 1203);
	buffer_append_u8(&buffer, ' ');
	buffer_append_decimal(&buffer, UINT64_MAX);
	assert_string_equal(buffer_text(&buffer), "0 1203 18446744073709551615");
}

static void bytes_are_spelled_in_hexadecimal(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer buffer = { 0 };
	buffer_append_hex(&buffer, NULL, 0);
	assert_false(buffer_failed(&buffer));
	buffer_append_text(&buffer, "id ");
	buffer_append_hex(&buffer, "\x00\x9a\xff", 3);
	assert_string_equal(buffer_text(&buffer), "id 009aff");
	assert_false(buffer_failed(&buffer));
	buffer_append_hex(&buffer, "", SIZE_MAX / 2 + 1);
	assert_true(buffer_failed(&buffer));
}

static void only_the_shortest_utf8_is_utf8(void **state)
{
	(void)state;
	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		uint8_t text[4];
		size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
		for (size_t i = size; i-- > 1;)
			text[i] = (uint8_t)(0x80 | (code >> (6 * (size - 1 - i)) & 0x3f));
		static const uint8_t leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
		text[0] = (uint8_t)(leads[size] | code >> (6 * (size - 1)));
		uint8_t put[UTF8_MAX_BYTES];
		if (utf8_put(put, code) != size || memcmp(put, text, size) != 0)
			fail_msg("U+%04X put", (unsigned)code);
		bool surrogate = code >= 0xd800 && code < 0xe000;
		if (utf8_sequence(text, size) != (surrogate ? 0 : size))
			fail_msg("U+%04X", (unsigned)code);
		if (size > 1 && utf8_sequence(text, size - 1) != 0)
			fail_msg("U+%04X cut", (unsigned)code);
	}
	static const char *const wrong[] = { "\x80",
					     "\xc1\xbf",
					     "\xe0\x9f\xbf",
					     "\xf0\x8f\xbf\xbf",
					     "\xf4\x90\x80\x80",
					     "\xf5\x80\x80\x80",
					     "\xc3(" };
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		assert_int_equal(utf8_sequence((const uint8_t *)wrong[i], strlen(wrong[i])), 0);
}

static void an_arena_gives_zeroed_separate_pieces(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = { 0 };
	char *previous = NULL;
	for (size_t size = 1; size < 200000; size *= 3) {
		char *piece = arena_allocate(&arena, size);
		assert_non_null(piece);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(piece[i], 0);
		memset(piece, 'x', size);
		if (previous)
			assert_int_equal(previous[0], 'x');
		previous = piece;
	}
	assert_null(arena_allocate(&arena, SIZE_MAX));
}

static void random_numbers_stay_in_range_and_repeat_by_seed(void **state)
{
	(void)state;
	struct random_state a = random_seed(1), b = random_seed(1);
	double sum = 0;
	for (int i = 0; i < 10000; i++) {
		uint64_t value = random_below(&a, 10);
		assert_true(value < 10);
		assert_int_equal(value, random_below(&b, 10));
		sum += (double)value;
	}
	assert_true(sum > 44000 && sum < 46000);
}

static void a_mapped_file_is_its_bytes(void **state)
{
	(void)state;
	CLEANUP(close_fd) int fd = memfd_create("file", MFD_CLOEXEC);
	struct mapped_file file = { &file, 7 };
	struct error err;
	assert_int_equal(mapped_file_open(fd, &file, &err), -ENOEXEC);
	assert_string_equal(err.text, "the file is empty");
	assert_null(file.bytes);
	mapped_file_close(&file);
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(mapped_file_open(fd, &file, &err), 0);
	assert_int_equal(file.size_bytes, 3);
	assert_memory_equal(file.bytes, "abc", 3);
	mapped_file_close(&file);
	assert_null(file.bytes);
	assert_int_equal(mapped_file_open(-1, &file, &err), -EBADF);
	assert_string_equal(err.text, "cannot examine the file: Bad file descriptor");
}

/* Where the address sanitizer watches, small ones take what they need: the first addition moves
 * them. */
static void arrays_and_buffers_grow_and_are_emptied(void **state)
{
	(void)state;
	uint64_t *list = NULL;
	size_t capacity = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_equal(array_reserve(&list, &capacity, i, sizeof(*list)), 0);
		assert_true(capacity > i && capacity <= 2 * i + 8);
		if (GROWTH_IS_WATCHED && i < GROWTH_WATCHED_BYTES / sizeof(*list))
			assert_int_equal(capacity, i + 1);
		list[i] = i;
	}
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(list[i], i);
	assert_int_equal(array_reserve(&list, &capacity, SIZE_MAX, sizeof(*list)), -ENOMEM);
	assert_int_equal(growth_capacity(8, SIZE_MAX, 8, 1), 0);
	free(list);

	CLEANUP(buffer_release) struct buffer buffer = { 0 };
	buffer_append_text(&buffer, "what was there");
	buffer_empty(&buffer);
	assert_int_equal(buffer.size, 0);
	assert_int_equal(buffer.data == NULL, GROWTH_IS_WATCHED);
	buffer_append_text(&buffer, "next");
	assert_string_equal(buffer_text(&buffer), "next");
	buffer.failed = true;
	buffer_empty(&buffer);
	assert_true(buffer_failed(&buffer));
	buffer.failed = false;
}

static void an_array_reaches_a_position_with_zeros(void **state)
{
	(void)state;
	uint64_t *list = NULL;
	size_t capacity = 0;
	uint8_t *dirty = malloc(65536);
	assert_non_null(dirty);
	memset(dirty, 0xff, 65536);
	free(dirty); /* likely to be what the array is given */
	for (size_t position = 1; position < 4000; position = position * 3 + 1) {
		size_t before = capacity;
		assert_int_equal(array_reserve_zeroed(&list, &capacity, position, sizeof(*list)),
				 0);
		assert_true(capacity > position);
		for (size_t i = 0; i < capacity; i++)
			assert_int_equal(list[i], i < before ? i + 1 : 0);
		for (size_t i = 0; i < capacity; i++)
			list[i] = i + 1;
		assert_int_equal(array_reserve_zeroed(&list, &capacity, 0, sizeof(*list)), 0);
		assert_int_equal(list[0], 1);
	}
	assert_int_equal(array_reserve_zeroed(&list, &capacity, SIZE_MAX, sizeof(*list)), -ENOMEM);
	free(list);
}

static void a_sum_past_64_bits_says_so_for_good(void **state)
{
	(void)state;
	uint64_t sum = UINT64_MAX - 8;
	sum_add(&sum, 7);
	assert_int_equal(sum, UINT64_MAX - 1);
	assert_false(sum_passed(sum));
	sum_add(&sum, 2);
	assert_true(sum_passed(sum));
	sum_add(&sum, 1);
	assert_true(sum_passed(sum));
	assert_true(sum_passed(sum_u64(SUM_PASSED, 0)));
	assert_int_equal(sum_of_real(2.5), 3);
	assert_int_equal(sum_of_real(0x1p63), UINT64_C(1) << 63);
	assert_true(sum_passed(sum_of_real(0x1p64)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints_survive_a_round_trip),
		cmocka_unit_test(a_varint_past_64_bits_is_refused),
		cmocka_unit_test(zigzag_keeps_the_sign),
		cmocka_unit_test(a_cursor_fails_for_good_at_its_end),
		cmocka_unit_test(a_cursor_takes_text_up_to_its_nul),
		cmocka_unit_test(numbers_are_parsed_strictly),
		cmocka_unit_test(digits_are_taken_as_far_as_they_go),
		cmocka_unit_test(an_error_gets_its_place_in_front),
		cmocka_unit_test(a_long_name_does_not_hide_the_cause),
		cmocka_unit_test(an_index_finds_every_row_in_spite_of_collisions),
		cmocka_unit_test(a_buffer_grows_and_ends_its_text),
		cmocka_unit_test(numbers_are_appended_as_digits),
		cmocka_unit_test(bytes_are_spelled_in_hexadecimal),
		cmocka_unit_test(only_the_shortest_utf8_is_utf8),
		cmocka_unit_test(an_arena_gives_zeroed_separate_pieces),
		cmocka_unit_test(a_mapped_file_is_its_bytes),
		cmocka_unit_test(arrays_and_buffers_grow_and_are_emptied),
		cmocka_unit_test(random_numbers_stay_in_range_and_repeat_by_seed),
		cmocka_unit_test(an_array_reaches_a_position_with_zeros),
		cmocka_unit_test(a_sum_past_64_bits_says_so_for_good),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
