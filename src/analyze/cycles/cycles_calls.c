/* How the executions of procedures compare over the calls between them (flow/flow_calls.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/count_test.h"
#include "analyze/cycles/cycles_private.h"
#include "analyze/flow/flow_calls.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#define NOWHERE	   UINT32_MAX
#define NAME_BYTES 256

/* Of a factor's logarithm: up to that, 95 % within a factor of 7, procedures are compared. */
#define MOST_ERROR 1.0

/* A branch that was seen, perhaps from one image to another. */
struct seen_branch {
	uint32_t image, to_image;
	uint64_t from, to;
	double count, stepped;
};

struct named_procedure {
	const char *linkage;
	uint32_t position;
};

struct builder {
	struct cycles *cycles;
	struct flow_calls_procedure *procedures; /* by position in the index */
	struct flow_call *calls;
	size_t call_count, call_capacity;
	struct seen_branch *seen; /* by image and `from` */
	size_t seen_count, seen_capacity;
	struct named_procedure *names; /* by linkage name */
	size_t name_count;
};

static void builder_release(struct builder *builder)
{
	free(builder->procedures);
	free(builder->calls);
	free(builder->seen);
	free(builder->names);
}

/* ---- what a call leads to */

static int compare_seen(const void *left, const void *right)
{
	const struct seen_branch *a = left, *b = right;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to_image != b->to_image)
		return a->to_image < b->to_image ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static int compare_names(const void *left, const void *right)
{
	const struct named_procedure *a = left, *b = right;
	return strcmp(a->linkage, b->linkage);
}

/* Lists the branches that were interpreted or stepped over. 0 or -ENOMEM. */
static int list_seen(struct builder *builder)
{
	const struct annotate_index *index = builder->cycles->index;
	const struct table *table = profile_table(index->profile, PROFILE_EDGE);
	for (size_t row = 0; row < table->count; row++) {
		const uint64_t *keys = table_keys(table, row);
		struct seen_branch seen = { .image = (uint32_t)keys[EDGE_FROM_IMAGE],
					    .to_image = (uint32_t)keys[EDGE_TO_IMAGE],
					    .count = (double)table_values(table, row)[0] };
		if (keys[EDGE_ORIGIN] == ORIGIN_STEPPED)
			seen.stepped = seen.count;
		if ((keys[EDGE_ORIGIN] != ORIGIN_INTERPRETED &&
		     keys[EDGE_ORIGIN] != ORIGIN_STEPPED) ||
		    !seen.image || !seen.to_image)
			continue;
		seen.from = resolver_vaddr(index->resolver, seen.image, keys[EDGE_FROM_VADDR]);
		seen.to = resolver_vaddr(index->resolver, seen.to_image, keys[EDGE_TO_VADDR]);
		if (array_reserve(&builder->seen, &builder->seen_capacity, builder->seen_count,
				  sizeof(*builder->seen)) < 0)
			return -ENOMEM;
		builder->seen[builder->seen_count++] = seen;
	}
	if (builder->seen_count)
		qsort(builder->seen, builder->seen_count, sizeof(*builder->seen), compare_seen);
	return 0;
}

static int list_names(struct builder *builder)
{
	const struct annotate_index *index = builder->cycles->index;
	builder->names = calloc(index->count + 1, sizeof(*builder->names));
	if (!builder->names)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++) {
		const struct procedure *procedure = index->procedures[i].procedure;
		if (procedure->extent_known && procedure->linkage[0])
			builder->names[builder->name_count++] =
				(struct named_procedure){ procedure->linkage, (uint32_t)i };
	}
	qsort(builder->names, builder->name_count, sizeof(*builder->names), compare_names);
	return 0;
}

