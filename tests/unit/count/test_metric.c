#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "count/counter_private.h"
#include "counting_machine.h"
#include "culprit/counter.h"

struct scene {
	struct tree tree;
	struct culprit_counters *counters;
	struct culprit_metric *metric;
	struct culprit_error error;
	struct culprit_value result;
};

static int open_metric(struct scene *scene, const char *expression)
{
	*scene = (struct scene){ 0 };
	replayed_begin();
	tree_make(&scene->tree, counting_intel);
	struct count_world world = { &count_kernel_replayed, scene->tree.path };
	assert_int_equal(
		counters_open("cycles:u,instructions:u,r1", NULL, &world, &scene->counters, NULL),
		0);
	return culprit_metric_open(scene->counters, expression, &scene->metric, &scene->error);
}

static void close_metric(struct scene *scene)
{
	culprit_metric_close(scene->metric);
	culprit_counters_close(scene->counters);
	tree_remove(&scene->tree);
	replayed_begin();
}

static struct culprit_value exactly(double value)
{
	return (struct culprit_value){ .value = value, .low = value, .high = value };
}

static struct culprit_value about(double value, double half)
{
	return (struct culprit_value){ .value = value, .low = value - half, .high = value + half };
}

static void exact_counts_make_an_exact_metric(void **state)
{
	(void)state;
	struct scene scene;
	assert_int_equal(open_metric(&scene, "instructions:u/cycles:u"), 0);
	const struct culprit_value values[] = { exactly(100), exactly(250), exactly(1) };
	culprit_metric_value(scene.metric, values, 1, &scene.result);
	assert_true(scene.result.value == 2.5 && scene.result.low == 2.5 &&
		    scene.result.high == 2.5);
	assert_int_equal(scene.result.flags, 0);
	close_metric(&scene);
}

static void errors_of_a_ratio_add_by_their_squares(void **state)
{
	(void)state;
	struct scene scene;
	assert_int_equal(open_metric(&scene, "instructions:u / cycles:u"), 0);
	const struct culprit_value values[] = { about(1000, 4), about(2000, 6), exactly(1) };
	culprit_metric_value(scene.metric, values, 1, &scene.result);
	double half = 2 * sqrt(0.004 * 0.004 + 0.003 * 0.003);
	assert_true(scene.result.value == 2);
	assert_true(fabs(scene.result.high - 2 - half) < 0.01 * half);
	assert_true(fabs(2 - scene.result.low - half) < 0.01 * half);
	close_metric(&scene);
}

static void units_are_what_the_caller_says(void **state)
{
	(void)state;
	struct scene scene;
	assert_int_equal(open_metric(&scene, "r1 / units"), 0);
	const struct culprit_value values[] = { exactly(1), exactly(1), about(500, 10) };
	culprit_metric_value(scene.metric, values, 100, &scene.result);
	assert_true(scene.result.value == 5 && fabs(scene.result.high - 5.1) < 1e-9);
	close_metric(&scene);
}

static void doubts_of_events_are_those_of_the_metric(void **state)
{
	(void)state;
	struct scene scene;
	assert_int_equal(open_metric(&scene, "instructions:u / cycles:u"), 0);
	struct culprit_value values[] = { exactly(100), exactly(200), exactly(0) };
	values[0].flags = CULPRIT_MULTIPLEXED | CULPRIT_NO_INTERVAL;
	values[0].low = values[0].high = NAN;
	values[1].flags = CULPRIT_INTERRUPTED;
	values[2].flags = CULPRIT_SUBSTITUTE; /* not part of it */
	culprit_metric_value(scene.metric, values, 1, &scene.result);
	assert_true(scene.result.value == 2 && isnan(scene.result.low));
	assert_int_equal(scene.result.flags,
			 CULPRIT_MULTIPLEXED | CULPRIT_NO_INTERVAL | CULPRIT_INTERRUPTED);
	close_metric(&scene);
}

static void what_lacks_an_event_is_absent(void **state)
{
	(void)state;
	struct scene scene;
	assert_int_equal(open_metric(&scene, "instructions:u / cycles:u"), 0);
	struct culprit_value values[] = { exactly(NAN), exactly(200), exactly(0) };
	values[0].flags = CULPRIT_ABSENT;
	culprit_metric_value(scene.metric, values, 1, &scene.result);
	assert_true(isnan(scene.result.value));
	assert_true(scene.result.flags & CULPRIT_ABSENT);
	values[0] = exactly(0);
	culprit_metric_value(scene.metric, values, 1, &scene.result);
	assert_true(isnan(scene.result.value) && scene.result.flags & CULPRIT_ABSENT);
	close_metric(&scene);
}

static void names_that_are_not_counted_are_refused(void **state)
{
	(void)state;
	struct scene scene;
	assert_int_equal(open_metric(&scene, "instructions:u / branches"), -ENOENT);
	assert_string_equal(scene.error.text, "no event of that name is counted (character 18 of "
					      "'instructions:u / branches')");
	assert_int_equal(scene.error.code, -ENOENT);
	close_metric(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_counts_make_an_exact_metric),
		cmocka_unit_test(errors_of_a_ratio_add_by_their_squares),
		cmocka_unit_test(units_are_what_the_caller_says),
		cmocka_unit_test(doubts_of_events_are_those_of_the_metric),
		cmocka_unit_test(what_lacks_an_event_is_absent),
		cmocka_unit_test(names_that_are_not_counted_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
