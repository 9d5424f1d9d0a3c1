#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "symbol/record.h"

static struct span text(const char *characters)
{
	return span_of_text(characters);
}

static struct record record_of(uint64_t kind, uint64_t first, uint64_t last,
			       const struct buffer *content)
{
	return (struct record){ kind, first, last, { content->data, content->size } };
}

static void a_function_survives_a_round_trip(void **state)
{
	(void)state;
	static const struct function_record functions[] = {
		{ 0, 0, { "main", 4 } },
		{ FUNCTION_UNNAMED, 0, { NULL, 0 } },
		{ FUNCTION_PLT, 0, { "puts@plt", 8 } },
		{ FUNCTION_COLD, 0x10, { "f.cold", 6 } },
		{ FUNCTION_COLD, 0xffff0000, { "f.cold", 6 } },
		{ FUNCTION_COLD | FUNCTION_UNNAMED, UINT64_MAX, { NULL, 0 } },
	};
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		CLEANUP(buffer_release) struct buffer content = { 0 };
		struct function_record back;
		record_put_function(&content, 0x1000, &functions[i]);
		struct record record = record_of(RECORD_FUNCTION, 0x1000, 0x1fff, &content);
		assert_true(record_get_function(&record, &back));
		assert_int_equal(back.flags, functions[i].flags);
		assert_int_equal(back.parent, functions[i].parent);
		assert_true(span_equal(back.name, functions[i].name));
		assert_null(record_fault(&record));
	}
}

static void a_name_must_be_there_exactly_when_the_function_is_named(void **state)
{
	(void)state;
	struct function_record function;
	struct record unnamed = { RECORD_FUNCTION, 0, 1, { "\1\0", 2 } };
	struct record named = { RECORD_FUNCTION, 0, 1, { "\1\1x", 3 } };
	struct record nul = { RECORD_FUNCTION, 0, 1, { "\1\0a\0b", 5 } };
	struct record backwards = { RECORD_FUNCTION, 2, 1, { "\1\0a", 3 } };
	assert_false(record_get_function(&unnamed, &function));
	assert_false(record_get_function(&named, &function));
	assert_false(record_get_function(&nul, &function));
	assert_false(record_get_function(&backwards, &function));
}

static void code_must_be_as_long_as_its_range(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	struct span code;
	record_put_code(&content, text("\x90\x90\xc3"));
	struct record right = record_of(RECORD_CODE, 16, 18, &content);
	struct record wrong = record_of(RECORD_CODE, 16, 19, &content);
	assert_true(record_get_code(&right, &code));
	assert_true(span_equal(code, text("\x90\x90\xc3")));
	assert_false(record_get_code(&wrong, &code));
	assert_string_equal(record_fault(&wrong), "it is no code record");
}

/* main() at 100..199: line 10; from 120 g() inlined at line 11, in it h() from 130 to 139; from 150
 * line 12. */
static void put_lines(struct buffer *content)
{
	struct lines_writer writer;
	lines_writer_init(&writer, 100);
	lines_writer_row(&writer, 100, 0, text("a.c"), 10);
	uint32_t g = lines_writer_inline(&writer, 0, text("g"), text("a.c"), 11);
	lines_writer_row(&writer, 120, g, text("g.h"), 5);
	uint32_t h = lines_writer_inline(&writer, g, text("h"), text("g.h"), 6);
	lines_writer_row(&writer, 130, h, text("h.h"), 7);
	lines_writer_row(&writer, 135, h, text("h.h"), 7); /* the same: one row */
	lines_writer_row(&writer, 140, g, text("g.h"), 8);
	lines_writer_row(&writer, 150, 0, text("a.c"), 12);
	lines_writer_row(&writer, 190, 0, text(""), 0);
	assert_int_equal(lines_writer_finish(&writer, content), 0);
	lines_writer_release(&writer);
}

static void assert_frame(const struct line_frame *frame, const char *function, const char *file,
			 uint32_t line)
{
	assert_true(span_equal(frame->function, text(function)));
	assert_true(span_equal(frame->file, text(file)));
	assert_int_equal(frame->line, line);
}

