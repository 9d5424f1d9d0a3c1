#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/protobuf.h"
#include "import/formats.h"
#include "import/code/mapped_image.h"
#include "support/imported.h"
#include "unit/import/spelled.h"

/* ---- writing messages */

static void put_number(struct buffer *out, uint32_t field, uint64_t value)
{
	buffer_append_varint(out, field << 3 | PROTOBUF_VARINT);
	buffer_append_varint(out, value);
}

static void put_bytes(struct buffer *out, uint32_t field, const void *bytes, size_t size)
{
	buffer_append_varint(out, field << 3 | PROTOBUF_BYTES);
	buffer_append_varint(out, size);
	buffer_append(out, bytes, size);
}

static void put_message(struct buffer *out, uint32_t field, struct buffer *message)
{
	put_bytes(out, field, message->data, message->size);
	buffer_release(message);
}

/* A message of numbers: field 1 is the first, zeroes are left out. */
static void put_numbers(struct buffer *out, uint32_t field, const uint64_t *numbers, size_t count)
{
	struct buffer message = { 0 };
	for (size_t i = 0; i < count; i++)
		if (numbers[i])
			put_number(&message, (uint32_t)i + 1, numbers[i]);
	put_message(out, field, &message);
}

#define PUT(out, field, ...)                                                                       \
	put_numbers(out, field, (const uint64_t[]){ __VA_ARGS__ },                                 \
		    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

enum text {
	NO_TEXT,
	SAMPLES,
	COUNT,
	CPU,
	NANOSECONDS,
	PATH,
	BUILD_ID,
	MAIN,
	INNER,
	MANGLED,
	FILE_C,
	FILE_H,
	PID,
	COLOUR,
	RED,
	BYTES,
	KB,
	TEXTS
};

static const char *const texts[TEXTS] = { "",	    "samples",	"count", "cpu",	   "nanoseconds",
					  "/bin/x", "ab01",	"main",	 "inner",  "_ZN3foo3barEv",
					  "x.c",    "x.h",	"pid",	 "colour", "red",
					  "size",   "kilobytes" };

static void put_texts(struct buffer *out)
{
	for (size_t i = 0; i < TEXTS; i++)
		put_bytes(out, 6, texts[i], strlen(texts[i]));
}

static void put_types(struct buffer *out)
{
	PUT(out, 1, SAMPLES, COUNT);
	PUT(out, 1, CPU, NANOSECONDS);
	PUT(out, 11, CPU, NANOSECONDS);
	put_number(out, 12, 10);
}

static void put_line(struct buffer *location, uint64_t function, uint64_t line)
{
	PUT(location, 4, function, line);
}

/* 1: inner, inlined into main, at /bin/x+0x510; 2: main at +0x520; 3: foo::bar, nowhere; 4: an
 * address without name; 5: an address without mapping */
static void put_places(struct buffer *out)
{
	PUT(out, 3, 1, 0x1000, 0x3000, 0x500, PATH, BUILD_ID);
	PUT(out, 5, 1, MAIN, MAIN, FILE_C);
	PUT(out, 5, 2, INNER, INNER, FILE_H);
	PUT(out, 5, 3, MANGLED);
	struct buffer location = { 0 };
	put_number(&location, 1, 1);
	put_number(&location, 2, 1);
	put_number(&location, 3, 0x1010);
	put_line(&location, 2, 7);
	put_line(&location, 1, 20);
	put_message(out, 4, &location);
	put_number(&location, 1, 2);
	put_number(&location, 2, 1);
	put_number(&location, 3, 0x1020);
	put_line(&location, 1, 21);
	put_message(out, 4, &location);
	put_number(&location, 1, 3);
	put_line(&location, 3, 0);
	put_message(out, 4, &location);
	PUT(out, 4, 4, 1, 0x1030);
	put_number(&location, 1, 5);
	put_number(&location, 3, 0x99);
	put_line(&location, 3, 4);
	put_message(out, 4, &location);
}

static void put_all_but_samples(struct buffer *out)
{
	put_types(out);
	put_places(out);
	put_texts(out);
}

/* Packed, as most writers do. */
static void put_sample(struct buffer *out, const uint64_t *locations, size_t count,
		       uint64_t samples, uint64_t value)
{
	struct buffer message = { 0 };
	struct buffer numbers = { 0 };
	for (size_t i = 0; i < count; i++)
		buffer_append_varint(&numbers, locations[i]);
	put_message(&message, 1, &numbers);
	buffer_append_varint(&numbers, samples);
	buffer_append_varint(&numbers, value);
	put_message(&message, 2, &numbers);
	put_message(out, 2, &message);
}

#define SAMPLE(out, samples, value, ...)                                                           \
	put_sample(out, (const uint64_t[]){ __VA_ARGS__ },                                         \
		   sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), samples, value)

