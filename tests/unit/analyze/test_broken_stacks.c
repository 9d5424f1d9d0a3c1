#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/report/broken_stacks.h"
#include "analyze/report/report_make.h"
#include "analyze/names/resolve.h"
#include "base/error.h"
#include "profile/bill.h"
#include "support/test_profile.h"

/* "?" is code of no image, "?TEXT" callers that are unknown for that cause, "[kernel]!f" the kernel's,
 * "app!f" a function, "app!" one without name. */
static uint32_t image_of(struct test_profile *test, const char *text, size_t size)
{
	struct profile_image image = { .kind = IMAGE_FILE, .name = { text, size } };
	uint32_t id;
	if (size && *text == '?')
		image = (struct profile_image){ .kind = IMAGE_UNKNOWN,
						.name = size == 1 ? span_of_text("no mapping")
								  : (struct span){ text + 1,
										   size - 1 } };
	if (size && *text == '[')
		image.kind = IMAGE_KERNEL;
	if (profile_add_image(test->profile, &image, &id) < 0)
		abort();
	return id;
}

static void add_stack(struct test_profile *test, const char *stack, uint64_t samples)
{
	uint32_t node = 0;
	struct profile_frame frame = { 0 };
	for (const char *at = stack; *at;) {
		size_t size = strcspn(at, ";");
		const char *mark = memchr(at, '!', size);
		size_t image_size = mark ? (size_t)(mark - at) : size;
		frame = (struct profile_frame){ .image = image_of(test, at, image_size) };
		/* outermost first: the last user frame is the sampled one */
		const char *next = at + size + (at[size] == ';');
		bool innermost = !*next || (*at != '[' && *next == '[');
		frame.kind = innermost ? FRAME_IP : FRAME_RETURN;
		if (mark && mark + 1 < at + size) {
			struct span name = { mark + 1, (size_t)(at + size - mark) - 1 };
			if (profile_add_bytes(test->profile, name, &frame.name) < 0)
				abort();
		} else {
			frame.vaddr = 0x1000;
		}
		if (profile_add_node(test->profile, node, &frame, &node) < 0)
			abort();
		at = next;
	}
	struct cell cell = test_cell(samples, 1000);
	if (profile_add_stack(test->profile, test->event, test->context, node, &cell) < 0 ||
	    profile_add_flat(test->profile, test->event, test->context, &frame, &cell) < 0)
		abort();
}

struct measured {
	struct resolver *resolver;
	struct report *report;
	const struct scope_broken_stacks *stacks;
};

static struct measured measure(const struct test_profile *test)
{
	struct measured measured = { 0 };
	struct error err = { 0 };
	struct resolver_options naming = { .stash_only = true };
	struct report_options options = { .parts = { REPORT_PROCEDURE }, .part_count = 1 };
	assert_int_equal(resolver_new(test->profile, &naming, &measured.resolver, &err), 0);
	assert_int_equal(
		report_new(test->profile, measured.resolver, &options, &measured.report, &err), 0);
	measured.stacks = &measured.report->scope.broken_stacks;
	return measured;
}

static void measured_release(struct measured *measured)
{
	report_free(measured->report);
	resolver_free(measured->resolver);
}

static void assert_verdict(const char *stack, uint64_t user, uint64_t broken, uint64_t unjudged)
{
	struct test_profile test = test_profile_new();
	test_event(&test, "cpu-clock", 1000);
	add_stack(&test, stack, 7);
	struct measured measured = measure(&test);
	if (measured.stacks->user_samples != user || measured.stacks->broken_samples != broken ||
	    measured.stacks->unjudged_samples != unjudged)
		fail_msg("%s: user %d, broken %d, unjudged %d", stack,
			 (int)measured.stacks->user_samples, (int)measured.stacks->broken_samples,
			 (int)measured.stacks->unjudged_samples);
	measured_release(&measured);
	profile_free(test.profile);
}

static void a_stack_from_where_threads_begin_is_whole(void **state)
{
	(void)state;
	static const char *const whole[] = {
		"app!_start;libc.so.6!__libc_start_main_impl;app!main;app!work",
		"libc.so.6!__libc_start_call_main;app!main",
		"app!main;app!work;[kernel]!entry_SYSCALL_64_after_hwframe",
		"libc.so.6!clone3;libc.so.6!start_thread;app!work",
		"app!runtime.goexit.abi0;app!main.main.func1",
		"app!runtime.goexit;app!main.work",
		"app!runtime.mcall;app!runtime.park_m",
		"ld-linux-x86-64.so.2!_start;ld-linux-x86-64.so.2!_dl_start",
		"app!_start",
		/* what chance left in the register of a start is no caller */
		"?;app!runtime.mstart.abi0;app!runtime.schedule",
		"?;?;libc.so.6!__libc_start_call_main;app!main",
		/* stripped: what calls main, and what calls a program from the C library */
		"app!;app!main;app!work",
		"libc.so.6!;app!work",
		"libstdc++.so.6.0.30!;app!work",
		"?;libpthread-2.31.so!;app!work",
	};
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		assert_verdict(whole[i], 7, 0, 0);
}

static void a_stack_that_begins_elsewhere_is_broken(void **state)
{
	(void)state;
	static const char *const broken[] = { "?;cc1!parse",
					      "?;cc1!parse;cc1!lex",
					      "cc1!parse",
					      "cc1!parse;cc1!lex",
					      "?;libc.so.6!write;[kernel]!do_syscall_64",
					      "libc.so.6!malloc",
					      "gzip!",
					      "?;gzip!;gzip!",
					      "?;libc.so.6!qsort;app!compare",
					      "app!domain;app!work",
					      "app!main.work",
					      "app!my_start" };
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		assert_verdict(broken[i], 7, 7, 0);
}

