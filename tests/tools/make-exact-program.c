/*
 * make-exact-program [--instructions N] [--share PERCENT] CALLGRIND OUT - an exact program
 * (support/exact_program.h) from what callgrind counted and the files it ran: of the
 * procedures that took most of its time, so many that they have N instructions at most,
 * or PERCENT of its time. Says on standard output what was kept and how exact it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/cfg.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "isa/effects.h"
#include "support/allocated.h"
#include "support/callgrind_counts.h"
#include "support/elf_space.h"
#include "support/exact_program.h"

/* Roughly what an event takes, in cycles, to see which procedures matter. */
static const double rough_cycles[CALLGRIND_COLUMNS] = {
	[CALLGRIND_IR] = 1,	[CALLGRIND_I1MR] = 12,	[CALLGRIND_D1MR] = 12,
	[CALLGRIND_ILMR] = 100, [CALLGRIND_DLMR] = 120, [CALLGRIND_DLMW] = 30,
	[CALLGRIND_BCM] = 8,	[CALLGRIND_BIM] = 8
};

static const enum callgrind_column events_of[EXACT_EVENTS][2] = {
	[EXACT_FETCH_MISSES] = { CALLGRIND_I1MR, CALLGRIND_COLUMNS },
	[EXACT_FETCH_LAST_MISSES] = { CALLGRIND_ILMR, CALLGRIND_COLUMNS },
	[EXACT_READ_MISSES] = { CALLGRIND_D1MR, CALLGRIND_COLUMNS },
	[EXACT_READ_LAST_MISSES] = { CALLGRIND_DLMR, CALLGRIND_COLUMNS },
	[EXACT_WRITE_MISSES] = { CALLGRIND_D1MW, CALLGRIND_COLUMNS },
	[EXACT_WRITE_LAST_MISSES] = { CALLGRIND_DLMW, CALLGRIND_COLUMNS },
	[EXACT_MISPREDICTS] = { CALLGRIND_BCM, CALLGRIND_BIM },
};

struct candidate {
	const struct callgrind_object *object;
	struct elf_space *space;
	struct decoder *decoder;
	uint64_t first; /* of the function; of the whole, for a cold part */
	double cycles, executed;
};

struct candidates {
	struct candidate *list;
	size_t count, capacity;
	double cycles, executed; /* of all objects, known or not */
	double known_cycles;	 /* of functions whose extents are known */
};

/* How well the counts and the graphs fit. */
struct quality {
	uint64_t blocks, uneven; /* executed; whose instructions were not executed equally often */
	uint64_t unbalanced;	 /* whose edges do not add up to within a thousandth */
	double executions, beyond; /* of branches; along edges that the graph does not have */
	uint64_t instructions;
};

static double cycles_of(const struct callgrind_cost *cost)
{
	double cycles = 0;
	for (int i = 0; i < CALLGRIND_COLUMNS; i++)
		cycles += rough_cycles[i] * (double)cost->counts[i];
	return cycles;
}

static struct elf_space *open_space(const char *path)
{
	CLEANUP(close_file) FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) < 0)
		return NULL;
	size_t size = (size_t)ftell(file);
	CLEANUP(free_pointer) char *bytes = allocated(size, 1);
	rewind(file);
	if (fread(bytes, 1, size, file) != size || size < 4 || memcmp(bytes, "\177ELF", 4) != 0)
		return NULL;
	struct elf_space *space = allocated(1, sizeof(*space));
	elf_space_init(space, bytes, size);
	return space;
}

static void put(struct candidates *all, struct candidate candidate)
{
	if (array_reserve(&all->list, &all->capacity, all->count, sizeof(*all->list)) < 0)
		abort();
	all->list[all->count++] = candidate;
}

