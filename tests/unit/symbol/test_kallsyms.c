#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "symbol/kallsyms.h"
#include "symbol/record.h"

static const char listing[] = "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T startup_64\n"
			      "ffffffff81000100 t __do_one\n"
			      "ffffffff81000100 T do_one\n"
			      "ffffffff81000100 W aaa\n"
			      "ffffffff81000180 t do_two\n"
			      "ffffffff81000200 D some_data\n"
			      "ffffffff81000300 T _etext\n"
			      "ffffffff82000000 t init_one\n"
			      "ffffffffc0000010 t mod_a\t[nf_tables]\n"
			      "ffffffffc0000040 t mod_b\t[nf_tables]\n"
			      "ffffffffc0008000 t other\t[e1000]\n"
			      "ffffffffc0100000 t bpf_prog_6deef7357e7b4530_count\t[bpf]\n"
			      "ffffffffc0200000 t bpf_prog_0123456789abcdef\t[bpf]\n"
			      "ffffffffc0300000 t ftrace_trampoline\t[__builtin__ftrace]\n";

static struct span text(const char *characters)
{
	return span_of_text(characters);
}

static void symbols_are_found_with_their_best_name_and_size(void **state)
{
	(void)state;
	CLEANUP(kallsyms_release) struct kallsyms kallsyms;
	assert_int_equal(kallsyms_parse(text(listing), &kallsyms), 0);
	assert_false(kallsyms.hidden);
	assert_int_equal(kallsyms.bad, 0);
	assert_int_equal(kallsyms.stext, 0xffffffff81000000);
	assert_int_equal(kallsyms.etext, 0xffffffff81000300);

	const struct kernel_symbol *symbol = kallsyms_find(&kallsyms, 0xffffffff81000010);
	assert_non_null(symbol);
	assert_true(span_equal(symbol->name, text("startup_64"))); /* not the linker's _stext */
	symbol = kallsyms_find(&kallsyms, 0xffffffff8100017f);
	assert_true(span_equal(symbol->name, text("do_one")));
	assert_int_equal(symbol->size_bytes, 0x80);
	symbol = kallsyms_find(&kallsyms, 0xffffffff810002ff);
	assert_true(span_equal(symbol->name, text("do_two"))); /* data in between bounds nothing */
	assert_null(kallsyms_find(&kallsyms, 0xffffffff81000300));
	assert_null(kallsyms_find(&kallsyms, 0xffffffff80ffffff));
	symbol = kallsyms_find(&kallsyms, 0xffffffffc0000041);
	assert_true(span_equal(symbol->module, text("nf_tables")));
	/* The last function of a module does not reach to the next module. */
	assert_null(kallsyms_find(&kallsyms, 0xffffffffc0007fff));
	assert_null(kallsyms_find(&kallsyms, 0xffffffffc0180000));
	symbol = kallsyms_find(&kallsyms, 0xffffffffc0300001);
	assert_true(span_equal(symbol->module, text("__builtin__ftrace")));
}

/* Padding of a megabyte behind __entry_text_end is not its code. */
static void a_label_before_a_gap_does_not_fill_it(void **state)
{
	(void)state;
	CLEANUP(kallsyms_release) struct kallsyms kallsyms;
	assert_int_equal(kallsyms_parse(text("ffffffff81000000 T _stext\n"
					     "ffffffff81000000 T long\n"
					     "ffffffff81010000 T label\n"
					     "ffffffff81200000 T next\n"
					     "ffffffff81300000 T _etext\n"),
					&kallsyms),
			 0);
	assert_non_null(kallsyms_find(&kallsyms, 0xffffffff8100ffff));
	assert_non_null(kallsyms_find(&kallsyms, 0xffffffff81010fff));
	assert_null(kallsyms_find(&kallsyms, 0xffffffff81011000));
	assert_non_null(kallsyms_find(&kallsyms, 0xffffffff81200000));
}

static void zeroed_addresses_are_hidden_not_guessed(void **state)
{
	(void)state;
	CLEANUP(kallsyms_release) struct kallsyms kallsyms;
	assert_int_equal(kallsyms_parse(text("0000000000000000 T _stext\n"
					     "0000000000000000 t do_one\n"
					     "0000000000000000 t mod\t[e1000]\n"),
					&kallsyms),
			 0);
	assert_true(kallsyms.hidden);
	assert_int_equal(kallsyms.count, 0);
	assert_null(kallsyms_find(&kallsyms, 0));
}

static void lines_without_sense_are_counted(void **state)
{
	(void)state;
	CLEANUP(kallsyms_release) struct kallsyms kallsyms;
	assert_int_equal(kallsyms_parse(text("zz T x\nffff\nffff T\n11112222333344445 T long\n"
					     "1000 TT two\n1000 t f\t[open\n\n2000 t good"),
					&kallsyms),
			 0);
	assert_int_equal(kallsyms.bad, 6);
	assert_int_equal(kallsyms.count, 1);
	assert_true(span_equal(kallsyms.symbols[0].name, text("good")));
}

static void modules_are_sorted_by_the_base_of_their_text(void **state)
{
	(void)state;
	CLEANUP(kernel_modules_release) struct kernel_modules modules;
	assert_int_equal(
		kernel_modules_parse(
			text("e1000 4096 0 - Live 0xffffffffc0008000\n"
			     "nf_tables 12288 1 nft_x,nft_y, Live 0xffffffffc0000000 (OE)\n"
			     "broken line\nhidden 4096 0 - Live 0x0000000000000000\n"),
			&modules),
		0);
	assert_int_equal(modules.count, 3);
	assert_int_equal(modules.bad, 1);
	assert_int_equal(modules.list[0].base, 0); /* hidden */
	assert_true(span_equal(modules.list[1].name, text("nf_tables")));
	assert_int_equal(modules.list[1].base, 0xffffffffc0000000);
	assert_int_equal(modules.list[1].size_bytes, 12288);
	assert_true(span_equal(modules.list[2].name, text("e1000")));
}

static void records_count_from_the_base(void **state)
{
	(void)state;
	CLEANUP(kallsyms_release) struct kallsyms kallsyms;
	CLEANUP(record_set_release) struct record_set records = { 0 };
	static const uint64_t kernel[] = { 0x100, 0x17f, 0x180, 0x5000 };
	static const uint64_t module[] = { 0x11, 0x12, 0x8001 };
	struct function_record function;
	assert_int_equal(kallsyms_parse(text(listing), &kallsyms), 0);
	assert_int_equal(kallsyms_records(&kallsyms, text(""), kallsyms.stext, kernel, 4, &records),
			 3);
	assert_int_equal(records.count, 2);
	assert_int_equal(records.list[0].first, 0x100);
	assert_int_equal(records.list[0].last, 0x17f);
	assert_true(record_get_function(&records.list[0], &function));
	assert_true(span_equal(function.name, text("do_one")));
	/* 0x8001 past the base is another module's. */
	assert_int_equal(kallsyms_records(&kallsyms, text("nf_tables"), 0xffffffffc0000000, module,
					  3, &records),
			 2);
	assert_int_equal(records.count, 3);
	assert_int_equal(records.list[2].first, 0x10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_are_found_with_their_best_name_and_size),
		cmocka_unit_test(a_label_before_a_gap_does_not_fill_it),
		cmocka_unit_test(zeroed_addresses_are_hidden_not_guessed),
		cmocka_unit_test(lines_without_sense_are_counted),
		cmocka_unit_test(modules_are_sorted_by_the_base_of_their_text),
		cmocka_unit_test(records_count_from_the_base),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
