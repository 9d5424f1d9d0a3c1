#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/bill.h"
#include "profile/difference.h"
#include "profile/profile.h"
#include "profile/stackless.h"
#include "profile/stash.h"
#include "profile/window.h"
#include "support/random_profile.h"

#define SEEDS 40

static struct profile *sum(const struct profile *a, const struct profile *b)
{
	struct profile *both = profile_new();
	struct error err;
	assert_non_null(both);
	assert_int_equal(profile_merge(both, a, &err), 0);
	assert_int_equal(profile_merge(both, b, &err), 0);
	return both;
}

/* Samples and estimates of a table's cells. */
static unsigned __int128 total(const struct profile *profile, enum profile_table which, size_t slot)
{
	const struct table *table = profile_table(profile, which);
	unsigned __int128 all = 0;
	for (size_t row = 0; row < table->count; row++)
		all += table_values(table, row)[slot];
	return all;
}

static void a_difference_is_what_came(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		enum random_profile_kind kind = seed % 2 ? RANDOM_WITH_STRANGERS : RANDOM_KNOWN;
		CLEANUP(profile_freep) struct profile *a = random_profile_new(seed, kind);
		CLEANUP(profile_freep) struct profile *b = random_profile_new(seed + 1000, kind);
		CLEANUP(profile_freep) struct profile *later = sum(a, b);
		CLEANUP(profile_freep) struct profile *came = NULL;
		struct error err;
		assert_int_equal(profile_difference(a, later, &came, &err), 0);
		assert_null(profile_fault(came));
		for (size_t slot = CELL_SAMPLES; slot <= CELL_SQUARES_LOW; slot++) {
			assert_true(total(came, PROFILE_FLAT, slot) ==
				    total(b, PROFILE_FLAT, slot));
			assert_true(total(came, PROFILE_STACK, slot) ==
				    total(b, PROFILE_STACK, slot));
		}
		assert_true(total(came, PROFILE_BILL, 0) == total(b, PROFILE_BILL, 0));
		/* and with it the older one is the newer one again, row by row */
		CLEANUP(profile_freep) struct profile *again = sum(a, came);
		CLEANUP(profile_freep) struct profile *left = NULL, *over = NULL;
		assert_int_equal(profile_difference(again, later, &left, &err), 0);
		assert_int_equal(profile_difference(later, again, &over, &err), 0);
		assert_int_equal(profile_table(left, PROFILE_FLAT)->count, 0);
		assert_int_equal(profile_table(over, PROFILE_FLAT)->count, 0);
	}
}

static void a_profile_without_itself_has_no_samples(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *a = random_profile_new(3, RANDOM_WITH_STRANGERS);
	CLEANUP(profile_freep) struct profile *nothing = NULL;
	struct error err;
	assert_true(profile_table(a, PROFILE_FLAT)->count > 0);
	assert_int_equal(profile_difference(a, a, &nothing, &err), 0);
	assert_int_equal(profile_table(nothing, PROFILE_FLAT)->count, 0);
	assert_int_equal(profile_table(nothing, PROFILE_BILL)->count, 0);
}

static void a_profile_without_stacks_has_all_else(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		enum random_profile_kind kind = seed % 2 ? RANDOM_WITH_STRANGERS : RANDOM_KNOWN;
		CLEANUP(profile_freep) struct profile *whole = random_profile_new(seed, kind);
		CLEANUP(profile_freep) struct profile *profile = random_profile_new(seed, kind);
		assert_int_equal(profile_drop_stacks(profile), 0);
		assert_null(profile_fault(profile));
		assert_true(profile_table(whole, PROFILE_STACK)->count > 0);
		assert_int_equal(profile_table(profile, PROFILE_STACK)->count, 0);
		/* strangers' tables refer to nodes */
		assert_int_equal(profile_table(profile, PROFILE_NODE)->count,
				 kind == RANDOM_KNOWN ? 0
						      : profile_table(whole, PROFILE_NODE)->count);
		for (size_t i = 0; i < whole->table_count; i++)
			assert_true(i == PROFILE_STACK || i == PROFILE_NODE ||
				    profile->tables[i]->count == whole->tables[i]->count);
		assert_true(total(profile, PROFILE_FLAT, CELL_SAMPLES) ==
			    total(whole, PROFILE_FLAT, CELL_SAMPLES));
	}
}