static void put_samples(struct buffer *out)
{
	SAMPLE(out, 3, 30, 1, 2);
	SAMPLE(out, 1, 10, 3, 1, 2);
	SAMPLE(out, 2, 25, 4, 5);
	SAMPLE(out, 1, 10, 1, 2);
}

static const char stacks[] = "cpu main@x+520;main>inner@x+510 4 40\n"
			     "cpu main@x+520;main>inner@x+510;_ZN3foo3barEv 1 10\n"
			     "cpu _ZN3foo3barEv@+99;@x+530 2 25\n";

static struct profile *must_read(const struct buffer *bytes, size_t piece, struct buffer *said)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (imported(&importer_pprof, (struct span){ bytes->data, bytes->size }, piece,
		     &(struct import_options){ .say = imported_say, .say_context = said }, &profile,
		     &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static void test_any_order_of_messages(void **state)
{
	(void)state;
	void (*const parts[])(struct buffer *) = { put_types, put_samples, put_places, put_texts };
	for (size_t order = 0; order < 256; order++) {
		size_t places[4] = { order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6 };
		unsigned seen = 0;
		for (size_t i = 0; i < 4; i++)
			seen |= 1u << places[i];
		if (seen != 15)
			continue;
		CLEANUP(buffer_release) struct buffer bytes = { 0 };
		for (size_t i = 0; i < 4; i++)
			parts[places[i]](&bytes);
		assert_ptr_equal(importer_find(bytes.data, bytes.size), &importer_pprof);
		CLEANUP(buffer_release) struct buffer said = { 0 };
		CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, 13, &said);
		expect_stacks(profile, stacks);
		assert_string_equal(buffer_text(&said), "");
	}
}

static void put_all(struct buffer *bytes)
{
	put_all_but_samples(bytes);
	put_samples(bytes);
}

static void test_two_paths_of_one_build_id_are_two_images(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	const struct span id = span_of_text("ab01");
	uint32_t system, stranger, again;
	assert_int_equal(mapped_image_add(profile, span_of_text("/usr/lib/libc.so.6"), id, &system),
			 0);
	assert_int_equal(mapped_image_add(profile, span_of_text("/home/m/forged"), id, &stranger),
			 0);
	assert_int_equal(mapped_image_add(profile, span_of_text("/usr/lib/libc.so.6"), id, &again),
			 0);
	assert_int_not_equal(system, stranger);
	assert_int_equal(system, again);
}

static void test_image_event_and_cells(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_all(&bytes);
	put_number(&bytes, 9, 1600000000000000000);
	put_number(&bytes, 10, 5000000000);
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, NULL);
	struct profile_image image = profile_image(profile, 1);
	assert_int_equal(image.kind, IMAGE_FILE);
	assert_int_equal(image.space, SPACE_OFFSET);
	assert_int_equal(image.build_id.size, 2);
	assert_memory_equal(image.build_id.data, "\xab\x01", 2);
	assert_int_equal(profile_table(profile, PROFILE_EVENT)->count, 1);
	struct profile_event event = profile_event(profile, 1);
	assert_true(span_equal(event.unit, span_of_text("ns")));
	assert_int_equal(event.sampled, 1);
	assert_int_equal(event.policy, PERIOD_FIXED);
	assert_int_equal(event.period, 10);
	struct profile_source source = profile_source(profile, 0);
	assert_int_equal(source.start_ns, 1600000000000000000);
	assert_int_equal(source.duration_ns, 5000000000);
	uint64_t samples = 0, estimate = 0;
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++) {
		struct cell cell = cell_of_values(table_values(flat, row));
		samples += cell.samples;
		estimate += cell.estimate;
	}
	assert_int_equal(samples, 7);
	assert_int_equal(estimate, 75);
}

