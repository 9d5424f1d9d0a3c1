/*
 * bench-cycles PROFILE - what it costs to estimate the executions and cycles of every
 * sampled procedure of a profile: seconds and memory by step, and the slowest procedures.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "analyze/cycles/cycles.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/profile_file.h"

struct tally {
	size_t procedures, without_code, blocks, instructions;
	double samples, without_code_samples;
	double slowest_s;
	const char *slowest;
};

static double seconds_since(uint64_t start_ns)
{
	return (double)(clock_monotonic_ns() - start_ns) * 1e-9;
}

static int take_one(struct cycles *cycles, size_t position, struct tally *tally)
{
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = NULL;
	const struct annotate_procedure *asked = &cycles_index(cycles)->procedures[position];
	struct error err;
	uint64_t start_ns = clock_monotonic_ns();
	if (cycles_is_counted_elsewhere(cycles, position))
		return 0;
	int ret = cycles_of_procedure(cycles, position, &found, &err);
	double seconds = seconds_since(start_ns);
	if (ret == -ENODATA) {
		tally->without_code++;
		tally->without_code_samples += (double)asked->cells[0].samples;
		return 0;
	}
	if (ret < 0) {
		fprintf(stderr, "bench-cycles: %s: %s\n", asked->procedure->name, err.text);
		return ret;
	}
	tally->procedures++;
	tally->blocks += found->cfg.graph.block_count;
	tally->instructions += found->cfg.instruction_count;
	tally->samples += found->whole.samples;
	if (seconds > tally->slowest_s) {
		tally->slowest_s = seconds;
		tally->slowest = asked->procedure->name;
	}
	return 0;
}

static int measure(const char *path, struct error *err)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	CLEANUP(annotate_index_freep) struct annotate_index *index = NULL;
	CLEANUP(cycles_freep) struct cycles *cycles = NULL;
	const struct resolver_options naming = { .stash_only = true };
	const struct cycles_options options = { 0 };
	struct tally tally = { 0 };
	uint64_t start_ns = clock_monotonic_ns();
	int ret = profile_file_read(path, &profile, NULL, err);
	if (ret == 0)
		ret = resolver_new(profile, &naming, &resolver, err);
	if (ret == 0)
		ret = event_columns_init(&columns, profile, NULL, 0, err);
	if (ret == 0)
		ret = annotate_index_new(profile, resolver, &columns, &index, err);
	if (ret == 0)
		ret = cycles_new(index, &options, &cycles, err);
	if (ret < 0)
		return ret;
	double read_s = seconds_since(start_ns);
	start_ns = clock_monotonic_ns();
	for (size_t i = 0; i < index->count && ret == 0; i++)
		ret = take_one(cycles, i, &tally);
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	printf("%zu procedures, %zu blocks, %zu instructions, %.0f samples; %zu more without code "
	       "(%.0f samples)\n",
	       tally.procedures, tally.blocks, tally.instructions, tally.samples,
	       tally.without_code, tally.without_code_samples);
	printf("read and sorted in %.3f s, cycles in %.3f s, at most %ld MiB; slowest %.3f s "
	       "(%s)\n",
	       read_s, seconds_since(start_ns), used.ru_maxrss / 1024, tally.slowest_s,
	       tally.slowest ? tally.slowest : "none");
	return ret;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	if (argc != 2) {
		fprintf(stderr, "usage: bench-cycles PROFILE\n");
		return 2;
	}
	if (measure(argv[1], &err) < 0) {
		fprintf(stderr, "bench-cycles: %s\n", err.text);
		return 1;
	}
	return 0;
}
