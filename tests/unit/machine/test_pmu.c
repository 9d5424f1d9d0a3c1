#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "machine/pmu.h"
#include "trees.h"

static void a_format_is_a_set_of_bits(void **state)
{
	(void)state;
	struct pmu_format format = { 0 };
	uint64_t words[PMU_WORDS] = { 0 };
	assert_true(pmu_format_parse("config:0-7,32-35\n", &format));
	assert_int_equal(format.word, PMU_CONFIG);
	assert_int_equal(format.mask, 0xf000000ff);
	assert_true(pmu_format_apply(&format, 0x1a0, words));
	assert_int_equal(words[PMU_CONFIG], 0x1000000a0);
	assert_true(pmu_format_apply(&format, 0x76, words));
	assert_int_equal(words[PMU_CONFIG], 0x76);
	assert_false(pmu_format_apply(&format, 0x1000, words));
	assert_true(pmu_format_parse("config2:0-63", &format));
	assert_int_equal(format.mask, UINT64_MAX);
	assert_true(pmu_format_parse("config1:63", &format));
	static const char *const wrong[] = {
		"",	      "config",	   "config:",	  "config4:1",	"config:64",
		"config:7-0", "config:1-", "config:1,",	  "config:1 2", "config:0-999",
		"config:-1",  "conf:1",	   "config:1-2-3"
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (pmu_format_parse(wrong[i], &format))
			fail_msg("'%s' is accepted", wrong[i]);
}

static void a_machines_pmus_are_read_and_nonsense_is_counted(void **state)
{
	(void)state;
	CLEANUP(tree_remove) struct tree tree;
	CLEANUP(pmu_list_release) struct pmu_list pmus = { 0 };
	tree_make(&tree, tree_intel_hybrid);
	tree_add(&tree, TREE_PMU "broken/type", "many");
	tree_add(&tree, TREE_PMU "cpu_atom/format/strange", "config:9-1");
	tree_add(&tree, TREE_PMU "cpu_atom/events/odd", "event=1");
	tree_add(&tree, TREE_PMU "cpu_atom/events/odd.scale", "much");
	assert_int_equal(pmu_list_read(&tree.root, &pmus, NULL), 0);
	assert_int_equal(pmus.count, 3);
	assert_int_equal(pmus.unreadable, 3);
	assert_string_equal(pmu_core(&pmus, 0)->name, "cpu_atom");
	assert_string_equal(pmu_core(&pmus, 1)->name, "cpu_core");
	assert_null(pmu_core(&pmus, 2));
	assert_string_equal(pmu_cap(pmu_find(&pmus, "cpu_core"), "branches"), "32");
	assert_null(pmu_cap(pmu_find(&pmus, "cpu_core"), "nothing"));
	assert_string_equal(pmu_find_type(&pmus, 10)->name, "cpu_atom");
	assert_string_equal(pmu_find_event(pmu_find(&pmus, "cpu_core"), "SLOTS")->terms,
			    "event=0x00,umask=0x4");
}

static void a_machine_without_the_folder_has_no_pmus(void **state)
{
	(void)state;
	CLEANUP(tree_remove) struct tree tree;
	struct pmu_list pmus;
	struct error err;
	tree_make(&tree, NULL);
	assert_int_equal(pmu_list_read(&tree.root, &pmus, &err), -ENOENT);
	assert_int_equal(pmus.count, 0);
	assert_null(pmu_core(&pmus, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_format_is_a_set_of_bits),
		cmocka_unit_test(a_machines_pmus_are_read_and_nonsense_is_counted),
		cmocka_unit_test(a_machine_without_the_folder_has_no_pmus),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
