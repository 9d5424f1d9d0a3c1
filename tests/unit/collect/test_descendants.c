#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/descendants.h"

struct line {
	uint32_t pid, parent;
	uint64_t start, ticks, waited;
};

static const pid_t roots[] = { 10 };

static void take(struct descendants *descendants, const struct line *lines, size_t count)
{
	*descendants = (struct descendants){ 0 };
	for (size_t i = 0; i < count; i++) {
		struct proc_stat stat = {
			.pid = lines[i].pid,
			.parent = lines[i].parent,
			.name = span_of_text("worker"),
			.start_ticks = lines[i].start,
			.user_ticks = lines[i].ticks / 2,
			.system_ticks = lines[i].ticks - lines[i].ticks / 2,
			.children_user_ticks = lines[i].waited,
		};
		assert_int_equal(descendants_add(descendants, &stat), 0);
	}
	descendants_order(descendants, roots, 1);
}

#define TAKE(descendants, ...)                                                                     \
	take(descendants, (struct line[]){ __VA_ARGS__ },                                          \
	     sizeof((struct line[]){ __VA_ARGS__ }) / sizeof(struct line))

static struct descendants_use compare(struct descendants *before, struct descendants *after)
{
	struct descendants_use use = descendants_compare(before, after);
	descendants_release(before);
	descendants_release(after);
	return use;
}

static bool below(const struct descendants *descendants, pid_t pid)
{
	const struct descendant *one = descendants_find(descendants, pid);
	return one && one->below;
}

static void the_whole_tree_is_below_in_any_order(void **state)
{
	(void)state;
	struct descendants all;
	TAKE(&all, { 99, 5, 1, 0, 0 }, { 5, 7, 1, 0, 0 }, { 7, 10, 1, 0, 0 }, { 10, 1, 1, 0, 0 },
	     { 1, 0, 1, 0, 0 }, { 11, 1, 1, 0, 0 }, { 12, 11, 1, 0, 0 });
	assert_true(below(&all, 7));
	assert_true(below(&all, 5));
	assert_true(below(&all, 99));
	assert_false(below(&all, 10));
	assert_false(below(&all, 1));
	assert_false(below(&all, 11));
	assert_false(below(&all, 12));
	assert_null(descendants_find(&all, 8));
	descendants_release(&all);
}

static void a_circle_ends(void **state)
{
	(void)state;
	struct descendants all;
	TAKE(&all, { 10, 12, 1, 0, 0 }, { 11, 10, 1, 0, 0 }, { 12, 11, 1, 0, 0 },
	     { 20, 21, 1, 0, 0 }, { 21, 20, 1, 0, 0 });
	assert_true(below(&all, 12));
	assert_false(below(&all, 20));
	struct descendants same = all;
	struct descendants_use use = descendants_compare(&all, &same);
	assert_int_equal(use.processes, 2);
	assert_int_equal(use.below_ticks, 0);
	descendants_release(&all);
}

static void time_is_that_used_in_between(void **state)
{
	(void)state;
	struct descendants before, after;
	TAKE(&before, { 10, 1, 1, 50, 7 }, { 11, 10, 1, 1000, 0 }, { 12, 11, 1, 500, 0 },
	     { 30, 1, 1, 9, 9 });
	TAKE(&after, { 10, 1, 1, 53, 7 }, { 11, 10, 1, 1040, 0 }, { 12, 11, 1, 501, 0 },
	     { 30, 1, 1, 900, 9 });
	struct descendants_use use = compare(&before, &after);
	assert_int_equal(use.processes, 2);
	assert_int_equal(use.root_ticks, 3);
	assert_int_equal(use.below_ticks, 41);
	assert_int_equal(use.busiest.pid, 11);
	assert_int_equal(use.busiest_ticks, 40);
}

static void what_those_below_start_counts_and_what_the_root_starts_not(void **state)
{
	(void)state;
	struct descendants before, after;
	TAKE(&before, { 10, 1, 1, 0, 0 }, { 11, 10, 1, 100, 0 });
	TAKE(&after, { 10, 1, 1, 0, 0 }, { 11, 10, 1, 100, 0 }, { 12, 11, 5, 30, 0 },
	     { 13, 12, 5, 4, 0 }, { 14, 10, 5, 1000, 0 }, { 15, 14, 5, 1000, 0 });
	assert_int_equal(compare(&before, &after).below_ticks, 34);
}

