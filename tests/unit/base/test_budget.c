#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/budget.h"
#include "base/error.h"
#include "support/skip.h"

#define MIB ((size_t)1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTED false
#else
#define COUNTED true
#endif

static int open_small(void **state)
{
	(void)state;
	const struct budget_limits limits = { 4 * MIB, 1000, 10, 100, 50 };
	budget_open(&limits);
	budget_input("x.pb");
	return 0;
}

static int close_budget(void **state)
{
	(void)state;
	budget_close();
	return 0;
}

static void memory_is_refused_at_the_limit_and_again_free_below(void **state)
{
	(void)state;
	if (!COUNTED)
		SKIP("memory is not counted under a sanitizer");
	void *first = malloc(3 * MIB);
	assert_non_null(first);
	assert_null(malloc(3 * MIB));
	assert_int_equal(errno, ENOMEM);
	free(first);
	first = malloc(3 * MIB);
	assert_non_null(first);
	free(first);
	assert_string_equal(budget_refused_limit(), "memory");
	assert_string_equal(budget_refusal(), "'x.pb' needs more than 4.0 MiB of memory, the limit "
					      "for 0 bytes that were read");
}

static void every_way_to_allocate_is_counted(void **state)
{
	(void)state;
	void *memory = NULL;
	if (!COUNTED)
		SKIP("memory is not counted under a sanitizer");
	assert_null(calloc(8, MIB));
	assert_null(realloc(NULL, 8 * MIB));
	assert_null(reallocarray(NULL, 8, MIB));
	assert_null(aligned_alloc(4096, 8 * MIB));
	assert_int_equal(posix_memalign(&memory, 4096, 8 * MIB), ENOMEM);
	char *volatile text = malloc(MIB);
	assert_null(realloc(text, 8 * MIB));
	memset(text, 'a', MIB - 1);
	text[MIB - 1] = 0;
	char *copies[5]; /* of the C library: with a reserve to speak of the refusal, 5 MiB */
	for (int i = 0; i < 5; i++)
		copies[i] = strdup(text);
	assert_non_null(copies[1]);
	assert_null(copies[4]);
	for (int i = 0; i < 5; i++)
		free(copies[i]);
	free(text);
}

static void growing_and_freeing_leaves_nothing_counted(void **state)
{
	(void)state;
	if (!COUNTED)
		SKIP("memory is not counted under a sanitizer");
	for (int round = 0; round < 2000; round++) {
		char *memory = NULL;
		for (size_t size = 1; size < MIB; size = size * 3 + 1) {
			char *grown = realloc(memory, size);
			assert_non_null(grown);
			memory = grown;
		}
		free(memory);
		free(calloc(1, MIB));
		free(aligned_alloc(64, 64 * 100));
	}
	assert_null(budget_refusal());
	assert_true(budget_peak_bytes() < 3 * MIB);
}

/* The C library rounds 25 bytes up: realloc() asks for one more and gets sixteen. */
static void what_a_block_grows_beyond_what_was_asked_for_is_counted(void **state)
{
	(void)state;
	if (!COUNTED)
		SKIP("memory is not counted under a sanitizer");
	for (int round = 0; round < 400000; round++) {
		char *volatile memory = malloc(24);
		assert_non_null(memory);
		char *volatile grown = realloc(memory, 25);
		assert_non_null(grown);
		free(grown);
	}
	/* neither less is held now than nothing, nor more */
	void *first = malloc(3 * MIB);
	assert_non_null(first);
	assert_null(malloc(3 * MIB));
	free(first);
}

static void what_a_block_shrinks_by_is_free_again(void **state)
{
	(void)state;
	if (!COUNTED)
		SKIP("memory is not counted under a sanitizer");
	char *volatile shrunk[8];
	for (int i = 0; i < 8; i++) {
		char *volatile memory = malloc(2 * MIB);
		assert_non_null(memory);
		shrunk[i] = realloc(memory, 100);
		assert_non_null(shrunk[i]);
	}
	for (int i = 0; i < 8; i++)
		free(shrunk[i]);
}

static void what_is_charged_is_never_refused_but_counts(void **state)
{
	(void)state;
	assert_true(budget_take_memory(3 * MIB));
	budget_charge_memory(3 * MIB);
	assert_null(budget_refusal());
	assert_false(budget_take_memory(MIB / 2)); /* 6 of 4 MiB are held */
	assert_string_equal(budget_refused_limit(), "memory");
	budget_return_memory(3 * MIB);
	assert_true(budget_take_memory(MIB / 2));
}

static void what_is_charged_leaves_the_limit_where_it_was(void **state)
{
	(void)state;
	budget_charge_memory(8 * MIB);
	budget_return_memory(8 * MIB);
	assert_true(budget_peak_bytes() < 4 * MIB);
	assert_false(budget_take_memory(6 * MIB));
}

static void what_was_read_raises_the_limit(void **state)
{
	(void)state;
	assert_int_equal(budget_memory_limit_bytes(), 4 * MIB);
	budget_read(MIB);
	assert_int_equal(budget_memory_limit_bytes(), 7 * MIB);
	budget_unpacked(10 * MIB);
	assert_int_equal(budget_memory_limit_bytes(), 34 * MIB);
	budget_unpacked(1000 * MIB); /* 16 times at most */
	assert_int_equal(budget_memory_limit_bytes(), 52 * MIB);
	budget_read_profile(MIB); /* 96 times */
	assert_int_equal(budget_memory_limit_bytes(), 340 * MIB);
	budget_grant(MIB);
	assert_int_equal(budget_memory_limit_bytes(), 343 * MIB);
	budget_window(1100 * MIB); /* 1010 of it were filled */
	assert_int_equal(budget_memory_limit_bytes(), 433 * MIB);
	budget_read(UINT64_MAX); /* never wraps */
	assert_int_equal(budget_memory_limit_bytes(), UINT64_MAX);
}

