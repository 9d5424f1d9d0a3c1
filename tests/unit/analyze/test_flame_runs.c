/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/compare.h"
#include "analyze/flame/flame.h"
#include "analyze/flame/flame_runs.h"
#include "analyze/names/resolve.h"
#include "base/error.h"
#include "profile/runs.h"
#include "support/test_profile.h"

#define RUNS 2 /* of each side */

/* The tree of runs of both sides, and what each run has in it. */
struct made {
	struct profile *profiles[FLAME_SIDES];
	struct resolver *resolvers[FLAME_SIDES];
	struct flame *flame;
	struct comparison *comparison;
	struct flame_runs runs;
	struct error err;
};

/* Takes the runs' profiles. */
static struct made *make(struct test_profile runs[FLAME_SIDES][RUNS], const char *per)
{
	struct made *made = calloc(1, sizeof(*made));
	assert_non_null(made);
	struct flame_input inputs[FLAME_SIDES];
	const struct resolver_options naming = { .stash_only = true };
	for (size_t s = 0; s < FLAME_SIDES; s++) {
		made->profiles[s] = profile_new();
		for (size_t r = 0; r < RUNS; r++) {
			struct profile *run = runs[s][r].profile;
			assert_int_equal(profile_mark_run(run, r + 1, &made->err), 0);
			assert_int_equal(profile_merge(made->profiles[s], run, &made->err), 0);
			profile_free(run);
		}
		assert_int_equal(
			resolver_new(made->profiles[s], &naming, &made->resolvers[s], &made->err),
			0);
		inputs[s] = (struct flame_input){ made->profiles[s], made->resolvers[s], NULL };
	}
	const struct flame_options options = { 0 };
	assert_int_equal(flame_new(&inputs[FLAME_MAIN], &inputs[FLAME_BASE], &options, &made->flame,
				   &made->err),
			 0);
	struct compare_options comparing = { .per = per, .fail_above_percent = -1 };
	comparing.report.parts[comparing.report.part_count++] = REPORT_IMAGE;
	const struct compare_side before = { made->profiles[FLAME_BASE],
					     made->resolvers[FLAME_BASE], NULL, RUNS };
	const struct compare_side after = { made->profiles[FLAME_MAIN], made->resolvers[FLAME_MAIN],
					    NULL, RUNS };
	assert_int_equal(compare_new(&before, &after, &comparing, &made->comparison, &made->err),
			 0);
	assert_int_equal(flame_runs_init(&made->runs, made->flame, inputs, &options,
					 made->comparison, &made->err),
			 0);
	return made;
}

static void done(struct made *made)
{
	flame_runs_release(&made->runs);
	compare_free(made->comparison);
	flame_free(made->flame);
	for (size_t s = 0; s < FLAME_SIDES; s++) {
		resolver_free(made->resolvers[s]);
		profile_free(made->profiles[s]);
	}
	free(made);
}

static uint64_t samples_of(const struct made *made, enum flame_side side, size_t frame, size_t run)
{
	return made->runs.cells[side][frame * made->flame->columns * RUNS + run].samples;
}

/* Every frame is the sum of its runs, which shows that each went to the right one. */
static void assert_adds_up(const struct made *made)
{
	for (size_t i = 0; i < made->flame->count; i++)
		for (size_t s = 0; s < FLAME_SIDES; s++) {
			uint64_t sum = 0;
			for (size_t run = 0; run < RUNS; run++)
				sum += samples_of(made, (enum flame_side)s, i, run);
			assert_int_equal(
				sum, flame_total(made->flame, (enum flame_side)s, i)[0].samples);
		}
}

/* ---- */

