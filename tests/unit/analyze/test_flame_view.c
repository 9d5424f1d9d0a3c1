/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdio.h>

#include "analyze/flame/flame.h"
#include "analyze/flame/flame_changes.h"
#include "analyze/flame/flame_view.h"
#include "flame_fixture.h"

static struct flame_view view_of(const struct made_flame *made, struct flame_view_options options)
{
	struct flame_view view;
	struct error err;
	assert_int_equal(made->ret, 0);
	if (flame_view_init(&view, made->flame, &options, &err) < 0)
		fail_msg("%s", err.text);
	return view;
}

static struct flame_ratio ratio_of(const struct made_flame *made, const char *text)
{
	struct flame_ratio ratio;
	struct error err;
	if (flame_ratio_of(&made->flame->reports[FLAME_MAIN]->columns, text, &ratio, &err) < 0)
		fail_msg("%s", err.text);
	return ratio;
}

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

static void the_pair_that_has_the_width_is_preferred(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	static const char *const names[] = { "cycles:u", "instructions:u", "cycles:k",
					     "instructions:k" };
	for (size_t i = 0; i < 4; i++) {
		const struct profile_event event = { .name = span_of_text(names[i]),
						     .exclude =
							     i < 2 ? EXCLUDE_KERNEL : EXCLUDE_USER,
						     .sampled = 1 };
		test_event_full(&test, &event);
		test_stack(&test, "main", 10 + i, 1);
	}
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	const struct event_columns *columns = &made.flame->reports[FLAME_MAIN]->columns;
	assert_int_equal(columns->pair_count, 2);
	struct error err;
	for (size_t width = 0; width < columns->count; width++) {
		struct flame_ratio cpi, ipc;
		assert_int_equal(flame_ratio_cpi(columns, width, &cpi, &err), 0);
		assert_true(cpi.above == width || cpi.below == width);
		assert_int_equal(flame_ratio_ipc(columns, width, &ipc, &err), 0);
		assert_int_equal(ipc.above, cpi.below);
		assert_int_equal(ipc.below, cpi.above);
	}
	made_flame_release(&made);
	profile_free(test.profile);
}

