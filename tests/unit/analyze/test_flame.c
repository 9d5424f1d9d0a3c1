/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>

#include "analyze/flame/flame.h"
#include "flame_fixture.h"

/* Of the test's profile, which goes. */
static void must_draw(struct test_profile *test, struct flame_options options, const char *wanted)
{
	struct made_flame made = make_flame(test->profile, NULL, options);
	assert_int_equal(made.ret, 0);
	must_spell(made.flame, wanted);
	made_flame_release(&made);
	profile_free(test->profile);
}

static void stacks_that_read_the_same_are_one(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main;run;work", 3, 1);
	test_stack(&test, "main;work", 2, 1);
	test_stack(&test, "main;run", 4, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	assert_int_equal(made.ret, 0);
	must_spell(made.flame, "all 9/0 >main 9/0 >>run 7/4 >>>work 3/3 >>work 2/2");
	assert_int_equal(made.flame->frames[1].end, 5);
	assert_int_equal(made.flame->frames[2].end, 4);
	assert_int_equal(made.flame->depth, 4);
	made_flame_release(&made);
	profile_free(test.profile);
}

static void commands_stand_below_their_functions(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_context(&test, &(struct profile_context){ .comm = span_of_text("b") });
	test_stack(&test, "main;work", 3, 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("a") });
	test_stack(&test, "main;work", 5, 1); /* the same nodes of the trie */
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	must_spell(made.flame,
		   "all 8/0 >a 5/0 >>main 5/0 >>>work 5/5 >b 3/0 >>main 3/0 >>>work 3/3");
	assert_int_equal(flame_label_of(made.flame, 1)->kind, FLAME_GROUP);
	made_flame_release(&made);
	made = make_flame(test.profile, NULL,
			  (struct flame_options){ .commands = FLAME_WITHOUT_COMMANDS });
	must_spell(made.flame, "all 8/0 >main 8/0 >>work 8/8");
	made_flame_release(&made);
	profile_free(test.profile);
}

static void from_the_leaf_callers_come_together(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main;run;work", 3, 1);
	test_stack(&test, "main;work", 2, 1);
	must_draw(&test, (struct flame_options){ .direction = FLAME_FROM_LEAF },
		  "all 5/0 >work 5/0 >>main 2/2 >>run 3/0 >>>main 3/3");
}

static void inlined_functions_stand_on_what_holds_them(void **state)
{
	(void)state;
	for (int leaf = 0; leaf < 2; leaf++) {
		struct test_profile test = with_cycles();
		test_inlined_code(&test);
		test_stack_address(&test, 0x110, 3, 1);
		test_stack_address(&test, 0x150, 5, 1);
		must_draw(&test,
			  (struct flame_options){ .direction = leaf ? FLAME_FROM_LEAF
								    : FLAME_FROM_ROOT },
			  leaf ? "all 8/0 >inner 5/0 >>outer 5/5 >outer 3/3"
			       : "all 8/0 >outer 8/3 >>inner 5/5");
	}
}

static void samples_without_a_stack_are_not_lost(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main;work", 3, 1);
	test_flat(&test, "alone", 4, 1);
	must_draw(&test, (struct flame_options){ 0 },
		  "all 7/0 >[no stack] 4/0 >>alone 4/4 >main 3/0 >>work 3/3");
}

static void without_any_stack_there_are_towers_of_images(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_image(&test, IMAGE_FILE, "/usr/bin/gcc", "0123456789abcdef");
	test_flat(&test, "parse", 4, 1);
	test_flat(&test, "emit", 2, 1);
	must_draw(&test, (struct flame_options){ 0 }, "all 6/0 >gcc 6/0 >>emit 2/2 >>parse 4/4");
}

