/*
 * How near frequencies from samples come to the exact counts of real programs
 * (tests/data/exact), on the simulated machines of tests/data/simulated: the figures of
 * docs/methods.md, "Frequencies", under "Real programs, simulated", from fewer draws.
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "pipelines/pipeline.h"
#include "support/accuracy.h"
#include "support/long_form.h"

#define SEEDS 2

/*
 * The first four are those that constants of frequency.c were chosen on. Python's loop of
 * computed gotos takes seconds, longer than all others: it is drawn once, and only in the long
 * form.
 */
static const char *const names[] = { "python3", "gzip", "bzip2",   "lua", "xz",
				     "zstd",	"perl", "sqlite3", "cc1" };
#define PROGRAMS COUNT_OF(names)
#define QUICK	 1
#define MOST	 (LONG_FORM ? 0 : QUICK)
#define UNTUNED	 4
static struct exact_program programs[PROGRAMS];
static struct pipelines *pipelines;

static char *data_path(const char *folder, const char *name, const char *end)
{
	const char *source = getenv("SOURCE");
	char *path = NULL;
	assert_true(asprintf(&path, "%s/tests/data/%s/%s%s", source ? source : CULPRIT_SOURCE,
			     folder, name, end) > 0);
	return path;
}

static int read_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++) {
		CLEANUP(free_pointer) char *path = data_path("exact", names[i], ".exact");
		exact_program_read_file(path, &programs[i]);
	}
	return pipelines_new(&pipelines, NULL);
}

static int release_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++)
		exact_program_release(&programs[i]);
	pipelines_free(pipelines);
	return 0;
}

/* Means over programs, in percent. */
struct figures {
	double within[3], edges;
	double high, high_right; /* share of samples; of these within 10 % */
	double wrong, wrong_low; /* share that is more than 15 % off; of that, marked low */
	double held;		 /* of intervals */
};

static struct accuracy accuracy_of(const struct exact_program *exact,
				   const struct simulated_machine *machine,
				   enum frequency_model model, double samples, uint64_t seeds)
{
	const struct pipeline *pipeline = pipelines_by_name(pipelines, "generic-in-order");
	struct accuracy accuracy = { 0 };
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		CLEANUP(simulated_program_release) struct simulated_program program;
		struct random_state random = random_seed(seed);
		simulated_program_run(exact, machine, seed, &program);
		double period = model == FREQUENCY_EXECUTIONS
					? simulated_sample_executions(&program, &random, samples)
					: simulated_sample_cycles(&program, &random, samples);
		accuracy_add(&accuracy, &program, model, pipeline, period);
	}
	return accuracy;
}

static void add(struct figures *sum, const struct accuracy *accuracy, size_t count)
{
	double part = 100.0 / (double)count, classes = 0, held = 0;
	for (int i = 0; i < 3; i++)
		sum->within[i] += part * accuracy->within[i] / accuracy->samples;
	for (int i = 0; i < ACCURACY_GRADES; i++) {
		classes += accuracy->classes[i];
		held += accuracy->held[i];
	}
	double high = accuracy->graded[FREQUENCY_HIGH];
	sum->edges += part * accuracy->edges_within / accuracy->edges;
	sum->high += part * high / accuracy->samples;
	sum->high_right += part * (high > 0 ? accuracy->graded_right[FREQUENCY_HIGH] / high : 1);
	sum->wrong += part * accuracy->wrong / accuracy->samples;
	sum->wrong_low += part * accuracy->wrong_low / accuracy->samples;
	sum->held += part * held / classes;
}

/* Of the programs from `first` on. */
static struct figures mean_of(const struct accuracy *accuracies, size_t first)
{
	struct figures mean = { 0 };
	for (size_t i = first; i < PROGRAMS; i++)
		add(&mean, &accuracies[i], PROGRAMS - first);
	mean.wrong_low *= 100 / mean.wrong;
	print_message("%zu programs: %.0f/%.0f/%.0f, edges %.0f; high %.0f, of it right %.0f; "
		      "wrong %.1f, of it low %.0f; intervals hold %.1f\n",
		      PROGRAMS - first, mean.within[0], mean.within[1], mean.within[2], mean.edges,
		      mean.high, mean.high_right, mean.wrong, mean.wrong_low, mean.held);
	return mean;
}

static void measure(const char *machine_name, enum frequency_model model, double samples,
		    size_t first, struct accuracy out[PROGRAMS])
{
	CLEANUP(free_pointer) char *path = data_path("simulated", machine_name, ".txt");
	struct simulated_machine machine;
	simulated_machine_read_file(path, &machine);
	for (size_t i = first; i < PROGRAMS; i++)
		out[i] = accuracy_of(&programs[i], &machine, model, samples, i ? SEEDS : 1);
}

static void at_least(const char *what, double value, double least)
{
	if (!(value >= least))
		fail_msg("%s: %.1f %%, expected at least %g %%", what, value, least);
}

static void samples_of_cycles_tell_executions(void **state)
{
	(void)state;
	struct accuracy accuracies[PROGRAMS];
	measure("in-order", FREQUENCY_CYCLES_IN_ORDER, 1e6, MOST, accuracies);
	struct figures found = mean_of(accuracies, MOST);
	at_least("within 5 %", found.within[0], 90);
	at_least("within 10 %", found.within[1], 95);
	at_least("within 15 %", found.within[2], 97);
	at_least("edges within 10 %", found.edges, 92);
	at_least("high", found.high, 65);
	at_least("right of what is high", found.high_right, 98);
	at_least("low of what is wrong", found.wrong_low, 95);
	at_least("intervals", found.held, 93);
	at_least("intervals not too wide", 97, found.held);

	/* and on those that nothing was chosen on */
	found = mean_of(accuracies, UNTUNED);
	at_least("high", found.high, 60);
	at_least("right of what is high", found.high_right, 90);
	at_least("low of what is wrong", found.wrong_low, 95);
	at_least("intervals", found.held, 93);
	at_least("intervals not too wide", 97, found.held);
}

static void tables_that_are_off_cost_little(void **state)
{
	(void)state;
	struct accuracy accuracies[PROGRAMS];
	measure("rough", FREQUENCY_CYCLES_IN_ORDER, 1e6, QUICK, accuracies);
	struct figures found = mean_of(accuracies, QUICK);
	at_least("within 5 %", found.within[0], 78);
	at_least("within 10 %", found.within[1], 92);
	at_least("within 15 %", found.within[2], 95);
	at_least("edges within 10 %", found.edges, 89);
	at_least("right of what is high", found.high_right, 95);
	at_least("intervals", found.held, 90);
}

static void samples_of_instructions_tell_executions(void **state)
{
	(void)state;
	struct accuracy accuracies[PROGRAMS];
	measure("in-order", FREQUENCY_EXECUTIONS, 1e5, QUICK, accuracies);
	struct figures found = mean_of(accuracies, QUICK);
	at_least("within 5 %", found.within[0], 82);
	at_least("within 10 %", found.within[1], 92);
	at_least("within 15 %", found.within[2], 95);
	at_least("edges within 10 %", found.edges, 88);
	at_least("right of what is high", found.high_right, 98);
	at_least("low of what is wrong", found.wrong_low, 95);
	at_least("intervals", found.held, 93);
	at_least("intervals not too wide", 97, found.held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_cycles_tell_executions),
		cmocka_unit_test(tables_that_are_off_cost_little),
		cmocka_unit_test(samples_of_instructions_tell_executions),
	};
	return cmocka_run_group_tests(tests, read_programs, release_programs);
}