static void lines_and_inlined_frames_survive_a_round_trip(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	CLEANUP(lines_table_release) struct lines_table table;
	struct line_frame frames[RECORD_MAX_DEPTH];
	put_lines(&content);
	struct record record = record_of(RECORD_LINES, 100, 199, &content);
	assert_int_equal(lines_table_decode(&record, &table), 0);
	assert_int_equal(table.row_count, 6);
	assert_null(lines_table_find(&table, 99));
	assert_null(lines_table_find(&table, 200));

	const struct lines_row *row = lines_table_find(&table, 139);
	assert_int_equal(lines_table_frames(&table, row, frames, RECORD_MAX_DEPTH), 3);
	assert_frame(&frames[0], "h", "h.h", 7);
	assert_frame(&frames[1], "g", "g.h", 6);
	assert_frame(&frames[2], "", "a.c", 11);
	assert_int_equal(lines_table_frames(&table, row, frames, 2), 2);

	row = lines_table_find(&table, 119);
	assert_int_equal(lines_table_frames(&table, row, frames, RECORD_MAX_DEPTH), 1);
	assert_frame(&frames[0], "", "a.c", 10);
	row = lines_table_find(&table, 199);
	assert_int_equal(lines_table_frames(&table, row, frames, RECORD_MAX_DEPTH), 1);
	assert_frame(&frames[0], "", "", 0);
}

static void texts_of_lines_are_listed_without_decoding_them(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	CLEANUP(lines_table_release) struct lines_table table;
	struct lines_texts texts;
	struct span found;
	put_lines(&content);
	struct record record = record_of(RECORD_LINES, 100, 199, &content);
	assert_int_equal(lines_table_decode(&record, &table), 0);
	lines_texts_begin(&texts, &record);
	for (size_t i = 0; i < table.text_count; i++) {
		assert_true(lines_texts_next(&texts, &found));
		assert_true(span_equal(found, table.texts[i]));
	}
	assert_false(lines_texts_next(&texts, &found));
	for (size_t cut = 0; cut < content.size; cut++) {
		size_t count = 0;
		record.content.size = cut;
		lines_texts_begin(&texts, &record);
		while (lines_texts_next(&texts, &found))
			count++;
		assert_true(count <= table.text_count);
	}
}

static void the_same_lines_are_the_same_bytes(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer first = { 0 };
	CLEANUP(buffer_release) struct buffer second = { 0 };
	put_lines(&first);
	put_lines(&second);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
}

static void cut_and_flipped_lines_do_no_harm(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	struct line_frame frames[RECORD_MAX_DEPTH];
	put_lines(&content);
	for (size_t cut = 0; cut < content.size; cut++) {
		CLEANUP(free_pointer) uint8_t *exact = malloc(cut ? cut : 1);
		assert_non_null(exact);
		memcpy(exact, content.data, cut);
		struct record record = { RECORD_LINES, 100, 199, { exact, cut } };
		struct lines_table table;
		assert_int_equal(lines_table_decode(&record, &table), -EBADMSG);
		assert_non_null(record_fault(&record));
	}
	for (size_t at = 0; at < content.size * 8; at++) {
		content.data[at / 8] ^= (uint8_t)(1 << at % 8);
		struct record record = record_of(RECORD_LINES, 100, 199, &content);
		CLEANUP(lines_table_release) struct lines_table table = { 0 };
		if (lines_table_decode(&record, &table) == 0)
			for (size_t row = 0; row < table.row_count; row++) {
				assert_in_range(table.rows[row].vaddr, 100, 199);
				lines_table_frames(&table, &table.rows[row], frames,
						   RECORD_MAX_DEPTH);
			}
		content.data[at / 8] ^= (uint8_t)(1 << at % 8);
	}
}

static void data_must_be_as_long_as_its_range(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	struct span data;
	record_put_data(&content, text("table"));
	struct record right = record_of(RECORD_DATA, 16, 20, &content);
	struct record wrong = record_of(RECORD_DATA, 16, 19, &content);
	assert_true(record_get_data(&right, &data));
	assert_true(span_equal(data, text("table")));
	assert_null(record_fault(&right));
	assert_string_equal(record_fault(&wrong), "it is no record of data");
}

static void a_callee_is_a_name_at_one_address(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	struct span name;
	record_put_callee(&content, text("abort@plt"));
	struct record right = record_of(RECORD_CALLEE, 16, 16, &content);
	struct record wide = record_of(RECORD_CALLEE, 16, 17, &content);
	struct record unnamed = { RECORD_CALLEE, 16, 16, { "\1", 1 } };
	struct record nul = { RECORD_CALLEE, 16, 16, { "\1a\0b", 4 } };
	assert_true(record_get_callee(&right, &name));
	assert_true(span_equal(name, text("abort@plt")));
	assert_null(record_fault(&right));
	assert_string_equal(record_fault(&wide), "it is no record of a callee");
	assert_string_equal(record_fault(&unnamed), "it is no record of a callee");
	assert_string_equal(record_fault(&nul), "it is no record of a callee");
}