/* The first branch from that address of the image, or behind it. */
static size_t seen_from(const struct builder *builder, uint32_t image, uint64_t from)
{
	size_t low = 0, high = builder->seen_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct seen_branch *at = &builder->seen[middle];
		if (at->image < image || (at->image == image && at->from < from))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* "memcpy@plt" is the one procedure of that linkage name, if there is one. */
static uint32_t by_name(const struct builder *builder, struct span text)
{
	char name[NAME_BYTES];
	const char *at = text.size ? memchr(text.data, '@', text.size) : NULL;
	size_t size = at ? (size_t)(at - (const char *)text.data) : text.size;
	if (!size || size >= sizeof(name))
		return NOWHERE;
	memcpy(name, text.data, size);
	name[size] = 0;
	const struct named_procedure wanted = { name, 0 };
	const struct named_procedure *end = builder->names + builder->name_count;
	const struct named_procedure *found = bsearch(&wanted, builder->names, builder->name_count,
						      sizeof(wanted), compare_names);
	if (!found || (found > builder->names && compare_names(found - 1, &wanted) == 0) ||
	    (found + 1 < end && compare_names(found + 1, &wanted) == 0))
		return NOWHERE;
	return found->position;
}

static uint32_t by_address(const struct builder *builder, uint32_t image, uint64_t vaddr)
{
	const struct annotate_procedure *found = cycles_procedure_at(builder->cycles, image, vaddr);
	return found ? (uint32_t)(found - builder->cycles->index->procedures) : NOWHERE;
}

/* The procedure that a stub of the PLT leads to: as it was seen, or else by its name. */
static uint32_t behind_stub(const struct builder *builder, uint32_t image,
			    const struct code_space *space, const struct code_function *stub)
{
	const struct seen_branch *most = NULL;
	for (size_t i = seen_from(builder, image, stub->first); i < builder->seen_count; i++) {
		const struct seen_branch *seen = &builder->seen[i];
		if (seen->image != image || seen->from > stub->last)
			break;
		if (seen->to_image != image && (!most || seen->count > most->count))
			most = seen;
	}
	return most ? by_address(builder, most->to_image, most->to)
		    : by_name(builder, space->callee(space->context, stub->first));
}

/* Fills *stub and returns the space of the image if one of its stubs is there; else NULL. */
static const struct code_space *stub_at(const struct builder *builder, uint32_t image,
					uint64_t vaddr, struct code_function *stub)
{
	struct decoder *decoder;
	int ret;
	const struct code_space *space = cycles_code(builder->cycles, image, &decoder, NULL, &ret);
	bool is_stub = space && space->function(space->context, vaddr, stub) && stub->is_stub;
	return is_stub ? space : NULL;
}

static uint32_t behind_slot(const struct builder *builder, uint32_t image, uint64_t slot)
{
	struct decoder *decoder;
	int ret;
	const struct code_space *space = cycles_code(builder->cycles, image, &decoder, NULL, &ret);
	return space ? by_name(builder, space->callee(space->context, slot)) : NOWHERE;
}

/* ---- calls of one procedure */

struct executions {
	double value, error; /* of its logarithm */
};

/* By the wider side of the interval. */
static struct executions executions_of(const struct frequency *frequency)
{
	double below = log(frequency->value / frequency->low);
	double above = log(frequency->high / frequency->value);
	double error = (below > above ? below : above) / COUNT_TEST_Z_95;
	return (struct executions){ frequency->value, isnan(error) ? INFINITY : error };
}

static int add_call(struct builder *builder, uint32_t caller, uint32_t callee,
		    const struct executions *executions)
{
	if (callee == NOWHERE || !(executions->value > 0) || !isfinite(executions->value))
		return 0;
	if (array_reserve(&builder->calls, &builder->call_capacity, builder->call_count,
			  sizeof(*builder->calls)) < 0)
		return -ENOMEM;
	builder->calls[builder->call_count++] =
		(struct flow_call){ caller, callee, executions->value, executions->error };
	return 0;
}

/* Adds a call of the procedure that starts there; of a stub also one of the procedure behind it. */
static int add_call_to(struct builder *builder, uint32_t caller, uint32_t image, uint64_t vaddr,
		       const struct executions *executions)
{
	struct code_function stub;
	const struct code_space *space = stub_at(builder, image, vaddr, &stub);
	int ret = 0;
	if (space)
		ret = add_call(builder, caller, behind_stub(builder, image, space, &stub),
			       executions);
	return ret < 0 ? ret
		       : add_call(builder, caller, by_address(builder, image, vaddr), executions);
}

/* Adds the calls of one instruction; an indirect one is shared as its branches were seen. */
static int add_site(struct builder *builder, const struct procedure_cycles *procedure,
		    uint32_t caller, uint32_t instruction, const struct executions *executions)
{
	const struct cfg_instruction *at = &procedure->cfg.instructions[instruction];
	uint32_t image = procedure->procedure->procedure->image;
	if (at->has_target && !at->through_slot)
		return add_call_to(builder, caller, image, at->target, executions);
	size_t first = seen_from(builder, image, at->vaddr), end = first;
	double sum = 0;
	for (; end < builder->seen_count && builder->seen[end].image == image &&
	       builder->seen[end].from == at->vaddr;
	     end++)
		sum += builder->seen[end].count;
	if (sum <= 0)
		return at->has_target
			       ? add_call(builder, caller, behind_slot(builder, image, at->target),
					  executions)
			       : 0;
	int ret = 0;
	for (size_t i = first; ret == 0 && i < end; i++) {
		double share = builder->seen[i].count / sum;
		const struct executions part = { executions->value * share,
						 hypot(executions->error,
						       1 / sqrt(builder->seen[i].count)) };
		ret = add_call_to(builder, caller, builder->seen[i].to_image, builder->seen[i].to,
				  &part);
	}
	return ret;
}

static int add_sites(struct builder *builder, const struct procedure_cycles *procedure,
		     uint32_t caller)
{
	const struct cfg *cfg = &procedure->cfg;
	const struct frequencies *frequencies = &procedure->frequencies;
	int ret = 0;
	for (uint32_t b = 0; b < cfg->graph.block_count; b++) {
		uint32_t first = cfg->blocks[b].first, end = first + cfg->blocks[b].count;
		const struct executions executions = executions_of(&frequencies->blocks[b]);
		for (uint32_t i = first; ret == 0 && i < end; i++)
			if (cfg->instructions[i].kind == INSTRUCTION_CALL)
				ret = add_site(builder, procedure, caller, i, &executions);
	}
	for (size_t e = 0; ret == 0 && e < cfg->graph.edge_count; e++) {
		const struct flow_edge *edge = &cfg->graph.edges[e];
		if (edge->kind != FLOW_TAIL)
			continue;
		const struct cfg_block *block = &cfg->blocks[edge->from];
		const struct executions executions = executions_of(&frequencies->edges[e]);
		ret = add_site(builder, procedure, caller, block->first + block->count - 1,
			       &executions);
	}
	return ret;
}

/* Adds to `seen` and `expected` of the procedure's conditional branches. 0 or -ENOMEM. */
static int add_steps(const struct builder *builder, const struct procedure_cycles *procedure,
		     struct flow_calls_procedure *out)
{
	const struct cfg *cfg = &procedure->cfg;
	CLEANUP(seen_counts_release) struct seen_counts seen = { 0 };
	if (seen_branches_count(builder->cycles->evidence, procedure->procedure->procedure->image,
				cfg, SEEN_BRANCHES_STEPPED, &seen) < 0)
		return -ENOMEM;
	for (uint32_t b = 0; b < cfg->graph.block_count; b++) {
		const struct cfg_block *block = &cfg->blocks[b];
		double executions = procedure->frequencies.blocks[b].value;
		struct flow_ends ways = flow_graph_out_of(&cfg->graph, b);
		if (cfg->instructions[block->first + block->count - 1].kind !=
			    INSTRUCTION_CONDITIONAL ||
		    isnan(executions))
			continue;
		out->expected += executions;
		for (size_t i = 0; seen.edges && i < ways.count; i++)
			out->seen += seen.edges[ways.list[i]];
	}
	return 0;
}

/* Estimates a procedure by itself and adds what relates it to others. 0 or -ENOMEM. */
static int add_procedure(struct builder *builder, uint32_t position, struct error *err)
{
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *procedure = NULL;
	struct flow_calls_procedure *out = &builder->procedures[position];
	int ret = cycles_of_procedure(builder->cycles, position, &procedure, err);
	if (ret < 0)
		return ret == -ENODATA ? 0 : ret;
	if (procedure->scale != CYCLES_RELATIVE)
		return 0;
	const struct flow_graph *graph = &procedure->cfg.graph;
	double entries_off = 0;
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct executions entries = executions_of(&procedure->frequencies.edges[e]);
		if (graph->edges[e].kind != FLOW_ENTRY || !(entries.value > 0))
			continue;
		out->entries += entries.value;
		entries_off += entries.value * entries.error;
	}
	out->entries_error = out->entries > 0 ? entries_off / out->entries : INFINITY;
	for (uint32_t i = 0; i < procedure->cfg.instruction_count; i++)
		out->samples += procedure->samples[i];
	/* the calls of a stub count as its callers', see add_call_to() */
	struct code_function stub;
	bool is_stub = stub_at(builder, procedure->procedure->procedure->image,
			       procedure->procedure->procedure->first, &stub);
	if (add_steps(builder, procedure, out) < 0 ||
	    (!is_stub && add_sites(builder, procedure, position) < 0))
		return error_set(err, -ENOMEM, "out of memory for the calls between procedures");
	return 0;
}