static void ended_ones_are_counted_where_their_time_went(void **state)
{
	(void)state;
	struct descendants before, after;
	/* 12 ended after 5 ticks more, and 11 waited for it. */
	TAKE(&before, { 10, 1, 1, 0, 0 }, { 11, 10, 1, 100, 0 }, { 12, 11, 1, 200, 0 });
	TAKE(&after, { 10, 1, 1, 0, 0 }, { 11, 10, 1, 101, 205 });
	struct descendants_use use = compare(&before, &after);
	assert_int_equal(use.below_ticks, 6);
	/* 12 ended, and the root waited for it: what it used is not known, and not below 0. */
	TAKE(&before, { 10, 1, 1, 0, 0 }, { 11, 10, 1, 100, 0 }, { 12, 10, 1, 200, 0 });
	TAKE(&after, { 10, 1, 1, 0, 205 }, { 11, 10, 1, 107, 0 });
	assert_int_equal(compare(&before, &after).below_ticks, 7);
	/* Its number is somebody else's now. */
	TAKE(&before, { 10, 1, 1, 0, 0 }, { 11, 10, 1, 100, 0 });
	TAKE(&after, { 10, 1, 1, 0, 0 }, { 11, 10, 9, 400, 0 });
	use = compare(&before, &after);
	assert_int_equal(use.below_ticks, 0);
	assert_int_equal(use.busiest.pid, 0);
}

/* User ticks in the thousands, system ticks below; -1: cannot be told. */
static int watched(struct descendants *before, struct descendants *after, bool children)
{
	struct descendants_time time;
	bool known = descendants_watched_time(before, after, children, &time);
	descendants_release(before);
	descendants_release(after);
	return known ? (int)(time.user_ticks * 1000 + time.system_ticks) : -1;
}

static void watched_is_who_was_asked_for_and_what_it_starts(void **state)
{
	(void)state;
	for (int children = 0; children < 2; children++) {
		struct descendants before, after;
		/* 11 ran already, 12 is its new child; 20 is the root's, and 21 is 20's; the root
		 * has waited for one that used 6. */
		TAKE(&before, { 10, 1, 1, 100, 7 }, { 11, 10, 1, 1000, 0 }, { 30, 1, 1, 9, 9 });
		TAKE(&after, { 10, 1, 1, 104, 13 }, { 11, 10, 1, 1040, 0 }, { 12, 11, 5, 80, 0 },
		     { 20, 10, 5, 20, 0 }, { 21, 20, 5, 10, 0 }, { 30, 1, 1, 900, 9 },
		     { 31, 30, 5, 50, 0 });
		assert_int_equal(watched(&before, &after, children), children ? 83077 : 23017);
	}
}

static void one_that_ended_is_in_its_parents_time(void **state)
{
	(void)state;
	struct descendants before, after;
	/* A worker that used 200 until then and 6 after; the root waited for it. */
	TAKE(&before, { 10, 1, 1, 0, 0 }, { 12, 10, 1, 200, 0 });
	TAKE(&after, { 10, 1, 1, 2, 206 });
	assert_int_equal(watched(&before, &after, false), -1);
	TAKE(&before, { 10, 1, 1, 0, 0 }, { 12, 10, 1, 0, 200 });
	TAKE(&after, { 10, 1, 1, 2, 206 });
	assert_int_equal(watched(&before, &after, true), 7001);
	/* One below a worker that is there still is none of the root's. */
	TAKE(&before, { 10, 1, 1, 0, 0 }, { 12, 10, 1, 20, 0 }, { 13, 12, 1, 200, 0 });
	TAKE(&after, { 10, 1, 1, 2, 0 }, { 12, 10, 1, 20, 206 });
	assert_int_equal(watched(&before, &after, false), 1001);
	/* Who was asked for has ended, or its number is somebody else's. */
	TAKE(&before, { 10, 1, 1, 0, 0 });
	TAKE(&after, { 11, 1, 1, 0, 0 });
	assert_int_equal(watched(&before, &after, false), -1);
	TAKE(&before, { 10, 1, 1, 0, 0 });
	TAKE(&after, { 10, 1, 2, 100, 0 });
	assert_int_equal(watched(&before, &after, true), -1);
}

static void it_is_told_when_it_matters(void **state)
{
	(void)state;
	char text[1024];
	struct descendants_use use = {
		.processes = 8,
		.root_ticks = 2,
		.below_ticks = 123,
		.busiest = { .pid = 4711, .comm = "postgres" },
		.busiest_ticks = 60,
	};
	descendants_describe(&use, 0, 100, text, sizeof(text));
	assert_string_equal(text, "what was asked for used 0.02 s of CPU time itself, 8 processes "
				  "below it, which ran already, used 1.23 s ('postgres', process "
				  "4711, 0.60 s): --children takes them too");
	descendants_describe(&use, 3, 100, text, sizeof(text));
	assert_string_not_equal(text, "");
	use.root_ticks = 123;
	descendants_describe(&use, 3, 100, text, sizeof(text));
	assert_string_equal(text, "");
	descendants_describe(&use, 0, 100, text, sizeof(text));
	assert_string_not_equal(text, "");
	use.below_ticks = 0;
	descendants_describe(&use, 0, 100, text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_tree_is_below_in_any_order),
		cmocka_unit_test(a_circle_ends),
		cmocka_unit_test(time_is_that_used_in_between),
		cmocka_unit_test(what_those_below_start_counts_and_what_the_root_starts_not),
		cmocka_unit_test(ended_ones_are_counted_where_their_time_went),
		cmocka_unit_test(watched_is_who_was_asked_for_and_what_it_starts),
		cmocka_unit_test(one_that_ended_is_in_its_parents_time),
		cmocka_unit_test(it_is_told_when_it_matters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
