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
#include "import/formats.h"
#include "import/speedscope/speedscope_number.h"
#include "support/imported.h"
#include "unit/import/spelled.h"

#define SCHEMA "\"$schema\":\"https://www.speedscope.app/file-format-schema.json\""
#define FRAMES                                                                                     \
	"\"shared\":{\"frames\":[{\"name\":\"a\",\"line\":1},{\"name\":\"b\"},{\"name\":\"c\"}]}"

static int read_text(const char *text, size_t piece, bool force, struct buffer *said,
		     struct profile **profile, struct error *err)
{
	return imported(&importer_speedscope, span_of_text(text), piece,
			&(struct import_options){
				.force = force, .say = imported_say, .say_context = said },
			profile, err);
}

static struct profile *must_read(const char *text)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	assert_ptr_equal(importer_find(text, strlen(text)), &importer_speedscope);
	if (read_text(text, 9, false, NULL, &profile, &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static void test_samples_and_weights(void **state)
{
	(void)state;
	static const char *const orders[] = {
		"{" SCHEMA "," FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\","
		"\"samples\":[[0,1],[0],[0,1,2],[0,1]],\"weights\":[1,2,3,4]}]}",
		" {\"profiles\" : [ {\"weights\":[1,2,3,4], \"samples\": [[0,1],[0],[0,1,2],[0,1]],"
		"\"unit\":\"none\",\"more\":{\"x\":[[]]},\"type\":\"sampled\"} ],\n" FRAMES
		"," SCHEMA "}\n",
	};
	for (size_t i = 0; i < COUNT_OF(orders); i++) {
		CLEANUP(profile_freep) struct profile *profile = must_read(orders[i]);
		expect_stacks(profile, "samples a 0 2\nsamples a;b 0 5\nsamples a;b;c 0 3\n");
		assert_int_equal(profile_event(profile, 1).sampled, 0);
	}
}

static void test_frames_that_open_and_close(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile = must_read(
		"{" SCHEMA "," FRAMES ",\"profiles\":[{\"type\":\"evented\",\"unit\":\"bytes\","
		"\"startValue\":0,\"endValue\":20,\"events\":["
		"{\"type\":\"O\",\"frame\":0,\"at\":2},{\"at\":3,\"frame\":1,\"type\":\"O\"},"
		"{\"type\":\"C\",\"frame\":1,\"at\":7},{\"type\":\"O\",\"frame\":1,\"at\":9},"
		"{\"type\":\"C\",\"frame\":1,\"at\":10},{\"type\":\"C\",\"frame\":0,\"at\":11},"
		"{\"type\":\"O\",\"frame\":2,\"at\":15}]}]}");
	expect_stacks(profile, "bytes a 0 4\nbytes a;b 0 5\nbytes c 0 5\n");
}

#define OPENED                                                                                     \
	"\"events\":[{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"O\",\"frame\":1,\"at\":5}," \
	"{\"type\":\"C\",\"frame\":1,\"at\":9}"

/* Where the frames that are open come to an end is not known: the file may be cut. */
static void test_an_end_before_the_last_event(void **state)
{
	(void)state;
	static const struct {
		const char *ends, *said;
	} wanted[] = {
		{ "\"endValue\":9," OPENED "]", "" },
		{ "\"endValue\":1," OPENED ",{\"type\":\"C\",\"frame\":0,\"at\":9}]", "" },
		{ "\"endValue\":1," OPENED "]",
		  "warning: 1 of 1 profiles end before their last event, with frames still open: "
		  "what these took from there on is missing\n" },
		{ OPENED "]",
		  "warning: 1 of 1 profiles end before their last event, with frames still open: "
		  "what these took from there on is missing\n" },
	};
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		CLEANUP(buffer_release) struct buffer text = { 0 };
		CLEANUP(buffer_release) struct buffer said = { 0 };
		CLEANUP(profile_freep) struct profile *profile = NULL;
		struct error err = { 0 };
		buffer_printf(&text,
			      "{" SCHEMA "," FRAMES ",\"profiles\":[{\"type\":\"evented\","
			      "\"unit\":\"none\",\"startValue\":0,%s}]}",
			      wanted[i].ends);
		if (read_text(buffer_text(&text), 9, false, &said, &profile, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(buffer_text(&said), wanted[i].said);
		expect_stacks(profile, "samples a 0 5\nsamples a;b 0 4\n");
	}
}

static void test_units_and_decimals(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *times =
		must_read("{" SCHEMA "," FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"unit\":"
			  "\"milliseconds\",\"samples\":[[0],[1]],\"weights\":[1.25,2e-3]}]}");
	expect_stacks(times, "time a 0 1250000\ntime b 0 2000\n");
	CLEANUP(profile_freep)
	struct profile *plain =
		must_read("{" SCHEMA "," FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"unit\":"
			  "\"none\",\"samples\":[[0],[1]],\"weights\":[1.25,3]}]}");
	expect_stacks(plain, "samples a 0 125\nsamples b 0 300\n");
	assert_int_equal(profile_event(plain, 1).scale, 2);
}

static void test_several_profiles(void **state)
{
	(void)state;
	static const char parts[] =
		FRAMES ",\"profiles\":["
		       "{\"type\":\"sampled\",\"name\":\"one\",\"unit\":\"none\",\"samples\":[[0]],"
		       "\"weights\":[1]},"
		       "{\"type\":\"sampled\",\"name\":\"two\",\"unit\":\"none\",\"samples\":[[1]],"
		       "\"weights\":[2]}]}";
	CLEANUP(buffer_release) struct buffer text = { 0 };
	buffer_printf(&text, "{" SCHEMA ",%s", parts);
	CLEANUP(profile_freep) struct profile *threads = must_read(buffer_text(&text));
	assert_int_equal(profile_table(threads, PROFILE_EVENT)->count, 1);
	assert_true(span_equal(profile_context(threads, 2).thread, span_of_text("two")));
	text.size = 0;
	buffer_printf(&text, "{" SCHEMA ",\"exporter\":\"culprit 1\",%s", parts);
	CLEANUP(profile_freep) struct profile *events = must_read(buffer_text(&text));
	expect_stacks(events, "one a 0 1\ntwo b 0 2\n");
}

static void test_faults(void **state)
{
	(void)state;
	static const struct {
		const char *profiles;
		int code;
		const char *message;
	} wanted[] = {
		{ "{\"type\":\"sampled\",\"samples\":[[9]],\"weights\":[1]}", -EBADMSG,
		  "a frame that is not there" },
		{ "{\"type\":\"sampled\",\"samples\":[[0],[1]],\"weights\":[1]}", -EBADMSG,
		  "no weight of 0 or more" },
		{ "{\"type\":\"sampled\",\"samples\":[[0]],\"weights\":[-1]}", -EBADMSG,
		  "no weight of 0 or more" },
		{ "{\"type\":\"sampled\",\"samples\":[],\"weights\":7}", -EBADMSG,
		  "an array was expected" },
		{ "{\"type\":\"sampled\",\"samples\":[[0]],\"weights\":[1,2]}", -EBADMSG,
		  "there are more weights than samples" },
		{ "{\"type\":\"sampled\",\"samples\":[[0]]}", -EBADMSG, "has no samples and" },
		{ "{\"type\":\"sampled\",\"samples\":[[0.5]],\"weights\":[1]}", -EBADMSG,
		  "a whole number was expected" },
		{ "{\"type\":\"sampled\",\"samples\":[[0],[0]],"
		  "\"weights\":[18446744073709551615,1]}",
		  -EOVERFLOW, "the weights pass 64 bits" },
		{ "{\"type\":\"evented\",\"events\":[{\"type\":\"C\",\"frame\":0,\"at\":1}]}",
		  -EBADMSG, "a frame closes that is not the last one open" },
		{ "{\"type\":\"evented\",\"events\":[{\"type\":\"O\",\"frame\":0,\"at\":5},"
		  "{\"type\":\"C\",\"frame\":0,\"at\":4}]}",
		  -EBADMSG, "comes before the one in front of it" },
		{ "{\"type\":\"evented\",\"events\":[{\"type\":\"O\",\"frame\":0}]}", -EBADMSG,
		  "no time" },
		{ "{\"type\":\"sampled\",\"samples\":[],\"weights\":[]}", -ENODATA, "no weights" },
		{ "{\"type\" \"x\"}", -EBADMSG, "a colon is missing" },
	};
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		CLEANUP(buffer_release) struct buffer text = { 0 };
		struct profile *profile = NULL;
		struct error err = { 0 };
		buffer_printf(&text, "{" SCHEMA "," FRAMES ",\"profiles\":[%s]}",
			      wanted[i].profiles);
		assert_int_equal(
			read_text(buffer_text(&text), SIZE_MAX, false, NULL, &profile, &err),
			wanted[i].code);
		if (!strstr(err.text, wanted[i].message))
			fail_msg("'%s', not '%s'", err.text, wanted[i].message);
	}
}

static void test_force_keeps_what_came_before(void **state)
{
	(void)state;
	static const char text[] =
		"{" SCHEMA "," FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"samples\":[[0],[7]],"
		"\"weights\":[1,2]}]}";
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	assert_int_equal(read_text(text, SIZE_MAX, true, &said, &profile, NULL), 0);
	expect_stacks(profile, "samples a 0 1\n");
	assert_non_null(strstr(buffer_text(&said), "what comes before is kept"));
}

static void test_decimals(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool good;
		uint64_t whole;
		uint32_t billionths;
		unsigned places;
	} wanted[] = {
		{ "0", true, 0, 0, 0 },
		{ "-0.0", true, 0, 0, 0 },
		{ "12.5", true, 12, 500000000, 1 },
		{ "1.25e2", true, 125, 0, 0 },
		{ "125E-2", true, 1, 250000000, 2 },
		{ "0.0000000005", true, 0, 1, 9 },
		{ "0.00000000049", true, 0, 0, 0 },
		{ "0.9999999999", true, 1, 0, 0 },
		{ "18446744073709551615", true, UINT64_MAX, 0, 0 },
		{ "18446744073709551616", false, 0, 0, 0 },
		{ "1e20", false, 0, 0, 0 },
		{ "1e-99999999999999999999", true, 0, 0, 0 },
		{ "0e99999999999999999999", true, 0, 0, 0 },
		{ "-1", false, 0, 0, 0 },
		{ "-1e-9", false, 0, 0, 0 },
	};
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		struct decimal number;
		if (decimal_parse(span_of_text(wanted[i].text), &number) != wanted[i].good)
			fail_msg("%s", wanted[i].text);
		if (!wanted[i].good)
			continue;
		assert_int_equal(number.whole, wanted[i].whole);
		assert_int_equal(number.billionths, wanted[i].billionths);
		assert_int_equal(decimal_places(number), wanted[i].places);
	}
	struct decimal left;
	assert_true(decimal_subtract((struct decimal){ 3, 1 }, (struct decimal){ 1, 2 }, &left));
	assert_int_equal(left.whole, 1);
	assert_int_equal(left.billionths, 999999999);
	assert_false(decimal_subtract((struct decimal){ 1, 1 }, (struct decimal){ 1, 2 }, &left));
	uint64_t product;
	assert_true(decimal_times((struct decimal){ 1, 500000000 }, 3, &product));
	assert_int_equal(product, 5);
	assert_false(decimal_times((struct decimal){ UINT64_MAX, 0 }, 2, &product));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_and_weights),
		cmocka_unit_test(test_frames_that_open_and_close),
		cmocka_unit_test(test_an_end_before_the_last_event),
		cmocka_unit_test(test_units_and_decimals),
		cmocka_unit_test(test_several_profiles),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_force_keeps_what_came_before),
		cmocka_unit_test(test_decimals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