/* ---- profiles of few numbers */

static void add_samples(struct profile *profile, const char *name, uint64_t samples)
{
	const struct profile_event event = { .name = span_of_text("clock"), .sampled = 1 };
	const struct cell cell = { samples, 10 * samples, 100 * samples };
	struct profile_frame leaf = { .kind = FRAME_IP };
	uint32_t id;
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	assert_int_equal(profile_add_text(profile, name, &leaf.name), 0);
	assert_int_equal(profile_add_flat(profile, id, 0, &leaf, &cell), 0);
}

static void add_length(struct profile *profile, uint64_t epoch, uint64_t ns)
{
	const struct profile_source source = { .host = span_of_text("host"),
					       .epoch = epoch,
					       .duration_ns = ns };
	assert_int_equal(profile_add_source(profile, &source), 0);
}

static struct profile *part(const char *name, uint64_t samples, uint64_t epoch, uint64_t ns)
{
	struct profile *profile = profile_new();
	assert_non_null(profile);
	add_samples(profile, name, samples);
	add_length(profile, epoch, ns);
	return profile;
}

static uint64_t samples_of(const struct profile *profile)
{
	return (uint64_t)total(profile, PROFILE_FLAT, CELL_SAMPLES);
}

static void what_has_not_grown_is_not_there(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *older = part("idle", 5, 0, 1000);
	CLEANUP(profile_freep) struct profile *newer = part("idle", 5, 0, 4000);
	CLEANUP(profile_freep) struct profile *came = NULL;
	struct error err;
	add_samples(newer, "new", 3);
	assert_int_equal(profile_difference(older, newer, &came, &err), 0);
	assert_int_equal(profile_table(came, PROFILE_FLAT)->count, 1);
	assert_int_equal(samples_of(came), 3);
	assert_int_equal(profile_length_ns(came), 3000);
}

static void another_epoch_has_no_difference(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *older = part("a", 5, 0, 1000);
	CLEANUP(profile_freep) struct profile *less = part("a", 4, 0, 2000);
	CLEANUP(profile_freep) struct profile *other = part("b", 50, 0, 2000);
	CLEANUP(profile_freep) struct profile *more = part("a", 50, 1, 2000);
	struct profile *came = NULL;
	struct error err;
	assert_int_equal(profile_difference(older, less, &came, &err), -ERANGE);
	assert_string_equal(err.text, "the one profile is not the other one at a later time");
	assert_int_equal(profile_difference(older, other, &came, &err), -ERANGE);
	/* whose number says so, though it has more of everything */
	assert_int_equal(profile_difference(older, more, &came, &err), -ERANGE);
	assert_null(came);
}

static void a_sum_that_passed_64_bits_has_no_difference(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *older = part("a", 5, 0, 1000);
	CLEANUP(profile_freep) struct profile *newer = part("a", UINT64_MAX, 0, 2000);
	struct profile *came = NULL;
	struct error err;
	assert_int_equal(profile_difference(older, newer, &came, &err), -ERANGE);
	assert_null(came);
}

static void assert_window(struct profile_window *window, enum window_span span, uint64_t samples,
			  uint64_t ns)
{
	struct error err;
	const struct profile *profile = profile_window_profile(window, span, &err);
	assert_non_null(profile);
	assert_null(profile_fault(profile));
	assert_int_equal(samples_of(profile), samples);
	assert_int_equal(profile_window_ns(window, span), ns);
}

static void a_window_has_the_last_parts(void **state)
{
	(void)state;
	struct profile_window *window = profile_window_new(3);
	struct error err;
	uint64_t whole = 0;
	assert_non_null(window);
	assert_window(window, WINDOW_LAST, 0, 0);
	for (uint64_t i = 1; i <= 10; i++) {
		assert_int_equal(profile_window_add(window, part("a", i, i, 1), 100 * i, &err), 0);
		whole += i;
		uint64_t last = i == 1 ? 1 : i == 2 ? 3 : 3 * i - 3;
		assert_window(window, WINDOW_LAST, last, 100 * last);
		assert_window(window, WINDOW_WHOLE, whole, 100 * whole);
	}
	profile_window_free(window);
}