static void local_files_raise_memory_alone_and_no_further_than_what_came_of_them(void **state)
{
	(void)state;
	budget_read_local(100 * MIB, 0); /* nothing came */
	assert_int_equal(budget_memory_limit_bytes(), 4 * MIB);
	budget_read_local(100 * MIB, MIB / 32);
	assert_int_equal(budget_memory_limit_bytes(), 7 * MIB);
	budget_read_local(2 * MIB, 100 * MIB); /* its size at most */
	assert_int_equal(budget_memory_limit_bytes(), 13 * MIB);
	for (int i = 0; i < 100; i++) /* and so much in all */
		budget_read_local(UINT64_MAX, UINT64_MAX);
	assert_int_equal(budget_memory_limit_bytes(), 4 * MIB + 3 * BUDGET_LOCAL_BYTES);
	budget_unpacked(1000 * MIB); /* nothing was packed */
	assert_int_equal(budget_memory_limit_bytes(), 4 * MIB + 3 * BUDGET_LOCAL_BYTES);
	assert_int_equal(budget_take_output(1001, NULL), -EFBIG);
}

static void holes_in_a_file_do_not_raise_it(void **state)
{
	(void)state;
	const struct stat sparse = { .st_size = (off_t)1 << 40, .st_blocks = 16 };
	const struct stat dense = { .st_size = 100000, .st_blocks = 200 };
	const struct stat within_inode = { .st_size = 60, .st_blocks = 0 };
	assert_int_equal(budget_file_bytes(&sparse), 8192);
	assert_int_equal(budget_file_bytes(&dense), 100000);
	assert_int_equal(budget_file_bytes(&within_inode), 60);
	static uint8_t bytes[10000];
	assert_int_equal(budget_content_bytes(bytes, sizeof(bytes)), 0);
	assert_int_equal(budget_content_bytes(bytes, 0), 0);
	bytes[511] = 1;
	bytes[9999] = 1; /* in a piece that is cut short */
	assert_int_equal(budget_content_bytes(bytes, sizeof(bytes)), 512 + 10000 % 512);
	memset(bytes, 'a', sizeof(bytes));
	assert_int_equal(budget_content_bytes(bytes, sizeof(bytes)), 10000);
}

static void output_depth_frames_and_names_have_limits(void **state)
{
	(void)state;
	struct error err = { 0 };
	budget_place("line", 7);
	assert_int_equal(budget_take_output(900, &err), 0);
	assert_int_equal(budget_check_depth(10, &err), 0);
	assert_int_equal(budget_check_frames(100, &err), 0);
	assert_int_equal(budget_check_name(50, &err), 0);
	assert_null(budget_refusal());
	assert_int_equal(budget_take_output(101, &err), -EFBIG);
	assert_string_equal(err.text, "'x.pb' at line 7 needs more than 1000 bytes of output, the "
				      "limit for 0 bytes that were read");
	/* what follows from a refusal does not take its place */
	assert_int_equal(budget_check_depth(11, &err), -EFBIG);
	assert_string_equal(budget_refused_limit(), "output");
	assert_int_equal(budget_check_frames(101, &err), -EFBIG);
	assert_int_equal(budget_check_name(51, &err), -EFBIG);
}

static void without_a_budget_nothing_is_refused(void **state)
{
	(void)state;
	assert_int_equal(budget_take_output(UINT64_MAX, NULL), 0);
	assert_int_equal(budget_check_depth(UINT64_MAX, NULL), 0);
	void *memory = malloc(80 * MIB);
	assert_non_null(memory);
	budget_open(&BUDGET_LIMITLESS);
	void *more = malloc(80 * MIB);
	assert_non_null(more);
	assert_int_equal(budget_check_frames(UINT64_MAX - 1, NULL), 0);
	free(more);
	free(memory);
	budget_close();
	assert_null(budget_refusal());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_BUDGET(f) cmocka_unit_test_setup_teardown(f, open_small, close_budget)
		WITH_BUDGET(memory_is_refused_at_the_limit_and_again_free_below),
		WITH_BUDGET(every_way_to_allocate_is_counted),
		WITH_BUDGET(growing_and_freeing_leaves_nothing_counted),
		WITH_BUDGET(what_a_block_grows_beyond_what_was_asked_for_is_counted),
		WITH_BUDGET(what_a_block_shrinks_by_is_free_again),
		WITH_BUDGET(what_is_charged_is_never_refused_but_counts),
		WITH_BUDGET(what_is_charged_leaves_the_limit_where_it_was),
		WITH_BUDGET(what_was_read_raises_the_limit),
		WITH_BUDGET(local_files_raise_memory_alone_and_no_further_than_what_came_of_them),
		WITH_BUDGET(holes_in_a_file_do_not_raise_it),
		WITH_BUDGET(output_depth_frames_and_names_have_limits),
		cmocka_unit_test(without_a_budget_nothing_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
