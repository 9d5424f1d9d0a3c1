/* The kernel's memory, which takes rights to read, is a text of ours (ld --wrap). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "collect/kernel_code.h"
#include "symbol/kallsyms.h"
#include "symbol/record.h"
#include "support/skip.h"

#define BASE   UINT64_C(0xffffffff81000000)
#define WORKER 0x100u
#define CALLEE 0x200u
#define HIDDEN 0x300u
#define SIZE   16u

static const char symbols[] = "ffffffff81000000 T _stext\nffffffff81000100 T worker\n"
			      "ffffffff81000200 T callee\nffffffff81000300 T hidden\n"
			      "ffffffff81e00000 T _etext\n";

/* x86-64: calls the same place twice, and leaves into the middle of it. */
static const uint8_t worker[SIZE] = { 0xe8, 0xfb, 0,	0,    0, 0xe8, 0xf6, 0,
				      0,    0,	  0xe9, 0xf9, 0, 0,    0,    0xc3 };

int __wrap_kernel_memory_read(struct kernel_memory *memory, uint64_t address, void *bytes,
			      size_t size);
int __wrap_kernel_memory_read(struct kernel_memory *memory, uint64_t address, void *bytes,
			      size_t size)
{
	(void)memory;
	if (address != BASE + WORKER || size != SIZE)
		return -EFAULT;
	memcpy(bytes, worker, size);
	return 0;
}

static void add_functions(struct record_set *records)
{
	const struct function_record work = { .name = span_of_text("worker") };
	const struct function_record hidden = { .name = span_of_text("hidden") };
	assert_int_equal(record_set_add_function(records, HIDDEN, HIDDEN + SIZE - 1, &hidden), 0);
	assert_int_equal(record_set_add_function(records, WORKER, WORKER + SIZE - 1, &work), 0);
}

static void code_that_can_be_read_comes_with_the_names_of_what_it_calls(void **state)
{
	(void)state;
#ifndef __x86_64__
	SKIP("the bytes are x86 code");
#endif
	struct kernel_code code = { .opened = true };
	struct kallsyms kallsyms = { 0 };
	struct record_set records = { 0 };
	struct span bytes, name;
	assert_int_equal(kallsyms_parse(span_of_text(symbols), &kallsyms), 0);
	add_functions(&records);
	assert_int_equal(kernel_code_add(&code, &kallsyms, BASE, &records), 0);
	/* The code of one, and the callee once; the other stays without. */
	assert_int_equal(records.count, 4);
	assert_int_equal(records.list[2].kind, RECORD_CODE);
	assert_int_equal(records.list[2].first, WORKER);
	assert_int_equal(records.list[2].last, WORKER + SIZE - 1);
	assert_true(record_get_code(&records.list[2], &bytes));
	assert_int_equal(bytes.size, SIZE);
	assert_memory_equal(bytes.data, worker, SIZE);
	assert_int_equal(records.list[3].kind, RECORD_CALLEE);
	assert_int_equal(records.list[3].first, CALLEE);
	assert_true(record_get_callee(&records.list[3], &name));
	assert_true(span_equal(name, span_of_text("callee")));
	record_set_release(&records);
	kallsyms_release(&kallsyms);
}

static void without_the_right_there_is_no_code(void **state)
{
	(void)state;
	struct kernel_code code = { 0 };
	struct kallsyms kallsyms = { 0 };
	struct record_set records = { 0 };
	add_functions(&records);
	assert_int_equal(kernel_code_add(&code, &kallsyms, BASE, &records), 0);
	assert_int_equal(records.count, 2);
	kernel_code_release(&code);
	record_set_release(&records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_that_can_be_read_comes_with_the_names_of_what_it_calls),
		cmocka_unit_test(without_the_right_there_is_no_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
