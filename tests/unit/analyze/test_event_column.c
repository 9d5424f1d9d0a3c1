#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/figures/column_match.h"
#include "analyze/figures/event_column.h"
#include "base/error.h"
#include "base/random.h"
#include "support/test_profile.h"

static struct test_profile make(const char *const *names, const uint64_t *samples)
{
	struct test_profile test = test_profile_new();
	for (size_t i = 0; names[i]; i++) {
		test_event(&test, names[i], 1000);
		if (samples[i])
			test_flat(&test, "main", samples[i], 1000);
	}
	return test;
}

/* Names of the columns that a pattern leaves, and which one it finds first. */
static void must_choose(const struct profile *profile, const char *pattern, const char *wanted)
{
	struct event_columns columns, all;
	struct error err;
	char text[256] = "";
	size_t first;
	assert_int_equal(event_columns_init(&all, profile, NULL, 0, &err), 0);
	if (!*wanted) {
		assert_true(event_columns_init(&columns, profile, &pattern, 1, &err) < 0);
		assert_true(event_columns_find(&all, pattern, &first, &err) < 0);
		event_columns_release(&all);
		return;
	}
	assert_int_equal(event_columns_init(&columns, profile, &pattern, 1, &err), 0);
	for (size_t i = 0; i < columns.count; i++) {
		strcat(text, i ? " " : "");
		strncat(text, columns.list[i].name.data, columns.list[i].name.size);
	}
	assert_string_equal(text, wanted);
	assert_int_equal(event_columns_find(&all, pattern, &first, &err), 0);
	assert_true(span_equal(all.list[first].name, columns.list[0].name));
	event_columns_release(&columns);
	event_columns_release(&all);
}

static void a_very_name_wins_over_names_with_modifiers(void **state)
{
	(void)state;
	static const char *const names[] = { "cycles:u", "cycles:ppp", "cycles", "mem:[0]", NULL };
	struct test_profile test = make(names, (const uint64_t[]){ 1, 1, 1, 1 });
	must_choose(test.profile, "cycles", "cycles");
	must_choose(test.profile, "cycles:u", "cycles:u");
	must_choose(test.profile, "cycles*", "cycles cycles:ppp cycles:u");
	must_choose(test.profile, "cycles:*", "cycles:ppp cycles:u");
	must_choose(test.profile, "mem:[0]", "mem:[0]"); /* a glob that does not match itself */
	must_choose(test.profile, "cycles:p", "");
	profile_free(test.profile);
	struct test_profile without = make(names, (const uint64_t[]){ 1, 1, 0, 1 });
	must_choose(without.profile, "cycles", "cycles"); /* of no samples, and still the one */
	profile_free(without.profile);
	static const char *const modified[] = { "cycles:u", "cycles:ppp", "cpu_atom/cycles/",
						NULL };
	struct test_profile both = make(modified, (const uint64_t[]){ 1, 1, 1 });
	must_choose(both.profile, "cycles", "cpu_atom/cycles/ cycles:ppp cycles:u");
	profile_free(both.profile);
}

static void the_main_column_is_no_column_of_zeros(void **state)
{
	(void)state;
	static const char *const names[] = { "cycles", "faults", "switches", NULL };
	static const uint64_t samples[][3] = { { 1, 1, 1 }, { 0, 0, 1 }, { 0, 1, 0 }, { 0, 0, 0 } };
	static const size_t mains[] = { 0, 2, 1, 0 };
	for (size_t i = 0; i < 4; i++) {
		struct test_profile test = make(names, samples[i]);
		struct event_columns columns;
		assert_int_equal(event_columns_init(&columns, test.profile, NULL, 0, NULL), 0);
		assert_int_equal(columns.count, 3);
		for (size_t c = 0; c < 3; c++)
			assert_int_equal(columns.list[c].counted, samples[i][c]);
		assert_int_equal(event_columns_main(&columns), mains[i]);
		event_columns_release(&columns);
		profile_free(test.profile);
	}
}

/* How badly two columns go together: 0 the same, more the worse, negative not at all. */
static int unlike(const struct event_column *a, const struct event_column *b)
{
	if (a->clock != b->clock || !span_equal(a->core_type, b->core_type))
		return -1;
	if (span_equal(a->name, b->name) && a->exclude == b->exclude)
		return 0;
	if (span_equal(event_base_name(a->name), event_base_name(b->name)))
		return 1;
	bool same_config = a->pmu.size && span_equal(a->pmu, b->pmu) && a->type == b->type &&
			   a->config == b->config;
	return same_config ? 2 : -1;
}

#define COLUMNS 12u

/* By comparing each with each: the column of `after` that goes with one of `before`, or COLUMNS. */
static void match_by_comparing(const struct event_columns *before,
			       const struct event_columns *after, size_t *of)
{
	bool taken[COLUMNS] = { false };
	for (size_t i = 0; i < before->count; i++)
		of[i] = COLUMNS;
	for (int most = 0; most <= 2; most++)
		for (size_t i = 0; i < before->count; i++)
			for (size_t k = 0; k < after->count; k++)
				if (of[i] == COLUMNS && !taken[k] &&
				    unlike(&before->list[i], &after->list[k]) == most) {
					of[i] = k;
					taken[k] = true;
				}
}

static struct event_columns some_columns(struct random_state *random, struct event_column *list)
{
	static const char *const names[] = { "cycles", "cycles:u", "cpu/cycles/", "a:u", "a" };
	static const char *const pmus[] = { "", "cpu", "cpu_core" };
	struct event_columns columns = { .list = list, .count = random_below(random, COLUMNS + 1) };
	for (size_t i = 0; i < columns.count; i++)
		list[i] = (struct event_column){
			.name = span_of_text(names[random_below(random, 5)]),
			.pmu = span_of_text(pmus[random_below(random, 3)]),
			.core_type = span_of_text(random_below(random, 3) ? "" : "cpu_atom"),
			.clock = random_below(random, 4) == 0,
			.exclude = random_below(random, 2),
			.type = random_below(random, 2),
			.config = random_below(random, 2),
		};
	return columns;
}

static void matches_are_those_of_comparing_each_with_each(void **state)
{
	(void)state;
	struct random_state random = random_seed(7);
	for (int round = 0; round < 20000; round++) {
		struct event_column lists[2][COLUMNS];
		struct column_match matches[COLUMNS];
		size_t of[COLUMNS], count, next = 0;
		struct event_columns before = some_columns(&random, lists[0]);
		struct event_columns after = some_columns(&random, lists[1]);
		assert_int_equal(column_match(&before, &after, matches, &count), 0);
		match_by_comparing(&before, &after, of);
		if (before.count == 1 && after.count == 1)
			of[0] = 0;
		for (size_t i = 0; i < before.count; i++) {
			if (of[i] == COLUMNS)
				continue;
			assert_true(next < count);
			assert_int_equal(matches[next].before, i);
			assert_int_equal(matches[next++].after, of[i]);
		}
		assert_int_equal(next, count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_very_name_wins_over_names_with_modifiers),
		cmocka_unit_test(the_main_column_is_no_column_of_zeros),
		cmocka_unit_test(matches_are_those_of_comparing_each_with_each),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
