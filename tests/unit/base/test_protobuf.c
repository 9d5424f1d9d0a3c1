#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/protobuf.h"
#include "base/protobuf_write.h"

static void test_fields_of_all_wires(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	protobuf_put_number(&bytes, 1, UINT64_MAX);
	protobuf_put_bytes(&bytes, 1000, span_of_text("text"));
	buffer_append(&bytes, "\x19\1\2\3\4\5\6\7\x8", 9); /* 3, eight bytes */
	buffer_append(&bytes, "\x25\1\2\3\4", 5);	   /* 4, four bytes */
	protobuf_put_item(&bytes, 2, (struct span){ NULL, 0 });
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	struct protobuf_field field;
	assert_true(protobuf_next(&cursor, &field));
	assert_int_equal(field.number, 1);
	assert_true(field.value == UINT64_MAX);
	assert_true(protobuf_next(&cursor, &field));
	assert_int_equal(field.number, 1000);
	assert_true(span_equal(field.bytes, span_of_text("text")));
	assert_true(protobuf_next(&cursor, &field));
	assert_int_equal(field.wire, PROTOBUF_FIXED64);
	assert_true(field.value == 0x0807060504030201);
	assert_true(protobuf_next(&cursor, &field));
	assert_int_equal(field.wire, PROTOBUF_FIXED32);
	assert_true(field.value == 0x04030201);
	assert_true(protobuf_next(&cursor, &field));
	assert_int_equal(field.bytes.size, 0);
	assert_false(protobuf_next(&cursor, &field));
	assert_false(cursor.failed);
}

static void test_damaged(void **state)
{
	(void)state;
	static const struct span bad[] = {
		{ "\x0a\x02x", 3 },					/* past the end */
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, /* far past it */
		{ "\x08", 1 },						/* no number */
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11 }, /* 65 bits */
		{ "\x00\x01", 2 },					/* field 0 */
		{ "\x0b", 1 },						/* a group */
		{ "\x0f", 1 },						/* wire type 7 */
		{ "\x25\1\2\3", 4 }, /* four bytes that are three */
	};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct cursor cursor = cursor_of(bad[i].data, bad[i].size);
		struct protobuf_field field;
		assert_false(protobuf_next(&cursor, &field));
		assert_true(cursor.failed);
	}
}

static int add(void *context, uint64_t number)
{
	*(uint64_t *)context = *(uint64_t *)context * 1000 + number;
	return number == 9 ? -ECANCELED : 0;
}

static void test_repeated_numbers(void **state)
{
	(void)state;
	uint64_t sum = 0;
	struct protobuf_field one = { .number = 1, .wire = PROTOBUF_VARINT, .value = 7 };
	struct protobuf_field packed = { .number = 1,
					 .wire = PROTOBUF_BYTES,
					 .bytes = { "\x01\xac\x02\x03", 4 } };
	assert_int_equal(protobuf_numbers(&one, add, &sum), 0);
	assert_int_equal(protobuf_numbers(&packed, add, &sum), 0);
	assert_int_equal(sum, 7001300003);
	packed.bytes.size = 2;
	assert_int_equal(protobuf_numbers(&packed, add, &sum), -EBADMSG);
	one.value = 9;
	assert_int_equal(protobuf_numbers(&one, add, &sum), -ECANCELED);
	one.wire = PROTOBUF_FIXED32;
	assert_int_equal(protobuf_numbers(&one, add, &sum), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_of_all_wires),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_repeated_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
