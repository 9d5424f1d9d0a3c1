#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "advice/rights.h"
#include "base/cleanup.h"
#include "machine/trees.h"

static struct rights read_tree(const struct tree_file *files)
{
	struct rights rights;
	CLEANUP(tree_remove) struct tree tree;
	tree_make(&tree, files);
	rights_read(&tree.root, &rights);
	return rights;
}

static void an_ordinary_user_has_no_capabilities(void **state)
{
	(void)state;
	struct rights rights = read_tree(tree_intel_hybrid);
	assert_int_equal(rights.uid, 1000);
	for (size_t i = 0; i < RIGHT_COUNT; i++)
		assert_int_equal(rights.has[i], FACT_NO);
	assert_false(rights_perfmon(&rights));
	assert_int_equal(rights.paranoid, 2);
	assert_int_equal(rights.nmi_watchdog, 1);
	assert_int_equal(rights.rdpmc, 1);
	assert_int_equal(rights.user_namespace, FACT_NO);
	assert_int_equal(rights.addresses_hidden, FACT_YES);
	assert_string_equal(rights.kernel, "6.8.0-45-generic");
}

static void root_has_them_and_limits_are_read(void **state)
{
	(void)state;
	struct rights rights = read_tree(tree_amd_metal);
	assert_true(rights_perfmon(&rights));
	assert_int_equal(rights.paranoid, -1);
	assert_int_equal(rights.memlock_bytes, 8388608);
	assert_int_equal(rights.open_files, 1024);
	assert_int_equal(rights.mlock_kb, 516);
	assert_int_equal(rights.addresses_hidden, FACT_NO);
	assert_int_equal(rights.seccomp_mode, 0);
}

static void capabilities_of_a_user_namespace_do_not_count(void **state)
{
	(void)state;
	struct rights rights = read_tree(tree_container);
	rights.has[RIGHT_PERFMON] = rights.has[RIGHT_BPF] = FACT_YES;
	assert_int_equal(rights.user_namespace, FACT_YES);
	assert_false(rights_perfmon(&rights));
	assert_int_equal(rights.seccomp_mode, 2);
	assert_int_equal(rights.no_new_privileges, FACT_YES);
	assert_int_equal(rights.paranoid, 4);
	assert_string_equal(rights.lockdown, "confidentiality");
}

static void what_is_not_there_is_unknown(void **state)
{
	(void)state;
	struct rights rights = read_tree(NULL);
	assert_int_equal(rights.paranoid, RIGHTS_UNKNOWN);
	assert_int_equal(rights.uid, RIGHTS_UNKNOWN);
	assert_int_equal(rights.memlock_bytes, RIGHTS_UNKNOWN);
	assert_int_equal(rights.has[RIGHT_PERFMON], FACT_UNKNOWN);
	assert_int_equal(rights.addresses_hidden, FACT_UNKNOWN);
	assert_int_equal(rights.user_namespace, FACT_UNKNOWN);
	assert_string_equal(rights.lockdown, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordinary_user_has_no_capabilities),
		cmocka_unit_test(root_has_them_and_limits_are_read),
		cmocka_unit_test(capabilities_of_a_user_namespace_do_not_count),
		cmocka_unit_test(what_is_not_there_is_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
