#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyze/names/demangled.h"
#include "base/cleanup.h"

static void names_that_were_added_are_found(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = { 0 };
	CLEANUP(demangled_release) struct demangled names;
	const struct span added[] = { span_of_text("_Z1fv"), span_of_text("main"),
				      span_of_text("_Z1gi"), span_of_text("_Z1fv") };
	demangled_init(&names, &arena);
	assert_null(demangled_find(&names, added[0]));
	demangled_add(&names, added, 4);
	assert_string_equal(demangled_find(&names, span_of_text("_Z1fv")), "f()");
	assert_string_equal(demangled_find(&names, span_of_text("_Z1gi")), "g(int)");
	assert_null(demangled_find(&names, added[1])); /* there is nothing to ask about it */
	assert_int_equal(names.count, 2);
	assert_null(demangled_trouble(&names));
}

static void a_name_that_is_looked_up_is_one_text(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = { 0 };
	CLEANUP(demangled_release) struct demangled names;
	demangled_init(&names, &arena);
	const char *first = demangled_look_up(&names, span_of_text("_Z1fv"));
	assert_string_equal(first, "f()");
	assert_ptr_equal(demangled_look_up(&names, span_of_text("_Z1fv")), first);
	const char *plain = demangled_look_up(&names, span_of_text("src/a.c"));
	assert_string_equal(plain, "src/a.c");
	assert_ptr_equal(demangled_look_up(&names, span_of_text("src/a.c")), plain);
	assert_string_equal(demangled_look_up(&names, span_of_text("_ZZZZ")), "_ZZZZ");
}

#define MANY (2 * DEMANGLE_BATCH + 3)

static void more_names_than_a_request_has_are_added(void **state)
{
	(void)state;
	static char linkages[MANY][32];
	static struct span added[MANY];
	CLEANUP(arena_release) struct arena arena = { 0 };
	CLEANUP(demangled_release) struct demangled names;
	demangled_init(&names, &arena);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(linkages[i], sizeof(linkages[i]), "_Z5f%04zui", i);
		added[i] = span_of_text(linkages[i]);
	}
	demangled_add(&names, added, MANY);
	for (size_t i = 0; i < MANY; i++) {
		char expected[32];
		snprintf(expected, sizeof(expected), "f%04zu(int)", i);
		assert_string_equal(demangled_find(&names, added[i]), expected);
	}
}

/* Keeps the demangler busy for far longer than anybody waits. */
static const char endless[] = "_RNvMNvYFGzzzzzzzzzz_EuNtC1a1b1c1d1e";

/* As often as in the functions of a file that all inline it. */
static void a_name_that_breaks_requests_is_asked_for_once(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = { 0 };
	CLEANUP(demangled_release) struct demangled names;
	struct span added[18];
	for (size_t i = 0; i < 16; i++)
		added[i] = span_of_text(endless);
	added[16] = span_of_text("_Z1fv");
	added[17] = span_of_text("_Z1gi");
	demangled_init(&names, &arena);
	demangled_add(&names, added, 18);
	assert_string_equal(demangled_find(&names, added[0]), endless);
	assert_string_equal(demangled_find(&names, added[16]), "f()");
	assert_string_equal(demangled_find(&names, added[17]), "g(int)");
	assert_int_equal(names.count, 3);
	assert_string_equal(demangled_trouble(&names),
			    "could not be read: no answer within 500 ms");
}

static void a_batch_takes_so_many(void **state)
{
	(void)state;
	static char linkages[DEMANGLE_BATCH + 1][32];
	CLEANUP(arena_release) struct arena arena = { 0 };
	CLEANUP(demangled_release) struct demangled names;
	struct demangled_batch batch;
	demangled_init(&names, &arena);
	batch.count = 0;
	for (size_t i = 0; i <= DEMANGLE_BATCH; i++) {
		snprintf(linkages[i], sizeof(linkages[i]), "_Z5f%04zui", i);
		bool taken = demangled_take(&names, &batch, span_of_text(linkages[i]));
		assert_int_equal(taken, i < DEMANGLE_BATCH);
	}
	demangled_add_batch(&names, &batch);
	assert_int_equal(names.count, DEMANGLE_BATCH);
	assert_int_equal(batch.count, 0);
	assert_null(demangled_find(&names, span_of_text(linkages[DEMANGLE_BATCH])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_were_added_are_found),
		cmocka_unit_test(a_name_that_is_looked_up_is_one_text),
		cmocka_unit_test(more_names_than_a_request_has_are_added),
		cmocka_unit_test(a_name_that_breaks_requests_is_asked_for_once),
		cmocka_unit_test(a_batch_takes_so_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
