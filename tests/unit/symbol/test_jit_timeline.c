#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/jit_timeline.h"

#define TOP_BIT (UINT64_C(1) << 63)

static int add(struct jit_timeline *timeline, uint64_t address, uint64_t size, uint64_t time_ns,
	       const char *name)
{
	return jit_timeline_add(timeline, &(struct jit_loaded){ .address = address,
								.size_bytes = size,
								.time_ns = time_ns,
								.name = span_of_text(name),
								.ordinal = JIT_NO_ORDINAL });
}

static void expect_name(const struct jit_loaded *loaded, const char *name)
{
	assert_non_null(loaded);
	assert_int_equal(loaded->name.size, strlen(name));
	assert_memory_equal(loaded->name.data, name, strlen(name));
}

static void a_sample_belongs_to_what_was_there_at_its_time(void **state)
{
	(void)state;
	struct jit_timeline timeline = { 0 };
	assert_int_equal(add(&timeline, 0x7f0000001000, 0x100, 1000, "first"), 0);
	assert_int_equal(add(&timeline, 0x7f0000001080, 0x20, 2000, "second"), 0);
	expect_name(jit_timeline_find(&timeline, 0x7f0000001090, 1999), "first");
	expect_name(jit_timeline_find(&timeline, 0x7f0000001090, 2000), "second");
	/* what the newcomer does not cover */
	expect_name(jit_timeline_find(&timeline, 0x7f00000010a0, 3000), "first");
	/* a compiler tells of code after it has made it */
	expect_name(jit_timeline_find(&timeline, 0x7f0000001000, 10), "first");
	assert_null(jit_timeline_find(&timeline, 0x7f0000001100, 3000));
	assert_null(jit_timeline_find(&timeline, 0x7f0000000fff, 3000));
	jit_timeline_release(&timeline);
}

/* Whatever the order in which they came, and what came first of what is not in force yet. */
static void times_count_in_any_order_of_coming(void **state)
{
	(void)state;
	static const uint64_t times[][3] = { { 1000, 2000, 3000 },
					     { 3000, 1000, 2000 },
					     { 3000, 2000, 1000 },
					     { 2000, 3000, 1000 } };
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct jit_timeline timeline = { 0 };
		for (size_t j = 0; j < 3; j++)
			add(&timeline, 0x1000, 0x100 - j, times[i][j],
			    times[i][j] == 1000	  ? "first"
			    : times[i][j] == 2000 ? "second"
						  : "third");
		expect_name(jit_timeline_find(&timeline, 0x1010, 1), "first");
		expect_name(jit_timeline_find(&timeline, 0x1010, 1000), "first");
		expect_name(jit_timeline_find(&timeline, 0x1010, 2999), "second");
		expect_name(jit_timeline_find(&timeline, 0x1010, 3000), "third");
		jit_timeline_release(&timeline);
	}
	struct jit_timeline same = { 0 };
	add(&same, 0x1000, 0x100, 1000, "one");
	add(&same, 0x1000, 0x100, 1000, "two");
	expect_name(jit_timeline_find(&same, 0x1010, 1), "one");
	expect_name(jit_timeline_find(&same, 0x1010, 1000), "two");
	/* What is large and what is not are in different lists. */
	add(&same, 0, 16 << 20, 1500, "large");
	expect_name(jit_timeline_find(&same, 0x1010, 1400), "two");
	expect_name(jit_timeline_find(&same, 0x1010, 1500), "large");
	jit_timeline_release(&same);
}

static void what_is_loaded_over_something_has_a_vaddr_of_its_own(void **state)
{
	(void)state;
	struct jit_timeline timeline = { 0 };
	const uint64_t address = 0x7f0000001000;
	add(&timeline, address, 0x100, 1000, "first");
	add(&timeline, address, 0x100, 2000, "second");
	assert_int_equal(jit_timeline_vaddr(&timeline, address + 4, 1500), address + 4);
	uint64_t second = jit_timeline_vaddr(&timeline, address + 4, 2500);
	assert_true(second & TOP_BIT);
	assert_int_equal(second & 0xffffffffffff, address + 4);
	expect_name(jit_timeline_at(&timeline, address + 0xff), "first");
	expect_name(jit_timeline_at(&timeline, second), "second");
	assert_int_equal(jit_timeline_vaddr(&timeline, 0x1234, 2500), 0x1234);

	/* Code that comes back is what it was. */
	add(&timeline, address, 0x100, 3000, "first");
	assert_int_equal(jit_timeline_vaddr(&timeline, address + 4, 3500), address + 4);
	add(&timeline, address, 0x100, 4000, "second");
	assert_int_equal(jit_timeline_vaddr(&timeline, address + 4, 4500), second);
	assert_int_equal(jit_timeline_vaddr(&timeline, address + 4, 3500), address + 4);
	jit_timeline_release(&timeline);

	/* The same in a recording that saw something else there before. */
	struct jit_timeline other = { 0 };
	add(&other, address - 8, 0x1000, 5, "elsewhere");
	add(&other, address, 0x100, 2000, "second");
	assert_int_equal(jit_timeline_vaddr(&other, address + 4, 2500), second);
	jit_timeline_release(&other);
}

