/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "analyze/counted/repeated.h"
#include "base/error.h"
#include "base/random.h"

#define ROUNDS	 12
#define COMMANDS 2
#define MEASURES 40

struct story {
	double values[MEASURES][ROUNDS * COMMANDS];
	struct run_summary summaries[MEASURES][COMMANDS];
	struct run_comparison comparisons[MEASURES][COMMANDS];
	struct repeated_measure measures[MEASURES];
	struct repeated repeated;
};

/* Values around 1000, the second command's larger by `change`, of all measures but the first. */
static void tell(struct story *story, double change_of_first, double change_of_others)
{
	struct random_state random = random_seed(1);
	*story = (struct story){ 0 };
	for (size_t m = 0; m < MEASURES; m++) {
		double change = m ? change_of_others : change_of_first;
		for (size_t r = 0; r < ROUNDS; r++) {
			story->values[m][r * COMMANDS] = 1000 + 10 * random_unit(&random);
			story->values[m][r * COMMANDS + 1] =
				(1000 + 10 * random_unit(&random)) * (1 + change);
		}
		story->measures[m] = (struct repeated_measure){
			.name = "m",
			.unit = "s",
			.values = story->values[m],
			.summaries = story->summaries[m],
			.comparisons = story->comparisons[m],
		};
	}
	story->repeated = (struct repeated){ .commands = COMMANDS,
					     .rounds = ROUNDS,
					     .measures = story->measures,
					     .measure_count = MEASURES };
}

static void summarise(struct story *story)
{
	struct error err = { 0 };
	if (repeated_summarise(&story->repeated, &err) < 0)
		fail_msg("%s", err.text);
}

static void each_measure_has_its_own_runs(void **state)
{
	(void)state;
	static struct story story;
	tell(&story, 0.1, 0);
	story.values[3][4 * COMMANDS] = NAN;
	summarise(&story);
	assert_int_equal(story.summaries[0][0].counted, ROUNDS);
	assert_int_equal(story.summaries[3][0].counted, ROUNDS - 1);
	assert_int_equal(story.summaries[3][0].absent, 1);
	assert_int_equal(story.comparisons[3][0].left_out, 1);
	assert_int_equal(story.comparisons[0][0].verdict, RUN_MORE);
	assert_true(fabs(story.comparisons[0][0].change.value - 0.1) < 0.01);
}

static void the_main_measure_is_judged_by_itself(void **state)
{
	(void)state;
	static struct story story;
	tell(&story, 0.1, 0);
	summarise(&story);
	/* among 40, its q would be larger than its p */
	assert_true(story.comparisons[0][0].q == story.comparisons[0][0].p);
	story.repeated.main = 1;
	summarise(&story);
	assert_true(story.comparisons[0][0].q > story.comparisons[0][0].p);
	assert_true(story.comparisons[1][0].q == story.comparisons[1][0].p);
}

static void of_many_measures_that_are_alike_few_are_found(void **state)
{
	(void)state;
	static struct story story;
	tell(&story, 0, 0);
	summarise(&story);
	size_t found = 0, alone = 0;
	for (size_t m = 1; m < MEASURES; m++) {
		enum run_verdict verdict = story.comparisons[m][0].verdict;
		found += verdict == RUN_MORE || verdict == RUN_LESS;
		alone += story.comparisons[m][0].p <= 1 - RUN_LEVEL;
	}
	assert_true(found == 0);
	/* the seed is one in which chance found something in a measure alone */
	assert_true(alone > 0);
}

static void one_command_has_nothing_to_be_compared_with(void **state)
{
	(void)state;
	static struct story story;
	tell(&story, 0, 0);
	story.repeated.commands = 1;
	story.repeated.rounds = ROUNDS * COMMANDS;
	summarise(&story);
	assert_int_equal(story.summaries[0][0].counted, ROUNDS * COMMANDS);
	assert_int_equal(story.comparisons[0][0].rounds, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_measure_has_its_own_runs),
		cmocka_unit_test(the_main_measure_is_judged_by_itself),
		cmocka_unit_test(of_many_measures_that_are_alike_few_are_found),
		cmocka_unit_test(one_command_has_nothing_to_be_compared_with),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
