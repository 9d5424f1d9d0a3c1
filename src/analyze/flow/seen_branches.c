#include "analyze/flow/seen_branches.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/cfg.h"
#include "analyze/names/resolve.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/sum.h"
#include "profile/profile.h"

/* No code runs that far without a branch, so longer runs are left out as wrong. */
#define LONGEST_RUN_BYTES (UINT64_C(1) << 20)

/* What seen_branches_most() returns. */
#define INTERPRETED_MOST	   60.0
#define INTERPRETED_BESIDE_STEPPED 30.0
#define STEPPED_MOST		   600.0

#define ELSEWHERE UINT64_MAX /* in another image */

/* An edge, from a branch to where it led; or a run, from its first to its last instruction. */
struct seen {
	uint64_t from, to;
	uint64_t count;
	uint64_t cycles; /* of a run, summed over its executions */
	uint32_t image;
};

struct seen_list {
	struct seen *list;
	size_t count, capacity;
};

/*
 * Runs by where they begin and by where they end, with running sums of their counts. A run may
 * reach over every procedure of an image, so those that reach over a part are counted by the sums,
 * and only those that begin or end in it are looked at one by one.
 */
struct runs {
	struct seen_list list;	  /* by image, from, to */
	uint32_t *by_end;	  /* positions in the list, by image and `to` */
	unsigned __int128 *begun; /* by position of the list: sum of the counts before it */
	unsigned __int128 *ended; /* the same by position of by_end */
};

struct seen_branches {
	struct seen_list edges[SEEN_BRANCHES_KINDS]; /* by image, from, to */
	struct runs runs;			     /* counted ones */
};

void seen_branches_free(struct seen_branches *evidence)
{
	if (!evidence)
		return;
	for (unsigned kind = 0; kind < SEEN_BRANCHES_KINDS; kind++)
		free(evidence->edges[kind].list);
	free(evidence->runs.list.list);
	free(evidence->runs.by_end);
	free(evidence->runs.begun);
	free(evidence->runs.ended);
	free(evidence);
}

void seen_branches_freep(struct seen_branches **evidence)
{
	seen_branches_free(*evidence);
}

