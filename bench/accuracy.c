/*
 * accuracy MACHINES PROGRAM.exact... - how near frequencies from samples come to exact
 * counts, on simulated machines (the files in-order.txt and rough.txt of the folder
 * MACHINES): a row for each program, the mean of the nine, and how far
 * confidence and intervals can be believed. Means of SEEDS draws.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "pipelines/pipeline.h"
#include "support/accuracy.h"

#define SEEDS	      5
#define FIRST_SEED    1
#define MOST_PROGRAMS 64

enum machine { STANDARD, ROUGH, MACHINES };

static const struct setting {
	const char *name;
	enum machine machine;
	enum frequency_model model;
	double samples;
	bool in_table; /* else in the curve alone */
} settings[] = {
	{ "cycles, 1e6", STANDARD, FREQUENCY_CYCLES_IN_ORDER, 1e6, true },
	{ "cycles, rough machine, 1e6", ROUGH, FREQUENCY_CYCLES_IN_ORDER, 1e6, true },
	{ "executions, 1e5", STANDARD, FREQUENCY_EXECUTIONS, 1e5, true },
	{ "cycles, 1e4", STANDARD, FREQUENCY_CYCLES_IN_ORDER, 1e4, false },
	{ "cycles, 1e5", STANDARD, FREQUENCY_CYCLES_IN_ORDER, 1e5, false },
	{ "cycles, 1e7", STANDARD, FREQUENCY_CYCLES_IN_ORDER, 1e7, false },
	{ "executions, 1e4", STANDARD, FREQUENCY_EXECUTIONS, 1e4, false },
	{ "executions, 1e6", STANDARD, FREQUENCY_EXECUTIONS, 1e6, false },
	{ "executions, 1e7", STANDARD, FREQUENCY_EXECUTIONS, 1e7, false },
};

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

struct row {
	double within[3], edges;
	double high, high_right, wrong, wrong_low, held, width;
};

static struct row row_of(const struct accuracy *a)
{
	struct row row;
	double classes = 0, held = 0, widths = 0;
	for (int i = 0; i < 3; i++)
		row.within[i] = percent(a->within[i], a->samples);
	for (int i = 0; i < ACCURACY_GRADES; i++) {
		classes += a->classes[i];
		held += a->held[i];
		widths += a->widths[i];
	}
	row.edges = percent(a->edges_within, a->edges);
	row.high = percent(a->graded[FREQUENCY_HIGH], a->samples);
	row.high_right = percent(a->graded_right[FREQUENCY_HIGH], a->graded[FREQUENCY_HIGH]);
	row.wrong = percent(a->wrong, a->samples);
	row.wrong_low = percent(a->wrong_low, a->samples);
	row.held = percent(held, classes);
	row.width = percent(widths, classes);
	return row;
}

static void print_row(const char *name, const struct row *row)
{
	printf("%-10s %3.0f/%3.0f/%3.0f  %3.0f | high %3.0f, right %3.0f; wrong %4.1f, of it low "
	       "%3.0f; intervals %5.1f +-%2.0f\n",
	       name, row->within[0], row->within[1], row->within[2], row->edges, row->high,
	       row->high_right, row->wrong, percent(row->wrong_low, row->wrong), row->held,
	       row->width);
}

/* Each figure's mean over the rows that have it. */
static struct row mean_of(const struct row *rows, const bool *counts, size_t count)
{
	struct row mean;
	for (size_t k = 0; k < sizeof(mean) / sizeof(double); k++) {
		double sum = 0, weight = 0;
		for (size_t i = 0; i < count; i++) {
			double value = ((const double *)&rows[i])[k];
			if (!counts[i] || isnan(value))
				continue;
			sum += value;
			weight++;
		}
		((double *)&mean)[k] = weight > 0 ? sum / weight : NAN;
	}
	return mean;
}

static void measure(const struct exact_program *exact, const struct simulated_machine *machine,
		    const struct setting *setting, const struct pipeline *pipeline,
		    struct accuracy *out)
{
	for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
		CLEANUP(simulated_program_release) struct simulated_program program;
		struct random_state random = random_seed(seed);
		simulated_program_run(exact, machine, seed, &program);
		double period =
			setting->model == FREQUENCY_EXECUTIONS
				? simulated_sample_executions(&program, &random, setting->samples)
				: simulated_sample_cycles(&program, &random, setting->samples);
		accuracy_add(out, &program, setting->model, pipeline, period);
	}
}

static const char *name_of(char *path)
{
	char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	name[strcspn(name, ".")] = 0;
	return name;
}

/* Of the nine that means are of. */
static bool is_counted(const char *name)
{
	static const char *const nine[] = { "gzip", "bzip2",   "xz",  "zstd", "python3",
					    "perl", "sqlite3", "lua", "cc1" };
	for (size_t i = 0; i < COUNT_OF(nine); i++)
		if (strcmp(nine[i], name) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const char *const files[MACHINES] = { "in-order.txt", "rough.txt" };
	struct simulated_machine machines[MACHINES];
	struct exact_program programs[MOST_PROGRAMS];
	const char *names[MOST_PROGRAMS];
	bool counts[MOST_PROGRAMS];
	struct row rows[MOST_PROGRAMS];
	CLEANUP(pipelines_freep) struct pipelines *pipelines = NULL;
	size_t count = 0;
	if (argc < 3 || argc - 2 > MOST_PROGRAMS || pipelines_new(&pipelines, NULL) < 0)
		return 2;
	for (int i = 0; i < MACHINES; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%s", argv[1], files[i]);
		simulated_machine_read_file(path, &machines[i]);
	}
	for (; (int)count + 2 < argc; count++) {
		exact_program_read_file(argv[count + 2], &programs[count]);
		names[count] = name_of(argv[count + 2]);
		counts[count] = is_counted(names[count]);
	}
	printf("SIMULATION, %d draws: %% of samples within 5/10/15 %%, of edges' executions within "
	       "10 %%\n",
	       SEEDS);
	for (size_t s = 0; s < COUNT_OF(settings); s++) {
		const struct pipeline *pipeline = pipelines_by_name(pipelines, "generic-in-order");
		printf("%s\n", settings[s].name);
		for (size_t i = 0; i < count; i++) {
			struct accuracy accuracy = { 0 };
			measure(&programs[i], &machines[settings[s].machine], &settings[s],
				pipeline, &accuracy);
			rows[i] = row_of(&accuracy);
			if (settings[s].in_table)
				print_row(names[i], &rows[i]);
		}
		struct row mean = mean_of(rows, counts, count);
		print_row("mean", &mean);
		fflush(stdout);
	}
	for (size_t i = 0; i < count; i++)
		exact_program_release(&programs[i]);
	return 0;
}
