#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "import/formats.h"
#include "support/imported.h"
#include "support/random_profile.h"

/* Two CPUs of one counter, one of another. */
static const char text[] = "@ CYCLES [100 samples]\n"
			   "\n"
			   "60.00%  [60]       leaf @ /boot/kernel/kernel\n"
			   " 50.00%  [30]        left\n"
			   "  100.0%  [30]         start @ /bin/x\n"
			   " 33.33%  [20]        right @ /boot/kernel/zfs.ko\n"
			   "\n"
			   "40.00%  [40]       other @ /lib/y.so\n"
			   "\n"
			   "@ STALLS [7 samples]\n"
			   "\n"
			   "100.0%  [7]        leaf @ /boot/kernel/kernel\n"
			   "\n"
			   "@ CYCLES [10 samples]\n"
			   "\n"
			   "80.00%  [8]        leaf @ /boot/kernel/kernel\n"
			   " 100.0%  [8]         left\n";

static struct profile *must_read(const char *from, struct buffer *said)
{
	const struct import_options options = { .say = imported_say, .say_context = said };
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (imported(&importer_pmcstat, span_of_text(from), SIZE_MAX, &options, &profile, &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static void expect(const char *from, const char *stacks, const char *leaves, const char *said)
{
	CLEANUP(buffer_release) struct buffer messages = { 0 };
	CLEANUP(buffer_release) struct buffer spelled = { 0 };
	CLEANUP(profile_freep) struct profile *profile = must_read(from, &messages);
	imported_stacks(profile, &spelled);
	assert_string_equal(buffer_text(&spelled), stacks);
	spelled.size = 0;
	imported_leaves(profile, &spelled);
	assert_string_equal(buffer_text(&spelled), leaves);
	assert_string_equal(buffer_text(&messages), said);
}

static void a_last_line_without_newline_is_told(void **state)
{
	(void)state;
	static const char cut[] = "@ CYCLES [3 samples]\n\n100.0%  [3]        leaf @ /k";
	expect(cut, "CYCLES /k!leaf 3 3\n", "CYCLES /k!leaf 3 3\n",
	       "note: no newline ends its last line: if the file was cut off, that "
	       "line may be too\n");
}

static void counters_stay_apart_and_cpus_add_up(void **state)
{
	(void)state;
	expect(text,
	       "CYCLES /bin/x!start|kernel!left|kernel!leaf 30 30\n"
	       "CYCLES /lib/y.so!other 40 40\n"
	       "CYCLES kernel!leaf 10 10\n"
	       "CYCLES kernel!left|kernel!leaf 8 8\n"
	       "CYCLES zfs!right|kernel!leaf 20 20\n"
	       "STALLS kernel!leaf 7 7\n",
	       "CYCLES /lib/y.so!other 40 40\n"
	       "CYCLES ?not in the text!0x0 2 2\n"
	       "CYCLES kernel!leaf 68 68\n"
	       "STALLS kernel!leaf 7 7\n",
	       "warning: 2 of 117 samples are in no call chain of the text\n");
}

static void other_lines_are_left_out_and_told(void **state)
{
	(void)state;
	expect("# a comment\n// another\n@ A [2 samples]\r\n\r\n[...]\r\n"
	       "100.0%  [2]  f @ /x\r\n   100.0%  [2]  too deep\r\n",
	       "A /x!f 2 2\n", "A /x!f 2 2\n",
	       "warning: 2 of 7 lines are of no call chain and are left out (line 5, 7)\n");
	expect("@ A [2 samples]\n100.0%  [2]  f @ /x\n 100.0%  [5]  g\n", "A /x!g|/x!f 5 5\n",
	       "A /x!f 5 5\n",
	       "warning: some counts are less than those of the callers below them\n");
}

static void expect_refusal(const char *from, int code, const char *sentence)
{
	static const struct import_options plain = { 0 };
	struct profile *profile = NULL;
	struct error err = { 0 };
	assert_int_equal(
		imported(&importer_pmcstat, span_of_text(from), SIZE_MAX, &plain, &profile, &err),
		code);
	assert_string_equal(err.text, sentence);
}

static void what_has_no_samples_is_refused(void **state)
{
	(void)state;
	expect_refusal("@ A [0 samples]\n", -ENODATA,
		       "no section of 1 lines, '@ EVENT [N samples]', has any");
	expect_refusal("100.0%  [2]  f @ /x\n", -ENODATA,
		       "no section of 1 lines, '@ EVENT [N samples]', has any");
	expect_refusal("@ A [18446744073709551615 samples]\n@ B [1 samples]\n", -EOVERFLOW,
		       "line 2: the samples pass 64 bits");
	expect_refusal("@ A [2 samples]\n1%  [18446744073709551615]  f\n1%  [1]  g\n", -EOVERFLOW,
		       "line 3: the samples pass 64 bits");
	expect_refusal("@ A [2 samples]\n1%  [2]  f\n 1%  [18446744073709551615]  g\n 1%  [3]  h\n",
		       -EOVERFLOW, "line 4: the samples pass 64 bits");
	expect_refusal("@ A [2 samples]\n1%  [1]  f\n 1%  [18446744073709551612]  g\n1%  [1]  f\n"
		       " 1%  [18446744073709551612]  g\n",
		       -EOVERFLOW, "line 5: the samples pass 64 bits");
}

static void pieces_and_damage_are_survived(void **state)
{
	(void)state;
	static const struct import_options plain = { 0 };
	struct error err = { 0 };
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep) struct profile *whole = must_read(text, &said);
	char copy[sizeof(text)];
	for (size_t i = 1; i < sizeof(text); i++) {
		struct profile *profile = NULL;
		assert_int_equal(
			imported(&importer_pmcstat, span_of_text(text), i, &plain, &profile, &err),
			0);
		assert_true(profiles_are_identical(whole, profile));
		profile_free(profile);
		profile = NULL;
		memcpy(copy, text, sizeof(text));
		copy[i - 1] ^= 1;
		imported(&importer_pmcstat, (struct span){ copy, sizeof(copy) - i % 9 }, 3, &plain,
			 &profile, &err);
		profile_free(profile);
	}
}

static void recognised_by_its_heading(void **state)
{
	(void)state;
	static const char *const yes[] = { text, "\n# x\n@ A B [3 samples]\r\n" };
	static const char *const no[] = { "",	     "\n",
					  "@ A\n",   "@ [3 samples]\n",
					  "a;b 3\n", "x\n@ A [3 samples]\n" };
	for (size_t i = 0; i < COUNT_OF(yes); i++)
		assert_true(importer_pmcstat.recognise(yes[i], strlen(yes[i])));
	for (size_t i = 0; i < COUNT_OF(no); i++)
		assert_false(importer_pmcstat.recognise(no[i], strlen(no[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_stay_apart_and_cpus_add_up),
		cmocka_unit_test(a_last_line_without_newline_is_told),
		cmocka_unit_test(other_lines_are_left_out_and_told),
		cmocka_unit_test(what_has_no_samples_is_refused),
		cmocka_unit_test(pieces_and_damage_are_survived),
		cmocka_unit_test(recognised_by_its_heading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