static int compare_places(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static int compare_cycles(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	if (a->cycles != b->cycles)
		return a->cycles < b->cycles ? 1 : -1;
	return compare_places(left, right);
}

/* One for each function that was executed. */
static void find_functions(const struct callgrind_object *object, struct candidates *all)
{
	struct elf_space *space = open_space(object->path);
	struct decoder *decoder = NULL;
	if (space && decoder_new(space->space.isa, ISA_SYNTAX_ATT, &decoder, NULL) < 0)
		abort();
	for (size_t i = 0; i < object->cost_count; i++) {
		const struct callgrind_cost *cost = &object->costs[i];
		struct code_function function;
		all->cycles += cycles_of(cost);
		all->executed += (double)cost->counts[CALLGRIND_IR];
		if (!space || !space->space.function(space->space.context, cost->vaddr, &function))
			continue;
		all->known_cycles += cycles_of(cost);
		struct candidate here = { .object = object,
					  .space = space,
					  .decoder = decoder,
					  .first = function.is_cold ? function.parent
								    : function.first,
					  .cycles = cycles_of(cost),
					  .executed = (double)cost->counts[CALLGRIND_IR] };
		struct candidate *last = all->count ? &all->list[all->count - 1] : NULL;
		if (last && last->object == object && last->first == here.first) {
			last->cycles += here.cycles;
			last->executed += here.executed;
		} else {
			put(all, here);
		}
	}
}

/* Parts of one function that lie apart become one. */
static void merge(struct candidates *all)
{
	size_t kept = 0;
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), compare_places);
	for (size_t i = 0; i < all->count; i++) {
		if (kept && compare_places(&all->list[kept - 1], &all->list[i]) == 0) {
			all->list[kept - 1].cycles += all->list[i].cycles;
			all->list[kept - 1].executed += all->list[i].executed;
		} else {
			all->list[kept++] = all->list[i];
		}
	}
	all->count = kept;
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), compare_cycles);
}

/* ---- one procedure */

static uint64_t executed(const struct callgrind_object *object, uint64_t vaddr)
{
	const struct callgrind_cost *cost = callgrind_cost_at(object, vaddr);
	return cost ? cost->counts[CALLGRIND_IR] : 0;
}

static int compare_counts(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* The middle one of its instructions' counts: one that repeats itself counts each time. */
static uint64_t count_block(const struct callgrind_object *object, const struct cfg *cfg,
			    uint32_t block, struct quality *quality)
{
	uint32_t count = cfg->blocks[block].count;
	CLEANUP(free_pointer) uint64_t *counts = allocated(count, sizeof(*counts));
	for (uint32_t i = 0; i < count; i++)
		counts[i] = executed(object, cfg->instructions[cfg->blocks[block].first + i].vaddr);
	qsort(counts, count, sizeof(*counts), compare_counts);
	quality->blocks += counts[count - 1] > 0;
	quality->uneven += counts[0] != counts[count - 1];
	return counts[(count - 1) / 2];
}

/* Jumps from there that the graph has no edge for. */
static double count_beyond(const struct callgrind_object *object, const struct cfg *cfg,
			   uint32_t block, uint64_t from)
{
	struct flow_ends edges = flow_graph_out_of(&cfg->graph, block);
	size_t count;
	const struct callgrind_step *steps = callgrind_steps_from(object, from, &count);
	double beyond = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t to = cfg_block_at(cfg, steps[i].to);
		bool found = false;
		if (to == CFG_NO_BLOCK)
			continue;
		for (size_t k = 0; k < edges.count; k++)
			found |= cfg->graph.edges[edges.list[k]].to == to;
		if (!found || cfg->instructions[cfg->blocks[to].first].vaddr != steps[i].to)
			beyond += (double)steps[i].count;
	}
	return beyond;
}

/*
 * Edges out of a block, from what was seen to follow its end. One edge takes the rest: what
 * comes next without a jump, or what a jump reaches outside.
 */