/* ---- all of them */

static int compare_calls(const void *left, const void *right)
{
	const struct flow_call *a = left, *b = right;
	if (a->callee != b->callee)
		return a->callee < b->callee ? -1 : 1;
	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return (a->executions > b->executions) - (a->executions < b->executions);
}

/* Without branches that were seen, entries are too far off (docs/methods.md). */
static bool can_join(const struct cycles *cycles)
{
	return cycles->events.model == FREQUENCY_CYCLES_OUT_OF_ORDER &&
	       cycles->events.scale == CYCLES_RELATIVE && cycles->events.time != CYCLES_NO_COLUMN &&
	       cycles->evidence &&
	       (seen_branches_has(cycles->evidence, SEEN_BRANCHES_INTERPRETED) ||
		seen_branches_has(cycles->evidence, SEEN_BRANCHES_STEPPED));
}

/* The procedure that an address is in, or NOWHERE. */
static uint32_t holder_of(const struct cycles *cycles, uint32_t image, uint64_t vaddr)
{
	size_t low = 0, high = cycles->extent_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct cycles_extent *at = &cycles->extents[middle];
		if (at->image < image || (at->image == image && at->first <= vaddr))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || cycles->extents[low - 1].image != image)
		return NOWHERE;
	uint32_t position = cycles->extents[low - 1].position;
	return vaddr <= cycles->index->procedures[position].procedure->last ? position : NOWHERE;
}

