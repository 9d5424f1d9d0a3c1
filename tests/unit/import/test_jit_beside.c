#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "import/jit_beside.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "support/temporary_folder.h"
#include "support/test_profile.h"
#include "support/toolchain.h"

static uint32_t add_runtime_code(struct test_profile *test, const char *name, uint64_t address)
{
	const struct profile_image image = { .kind = IMAGE_JIT,
					     .space = SPACE_PROCESS,
					     .name = span_of_text(name) };
	test_image_full(test, &image);
	test_address(test, address, 1, 1);
	return test->image;
}

static void maps_beside_a_recording_name_the_code_of_their_process(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "perf-42.map",
			"1000 100 Lapp/Main;::run\n2000 100 not_sampled\nrubbish\n");
	toolchain_write(folder.path, "perf-43.map", "3000 10 elsewhere\n");
	toolchain_write(folder.path, "jit-43.dump", "this is no jitdump file");
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("java") });
	uint32_t java = add_runtime_code(&test, "my java 42 777", 0x1080);
	uint32_t node = add_runtime_code(&test, "node 43 1", 0x3000);
	uint32_t other = add_runtime_code(&test, "node 44 1", 0x1080);
	add_runtime_code(&test, "of unknown make", 0x1080);
	size_t files;
	assert_int_equal(jit_beside_name_images(folder.path, test.profile, &files), 0);
	assert_int_equal(files, 3);

	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	struct stash_function function;
	assert_int_equal(stash_index_new(test.profile, &index), 0);
	assert_true(stash_find_function(index, java, 0x10ff, &function));
	assert_true(span_equal(function.function.name, span_of_text("Lapp/Main;::run")));
	assert_false(stash_find_function(index, java, 0x2000, &function));
	assert_true(stash_find_function(index, node, 0x3000, &function));
	assert_false(stash_find_function(index, other, 0x1080, &function));
	profile_free(test.profile);
}

static void a_folder_without_such_files_changes_nothing(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("java") });
	uint32_t java = add_runtime_code(&test, "java 42 777", 0x1080);
	size_t files;
	assert_int_equal(jit_beside_name_images(folder.path, test.profile, &files), 0);
	assert_int_equal(files, 0);
	assert_int_equal(jit_beside_name_images("/no/such/folder", test.profile, &files), 0);
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	assert_int_equal(stash_index_new(test.profile, &index), 0);
	assert_false(stash_has_image(index, java));
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_beside_a_recording_name_the_code_of_their_process),
		cmocka_unit_test(a_folder_without_such_files_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
