#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "import/perf_data/jit_beside.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "support/temporary_folder.h"
#include "support/test_profile.h"
#include "support/toolchain.h"

static struct test_profile java_profile(void)
{
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("java") });
	return test;
}

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
	struct test_profile test = java_profile();
	uint32_t java = add_runtime_code(&test, "my java 42 777 1234abcd", 0x1080);
	uint32_t node = add_runtime_code(&test, "node 43 1 1234abcd", 0x3000);
	uint32_t other = add_runtime_code(&test, "node 44 1 1234abcd", 0x1080);
	add_runtime_code(&test, "of unknown make", 0x1080);
	size_t files;
	CLEANUP(jit_beside_freep) struct jit_beside *beside = NULL;
	assert_int_equal(jit_beside_new(folder.path, &beside), 0);
	assert_int_equal(jit_beside_name_images(beside, test.profile, &files), 0);
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

static void put_number(struct buffer *bytes, uint64_t value, size_t size)
{
	buffer_append(bytes, &value, size);
}

/* Code that a process loaded. */
struct load {
	uint64_t time_ns, address, size_bytes, index;
	const char *name;
	struct span kept; /* in the file, of its bytes */
};

static void put_load(struct buffer *bytes, const struct load *load)
{
	const uint64_t numbers[] = { load->address, load->address, load->size_bytes, load->index };
	size_t name_bytes = strlen(load->name) + 1;
	put_number(bytes, 0, 4);
	put_number(bytes, 56 + name_bytes + load->kept.size, 4);
	put_number(bytes, load->time_ns, 8);
	put_number(bytes, UINT64_C(42) << 32 | 42, 8);
	buffer_append(bytes, numbers, sizeof(numbers));
	buffer_append(bytes, load->name, name_bytes);
	buffer_append(bytes, load->kept.data, load->kept.size);
}

/* jit-42.dump: one function, `larges` elsewhere without their code, and at 2000 another one at the
 * first's address. */