static void count_crossings(struct builder *builder)
{
	for (size_t i = 0; i < builder->seen_count; i++) {
		const struct seen_branch *seen = &builder->seen[i];
		uint32_t from = holder_of(builder->cycles, seen->image, seen->from);
		uint32_t to = holder_of(builder->cycles, seen->to_image, seen->to);
		if (from == to)
			continue;
		if (from != NOWHERE)
			builder->procedures[from].crossings += seen->stepped;
		if (to != NOWHERE)
			builder->procedures[to].crossings += seen->stepped;
	}
}

/* Notes how many factors are known well enough to compare executions by them. */
static void note_comparable(struct cycles *cycles, const struct builder *builder,
			    struct flow_calls_factor *factors)
{
	size_t known = 0, others = 0;
	double worst = 0, best = MOST_ERROR;
	for (size_t i = 0; i < cycles->index->count; i++) {
		if (!(builder->procedures[i].samples > 0))
			continue;
		bool compares = factors[i].error <= MOST_ERROR;
		known += compares;
		others += !compares;
		worst = compares ? fmax(worst, factors[i].error) : worst;
		best = fmin(best, factors[i].error);
	}
	if (known < 2) {
		cycles_note(cycles, "executions of different procedures do not compare: too few "
				    "calls and branches between them were seen");
		return;
	}
	snprintf(cycles->join_note, sizeof(cycles->join_note),
		 "executions of %zu procedures compare with each other over calls and steps, "
		 "95 %% within a factor of %.1f to %.1f; %zu others each have a scale of their own",
		 known, exp(COUNT_TEST_Z_95 * best), exp(COUNT_TEST_Z_95 * worst), others);
	cycles_note(cycles, cycles->join_note);
}

const struct flow_calls_factor *cycles_factor(const struct cycles *cycles,
					      const struct annotate_procedure *procedure)
{
	if (!cycles->factors)
		return NULL;
	const struct flow_calls_factor *factor =
		&cycles->factors[procedure - cycles->index->procedures];
	return factor->error <= MOST_ERROR ? factor : NULL;
}

int cycles_join_calls(struct cycles *cycles, struct error *err)
{
	size_t count = cycles->index->count;
	CLEANUP(builder_release) struct builder builder = { .cycles = cycles };
	CLEANUP(free_pointer)
	struct flow_calls_factor *factors = calloc(count + 1, sizeof(*factors));
	if (cycles->factors || !can_join(cycles))
		return 0;
	builder.procedures = calloc(count + 1, sizeof(*builder.procedures));
	if (!factors || !builder.procedures || list_seen(&builder) < 0 || list_names(&builder) < 0)
		return error_set(err, -ENOMEM, "out of memory for the calls between procedures");
	uint64_t chain_steps = cycles->chain_steps;
	for (uint32_t i = 0; i < count; i++) {
		int ret = cycles_is_counted_elsewhere(cycles, i) ? 0
								 : add_procedure(&builder, i, err);
		if (ret < 0)
			return ret;
	}
	cycles->chain_steps = chain_steps; /* give back what following chains took here */
	count_crossings(&builder);
	if (builder.call_count)
		qsort(builder.calls, builder.call_count, sizeof(*builder.calls), compare_calls);
	const struct flow_calls_input input = { builder.procedures, count, builder.calls,
						builder.call_count };
	if (flow_calls_fit(&input, factors) < 0)
		return error_set(err, -ENOMEM, "out of memory for the calls between procedures");
	note_comparable(cycles, &builder, factors);
	if (!cycles->join_note[0])
		return 0;
	cycles->factors = factors;
	factors = NULL; /* owned by cycles from here on */
	return 0;
}