/* Decimals of events differ; who was read with whose samples is known either way round. */
static void a_ratio_is_of_events(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main", 40, 1);
	const struct profile_event misses = { .name = span_of_text("misses"),
					      .scale = 2,
					      .leader = span_of_text("cycles") };
	test_event_full(&test, &misses);
	test_stack(&test, "main", 0, 1);
	const struct cell cell = { .estimate = 1000, .squares = 40000 };
	test_flat_cell(&test, "main", &cell);
	test_event(&test, "other", 1);
	test_stack(&test, "main", 40, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	struct flame_ratio ratio = ratio_of(&made, "misses/cycles");
	assert_int_equal(ratio.samples, RATIO_GROUPED);
	struct estimate value = flame_ratio_at(made.flame, &ratio, FLAME_MAIN, 0);
	assert_true(value.value == 10. / 40);
	assert_true(value.low > 0.1 && value.high < 0.5);
	ratio = ratio_of(&made, "cycles/misses");
	assert_int_equal(ratio.samples, RATIO_GROUPED);
	assert_true(flame_ratio_at(made.flame, &ratio, FLAME_MAIN, 0).value == 4);
	assert_int_equal(ratio_of(&made, "cycles/other").samples, RATIO_INDEPENDENT);
	made_flame_release(&made);
	profile_free(test.profile);
}

static void slots_that_retired_are_not_all_slots(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "topdown-be-bound", 1);
	test_stack(&test, "main", 10, 1);
	test_event(&test, "topdown-slots-retired", 1);
	test_stack(&test, "main", 20, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	struct flame_ratio ratio;
	struct error err;
	const struct event_columns *columns = &made.flame->reports[FLAME_MAIN]->columns;
	assert_int_equal(flame_ratio_slots(columns, SLOTS_BACKEND, 0, &ratio, &err), -ENODATA);
	assert_string_equal(err.text, "no event of all slots in the profile, as slots");
	made_flame_release(&made);
	profile_free(test.profile);
}

/* Members of the group that cycles read, of user code and of the kernel's. */
static void shares_of_slots_are_of_the_scope_of_the_width(void **state)
{
	(void)state;
	static const char *const names[] = { "cycles", "slots", "topdown-retiring" };
	struct test_profile test = test_profile_new();
	for (size_t i = 0; i < 6; i++) {
		char name[32], leader[16];
		snprintf(name, sizeof(name), "%s:%c", names[i % 3], i < 3 ? 'u' : 'k');
		snprintf(leader, sizeof(leader), "cycles:%c", i < 3 ? 'u' : 'k');
		const struct profile_event event = {
			.name = span_of_text(name),
			.exclude = i < 3 ? EXCLUDE_KERNEL : EXCLUDE_USER,
			.sampled = i % 3 == 0,
			.leader = span_of_text(i % 3 ? leader : NULL),
		};
		test_event_full(&test, &event);
		test_stack(&test, "main", 40, i % 3 == 1 ? 4 : 1);
	}
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	const struct event_columns *columns = &made.flame->reports[FLAME_MAIN]->columns;
	assert_int_equal(columns->count, 6);
	for (size_t width = 0; width < columns->count; width++) {
		struct flame_ratio ratio;
		struct error err;
		assert_int_equal(flame_ratio_slots(columns, SLOTS_RETIRING, width, &ratio, &err),
				 0);
		assert_int_equal(ratio.samples, RATIO_PART);
		assert_int_equal(columns->list[ratio.above].exclude, columns->list[width].exclude);
		assert_int_equal(columns->list[ratio.below].exclude, columns->list[width].exclude);
		struct estimate share = flame_ratio_at(made.flame, &ratio, FLAME_MAIN, 0);
		assert_true(share.value == 0.25 && share.high < 0.45);
		assert_int_equal(flame_ratio_slots(columns, SLOTS_BACKEND, width, &ratio, &err),
				 -ENODATA);
		assert_string_equal(
			err.text, "no event of backend slots in the profile, as topdown-be-bound");
	}
	made_flame_release(&made);
	profile_free(test.profile);
}

/* A ratio rests on the fewer samples; counts without a known error take none away. */
static void a_ratio_rests_on_the_fewer_samples(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "few", 5, 10);
	test_stack(&test, "many", 100, 10);
	test_event(&test, "instructions", 1);
	test_stack(&test, "few", 200, 10);
	test_stack(&test, "many", 50, 10);
	test_event(&test, "text", 1);
	test_flat_cell(&test, "few", &(struct cell){ .estimate = 70 });
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	struct flame_view_options options = { .ratio = ratio_of(&made, "cycles/instructions") };
	struct flame_view view = view_of(&made, options);
	assert_int_equal(view.count, 3);
	assert_true(view.effective[1] == 5);
	assert_true(view.effective[2] == 50);
	flame_view_release(&view);
	options.ratio = ratio_of(&made, "text/cycles");
	view = view_of(&made, options);
	assert_true(view.effective[1] == 5);
	options.ratio = ratio_of(&made, "text/text");
	flame_view_release(&view);
	view = view_of(&made, options);
	assert_true(view.effective[0] < 0); /* not known, which is not none */
	flame_view_release(&view);
	made_flame_release(&made);
	profile_free(test.profile);
}

