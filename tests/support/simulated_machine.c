/*
 * The machine's figures as its file has them, and the samples that a profiler takes there.
 */
#include "support/simulated_machine.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "support/allocated.h"
#include "support/poisson.h"

/* ---- its figures */

static const struct {
	const char *key;
	size_t offset;
} figures[] = {
	{ "width", offsetof(struct simulated_machine, width) },
	{ "memory-ports", offsetof(struct simulated_machine, memory_ports) },
	{ "load-operand", offsetof(struct simulated_machine, load_operand) },
	{ "read-miss", offsetof(struct simulated_machine, read_miss) },
	{ "read-last-miss", offsetof(struct simulated_machine, read_last_miss) },
	{ "write-last-miss", offsetof(struct simulated_machine, write_last_miss) },
	{ "fetch-miss", offsetof(struct simulated_machine, fetch_miss) },
	{ "fetch-last-miss", offsetof(struct simulated_machine, fetch_last_miss) },
	{ "mispredict", offsetof(struct simulated_machine, mispredict) },
	{ "latency-error", offsetof(struct simulated_machine, latency_error) },
	{ "overlap", offsetof(struct simulated_machine, overlap) },
	{ "translation-miss", offsetof(struct simulated_machine, translation_miss) },
	{ "translation-ratio", offsetof(struct simulated_machine, translation_ratio) },
	{ "store-miss", offsetof(struct simulated_machine, store_miss) },
	{ "divide-more", offsetof(struct simulated_machine, divide_more) },
};

static double *figure_named(struct simulated_machine *machine, const char *key)
{
	for (size_t i = 0; i < COUNT_OF(figures); i++)
		if (strcmp(figures[i].key, key) == 0)
			return (double *)((char *)machine + figures[i].offset);
	for (int class = 0; strncmp(key, "latency.", 8) == 0 && class < LATENCY_CLASSES; class ++)
		if (strcmp(latency_class_name((enum latency_class) class), key + 8) == 0)
			return &machine->latency[class];
	return NULL;
}

void simulated_machine_read_file(const char *path, struct simulated_machine *out)
{
	CLEANUP(close_file) FILE *file = fopen(path, "r");
	char line[256], key[64];
	*out = (struct simulated_machine){ 0 };
	for (int class = 0; class < LATENCY_CLASSES; class ++)
		out->latency[class] = 1;
	for (int number = 1; file && fgets(line, sizeof(line), file); number++) {
		double value;
		int found = line[0] == '#' ? 0 : sscanf(line, "%63s %lf", key, &value);
		if (found <= 0)
			continue;
		double *figure = found == 2 ? figure_named(out, key) : NULL;
		if (!figure) {
			fprintf(stderr, "'%s', line %d: no figure of the simulated machine\n", path,
				number);
			exit(1);
		}
		*figure = value;
	}
	if (!file || out->width < 1 || out->memory_ports < 1) {
		fprintf(stderr, "'%s' describes no machine\n", path);
		exit(1);
	}
}

void simulated_program_release(struct simulated_program *program)
{
	for (uint32_t p = 0; p < program->count; p++) {
		free(program->procedures[p].costs);
		free(program->procedures[p].samples);
	}
	free(program->procedures);
	*program = (struct simulated_program){ 0 };
}

enum simulated_cause simulated_dominant(const struct simulated_cost *cost)
{
	enum simulated_cause most = SIMULATED_CAUSES;
	for (int cause = 0; cause < SIMULATED_EARLIER; cause++)
		if (cost->stalls[cause] > (most == SIMULATED_CAUSES ? 0 : cost->stalls[most]))
			most = (enum simulated_cause)cause;
	return most;
}

/* ---- samples */

double simulated_sample_cycles(struct simulated_program *program, struct random_state *random,
			       double samples)
{
	double period = program->cycles / (samples * program->cycles_ratio);
	for (uint32_t p = 0; p < program->count; p++) {
		struct simulated_procedure *procedure = &program->procedures[p];
		for (uint32_t i = 0; i < procedure->exact->instruction_count; i++)
			procedure->samples[i] =
				(double)poisson(random, procedure->costs[i].cycles / period);
	}
	return period;
}

/*
 * How often an instruction is the next one after an executed one. The one behind a call follows the
 * callee's last; an entry follows an instruction of another procedure.
 */
static void follow(const struct exact_procedure *exact, double *followed)
{
	for (uint32_t block = 0; block < exact->graph.block_count; block++) {
		struct flow_range range = exact->blocks[block];
		for (uint32_t i = range.first + 1; i < range.end; i++)
			followed[i] += exact->block_executions[block];
	}
	for (size_t i = 0; i < exact->graph.edge_count; i++) {
		uint32_t to = exact->graph.edges[i].to;
		if (to != FLOW_OUTSIDE)
			followed[exact->blocks[to].first] += exact->edge_executions[i];
	}
}

double simulated_sample_executions(struct simulated_program *program, struct random_state *random,
				   double samples)
{
	double period = program->executions / (samples * program->executed_ratio);
	for (uint32_t p = 0; p < program->count; p++) {
		struct simulated_procedure *procedure = &program->procedures[p];
		uint32_t count = procedure->exact->instruction_count;
		CLEANUP(free_pointer) double *followed = allocated(count, sizeof(*followed));
		follow(procedure->exact, followed);
		for (uint32_t i = 0; i < count; i++)
			procedure->samples[i] = (double)poisson(random, followed[i] / period);
	}
	return period;
}