/* One name at several places, and stacks that some runs lack. */
static void each_frame_has_what_its_runs_have(void **state)
{
	(void)state;
	struct test_profile runs[FLAME_SIDES][RUNS];
	for (size_t s = 0; s < FLAME_SIDES; s++)
		for (size_t r = 0; r < RUNS; r++) {
			struct test_profile *run = &runs[s][r];
			*run = test_profile_new();
			test_event(run, "cycles", 1);
			test_stack(run, "main;work", 10 + s, 1);
			test_stack(run, "main;work;work", 20 + r, 1);
			test_stack(run, "start;main;work", 30, 1);
			test_stack(run, "main;twin", 40, 1);
			test_stack(run, "main;twin_[k]", 50, 1);
			if (r == 1)
				test_stack(run, s ? "main;base alone" : "main;after alone", 7, 1);
			test_image(run, IMAGE_FILE, "/lib/one.so", "\x01");
			test_stack(run, "main;work", 3 + r, 1);
		}
	struct made *made = make(runs, "raw");
	assert_adds_up(made);
	assert_int_equal(samples_of(made, FLAME_MAIN, 0, 0), 10 + 20 + 30 + 40 + 50 + 3);
	assert_int_equal(samples_of(made, FLAME_MAIN, 0, 1), 10 + 21 + 30 + 40 + 50 + 4 + 7);
	assert_int_equal(samples_of(made, FLAME_BASE, 0, 0), 11 + 20 + 30 + 40 + 50 + 3);
	assert_int_equal(samples_of(made, FLAME_BASE, 0, 1), 11 + 21 + 30 + 40 + 50 + 4 + 7);
	done(made);
}

static uint32_t frame_of(const struct flame *flame, const char *name)
{
	for (uint32_t i = 0; i < flame->count; i++)
		if (strcmp(flame_label_of(flame, i)->name, name) == 0)
			return i;
	fail_msg("no frame '%s'", name);
	return 0;
}

/* Two runs of 1000 and 3000 of 10,000 samples: X^2 = 2 * 1000^2 / 2000, over 1 - 0.2 as shares of
 * totals are compared, and one of 2 degrees. Decimals of the other side change none of it. */
static void runs_scatter_alike_in_other_decimals(void **state)
{
	(void)state;
	for (size_t finer = 0; finer < FLAME_SIDES; finer++) {
		struct test_profile runs[FLAME_SIDES][RUNS];
		for (size_t s = 0; s < FLAME_SIDES; s++)
			for (size_t r = 0; r < RUNS; r++) {
				uint64_t weight = s == finer ? 1000 : 1;
				uint64_t noisy = s == FLAME_MAIN ? 1000 + 2000 * r : 2000;
				runs[s][r] = test_profile_new();
				test_event_full(&runs[s][r], &(struct profile_event){
								     .name = span_of_text("cycles"),
								     .scale = s == finer ? 3 : 0,
								     .sampled = 1,
								     .period = 1 });
				test_stack(&runs[s][r], "main;noisy", noisy, weight);
				test_stack(&runs[s][r], "main;rest", 10000 - noisy, weight);
			}
		struct made *made = make(runs, "total");
		const uint32_t noisy = frame_of(made->flame, "noisy");
		struct difference_noise noise;
		assert_int_equal(flame_runs_noise(&made->runs, 0, &noisy, 1, &noise), 0);
		assert_true(noise.factor > 624 && noise.factor < 626);
		done(made);
	}
}

/* So many functions that one calls. Looking through them for each would take minutes. */
#define WIDE 60000

static void a_wide_graph_takes_no_longer_a_frame(void **state)
{
	(void)state;
	struct test_profile runs[FLAME_SIDES][RUNS];
	for (size_t s = 0; s < FLAME_SIDES; s++)
		for (size_t r = 0; r < RUNS; r++) {
			runs[s][r] = test_profile_new();
			test_event(&runs[s][r], "cycles", 1);
			for (size_t i = 0; i < WIDE; i++) {
				char stack[32];
				snprintf(stack, sizeof(stack), "main;f%zu", i);
				test_stack(&runs[s][r], stack, 1 + (i + r) % 3, 1);
			}
		}
	struct made *made = make(runs, "raw");
	assert_true(made->flame->count > WIDE);
	assert_adds_up(made);
	done(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_frame_has_what_its_runs_have),
		cmocka_unit_test(runs_scatter_alike_in_other_decimals),
		cmocka_unit_test(a_wide_graph_takes_no_longer_a_frame),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