static void own_samples_lie_left_of_the_children(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main", 5, 1);
	test_stack(&test, "main;a", 2, 1);
	test_stack(&test, "main;b", 3, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	const struct flame_view_options options = { 0 };
	struct flame_view view = view_of(&made, options);
	assert_int_equal(view.shown[1].x, 0);
	assert_int_equal(view.shown[2].x, 5);
	assert_int_equal(view.shown[3].x, 7);
	flame_view_release(&view);
	made_flame_release(&made);
	profile_free(test.profile);
}

/* Among 60 frames chance alone makes one at p = 0.04. */
static void frames_are_judged_together(void **state)
{
	(void)state;
	struct test_profile after = with_cycles(), before = with_cycles();
	for (int i = 0; i < 60; i++) {
		char stack[32];
		snprintf(stack, sizeof(stack), "f%d", i);
		test_stack(&before, stack, i == 0 ? 100 : i == 1 ? 100 : 50, 1);
		test_stack(&after, stack, i == 0 ? 300 : i == 1 ? 131 : 50, 1);
	}
	struct made_flame made =
		make_flame(after.profile, before.profile, (struct flame_options){ 0 });
	struct flame_changes changes;
	struct error err;
	const struct flame_view_options options = { .base_factor = 1 };
	struct flame_view view = view_of(&made, options);
	const struct flame_changes_options what = {
		.event = { .scale = difference_scale_raw(),
			   .before_whole = flame_total(made.flame, FLAME_BASE, 0)[0],
			   .after_whole = flame_total(made.flame, FLAME_MAIN, 0)[0] }
	};
	assert_int_equal(flame_changes_init(&changes, &view, &what, &err), 0);
	assert_string_equal(flame_label_of(made.flame, view.shown[2].frame)->name, "f1");
	assert_true(changes.list[2].p < 0.05 && changes.list[2].p > 0.03);
	assert_int_equal(changes.list[2].verdict, DIFFERENCE_NOISE);
	assert_int_equal(changes.list[1].verdict, DIFFERENCE_SIGNIFICANT);
	assert_int_equal(changes.significant, 1);
	assert_int_equal(changes.noise, 60); /* the whole too */
	flame_changes_release(&changes);
	flame_view_release(&view);
	made_flame_release(&made);
	profile_free(after.profile);
	profile_free(before.profile);
}

static void narrow_frames_are_left_out_and_counted(void **state)
{
	(void)state;
	struct test_profile test = with_cycles();
	test_stack(&test, "main;a;b", 1, 1);
	test_stack(&test, "main;wide", 99, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	const struct flame_view_options options = { .min_share = 0.02 };
	struct flame_view view = view_of(&made, options);
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
	struct flame_view_options options = { .base_factor = 1 };
	struct flame_view view = view_of(&made, options);
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
	view = view_of(&made, options);
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
	test_event(&test, "stalls", 1);
	test_stack(&test, "main;a", 2, 1);
	test_stack(&test, "main", 1, 1);
	struct made_flame made = make_flame(test.profile, NULL, (struct flame_options){ 0 });
	struct flame_view_options options = { .stretch = true, .stretch_total = true };
	struct error err;
	assert_int_equal(flame_ratio_cpi(&made.flame->reports[0]->columns, 0, &options.ratio, &err),
			 0);
	struct flame_view view = view_of(&made, options);
	assert_true(view.deltas[0] == 0);
	assert_true(view.deltas[1] == 32 - 20);
	assert_true(view.deltas[2] == 68 - 80);
	assert_true(view.largest_delta == 12);
	flame_view_release(&view);
	options.ratio = ratio_of(&made, "cycles/stalls");
	view = view_of(&made, options);
	assert_true(view.deltas[1] == 32 - 33); /* 1 of 3 by 100, without its fraction */
	assert_true(view.deltas[2] == 68 - 66);
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
	test_stack(&test, "main", 3, 1);
	made = make_flame(test.profile, NULL,
			  (struct flame_options){ .samples = { .ignore = "main" } });
	assert_int_equal(made.ret, 0);
	assert_int_equal(flame_view_init(&view, made.flame, &options, &err), -ENODATA);
	assert_string_equal(err.text, "the filters leave no samples of 'cycles' to draw");
	made_flame_release(&made);
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_is_counted_along),
		cmocka_unit_test(the_pair_that_has_the_width_is_preferred),
		cmocka_unit_test(a_ratio_is_of_events),
		cmocka_unit_test(slots_that_retired_are_not_all_slots),
		cmocka_unit_test(shares_of_slots_are_of_the_scope_of_the_width),
		cmocka_unit_test(a_ratio_rests_on_the_fewer_samples),
		cmocka_unit_test(own_samples_lie_left_of_the_children),
		cmocka_unit_test(frames_are_judged_together),
		cmocka_unit_test(narrow_frames_are_left_out_and_counted),
		cmocka_unit_test(both_sides_of_a_base_can_be_seen),
		cmocka_unit_test(deltas_are_of_the_stacks_that_end_in_a_frame),
		cmocka_unit_test(nothing_to_draw_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
