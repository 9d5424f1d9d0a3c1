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
#include "profile/image_paths.h"
#include "support/imported.h"
#include "symbol/record.h"
#include "unit/import/spelled.h"

struct form {
	unsigned width;
	bool big;
};

static const struct form forms[] = { { 8, false }, { 4, false }, { 8, true }, { 4, true } };

static void put(struct buffer *out, struct form form, uint64_t word)
{
	for (unsigned i = 0; i < form.width; i++)
		buffer_append_u8(out, (uint8_t)(word >> 8 * (form.big ? form.width - 1 - i : i)));
}

static void put_words(struct buffer *out, struct form form, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put(out, form, words[i]);
}

#define PUT(out, form, ...)                                                                        \
	put_words(out, form, (const uint64_t[]){ __VA_ARGS__ },                                    \
		  sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static const char maps[] = "build=/opt/bin\n"
			   "1000-3000 r-xp 00000500 08:01 5          $build/server x\n"
			   "3000-4000 rw-p 00002000 08:01 5          $build/server x\n"
			   "5000-6000 r-xp 00000000 08:01 6          /lib/libc.so\n"
			   "7ff0-7fff r-xp 00000000 00:00 0          [vdso]\n";

static void put_profile(struct buffer *out, struct form form)
{
	PUT(out, form, 0, 3, 0, 10000, 0);
	PUT(out, form, 2, 3, 0x1010, 0x1020, 0x5030);
	PUT(out, form, 1, 2, 0x7ff4, 0x1020);
	PUT(out, form, 4, 3, 0x1010, 0x1020, 0x5030);
	PUT(out, form, 5, 1, 0x9000);
	PUT(out, form, 0, 1, 0);
	buffer_append_text(out, maps);
}

static struct profile *must_read(const struct buffer *bytes, size_t piece, struct buffer *said)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (imported(&importer_cpu_profile, (struct span){ bytes->data, bytes->size }, piece,
		     &(struct import_options){ .say = imported_say, .say_context = said }, &profile,
		     &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static void test_words_of_all_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(forms); i++)
		for (size_t piece = 1; piece < 40; piece += 7) {
			CLEANUP(buffer_release) struct buffer bytes = { 0 };
			put_profile(&bytes, forms[i]);
			assert_ptr_equal(importer_find(bytes.data, bytes.size),
					 &importer_cpu_profile);
			CLEANUP(buffer_release) struct buffer said = { 0 };
			CLEANUP(profile_freep)
			struct profile *profile = must_read(&bytes, piece, &said);
			expect_stacks(profile,
				      "cpu @libc.so+2f;@server x+51f;@server x+510 6 60000000\n"
				      "cpu @server x+51f;@[vdso]+4 1 10000000\n"
				      "cpu @[unknown: outside all mappings]+9000 5 50000000\n");
			assert_string_equal(buffer_text(&said), "");
			struct profile_event event = profile_event(profile, 1);
			assert_int_equal(event.period, 10000000);
			assert_int_equal(event.policy, PERIOD_FIXED);
			assert_int_equal(event.sampled, 1);
		}
}

static void test_squares_are_of_single_samples(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	PUT(&bytes, forms[0], 0, 3, 0, 7, 0, 3, 1, 0x10, 0, 1, 0);
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, NULL);
	struct cell cell = cell_of_values(table_values(profile_table(profile, PROFILE_FLAT), 0));
	assert_int_equal(cell.samples, 3);
	assert_int_equal(cell.estimate, 3 * 7000);
	assert_true(cell.squares == (unsigned __int128)3 * 7000 * 7000);
}

/* One frame above every leaf is the signal handler's. */
static void test_the_signal_handler_is_left_out(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct form form = forms[0];
	PUT(&bytes, form, 0, 3, 0, 10000, 0);
	for (uint64_t i = 0; i < 40; i++)
		PUT(&bytes, form, 1, 4, 0x100 + i, i == 7 ? 0x55 : 0x900, 0x100 + i, 0x200 + i % 3);
	PUT(&bytes, form, 0, 1, 0);
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, SIZE_MAX, &said);
	assert_string_equal(buffer_text(&said),
			    "note: nearly all stacks have 0x900 above the leaf: the "
			    "signal handler, which is left out\n");
	CLEANUP(free_pointer) char *text = spell_stacks(profile);
	/* the leaf that comes again as a return address is left out too */
	assert_non_null(strstr(text, "cpu @+1ff;@+100 1 10000000\n"));
	assert_non_null(strstr(text, "cpu @+200;@+106;@+54;@+107 1 10000000\n"));
}

