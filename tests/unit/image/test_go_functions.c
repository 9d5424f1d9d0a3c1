/* The table of a Go program's functions, in each format, and what is no such table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "image/elf_file.h"
#include "image/go_functions.h"
#include "support/go_table.h"

static const uint8_t code[20] = { 0x90 };

static const struct go_table_function three[] = {
	{ "main.main", code, 20, "0:4 24:12 0:4", false },
	{ "main.(*list[go.shape.int]).add", code, 8, NULL, false },
	{ "runtime.systemstack", code, 20, "0:4 8:8 0:8", true },
};

/* Opens a program, whose table is all there. */
static struct elf_file open_program(struct buffer *bytes, struct go_functions *functions)
{
	struct elf_file file;
	assert_int_equal(elf_file_parse(bytes->data, bytes->size, &file, NULL), 0);
	assert_int_equal(go_functions_open(&file, functions), 1);
	return file;
}

static void check_depths(const struct go_functions *functions, const struct go_function *function,
			 const struct go_range *ranges, size_t count)
{
	struct go_depths depths;
	struct go_range range;
	go_depths_begin(functions, function, &depths);
	for (size_t i = 0; i < count; i++) {
		assert_true(go_depths_next(&depths, &range));
		assert_int_equal(range.start - function->start, ranges[i].start);
		assert_int_equal(range.end - function->start, ranges[i].end);
		assert_int_equal(range.depth, ranges[i].depth);
	}
	assert_false(go_depths_next(&depths, &range));
}

static void each_format_says_the_same(void **state)
{
	static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };
	(void)state;
	for (unsigned way = 0; way < GO_TABLE_FORMATS * 4; way++) {
		const struct go_table_options options = { .format = way / 4,
							  .machine = machines[way % 2],
							  .no_text = way / 2 % 2 };
		CLEANUP(buffer_release)
		struct buffer bytes = go_table_program(&options, three, COUNT_OF(three));
		struct go_functions functions;
		struct elf_file file = open_program(&bytes, &functions);
		struct go_function function;
		assert_int_equal(functions.count, 3);
		uint64_t text = elf_file_section(&file, ".text")->vaddr;
		for (size_t i = 0; i < COUNT_OF(three); i++) {
			assert_true(go_functions_get(&functions, i, &function));
			assert_int_equal(function.start, text + 32 * i);
			assert_int_equal(function.end, text + 32 * (i + 1));
			assert_true(span_equal(function.name, span_of_text(three[i].name)));
			assert_int_equal(function.switches,
					 three[i].switches && options.format != GO_TABLE_1_2);
		}
		assert_false(go_functions_get(&functions, 3, &function));
		go_functions_get(&functions, 0, &function);
		check_depths(&functions, &function,
			     (struct go_range[]){ { 0, 4, 0 }, { 4, 16, 24 }, { 16, 20, 0 } }, 3);
		go_functions_get(&functions, 1, &function);
		check_depths(&functions, &function, NULL, 0);
		go_functions_get(&functions, 2, &function);
		check_depths(&functions, &function,
			     (struct go_range[]){ { 0, 4, 0 }, { 4, 12, 8 }, { 12, 20, 0 } }, 3);
		elf_file_release(&file);
	}
}

/* Whatever a byte is changed to, what is given lies in the code, in order. */
static void damaged_tables_say_nothing_beyond_the_code(void **state)
{
	(void)state;
	unsigned refused = 0, changed = 0;
	for (unsigned format = 0; format < GO_TABLE_FORMATS; format++) {
		const struct go_table_options options = { .format = format, .machine = EM_X86_64 };
		CLEANUP(buffer_release)
		struct buffer bytes = go_table_program(&options, three, COUNT_OF(three));
		struct go_functions functions;
		struct elf_file file = open_program(&bytes, &functions);
		uint8_t *table = bytes.data + elf_file_section(&file, ".gopclntab")->offset;
		for (size_t i = 0; i < functions.table.size * 4; i++) {
			static const uint8_t values[] = { 0xff, 0x7f, 0x00, 0x80 };
			uint8_t was = table[i / 4];
			table[i / 4] = values[i % 4];
			struct go_functions damaged;
			int ret = go_functions_open(&file, &damaged);
			assert_true(ret == 0 || ret == 1);
			refused += ret == 0;
			uint64_t end = 0;
			for (size_t k = 0; ret == 1 && k < damaged.count; k++) {
				struct go_function function;
				struct go_depths depths;
				struct go_range range;
				if (!go_functions_get(&damaged, k, &function))
					continue;
				changed += k >= 3;
				assert_true(function.start >= damaged.code_start &&
					    function.start < function.end &&
					    function.end <= damaged.code_end);
				go_depths_begin(&damaged, &function, &depths);
				for (end = function.start; go_depths_next(&depths, &range);
				     end = range.end) {
					assert_int_equal(range.start, end);
					assert_true(range.end > range.start &&
						    range.end <= function.end);
				}
			}
			table[i / 4] = was;
		}
		elf_file_release(&file);
	}
	assert_true(refused > 100);
	assert_int_equal(changed, 0); /* a count that is too high is refused */
}

static void other_files_have_none(void **state)
{
	(void)state;
	const struct go_table_options options = { .format = GO_TABLE_1_20, .machine = EM_RISCV };
	CLEANUP(buffer_release)
	struct buffer bytes = go_table_program(&options, three, COUNT_OF(three));
	struct go_functions functions;
	struct elf_file file;
	assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, NULL), 0);
	assert_int_equal(go_functions_open(&file, &functions), 0);
	/* What the table is about is not in code. */
	file.machine = EM_X86_64;
	assert_int_equal(go_functions_open(&file, &functions), 1);
	for (size_t i = 0; i < file.segment_count; i++)
		file.segments[i].flags = PF_R;
	assert_int_equal(go_functions_open(&file, &functions), 0);
	elf_file_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_says_the_same),
		cmocka_unit_test(damaged_tables_say_nothing_beyond_the_code),
		cmocka_unit_test(other_files_have_none),
	};
	return cmocka_run_group_tests_name("go functions", tests, NULL, NULL);
}
