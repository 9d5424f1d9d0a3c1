/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flame.h"
#include "analyze/flame_view.h"
#include "base/buffer.h"
#include "base/error.h"
#include "support/test_profile.h"

struct made {
	struct resolver *resolvers[FLAME_SIDES];
	struct flame *flame;
	struct error err;
	int ret;
};

static struct made make_both(const struct profile *profile, const struct profile *base,
			     struct flame_options options)
{
	struct made made = { 0 };
	struct resolver_options naming = { .stash_only = true };
	assert_int_equal(resolver_new(profile, &naming, &made.resolvers[0], &made.err), 0);
	if (base)
		assert_int_equal(resolver_new(base, &naming, &made.resolvers[1], &made.err), 0);
	const struct flame_input main = { profile, made.resolvers[0], NULL };
	const struct flame_input other = { base, made.resolvers[1], NULL };
	made.ret = flame_new(&main, base ? &other : NULL, &options, &made.flame, &made.err);
	return made;
}

static struct made make(const struct profile *profile, struct flame_options options)
{
	return make_both(profile, NULL, options);
}

static void done(struct made *made)
{
	flame_free(made->flame);
	resolver_free(made->resolvers[0]);
	resolver_free(made->resolvers[1]);
}

/* "all 9/0 >main 9/2 >>work 7/7": total and own of column 0, a > a row. */
static const char *spell(const struct flame *flame, char *text, size_t size)
{
	size_t used = 0;
	text[0] = 0;
	for (size_t i = 0; i < flame->count && used < size; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s%.*s%s %d/%d", i ? " " : "",
					 (int)flame->frames[i].depth, ">>>>>>>>>>>>>>>>",
					 flame_label_of(flame, i)->name,
					 (int)flame_total(flame, FLAME_MAIN, i)[0].estimate,
					 (int)flame_self(flame, FLAME_MAIN, i)[0].estimate);
	}
	return text;
}

static void stacks_that_read_the_same_are_one(void **state)
{
	(void)state;
	char text[512];
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_stack(&test, "main;run;work", 3, 1);
	test_stack(&test, "main;work", 2, 1);
	test_stack(&test, "main;run", 4, 1);
	struct made made = make(test.profile, (struct flame_options){ 0 });
	assert_int_equal(made.ret, 0);
	assert_string_equal(spell(made.flame, text, sizeof(text)),
			    "all 9/0 >main 9/0 >>run 7/4 >>>work 3/3 >>work 2/2");
	assert_int_equal(made.flame->frames[1].end, 5);
	assert_int_equal(made.flame->frames[2].end, 4);
	assert_int_equal(made.flame->depth, 4);
	done(&made);
	profile_free(test.profile);
}

static void commands_stand_below_their_functions(void **state)
{
	(void)state;
	char text[512];
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("b") });
	test_stack(&test, "main;work", 3, 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("a") });
	test_stack(&test, "main;work", 5, 1); /* the same nodes of the trie */
	struct made made = make(test.profile, (struct flame_options){ 0 });
	assert_string_equal(spell(made.flame, text, sizeof(text)),
			    "all 8/0 >a 5/0 >>main 5/0 >>>work 5/5 >b 3/0 >>main 3/0 >>>work 3/3");
	assert_int_equal(flame_label_of(made.flame, 1)->kind, FLAME_GROUP);
	done(&made);
	made = make(test.profile, (struct flame_options){ .commands = FLAME_WITHOUT_COMMANDS });
	assert_string_equal(spell(made.flame, text, sizeof(text)), "all 8/0 >main 8/0 >>work 8/8");
	done(&made);
	profile_free(test.profile);
}

static void from_the_leaf_callers_come_together(void **state)
{
	(void)state;
	char text[512];
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_stack(&test, "main;run;work", 3, 1);
	test_stack(&test, "main;work", 2, 1);
	struct made made =
		make(test.profile, (struct flame_options){ .direction = FLAME_FROM_LEAF });
	assert_string_equal(spell(made.flame, text, sizeof(text)),
			    "all 5/0 >work 5/0 >>main 2/2 >>run 3/0 >>>main 3/3");
	done(&made);
	profile_free(test.profile);
}

static void samples_without_a_stack_are_not_lost(void **state)
{
	(void)state;
	char text[512];
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_stack(&test, "main;work", 3, 1);
	test_flat(&test, "alone", 4, 1);
	struct made made = make(test.profile, (struct flame_options){ 0 });
	assert_string_equal(spell(made.flame, text, sizeof(text)),
			    "all 7/0 >[no stack] 4/0 >>alone 4/4 >main 3/0 >>work 3/3");
	done(&made);
	profile_free(test.profile);
}

static void without_any_stack_there_are_towers_of_images(void **state)
{
	(void)state;
	char text[512];
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_image(&test, IMAGE_FILE, "/usr/bin/gcc", "0123456789abcdef");
	test_flat(&test, "parse", 4, 1);
	test_flat(&test, "emit", 2, 1);
	struct made made = make(test.profile, (struct flame_options){ 0 });
	assert_string_equal(spell(made.flame, text, sizeof(text)),
			    "all 6/0 >gcc 6/0 >>emit 2/2 >>parse 4/4");
	done(&made);
	profile_free(test.profile);
}