static void test_names_before_the_profile(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	buffer_append_text(&bytes, "--- symbol\nbinary=/opt/bin/server\n"
				   "0x0000000000001010 leaf\n"
				   "0x000000000000101f outer--middle--inner\n"
				   "---\n--- profile\n");
	put_profile(&bytes, forms[0]);
	assert_ptr_equal(importer_find(bytes.data, bytes.size), &importer_cpu_profile);
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, 11, NULL);
	expect_stacks(profile, "cpu @libc.so+2f;outer>middle>inner@server x+51f;"
			       "leaf@server x+510 6 60000000\n"
			       "cpu outer>middle>inner@server x+51f;@[vdso]+4 1 10000000\n"
			       "cpu @[unknown: outside all mappings]+9000 5 50000000\n");
}

/* Names that hold the mark between names, and more names than are kept: the innermost ones go. */
static void test_names_of_inlined_functions(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(buffer_release) struct buffer wanted = { 0 };
	buffer_append_text(&bytes, "--- symbol\n0x1010 f--It::operator--(int)--It::operator--\n"
				   "0x1020 outermost");
	buffer_append_text(&wanted, "cpu f>It::operator--(int)>It::operator--@+1010 1 10000000\n"
				    "cpu outermost");
	for (int i = 1; i < 100; i++) {
		buffer_printf(&bytes, "--in%d", i);
		if (i < RECORD_MAX_DEPTH)
			buffer_printf(&wanted, ">in%d", i);
	}
	buffer_append_text(&wanted, "@+1020 2 20000000\n");
	buffer_append_text(&bytes, "\n--- profile\n");
	PUT(&bytes, forms[0], 0, 3, 0, 10000, 0, 1, 1, 0x1010, 2, 1, 0x1020, 0, 1, 0);
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, 11, NULL);
	expect_stacks(profile, buffer_text(&wanted));
}

/* What a frame is called does not depend on whether another frame asked before. */
static void test_names_of_frames_that_come_again(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	buffer_append_text(&bytes, "--- symbol\n0x1010 outer--inner\n0x1020 f\n0x1030 --\n"
				   "--- profile\n");
	/* 0x1011 and 0x1021 are return addresses: they go by the byte before */
	PUT(&bytes, forms[0], 0, 3, 0, 10000, 0);
	PUT(&bytes, forms[0], 1, 3, 0x1010, 0x1011, 0x1011);
	PUT(&bytes, forms[0], 2, 4, 0x1020, 0x1011, 0x1021, 0x1022);
	PUT(&bytes, forms[0], 3, 3, 0x1030, 0x1031, 0x1031);
	PUT(&bytes, forms[0], 0, 1, 0);
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, 11, NULL);
	expect_stacks(profile,
		      "cpu outer>inner@+1010;outer>inner@+1010;outer>inner@+1010 1 10000000\n"
		      "cpu @+1021;f@+1020;outer>inner@+1010;f@+1020 2 20000000\n"
		      "cpu --@+1030;--@+1030;--@+1030 3 30000000\n");
}

static void test_variables_in_paths(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	PUT(&bytes, forms[0], 0, 3, 0, 10000, 0);
	for (uint64_t i = 1; i <= 7; i++)
		PUT(&bytes, forms[0], 1, 1, i << 12);
	PUT(&bytes, forms[0], 0, 1, 0);
	buffer_append_text(&bytes, "build=/a\nbuild2=/b\nnone\n=none\nlong=");
	for (int i = 0; i < 5000; i++)
		buffer_append_u8(&bytes, 'x');
	buffer_append_text(&bytes, "\n1000-2000 r-xp 00000000 08:01 5 $build/1\n"
				   "2000-3000 r-xp 00000000 08:01 5 $build2/2\n"
				   "3000-4000 r-xp 00000000 08:01 5 $build3/3\n"
				   "4000-5000 r-xp 00000000 08:01 5 $\n"
				   "5000-6000 r-xp 00000000 08:01 5 $build\n"
				   "6000-7000 r-xp 00000000 08:01 5 $long\n"
				   "build=/c\n"
				   "7000-8000 r-xp 00000000 08:01 5 $build/7");
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, 11, NULL);
	static const char *const paths[] = {
		"/a/1", "/b/2", "$build3/3", "$", "/a", "$long", "/c/7"
	};
	CLEANUP(image_paths_release) struct image_paths of_images;
	assert_int_equal(image_paths_init(&of_images, profile), 0);
	for (uint32_t i = 0; i < COUNT_OF(paths); i++) {
		struct span path = image_paths_best(&of_images, i + 1);
		if (!span_equal(path, span_of_text(paths[i])))
			fail_msg("'%.*s' is not '%s'", (int)path.size, (const char *)path.data,
				 paths[i]);
	}
}

