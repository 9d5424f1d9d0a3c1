#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/perf_event.h>

#include "analyze/figures/slot_columns.h"
#include "base/error.h"
#include "base/random.h"
#include "support/poisson.h"
#include "support/test_profile.h"

struct found {
	struct test_profile test;
	struct event_columns columns;
	struct slot_columns *list;
	size_t count;
};

/* An event of one row, so that it is a column; `leader` NULL: it has samples of its own. */
static void add(struct found *found, const char *name, const char *core_type, uint32_t exclude,
		const char *leader)
{
	const struct profile_event event = { .name = span_of_text(name),
					     .type = PERF_TYPE_RAW,
					     .core_type = span_of_text(core_type),
					     .exclude = exclude,
					     .sampled = !leader,
					     .leader = span_of_text(leader) };
	const struct cell cell = { !leader, 1000, 1000000 };
	test_event_full(&found->test, &event);
	test_flat_cell(&found->test, "main", &cell);
}

static struct found begin(void)
{
	return (struct found){ .test = test_profile_new() };
}

static void find(struct found *found)
{
	struct error err;
	assert_int_equal(event_columns_init(&found->columns, found->test.profile, NULL, 0, &err),
			 0);
	assert_int_equal(slot_columns_find(&found->columns, &found->list, &found->count), 0);
}

static void release(struct found *found)
{
	free(found->list);
	event_columns_release(&found->columns);
	profile_free(found->test.profile);
}

static void assert_name(const struct found *found, size_t column, const char *name)
{
	assert_true(column < found->columns.count);
	assert_true(span_equal(found->columns.list[column].name, span_of_text(name)));
}

static void parts_are_known_by_their_names(void **state)
{
	(void)state;
	static const char *const spelled[][5] = {
		{ "slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound",
		  "topdown-be-bound" },
		{ "slots:u", "topdown-retiring:u", "topdown-bad-spec:u", "topdown-fe-bound:u",
		  "topdown-be-bound:u" },
		{ "cpu/slots/", "cpu/topdown-retiring/", "cpu/topdown-bad-spec/",
		  "cpu/topdown-fe-bound/", "cpu/topdown-be-bound/" },
		{ "TOPDOWN.SLOTS", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound",
		  "topdown-be-bound" },
		{ "TOPDOWN:SLOTS:k", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound",
		  "TOPDOWN.BACKEND_BOUND_SLOTS" },
		{ "topdown:slots_p", "topdown-slots-retired", "topdown-bad-spec",
		  "topdown-fe-bound", "TOPDOWN:BACKEND_BOUND_SLOTS:u" },
	};
	for (size_t s = 0; s < sizeof(spelled) / sizeof(spelled[0]); s++) {
		struct found found = begin();
		for (size_t i = 0; i < 5; i++)
			add(&found, spelled[s][i], NULL, 0, "cycles");
		find(&found);
		assert_int_equal(found.count, 1);
		assert_name(&found, found.list->slots, spelled[s][0]);
		for (size_t part = 0; part < SLOT_PARTS; part++) {
			assert_name(&found, found.list->parts[part], spelled[s][1 + part]);
			assert_true(slot_columns_have_part(found.list, 1, found.list->parts[part]));
		}
		assert_false(slot_columns_have_part(found.list, 1, found.list->slots));
		release(&found);
	}
}

static void other_names_are_none(void **state)
{
	(void)state;
	static const char *const spelled[][2] = {
		{ "slots", "cycles" },
		{ "cycles", "topdown-retiring" },
		{ "topdown.slotsy", "topdown-retiring" },
		{ "topdown:", "topdown-retiring" },
		{ "myslots", "topdown-retiring" },
		{ "topdown:slotsy", "topdown-retiring" },
		{ "slots", "topdown-retiring-not" },
		{ "slots", "slots:u" },
		{ "topdown", "slot" },
	};
	for (size_t s = 0; s < sizeof(spelled) / sizeof(spelled[0]); s++) {
		struct found found = begin();
		for (size_t i = 0; i < 2; i++)
			add(&found, spelled[s][i], NULL, 0, "branches");
		find(&found);
		assert_int_equal(found.count, 0);
		assert_false(slot_columns_have_part(found.list, found.count, 0));
		release(&found);
	}
}

