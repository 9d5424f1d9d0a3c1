/* Opening, with each allocation and each descriptor failing in turn: it is said, and nothing is
 * left behind. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "count/counter_private.h"
#include "count/region_private.h"
#include "counting_machine.h"

#define NEVER UINT32_MAX

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
static unsigned left = NEVER; /* allocations before the one that fails; those after it do not */
static bool failed;
static long held; /* blocks that are not freed */

static bool fails(void)
{
	if (left == NEVER || left-- > 0)
		return false;
	left = NEVER;
	failed = true;
	return true;
}

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	void *memory = fails() ? NULL : __real_malloc(size);
	held += memory != NULL;
	return memory;
}

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	void *memory = fails() ? NULL : __real_calloc(count, size);
	held += memory != NULL;
	return memory;
}

void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
	void *grown = fails() ? NULL : __real_realloc(memory, size);
	held += grown && !memory;
	return grown;
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
	return __wrap_realloc(memory, count * size); /* of tests: no overflow */
}

char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	char *copy = __wrap_malloc(strlen(text) + 1);
	return copy ? strcpy(copy, text) : NULL;
}

void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
	held -= memory != NULL;
	__real_free(memory);
}

static const char events[] = "{cycles,instructions},branches,cpu/event=0x3c,umask=1/,page-faults";

/* What is opened and closed again. */
static int use_counters(const struct count_world *world, struct culprit_error *error)
{
	struct culprit_counters *counters = NULL;
	struct culprit_metric *metric = NULL;
	int status = counters_open(events, NULL, world, &counters, error);
	if (status)
		return status;
	status = culprit_metric_open(counters, "branches / cycles", &metric, error);
	culprit_metric_close(metric);
	culprit_counters_close(counters);
	return status;
}

static int use_regions(const struct count_world *world, struct culprit_error *error)
{
	struct culprit_regions *regions = NULL;
	int status = regions_open(events, NULL, world, &regions, error);
	if (status)
		return status;
	struct culprit_region *region = culprit_region_named(regions, "work");
	status = culprit_regions_join(regions, error);
	if (status == 0 && region) {
		culprit_region_begin(region);
		culprit_region_end(region);
	}
	culprit_regions_leave(regions);
	culprit_regions_close(regions);
	return region || status ? status : -ENOMEM; /* NULL says it, without a text */
}

typedef int (*user)(const struct count_world *world, struct culprit_error *error);

/* Uses it with more and more that does not fail, until nothing does. */
static void exhaust_memory(user use, bool has_text)
{
	struct tree tree;
	struct count_world world = counting_machine(&tree, counting_intel);
	struct culprit_error error;
	unsigned tries = 0;
	assert_int_equal(use(&world, &error), 0); /* what is allocated once is there */
	for (failed = true; failed; tries++) {
		long before = held;
		error = (struct culprit_error){ .code = 0 };
		failed = false;
		left = tries;
		int status = use(&world, &error);
		left = NEVER;
		assert_int_equal(held, before);
		assert_int_equal(replayed.open, 0);
		/* one that there is a way without may fail */
		assert_true(status == 0 || status == -ENOMEM);
		if (status && has_text)
			assert_non_null(strstr(error.text, "memory"));
		replayed_begin();
	}
	assert_true(tries > 50);
	counting_machine_end(&tree);
}

static void counters_fail_whole_without_memory(void **state)
{
	(void)state;
	exhaust_memory(use_counters, true);
}

static void regions_fail_whole_without_memory(void **state)
{
	(void)state;
	exhaust_memory(use_regions, false);
}

static void exhaust_descriptors(user use)
{
	struct tree tree;
	struct count_world world = counting_machine(&tree, counting_intel);
	int status = -EMFILE;
	size_t most = 1;
	for (; status; most++) {
		struct culprit_error error = { .code = 0 };
		long before = held;
		replayed_begin();
		replayed.most_open = most;
		status = use(&world, &error);
		assert_int_equal(held, before);
		assert_int_equal(replayed.open, 0);
		if (status) {
			assert_int_equal(status, -EMFILE);
			assert_non_null(strstr(error.text, "too many open files"));
		}
	}
	assert_true(most > 5);
	counting_machine_end(&tree);
}

static void counters_fail_whole_without_descriptors(void **state)
{
	(void)state;
	exhaust_descriptors(use_counters);
}

static void regions_fail_whole_without_descriptors(void **state)
{
	(void)state;
	exhaust_descriptors(use_regions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_fail_whole_without_memory),
		cmocka_unit_test(regions_fail_whole_without_memory),
		cmocka_unit_test(counters_fail_whole_without_descriptors),
		cmocka_unit_test(regions_fail_whole_without_descriptors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