static void functions_of_different_images_are_different_frames(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_image(&test, IMAGE_FILE, "/lib/a", "0123456789abcdef");
	test_stack(&test, "run", 4, 1);
	test_image(&test, IMAGE_FILE, "/lib/z", "1123456789abcdef");
	test_stack(&test, "run", 2, 1);
	test_image(&test, IMAGE_FILE, "/lib/c", "2123456789abcdef");
	test_stack(&test, "run", 1, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	must_spell(made.flame, "all 7/0 >run 4/4 >run 1/1 >run 2/2"); /* by the image's name */
	assert_string_equal(flame_label_of(made.flame, 1)->image, "a");
	made_flame_release(&made);
	profile_free(test.profile);
}

/* A command, an inlined function and a function are three frames, whatever they are called. */
static void kinds_of_one_name_are_different_frames(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_context(&test, &(struct profile_context){ .comm = span_of_text("main") });
	test_stack(&test, "main;main_[i]", 3, 1);
	test_stack(&test, "main;main", 2, 1);
	test_stack(&test, "_[k]", 1, 1); /* a name, not a mark */
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	must_spell(made.flame, "all 6/0 >main 6/0 >>_[k] 1/1 >>main 5/0 >>>main 2/2 >>>main 3/3");
	static const enum flame_kind kinds[] = { FLAME_GROUP, FLAME_GROUP, FLAME_TEXT,
						 FLAME_TEXT,  FLAME_TEXT,  FLAME_INLINED };
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(flame_label_of(made.flame, i)->kind, kinds[i]);
	made_flame_release(&made);
	profile_free(test.profile);
}

/* Text that knows no images can still be compared with a recording that does. */
static void names_are_enough_where_one_side_has_no_images(void **state)
{
	(void)state;
	struct test_profile after = with_cycles(), before = with_cycles();
	test_stack(&before, "main;work", 4, 1);
	test_image(&after, IMAGE_FILE, "/bin/app", "0123456789abcdef");
	test_stack(&after, "main;work", 3, 1);
	for (int swapped = 0; swapped < 2; swapped++) {
		const struct test_profile *main = swapped ? &before : &after;
		const struct test_profile *base = swapped ? &after : &before;
		struct made_flame made =
			make_flame(main->profile, base->profile, (struct flame_options){ 0 });
		assert_int_equal(made.ret, 0);
		assert_true(made.flame->by_name_alone);
		must_spell(made.flame, swapped ? "all 4/0 >main 4/0 >>work 4/4"
					       : "all 3/0 >main 3/0 >>work 3/3");
		assert_int_equal(flame_self(made.flame, FLAME_BASE, 2)[0].estimate,
				 swapped ? 3 : 4);
		made_flame_release(&made);
	}
	profile_free(after.profile);
	profile_free(before.profile);
}

static void events_of_other_units_are_not_compared(void **state)
{
	(void)state;
	struct test_profile after = with_cycles(), before = test_profile_new();
	const struct profile_event ns = { .name = span_of_text("cycles"),
					  .unit = span_of_text("ns"),
					  .sampled = 1 };
	test_event_full(&before, &ns);
	test_stack(&after, "main", 1, 1);
	test_stack(&before, "main", 1, 1);
	struct made_flame made =
		make_flame(after.profile, before.profile, (struct flame_options){ 0 });
	assert_int_equal(made.ret, -ENODATA);
	assert_string_equal(made.err.text,
			    "the two profiles have no event in common: 'cycles' and 'cycles'");
	made_flame_release(&made);
	profile_free(after.profile);
	profile_free(before.profile);
}

static void marks_of_folded_text_become_kinds(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main;read;read_[k]", 3, 1);
	test_stack(&test, "main;read_[i]", 2, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	must_spell(made.flame, "all 5/0 >main 5/0 >>read 3/0 >>>read 3/3 >>read 2/2");
	assert_int_equal(flame_label_of(made.flame, 2)->kind, FLAME_TEXT);
	assert_int_equal(flame_label_of(made.flame, 3)->kind, FLAME_KERNEL);
	assert_int_equal(flame_label_of(made.flame, 4)->kind, FLAME_INLINED);
	made_flame_release(&made);
	profile_free(test.profile);
}

/* As compare.h matches them: by name without modifiers, in the finer one's decimals. */
static void a_base_has_the_events_that_are_compared(void **state)
{
	(void)state;
	struct test_profile after = test_profile_new(), before = test_profile_new();
	const struct profile_event fine = { .name = span_of_text("cycles"),
					    .unit = span_of_text("cycles"),
					    .scale = 1 };
	const struct profile_event user = { .name = span_of_text("cycles:u"),
					    .unit = span_of_text("cycles") };
	test_event_full(&after, &user);
	test_stack(&after, "main", 3, 1);
	test_event(&after, "instructions", 1);
	test_stack(&after, "main", 8, 1);
	test_event(&before, "instructions", 1);
	test_stack(&before, "main", 4, 1);
	test_event_full(&before, &fine);
	test_stack(&before, "main", 15, 1);
	struct made_flame made =
		make_flame(after.profile, before.profile, (struct flame_options){ 0 });
	assert_int_equal(made.ret, 0);
	const struct event_column *first = &made.flame->reports[FLAME_MAIN]->columns.list[0];
	size_t cycles = span_equal(first->name, span_of_text("cycles:u")) ? 0 : 1;
	const uint64_t counts[] = { [FLAME_MAIN] = 30, [FLAME_BASE] = 15 };
	for (enum flame_side side = FLAME_MAIN; side < FLAME_SIDES; side++) {
		const struct cell *cells = flame_total(made.flame, side, 0);
		assert_int_equal(cells[cycles].estimate, counts[side]);
		assert_int_equal(cells[1 - cycles].estimate, side == FLAME_MAIN ? 8 : 4);
	}
	assert_int_equal(made.flame->scales[cycles], 1);
	made_flame_release(&made);
	profile_free(after.profile);
	profile_free(before.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_that_read_the_same_are_one),
		cmocka_unit_test(commands_stand_below_their_functions),
		cmocka_unit_test(from_the_leaf_callers_come_together),
		cmocka_unit_test(inlined_functions_stand_on_what_holds_them),
		cmocka_unit_test(samples_without_a_stack_are_not_lost),
		cmocka_unit_test(without_any_stack_there_are_towers_of_images),
		cmocka_unit_test(functions_of_different_images_are_different_frames),
		cmocka_unit_test(kinds_of_one_name_are_different_frames),
		cmocka_unit_test(names_are_enough_where_one_side_has_no_images),
		cmocka_unit_test(events_of_other_units_are_not_compared),
		cmocka_unit_test(marks_of_folded_text_become_kinds),
		cmocka_unit_test(a_base_has_the_events_that_are_compared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