static void test_lines_and_inlined_frames(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_all(&bytes);
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, NULL);
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	const struct resolver_options options = { .stash_only = true };
	assert_int_equal(resolver_new(profile, &options, &resolver, NULL), 0);
	uint32_t name;
	assert_int_equal(profile_add_text(profile, "main", &name), 0);
	const struct profile_frame frame = { FRAME_IP, 1, 0x510, name };
	const struct source_frame *frames;
	assert_int_equal(resolver_source(resolver, resolver_place(resolver, &frame), &frames), 2);
	assert_string_equal(frames[0].function, "inner");
	assert_string_equal(frames[0].file, "x.h");
	assert_int_equal(frames[0].line, 7);
	assert_null(frames[1].function);
	assert_string_equal(frames[1].file, "x.c");
	assert_int_equal(frames[1].line, 20);
}

/* One number a field, as some writers do, and numbers nobody asked for. */
static void test_unpacked_and_unknown(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_all_but_samples(&bytes);
	struct buffer message = { 0 };
	put_number(&message, 1, 1);
	put_number(&message, 1, 2);
	put_number(&message, 2, 4);
	put_number(&message, 77, 1);
	put_number(&message, 2, 40);
	put_bytes(&message, 78, "later", 5);
	put_message(&bytes, 2, &message);
	put_bytes(&bytes, 99, "later", 5);
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, NULL);
	expect_stacks(profile, "cpu main@x+520;main>inner@x+510 4 40\n");
}

static void put_label(struct buffer *sample, uint64_t key, uint64_t text, uint64_t number,
		      uint64_t unit)
{
	PUT(sample, 3, key, text, number, unit);
}

static void test_labels(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_all_but_samples(&bytes);
	struct buffer message = { 0 };
	put_number(&message, 1, 2);
	put_number(&message, 2, 1);
	put_number(&message, 2, 10);
	put_label(&message, BYTES, 0, 64, KB);
	put_label(&message, COLOUR, RED, 0, 0);
	put_label(&message, PID, 0, 77, 0);
	put_message(&bytes, 2, &message);
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, NULL);
	struct profile_context context = profile_context(profile, 1);
	assert_int_equal(context.pid, optional_of(77));
	assert_true(span_equal(context.labels, span_of_text("colour=red\nsize=64 kilobytes")));
}

/* Lines of labels are the same in any order; a text that is empty is no number. */
static void test_labels_in_any_order(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_all_but_samples(&bytes);
	for (int sample = 0; sample < 3; sample++) {
		struct buffer message = { 0 };
		put_number(&message, 1, 2);
		put_number(&message, 2, 1);
		put_number(&message, 2, 10);
		if (sample != 1)
			put_label(&message, BYTES, 0, 64, sample == 2 ? 0 : KB);
		put_label(&message, COLOUR, RED, 0, 0);
		if (sample == 1)
			put_label(&message, BYTES, 0, 64, KB);
		put_message(&bytes, 2, &message);
	}
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, NULL);
	assert_int_equal(profile_table(profile, PROFILE_CONTEXT)->count, 2);
	assert_true(span_equal(profile_context(profile, 1).labels,
			       span_of_text("colour=red\nsize=64 kilobytes")));
	assert_true(span_equal(profile_context(profile, 2).labels,
			       span_of_text("colour=red\nsize=64")));
}