static void expect_refused(const struct buffer *bytes, int code, const char *message)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	assert_int_equal(imported(&importer_cpu_profile, (struct span){ bytes->data, bytes->size },
				  SIZE_MAX, &(struct import_options){ 0 }, &profile, &err),
			 code);
	assert_string_equal(err.text, message);
}

static void test_cut_off(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	PUT(&bytes, forms[0], 0, 3, 0, 10000, 0);
	PUT(&bytes, forms[0], 2, 2, 0x1010, 0x1020);
	PUT(&bytes, forms[0], 1, 2, 0x1010, 0x1030);
	size_t whole = bytes.size;
	PUT(&bytes, forms[0], 1, 2, 0x1010, 0x1040);
	bytes.size -= 8;
	assert_int_equal(whole, 104);
	expect_refused(&bytes, -EBADMSG, "at byte 104: the sample is damaged, or the file cut off");
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	assert_int_equal(imported(&importer_cpu_profile, (struct span){ bytes.data, bytes.size }, 9,
				  &(struct import_options){ .force = true,
							    .say = imported_say,
							    .say_context = &said },
				  &profile, NULL),
			 0);
	assert_string_equal(buffer_text(&said),
			    "warning: at byte 104: the sample is damaged, or the file "
			    "cut off; what comes before is kept\n");
	expect_stacks(profile, "cpu @+101f;@+1010 2 20000000\ncpu @+102f;@+1010 1 10000000\n");
}

static void test_cut_in_its_mappings(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_profile(&bytes, forms[0]);
	for (size_t cut = 0; cut < 2; cut++, bytes.size--) {
		CLEANUP(buffer_release) struct buffer said = { 0 };
		profile_free(must_read(&bytes, 11, &said));
		assert_string_equal(
			buffer_text(&said),
			cut ? "note: no newline ends its last line: if the file was cut off, that "
			      "line may be too\n"
			    : "");
	}
}

/* Numbers of names; neither handlers nor return addresses. */
static void test_java_agents(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	PUT(&bytes, forms[1], 0, 3, 1, 10000, 0);
	PUT(&bytes, forms[1], 2, 3, 6, 6, 7, 1, 1, 3, 1, 2, 8, 9, 0, 1, 0);
	buffer_append_text(&bytes, " 0x00000003 GC\n 0x0000006 com.example.f (F.java:06)\n"
				   " 0x7 com.example.<init> (F.java:-1)\n"
				   " 0x8 at generated stub/JIT code\n");
	CLEANUP(profile_freep) struct profile *profile = must_read(&bytes, 5, NULL);
	expect_stacks(profile, "cpu com.example.<init>;com.example.f;com.example.f 2 20000000\n"
			       "cpu GC 1 10000000\ncpu [unknown];STUB 1 10000000\n");
}

static void test_refusals(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer none = { 0 };
	PUT(&none, forms[0], 0, 3, 0, 10000, 0, 0, 1, 0);
	expect_refused(&none, -ENODATA, "the profile has no sample");
	CLEANUP(buffer_release) struct buffer deep = { 0 };
	PUT(&deep, forms[0], 0, 3, 0, 10000, 0, 1, UINT64_MAX, 0);
	expect_refused(&deep, -EBADMSG, "at byte 40: the sample is damaged, or the file cut off");
	CLEANUP(buffer_release) struct buffer many = { 0 };
	PUT(&many, forms[0], 0, 3, 0, 10000, 0, UINT64_MAX, 1, 5, 0, 1, 0);
	expect_refused(&many, -EOVERFLOW, "the samples add up to more than 64 bits of ns");
	many.size = 0;
	PUT(&many, forms[0], 0, 3, 0, 10000, 0);
	for (uint64_t i = 0; i < 2; i++)
		PUT(&many, forms[0], UINT64_MAX / 15000000, 1, 5 + i);
	PUT(&many, forms[0], 0, 1, 0);
	expect_refused(&many, -EOVERFLOW, "the samples add up to more than 64 bits of ns");
	CLEANUP(buffer_release) struct buffer heap = { 0 };
	buffer_append_text(&heap, "--- symbol\n---\n--- heap\nheap profile: 1: 2\n");
	expect_refused(&heap, -EPROTO, "there is no CPU profile behind its names of addresses");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_all_kinds),
		cmocka_unit_test(test_squares_are_of_single_samples),
		cmocka_unit_test(test_the_signal_handler_is_left_out),
		cmocka_unit_test(test_names_before_the_profile),
		cmocka_unit_test(test_names_of_inlined_functions),
		cmocka_unit_test(test_names_of_frames_that_come_again),
		cmocka_unit_test(test_variables_in_paths),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_cut_in_its_mappings),
		cmocka_unit_test(test_java_agents),
		cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
