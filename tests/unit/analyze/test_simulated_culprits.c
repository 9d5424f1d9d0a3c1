/*
 * The bars of docs/methods.md, "Culprits": lists of causes against what a simulated machine
 * waited for, on programs that are quick to estimate.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "pipelines/pipeline.h"
#include "support/culprit_accuracy.h"

#define SAMPLES	      1e6
#define EVENT_SAMPLES 1e5
#define DRAWS	      3

static const char *const seven[] = { "bzip2", "gzip", "lua", "qsort", "sqlite3", "xz", "zstd" };

static void measure_on(const char *name, const char *const *programs, size_t count,
		       enum counted_events counted, struct culprit_accuracy *out)
{
	const char *source = getenv("SOURCE");
	char path[4096];
	struct simulated_machine machine;
	CLEANUP(pipelines_freep) struct pipelines *pipelines = NULL;
	assert_int_equal(pipelines_new(&pipelines, NULL), 0);
	const struct pipeline *pipeline = pipelines_by_name(pipelines, "generic-in-order");
	if (!source)
		source = CULPRIT_SOURCE;
	snprintf(path, sizeof(path), "%s/tests/data/simulated/%s.txt", source, name);
	simulated_machine_read_file(path, &machine);
	*out = (struct culprit_accuracy){ 0 };
	for (size_t p = 0; p < count; p++) {
		CLEANUP(exact_program_release) struct exact_program exact;
		snprintf(path, sizeof(path), "%s/tests/data/exact/%s.exact", source, programs[p]);
		exact_program_read_file(path, &exact);
		for (uint64_t seed = p + 1; seed < p + 1 + DRAWS; seed++) {
			CLEANUP(simulated_program_release) struct simulated_program program;
			struct random_state random = random_seed(seed);
			simulated_program_run(&exact, &machine, seed, &program);
			double period = simulated_sample_cycles(&program, &random, SAMPLES);
			culprit_accuracy_add(out, &program, pipeline, period, counted,
					     EVENT_SAMPLES, &machine, &random);
		}
	}
}

static void measure(const char *const *programs, size_t count, enum counted_events counted,
		    struct culprit_accuracy *out)
{
	measure_on("in-order", programs, count, counted, out);
}

static void expect_at_least(const char *what, double value, double least)
{
	if (!(value >= least))
		fail_msg("%s is %g, below %g", what, value, least);
}

static void expect_at_most(const char *what, double value, double most)
{
	if (!(value <= most))
		fail_msg("%s is %g, above %g", what, value, most);
}

static void expect_bars(const struct culprit_accuracy *a)
{
	expect_at_least("the true cause is listed for", a->listed / a->stalls, 0.9);
	expect_at_least("a cause alone on its list is right for", a->right / a->sole, 0.9);
	expect_at_most("stalls without a true cause", a->without / a->stalls, 0.1);
	expect_at_most("unexplained", a->unexplained / a->stalls, 0.086);
}

static void from_cycles_alone_the_true_cause_is_listed(void **state)
{
	(void)state;
	CLEANUP(culprit_accuracy_release) struct culprit_accuracy a;
	measure(seven, COUNT_OF(seven), COUNT_NOTHING, &a);
	expect_bars(&a);
	expect_at_most("causes a stall", a.causes / a.stalls, 2.1);
	expect_at_least("memory's correlation", culprit_accuracy_correlation(&a, COMPARED_MEMORY),
			0.95);
	expect_at_least("branches' correlation", culprit_accuracy_correlation(&a, COMPARED_BRANCH),
			0.9);
}

static void misses_of_fetches_close_the_range_of_fetches(void **state)
{
	(void)state;
	CLEANUP(culprit_accuracy_release) struct culprit_accuracy a;
	measure(seven, COUNT_OF(seven), COUNT_FETCH_MISSES, &a);
	expect_bars(&a);
	expect_at_most("causes a stall", a.causes / a.stalls, 2);
	expect_at_least("fetches' correlation", culprit_accuracy_correlation(&a, COMPARED_FETCH),
			0.85);
	expect_at_most("width of fetches",
		       (a.whole.high[COMPARED_FETCH] - a.whole.low[COMPARED_FETCH]) / a.stalls,
		       0.25);
}

static void with_events_as_bounds_few_are_left_on_the_list(void **state)
{
	(void)state;
	CLEANUP(culprit_accuracy_release) struct culprit_accuracy a;
	measure(seven, COUNT_OF(seven), COUNT_ALL_EVENTS, &a);
	expect_bars(&a);
	expect_at_most("causes a stall", a.causes / a.stalls, 2);
	for (enum compared_cause cause = 0; cause < COMPARED_CAUSES; cause++)
		expect_at_most(compared_cause_name(cause),
			       (a.whole.high[cause] - a.whole.low[cause]) / a.stalls, 0.25);
	expect_at_least("memory's correlation", culprit_accuracy_correlation(&a, COMPARED_MEMORY),
			0.95);
	expect_at_least("branches' correlation", culprit_accuracy_correlation(&a, COMPARED_BRANCH),
			0.9);
}

/* Calls that never happen lead back to where perl stores scalars, with a load under way. */
static void ways_that_are_not_gone_delay_nothing(void **state)
{
	(void)state;
	static const char *const perl[] = { "perl" };
	CLEANUP(culprit_accuracy_release) struct culprit_accuracy a;
	measure(perl, 1, COUNT_NOTHING, &a);
	expect_at_least("the true cause is listed for", a.listed / a.stalls, 0.85);
	expect_at_most("stalls without a true cause", a.without / a.stalls, 0.1);
}

/*
 * The kernels of tests/kernels/stalls.c whose stalls the machine knows, from cycles alone. In order
 * a division takes what the table says, so who needs its result waits statically; stores wait for
 * room on the rough machine. A product's 3 cycles are hidden there, by the count of its loop.
 */
static void what_a_kernel_waits_for_is_first(void **state)
{
	(void)state;
	static const struct {
		const char *name, *machine;
		enum compared_cause cause;
		enum static_cause static_cause;
	} kernels[] = {
		{ "stall-copy", "in-order", COMPARED_MEMORY, STATIC_NONE },
		{ "stall-chase", "in-order", COMPARED_MEMORY, STATIC_NONE },
		{ "stall-mispredict", "in-order", COMPARED_BRANCH, STATIC_NONE },
		{ "stall-store", "rough", COMPARED_MEMORY, STATIC_NONE },
		{ "stall-divide", "in-order", COMPARED_CAUSES, STATIC_RA },
	};
	for (size_t k = 0; k < COUNT_OF(kernels); k++) {
		CLEANUP(culprit_accuracy_release) struct culprit_accuracy a;
		measure_on(kernels[k].machine, &kernels[k].name, 1, COUNT_NOTHING, &a);
		bool is_static = kernels[k].cause == COMPARED_CAUSES;
		assert_int_equal(a.worst.is_static, is_static);
		if (is_static) {
			assert_int_equal(a.worst.static_cause, kernels[k].static_cause);
		} else {
			assert_int_equal(a.worst.first, kernels[k].cause);
			assert_int_equal(a.worst.truth, kernels[k].cause);
		}
		expect_at_least("the worst stall's share", a.worst.cycles * DRAWS / a.cycles, 0.1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_cycles_alone_the_true_cause_is_listed),
		cmocka_unit_test(misses_of_fetches_close_the_range_of_fetches),
		cmocka_unit_test(with_events_as_bounds_few_are_left_on_the_list),
		cmocka_unit_test(ways_that_are_not_gone_delay_nothing),
		cmocka_unit_test(what_a_kernel_waits_for_is_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