static void only_events_of_one_scope_belong_together(void **state)
{
	(void)state;
	struct found found = begin();
	add(&found, "slots:u", "cpu_core", EXCLUDE_KERNEL, "cycles");
	add(&found, "slots:k", "cpu_core", EXCLUDE_USER, "cycles");
	add(&found, "topdown-retiring:k", "cpu_core", EXCLUDE_USER, "cycles");
	add(&found, "topdown-be-bound:u", "cpu_core", EXCLUDE_KERNEL, "cycles");
	add(&found, "topdown-retiring:u", "cpu_atom", EXCLUDE_KERNEL, "cycles");
	add(&found, "topdown-bad-spec", "cpu_core", 0, "cycles");
	find(&found);
	assert_int_equal(found.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct slot_columns *of = &found.list[i];
		bool user = found.columns.list[of->slots].exclude == EXCLUDE_KERNEL;
		enum slot_part there = user ? SLOTS_BACKEND : SLOTS_RETIRING;
		for (size_t part = 0; part < SLOT_PARTS; part++)
			assert_int_equal(of->parts[part] != EVENT_COLUMN_NONE, part == there);
		assert_name(&found, of->parts[there],
			    user ? "topdown-be-bound:u" : "topdown-retiring:k");
	}
	release(&found);
}

static void who_reads_them_decides_what_their_errors_share(void **state)
{
	(void)state;
	static const struct {
		const char *slots, *retiring; /* whose samples read it */
		enum ratio_samples samples;
	} cases[] = {
		{ "cycles", "cycles", RATIO_PART },    { "cycles", "branches", RATIO_INDEPENDENT },
		{ NULL, NULL, RATIO_INDEPENDENT },     { NULL, "slots", RATIO_GROUPED },
		{ NULL, "cycles", RATIO_INDEPENDENT },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct found found = begin();
		add(&found, "slots", NULL, 0, cases[i].slots);
		add(&found, "topdown-retiring", NULL, 0, cases[i].retiring);
		find(&found);
		assert_int_equal(found.count, 1);
		assert_int_equal(found.list->samples[SLOTS_RETIRING], cases[i].samples);
		release(&found);
	}
}

static void a_share_may_be_zero_but_not_unknown(void **state)
{
	(void)state;
	struct found found = begin();
	add(&found, "slots", NULL, 0, "cycles");
	add(&found, "topdown-retiring", NULL, 0, "cycles");
	add(&found, "topdown-bad-spec", NULL, 0, "cycles");
	find(&found);
	struct cell cells[3] = { 0 };
	struct cell *slots = &cells[found.list->slots];
	struct cell *retiring = &cells[found.list->parts[SLOTS_RETIRING]];
	struct estimate share = slot_share(&found.columns, found.list, SLOTS_RETIRING, cells);
	assert_int_equal(share.kind, ESTIMATE_ABSENT); /* of no slots */
	*slots = (struct cell){ 0, 400000, UINT64_C(100) * 4000 * 4000 };
	*retiring = (struct cell){ 0, 100000, UINT64_C(100) * 1000 * 1000 };
	share = slot_share(&found.columns, found.list, SLOTS_RETIRING, cells);
	assert_int_equal(share.kind, ESTIMATE_INTERVAL);
	assert_true(share.value == 0.25 && share.low > 0.15 && share.high < 0.35);
	share = slot_share(&found.columns, found.list, SLOTS_BAD_SPECULATION, cells);
	assert_int_equal(share.kind, ESTIMATE_INTERVAL); /* counted: none */
	assert_true(share.value == 0 && share.low == 0 && share.high > 0.01);
	share = slot_share(&found.columns, found.list, SLOTS_FRONTEND, cells);
	assert_int_equal(share.kind, ESTIMATE_ABSENT); /* not counted */
	retiring->estimate = 400001;		       /* no part of them */
	share = slot_share(&found.columns, found.list, SLOTS_RETIRING, cells);
	assert_int_equal(share.kind, ESTIMATE_ABSENT);
	release(&found);
}