static const struct entry_place places[] = {
	{ 101, ENTRY_JUMP }, { 101, ENTRY_POINTER }, { 150, ENTRY_LANDING }, { 151, ENTRY_LANDING },
	{ 199, 77 }, /* of a later version */
};
#define PLACES (sizeof(places) / sizeof(places[0]))

static void entries_survive_a_round_trip(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	struct entries_cursor cursor = { 0 };
	struct entry_place place;
	record_put_entries(&content, 100, places, PLACES);
	struct record record = record_of(RECORD_ENTRIES, 100, 199, &content);
	for (size_t i = 0; i < PLACES; i++) {
		assert_true(record_next_entry(&record, &cursor, &place));
		assert_int_equal(place.vaddr, places[i].vaddr);
		assert_int_equal(place.kind, places[i].kind);
	}
	assert_false(record_next_entry(&record, &cursor, &place));
	assert_null(record_fault(&record));
	record.last = 198;
	assert_string_equal(record_fault(&record), "it is no record of entries");
}

static void entries_rise_and_lie_inside(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t size;
	} wrong[] = {
		{ "", 0 },	   { "\1", 1 },		{ "\1\0\0", 3 },     { "\1\5", 2 },
		{ "\1\145\0", 3 }, { "\1\5\1\0\1", 5 }, { "\1\5\1\0\0", 5 }, { "\2\5\1", 3 },
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct record record = {
			RECORD_ENTRIES, 100, 199, { wrong[i].bytes, wrong[i].size }
		};
		assert_string_equal(record_fault(&record), "it is no record of entries");
	}
	struct record right = { RECORD_ENTRIES, 100, 199, { "\1\5\1\0\2\136\0", 7 } };
	assert_null(record_fault(&right));
}

static void cut_and_flipped_entries_do_no_harm(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	record_put_entries(&content, 100, places, PLACES);
	for (size_t at = 0; at < content.size * 9; at++) {
		size_t size = at < content.size ? at : content.size;
		CLEANUP(free_pointer) uint8_t *exact = malloc(size ? size : 1);
		assert_non_null(exact);
		memcpy(exact, content.data, size);
		if (at >= content.size)
			exact[(at - content.size) / 8] ^= (uint8_t)(1u << at % 8);
		struct record record = { RECORD_ENTRIES, 100, 199, { exact, size } };
		struct entries_cursor cursor = { 0 };
		struct entry_place place;
		while (record_next_entry(&record, &cursor, &place))
			assert_in_range(place.vaddr, 101, 199);
	}
}

static void a_set_is_sorted_and_holds_each_record_once(void **state)
{
	(void)state;
	CLEANUP(record_set_release) struct record_set set = { 0 };
	assert_int_equal(record_set_add(&set, 2, 5, 6, text("b")), 0);
	assert_int_equal(record_set_add(&set, 1, 5, 6, text("b")), 0);
	assert_int_equal(record_set_add(&set, 1, 5, 6, text("a")), 0);
	assert_int_equal(record_set_add(&set, 1, 5, 6, text("b")), 0);
	assert_int_equal(record_set_add(&set, 1, 4, 9, text("z")), 0);
	record_set_sort(&set);
	assert_int_equal(set.count, 4);
	assert_true(span_equal(set.list[0].content, text("z")));
	assert_true(span_equal(set.list[1].content, text("a")));
	assert_int_equal(set.list[3].kind, 2);
}

static void unknown_kinds_are_no_fault(void **state)
{
	(void)state;
	struct record record = { 77, 1, 2, { "anything", 8 } };
	assert_null(record_fault(&record));
	record.last = 0;
	assert_string_equal(record_fault(&record), "its range ends before it starts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_survives_a_round_trip),
		cmocka_unit_test(a_name_must_be_there_exactly_when_the_function_is_named),
		cmocka_unit_test(code_must_be_as_long_as_its_range),
		cmocka_unit_test(lines_and_inlined_frames_survive_a_round_trip),
		cmocka_unit_test(texts_of_lines_are_listed_without_decoding_them),
		cmocka_unit_test(the_same_lines_are_the_same_bytes),
		cmocka_unit_test(cut_and_flipped_lines_do_no_harm),
		cmocka_unit_test(data_must_be_as_long_as_its_range),
		cmocka_unit_test(a_callee_is_a_name_at_one_address),
		cmocka_unit_test(entries_survive_a_round_trip),
		cmocka_unit_test(entries_rise_and_lie_inside),
		cmocka_unit_test(cut_and_flipped_entries_do_no_harm),
		cmocka_unit_test(a_set_is_sorted_and_holds_each_record_once),
		cmocka_unit_test(unknown_kinds_are_no_fault),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