static void write_dump(const char *folder, unsigned larges)
{
	static const uint8_t function[] = { 0x90, 0x90, 0x90, 0xc3 };
	const struct span code = { function, sizeof(function) };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	const uint32_t header[] = { 0x4a695444, 1, 40, 62, 0, 42, 0, 0, 0, 0 };
	buffer_append(&bytes, header, sizeof(header));
	put_load(&bytes, &(struct load){ 1000, 0x7f0000001000, code.size, 1, "first", code });
	for (unsigned i = 0; i < larges; i++)
		put_load(&bytes, &(struct load){ .time_ns = 10000 - i,
						 .address = 0x10000000 + ((uint64_t)i << 22),
						 .size_bytes = 2 << 20,
						 .index = 3,
						 .name = "large" });
	put_load(&bytes, &(struct load){ 2000, 0x7f0000001000, code.size, 2, "second", code });
	char path[512];
	snprintf(path, sizeof(path), "%s/jit-42.dump", folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
	fclose(file);
}

/* At one address; *first and *second are where they are told apart. */
static void must_tell_first_from_second(struct jit_beside *beside, uint64_t *first,
					uint64_t *second)
{
	const uint64_t address = 0x7f0000001002;
	assert_int_equal(jit_beside_vaddr(beside, 42, address, 1999, first), 0);
	assert_int_equal(jit_beside_vaddr(beside, 42, address, 2000, second), 0);
	assert_int_equal(*first, address);
	assert_int_not_equal(*second, address);
	assert_int_equal(jit_beside_stage(beside, 42, 1999), 1);
	assert_int_equal(jit_beside_stage(beside, 42, 2000), 2);
}

static void code_of_a_jitdump_is_in_force_from_its_time_on(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(jit_beside_freep) struct jit_beside *beside = NULL;
	uint64_t first, second;
	size_t files;
	write_dump(folder.path, 0);
	assert_int_equal(jit_beside_new(folder.path, &beside), 0);
	must_tell_first_from_second(beside, &first, &second);
	assert_int_equal(jit_beside_stage(beside, 42, 999), 0);
	assert_int_equal(jit_beside_stage(beside, 43, 2000), 0);

	struct test_profile test = java_profile();
	uint32_t java = add_runtime_code(&test, "java 42 777 1234abcd", first);
	test_address(&test, second, 1, 1);
	assert_int_equal(jit_beside_name_images(beside, test.profile, &files), 0);
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	struct stash_function function;
	assert_int_equal(stash_index_new(test.profile, &index), 0);
	assert_true(stash_find_function(index, java, first, &function));
	assert_true(span_equal(function.function.name, span_of_text("first")));
	assert_true(stash_find_function(index, java, second, &function));
	assert_true(span_equal(function.function.name, span_of_text("second")));
	profile_free(test.profile);
}

/* Of code of more than 1 MB only so much is kept; that of others is. */
static void too_much_large_code_hides_no_other(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(jit_beside_freep) struct jit_beside *beside = NULL;
	uint64_t first, second;
	write_dump(folder.path, 300);
	assert_int_equal(jit_beside_new(folder.path, &beside), 0);
	must_tell_first_from_second(beside, &first, &second);
	assert_int_equal(jit_beside_stage(beside, 42, 10000), 258);
}

/* Each exec makes an image of the process: its files are read, and told of, once. */
static void files_of_a_process_of_many_programs_count_once(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(jit_beside_freep) struct jit_beside *beside = NULL;
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	const uint64_t dumped = 0x7f0000001002, mapped = 0x5080;
	struct stash_function function;
	size_t files;
	write_dump(folder.path, 0);
	toolchain_write(folder.path, "perf-42.map", "5000 100 interpreter\n");
	toolchain_write(folder.path, "perf-43.map", "5000 100 of_another\n");
	struct test_profile test = java_profile();
	uint32_t first = add_runtime_code(&test, "sh 42 1 1234abcd", dumped);
	uint32_t other = add_runtime_code(&test, "node 43 5 1234abcd", mapped);
	uint32_t second = add_runtime_code(&test, "java 42 2 1234abcd", dumped);
	uint32_t third = add_runtime_code(&test, "java 42 3 1234abcd", mapped);
	assert_int_equal(jit_beside_new(folder.path, &beside), 0);
	assert_int_equal(jit_beside_name_images(beside, test.profile, &files), 0);
	assert_int_equal(files, 3);
	assert_int_equal(jit_beside_untimed(beside), 1);
	assert_int_equal(stash_index_new(test.profile, &index), 0);
	assert_true(stash_find_function(index, first, dumped, &function));
	assert_true(span_equal(function.function.name, span_of_text("second")));
	assert_true(stash_find_function(index, second, dumped, &function));
	assert_true(span_equal(function.function.name, span_of_text("second")));
	assert_true(stash_find_function(index, third, mapped, &function));
	assert_true(span_equal(function.function.name, span_of_text("interpreter")));
	assert_true(stash_find_function(index, other, mapped, &function));
	assert_true(span_equal(function.function.name, span_of_text("of_another")));
	profile_free(test.profile);
}

static void a_folder_without_such_files_changes_nothing(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	struct test_profile test = java_profile();
	uint32_t java = add_runtime_code(&test, "java 42 777 1234abcd", 0x1080);
	size_t files;
	const char *const folders[] = { folder.path, "/no/such/folder", NULL };
	for (size_t i = 0; i < 3; i++) {
		CLEANUP(jit_beside_freep) struct jit_beside *beside = NULL;
		uint64_t vaddr;
		assert_int_equal(jit_beside_new(folders[i], &beside), 0);
		assert_int_equal(jit_beside_name_images(beside, test.profile, &files), 0);
		assert_int_equal(files, 0);
		assert_int_equal(jit_beside_vaddr(beside, 42, 0x1080, 5, &vaddr), 0);
		assert_int_equal(vaddr, 0x1080);
		assert_int_equal(jit_beside_stage(beside, 42, 5), 0);
	}
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	assert_int_equal(stash_index_new(test.profile, &index), 0);
	assert_false(stash_has_image(index, java));
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_beside_a_recording_name_the_code_of_their_process),
		cmocka_unit_test(code_of_a_jitdump_is_in_force_from_its_time_on),
		cmocka_unit_test(too_much_large_code_hides_no_other),
		cmocka_unit_test(files_of_a_process_of_many_programs_count_once),
		cmocka_unit_test(a_folder_without_such_files_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
