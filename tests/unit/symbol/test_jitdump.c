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
#include "base/error.h"
#include "symbol/jitdump.h"

/* Writes numbers in one byte order or the other. */
struct writer {
	struct buffer bytes;
	int swapped;
};

static void put(struct writer *writer, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buffer_append_u8(&writer->bytes,
				 (uint8_t)(value >> 8 * (writer->swapped ? size - 1 - i : i)));
}

static void put_header(struct writer *writer)
{
	put(writer, 0x4a695444, 4);
	put(writer, 1, 4);
	put(writer, 40, 4);
	put(writer, 62, 4); /* EM_X86_64 */
	put(writer, 0, 4);
	put(writer, 1234, 4);
	put(writer, 99, 8);
	put(writer, 0, 8);
}

static void put_record(struct writer *writer, uint32_t id, uint64_t time, uint32_t content_size)
{
	put(writer, id, 4);
	put(writer, 16 + content_size, 4);
	put(writer, time, 8);
}

static void put_load(struct writer *writer, uint64_t time, uint64_t address, const char *code,
		     uint64_t index, const char *name)
{
	put_record(writer, 0, time, (uint32_t)(40 + strlen(name) + 1 + strlen(code)));
	put(writer, 1234, 4);
	put(writer, 1235, 4);
	put(writer, address, 8);
	put(writer, address, 8);
	put(writer, strlen(code), 8);
	put(writer, index, 8);
	buffer_append(&writer->bytes, name, strlen(name) + 1);
	buffer_append(&writer->bytes, code, strlen(code));
}

static void put_move(struct writer *writer, uint64_t time, uint64_t from, uint64_t to,
		     uint64_t size, uint64_t index)
{
	put_record(writer, 1, time, 48);
	put(writer, 1234, 4);
	put(writer, 1235, 4);
	put(writer, to, 8);
	put(writer, from, 8);
	put(writer, to, 8);
	put(writer, size, 8);
	put(writer, index, 8);
}

static void put_lines(struct writer *writer, uint64_t address)
{
	put_record(writer, 2, 5, 16 + 2 * 16 + 5 + 2);
	put(writer, address, 8);
	put(writer, 2, 8);
	put(writer, address + 4, 8);
	put(writer, 8, 4);
	put(writer, 0, 4);
	buffer_append(&writer->bytes, "a.js", 5);
	put(writer, address, 8);
	put(writer, 7, 4);
	put(writer, 0, 4);
	buffer_append(&writer->bytes, "\xff", 2);
}

static struct writer make_dump(int swapped)
{
	struct writer writer = { .swapped = swapped };
	put_header(&writer);
	put_lines(&writer, 0x1000);
	put_load(&writer, 10, 0x1000, "AAAAAAAA", 1, "first");
	put_record(&writer, 4, 11, 8); /* unwinding information */
	put(&writer, 0, 8);
	put_load(&writer, 20, 0x1004, "BB", 2, "second");
	put_move(&writer, 30, 0x1000, 0x2000, 8, 1);
	put_record(&writer, 3, 40, 0);
	return writer;
}

static void assert_dump(struct jitdump *dump)
{
	assert_int_equal(dump->bad, 0);
	assert_int_equal(dump->pid, 1234);
	assert_int_equal(dump->machine, 62);
	assert_true(dump->closed);
	assert_int_equal(dump->count, 3);
	const struct jit_function *function = jitdump_find(dump, 0x1000);
	assert_non_null(function);
	assert_true(span_equal(function->name, span_of_text("first")));
	assert_true(span_equal(function->code, span_of_text("AAAAAAAA")));
	assert_int_equal(function->loaded, 10);
	assert_int_equal(function->line_count, 2);
	assert_int_equal(function->lines[0].address, 0x1000);
	assert_int_equal(function->lines[0].line, 7);
	assert_true(span_equal(function->lines[0].file, span_of_text("a.js")));
	assert_true(span_equal(jitdump_find(dump, 0x1005)->name, span_of_text("second")));
	assert_int_equal(jitdump_find(dump, 0x1006)->index, 1);
	function = jitdump_find(dump, 0x2007);
	assert_int_equal(function->index, 1);
	assert_int_equal(function->loaded, 30);
	assert_null(jitdump_find(dump, 0x2008));
}

static void both_byte_orders_are_read(void **state)
{
	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		struct writer writer = make_dump(swapped);
		CLEANUP(jitdump_release) struct jitdump dump = { 0 };
		assert_int_equal(jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL),
				 0);
		assert_dump(&dump);
		buffer_release(&writer.bytes);
	}
}

static void pieces_of_any_size_give_the_same(void **state)
{
	(void)state;
	struct writer writer = make_dump(0);
	for (size_t step = 1; step < writer.bytes.size; step++) {
		CLEANUP(jitdump_release) struct jitdump dump = { 0 };
		for (size_t at = 0; at < writer.bytes.size; at += step) {
			size_t left = writer.bytes.size - at;
			assert_int_equal(jitdump_feed(&dump, writer.bytes.data + at,
						      left < step ? left : step, NULL),
					 0);
		}
		assert_dump(&dump);
	}
	buffer_release(&writer.bytes);
}

