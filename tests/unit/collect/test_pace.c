#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/pace.h"

static unsigned taken(struct pace *pace, unsigned chances, double allowance_ns, double cost_ns)
{
	unsigned count = 0;
	for (unsigned i = 0; i < chances; i++) {
		double set_aside = pace_admit(pace, allowance_ns);
		if (set_aside > 0) {
			count++;
			pace_settle(pace, 1, set_aside, cost_ns);
		}
	}
	return count;
}

static void what_is_cheap_is_always_taken(void **state)
{
	(void)state;
	struct pace pace;
	pace_init(&pace, 0, 1000, 10);
	assert_int_equal(taken(&pace, 1000, 10, 8), 1000);
}

static void what_is_dear_is_taken_as_often_as_is_paid_for(void **state)
{
	(void)state;
	struct pace pace;
	pace_init(&pace, 0, 1e6, 10); /* the guess is ten times too low */
	unsigned count = taken(&pace, 100000, 10, 100);
	assert_in_range(count, 9990, 10000);
	/* evenly: each tenth of the time has its tenth */
	for (int i = 0; i < 10; i++)
		assert_in_range(taken(&pace, 1000, 10, 100), 98, 102);
}

static void idle_times_save_up_no_more_than_the_limit(void **state)
{
	(void)state;
	struct pace pace;
	pace_init(&pace, 0, 500, 1e9);
	assert_int_equal(taken(&pace, 100000, 10, 100), 0); /* too dear, as was guessed */
	pace_settle(&pace, 1, 0, 0);
	pace.cost_ns = 100;
	assert_int_equal(taken(&pace, 100, 0, 100), 5);
}

static void what_was_spent_beforehand_is_paid_back_by_half(void **state)
{
	(void)state;
	struct pace pace = { .limit_ns = 1000, .cost_ns = 10, .counted = 5000 };
	pace_settle(&pace, 1, 10, 910);
	assert_true(pace.debt_ns == 900);
	/* one in two until it is paid back, then all */
	pace.cost_ns = 10;
	unsigned count = taken(&pace, 160, 10, 10);
	assert_in_range(count, 79, 80);
	assert_true(pace.debt_ns == 100);
	count = taken(&pace, 120, 10, 10);
	assert_in_range(count, 109, 110);
	assert_true(pace.debt_ns == 0);
	/* more than the limit is paid back first */
	pace_settle(&pace, 1, 10, 2010);
	pace.cost_ns = 10;
	assert_in_range(taken(&pace, 100, 10, 10), 0, 1);
	assert_in_range(taken(&pace, 200, 10, 10), 99, 101);
	/* what cost less pays, too */
	pace = (struct pace){ .limit_ns = 1000, .cost_ns = 10, .debt_ns = 5, .counted = 5000 };
	pace_settle(&pace, 1, 10, 2);
	assert_true(pace.debt_ns == 0 && pace.saved_ns == 3);
}

/* The first pieces pay for starting, which those that follow need not earn. */
static void starting_is_not_taken_back(void **state)
{
	(void)state;
	struct pace pace;
	pace_init(&pace, 1000, 1000, 10);
	double set_aside = 0;
	for (int i = 0; i < 100; i++)
		set_aside += pace_admit(&pace, 0);
	pace_settle(&pace, 100, set_aside, 50000);
	assert_true(pace.saved_ns == 0 && pace.cost_ns == 10);
	assert_in_range(taken(&pace, 1000, 5, 10), 490, 500);
	pace_init(&pace, 1000, 1000, 10); /* what they did not need comes back */
	set_aside = pace_admit(&pace, 0);
	pace_settle(&pace, 1, set_aside, 4);
	assert_true(pace.saved_ns == 996);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_cheap_is_always_taken),
		cmocka_unit_test(what_is_dear_is_taken_as_often_as_is_paid_for),
		cmocka_unit_test(idle_times_save_up_no_more_than_the_limit),
		cmocka_unit_test(what_was_spent_beforehand_is_paid_back_by_half),
		cmocka_unit_test(starting_is_not_taken_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