static void a_window_that_is_held_stays_as_it_is(void **state)
{
	(void)state;
	struct profile_window *window = profile_window_new(2);
	struct error err;
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(profile_window_add(window, part("a", i, i, 1), 100 * i, &err), 0);
	assert_int_equal(profile_window_hold(window, &err), 0);
	const struct profile *shown = profile_window_profile(window, WINDOW_LAST, &err);
	for (uint64_t i = 4; i <= 7; i++) {
		assert_int_equal(profile_window_add(window, part("b", i, i, 1), 100 * i, &err), 0);
		assert_ptr_equal(profile_window_profile(window, WINDOW_LAST, &err), shown);
		assert_window(window, WINDOW_LAST, 5, 500);
		assert_window(window, WINDOW_WHOLE, 6, 600);
	}
	profile_window_go_on(window);
	assert_window(window, WINDOW_LAST, 13, 1300);
	assert_window(window, WINDOW_WHOLE, 28, 2800);
	assert_int_equal(profile_window_hold(window, &err), 0);
	assert_window(window, WINDOW_LAST, 13, 1300);
	profile_window_free(window); /* also while it is held */
}

static uint32_t add_image(struct profile *profile, const char *name)
{
	const struct profile_image image = { .kind = IMAGE_FILE, .build_id = span_of_text(name) };
	uint32_t id;
	assert_int_equal(profile_add_image(profile, &image, &id), 0);
	return id;
}

static void add_function(struct profile *profile, uint32_t image, uint64_t first, const char *name)
{
	CLEANUP(record_set_release) struct record_set set = { 0 };
	const struct function_record function = { 0, 0, span_of_text(name) };
	struct error err;
	assert_int_equal(record_set_add_function(&set, first, first + 9, &function), 0);
	assert_int_equal(stash_add_set(profile, image, &set, &err), 0);
}

static void assert_named(const struct profile *profile, uint32_t image, uint64_t vaddr,
			 const char *name)
{
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	struct stash_function function;
	assert_int_equal(stash_index_new(profile, &index), 0);
	bool found = stash_find_function(index, image, vaddr, &function);
	assert_int_equal(found, name != NULL);
	assert_true(!name || span_equal(function.function.name, span_of_text(name)));
}

static void names_of_parts_that_left_stay(void **state)
{
	(void)state;
	struct profile_window *window = profile_window_new(1);
	struct profile *named = part("x", 1, 0, 1), *nameless = part("x", 1, 1, 1);
	struct error err;
	add_image(named, "other");
	add_function(named, add_image(named, "program"), 100, "main");
	add_function(named, 1, 100, "elsewhere");
	uint32_t image = add_image(nameless, "program");
	assert_int_equal(profile_window_add(window, named, 1, &err), 0);
	assert_int_equal(profile_window_add(window, nameless, 1, &err), 0);
	const struct profile *last = profile_window_profile(window, WINDOW_LAST, &err);
	assert_named(last, image, 105, "main");
	assert_int_equal(profile_table(last, PROFILE_IMAGE)->count, 1);
	assert_int_equal(profile_table(last, PROFILE_STASH)->count, 1);
	profile_window_free(window);
}

static void names_of_one_image_are_dropped(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	uint32_t a = add_image(profile, "a"), b = add_image(profile, "b");
	add_function(profile, a, 100, "one");
	add_function(profile, b, 100, "two");
	assert_int_equal(stash_drop(profile, a), 0);
	assert_named(profile, a, 100, NULL);
	assert_named(profile, b, 100, "two");
	add_function(profile, a, 100, "again"); /* the table takes rows as before */
	assert_named(profile, a, 100, "again");
	assert_null(profile_fault(profile));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_difference_is_what_came),
		cmocka_unit_test(a_profile_without_itself_has_no_samples),
		cmocka_unit_test(a_profile_without_stacks_has_all_else),
		cmocka_unit_test(what_has_not_grown_is_not_there),
		cmocka_unit_test(another_epoch_has_no_difference),
		cmocka_unit_test(a_sum_that_passed_64_bits_has_no_difference),
		cmocka_unit_test(a_window_has_the_last_parts),
		cmocka_unit_test(a_window_that_is_held_stays_as_it_is),
		cmocka_unit_test(names_of_parts_that_left_stay),
		cmocka_unit_test(names_of_one_image_are_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