/* Types as of a heap profile: nothing counts samples. */
static void test_values_without_samples(void **state)
{
	(void)state;
	static const char *const words[] = { "",      "objects", "count",	"space",
					     "bytes", "delay",	 "milliseconds" };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	PUT(&bytes, 1, 1, 2);
	PUT(&bytes, 1, 3, 4);
	PUT(&bytes, 1, 5, 6);
	struct buffer message = { 0 };
	put_number(&message, 2, 3);
	put_number(&message, 2, 0);
	put_number(&message, 2, 5);
	put_message(&bytes, 2, &message);
	for (size_t i = 0; i < 7; i++)
		put_bytes(&bytes, 6, words[i], strlen(words[i]));
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, NULL);
	assert_int_equal(profile_table(profile, PROFILE_EVENT)->count, 3);
	for (uint64_t id = 1; id <= 3; id++)
		assert_int_equal(profile_event(profile, id).sampled, 0);
	/* a sample without frames has a place all the same */
	assert_int_equal(profile_table(profile, PROFILE_STACK)->count, 0);
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	assert_int_equal(flat->count, 2);
	assert_int_equal(table_values(flat, 0)[CELL_ESTIMATE], 3);
	assert_int_equal(table_values(flat, 1)[CELL_ESTIMATE], 5000000);
	assert_true(span_equal(profile_event(profile, 3).unit, span_of_text("ns")));
}

/* As perf's converter writes two events. */
static void test_samples_of_each_event(void **state)
{
	(void)state;
	static const char *const words[] = { "",
					     "cycles_sample",
					     "count",
					     "cycles_event",
					     "instructions_sample",
					     "instructions_event" };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	PUT(&bytes, 1, 1, 2);
	PUT(&bytes, 1, 3, 2);
	PUT(&bytes, 1, 4, 2);
	PUT(&bytes, 1, 5, 2);
	struct buffer message = { 0 };
	for (uint64_t i = 1; i < 5; i++)
		put_number(&message, 2, i);
	put_message(&bytes, 2, &message);
	for (size_t i = 0; i < 6; i++)
		put_bytes(&bytes, 6, words[i], strlen(words[i]));
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, NULL);
	assert_int_equal(profile_table(profile, PROFILE_EVENT)->count, 2);
	assert_true(span_equal(profile_event(profile, 1).name, span_of_text("cycles")));
	assert_true(span_equal(profile_event(profile, 2).name, span_of_text("instructions")));
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	struct cell cell = cell_of_values(table_values(flat, 1));
	assert_int_equal(cell.samples, 3);
	assert_int_equal(cell.estimate, 4);
}

/* Two locations of one address that name different inlined functions. */
static void test_locations_that_disagree(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_all_but_samples(&bytes);
	struct buffer location = { 0 };
	put_number(&location, 1, 6);
	put_number(&location, 2, 1);
	put_number(&location, 3, 0x1010);
	put_line(&location, 3, 1);
	put_line(&location, 1, 20);
	put_message(&bytes, 4, &location);
	SAMPLE(&bytes, 1, 10, 1);
	SAMPLE(&bytes, 2, 20, 6);
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, NULL);
	expect_stacks(profile, "cpu main>inner@x+510 1 10\ncpu main@x+0;_ZN3foo3barEv@x+0 2 20\n");
}

static void expect_refused(const struct buffer *bytes, int code, const char *message)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	assert_int_equal(imported(&importer_pprof, (struct span){ bytes->data, bytes->size },
				  SIZE_MAX, &(struct import_options){ 0 }, &profile, &err),
			 code);
	if (!strstr(err.text, message))
		fail_msg("'%s', not '%s'", err.text, message);
}

static void test_cut_off(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_all(&bytes);
	size_t whole = bytes.size;
	SAMPLE(&bytes, 7, 70, 1, 2);
	bytes.size -= 3;
	char message[128];
	snprintf(message, sizeof(message),
		 "at byte %zu: the field is damaged, or the file is cut off", whole);
	expect_refused(&bytes, -EBADMSG, message);
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	assert_int_equal(
		imported(&importer_pprof, (struct span){ bytes.data, bytes.size }, SIZE_MAX,
			 &(struct import_options){
				 .force = true, .say = imported_say, .say_context = &said },
			 &profile, NULL),
		0);
	assert_non_null(strstr(buffer_text(&said), "what comes before is kept"));
	expect_stacks(profile, stacks);
}