static int by_address(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Sorts, and adds up those that differ by event or context alone. */
static void settle(struct seen_list *seen)
{
	size_t kept = 0;
	if (seen->count)
		qsort(seen->list, seen->count, sizeof(*seen->list), by_address);
	for (size_t i = 0; i < seen->count; i++) {
		struct seen *last = kept ? &seen->list[kept - 1] : NULL;
		if (last && by_address(last, &seen->list[i]) == 0) {
			sum_add(&last->count, seen->list[i].count);
			sum_add(&last->cycles, seen->list[i].cycles);
			continue;
		}
		seen->list[kept++] = seen->list[i];
	}
	seen->count = kept;
}

static int add(struct seen_list *seen, const struct seen *one)
{
	if (array_reserve(&seen->list, &seen->capacity, seen->count, sizeof(*seen->list)) < 0)
		return -ENOMEM;
	seen->list[seen->count++] = *one;
	return 0;
}

static enum seen_branches_kind kind_of(uint64_t origin)
{
	switch (origin) {
	case ORIGIN_INTERPRETED:
		return SEEN_BRANCHES_INTERPRETED;
	case ORIGIN_STEPPED:
		return SEEN_BRANCHES_STEPPED;
	case ORIGIN_MEASURED:
	case ORIGIN_IMPORTED:
		return SEEN_BRANCHES_COUNTED;
	default:
		return SEEN_BRANCHES_KINDS;
	}
}

/* Branches without an image, or with a name in place of an address, are left out: their code is not
 * known. */
static int add_edges(struct seen_branches *evidence, const struct table *table,
		     struct resolver *resolver)
{
	for (size_t row = 0; row < table->count; row++) {
		const uint64_t *keys = table_keys(table, row);
		uint32_t image = (uint32_t)keys[EDGE_FROM_IMAGE];
		enum seen_branches_kind kind = kind_of(keys[EDGE_ORIGIN]);
		if (kind == SEEN_BRANCHES_KINDS || !image ||
		    (keys[EDGE_FROM_NAME] && !keys[EDGE_FROM_VADDR]))
			continue;
		struct seen seen = { .image = image, .count = table_values(table, row)[0] };
		seen.from = resolver_vaddr(resolver, image, keys[EDGE_FROM_VADDR]);
		seen.to = keys[EDGE_TO_IMAGE] == image
				  ? resolver_vaddr(resolver, image, keys[EDGE_TO_VADDR])
				  : ELSEWHERE;
		if (add(&evidence->edges[kind], &seen) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_runs(struct seen_branches *evidence, const struct table *table,
		    struct resolver *resolver)
{
	for (size_t row = 0; row < table->count; row++) {
		const uint64_t *keys = table_keys(table, row);
		uint32_t image = (uint32_t)keys[RANGE_IMAGE];
		if (kind_of(keys[RANGE_ORIGIN]) != SEEN_BRANCHES_COUNTED || !image)
			continue;
		const uint64_t *values = table_values(table, row);
		struct seen seen = { .image = image, .count = values[0], .cycles = values[1] };
		seen.from = resolver_vaddr(resolver, image, keys[RANGE_FIRST]);
		seen.to = resolver_vaddr(resolver, image, keys[RANGE_LAST]);
		if (seen.to >= seen.from && seen.to - seen.from < LONGEST_RUN_BYTES &&
		    add(&evidence->runs.list, &seen) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_end(const void *left, const void *right, void *list)
{
	const struct seen *a = (const struct seen *)list + *(const uint32_t *)left;
	const struct seen *b = (const struct seen *)list + *(const uint32_t *)right;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Fills all but the list, which is settled. 0 or -ENOMEM. */
static int index_runs(struct runs *runs)
{
	const struct seen *list = runs->list.list;
	size_t count = runs->list.count;
	runs->by_end = calloc(count + 1, sizeof(*runs->by_end));
	runs->begun = calloc(count + 1, sizeof(*runs->begun));
	runs->ended = calloc(count + 1, sizeof(*runs->ended));
	if (count > UINT32_MAX || !runs->by_end || !runs->begun || !runs->ended)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		runs->by_end[i] = (uint32_t)i;
	if (count)
		qsort_r(runs->by_end, count, sizeof(*runs->by_end), by_end, runs->list.list);
	for (size_t i = 0; i < count; i++) {
		runs->begun[i + 1] = runs->begun[i] + list[i].count;
		runs->ended[i + 1] = runs->ended[i] + list[runs->by_end[i]].count;
	}
	return 0;
}

int seen_branches_new(const struct profile *profile, struct resolver *resolver,
		      struct seen_branches **out)
{
	CLEANUP(seen_branches_freep) struct seen_branches *evidence = calloc(1, sizeof(*evidence));
	if (!evidence || add_edges(evidence, profile_table(profile, PROFILE_EDGE), resolver) < 0 ||
	    add_runs(evidence, profile_table(profile, PROFILE_RANGE), resolver) < 0)
		return -ENOMEM;
	for (unsigned kind = 0; kind < SEEN_BRANCHES_KINDS; kind++)
		settle(&evidence->edges[kind]);
	settle(&evidence->runs.list);
	if (index_runs(&evidence->runs) < 0)
		return -ENOMEM;
	*out = evidence;
	evidence = NULL;
	return 0;
}

bool seen_branches_has(const struct seen_branches *evidence, enum seen_branches_kind kind)
{
	return evidence->edges[kind].count &&
	       (kind != SEEN_BRANCHES_COUNTED || evidence->runs.list.count);
}

void seen_counts_release(struct seen_counts *counts)
{
	free(counts->edges);
	free(counts->blocks);
	*counts = (struct seen_counts){ 0 };
}

/* The first that begins in the image at that address or behind it. */
static size_t position_of(const struct seen_list *seen, uint32_t image, uint64_t from)
{
	size_t low = 0, high = seen->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct seen *at = &seen->list[middle];
		if (at->image < image || (at->image == image && at->from < from))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* In by_end: the first that ends in the image at that address or behind it. */
static size_t end_position_of(const struct runs *runs, uint32_t image, uint64_t to)
{
	size_t low = 0, high = runs->list.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct seen *at = &runs->list.list[runs->by_end[middle]];
		if (at->image < image || (at->image == image && at->to < to))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_inside(const struct cfg *cfg, uint64_t vaddr)
{
	for (uint32_t i = 0; i < cfg->part_count; i++)
		if (vaddr - cfg->parts[i].first <= cfg->parts[i].last - cfg->parts[i].first)
			return true;
	return false;
}

/* The edge's position, or edge_count. */
static size_t edge_between(const struct flow_graph *graph, uint32_t from, uint32_t to)
{
	struct flow_ends out = flow_graph_out_of(graph, from);
	for (size_t i = 0; i < out.count; i++)
		if (graph->edges[out.list[i]].to == to)
			return out.list[i];
	return graph->edge_count;
}

/* The block that the instruction at `vaddr` ends, or CFG_NO_BLOCK. */
static uint32_t block_ended(const struct cfg *cfg, uint64_t vaddr)
{
	uint32_t block = cfg_block_at(cfg, vaddr);
	if (block == CFG_NO_BLOCK)
		return block;
	const struct cfg_block *at = &cfg->blocks[block];
	return cfg->instructions[at->first + at->count - 1].vaddr == vaddr ? block : CFG_NO_BLOCK;
}

static bool comes_back(const struct cfg *cfg, uint64_t vaddr)
{
	uint32_t i = cfg_instruction_from(cfg, vaddr);
	return i < cfg->instruction_count && cfg->instructions[i].vaddr == vaddr &&
	       cfg->instructions[i].kind == INSTRUCTION_CALL && !cfg->instructions[i].no_return;
}

/* Counts a branch along the edge that it is, or as unmatched. */
static void count_edge(const struct cfg *cfg, const struct seen *seen, struct seen_counts *out)
{
	const struct flow_graph *graph = &cfg->graph;
	uint32_t from = block_ended(cfg, seen->from), to = FLOW_OUTSIDE;
	size_t edge = graph->edge_count;
	if (comes_back(cfg, seen->from))
		return;
	if (is_inside(cfg, seen->to)) {
		to = cfg_block_at(cfg, seen->to);
		if (to != CFG_NO_BLOCK &&
		    cfg->instructions[cfg->blocks[to].first].vaddr != seen->to)
			to = CFG_NO_BLOCK; /* into the middle of it */
		if (from != CFG_NO_BLOCK && to != CFG_NO_BLOCK)
			edge = edge_between(graph, from, to);
	} else if (from != CFG_NO_BLOCK) {
		edge = edge_between(graph, from, FLOW_OUTSIDE);
	}
	if (edge == graph->edge_count) {
		sum_add(&out->unmatched, seen->count);
		return;
	}
	sum_add(&out->matched, seen->count);
	out->edges[edge] += (double)seen->count;
}

static void count_edges(const struct seen_list *seen, uint32_t image, const struct cfg *cfg,
			struct seen_counts *out)
{
	for (uint32_t i = 0; i < cfg->part_count; i++) {
		const struct cfg_part *part = &cfg->parts[i];
		for (size_t at = position_of(seen, image, part->first); at < seen->count; at++) {
			if (seen->list[at].image != image || seen->list[at].from > part->last)
				break;
			count_edge(cfg, &seen->list[at], out);
		}
	}
}

/* How many runs cover each instruction, as changes from one to the next. */
struct cover {
	double *change; /* by instruction, and one behind the last */
	double *ended;	/* by instruction: runs whose last it is */
};

/* Adds a run that begins or ends in the part. */
static void cover_run(const struct seen *run, const struct cfg *cfg, const struct cfg_part *part,
		      struct cover *cover, struct seen_counts *out)
{
	uint32_t part_end = part->first_instruction + part->instruction_count;
	uint32_t first = cfg_instruction_from(cfg, run->from);
	uint32_t last = cfg_instruction_from(cfg, run->to);
	if (first < part->first_instruction)
		first = part->first_instruction;
	if (first >= part_end)
		return;
	if (last < part_end && cfg->instructions[last].vaddr == run->to) {
		cover->ended[last] += (double)run->count;
		last++;
		if (cfg->instructions[first].vaddr == run->from) {
			out->run_instructions += (double)run->count * (last - first);
			out->run_cycles += (double)run->cycles;
		}
	}
	cover->change[first] += (double)run->count;
	cover->change[last < part_end ? last : part_end] -= (double)run->count;
}

/* Adds all runs over a part of the procedure. */
static void cover_part(const struct runs *runs, uint32_t image, const struct cfg *cfg,
		       const struct cfg_part *part, struct cover *cover, struct seen_counts *out)
{
	const struct seen_list *list = &runs->list;
	uint32_t part_end = part->first_instruction + part->instruction_count;
	size_t begins = position_of(list, image, part->first);
	size_t ends = end_position_of(runs, image, part->first);
	/* runs that began before the part and did not end before it */
	unsigned __int128 over = runs->begun[begins] - runs->ended[ends];
	for (size_t i = ends; i < list->count; i++) {
		const struct seen *run = &list->list[runs->by_end[i]];
		if (run->image != image || run->to > part->last)
			break;
		if (run->from >= part->first)
			continue; /* added below */
		over -= run->count;
		cover_run(run, cfg, part, cover, out);
	}
	for (size_t i = begins; i < list->count; i++) {
		const struct seen *run = &list->list[i];
		if (run->image != image || run->from > part->last)
			break;
		cover_run(run, cfg, part, cover, out);
	}
	if (part->instruction_count) {
		cover->change[part->first_instruction] += (double)over;
		cover->change[part_end] -= (double)over;
	}
}

/*
 * Scales the counts of the edges out of a block so that their sum is the number of runs over its
 * last instruction: runs that ended there are shared among the edges as branches were seen, the
 * others went on to the next block. (Branches and ended runs differ, as a stack's oldest branch
 * ends no known run.)
 */
static void scale_edges_out(const struct cfg *cfg, uint32_t block, double covered, double ended,
			    struct seen_counts *out)
{
	const struct flow_graph *graph = &cfg->graph;
	struct flow_ends ends = flow_graph_out_of(graph, block);
	double seen = 0;
	for (size_t i = 0; i < ends.count; i++)
		seen += out->edges[ends.list[i]];
	for (size_t i = 0; i < ends.count; i++)
		if (seen > 0)
			out->edges[ends.list[i]] *= ended / seen;
	const struct cfg_block *at = &cfg->blocks[block];
	if (cfg->instructions[at->first + at->count - 1].kind == INSTRUCTION_CALL)
		ended = 0; /* it comes back, to where another run starts */
	size_t next = block + 1 < graph->block_count ? edge_between(graph, block, block + 1)
						     : graph->edge_count;
	if (next < graph->edge_count && covered > ended)
		out->edges[next] += covered - ended;
}

static int count_blocks(const struct runs *runs, uint32_t image, const struct cfg *cfg,
			struct seen_counts *out)
{
	size_t count = cfg->instruction_count + (size_t)1;
	CLEANUP(free_pointer) double *memory = calloc(2 * count, sizeof(*memory));
	out->blocks = calloc(cfg->graph.block_count + (size_t)1, sizeof(*out->blocks));
	if (!memory || !out->blocks)
		return -ENOMEM;
	struct cover cover = { memory, memory + count };
	for (uint32_t i = 0; i < cfg->part_count; i++)
		cover_part(runs, image, cfg, &cfg->parts[i], &cover, out);
	double covered = 0;
	for (uint32_t block = 0; block < cfg->graph.block_count; block++) {
		const struct cfg_block *at = &cfg->blocks[block];
		double sum = 0;
		for (uint32_t i = at->first; i < at->first + at->count; i++) {
			covered += cover.change[i];
			sum += covered;
		}
		out->blocks[block] = sum / at->count;
		scale_edges_out(cfg, block, covered, cover.ended[at->first + at->count - 1], out);
	}
	return 0;
}

static bool is_any(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] > 0)
			return true;
	return false;
}

int seen_branches_count(const struct seen_branches *evidence, uint32_t image, const struct cfg *cfg,
			enum seen_branches_kind kind, struct seen_counts *out)
{
	const struct flow_graph *graph = &cfg->graph;
	CLEANUP(seen_counts_release) struct seen_counts counts = { 0 };
	*out = (struct seen_counts){ 0 };
	if (!seen_branches_has(evidence, kind))
		return 0;
	counts.edges = calloc(graph->edge_count + 1, sizeof(*counts.edges));
	if (!counts.edges)
		return -ENOMEM;
	count_edges(&evidence->edges[kind], image, cfg, &counts);
	if (kind == SEEN_BRANCHES_COUNTED && count_blocks(&evidence->runs, image, cfg, &counts) < 0)
		return -ENOMEM;
	if (!is_any(counts.edges, graph->edge_count) &&
	    !(counts.blocks && is_any(counts.blocks, graph->block_count))) {
		out->unmatched = counts.unmatched;
		return 0;
	}
	*out = counts;
	counts = (struct seen_counts){ 0 };
	return 0;
}

double seen_branches_most(const struct seen_branches *evidence, enum seen_branches_kind kind)
{
	switch (kind) {
	case SEEN_BRANCHES_INTERPRETED:
		return seen_branches_has(evidence, SEEN_BRANCHES_STEPPED)
			       ? INTERPRETED_BESIDE_STEPPED
			       : INTERPRETED_MOST;
	case SEEN_BRANCHES_STEPPED:
		return STEPPED_MOST;
	default:
		return INFINITY;
	}
}

int seen_branches_weigh(const struct flow_graph *graph, double most,
			const struct seen_counts *counts, double *weights)
{
	CLEANUP(free_pointer) double *sum = calloc((size_t)graph->block_count + 1, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	for (size_t i = 0; counts->edges && i < graph->edge_count; i++)
		if (graph->edges[i].from != FLOW_OUTSIDE)
			sum[graph->edges[i].from] += counts->edges[i];
	for (size_t i = 0; counts->edges && i < graph->edge_count; i++)
		if (graph->edges[i].from != FLOW_OUTSIDE)
			weights[i] += counts->edges[i] / (1 + sum[graph->edges[i].from] / most);
	return 0;
}
