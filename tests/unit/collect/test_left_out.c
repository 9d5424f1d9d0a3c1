#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "collect/left_out.h"
#include "collect/shares.h"
#include "profile/profile.h"
#include "support/test_profile.h"

static void what_ended_reading_says_why(void **state)
{
	(void)state;
	static const struct {
		int code;
		int opening, reading; /* -1: nothing was left out for it */
	} cases[] = {
		{ -EDQUOT, LEFT_OUT_TIME, LEFT_OUT_TIME },
		{ -ETIMEDOUT, LEFT_OUT_UNANSWERED, LEFT_OUT_TIME },
		{ -ENOBUFS, LEFT_OUT_MEMORY, LEFT_OUT_MEMORY },
		{ -ENOMEM, LEFT_OUT_MEMORY, LEFT_OUT_MEMORY },
		{ -EFBIG, LEFT_OUT_SIZE, LEFT_OUT_MEMORY },
		{ -EBUSY, LEFT_OUT_BUSY, -1 },
		{ -ECANCELED, LEFT_OUT_ASKED, LEFT_OUT_ASKED },
		{ -EIO, LEFT_OUT_FAILED, LEFT_OUT_FAILED },
		{ -ENOENT, -1, -1 },
		{ -EBADMSG, -1, -1 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		enum left_out_why why = LEFT_OUT_REASONS;
		bool is = left_out_reason(cases[i].code, LEFT_OUT_OPENING, &why);
		assert_int_equal(is ? (int)why : -1, cases[i].opening);
		is = left_out_reason(cases[i].code, LEFT_OUT_READING, &why);
		assert_int_equal(is ? (int)why : -1, cases[i].reading);
	}
}

static const struct share own = { .user = 0 };
static const struct share stranger = { .user = 1000, .strange = true };
static const struct share nobody_knows = { .user = SHARE_USER_UNKNOWN, .strange = true };

static void expect(const struct left_out *left_out, enum left_out_why why, const char *sentence)
{
	char text[1200];
	left_out_tell(left_out, why, text, sizeof(text));
	assert_string_equal(text, sentence);
}

static void each_cause_has_a_sentence_with_the_first_files(void **state)
{
	(void)state;
	struct left_out left = { 0 };
	expect(&left, LEFT_OUT_TIME, "");
	left_out_add(&left, "/a", &stranger, LEFT_OUT_TIME, LEFT_OUT_NAMES);
	expect(&left, LEFT_OUT_TIME,
	       "names of 1 file left out, for reading them takes longer than such a file, or its "
	       "user's, may: '/a' of user 1000; --gather-limits gives them more");
	left_out_add(&left, "/b", &nobody_knows, LEFT_OUT_TIME, LEFT_OUT_NAMES);
	left_out_add(&left, "/c", &own, LEFT_OUT_TIME, LEFT_OUT_LINES);
	left_out_add(&left, "/d", &own, LEFT_OUT_TIME, LEFT_OUT_LINES);
	left_out_add(&left, "/own", &own, LEFT_OUT_ASKED, LEFT_OUT_CODE);
	expect(&left, LEFT_OUT_TIME,
	       "names of 2 files, lines of 2 files left out, for reading them takes longer than "
	       "such a file, or its user's, may: '/a' of user 1000, '/b', '/c'; --gather-limits "
	       "gives them more");
	/* No limit holds for what is one's own. */
	expect(&left, LEFT_OUT_ASKED, "code of 1 file left out, for we were asked to end: '/own'");
	expect(&left, LEFT_OUT_MEMORY, "");
	left_out_release(&left);
	expect(&left, LEFT_OUT_TIME, "");
}

static void a_sentence_is_cut_to_its_room(void **state)
{
	(void)state;
	struct left_out left = { 0 };
	char text[40];
	left_out_add(&left, "/a", &own, LEFT_OUT_SIZE, LEFT_OUT_NAMES);
	left_out_tell(&left, LEFT_OUT_SIZE, text, sizeof(text));
	assert_string_equal(text, "names of 1 file left out, for they are ");
	left_out_release(&left);
}

static void the_bill_names_files_unless_names_are_hidden(void **state)
{
	(void)state;
	struct left_out left = { 0 };
	left_out_add(&left, "/a", &stranger, LEFT_OUT_BUSY, LEFT_OUT_NAMES);
	left_out_add(&left, "/b", &stranger, LEFT_OUT_BUSY, LEFT_OUT_NAMES);
	left_out_add(&left, "/b", &stranger, LEFT_OUT_MEMORY, LEFT_OUT_FLOW);
	for (int redact = 0; redact < 2; redact++) {
		struct profile *profile = profile_new();
		assert_non_null(profile);
		assert_int_equal(left_out_write(&left, redact, profile), 0);
		assert_int_equal(test_billed(profile, "left_out_names_busy"), 2);
		assert_int_equal(test_billed(profile, "left_out_flow_memory"), 1);
		assert_int_equal(test_billed(profile, "left_out_names_time"), -1);
		assert_int_equal(test_billed(profile, "left_out_file_/a"), redact ? -1 : 1);
		assert_int_equal(test_billed(profile, "left_out_file_/b"), redact ? -1 : 2);
		profile_free(profile);
	}
	left_out_release(&left);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_ended_reading_says_why),
		cmocka_unit_test(each_cause_has_a_sentence_with_the_first_files),
		cmocka_unit_test(a_sentence_is_cut_to_its_room),
		cmocka_unit_test(the_bill_names_files_unless_names_are_hidden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
