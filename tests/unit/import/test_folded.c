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
#include "base/error.h"
#include "base/random.h"
#include "import/folded/folded_name.h"
#include "import/formats.h"
#include "import/text/text_lines.h"
#include "profile/profile.h"
#include "support/imported.h"
#include "support/random_profile.h"

static const struct import_options plain = { 0 };

static struct profile *must_read(const char *text, const struct import_options *options)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (imported(&importer_folded, span_of_text(text), SIZE_MAX, options, &profile, &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static void expect_read(const char *text, const struct import_options *options, const char *wanted)
{
	CLEANUP(profile_freep) struct profile *profile = must_read(text, options);
	CLEANUP(buffer_release) struct buffer spelled = { 0 };
	imported_stacks(profile, &spelled);
	assert_string_equal(buffer_text(&spelled), wanted);
}

/* `wanted` without "samples " before and " -" in each line, to be read more easily. */
static void expect_stacks(const char *text, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer full = { 0 };
	for (const char *at = wanted; *at;) {
		const char *equals = strchr(at, '='), *end = strchr(at, '\n');
		buffer_printf(&full, "samples %.*s - %.*s\n", (int)(equals - at), at,
			      (int)(end - equals - 1), equals + 1);
		at = end + 1;
	}
	expect_read(text, &plain, buffer_text(&full));
}

static void lines_become_stacks_and_equal_ones_add_up(void **state)
{
	(void)state;
	expect_stacks("a;b;c 1\na;b;c 1\na;b;d 4\na;b;c 3\na;b 5\n", "a|b=5\na|b|c=5\na|b|d=4\n");
	expect_stacks("a;b;c 1", "a|b|c=1\n");
	expect_stacks("a;b;c 1\r\na;b 2\r\n", "a|b=2\na|b|c=1\n");
	expect_stacks("\xef\xbb\xbf"
		      "a;b 1\n",
		      "a|b=1\n");
	expect_stacks("a;b\t7  \n", "a|b=7\n");
	expect_stacks("a;b 0\n", "a|b=0\n");
	expect_stacks("x;<T as U<A, B>>::f;g@V2.5 3\n", "x|<T as U<A, B>>::f|g@V2.5=3\n");
	expect_stacks("worker 3;main 4\nworker 3 5\n", "worker 3=5\nworker 3|main=4\n");
}

static void shared_beginnings_end_at_frames_only(void **state)
{
	(void)state;
	expect_stacks("a;bc;d 1\na;b;d 2\na;bcd 4\na;bc 8\na 16\nab;c 32\n",
		      "a=16\nab|c=32\na|bc=8\na|bcd=4\na|bc|d=1\na|b|d=2\n");
	expect_stacks("a;b;c 1\na;b 2\na;b;c;d 4\n", "a|b=2\na|b|c=1\na|b|c|d=4\n");
}

static void an_imported_count_has_no_samples(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile = must_read("a;b 3\na;c 4\nd;b 5\n", &plain);
	struct profile_event event = profile_event(profile, 1);
	assert_true(span_equal(event.name, span_of_text("samples")));
	assert_true(span_equal(event.unit, span_of_text("samples")));
	assert_int_equal(event.sampled, 0);
	assert_int_equal(event.origin, ORIGIN_IMPORTED);
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	assert_int_equal(flat->count, 2); /* leaves b and c */
	uint64_t total = 0;
	for (size_t row = 0; row < flat->count; row++) {
		assert_int_equal(table_values(flat, row)[CELL_SAMPLES], 0);
		assert_int_equal(table_keys(flat, row)[FLAT_CONTEXT], 0);
		total += table_values(flat, row)[CELL_ESTIMATE];
	}
	assert_int_equal(total, 12);
}

static void expect_said(const char *text, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer said = { 0 };
	const struct import_options options = { .say = imported_say, .say_context = &said };
	CLEANUP(profile_freep) struct profile *profile = must_read(text, &options);
	assert_string_equal(buffer_text(&said), wanted);
}

static void expect_scale(const char *text, uint64_t scale, const char *wanted)
{
	CLEANUP(profile_freep) struct profile *profile = must_read(text, &plain);
	assert_int_equal(profile_event(profile, 1).scale, scale);
	expect_stacks(text, wanted);
}

static void fractions_become_a_scale(void **state)
{
	(void)state;
	static const char text[] = "a;b 31.23\na;c 6.1\na;d 19.0\na;e 20.\na;b 0.005\n";
	expect_scale(text, 3, "a|b=31235\na|c=6100\na|d=19000\na|e=20000\n");
	expect_said(text, "");
}

static void noise_in_fractions_is_rounded_and_told(void **state)
{
	(void)state;
	static const char text[] = "a 14.2343983248722834234\nb 0.99999999951\nc 1.0000000004\n";
	expect_scale(text, 9, "a=14234398325\nb=1000000000\nc=1000000000\n");
	expect_said(text, "note: 3 counts had more than 9 decimals and were rounded\n");
}

static void a_large_total_keeps_fewer_decimals(void **state)
{
	(void)state;
	static const char text[] = "a 1000000000000000.123456\nb 2.9\n";
	expect_scale(text, 4, "a=10000000000000001235\nb=29000\n");
	expect_said(text, "note: 4 of 6 decimals are kept: the sum of all counts has no room for "
			  "more\n");
}

static void lines_without_a_count_are_told_by_number(void **state)
{
	(void)state;
	static const char text[] =
		"# a comment\n// another\na;b 1\n\nTHIS IS A BAD LINE\nFRACTIONAL 12V.43\n"
		"c 1\n5\nd 99999999999999999999\n-- 1.2.3\nlast";
	expect_said(text, "warning: 6 of 11 lines have no count and are left out (line 5, 6, 8, 9, "
			  "10, ...)\n"
			  "note: no newline ends its last line: if the file was cut off, that "
			  "line may be too\n");
	expect_stacks(text, "a|b=1\nc=1\n");
}

/* It may be whole, and may be cut in the middle of a count. */
static void a_last_line_without_newline_is_told(void **state)
{
	(void)state;
	expect_said("a;b 1\nc;d 20",
		    "note: no newline ends its last line: if the file was cut off, "
		    "that line may be too\n");
	expect_stacks("a;b 1\nc;d 20", "a|b=1\nc|d=20\n");
	expect_said("a;b 1\nc;d 20\n", "");
	expect_said("a;b 1\r\nc;d 20\r\n", "");
}

static void expect_refusal(const char *text, const struct import_options *options, int code,
			   const char *sentence)
{
	const size_t pieces[] = { SIZE_MAX, 1 };
	for (size_t i = 0; i < 2; i++) {
		struct profile *profile = NULL;
		struct error err = { 0 };
		assert_int_equal(imported(&importer_folded, span_of_text(text), pieces[i], options,
					  &profile, &err),
				 code);
		assert_string_equal(err.text, sentence);
		assert_null(profile);
	}
}

static void what_is_no_folded_text_is_refused(void **state)
{
	(void)state;
	static const struct import_options one_name = { .event = "cpu/cycles,u/" };
	expect_refusal("hello\nworld\n", &plain, -ENODATA,
		       "no line is folded text, which is 'frame;frame;frame COUNT'");
	expect_refusal("", &plain, -ENODATA,
		       "no line is folded text, which is 'frame;frame;frame COUNT'");
	expect_refusal("a;b 18446744073709551615\na;b 1\n", &plain, -EOVERFLOW,
		       "line 2 of folded text: the counts of its stack pass 64 bits");
	expect_refusal("a;b 18446744073709551615\na;c 1\n", &plain, -EOVERFLOW,
		       "the counts add up to more than 64 bits");
	expect_refusal("a;b 18446744073709551615 1\na;c 1 1\n", &plain, -EOVERFLOW,
		       "the counts add up to more than 64 bits");
	expect_refusal("a;b 18446744073709551616 1\na;c 1 1\n", &plain, -EOVERFLOW,
		       "the first counts of a stack pass 64 bits");
	expect_refusal("a;b 18446744073709551615 1\na;b 18446744073709551615 1\n", &plain,
		       -EOVERFLOW, "the first counts of a stack pass 64 bits");
	expect_refusal("a;b 31 56\n", &one_name, -EINVAL,
		       "every line ends in two counts: name two events, as 'A,B'");
}

static void two_counts_are_two_events(void **state)
{
	(void)state;
	static const struct import_options named = { .event = "cpu/stalls,u/,cycles" };
	expect_read("a;b 31 56\na;c 6 2\na;b 1 2\na;b 1 2\n", &plain,
		    "after a|b - 60\nafter a|c - 2\nbefore a|b - 33\nbefore a|c - 6\n");
	expect_read("a;b 1 2\n", &named, "cpu/stalls,u/ a|b - 1\ncycles a|b - 2\n");
	/* each column has its own decimals; a stack may be absent on one side */
	expect_read("a;b 1.5 2\na;b 1.5 2\nc 0 7.25\n", &plain,
		    "after a|b - 400\nafter c - 725\nbefore a|b - 30\nbefore c - 0\n");
	expect_read("a;%3B 1 2\n", &plain, "after a|; - 2\nbefore a|; - 1\n");
	/* nothing is left of the names that ended in counts */
	CLEANUP(profile_freep) struct profile *profile = must_read("a;b 1 2\na;b 3 4\n", &plain);
	assert_int_equal(profile_table(profile, PROFILE_NODE)->count, 2);
}

static void one_line_with_one_count_makes_all_have_one(void **state)
{
	(void)state;
	static const struct import_options one = { .one_count = true };
	expect_stacks("a;b 31 56\na;c 2\n", "a|b 31=56\na|c=2\n");
	expect_read("a;b 31 56\na;c 6 2\n", &one, "samples a|b 31 - 56\nsamples a|c 6 - 2\n");
}

static void the_size_of_pieces_makes_no_difference(void **state)
{
	(void)state;
	static const char text[] =
		"main;read;vfs_read 27\nmain;read 1.5\r\n# x\nbad\nmain;%3B;a 4\n\n"
		"other;main 9";
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *whole = must_read(text, &plain);
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		CLEANUP(profile_freep) struct profile *profile = NULL;
		assert_int_equal(imported(&importer_folded, span_of_text(text), piece, &plain,
					  &profile, &err),
				 0);
		assert_true(profiles_are_identical(whole, profile));
	}
}

static void a_line_past_the_limit_is_bad_and_the_next_one_is_read(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	buffer_append_text(&text, "a 1\n");
	memset(buffer_extend(&text, TEXT_LINES_MAX_BYTES + 1), 'x', TEXT_LINES_MAX_BYTES + 1);
	buffer_append_text(&text, " 1\nb 2\n");
	const size_t pieces[] = { SIZE_MAX, 1 << 20, TEXT_LINES_MAX_BYTES + 3 };
	for (size_t i = 0; i < 3; i++) {
		CLEANUP(profile_freep) struct profile *profile = NULL;
		CLEANUP(buffer_release) struct buffer said = { 0 };
		const struct import_options options = { .say = imported_say, .say_context = &said };
		struct error err = { 0 };
		assert_int_equal(imported(&importer_folded, (struct span){ text.data, text.size },
					  pieces[i], &options, &profile, &err),
				 0);
		assert_string_equal(buffer_text(&said),
				    "warning: 1 of 3 lines have no count and are left out "
				    "(line 2)\n");
		assert_int_equal(profile_table(profile, PROFILE_STACK)->count, 2);
	}
}

/* Cut anywhere, any byte flipped: never a crash, never more stacks than lines. */
static void damage_is_told_not_fatal(void **state)
{
	(void)state;
	static const char texts[2][64] = {
		"main;read;vfs_read 27\nmain;%253B 1.5\r\n# x\nother;main 9\n",
		"main;read;vfs_read 27 1.5\nmain;%253B 1.5 0\r\n\nmain;read 9 9\n",
	};
	char copy[sizeof(texts[0])];
	for (size_t i = 0; i < 4 * sizeof(copy); i++) {
		const char *text = texts[i % 2];
		size_t length = strlen(text), at = i / 2;
		if (at >= 2 * length)
			continue;
		struct profile *profile = NULL;
		struct error err = { 0 };
		size_t size = at < length ? at : length;
		memcpy(copy, text, sizeof(copy));
		if (at >= length)
			copy[at - length] ^= (char)0x80;
		int ret = imported(&importer_folded, (struct span){ copy, size }, 7, &plain,
				   &profile, &err);
		if (ret < 0) {
			assert_true(err.text[0] != 0);
			continue;
		}
		assert_true(profile_table(profile, PROFILE_STACK)->count <= 6);
		profile_free(profile);
	}
}

static void expect_spelling(struct span name, const char *spelling)
{
	CLEANUP(buffer_release) struct buffer encoded = { 0 };
	CLEANUP(buffer_release) struct buffer decoded = { 0 };
	folded_encode_name(&encoded, name);
	assert_string_equal(buffer_text(&encoded), spelling);
	folded_decode_name(&decoded, (struct span){ encoded.data, encoded.size });
	assert_true(span_equal((struct span){ decoded.data, decoded.size }, name));
}

static void names_have_one_spelling(void **state)
{
	(void)state;
	expect_spelling(span_of_text("main"), "main");
	expect_spelling(span_of_text("a;b"), "a%3Bb");
	expect_spelling(span_of_text("a\nb\r"), "a%0Ab%0D");
	expect_spelling((struct span){ "\0", 1 }, "%00");
	expect_spelling(span_of_text("\033[2J\177\tb"), "%1B[2J%7F\tb");
	expect_spelling(span_of_text("%1B%7F%09%20%80"), "%251B%257F%09%20%80");
	expect_spelling(span_of_text("100%"), "100%");
	expect_spelling(span_of_text("%20%25%3b"), "%20%25%3b");
	expect_spelling(span_of_text("%3B"), "%253B");
	expect_spelling(span_of_text("%253B;"), "%25253B%3B");
	expect_spelling(span_of_text("%;%25;"), "%%3B%25%3B");
	expect_spelling(span_of_text("%%3B"), "%%253B");
}

/* Dense in what matters. */
static size_t random_text(struct random_state *random, char *text, size_t size, const char *letters)
{
	size_t count = strlen(letters);
	size_t length = random_below(random, size);
	for (size_t i = 0; i < length; i++)
		text[i] = letters[random_below(random, count)];
	return length;
}

static void every_name_and_every_spelling_comes_back(void **state)
{
	(void)state;
	struct random_state random = random_seed(11);
	for (int round = 0; round < 20000; round++) {
		char text[24];
		CLEANUP(buffer_release) struct buffer once = { 0 };
		CLEANUP(buffer_release) struct buffer twice = { 0 };
		struct span name = { text, random_text(&random, text, sizeof(text),
						       "%2530ABD;\n\ra17F\033\177\t") };
		folded_encode_name(&once, name);
		assert_null(once.size ? memchr(once.data, ';', once.size) : NULL);
		assert_null(once.size ? memchr(once.data, '\n', once.size) : NULL);
		folded_decode_name(&twice, (struct span){ once.data, once.size });
		assert_true(span_equal((struct span){ twice.data, twice.size }, name));

		name.size = random_text(&random, text, sizeof(text), "%2530ABDa17F");
		once.size = twice.size = 0;
		folded_decode_name(&once, name);
		folded_encode_name(&twice, (struct span){ once.data, once.size });
		assert_true(span_equal((struct span){ twice.data, twice.size }, name));
	}
}

static void recognised_by_content(void **state)
{
	(void)state;
	static const char *const yes[] = {
		"a;b 1\n",
		"a 1",
		"# note\nmain;x 2.5\nbad\nq 1\n",
		"\xef\xbb\xbf"
		"a;b 1\n",
		"a;b 1\r\n",
		"a;b 31 56\na;c 6 2\n",
		"Web Content;std::map<int, int>::at(int const&);-[NSObject foo:bar:] 3\n",
		"main;a 0\nmain;b 1.25\n",
		/* a profile of depth one */
		"read 5\nwrite 7\nstd::map<int, int>::at(int const&) 2\n[unknown] 3\n",
		"\xce\xb1 1\n",
		/* names of threads between stacks */
		"Web Content 12\nmain;a 1\nmain;b 1\n",
	};
	static const char *const no[] = {
		"",
		"\n\n",
		"hello\n",
		"hello\nworld\na 1\n",
		"16 20\n+3 40\n",
		"# only a note\n",
		/* numbers at the ends of lines: names in two words, tables, logs */
		"the sum is 5\nand now 7\n",
		"total: 5\nfree: 7\n",
		"a = 5\nb = 7\n",
		"a  5\nb  7\n",
		" a 5\n b 7\n",
		"a 1 2\nb 3 4\n",
		"Berlin; DE; 5\nParis; FR; 7\n",
		";serial 5\n;refresh 7\n",
		"a; 5\nb; 7\n",
		/* one stack does not make a log folded */
		"a;b 1\ngot 5 of 6\ngot 6 of 7\nlost 8 of 9\n",
	};
	for (size_t i = 0; i < COUNT_OF(yes); i++)
		assert_true(importer_folded.recognise(yes[i], strlen(yes[i])));
	for (size_t i = 0; i < COUNT_OF(no); i++)
		if (importer_folded.recognise(no[i], strlen(no[i])))
			fail_msg("recognised: %s", no[i]);
	assert_false(importer_folded.recognise("\xfe\xff\0a\0 \0001", 8));
	assert_false(importer_folded.recognise("SQLite format 3\0 1\na 1\n", 23));
}

static void expect_recognised(const char *text, const char *refusal, const char *said)
{
	CLEANUP(buffer_release) struct buffer notes = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	const struct import_options options = { .recognised = true,
						.say = imported_say,
						.say_context = &notes };
	struct error err = { 0 };
	int ret =
		imported(&importer_folded, span_of_text(text), SIZE_MAX, &options, &profile, &err);
	assert_int_equal(ret, refusal ? -ENODATA : 0);
	assert_string_equal(err.text, refusal ? refusal : "");
	assert_string_equal(buffer_text(&notes), said);
}

/* What its beginning said may be wrong of the rest. */
static void most_lines_of_what_was_recognised_must_be_folded(void **state)
{
	(void)state;
	expect_recognised("a;b 1\nnote\na;c 2\nand 5 more\n", NULL,
			  "warning: 2 of 4 lines have no count and are left out (line 2, 4)\n");
	expect_recognised("a;b 1\ngot 5 of 7\nthen\n",
			  "2 of 3 lines are no folded text, which is 'frame;frame;frame COUNT'; "
			  "--format folded takes all that end in a number",
			  "");
	expect_recognised("a 1\nb 2\n", NULL,
			  "note: no line has a stack of two frames: each is taken for a name and "
			  "its count\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_become_stacks_and_equal_ones_add_up),
		cmocka_unit_test(shared_beginnings_end_at_frames_only),
		cmocka_unit_test(an_imported_count_has_no_samples),
		cmocka_unit_test(fractions_become_a_scale),
		cmocka_unit_test(noise_in_fractions_is_rounded_and_told),
		cmocka_unit_test(a_large_total_keeps_fewer_decimals),
		cmocka_unit_test(lines_without_a_count_are_told_by_number),
		cmocka_unit_test(a_last_line_without_newline_is_told),
		cmocka_unit_test(what_is_no_folded_text_is_refused),
		cmocka_unit_test(two_counts_are_two_events),
		cmocka_unit_test(one_line_with_one_count_makes_all_have_one),
		cmocka_unit_test(the_size_of_pieces_makes_no_difference),
		cmocka_unit_test(a_line_past_the_limit_is_bad_and_the_next_one_is_read),
		cmocka_unit_test(damage_is_told_not_fatal),
		cmocka_unit_test(names_have_one_spelling),
		cmocka_unit_test(every_name_and_every_spelling_comes_back),
		cmocka_unit_test(recognised_by_content),
		cmocka_unit_test(most_lines_of_what_was_recognised_must_be_folded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