/* ---- the interval is an upper bound, and no more than that */

#define RUNS 4000

struct simulated {
	double coverage, half_coverage; /* of the interval, and of one half as wide */
	double mean_width, mean_width_independent;
};

/* How a reading's share p_i lies around the mean one. */
enum spread { SPREAD_NONE, SPREAD_EVEN, SPREAD_ALL_OR_NOTHING };

static double draw_share(struct random_state *random, enum spread spread, double share)
{
	double reach = share < 0.5 ? share : 1 - share;
	switch (spread) {
	case SPREAD_NONE:
		return share;
	case SPREAD_EVEN:
		return share + reach * ((double)random_below(random, 2001) / 1000 - 1);
	default:
		return (double)random_below(random, 1000000) < 1e6 * share;
	}
}

static void add_reading(struct cell *cell, uint64_t counted)
{
	const struct cell one = { 0, counted, (unsigned __int128)counted * counted };
	cell_add(cell, &one);
}

static struct simulated simulate(enum spread spread, double samples, double share)
{
	struct random_state random = random_seed((uint64_t)(samples * 100 + share * 10));
	struct simulated sums = { 0 };
	unsigned runs = 0;
	for (unsigned run = 0; run < RUNS; run++) {
		struct cell slots = { 0 }, part = { 0 };
		uint64_t n = poisson(&random, samples);
		for (uint64_t i = 0; i < n; i++) {
			uint64_t counted = 3000000 + random_below(&random, 2000000);
			add_reading(&slots, counted);
			add_reading(&part, (uint64_t)((double)counted *
						      draw_share(&random, spread, share)));
		}
		struct estimate e = interval_ratio(&part, &slots, RATIO_PART);
		struct estimate other = interval_ratio(&part, &slots, RATIO_INDEPENDENT);
		if (e.kind != ESTIMATE_INTERVAL || other.kind != ESTIMATE_INTERVAL)
			continue;
		double quarter = (e.high - e.low) / 4, middle = (e.high + e.low) / 2;
		runs++;
		sums.coverage += e.low <= share && share <= e.high;
		sums.half_coverage += middle - quarter <= share && share <= middle + quarter;
		sums.mean_width += e.high - e.low;
		sums.mean_width_independent += other.high - other.low;
	}
	assert_true(runs > RUNS * 98 / 100);
	return (struct simulated){ sums.coverage / runs, sums.half_coverage / runs,
				   sums.mean_width / runs, sums.mean_width_independent / runs };
}

static void the_interval_of_a_part_is_an_upper_bound(void **state)
{
	(void)state;
	static const double means[] = { 40, 300 };
	static const double shares[] = { 0.2, 0.5, 0.8 };
	for (size_t m = 0; m < 2; m++)
		for (size_t s = 0; s < 3; s++) {
			/* readings that are all of the part or all of another: the bound is met */
			struct simulated met = simulate(SPREAD_ALL_OR_NOTHING, means[m], shares[s]);
			if (met.coverage < 0.93 || met.coverage > 0.97)
				fail_msg("%g samples, share %g: %.2f %% held the truth", means[m],
					 shares[s], 100 * met.coverage);
			assert_true(met.half_coverage < 0.8); /* half as wide would not do */
			for (enum spread spread = SPREAD_NONE; spread <= SPREAD_EVEN; spread++) {
				struct simulated other = simulate(spread, means[m], shares[s]);
				assert_true(other.coverage > 0.95);
				assert_true(other.mean_width < other.mean_width_independent);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_known_by_their_names),
		cmocka_unit_test(other_names_are_none),
		cmocka_unit_test(only_events_of_one_scope_belong_together),
		cmocka_unit_test(who_reads_them_decides_what_their_errors_share),
		cmocka_unit_test(a_share_may_be_zero_but_not_unknown),
		cmocka_unit_test(the_interval_of_a_part_is_an_upper_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
