/* Asks the kernel that the tests run on; what it refuses is refused alike to everybody. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <unistd.h>

#include "advice/default_events.h"
#include "advice/machine_probe.h"
#include "advice/sample_cost.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "events/event_catalog.h"
#include "machine/machine_root.h"
#include "machine/pmu.h"
#include "machine/probe.h"
#include "support/skip.h"

struct here {
	struct machine_root root;
	struct cpu_info cpu;
	struct pmu_list pmus;
	struct event_list events;
	struct error err;
	int refusal; /* 0: some event opens */
};

static struct here here;

static int look(void **state)
{
	(void)state;
	int why_not_cycles = 0;
	if (machine_root_open("/", &here.root, &here.err))
		return -1;
	cpu_info_read(&here.root, &here.cpu);
	pmu_list_read(&here.root, &here.pmus, NULL);
	here.refusal = event_list_default(&here.events, &here.pmus, &why_not_cycles, &here.err);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	event_list_release(&here.events);
	pmu_list_release(&here.pmus);
	machine_root_close(&here.root);
	return 0;
}

static void the_default_events_open_or_the_cause_is_named(void **state)
{
	(void)state;
	if (here.refusal) {
		assert_int_equal(here.events.count, 0);
		assert_non_null(strstr(here.err.text, "cannot sample even 'cpu-clock': "));
		return;
	}
	assert_in_range(here.events.count, 1, 64);
	for (size_t i = 0; i < here.events.count; i++)
		assert_int_equal(event_try(&here.pmus, &here.events.events[i]), 0);
}

static void features_are_known_where_events_open(void **state)
{
	(void)state;
	struct perf_features features;
	perf_features_probe(&features);
	if (here.refusal)
		return;
	assert_int_not_equal(features.format_lost, FACT_UNKNOWN);
	assert_int_not_equal(features.inherit_read_tid, FACT_UNKNOWN);
	assert_int_not_equal(features.build_id, FACT_UNKNOWN);
}

static size_t count_descriptors(void)
{
	size_t count = 0;
	DIR *folder = opendir("/proc/self/fd");
	if (!folder)
		return 0;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void probing_leaves_no_descriptor_open(void **state)
{
	(void)state;
	struct machine_probe probe;
	struct perf_features features;
	struct sample_cost cost;
	size_t before = count_descriptors();
	machine_probe_run(&here.cpu, &here.pmus, &probe);
	perf_features_probe(&features);
	if (!here.refusal)
		sample_cost_measure(&here.events.events[0], 100000, NULL, &cost, NULL);
	assert_int_equal(count_descriptors(), before);
	/* A counter is counted only where cycles open. */
	assert_true(probe.counters == 0 || probe.cycles_user == 0);
}

static void a_sample_has_a_cost(void **state)
{
	(void)state;
	struct sample_cost cost;
	if (here.refusal) {
		SKIP("nothing can be sampled here");
	}
	int status = sample_cost_measure(&here.events.events[0], 100000, NULL, &cost, &here.err);
	if (status) {
		/* Too busy, or no memory for a ring: it says so and claims nothing. */
		assert_true(here.err.text[0]);
		return;
	}
	/* No interrupt is below 100 ns; a millisecond would be a tick. */
	assert_true(cost.ns > 100 && cost.ns < 1e6);
	assert_true(cost.low_ns <= cost.ns && cost.ns <= cost.high_ns);
	assert_in_range(cost.samples, 40, 100000);
	uint64_t rate = sample_cost_rate(&cost, 0.01);
	assert_true((double)rate * cost.ns <= 1.0e7 && (double)(rate + 1) * cost.ns > 1.0e7);
}

static void the_catalog_has_each_generic_event(void **state)
{
	(void)state;
	CLEANUP(event_catalog_release) struct event_catalog catalog = { 0 };
	size_t sections[CATALOG_PFM + 1] = { 0 };
	assert_int_equal(event_catalog_read(&here.pmus, false, &catalog), 0);
	for (size_t i = 0; i < catalog.count; i++) {
		assert_true(i == 0 || catalog.items[i].section >= catalog.items[i - 1].section);
		assert_true(catalog.items[i].description);
		sections[catalog.items[i].section]++;
	}
	assert_int_equal(sections[CATALOG_HARDWARE], 10);
	assert_int_equal(sections[CATALOG_SOFTWARE], 12);
	assert_int_equal(sections[CATALOG_CACHE], 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_events_open_or_the_cause_is_named),
		cmocka_unit_test(features_are_known_where_events_open),
		cmocka_unit_test(probing_leaves_no_descriptor_open),
		cmocka_unit_test(a_sample_has_a_cost),
		cmocka_unit_test(the_catalog_has_each_generic_event),
	};
	return cmocka_run_group_tests(tests, look, forget);
}
