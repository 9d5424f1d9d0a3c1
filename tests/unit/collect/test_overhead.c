/*
 * A recording that is made up: what it takes each second is known, and falls with the rate or not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/overhead.h"

#define SECOND UINT64_C(1000000000)
#define CPUS   4

struct load {
	double sampling, fixed; /* of all CPUs' time: at the planned rate; at any */
	double once_s;		/* CPU time of the first two seconds */
	double noise;		/* each second's cost differs by so much, of itself */
};

struct run {
	struct overhead overhead;
	double spent_ns;
	uint64_t now_ns;
	struct random_state random;
};

static struct run begin(double budget)
{
	struct run run = { .overhead = { .budget_ratio = budget, .most_scale = 4 },
			   .spent_ns = 7e9, /* getting ready is not counted */
			   .now_ns = 5 * SECOND,
			   .random = random_seed(1) };
	overhead_begin(&run.overhead, run.now_ns, run.spent_ns);
	return run;
}

/* Goes on for so many seconds. Returns what was taken, of all CPUs' time. */
static double go_on(struct run *run, unsigned seconds, const struct load *load)
{
	double before_ns = run->spent_ns;
	for (unsigned i = 0; i < seconds; i++) {
		double ratio = load->sampling / run->overhead.scale + load->fixed;
		ratio *= 1 + load->noise * ((double)random_below(&run->random, 2001) / 1000 - 1);
		run->spent_ns += ratio * 1e9 * CPUS + (i < 2 ? load->once_s * 1e9 / 2 : 0);
		run->now_ns += SECOND;
		assert_true(overhead_due(&run->overhead, run->now_ns));
		overhead_step(&run->overhead, run->now_ns, run->spent_ns, CPUS);
		assert_false(overhead_due(&run->overhead, run->now_ns + SECOND - 1));
		assert_true(run->overhead.scale >= 1 &&
			    run->overhead.scale <= run->overhead.most_scale);
	}
	return (run->spent_ns - before_ns) / (seconds * 1e9 * CPUS);
}

static void within_the_budget_nothing_changes(void **state)
{
	(void)state;
	struct run run = begin(0.01);
	const struct load load = { .sampling = 0.008, .fixed = 0.001, .noise = 0.3 };
	for (int i = 0; i < 600; i++) {
		go_on(&run, 1, &load);
		assert_true(run.overhead.scale == 1);
	}
	assert_true(run.overhead.slowed_ns == 0);
}

static void what_starting_costs_is_not_paid_in_samples(void **state)
{
	(void)state;
	struct run run = begin(0.01);
	/* a second of CPU time: what half a minute's budget of four CPUs has room for */
	const struct load load = { .sampling = 0.008, .fixed = 0.001, .once_s = 1 };
	go_on(&run, 60, &load);
	assert_true(run.overhead.scale == 1 && run.overhead.slowed_ns == 0);
	/* Five seconds are too much, and are paid back. */
	struct run dear = begin(0.01);
	const struct load much = { .sampling = 0.008, .fixed = 0.001, .once_s = 5 };
	const struct load then = { .sampling = 0.008, .fixed = 0.001 };
	go_on(&dear, 30, &much);
	assert_true(dear.overhead.scale > 1.5 && dear.overhead.over && !run.overhead.over);
	go_on(&dear, 1200, &then);
	assert_true(dear.overhead.scale == 1);
	assert_true(dear.overhead.slowed_ns > 10e9 && dear.overhead.slowed_ns < 1200e9);
}

static void what_is_too_much_comes_down_to_the_budget(void **state)
{
	(void)state;
	static const double noises[] = { 0, 0.2, 0.6 };
	for (size_t i = 0; i < 3; i++) {
		struct run run = begin(0.01);
		const struct load load = { .sampling = 0.01, .fixed = 0.004, .noise = noises[i] };
		double first = go_on(&run, 20, &load);
		assert_true(first > 0.012); /* the advance is used up first */
		go_on(&run, 900, &load);
		double later = go_on(&run, 600, &load);
		assert_in_range((unsigned)(later * 1e6), 9700, 10300);
		/* 1 % = 1 % / scale + 0.4 % */
		assert_in_range((unsigned)(run.overhead.scale * 1000), 1500, 1850);
		double all = (run.spent_ns - 7e9) / ((double)(run.now_ns - 5 * SECOND) * CPUS);
		assert_true(all < 0.0105);
		assert_in_range((unsigned)(run.overhead.slowed_ns / 1520e6), 300, 450);
	}
}

static void it_does_not_swing(void **state)
{
	(void)state;
	struct run run = begin(0.01);
	const struct load load = { .sampling = 0.012, .fixed = 0.003 };
	double low = 100, high = 0;
	go_on(&run, 600, &load);
	for (int i = 0; i < 300; i++) {
		go_on(&run, 1, &load);
		low = run.overhead.scale < low ? run.overhead.scale : low;
		high = run.overhead.scale > high ? run.overhead.scale : high;
	}
	assert_true(high < 1.05 * low);
}

static void what_no_rate_could_pay_stops_at_the_least_rate(void **state)
{
	(void)state;
	struct run run = begin(0.01);
	const struct load load = { .sampling = 0.008, .fixed = 0.02 }, calm = { .sampling = 0.008 };
	go_on(&run, 300, &load);
	assert_true(run.overhead.scale == 4);
	/* Nobody is blamed for it for ever: with time the rate comes back. */
	go_on(&run, 2000, &calm);
	assert_true(run.overhead.scale == 1);
}

static void without_a_budget_nothing_is_kept(void **state)
{
	(void)state;
	struct overhead overhead = { 0 };
	overhead_begin(&overhead, 0, 0);
	for (uint64_t s = 1; s < 100; s++)
		overhead_step(&overhead, s * SECOND, (double)s * 1e9, 1);
	assert_true(overhead.scale == 1 && overhead.slowed_ns == 0);
	/* And a clock that stands still does no harm. */
	struct run run = begin(0.01);
	overhead_step(&run.overhead, run.now_ns, run.spent_ns + 1e12, CPUS);
	assert_true(run.overhead.scale == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_the_budget_nothing_changes),
		cmocka_unit_test(what_starting_costs_is_not_paid_in_samples),
		cmocka_unit_test(what_is_too_much_comes_down_to_the_budget),
		cmocka_unit_test(it_does_not_swing),
		cmocka_unit_test(what_no_rate_could_pay_stops_at_the_least_rate),
		cmocka_unit_test(without_a_budget_nothing_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
