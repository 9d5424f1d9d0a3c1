/* The intervals of totals hold the truth as often as they say (docs/methods.md, "Regions"). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "count/region_cost.h"
#include "made_up_regions.h"

#define EXPERIMENTS 1000

struct noise {
	const char *name;
	uint64_t cost, noise, tail;
};

static const struct noise noises[] = {
	{ "normal", 200, 400, 0 },
	{ "exponential", 200, 0, 60 },
};

/* How often a region runs, and how many inner ones each time. */
struct plan {
	unsigned count, inner;
};

static const struct plan plans[] = { { 1, 0 },	  { 10, 0 }, { 100, 0 },
				     { 2000, 0 }, { 50, 1 }, { 20, 20 } };

/* A new calibration, and regions that work for 1000 ticks; what the outer ones came to. */
static struct culprit_region_event measure(const struct region_scene *scene,
					   const struct plan *plan)
{
	struct culprit_regions *regions;
	struct culprit_region_result result;
	assert_int_equal(regions_open(NULL, NULL, &scene->world, &regions, NULL), 0);
	struct culprit_region *outer = culprit_region_named(regions, "outer");
	struct culprit_region *inner = culprit_region_named(regions, "inner");
	assert_int_equal(culprit_regions_join(regions, NULL), 0);
	for (unsigned i = 0; i < plan->count; i++) {
		culprit_region_begin(outer);
		made_up_work(1000);
		for (unsigned k = 0; k < plan->inner; k++)
			made_up_region(inner, 10);
		culprit_region_end(outer);
	}
	assert_int_not_equal(culprit_regions_results(regions), 0);
	assert_int_equal(culprit_regions_result(regions, 0, &result), 0);
	culprit_regions_close(regions);
	return result.time;
}

static void totals_lie_in_their_intervals_as_often_as_promised(void **state)
{
	(void)state;
	struct region_scene scene;
	for (size_t n = 0; n < COUNT_OF(noises); n++)
		for (size_t p = 0; p < COUNT_OF(plans); p++) {
			made_up = (struct made_up_clock){ .cost = noises[n].cost,
							  .noise = noises[n].noise,
							  .tail = noises[n].tail,
							  .random = random_seed(100 * n + p) };
			assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
			unsigned held = 0, tight = 0;
			double truth = plans[p].count * (1000.0 + 10 * plans[p].inner);
			for (int i = 0; i < EXPERIMENTS; i++) {
				struct culprit_region_event time = measure(&scene, &plans[p]);
				held += time.low <= truth && truth <= time.high;
				/* the negative control: half as wide does not do */
				tight += fabs(time.total - truth) <= (time.high - time.low) / 4;
			}
			double share = (double)held / EXPERIMENTS;
			if (share < 0.93 || share > 0.97)
				fail_msg("%s noise, %u times %u: %.4f", noises[n].name,
					 plans[p].count, plans[p].inner, share);
			assert_true((double)tight / EXPERIMENTS < 0.9);
			region_scene_end(&scene);
		}
}

static void trials_that_were_interrupted_do_not_count(void **state)
{
	(void)state;
	double empty[REGION_TRIALS], outer[REGION_TRIALS];
	for (int i = 0; i < REGION_TRIALS; i++) {
		empty[i] = 48 + i % 5 + (i % 50 == 0 ? 30000 : 0);
		outer[i] = 148 + i % 5 + (i % 80 == 0 ? 30000 : 0);
	}
	struct region_cost cost;
	region_cost_of(empty, REGION_TRIALS, outer, REGION_TRIALS, &cost);
	assert_true(cost.known);
	assert_true(fabs(cost.own_mean - 50) < 0.1 && fabs(cost.inner_mean - 100) < 0.1);
	assert_true(cost.own_variance < 2.1 && cost.outer_variance < 2.1);
	assert_int_equal(cost.trials, REGION_TRIALS - 8);
}

static void too_few_trials_tell_nothing(void **state)
{
	(void)state;
	double some[19] = { 0 }, enough[20] = { 0 };
	struct region_cost cost;
	region_cost_of(some, 19, enough, 20, &cost);
	assert_false(cost.known);
	region_cost_of(enough, 20, some, 19, &cost);
	assert_false(cost.known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_lie_in_their_intervals_as_often_as_promised),
		cmocka_unit_test(trials_that_were_interrupted_do_not_count),
		cmocka_unit_test(too_few_trials_tell_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
