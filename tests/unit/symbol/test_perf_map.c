#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "symbol/perf_map.h"

static struct span text(const char *characters)
{
	return span_of_text(characters);
}

static void assert_name(const struct perf_map *map, uint64_t address, const char *name)
{
	const struct jit_symbol *symbol = perf_map_find(map, address);
	if (!name) {
		assert_null(symbol);
		return;
	}
	assert_non_null(symbol);
	assert_true(span_equal(symbol->name, text(name)));
}

static void lines_are_read_with_and_without_0x(void **state)
{
	(void)state;
	CLEANUP(perf_map_release) struct perf_map map;
	assert_int_equal(
		perf_map_parse(text("0x1000 10 with spaces in it\n2000 0X20 b\r\n3000 1 c"), &map),
		0);
	assert_int_equal(map.bad, 0);
	assert_name(&map, 0x100f, "with spaces in it");
	assert_name(&map, 0x1010, NULL);
	assert_name(&map, 0x201f, "b");
	assert_name(&map, 0x3000, "c");
}

static void a_later_line_wins_where_it_overlaps(void **state)
{
	(void)state;
	CLEANUP(perf_map_release) struct perf_map map;
	assert_int_equal(perf_map_parse(text("1000 100 old\n1040 20 new\n1050 4 newest\n"), &map),
			 0);
	assert_name(&map, 0x1000, "old");
	assert_name(&map, 0x1040, "new");
	assert_name(&map, 0x1050, "newest");
	assert_name(&map, 0x105f, "new");
	assert_name(&map, 0x1060, "old");
}

static void lines_without_sense_are_counted(void **state)
{
	(void)state;
	CLEANUP(perf_map_release) struct perf_map map;
	static const char lines[] = "nonsense\n1000\n1000 10\n1000 10 \n1000 0 empty\n"
				    "ffffffffffffffff 2 wraps\n11112222333344445 1 long\n"
				    "1000 10 nul\0in name\n\n1000 10 good\n";
	assert_int_equal(perf_map_parse((struct span){ lines, sizeof(lines) - 1 }, &map), 0);
	assert_int_equal(map.bad, 8);
	assert_int_equal(map.count, 1);
	assert_name(&map, 0x1000, "good");
}

static void the_whole_address_space_can_be_one_function(void **state)
{
	(void)state;
	CLEANUP(perf_map_release) struct perf_map map;
	assert_int_equal(perf_map_parse(text("0 ffffffffffffffff all\n10 1 one\n"), &map), 0);
	assert_name(&map, 0, "all");
	assert_name(&map, 0x10, "one");
	assert_name(&map, UINT64_MAX - 1, "all");
	assert_name(&map, UINT64_MAX, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read_with_and_without_0x),
		cmocka_unit_test(a_later_line_wins_where_it_overlaps),
		cmocka_unit_test(lines_without_sense_are_counted),
		cmocka_unit_test(the_whole_address_space_can_be_one_function),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
