/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>

#include "analyze/flame.h"
#include "analyze/flame_changes.h"
#include "analyze/flame_view.h"
#include "flame_fixture.h"

static void every_event_is_counted_along(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main;work", 3, 10);
	test_event(&test, "instructions", 1);
	test_stack(&test, "main;work", 2, 10);
	test_stack(&test, "main", 1, 10);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	assert_int_equal(made.flame->columns, 2);
	assert_int_equal(flame_total(made.flame, FLAME_MAIN, 0)[0].estimate, 30);
	assert_int_equal(flame_total(made.flame, FLAME_MAIN, 0)[1].estimate, 30);
	assert_int_equal(flame_self(made.flame, FLAME_MAIN, 1)[1].estimate, 10);
	assert_int_equal(flame_self(made.flame, FLAME_MAIN, 2)[1].samples, 2);
	struct flame_ratio ratio;
	struct error err;
	assert_int_equal(flame_ratio_cpi(&made.flame->reports[0]->columns, 0, &ratio, &err), 0);
	assert_true(flame_ratio_at(made.flame, &ratio, FLAME_MAIN, 2).value == 1.5);
	assert_int_equal(flame_ratio_of(&made.flame->reports[0]->columns, "instructions/cycles",
					&ratio, &err),
			 0);
	assert_int_equal(ratio.above, 1);
	assert_int_equal(flame_ratio_of(&made.flame->reports[0]->columns, "a/b", &ratio, &err),
			 -ENODATA);
	made_flame_release(&made);
	profile_free(test.profile);
}

static void narrow_frames_are_left_out_and_counted(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main;a;b", 1, 1);
	test_stack(&test, "main;wide", 99, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	struct flame_view view;
	struct error err;
	const struct flame_view_options options = { .min_share = 0.02 };
	assert_int_equal(flame_view_init(&view, made.flame, &options, &err), 0);
	assert_int_equal(view.count, 3);
	assert_int_equal(view.left_out, 2);
	assert_int_equal(view.left_out_width, 1);
	assert_int_equal(view.shown[2].x, 1); /* the gap stays */
	assert_int_equal(view.shown[2].width, 99);
	assert_int_equal(view.shown[2].parent, 1);
	assert_int_equal(view.depth, 3);
	flame_view_release(&view);
	made_flame_release(&made);
	profile_free(test.profile);
}

static void both_sides_of_a_base_can_be_seen(void **state)
{
	(void)state;
	struct test_profile after = with_cycles(), before = with_cycles();
	test_stack(&after, "main;kept", 10, 1);
	test_stack(&after, "main;new", 5, 1);
	test_stack(&before, "main;kept", 20, 1);
	test_stack(&before, "main;gone;deep", 7, 1);
	struct made_flame made =
		make_flame(after.profile, before.profile, (struct flame_options){ 0 });
	assert_int_equal(made.ret, 0);
	must_spell(made.flame, "all 15/0 >main 15/0 >>gone 0/0 >>>deep 0/0 >>kept 10/10 >>new 5/5");
	assert_int_equal(flame_total(made.flame, FLAME_BASE, 0)[0].estimate, 27);
	struct flame_view view;
	struct error err;
	struct flame_view_options options = { .base_factor = 1 };
	assert_int_equal(flame_view_init(&view, made.flame, &options, &err), 0);
	assert_int_equal(view.shown[0].width, 22); /* 15, and what vanished */
	assert_int_equal(view.shown[2].width, 7);
	assert_true(view.shown[2].vanished);
	assert_true(view.shown[3].vanished);
	assert_int_equal(view.shown[4].x, 7);
	assert_int_equal(view.shown[4].width, 10);
	assert_int_equal(view.vanished_width, 7);
	flame_view_release(&view);
	options.side = FLAME_BASE;
	options.base_factor = 2;
	assert_int_equal(flame_view_init(&view, made.flame, &options, &err), 0);
	assert_int_equal(view.shown[0].width, 2 * 27 + 5);
	assert_int_equal(view.shown[2].width, 14);
	assert_false(view.shown[2].vanished);
	assert_true(view.shown[5].vanished);
	flame_view_release(&view);
	made_flame_release(&made);
	profile_free(after.profile);
	profile_free(before.profile);
}

static void deltas_are_of_the_stacks_that_end_in_a_frame(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main;a", 68, 1);
	test_stack(&test, "main", 32, 1);
	test_event(&test, "instructions", 1);
	test_stack(&test, "main;a", 40, 1);
	test_stack(&test, "main", 10, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	struct flame_view_options options = { .stretch = true, .stretch_total = true };
	struct flame_view view;
	struct error err;
	assert_int_equal(flame_ratio_cpi(&made.flame->reports[0]->columns, 0, &options.ratio, &err),
			 0);
	assert_int_equal(flame_view_init(&view, made.flame, &options, &err), 0);
	assert_true(view.deltas[0] == 0);
	assert_true(view.deltas[1] == 32 - 20);
	assert_true(view.deltas[2] == 68 - 80);
	assert_true(view.largest_delta == 12);
	flame_view_release(&view);
	made_flame_release(&made);
	profile_free(test.profile);
}

static void nothing_to_draw_is_said(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	assert_int_equal(made.ret, -ENODATA);
	assert_string_equal(made.err.text, "the profile has no event to draw");
	made_flame_release(&made);
	test_event(&test, "cycles", 1);
	made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	assert_int_equal(made.ret, 0);
	struct flame_view view;
	struct error err;
	const struct flame_view_options options = { 0 };
	assert_int_equal(flame_view_init(&view, made.flame, &options, &err), -ENODATA);
	assert_string_equal(err.text, "there are no samples of 'cycles' to draw");
	made_flame_release(&made);
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_is_counted_along),
		cmocka_unit_test(narrow_frames_are_left_out_and_counted),
		cmocka_unit_test(both_sides_of_a_base_can_be_seen),
		cmocka_unit_test(deltas_are_of_the_stacks_that_end_in_a_frame),
		cmocka_unit_test(nothing_to_draw_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
