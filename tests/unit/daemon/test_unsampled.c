/* For how long nothing was sampled, by how and when the daemon before ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/unsampled.h"
#include "store/database_end.h"

#define SECOND_NS UINT64_C(1000000000)
#define NOW_NS	  (UINT64_C(1767225600) * SECOND_NS)
#define BOOT_NS	  (1000 * SECOND_NS) /* for how long the machine is on */
#define THIS_BOOT "this-boot"

/* After one that was cut off so long ago. */
static struct unsampled after(const char *boot_id, int64_t seconds, const char *now_boot_id)
{
	struct database_end end = { .known = true,
				    .end_ns = NOW_NS - (uint64_t)(seconds * (int64_t)SECOND_NS) };
	strcpy(end.boot_id, boot_id);
	const struct unsampled unsampled = unsampled_after(&end, now_boot_id, NOW_NS, BOOT_NS);
	assert_true(unsampled.any);
	assert_int_equal(unsampled.at_ns, BOOT_NS);
	return unsampled;
}

static void assert_seconds(struct unsampled unsampled, uint64_t seconds)
{
	assert_true(unsampled.known);
	assert_int_equal(unsampled.ns, seconds * SECOND_NS);
}

static void an_end_in_order_or_none_leaves_nothing(void **state)
{
	(void)state;
	const struct database_end none = { 0 };
	const struct database_end ended = { .known = true, .in_order = true, .end_ns = NOW_NS };
	assert_false(unsampled_after(&none, THIS_BOOT, NOW_NS, BOOT_NS).any);
	assert_false(unsampled_after(&ended, THIS_BOOT, NOW_NS, BOOT_NS).any);
}

static void in_one_boot_it_is_the_time_since(void **state)
{
	(void)state;
	assert_seconds(after(THIS_BOOT, 12, THIS_BOOT), 12);
	assert_false(after(THIS_BOOT, -12, THIS_BOOT).known);
	assert_false(after(THIS_BOOT, 1001, THIS_BOOT).known);
}

static void across_a_boot_it_is_the_time_since_then(void **state)
{
	(void)state;
	assert_seconds(after("another", 5000, THIS_BOOT), 1000);
	/* It cannot be longer than the clock says. */
	assert_seconds(after("another", 12, THIS_BOOT), 12);
	assert_false(after("another", -12, THIS_BOOT).known);
}

static void a_boot_that_is_not_known_is_not_another_one(void **state)
{
	(void)state;
	assert_seconds(after("", 12, THIS_BOOT), 12);
	assert_seconds(after(THIS_BOOT, 12, ""), 12);
	assert_false(after("", 1001, THIS_BOOT).known);
	assert_false(after("another", 1001, "").known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_in_order_or_none_leaves_nothing),
		cmocka_unit_test(in_one_boot_it_is_the_time_since),
		cmocka_unit_test(across_a_boot_it_is_the_time_since_then),
		cmocka_unit_test(a_boot_that_is_not_known_is_not_another_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