static void test_malformed(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer base = { 0 };
	put_all_but_samples(&base);
	size_t size = base.size;
	SAMPLE(&base, 1, 10, 44);
	expect_refused(&base, -EBADMSG, "the sample has a location that is not there");
	base.size = size;
	SAMPLE(&base, 1, (uint64_t)-10, 1);
	expect_refused(&base, -EBADMSG, "a value is below 0");
	base.size = size;
	PUT(&base, 2, 1, 5);
	expect_refused(&base, -EBADMSG, "more or fewer values");
	base.size = size;
	PUT(&base, 4, 9, 55);
	expect_refused(&base, -EBADMSG, "the location has a mapping that is not there");
	base.size = size;
	PUT(&base, 4, 1);
	expect_refused(&base, -EBADMSG, "two locations have the same id");
	base.size = size;
	PUT(&base, 5, 9, 99);
	expect_refused(&base, -EBADMSG, "the function has a text that is not there");
	base.size = size;
	expect_refused(&base, -ENODATA, "no sample");
	put_bytes(&base, 2, "\xff", 1);
	expect_refused(&base, -EBADMSG, "this is no sample");
}

static void test_a_field_of_another_type(void **state)
{
	(void)state;
	static const uint32_t messages[] = { 1, 2, 3, 4, 5, 6, 11 };
	for (size_t i = 0; i < COUNT_OF(messages); i++) {
		CLEANUP(buffer_release) struct buffer bytes = { 0 };
		char message[128];
		put_all(&bytes);
		snprintf(message, sizeof(message), "at byte %zu: the field is damaged", bytes.size);
		put_number(&bytes, messages[i], 5);
		expect_refused(&bytes, -EBADMSG, message);
	}
}

static void test_sums_past_64_bits(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_all_but_samples(&bytes);
	size_t size = bytes.size;
	for (uint64_t i = 0; i < 3; i++)
		SAMPLE(&bytes, 1, INT64_MAX, 1 + i % 2);
	expect_refused(&bytes, -EOVERFLOW, "the values pass 64 bits");
	bytes.size = size;
	for (uint64_t i = 0; i < 3; i++)
		SAMPLE(&bytes, INT64_MAX, 1, 1 + i % 2);
	expect_refused(&bytes, -EOVERFLOW, "the values pass 64 bits");
}

static void test_force_tells_what_is_not_there(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_all_but_samples(&bytes);
	SAMPLE(&bytes, 1, 10, 1, 44, 2);
	SAMPLE(&bytes, 1, 10, 45);
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	assert_int_equal(
		imported(&importer_pprof, (struct span){ bytes.data, bytes.size }, SIZE_MAX,
			 &(struct import_options){
				 .force = true, .say = imported_say, .say_context = &said },
			 &profile, NULL),
		0);
	assert_string_equal(buffer_text(&said),
			    "warning: 2 references to texts, functions, mappings or "
			    "locations that are not there are left out\n");
	expect_stacks(profile, "cpu main@x+520;main>inner@x+510 1 10\n");
}

static void test_made_to_fill_memory(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_types(&bytes);
	for (size_t i = 0; i < 5000000; i++)
		put_bytes(&bytes, 4, "", 0);
	expect_refused(&bytes, -EPROTO, "it is made to fill memory");
}

static void test_not_recognised(void **state)
{
	(void)state;
	static const char *const no[] = { "",		"\n",
					  "main;f 3\n", "\n\nmain;f 3\nmain;g 4\n",
					  "2;a 3\n",	"events: Ir\n" };
	for (size_t i = 0; i < COUNT_OF(no); i++)
		assert_false(importer_pprof.recognise(no[i], strlen(no[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order_of_messages),
		cmocka_unit_test(test_two_paths_of_one_build_id_are_two_images),
		cmocka_unit_test(test_image_event_and_cells),
		cmocka_unit_test(test_lines_and_inlined_frames),
		cmocka_unit_test(test_unpacked_and_unknown),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_labels_in_any_order),
		cmocka_unit_test(test_values_without_samples),
		cmocka_unit_test(test_samples_of_each_event),
		cmocka_unit_test(test_locations_that_disagree),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_a_field_of_another_type),
		cmocka_unit_test(test_sums_past_64_bits),
		cmocka_unit_test(test_force_tells_what_is_not_there),
		cmocka_unit_test(test_made_to_fill_memory),
		cmocka_unit_test(test_not_recognised),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
