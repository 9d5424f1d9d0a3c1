#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "import/unwind/unwind_modules.h"

#define FILE_BYTES 0x4000

static const uint8_t bytes[FILE_BYTES];

/* Read-only, code and data: the last two share a page of the file. */
static struct elf_segment segments[] = {
	{ PT_LOAD, PF_R, 0, 0x400000, 0x1000, 0x1000 },
	{ PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0x1800, 0x1800 },
	{ PT_LOAD, PF_R | PF_W, 0x2800, 0x403800, 0x800, 0x1000 },
};
static const struct elf_file file = { .bytes = bytes,
				      .size_bytes = sizeof(bytes),
				      .wide = true,
				      .type = ET_DYN,
				      .segments = segments,
				      .segment_count = 3 };
static const struct mapping mappings[] = {
	{ 0x7000000, 0x7001000, 0, 1 },
	{ 0x7001000, 0x7003000, 0x1000, 1 },
	{ 0x7003000, 0x7005000, 0x2000, 1 },
};

static void modules_release(struct unwind_modules *modules)
{
	free(modules->list);
}

static void a_file_is_one_module(void **state)
{
	(void)state;
	CLEANUP(modules_release) struct unwind_modules modules = { 0 };
	int owner;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(unwind_modules_add(&modules, &file, &owner, &mappings[i]), 0);
	assert_int_equal(modules.count, 1);
	const struct unwind_module *module = &modules.list[0];
	assert_ptr_equal(module->elf, &file);
	assert_ptr_equal(module->owner, &owner);
	assert_int_equal(module->bias, 0x7000000 - 0x400000);
	assert_int_equal(module->low, 0x7000000);
	assert_int_equal(module->high, 0x7004800);
}

/* Its code alone, as unwinding needs it: the same bias, and the whole extent. */
static void a_later_mapping_gives_the_same_bias(void **state)
{
	(void)state;
	for (size_t i = 1; i < 3; i++) {
		CLEANUP(modules_release) struct unwind_modules modules = { 0 };
		assert_int_equal(unwind_modules_add(&modules, &file, NULL, &mappings[i]), 0);
		assert_int_equal(modules.count, 1);
		assert_int_equal(modules.list[0].bias, 0x7000000 - 0x400000);
		assert_int_equal(modules.list[0].low, 0x7000000);
	}
}

/* Code and data that begin in one page of the file: the mapping is taken for the code's. */
static void a_shared_page_is_of_the_code(void **state)
{
	(void)state;
	struct elf_segment shared[] = {
		{ PT_LOAD, PF_R | PF_W, 0x1800, 0x402800, 0x800, 0x800 },
		{ PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0x800, 0x800 },
	};
	const struct elf_file small = { .segments = shared, .segment_count = 2 };
	CLEANUP(modules_release) struct unwind_modules modules = { 0 };
	assert_int_equal(unwind_modules_add(&modules, &small, NULL, &mappings[1]), 0);
	assert_int_equal(modules.count, 1);
	assert_int_equal(modules.list[0].bias, 0x7001000 - 0x401000);
}

/* Another file there is a module of its own, and one that is mapped twice is two. */
static void other_places_are_other_modules(void **state)
{
	(void)state;
	CLEANUP(modules_release) struct unwind_modules modules = { 0 };
	const struct elf_file other = file;
	struct mapping again = mappings[1];
	again.start += 0x100000;
	again.end += 0x100000;
	assert_int_equal(unwind_modules_add(&modules, &file, NULL, &mappings[1]), 0);
	assert_int_equal(unwind_modules_add(&modules, &other, NULL, &mappings[1]), 0);
	assert_int_equal(unwind_modules_add(&modules, &file, NULL, &again), 0);
	assert_int_equal(modules.count, 3);
	assert_int_equal(modules.list[2].bias - modules.list[0].bias, 0x100000);
}

static void what_makes_no_sense_is_no_module(void **state)
{
	(void)state;
	CLEANUP(modules_release) struct unwind_modules modules = { 0 };
	struct elf_segment wrapping[] = { segments[0], segments[1] };
	const struct mapping beyond = { 0x7000000, 0x7001000, 0x9000, 1 };
	/* its data would lie behind the last address */
	const struct mapping high = { UINT64_MAX - 0x2fff, UINT64_MAX - 0xfff, 0x1000, 1 };
	wrapping[1].memory_bytes = UINT64_MAX;
	const struct elf_file damaged = { .segments = wrapping, .segment_count = 2 };
	const struct elf_file empty = { 0 };
	assert_int_equal(unwind_modules_add(&modules, &damaged, NULL, &mappings[0]), 0);
	assert_int_equal(unwind_modules_add(&modules, &empty, NULL, &mappings[1]), 0);
	assert_int_equal(unwind_modules_add(&modules, &file, NULL, &beyond), 0);
	assert_int_equal(unwind_modules_add(&modules, &file, NULL, &high), 0);
	assert_int_equal(modules.count, 0);
}

/* What a program may have written to is not what the file has. */
static void only_what_nobody_writes_is_read(void **state)
{
	(void)state;
	CLEANUP(modules_release) struct unwind_modules modules = { 0 };
	assert_int_equal(unwind_modules_add(&modules, &file, NULL, &mappings[0]), 0);
	assert_ptr_equal(unwind_modules_read(&modules, 0x7000008, 8), bytes + 8);
	assert_ptr_equal(unwind_modules_read(&modules, 0x7001010, 8), bytes + 0x1010);
	assert_null(unwind_modules_read(&modules, 0x70027fc, 8)); /* the code ends within */
	assert_non_null(unwind_modules_read(&modules, 0x70027f8, 8));
	assert_null(unwind_modules_read(&modules, 0x7003808, 8));
	assert_null(unwind_modules_read(&modules, 0x6ffffff, 8));
	assert_null(unwind_modules_read(&modules, 0x8000000, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_one_module),
		cmocka_unit_test(a_later_mapping_gives_the_same_bias),
		cmocka_unit_test(a_shared_page_is_of_the_code),
		cmocka_unit_test(other_places_are_other_modules),
		cmocka_unit_test(what_makes_no_sense_is_no_module),
		cmocka_unit_test(only_what_nobody_writes_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
