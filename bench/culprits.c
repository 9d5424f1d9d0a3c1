/*
 * culprits MACHINES PROGRAM.exact... - how near the culprits of stalls come to what a
 * simulated machine waited for (the files of the folder MACHINES), with samples of cycles
 * alone, and with samples of events as bounds. Sums of SEEDS draws.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "machine/pipeline.h"
#include "support/culprit_accuracy.h"

#define SEEDS	      1
#define FIRST_SEED    1
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

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

static void print_row(const char *name, const struct culprit_accuracy *a)
{
	double stalls = a->stalls - a->misplaced;
	printf("%-8s stall %3.0f (true %3.0f, misplaced %3.0f) gain %4.1f noise %4.1f | listed "
	       "%5.1f, none true %4.1f, causes %4.2f, sole %3.0f right %5.1f, unexplained %4.1f | "
	       "widths",
	       name, percent(a->stalls, a->cycles), percent(a->truth, a->cycles),
	       percent(a->misplaced, a->cycles), percent(a->gain, a->cycles),
	       percent(a->noise, a->cycles), percent(a->listed, stalls),
	       percent(a->without, stalls), a->causes / stalls, percent(a->sole, stalls),
	       percent(a->right, a->sole), percent(a->unexplained, stalls));
	for (enum compared_cause cause = 0; cause < COMPARED_CAUSES; cause++)
		printf(" %3.0f", percent(a->whole.high[cause] - a->whole.low[cause], a->stalls));
	printf(" | r");
	for (enum compared_cause cause = 0; cause < COMPARED_CAUSES; cause++)
		printf(" %5.2f", culprit_accuracy_correlation(a, cause));
	printf("\n");
}

static const char *name_of(const char *path)
{
	const char *name = strrchr(path, '/');
	return name ? name + 1 : path;
}

int main(int argc, char **argv)
{
	CLEANUP(pipelines_freep) struct pipelines *pipelines = NULL;
	if (argc < 3 || pipelines_new(&pipelines, NULL) < 0)
		return 2;
	const struct pipeline *pipeline = pipelines_by_name(pipelines, "generic-in-order");
	printf("SIMULATION, %d draws, %% of cycles or of dynamic stalls; widths and correlations:",
	       SEEDS);
	for (enum compared_cause cause = 0; cause < COMPARED_CAUSES; cause++)
		printf(" %s", compared_cause_name(cause));
	printf("\n");
	for (size_t s = 0; s < COUNT_OF(settings); s++) {
		char path[4096];
		struct simulated_machine machine;
		CLEANUP(culprit_accuracy_release) struct culprit_accuracy all = { 0 };
		snprintf(path, sizeof(path), "%s/%s.txt", argv[1], settings[s].machine);
		simulated_machine_read_file(path, &machine);
		printf("%s\n", settings[s].name);
		for (int f = 2; f < argc; f++) {
			CLEANUP(culprit_accuracy_release) struct culprit_accuracy one = { 0 };
			CLEANUP(exact_program_release) struct exact_program exact;
			char name[9];
			exact_program_read_file(argv[f], &exact);
			for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
				CLEANUP(simulated_program_release) struct simulated_program program;
				struct random_state random = random_seed(seed);
				simulated_program_run(&exact, &machine, seed, &program);
				double period = simulated_sample_cycles(&program, &random, SAMPLES);
				culprit_accuracy_add(&one, &program, pipeline, period,
						     settings[s].counted, EVENT_SAMPLES, &machine,
						     &random);
				random = random_seed(seed + 1000);
				culprit_accuracy_add(&all, &program, pipeline, period,
						     settings[s].counted, EVENT_SAMPLES, &machine,
						     &random);
			}
			snprintf(name, sizeof(name), "%.*s", (int)strcspn(name_of(argv[f]), "."),
				 name_of(argv[f]));
			print_row(name, &one);
		}
		print_row("all", &all);
		fflush(stdout);
	}
	return 0;
}