static void what_is_wanted_alone_is_kept(void **state)
{
	(void)state;
	struct writer writer = make_dump(0);
	/* The move, and the load that it is of. */
	static const uint32_t wanted[] = { 0, 2 };
	struct jitdump dump = { .wanted = wanted, .wanted_count = 2 };
	assert_int_equal(jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL), 0);
	assert_int_equal(dump.count, 3);
	assert_true(span_equal(dump.functions[0].name, span_of_text("first")));
	assert_true(span_equal(dump.functions[2].code, span_of_text("AAAAAAAA")));
	assert_int_equal(dump.functions[0].line_count, 2);
	assert_true(span_equal(dump.functions[0].lines[0].file, span_of_text("a.js")));
	assert_int_equal(dump.functions[1].name.size, 0);
	assert_int_equal(dump.functions[1].code.size, 0);
	assert_int_equal(dump.functions[2].origin, 0);
	jitdump_release(&dump);
	buffer_release(&writer.bytes);
}

static void what_came_may_be_forgotten(void **state)
{
	(void)state;
	struct writer writer = { 0 };
	struct jitdump dump = { .names_alone = true, .most_bytes = 4096 };
	put_header(&writer);
	for (unsigned i = 0; i < 8; i++) {
		for (unsigned j = 0; j < 10; j++)
			put_load(&writer, 10, 0x1000 + i * 0x100 + j * 8, "AAAAAAAA", i * 10 + j,
				 "function");
		assert_int_equal(jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL),
				 0);
		assert_int_equal(dump.count, 10);
		assert_in_range(jitdump_bytes(&dump), 10 * sizeof(struct jit_function), 65536);
		jitdump_forget(&dump);
		assert_int_equal(dump.forgotten, (i + 1) * 10);
		writer.bytes.size = 0;
	}
	/* A move of what was forgotten makes no sense any more. */
	put_move(&writer, 30, 0x1000, 0x2000, 8, 1);
	assert_int_equal(jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL), 0);
	assert_int_equal(dump.bad, 1);
	/* Without forgetting there is no room for so many. */
	writer.bytes.size = 0;
	for (unsigned j = 0; j < 80; j++)
		put_load(&writer, 10, 0x1000 + j * 8, "AAAAAAAA", 100 + j, "function");
	assert_int_equal(jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL), -EFBIG);
	jitdump_release(&dump);
	buffer_release(&writer.bytes);
}

static void other_files_are_refused(void **state)
{
	(void)state;
	struct error err;
	static const uint8_t zeros[64];
	CLEANUP(jitdump_release) struct jitdump dump = { 0 };
	assert_int_equal(jitdump_feed(&dump, zeros, sizeof(zeros), &err), -EBADMSG);
	assert_string_equal(err.text,
			    "not a jitdump file: it does not begin with the magic number");
	assert_int_equal(jitdump_feed(&dump, zeros, 1, &err), -EBADMSG);
}

static void functions_without_a_name_take_memory_too(void **state)
{
	(void)state;
	struct writer writer = { 0 };
	CLEANUP(jitdump_release) struct jitdump dump = { .names_alone = true };
	put_header(&writer);
	for (uint64_t i = 0; i < 100; i++)
		put_load(&writer, 2, 0x1000, "A", i, "");
	assert_int_equal(jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL), 0);
	assert_int_equal(dump.count, 100);
	assert_true(dump.kept_bytes >= 100 * sizeof(struct jit_function));
	dump.kept_bytes = JITDUMP_MAX_KEPT;
	writer.bytes.size = 0;
	put_load(&writer, 2, 0x1000, "A", 100, "");
	assert_int_equal(jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL), -EFBIG);
	assert_int_equal(dump.count, 100);
	buffer_release(&writer.bytes);
}

static void huge_records_are_skipped_and_counted(void **state)
{
	(void)state;
	struct writer writer = { 0 };
	CLEANUP(jitdump_release) struct jitdump dump = { 0 };
	static const uint8_t piece[65536];
	put_header(&writer);
	put_record(&writer, 0, 1, JITDUMP_MAX_RECORD);
	assert_int_equal(jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL), 0);
	for (uint32_t at = 0; at < JITDUMP_MAX_RECORD; at += sizeof(piece))
		assert_int_equal(jitdump_feed(&dump, piece, sizeof(piece), NULL), 0);
	writer.bytes.size = 0;
	put_load(&writer, 2, 0x1000, "A", 1, "f");
	assert_int_equal(jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL), 0);
	assert_int_equal(dump.bad, 1);
	assert_non_null(jitdump_find(&dump, 0x1000));
	buffer_release(&writer.bytes);
}

static void cuts_and_flips_do_no_harm(void **state)
{
	(void)state;
	struct writer writer = make_dump(0);
	for (size_t cut = 0; cut < writer.bytes.size; cut++) {
		CLEANUP(jitdump_release) struct jitdump dump = { 0 };
		assert_int_equal(jitdump_feed(&dump, writer.bytes.data, cut, NULL), 0);
		assert_false(dump.closed);
	}
	for (size_t at = 0; at < writer.bytes.size * 8; at++) {
		CLEANUP(jitdump_release) struct jitdump dump = { 0 };
		writer.bytes.data[at / 8] ^= (uint8_t)(1 << at % 8);
		jitdump_feed(&dump, writer.bytes.data, writer.bytes.size, NULL);
		jitdump_find(&dump, 0x1000);
		writer.bytes.data[at / 8] ^= (uint8_t)(1 << at % 8);
	}
	buffer_release(&writer.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_byte_orders_are_read),
		cmocka_unit_test(pieces_of_any_size_give_the_same),
		cmocka_unit_test(what_is_wanted_alone_is_kept),
		cmocka_unit_test(what_came_may_be_forgotten),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(functions_without_a_name_take_memory_too),
		cmocka_unit_test(huge_records_are_skipped_and_counted),
		cmocka_unit_test(cuts_and_flips_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