static void count_edges(const struct callgrind_object *object, const struct cfg *cfg,
			uint32_t block, struct exact_procedure *out, struct quality *quality)
{
	const struct cfg_block *range = &cfg->blocks[block];
	const struct cfg_instruction *end = &cfg->instructions[range->first + range->count - 1];
	bool jumps = end->kind == INSTRUCTION_JUMP || end->kind == INSTRUCTION_CONDITIONAL;
	bool leaves = end->kind == INSTRUCTION_CONDITIONAL &&
		      cfg_block_at(cfg, end->target) == CFG_NO_BLOCK;
	struct flow_ends edges = flow_graph_out_of(&cfg->graph, block);
	double left = out->block_executions[block];
	uint32_t rest = FLOW_OUTSIDE;
	for (size_t i = 0; i < edges.count; i++) {
		uint32_t edge = edges.list[i], to = cfg->graph.edges[edge].to;
		bool next = to == block + 1 && end->kind != INSTRUCTION_JUMP;
		if (!jumps || next || (to == FLOW_OUTSIDE && !leaves)) {
			rest = edge;
			continue;
		}
		uint64_t vaddr = to == FLOW_OUTSIDE
					 ? end->target
					 : cfg->instructions[cfg->blocks[to].first].vaddr;
		out->edge_executions[edge] = (double)callgrind_steps(object, end->vaddr, vaddr);
		left -= out->edge_executions[edge];
	}
	if (rest != FLOW_OUTSIDE && left > 0)
		out->edge_executions[rest] = left;
	if (jumps) {
		quality->executions += out->block_executions[block];
		quality->beyond += count_beyond(object, cfg, block, end->vaddr);
	}
}

/* What comes in from elsewhere is what is left. */
static void count_entries(struct exact_procedure *out, struct quality *quality)
{
	const struct flow_graph *graph = &out->graph;
	for (uint32_t block = 0; block < graph->block_count; block++) {
		struct flow_ends edges = flow_graph_into(graph, block);
		double left = out->block_executions[block];
		uint32_t entry = FLOW_OUTSIDE;
		for (size_t i = 0; i < edges.count; i++) {
			if (graph->edges[edges.list[i]].from == FLOW_OUTSIDE)
				entry = edges.list[i];
			else
				left -= out->edge_executions[edges.list[i]];
		}
		if (entry != FLOW_OUTSIDE && left > 0)
			out->edge_executions[entry] = left;
		else if (out->block_executions[block] > 0 &&
			 (left < 0 ? -left : left) > 1e-3 * out->block_executions[block])
			quality->unbalanced++;
	}
}

static void fill_instructions(const struct candidate *from, const struct cfg *cfg,
			      struct exact_procedure *out)
{
	for (uint32_t i = 0; i < cfg->instruction_count; i++) {
		const struct cfg_instruction *in = &cfg->instructions[i];
		const struct cfg_part *part = &cfg->parts[0];
		if (cfg->part_count > 1 && in->vaddr >= cfg->parts[1].first &&
		    in->vaddr <= cfg->parts[1].last)
			part = &cfg->parts[1];
		size_t offset = (size_t)(in->vaddr - part->first);
		struct span code = { (const char *)part->bytes.data + offset,
				     part->bytes.size - offset };
		struct instruction decoded;
		decoder_effects(from->decoder, code, in->vaddr, &decoded, &out->effects[i]);
		out->instructions[i] =
			(struct exact_instruction){ in->vaddr, in->length_bytes, in->kind };
		const struct callgrind_cost *cost = callgrind_cost_at(from->object, in->vaddr);
		for (int event = 0; cost && event < EXACT_EVENTS; event++)
			for (int k = 0; k < 2; k++)
				if (events_of[event][k] < CALLGRIND_COLUMNS)
					out->events[i][event] += cost->counts[events_of[event][k]];
	}
}