static void what_is_told_twice_counts_once(void **state)
{
	(void)state;
	struct jit_timeline timeline = { 0 };
	add(&timeline, 0x1000, 0x100, 1000, "f");
	add(&timeline, 0x1000, 0x100, 2000, "f");
	add(&timeline, 0x2000, 0, 2000, "empty");
	add(&timeline, UINT64_MAX - 1, 3, 2000, "wraps");
	/* another vaddr of it would wrap */
	add(&timeline, 0x1010, (UINT64_C(1) << 48) - 0x100f, 2000, "all");
	assert_int_equal(timeline.count, 1);
	assert_int_equal(timeline.list[0].time_ns, 1000);
	/* up to the last address */
	assert_int_equal(add(&timeline, UINT64_MAX - 1, 2, 2000, "last"), 0);
	expect_name(jit_timeline_find(&timeline, UINT64_MAX, 2000), "last");
	jit_timeline_release(&timeline);
}

static void large_functions_are_found_too(void **state)
{
	(void)state;
	struct jit_timeline timeline = { 0 };
	assert_int_equal(add(&timeline, 0x10000000, 16 << 20, 1000, "large"), 0);
	assert_int_equal(add(&timeline, 0x10800000, 0x10, 2000, "small"), 0);
	expect_name(jit_timeline_find(&timeline, 0x10800008, 1500), "large");
	expect_name(jit_timeline_find(&timeline, 0x10800008, 2500), "small");
	assert_true(jit_timeline_vaddr(&timeline, 0x10800008, 2500) & TOP_BIT);
	for (unsigned i = 1; i < JIT_TIMELINE_MOST_LARGE; i++)
		assert_int_equal(add(&timeline, UINT64_C(0x100000000) * i, 16 << 20, 1, "more"), 0);
	assert_int_equal(add(&timeline, 0x20, 16 << 20, 1, "one too many"), -EFBIG);
	jit_timeline_release(&timeline);
}

static void a_page_that_is_written_for_ever_stays_fast(void **state)
{
	(void)state;
	struct jit_timeline timeline = { 0 };
	char name[32];
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t before = timeline.narrow_looks;
		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(add(&timeline, 0x1000, 0x10, i, name), 0);
		assert_in_range(timeline.narrow_looks - before, i < 3000 ? i : 3000, 4096);
	}
	expect_name(jit_timeline_find(&timeline, 0x1008, 9999), "f9999");
	expect_name(jit_timeline_find(&timeline, 0x1008, 8000), "f8000");
	uint64_t vaddr = jit_timeline_vaddr(&timeline, 0x1008, 8000);
	assert_true(vaddr & TOP_BIT);
	jit_timeline_release(&timeline);
}

/* The same 1 MB again and again where thousands of functions are: nothing is kept of it, so that
 * only the work has an end. */
static void what_is_told_of_many_pages_for_ever_ends(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 256 << 12, 257 << 12 };
	for (size_t i = 0; i < 2; i++) {
		struct jit_timeline timeline = { 0 };
		char name[16];
		for (int j = 0; j < 4096; j++) {
			snprintf(name, sizeof(name), "f%d", j);
			add(&timeline, (uint64_t)(j % 256) << 12, 0x1000, 1, name);
		}
		assert_int_equal(timeline.looks, 0);
		assert_int_equal(add(&timeline, 0, sizes[i], 1, "wide"), 0);
		uint64_t once = timeline.looks;
		assert_true(once >= 4096);
		assert_int_equal(add(&timeline, 0, sizes[i], 1, "wide"), 0);
		assert_true(timeline.looks > once);
		timeline.looks = JIT_TIMELINE_MOST_LOOKS;
		assert_int_equal(add(&timeline, 0, sizes[i], 1, "wide"), -EFBIG);
		assert_int_equal(add(&timeline, 0, 0x100, 1, "narrow"), 0);
		expect_name(jit_timeline_find(&timeline, 0xff, 1), "narrow");
		jit_timeline_release(&timeline);
	}
}

