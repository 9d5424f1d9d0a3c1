/*
 * culprits MACHINES PROGRAM.exact... - how near the culprits of stalls come to what a
 * simulated machine waited for (the files of the folder MACHINES), with samples of cycles
 * alone, and with samples of events as bounds. By program over DRAWS draws, and of all
 * programs together the mean, the least and the most of single draws.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "pipelines/pipeline.h"
#include "support/culprit_accuracy.h"

#define DRAWS	      5
#define SAMPLES	      1e6
#define EVENT_SAMPLES 1e5

static const struct {
	const char *name, *machine;
	enum counted_events counted;
} settings[] = {
	{ "cycles alone", "in-order", COUNT_NOTHING },
	{ "cycles and misses of instruction fetches", "in-order", COUNT_FETCH_MISSES },
	{ "cycles, misses of caches and mispredictions", "in-order", COUNT_ALL_EVENTS },
	{ "rough machine, cycles alone", "rough", COUNT_NOTHING },
	{ "rough machine, cycles, misses and mispredictions", "rough", COUNT_ALL_EVENTS },
};

/* One figure for each column; NaN: not known. */
enum { OF_WHOLE = 10, FIGURES = OF_WHOLE + 2 * COMPARED_CAUSES };

static const char *const figure_names[OF_WHOLE] = { "stalls", "true",	    "gain",   "noise",
						    "listed", "none-true",  "causes", "sole",
						    "right",  "unexplained" };

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

static void figures_of(const struct culprit_accuracy *a, double *out)
{
	const double whole[OF_WHOLE] = {
		percent(a->stalls, a->cycles), percent(a->truth, a->cycles),
		percent(a->gain, a->cycles),   percent(a->noise, a->cycles),
		percent(a->listed, a->stalls), percent(a->without, a->stalls),
		a->causes / a->stalls,	       percent(a->sole, a->stalls),
		percent(a->right, a->sole),    percent(a->unexplained, a->stalls),
	};
	memcpy(out, whole, sizeof(whole));
	for (enum compared_cause cause = 0; cause < COMPARED_CAUSES; cause++) {
		out[OF_WHOLE + cause] =
			percent(a->whole.high[cause] - a->whole.low[cause], a->stalls);
		out[OF_WHOLE + COMPARED_CAUSES + cause] = culprit_accuracy_correlation(a, cause);
	}
}

static void print_head(void)
{
	printf("SIMULATION, %d draws: %% of cycles (4), of dynamic stalls\n%-8s", DRAWS, "");
	for (int i = 0; i < OF_WHOLE; i++)
		printf(" %11s", figure_names[i]);
	printf(" | widths:");
	for (enum compared_cause cause = 0; cause < COMPARED_CAUSES; cause++)
		printf(" %s", compared_cause_name(cause));
	printf(" | r of the same\n");
}

static void print_row(const char *name, const double *figures)
{
	printf("%-8s", name);
	for (int i = 0; i < OF_WHOLE; i++)
		printf(" %11.2f", figures[i]);
	printf(" |");
	for (int i = OF_WHOLE; i < OF_WHOLE + COMPARED_CAUSES; i++)
		printf(" %5.1f", figures[i]);
	printf(" |");
	for (int i = OF_WHOLE + COMPARED_CAUSES; i < FIGURES; i++)
		printf(" %5.2f", figures[i]);
	printf("\n");
}

static void print_draws(double draws[DRAWS][FIGURES])
{
	double mean[FIGURES], least[FIGURES], most[FIGURES];
	for (int i = 0; i < FIGURES; i++) {
		double sum = 0;
		least[i] = most[i] = draws[0][i];
		for (int d = 0; d < DRAWS; d++) {
			sum += draws[d][i];
			least[i] = fmin(least[i], draws[d][i]);
			most[i] = fmax(most[i], draws[d][i]);
		}
		mean[i] = sum / DRAWS;
	}
	print_row("mean", mean);
	print_row("least", least);
	print_row("most", most);
}

static const char *name_of(const char *path)
{
	const char *name = strrchr(path, '/');
	return name ? name + 1 : path;
}

static void measure(const struct exact_program *exact, const struct simulated_machine *machine,
		    const struct pipeline *pipeline, enum counted_events counted, uint64_t seed,
		    struct culprit_accuracy *one, struct culprit_accuracy *all)
{
	CLEANUP(simulated_program_release) struct simulated_program program;
	CLEANUP(culprit_accuracy_release) struct culprit_accuracy draw = { 0 };
	struct random_state random = random_seed(seed);
	simulated_program_run(exact, machine, seed, &program);
	double period = simulated_sample_cycles(&program, &random, SAMPLES);
	culprit_accuracy_add(&draw, &program, pipeline, period, counted, EVENT_SAMPLES, machine,
			     &random);
	culprit_accuracy_add_up(one, &draw);
	culprit_accuracy_add_up(all, &draw);
}

static void print_setting(const char *machines, size_t setting, const struct pipeline *pipeline,
			  char **programs, int count)
{
	char path[4096];
	struct simulated_machine machine;
	struct culprit_accuracy all[DRAWS] = { { 0 } };
	double draws[DRAWS][FIGURES], figures[FIGURES];
	snprintf(path, sizeof(path), "%s/%s.txt", machines, settings[setting].machine);
	simulated_machine_read_file(path, &machine);
	printf("%s\n", settings[setting].name);
	for (int f = 0; f < count; f++) {
		CLEANUP(culprit_accuracy_release) struct culprit_accuracy one = { 0 };
		CLEANUP(exact_program_release) struct exact_program exact;
		char name[9];
		exact_program_read_file(programs[f], &exact);
		for (int d = 0; d < DRAWS; d++)
			measure(&exact, &machine, pipeline, settings[setting].counted,
				(uint64_t)d + 1, &one, &all[d]);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(name_of(programs[f]), "."),
			 name_of(programs[f]));
		figures_of(&one, figures);
		print_row(name, figures);
	}
	for (int d = 0; d < DRAWS; d++) {
		figures_of(&all[d], draws[d]);
		culprit_accuracy_release(&all[d]);
	}
	print_draws(draws);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	CLEANUP(pipelines_freep) struct pipelines *pipelines = NULL;
	if (argc < 3 || pipelines_new(&pipelines, NULL) < 0)
		return 2;
	const struct pipeline *pipeline = pipelines_by_name(pipelines, "generic-in-order");
	print_head();
	for (size_t s = 0; s < COUNT_OF(settings); s++)
		print_setting(argv[1], s, pipeline, argv + 2, argc - 2);
	return 0;
}