/* Whether there is a graph of it. */
static bool fill_procedure(const struct candidate *from, struct exact_procedure *out,
			   struct quality *quality)
{
	struct cfg cfg;
	if (cfg_build(&from->space->space, from->decoder, from->first, &cfg, NULL) < 0)
		return false;
	*out = (struct exact_procedure){ .first = from->first,
					 .instruction_count = cfg.instruction_count };
	flow_graph_init(&out->graph, cfg.graph.block_count);
	out->graph.missing_edges = cfg.graph.missing_edges;
	for (size_t i = 0; i < cfg.graph.edge_count; i++)
		if (flow_graph_add(&out->graph, cfg.graph.edges[i].from, cfg.graph.edges[i].to,
				   cfg.graph.edges[i].kind) < 0)
			abort();
	if (flow_graph_settle(&out->graph) < 0 || out->graph.edge_count != cfg.graph.edge_count)
		abort();
	out->blocks = allocated(cfg.graph.block_count, sizeof(*out->blocks));
	out->instructions = allocated(cfg.instruction_count, sizeof(*out->instructions));
	out->effects = allocated(cfg.instruction_count, sizeof(*out->effects));
	out->events = allocated(cfg.instruction_count, sizeof(*out->events));
	out->block_executions = allocated(cfg.graph.block_count, sizeof(double));
	out->edge_executions = allocated(cfg.graph.edge_count, sizeof(double));
	for (uint32_t block = 0; block < cfg.graph.block_count; block++) {
		out->blocks[block] =
			(struct flow_range){ cfg.blocks[block].first,
					     cfg.blocks[block].first + cfg.blocks[block].count };
		out->block_executions[block] =
			(double)count_block(from->object, &cfg, block, quality);
	}
	for (uint32_t block = 0; block < cfg.graph.block_count; block++)
		count_edges(from->object, &cfg, block, out, quality);
	count_entries(out, quality);
	fill_instructions(from, &cfg, out);
	quality->instructions += cfg.instruction_count;
	cfg_release(&cfg);
	return true;
}

static void write_file(const char *path, const struct buffer *bytes)
{
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(bytes->data, 1, bytes->size, file) != bytes->size ||
	    fclose(file) != 0) {
		fprintf(stderr, "make-exact-program: cannot write '%s'\n", path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	double share = 99, kept = 0, kept_executed = 0;
	uint64_t limit = UINT64_MAX;
	int at = 1;
	for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2)
		if (strcmp(argv[at], "--instructions") == 0)
			limit = strtoull(argv[at + 1], NULL, 10);
		else if (strcmp(argv[at], "--share") == 0)
			share = strtod(argv[at + 1], NULL);
		else
			break;
	if (argc - at != 2) {
		fprintf(stderr, "usage: make-exact-program [--instructions N] [--share PERCENT] "
				"CALLGRIND OUT\n");
		return 2;
	}
	struct callgrind_counts counts;
	struct candidates all = { 0 };
	callgrind_counts_read(argv[at], &counts);
	for (size_t i = 0; i < counts.object_count; i++)
		find_functions(&counts.objects[i], &all);
	merge(&all);

	struct quality quality = { 0 };
	struct exact_program program = { .procedures = allocated(all.count,
								 sizeof(*program.procedures)) };
	for (size_t i = 0; i < all.count && kept < share / 100 * all.known_cycles; i++) {
		struct exact_procedure *procedure = &program.procedures[program.count];
		struct quality before = quality;
		if (!fill_procedure(&all.list[i], procedure, &quality))
			continue;
		if (quality.instructions > limit) { /* a smaller one may fit */
			quality = before;
			exact_procedure_release(procedure);
			continue;
		}
		program.count++;
		kept += all.list[i].cycles;
		kept_executed += all.list[i].executed;
	}
	program.executed_ratio = kept_executed / all.executed;
	program.cycles_ratio = kept / all.cycles;
	struct buffer out = { 0 };
	exact_program_write(&program, &out);
	write_file(argv[at + 1], &out);
	printf("%u procedures of %zu, %lu instructions, %lu blocks executed; %.1f %% of executed "
	       "instructions, about %.1f %% of cycles; %lu blocks uneven, %lu unbalanced, %.2f %% "
	       "of jumps along unknown edges; %zu bytes\n",
	       program.count, all.count, (unsigned long)quality.instructions,
	       (unsigned long)quality.blocks, 100 * program.executed_ratio, 100 * kept / all.cycles,
	       (unsigned long)quality.uneven, (unsigned long)quality.unbalanced,
	       quality.executions > 0 ? 100 * quality.beyond / quality.executions : 0, out.size);
	return 0; /* what it used goes with it */
}
