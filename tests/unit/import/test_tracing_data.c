#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "import/perf_data/tracing_data.h"

static void put(struct buffer *out, uint64_t number, size_t bytes)
{
	buffer_append(out, &number, bytes); /* little-endian, as we are */
}

static void put_file(struct buffer *out, const char *text)
{
	put(out, strlen(text), 8);
	buffer_append_text(out, text);
}

/* Up to the number of systems. */
static void put_head(struct buffer *out)
{
	buffer_append(out, "\x17\x08\x44tracing0.6", 14);
	put(out, 8 << 8, 2); /* little-endian, longs of 8 bytes */
	put(out, 4096, 4);
	buffer_append(out, "header_page", 12);
	put_file(out, "");
	buffer_append(out, "header_event", 13);
	put_file(out, "");
	put(out, 0, 4);
}

static int hear(void *context, uint64_t id, struct span system, struct span name)
{
	struct buffer *heard = context;
	buffer_printf(heard, "%llu %.*s:%.*s\n", (unsigned long long)id, (int)system.size,
		      (const char *)system.data, (int)name.size, (const char *)name.data);
	return 0;
}

static int read_into(const struct buffer *bytes, size_t size, struct buffer *heard)
{
	heard->size = 0;
	return tracing_data_read((struct span){ bytes->data, size }, hear, heard);
}

static void numbers_of_tracepoints_have_16_bits(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(buffer_release) struct buffer heard = { 0 };
	static const char *const formats[] = {
		"name: a\nID: 0\n",	"name: b\nID: 65535\nformat:\n",
		"name: c\nID: 65536\n", "name: d\nID: 99999999999999999999999999\n",
		"name: e\nID: 4x\n",	"name: f\nID: \n",
		"name: \nID: 5\n",	"ID: 6\nname: g", /* the last line has no end */
	};
	put_head(&bytes);
	put(&bytes, 1, 4);
	buffer_append(&bytes, "sched", 6);
	put(&bytes, sizeof(formats) / sizeof(formats[0]), 4);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		put_file(&bytes, formats[i]);
	assert_int_equal(read_into(&bytes, bytes.size, &heard), 0);
	assert_string_equal(buffer_text(&heard), "0 sched:a\n65535 sched:b\n6 sched:g\n");
}

/* Wherever it is. A tracepoint that is cut is not heard of. */
static void a_cut_ends_it(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(buffer_release) struct buffer heard = { 0 };
	put_head(&bytes);
	put(&bytes, 1, 4);
	buffer_append(&bytes, "sched", 6);
	put(&bytes, 1, 4);
	put_file(&bytes, "name: a\nID: 7\n");
	for (size_t size = 0; size < bytes.size; size++) {
		assert_int_equal(read_into(&bytes, size, &heard), -EBADMSG);
		assert_string_equal(buffer_text(&heard), "");
	}
	assert_int_equal(read_into(&bytes, bytes.size, &heard), 0);
	assert_string_equal(buffer_text(&heard), "7 sched:a\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_tracepoints_have_16_bits),
		cmocka_unit_test(a_cut_ends_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