static void what_cannot_be_told_is_not_judged(void **state)
{
	(void)state;
	assert_verdict("gzip!;gzip!", 7, 0, 7);
	assert_verdict("?", 7, 0, 7);
	assert_verdict("?;[kernel]!do_syscall_64", 7, 0, 7);
	assert_verdict("[kernel]!ret_from_fork_asm;[kernel]!kthread", 0, 0, 0);
}

/* Whoever walks by rules says why the rest is missing; frame pointers say nothing. */
static void who_walked_says_why(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cpu-clock", 1000);
	add_stack(&test, "?callers beyond the copied stack;app!work", 1);
	add_stack(&test, "?callers of code without unwind rules;app!work", 2);
	add_stack(&test, "?callers on a stack that is none;app!work", 4);
	add_stack(&test, "?callers too deep to follow;app!work", 8);
	add_stack(&test, "?user stack not unwound;app!work", 16);
	add_stack(&test, "?;app!work", 32);
	struct measured measured = measure(&test);
	assert_int_equal(measured.stacks->broken_samples, 63);
	assert_int_equal(measured.stacks->walked_samples, 31);
	assert_int_equal(measured.stacks->beyond_copy_samples, 1);
	measured_release(&measured);
	profile_free(test.profile);
}

/* Of the last frame that is known, by its short name. */
static void the_code_to_blame_is_ranked(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cpu-clock", 1000);
	add_stack(&test, "libc.so.6!__libc_start_call_main;app!main;app!work", 56);
	add_stack(&test, "?;/usr/lib/cc1!parse;/usr/lib/libc.so.6!malloc", 20);
	add_stack(&test, "/usr/lib/cc1!lex", 10);
	add_stack(&test, "?;/usr/lib/libsqlite3.so.0!step;[kernel]!exc_page_fault", 14);
	struct measured measured = measure(&test);
	assert_int_equal(measured.stacks->user_samples, 100);
	assert_int_equal(measured.stacks->broken_samples, 44);
	assert_int_equal(measured.stacks->image_count, 2);
	assert_true(span_equal(measured.stacks->images[0].name, span_of_text("cc1")));
	assert_int_equal(measured.stacks->images[0].samples, 30);
	assert_true(span_equal(measured.stacks->images[1].name, span_of_text("libsqlite3.so.0")));
	assert_int_equal(measured.stacks->images[1].samples, 14);
	measured_release(&measured);
	profile_free(test.profile);
}

/* A stranger's profile may name one with each stack. */
static void many_images_are_ranked_in_time_of_their_number(void **state)
{
	(void)state;
	char stack[64];
	struct test_profile test = test_profile_new();
	test_event(&test, "cpu-clock", 1000);
	for (int i = 0; i < 200000; i++) {
		/* two images of each name, of folders that differ */
		snprintf(stack, sizeof(stack), "/usr/lib/%d/lib%08d.so!f", i % 2, i / 2);
		add_stack(&test, stack, i / 2 == 4711 ? 9 : 1);
	}
	struct measured measured = measure(&test);
	assert_int_equal(measured.stacks->broken_samples, 200016);
	assert_true(span_equal(measured.stacks->images[0].name, span_of_text("lib00004711.so")));
	assert_int_equal(measured.stacks->images[0].samples, 18);
	assert_int_equal(measured.stacks->images[1].samples, 2);
	measured_release(&measured);
	profile_free(test.profile);
}

/* A stack as deep as the kernel goes was cut, and not by code without frame pointers. */
static void a_stack_that_was_cut_is_not_broken(void **state)
{
	(void)state;
	char stack[127 * 8] = "";
	for (size_t i = 0; i < 127; i++)
		strcat(stack, i ? ";app!f" : "app!f");
	assert_verdict(stack, 0, 0, 0);
	assert_verdict(stack + strlen("app!f;"), 7, 7, 0);
}

/* Other tools' stacks come from where they please, but for those that say how they were made. */
static void imported_stacks_count_when_they_were_followed_by_frame_pointers(void **state)
{
	(void)state;
	for (int followed = 0; followed <= 1; followed++) {
		struct test_profile test = test_profile_new();
		struct profile_event event = { .name = span_of_text("cycles"),
					       .period = 1000,
					       .policy = PERIOD_FIXED,
					       .origin = ORIGIN_IMPORTED,
					       .sampled = 1 };
		test_event_full(&test, &event);
		add_stack(&test, "?;cc1!parse", 7);
		if (followed)
			test_bill(&test, test.event, BILL_STACKS_FOLLOWED, 7);
		struct measured measured = measure(&test);
		assert_int_equal(measured.stacks->user_samples, followed ? 7 : 0);
		assert_int_equal(measured.stacks->broken_samples, followed ? 7 : 0);
		measured_release(&measured);
		profile_free(test.profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_from_where_threads_begin_is_whole),
		cmocka_unit_test(a_stack_that_begins_elsewhere_is_broken),
		cmocka_unit_test(what_cannot_be_told_is_not_judged),
		cmocka_unit_test(who_walked_says_why),
		cmocka_unit_test(the_code_to_blame_is_ranked),
		cmocka_unit_test(many_images_are_ranked_in_time_of_their_number),
		cmocka_unit_test(a_stack_that_was_cut_is_not_broken),
		cmocka_unit_test(imported_stacks_count_when_they_were_followed_by_frame_pointers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