static void functions_of_different_images_are_different_frames(void **state)
{
	(void)state;
	char text[512];
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_image(&test, IMAGE_FILE, "/lib/a", "0123456789abcdef");
	test_stack(&test, "run", 4, 1);
	test_image(&test, IMAGE_FILE, "/lib/b", "1123456789abcdef");
	test_stack(&test, "run", 2, 1);
	struct made made = make(test.profile, (struct flame_options){ 0 });
	assert_string_equal(spell(made.flame, text, sizeof(text)), "all 6/0 >run 4/4 >run 2/2");
	assert_string_equal(flame_label_of(made.flame, 1)->image, "a");
	done(&made);
	profile_free(test.profile);
}

static void every_event_is_counted_along(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_stack(&test, "main;work", 3, 10);
	test_event(&test, "instructions", 1);
	test_stack(&test, "main;work", 2, 10);
	test_stack(&test, "main", 1, 10);
	struct made made = make(test.profile, (struct flame_options){ 0 });
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
	done(&made);
	profile_free(test.profile);
}

static void marks_of_folded_text_become_kinds(void **state)
{
	(void)state;
	char text[512];
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_stack(&test, "main;read;read_[k]", 3, 1);
	test_stack(&test, "main;read_[i]", 2, 1);
	struct made made = make(test.profile, (struct flame_options){ 0 });
	assert_string_equal(spell(made.flame, text, sizeof(text)),
			    "all 5/0 >main 5/0 >>read 3/0 >>>read 3/3 >>read 2/2");
	assert_int_equal(flame_label_of(made.flame, 2)->kind, FLAME_TEXT);
	assert_int_equal(flame_label_of(made.flame, 3)->kind, FLAME_KERNEL);
	assert_int_equal(flame_label_of(made.flame, 4)->kind, FLAME_INLINED);
	done(&made);
	profile_free(test.profile);
}

static void narrow_frames_are_left_out_and_counted(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_stack(&test, "main;a;b", 1, 1);
	test_stack(&test, "main;wide", 99, 1);
	struct made made = make(test.profile, (struct flame_options){ 0 });
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
	done(&made);
	profile_free(test.profile);
}

static void both_sides_of_a_base_can_be_seen(void **state)
{
	(void)state;
	char text[512];
	struct test_profile after = test_profile_new(), before = test_profile_new();
	test_event(&after, "cycles", 1);
	test_stack(&after, "main;kept", 10, 1);
	test_stack(&after, "main;new", 5, 1);
	test_event(&before, "cycles", 1);
	test_stack(&before, "main;kept", 20, 1);
	test_stack(&before, "main;gone;deep", 7, 1);
	struct made made = make_both(after.profile, before.profile, (struct flame_options){ 0 });
	assert_int_equal(made.ret, 0);
	assert_string_equal(spell(made.flame, text, sizeof(text)),
			    "all 15/0 >main 15/0 >>gone 0/0 >>>deep 0/0 >>kept 10/10 >>new 5/5");
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
	done(&made);
	profile_free(after.profile);
	profile_free(before.profile);
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
	struct made made = make_both(after.profile, before.profile, (struct flame_options){ 0 });
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
	done(&made);
	profile_free(after.profile);
	profile_free(before.profile);
}

static void deltas_are_of_the_stacks_that_end_in_a_frame(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_stack(&test, "main;a", 68, 1);
	test_stack(&test, "main", 32, 1);
	test_event(&test, "instructions", 1);
	test_stack(&test, "main;a", 40, 1);
	test_stack(&test, "main", 10, 1);
	struct made made = make(test.profile, (struct flame_options){ 0 });
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
	done(&made);
	profile_free(test.profile);
}

static void nothing_to_draw_is_said(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	struct made made = make(test.profile, (struct flame_options){ 0 });
	assert_int_equal(made.ret, -ENODATA);
	assert_string_equal(made.err.text, "the profile has no event to draw");
	done(&made);
	test_event(&test, "cycles", 1);
	made = make(test.profile, (struct flame_options){ 0 });
	assert_int_equal(made.ret, 0);
	struct flame_view view;
	struct error err;
	const struct flame_view_options options = { 0 };
	assert_int_equal(flame_view_init(&view, made.flame, &options, &err), -ENODATA);
	assert_string_equal(err.text, "there are no samples of 'cycles' to draw");
	done(&made);
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_that_read_the_same_are_one),
		cmocka_unit_test(commands_stand_below_their_functions),
		cmocka_unit_test(from_the_leaf_callers_come_together),
		cmocka_unit_test(samples_without_a_stack_are_not_lost),
		cmocka_unit_test(without_any_stack_there_are_towers_of_images),
		cmocka_unit_test(functions_of_different_images_are_different_frames),
		cmocka_unit_test(every_event_is_counted_along),
		cmocka_unit_test(marks_of_folded_text_become_kinds),
		cmocka_unit_test(narrow_frames_are_left_out_and_counted),
		cmocka_unit_test(both_sides_of_a_base_can_be_seen),
		cmocka_unit_test(a_base_has_the_events_that_are_compared),
		cmocka_unit_test(deltas_are_of_the_stacks_that_end_in_a_frame),
		cmocka_unit_test(nothing_to_draw_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
