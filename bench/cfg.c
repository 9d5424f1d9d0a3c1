/*
 * cfg FILE... - builds the flow graph of every function of each ELF file and finds its
 * classes, and prints what came of it and how long it took, for the first quarter of
 * the functions, the first half and all of them: a row each, with the slowest function.
 * cfg --jumps FILE lists each indirect jump with its targets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analyze/flow/cfg.h"
#include "analyze/flow/flow_classes.h"
#include "analyze/flow/flow_search.h"
#include "base/cleanup.h"
#include "support/elf_space.h"

struct tally {
	size_t functions, instructions, blocks, edges, jumps;
	size_t fates[4], missing[5], bounded, functions_missing;
	size_t classes;
	double seconds, longest_seconds, classes_seconds;
	uint64_t longest;
	size_t longest_instructions;
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void count(const struct cfg *cfg, double seconds, struct tally *tally)
{
	tally->functions++;
	tally->instructions += cfg->instruction_count;
	tally->blocks += cfg->graph.block_count;
	tally->edges += cfg->graph.edge_count;
	tally->jumps += cfg->jump_count;
	tally->functions_missing += cfg->graph.missing_edges;
	tally->seconds += seconds;
	for (size_t i = 0; i < cfg->jump_count; i++) {
		tally->fates[cfg->jumps[i].fate]++;
		tally->missing[cfg->jumps[i].missing]++;
		tally->bounded += cfg->jumps[i].is_bounded;
	}
	if (seconds > tally->longest_seconds) {
		tally->longest_seconds = seconds;
		tally->longest = cfg->first;
		tally->longest_instructions = cfg->instruction_count;
	}
}

static void find_classes(const struct cfg *cfg, struct tally *tally)
{
	struct flow_search search;
	struct flow_classes classes;
	double start = now();
	if (flow_search_run(&cfg->graph, &search) < 0)
		exit(1);
	if (flow_classes_find(&cfg->graph, &search, &classes) < 0)
		exit(1);
	tally->classes += classes.count;
	flow_classes_release(&classes);
	flow_search_release(&search);
	tally->classes_seconds += now() - start;
}

static void list_jumps(const struct cfg *cfg)
{
	static const char *const fates[] = { "table", "pointers", "tail", "unknown" };
	for (size_t i = 0; i < cfg->jump_count; i++) {
		const struct cfg_jump *jump = &cfg->jumps[i];
		printf("%#lx %s table %#lx targets %u%s %s",
		       (unsigned long)cfg->instructions[jump->instruction].vaddr, fates[jump->fate],
		       (unsigned long)jump->table, jump->target_count,
		       jump->is_bounded ? " bounded" : "", cfg_missing_text(jump->missing));
		uint32_t block = cfg_block_at(cfg, cfg->instructions[jump->instruction].vaddr);
		struct flow_ends out = flow_graph_out_of(&cfg->graph, block);
		for (size_t j = 0; j < out.count; j++) {
			uint32_t to = cfg->graph.edges[out.list[j]].to;
			if (to != FLOW_OUTSIDE)
				printf(" >%#lx",
				       (unsigned long)cfg->instructions[cfg->blocks[to].first]
					       .vaddr);
		}
		putchar('\n');
	}
}

static void print(const char *path, const struct tally *tally)
{
	const char *name = strrchr(path, '/');
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	printf("%-16s %6zu functions %8zu instructions %7zu blocks %7zu edges %7zu classes; "
	       "%5zu jumps: %zu table (%zu bounded), %zu pointers, %zu tail, %zu unknown (base "
	       "%zu, table %zu, CPU %zu, effort %zu) in %zu functions; graphs %.2f s, %.2f M/s; "
	       "classes "
	       "%.2f s; %ld MiB at most; slowest %.3f s at %#lx, %zu instructions\n",
	       name ? name + 1 : path, tally->functions, tally->instructions, tally->blocks,
	       tally->edges, tally->classes, tally->jumps, tally->fates[CFG_JUMP_TABLE],
	       tally->bounded, tally->fates[CFG_JUMP_POINTERS], tally->fates[CFG_JUMP_TAIL],
	       tally->fates[CFG_JUMP_UNKNOWN], tally->missing[CFG_MISSING_BASE],
	       tally->missing[CFG_MISSING_TABLE], tally->missing[CFG_MISSING_CPU],
	       tally->missing[CFG_MISSING_EFFORT], tally->functions_missing, tally->seconds,
	       (double)tally->instructions / 1e6 / tally->seconds, tally->classes_seconds,
	       used.ru_maxrss / 1024, tally->longest_seconds, (unsigned long)tally->longest,
	       tally->longest_instructions);
}

static void build_all(const struct elf_space *space, size_t functions, struct decoder *decoder,
		      int list, struct tally *tally)
{
	for (size_t i = 0; i < functions; i++) {
		if (space->functions[i].is_cold || space->functions[i].is_stub)
			continue;
		struct cfg cfg;
		double start = now();
		if (cfg_build(&space->space, decoder, space->functions[i].first, &cfg, NULL) < 0)
			continue;
		count(&cfg, now() - start, tally);
		if (list)
			list_jumps(&cfg);
		else
			find_classes(&cfg, tally);
		cfg_release(&cfg);
	}
}

static void measure(const char *path, int list)
{
	CLEANUP(close_file) FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) < 0) {
		fprintf(stderr, "cfg: cannot read '%s'\n", path);
		exit(1);
	}
	size_t size = (size_t)ftell(file);
	CLEANUP(free_pointer) char *bytes = malloc(size);
	rewind(file);
	if (!bytes || fread(bytes, 1, size, file) != size)
		exit(1);
	struct elf_space space;
	elf_space_init(&space, bytes, size);
	struct decoder *decoder;
	if (decoder_new(space.space.isa, ISA_SYNTAX_ATT, &decoder, NULL) < 0)
		exit(1);
	for (size_t part = list ? 1 : 4; part > 0; part /= 2) {
		struct tally tally = { 0 };
		build_all(&space, space.function_count / part, decoder, list, &tally);
		if (!list)
			print(path, &tally);
	}
	decoder_free(decoder);
	elf_space_release(&space);
}

int main(int argc, char **argv)
{
	int list = argc > 1 && strcmp(argv[1], "--jumps") == 0;
	for (int i = 1 + list; i < argc; i++)
		measure(argv[i], list);
	return 0;
}
