/* Names that are demangled before anybody asks: how many, and what is said of those that break. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/names/resolve_private.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "profile/stash.h"
#include "support/test_profile.h"
#include "symbol/record.h"

#define FUNCTION_BYTES 0x1000
/* Keeps the demangler busy for far longer than anybody waits. */
static const char endless[] = "_RNvMNvYFGzzzzzzzzzz_EuNtC1a1b1c1d1e";

struct inlined {
	const char *const *names; /* one at each address */
	size_t count;
};

static void add_lines(struct test_profile *test, uint64_t first, const struct inlined *inlined)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	CLEANUP(lines_writer_release) struct lines_writer writer;
	lines_writer_init(&writer, first);
	for (size_t i = 0; i < inlined->count; i++) {
		uint32_t node = lines_writer_inline(&writer, 0, span_of_text(inlined->names[i]),
						    span_of_text("a.c"), 1);
		lines_writer_row(&writer, first + i, node, span_of_text("a.c"), 2);
	}
	assert_int_equal(lines_writer_finish(&writer, &content), 0);
	const struct record lines = {
		RECORD_LINES, first, first + FUNCTION_BYTES - 1, { content.data, content.size }
	};
	assert_int_equal(stash_add(test->profile, test->image, &lines, NULL), 0);
}

static void add_function(struct test_profile *test, uint64_t first)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	const struct function_record function = { .name = span_of_text("work") };
	record_put_function(&content, first, &function);
	const struct record record = {
		RECORD_FUNCTION, first, first + FUNCTION_BYTES - 1, { content.data, content.size }
	};
	assert_int_equal(stash_add(test->profile, test->image, &record, NULL), 0);
}

static struct test_profile new_profile(void)
{
	struct test_profile test = test_profile_new();
	test_image(&test, IMAGE_FILE, "/bin/app", NULL);
	return test;
}

static struct resolver *new_resolver(const struct test_profile *test)
{
	static const struct resolver_options stash_only = { .stash_only = true };
	struct resolver *resolver = NULL;
	assert_int_equal(resolver_new(test->profile, &stash_only, &resolver, NULL), 0);
	return resolver;
}

/* The function inlined there. */
static const char *inlined_at(struct resolver *resolver, uint32_t image, uint64_t vaddr)
{
	const struct profile_frame frame = { .kind = FRAME_IP, .image = image, .vaddr = vaddr };
	const struct source_frame *frames;
	assert_int_equal(resolver_source(resolver, resolver_place(resolver, &frame), &frames), 2);
	return frames[0].function;
}

static bool is_known(struct resolver *resolver, uint32_t image, const char *linkage)
{
	return demangled_find(resolver_names(resolver, image), span_of_text(linkage));
}

static void the_foot_speaks_of_names_that_are_shown(void **state)
{
	(void)state;
	static const char *const names[] = { "_Z1fv", endless };
	const char *const *notes;
	struct test_profile test = new_profile();
	add_function(&test, FUNCTION_BYTES);
	add_lines(&test, FUNCTION_BYTES, &(struct inlined){ names, 2 });
	CLEANUP(resolver_freep) struct resolver *resolver = new_resolver(&test);
	assert_string_equal(inlined_at(resolver, test.image, FUNCTION_BYTES), "f()");
	assert_true(is_known(resolver, test.image, endless));
	assert_int_equal(resolver_notes(resolver, &notes), 0);
	assert_string_equal(inlined_at(resolver, test.image, FUNCTION_BYTES + 1), endless);
	assert_int_equal(resolver_notes(resolver, &notes), 1);
	assert_non_null(strstr(notes[0], "no answer within 500 ms"));
	profile_free(test.profile);
}

/* The first of three functions is shown; it and the second hold nothing but names that are known.
 */
static void looking_ahead_ends(void **state)
{
	(void)state;
	static char texts[4200][16];
	static const char *names[4200];
	static const char *const one[] = { "_Z3onev" }, *const far[] = { "_Z3farv" },
				 *const near[] = { "_Z4nearv" };
	struct test_profile test = new_profile();
	for (size_t i = 0; i < 4200; i++) {
		snprintf(texts[i], sizeof(texts[i]), "f%zu", i);
		names[i] = texts[i];
	}
	add_function(&test, FUNCTION_BYTES);
	add_lines(&test, FUNCTION_BYTES, &(struct inlined){ one, 1 });
	add_lines(&test, 2 * FUNCTION_BYTES, &(struct inlined){ near, 1 });
	add_lines(&test, 3 * FUNCTION_BYTES, &(struct inlined){ names, 4000 });
	add_lines(&test, 4 * FUNCTION_BYTES, &(struct inlined){ names + 4000, 200 });
	add_lines(&test, 5 * FUNCTION_BYTES, &(struct inlined){ far, 1 });
	CLEANUP(resolver_freep) struct resolver *resolver = new_resolver(&test);
	assert_string_equal(inlined_at(resolver, test.image, FUNCTION_BYTES), "one()");
	assert_true(is_known(resolver, test.image, near[0]));
	assert_false(is_known(resolver, test.image, far[0]));
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_foot_speaks_of_names_that_are_shown),
		cmocka_unit_test(looking_ahead_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
