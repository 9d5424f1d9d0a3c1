/*
 * bench-branch-stacks PROFILE [SYMFS] - executions of a recording with branch stacks, estimated
 * from its samples alone, beside those that its stacks count: % of samples in blocks, and of edges'
 * executions, that agree within 5, 10 and 15 %, after one factor a procedure.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/cycles/cycles.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/profile_file.h"

#define LIMITS 3
static const double limits[LIMITS] = { 0.05, 0.10, 0.15 };

struct agreement {
	double weight, within[LIMITS];
};

struct pair {
	double ratio; /* by samples alone to counted */
	double weight;
};

struct tally {
	size_t procedures;
	struct agreement samples, edges;
};

static int by_ratio(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;
	return (a->ratio > b->ratio) - (a->ratio < b->ratio);
}

/* Such that half of the weight lies on each side. */
static double median(struct pair *pairs, size_t count)
{
	double all = 0, sum = 0;
	qsort(pairs, count, sizeof(*pairs), by_ratio);
	for (size_t i = 0; i < count; i++)
		all += pairs[i].weight;
	for (size_t i = 0; i < count; i++) {
		sum += pairs[i].weight;
		if (2 * sum >= all)
			return pairs[i].ratio;
	}
	return NAN;
}

static void judge(struct agreement *agreement, double ratio, double weight)
{
	agreement->weight += weight;
	for (int limit = 0; limit < LIMITS; limit++)
		if (fabs(ratio - 1) <= limits[limit])
			agreement->within[limit] += weight;
}

static double samples_of_block(const struct procedure_cycles *procedure, uint32_t block)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	double sum = 0;
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		sum += procedure->samples[i];
	return sum;
}

static int compare(const struct procedure_cycles *counted, const struct procedure_cycles *alone,
		   struct tally *tally)
{
	const struct flow_graph *graph = &counted->cfg.graph;
	CLEANUP(free_pointer)
	struct pair *pairs = calloc((size_t)graph->block_count + 1, sizeof(*pairs));
	size_t count = 0;
	if (!pairs)
		return -ENOMEM;
	for (uint32_t b = 0; b < graph->block_count; b++) {
		double weight = samples_of_block(counted, b);
		double truth = counted->frequencies.blocks[b].value;
		if (weight > 0 && truth > 0)
			pairs[count++] =
				(struct pair){ alone->frequencies.blocks[b].value / truth, weight };
	}
	double factor = median(pairs, count);
	for (size_t i = 0; i < count; i++)
		judge(&tally->samples, pairs[i].ratio / factor, pairs[i].weight);
	for (size_t e = 0; e < graph->edge_count; e++) {
		double truth = counted->frequencies.edges[e].value;
		if (truth > 0)
			judge(&tally->edges, alone->frequencies.edges[e].value / truth / factor,
			      truth);
	}
	tally->procedures++;
	return 0;
}

static int take_all(struct cycles *with, struct cycles *without, struct tally *tally)
{
	const struct annotate_index *index = cycles_index(with);
	for (size_t i = 0; i < index->count; i++) {
		CLEANUP(procedure_cycles_freep) struct procedure_cycles *counted = NULL;
		CLEANUP(procedure_cycles_freep) struct procedure_cycles *alone = NULL;
		if (cycles_is_counted_elsewhere(with, i))
			continue;
		int ret = cycles_of_procedure(with, i, &counted, NULL);
		if (ret == 0 && counted->model == FREQUENCY_COUNTS)
			ret = cycles_of_procedure(without, i, &alone, NULL);
		if (ret == 0 && alone)
			ret = compare(counted, alone, tally);
		if (ret == -ENOMEM)
			return ret;
	}
	return 0;
}

static void print(const char *what, const struct agreement *agreement)
{
	printf("%s within 5/10/15 %%:", what);
	for (int limit = 0; limit < LIMITS; limit++)
		printf(" %.0f", 100 * agreement->within[limit] / agreement->weight);
	putchar('\n');
}

static int measure(const char *path, const char *symfs, struct error *err)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	CLEANUP(annotate_index_freep) struct annotate_index *index = NULL;
	CLEANUP(cycles_freep) struct cycles *with = NULL;
	CLEANUP(cycles_freep) struct cycles *without = NULL;
	const struct resolver_options naming = { .symfs = symfs };
	const struct cycles_options plain = { 0 }, samples_alone = { .no_evidence = true };
	struct tally tally = { 0 };
	int ret = profile_file_read(path, &profile, NULL, err);
	if (ret == 0)
		ret = resolver_new(profile, &naming, &resolver, err);
	if (ret == 0)
		ret = event_columns_init(&columns, profile, NULL, 0, err);
	if (ret == 0)
		ret = annotate_index_new(profile, resolver, &columns, &index, err);
	if (ret == 0)
		ret = cycles_new(index, &plain, &with, err);
	if (ret == 0)
		ret = cycles_new(index, &samples_alone, &without, err);
	if (ret == 0)
		ret = take_all(with, without, &tally);
	if (ret < 0)
		return ret;
	printf("%zu procedures with branch stacks and code, %.0f samples, processor %s\n",
	       tally.procedures, tally.samples.weight, cycles_pipeline(with)->pipeline->name);
	if (tally.procedures) {
		print("samples", &tally.samples);
		print("edges", &tally.edges);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: bench-branch-stacks PROFILE [SYMFS]\n");
		return 2;
	}
	if (measure(argv[1], argc > 2 ? argv[2] : NULL, &err) < 0) {
		fprintf(stderr, "bench-branch-stacks: %s\n", err.text);
		return 1;
	}
	return 0;
}
