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
#include "base/error.h"
#include "base/random.h"
#include "import/folded.h"
#include "import/folded_name.h"
#include "profile/profile.h"
#include "support/random_profile.h"

static const struct folded_options plain = { 0 };

/* Reads `text` in pieces of `piece` bytes. */
static int read_pieces(struct span text, size_t piece, const struct folded_options *options,
		       struct profile **out, struct folded_counts *counts, struct error *err)
{
	CLEANUP(folded_reader_freep) struct folded_reader *reader = NULL;
	assert_int_equal(folded_reader_new(options, &reader), 0);
	for (size_t at = 0; at < text.size; at += piece) {
		size_t size = text.size - at < piece ? text.size - at : piece;
		int ret = folded_reader_feed(reader, (const char *)text.data + at, size, err);
		if (ret < 0)
			return ret;
	}
	return folded_reader_finish(reader, out, counts, err);
}

static struct profile *must_read(const char *text, struct folded_counts *counts)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (read_pieces(span_of_text(text), SIZE_MAX, &plain, &profile, counts, &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "name|name=estimate", sorted, one a line: what the relation "stack" holds. */
static void spell(const struct profile *profile, char *out, size_t size)
{
	const struct table *stacks = profile_table(profile, PROFILE_STACK);
	char **lines = calloc(stacks->count + 1, sizeof(*lines));
	for (size_t row = 0; row < stacks->count; row++) {
		char text[4096] = "";
		size_t depth = 0;
		for (uint64_t node = table_keys(stacks, row)[STACK_NODE]; node;) {
			uint32_t parent;
			struct profile_frame frame = profile_node(profile, node, &parent);
			struct span name = profile_bytes(profile, frame.name);
			char longer[4096];
			assert_true(frame.name != 0);
			snprintf(longer, sizeof(longer), "%.*s%s%s", (int)name.size,
				 (const char *)name.data, depth++ ? "|" : "", text);
			strcpy(text, longer);
			node = parent;
		}
		size_t length = strlen(text);
		snprintf(text + length, sizeof(text) - length, "=%llu",
			 (unsigned long long)table_values(stacks, row)[CELL_ESTIMATE]);
		lines[row] = strdup(text);
	}
	qsort(lines, stacks->count, sizeof(*lines), compare_lines);
	out[0] = 0;
	for (size_t row = 0; row < stacks->count; row++) {
		size_t length = strlen(out);
		snprintf(out + length, size - length, "%s\n", lines[row]);
		free(lines[row]);
	}
	free(lines);
}

static void expect_stacks(const char *text, const char *wanted)
{
	struct folded_counts counts;
	CLEANUP(profile_freep) struct profile *profile = must_read(text, &counts);
	char spelled[8192];
	spell(profile, spelled, sizeof(spelled));
	assert_string_equal(spelled, wanted);
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
	struct folded_counts counts;
	CLEANUP(profile_freep)
	struct profile *profile = must_read("a;b 3\na;c 4\nd;b 5\n", &counts);
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

static void fractions_become_a_scale(void **state)
{
	(void)state;
	struct folded_counts counts;
	CLEANUP(profile_freep)
	struct profile *profile =
		must_read("a;b 31.23\na;c 6.1\na;d 19.0\na;e 20.\na;b 0.005\n", &counts);
	assert_int_equal(profile_event(profile, 1).scale, 3);
	assert_int_equal(counts.decimals, 3);
	assert_int_equal(counts.rounded, 0);
	char spelled[512];
	spell(profile, spelled, sizeof(spelled));
	assert_string_equal(spelled, "a|b=31235\na|c=6100\na|d=19000\na|e=20000\n");
}

static void noise_in_fractions_is_rounded_and_counted(void **state)
{
	(void)state;
	struct folded_counts counts;
	CLEANUP(profile_freep)
	struct profile *profile =
		must_read("a 14.2343983248722834234\nb 0.99999999951\nc 1.0000000004\n", &counts);
	assert_int_equal(profile_event(profile, 1).scale, 9);
	assert_int_equal(counts.rounded, 3);
	char spelled[512];
	spell(profile, spelled, sizeof(spelled));
	assert_string_equal(spelled, "a=14234398325\nb=1000000000\nc=1000000000\n");
}

static void a_large_total_keeps_fewer_decimals(void **state)
{
	(void)state;
	struct folded_counts counts;
	CLEANUP(profile_freep)
	struct profile *profile = must_read("a 1000000000000000.123456\nb 2.9\n", &counts);
	assert_int_equal(profile_event(profile, 1).scale, 4);
	assert_int_equal(counts.decimals, 4);
	char spelled[512];
	spell(profile, spelled, sizeof(spelled));
	assert_string_equal(spelled, "a=10000000000000001235\nb=29000\n");
}

static void lines_without_a_count_are_told_by_number(void **state)
{
	(void)state;
	struct folded_counts counts;
	CLEANUP(profile_freep)
	struct profile *profile = must_read(
		"# a comment\n// another\na;b 1\n\nTHIS IS A BAD LINE\nFRACTIONAL 12V.43\n"
		"c 1\n5\nd 99999999999999999999\n-- 1.2.3\nlast",
		&counts);
	assert_int_equal(counts.lines, 11);
	assert_int_equal(counts.taken, 2);
	assert_int_equal(counts.comments, 2);
	assert_int_equal(counts.blank, 1);
	assert_int_equal(counts.bad, 6);
	static const uint64_t wanted[] = { 5, 6, 8, 9, 10 };
	assert_memory_equal(counts.bad_lines, wanted, sizeof(wanted));
}

static void expect_refusal(struct span text, int code, const char *sentence)
{
	struct profile *profile = NULL;
	struct folded_counts counts;
	struct error err = { 0 };
	assert_int_equal(read_pieces(text, SIZE_MAX, &plain, &profile, &counts, &err), code);
	assert_string_equal(err.text, sentence);
	assert_null(profile);
	assert_int_equal(read_pieces(text, 1, &plain, &profile, &counts, &err), code);
	assert_string_equal(err.text, sentence);
}

static void what_is_no_folded_text_is_refused_with_its_cure(void **state)
{
	(void)state;
	static const char utf16[] = "\xfe\xff\0a\0;\0b\0 \0001\0\n";
	static const char utf16_small[] = "\xff\xfe"
					  "a\0;\0b\0 \0001\0\n\0";
	expect_refusal((struct span){ utf16, sizeof(utf16) - 1 }, -EPROTO,
		       "this is UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8");
	expect_refusal((struct span){ utf16_small, sizeof(utf16_small) - 1 }, -EPROTO,
		       "this is UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8");
	expect_refusal((struct span){ "\x1f\x8b\x08\0\0", 5 }, -EPROTO,
		       "this is compressed; unpack it first: gzip -dc FILE | culprit import -");
	expect_refusal(span_of_text("hello\nworld\n"), -ENODATA,
		       "no line is folded text, which is 'frame;frame;frame COUNT'");
	expect_refusal(span_of_text(""), -ENODATA,
		       "no line is folded text, which is 'frame;frame;frame COUNT'");
	expect_refusal(span_of_text("a;b 18446744073709551615\na;b 1\n"), -EOVERFLOW,
		       "line 2 of folded text: the counts of its stack pass 64 bits");
	expect_refusal(span_of_text("a;b 18446744073709551615\na;c 1\n"), -EOVERFLOW,
		       "the counts add up to more than 64 bits");
	expect_refusal(span_of_text("a;b 31 56\na;c 6 2\n"), -ENOTSUP,
		       "every line ends in two counts, as a comparison of two profiles does; one "
		       "count a line is needed");
}

static void two_counts_are_one_on_demand(void **state)
{
	(void)state;
	static const struct folded_options one = { .one_count = true };
	struct profile *profile = NULL;
	struct folded_counts counts;
	struct error err = { 0 };
	assert_int_equal(read_pieces(span_of_text("a;b 31 56\na;c 6 2\n"), SIZE_MAX, &one, &profile,
				     &counts, &err),
			 0);
	char spelled[512];
	spell(profile, spelled, sizeof(spelled));
	assert_string_equal(spelled, "a|b 31=56\na|c 6=2\n");
	profile_free(profile);
}

static void the_size_of_pieces_makes_no_difference(void **state)
{
	(void)state;
	static const char text[] =
		"main;read;vfs_read 27\nmain;read 1.5\r\n# x\nbad\nmain;%3B;a 4\n\n"
		"other;main 9";
	struct folded_counts counts, again;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *whole = must_read(text, &counts);
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		CLEANUP(profile_freep) struct profile *profile = NULL;
		assert_int_equal(
			read_pieces(span_of_text(text), piece, &plain, &profile, &again, &err), 0);
		assert_true(profiles_are_identical(whole, profile));
		assert_memory_equal(&counts, &again, sizeof(counts));
	}
}

static void a_line_past_the_limit_is_bad_and_the_next_one_is_read(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	buffer_append_text(&text, "a 1\n");
	memset(buffer_extend(&text, FOLDED_MAX_LINE + 1), 'x', FOLDED_MAX_LINE + 1);
	buffer_append_text(&text, " 1\nb 2\n");
	const size_t pieces[] = { SIZE_MAX, 1 << 20, FOLDED_MAX_LINE + 3 };
	for (size_t i = 0; i < 3; i++) {
		CLEANUP(profile_freep) struct profile *profile = NULL;
		struct folded_counts counts;
		struct error err = { 0 };
		assert_int_equal(read_pieces((struct span){ text.data, text.size }, pieces[i],
					     &plain, &profile, &counts, &err),
				 0);
		assert_int_equal(counts.bad, 1);
		assert_int_equal(counts.bad_lines[0], 2);
		assert_int_equal(counts.taken, 2);
		assert_int_equal(counts.lines, 3);
	}
}

/* Cut anywhere, any byte flipped: never a crash, never more stacks than lines. */
static void damage_is_counted_not_fatal(void **state)
{
	(void)state;
	static const char text[] = "main;read;vfs_read 27\nmain;%253B 1.5\r\n# x\nother;main 9\n";
	char copy[sizeof(text)];
	for (size_t i = 0; i < 2 * sizeof(text); i++) {
		struct profile *profile = NULL;
		struct folded_counts counts;
		struct error err = { 0 };
		size_t size = i < sizeof(text) ? i : sizeof(text) - 1;
		memcpy(copy, text, sizeof(text));
		if (i >= sizeof(text))
			copy[i - sizeof(text)] ^= (char)0x80;
		int ret = read_pieces((struct span){ copy, size }, 7, &plain, &profile, &counts,
				      &err);
		if (ret < 0) {
			assert_true(err.text[0] != 0);
			continue;
		}
		assert_int_equal(counts.lines,
				 counts.taken + counts.bad + counts.blank + counts.comments);
		assert_true(profile_table(profile, PROFILE_STACK)->count <= counts.taken);
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
		struct span name = { text,
				     random_text(&random, text, sizeof(text), "%2530ABD;\n\ra") };
		folded_encode_name(&once, name);
		assert_null(once.size ? memchr(once.data, ';', once.size) : NULL);
		assert_null(once.size ? memchr(once.data, '\n', once.size) : NULL);
		folded_decode_name(&twice, (struct span){ once.data, once.size });
		assert_true(span_equal((struct span){ twice.data, twice.size }, name));

		name.size = random_text(&random, text, sizeof(text), "%2530ABDa");
		once.size = twice.size = 0;
		folded_decode_name(&once, name);
		folded_encode_name(&twice, (struct span){ once.data, once.size });
		assert_true(span_equal((struct span){ twice.data, twice.size }, name));
	}
}

static void recognised_by_content(void **state)
{
	(void)state;
	static const char *const yes[] = { "a;b 1\n", "a 1", "# note\nmain;x 2.5\nbad\nq 1\n",
					   "\xef\xbb\xbf"
					   "a;b 1\n",
					   "a;b 1\r\n" };
	static const char *const no[] = {
		"", "\n\n", "hello\n", "hello\nworld\na 1\n", "16 20\n+3 40\n", "# only a note\n"
	};
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(folded_recognise(yes[i], strlen(yes[i])));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(folded_recognise(no[i], strlen(no[i])));
	assert_false(folded_recognise("\xfe\xff\0a\0 \0001", 8));
	assert_false(folded_recognise("SQLite format 3\0 1\na 1\n", 23));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_become_stacks_and_equal_ones_add_up),
		cmocka_unit_test(shared_beginnings_end_at_frames_only),
		cmocka_unit_test(an_imported_count_has_no_samples),
		cmocka_unit_test(fractions_become_a_scale),
		cmocka_unit_test(noise_in_fractions_is_rounded_and_counted),
		cmocka_unit_test(a_large_total_keeps_fewer_decimals),
		cmocka_unit_test(lines_without_a_count_are_told_by_number),
		cmocka_unit_test(what_is_no_folded_text_is_refused_with_its_cure),
		cmocka_unit_test(two_counts_are_one_on_demand),
		cmocka_unit_test(the_size_of_pieces_makes_no_difference),
		cmocka_unit_test(a_line_past_the_limit_is_bad_and_the_next_one_is_read),
		cmocka_unit_test(damage_is_counted_not_fatal),
		cmocka_unit_test(names_have_one_spelling),
		cmocka_unit_test(every_name_and_every_spelling_comes_back),
		cmocka_unit_test(recognised_by_content),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