/* Every line of a map that says the same of a page once more looks at all that is there. */
static void what_is_told_of_one_page_for_ever_ends(void **state)
{
	(void)state;
	struct jit_timeline timeline = { 0 };
	char name[16];
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		add(&timeline, 0x1000 + (uint64_t)i, 0x10, 1, name);
	}
	uint64_t before = timeline.narrow_looks;
	assert_int_equal(add(&timeline, 0x1000 + 99, 0x10, 1, name), 0);
	assert_int_equal(timeline.count, 100);
	assert_int_equal(timeline.narrow_looks, before + 100);
	timeline.narrow_looks = JIT_TIMELINE_MOST_NARROW_LOOKS;
	assert_int_equal(add(&timeline, 0x1000 + 99, 0x10, 1, name), -EFBIG);

	/* Nor does it begin again when the share has no room for what is there. */
	uint64_t dropped = 0;
	timeline.looks = JIT_TIMELINE_MOST_LOOKS;
	assert_int_equal(jit_timeline_trim(&timeline, 0, &dropped), 0);
	assert_int_equal(add(&timeline, 0x1000 + 99, 0x10, 1, name), -EFBIG);
	assert_int_equal(add(&timeline, 0x1000, 256 << 12, 1, "wide"), -EFBIG);
	jit_timeline_release(&timeline);
}

static void what_does_not_fit_is_left_out(void **state)
{
	(void)state;
	struct jit_timeline timeline = { .kept_bytes = JIT_TIMELINE_MOST_BYTES - 10 };
	assert_int_equal(add(&timeline, 0x1000, 0x10, 1, "f"), -EFBIG);
	assert_int_equal(timeline.count, 0);
	jit_timeline_release(&timeline);
}

static void what_has_samples_and_what_is_new_stays(void **state)
{
	(void)state;
	struct jit_timeline timeline = { 0 };
	char name[32];
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		assert_int_equal(add(&timeline, 0x100000 + i * 0x40, 0x40, 1, name), 0);
	}
	/* Over the first, with a vaddr of its own that no trimming may change. */
	assert_int_equal(add(&timeline, 0x100000, 0x40, 5, "second"), 0);
	uint64_t first = jit_timeline_vaddr(&timeline, 0x100010, 1);
	uint64_t second = jit_timeline_vaddr(&timeline, 0x100010, 9);
	assert_int_not_equal(first, second);
	uint64_t before = jit_timeline_bytes(&timeline);
	uint64_t dropped = 0;
	assert_int_equal(jit_timeline_trim(&timeline, before / 4, &dropped), 0);
	assert_in_range(jit_timeline_bytes(&timeline), 1, before / 2);
	assert_int_equal(dropped + timeline.count, 1001);
	expect_name(jit_timeline_at(&timeline, first), "function_0");
	expect_name(jit_timeline_at(&timeline, second), "second");
	expect_name(jit_timeline_find(&timeline, 0x100000 + 999 * 0x40, 1), "function_999");
	assert_null(jit_timeline_find(&timeline, 0x100000 + 1 * 0x40, 1));
	assert_int_equal(jit_timeline_vaddr(&timeline, 0x100010, 9), second);
	assert_int_equal(jit_timeline_trim(&timeline, 0, &dropped), 0);
	assert_int_equal(timeline.count, 0);
	jit_timeline_release(&timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_belongs_to_what_was_there_at_its_time),
		cmocka_unit_test(times_count_in_any_order_of_coming),
		cmocka_unit_test(what_is_loaded_over_something_has_a_vaddr_of_its_own),
		cmocka_unit_test(what_is_told_twice_counts_once),
		cmocka_unit_test(large_functions_are_found_too),
		cmocka_unit_test(a_page_that_is_written_for_ever_stays_fast),
		cmocka_unit_test(what_is_told_of_many_pages_for_ever_ends),
		cmocka_unit_test(what_is_told_of_one_page_for_ever_ends),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(what_has_samples_and_what_is_new_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
