/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "analyze/names/kernel_names.h"

/* The first, the last and others of each list: a list out of order would lose some of them. */
static void names_of_both_lists_are_found(void **state)
{
	(void)state;
	static const char *const late[] = { "__local_bh_enable_ip",	   "__raw_spin_unlock_irq",
					    "_raw_spin_unlock_irqrestore", "_raw_write_unlock_irq",
					    "finish_task_switch",	   "raw_spin_rq_unlock_irq",
					    "xen_restore_fl_direct",	   "pv_native_irq_enable" };
	static const char *const idle[] = { "acpi_idle_do_entry", "acpi_safe_halt", "cpu_do_idle",
					    "default_idle",	  "do_idle",	    "intel_idle",
					    "intel_idle_irq",	  "poll_idle",	    "xen_safe_halt",
					    "native_safe_halt",	  "mwait_idle" };
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++)
		if (!kernel_name_is_late(late[i]) || kernel_name_is_idle(late[i]))
			fail_msg("'%s' is late, not idle", late[i]);
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		if (!kernel_name_is_idle(idle[i]) || kernel_name_is_late(idle[i]))
			fail_msg("'%s' is idle, not late", idle[i]);
}

static void compiler_suffixes_do_not_matter(void **state)
{
	(void)state;
	assert_true(kernel_name_is_late("finish_task_switch.isra.0"));
	assert_true(kernel_name_is_idle("default_idle.cold"));
}

static void names_that_begin_alike_are_others(void **state)
{
	(void)state;
	assert_false(kernel_name_is_late("_raw_spin_unlock"));
	assert_false(kernel_name_is_late("_raw_spin_unlock_irqrestore_fast"));
	assert_false(kernel_name_is_idle("do_idle_work"));
	assert_false(kernel_name_is_idle("idle"));
	assert_false(kernel_name_is_idle(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_both_lists_are_found),
		cmocka_unit_test(compiler_suffixes_do_not_matter),
		cmocka_unit_test(names_that_begin_alike_are_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
