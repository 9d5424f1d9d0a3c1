/*
 * How large the index of a table can be: masks where it is made, and comparisons with a
 * constant that every way to the table's use has passed. Two registers hold the same value
 * when, copies and extensions aside, the same instructions define both.
 */
#include <string.h>

#include "analyze/flow/cfg_values.h"

#define COPIES_LIMIT 16
/* Instructions between a comparison and its branch. */
#define FLAGS_DISTANCE 16

/* The location that a value was copied from in the end, and what defines it there. */
struct root {
	struct location location;
	struct definitions definitions;
	uint64_t limit; /* by masks and narrow loads on the way; UINT64_MAX: none */
};

static void narrow(struct root *root, unsigned size_bytes, bool is_signed)
{
	if (!is_signed && size_bytes < 4 && root->limit > UINT64_C(1) << (size_bytes * 8))
		root->limit = UINT64_C(1) << (size_bytes * 8);
}

/* Moves *place from a copy to what it copies; false: the instruction makes a new value. */
static bool step_back(const struct value_search *search, uint32_t instruction, struct place *place,
		      struct root *root)
{
	struct transfer transfer = value_transfer(search, instruction);
	struct location memory;
	bool is_slot = value_memory_location(&transfer, &memory);
	bool stores = transfer.kind == TRANSFER_STORE;
	if (stores ? !(place->location.in_memory && is_slot &&
		       value_same_location(&memory, &place->location))
		   : place->location.in_memory || transfer.to != place->location.reg)
		return false;
	switch (transfer.kind) {
	case TRANSFER_EXTEND:
		narrow(root, transfer.size_bytes, transfer.is_signed);
		break;
	case TRANSFER_COPY:
	case TRANSFER_STORE:
		break;
	case TRANSFER_LOAD:
		narrow(root, transfer.size_bytes, transfer.is_signed);
		if (!is_slot)
			return false;
		break;
	case TRANSFER_LIMIT:
		if (transfer.constant < root->limit)
			root->limit = transfer.constant;
		return false;
	default:
		return false;
	}
	place->location =
		transfer.kind == TRANSFER_LOAD ? memory : (struct location){ .reg = transfer.from };
	place->block = search->builder->block_of_instruction[instruction];
	place->end = instruction;
	return true;
}

static void find_root(struct value_search *search, struct place place, struct root *root)
{
	root->limit = UINT64_MAX;
	for (int copies = 0; copies < COPIES_LIMIT; copies++) {
		struct definitions definitions;
		value_definitions(search, &place, &definitions);
		/* too much may write that memory: the load from it stays the root */
		if (definitions.incomplete && copies > 0)
			return;
		root->definitions = definitions;
		root->location = place.location;
		if (root->definitions.count != 1 || root->definitions.outside ||
		    !step_back(search, root->definitions.list[0], &place, root))
			return;
	}
}

static bool same_root(const struct root *a, const struct root *b)
{
	const struct definitions *left = &a->definitions, *right = &b->definitions;
	return value_same_location(&a->location, &b->location) && !left->incomplete &&
	       !right->incomplete && left->outside == right->outside &&
	       left->count == right->count &&
	       memcmp(left->list, right->list, left->count * sizeof(*left->list)) == 0;
}

/* The comparison whose flags the last instruction of the block tests. */
static bool find_compare(const struct value_search *search, const struct cfg_block *block,
			 uint32_t *at, struct transfer *out)
{
	uint32_t last = block->first + block->count - 1;
	for (uint32_t i = last; i-- > block->first && last - i <= FLAGS_DISTANCE;) {
		*out = value_transfer(search, i);
		*at = i;
		if (out->sets_flags)
			return out->compares;
	}
	return false;
}

/* The compared register is below the result when a branch goes that way; 0: no limit. */
static uint64_t limit_of(enum transfer_condition condition, bool taken, uint64_t compared)
{
	switch (condition) {
	case CONDITION_BELOW:
		return taken ? compared : 0;
	case CONDITION_ABOVE_EQUAL:
		return taken ? 0 : compared;
	case CONDITION_BELOW_EQUAL:
		return taken ? compared + 1 : 0;
	case CONDITION_ABOVE:
		return taken ? 0 : compared + 1;
	case CONDITION_NONE:
		break;
	}
	return 0;
}

/* The value is below the result when control goes along the edge; 0: no limit. */
static uint64_t limit_of_edge(struct value_search *search, const struct flow_edge *edge,
			      const struct root *root)
{
	const struct cfg *cfg = search->builder->cfg;
	const struct cfg_block *from = &cfg->blocks[edge->from];
	uint32_t last = from->first + from->count - 1;
	if (cfg->instructions[last].kind != INSTRUCTION_CONDITIONAL)
		return 0;
	uint32_t target = cfg_instruction_at(cfg, cfg->instructions[last].target);
	bool taken = target != CFG_NO_INSTRUCTION &&
		     search->builder->block_of_instruction[target] == edge->to;
	if (taken && edge->to == edge->from + 1) /* both ways lead there */
		return 0;
	struct transfer compare;
	uint32_t at;
	enum transfer_condition condition = value_transfer(search, last).condition;
	if (condition == CONDITION_NONE || !find_compare(search, from, &at, &compare))
		return 0;
	struct place compared = { { .reg = compare.from }, edge->from, at };
	if (compare.has_memory && !value_memory_location(&compare, &compared.location))
		return 0;
	if (compared.location.reg > 31)
		return 0;
	struct root other;
	find_root(search, compared, &other);
	return same_root(&other, root) ? limit_of(condition, taken, compare.compared) : 0;
}

/* Whether the block defines the value, so that comparisons before it say nothing. */
static bool makes_value(const struct value_search *search, uint32_t block, const struct root *root)
{
	const struct cfg_block *all = &search->builder->cfg->blocks[block];
	for (size_t i = 0; i < root->definitions.count; i++)
		if (root->definitions.list[i] - all->first < all->count)
			return true;
	return false;
}

/* The largest limit over all paths to `start`; 0 when one of them sets none. */
static uint64_t walk_guards(struct value_search *search, uint32_t start, const struct root *root)
{
	const struct flow_graph *graph = &search->builder->cfg->graph;
	struct block_walk *walk = &search->guards;
	uint64_t largest = 0;
	block_walk_start(walk);
	block_walk_add(walk, start);
	while (walk->head < walk->tail) {
		uint32_t block = walk->queue[walk->head++];
		struct flow_ends into = flow_graph_into(graph, block);
		if (makes_value(search, block, root))
			return 0;
		for (size_t i = 0; i < into.count; i++) {
			const struct flow_edge *edge = &graph->edges[into.list[i]];
			if (!value_take_steps(search, 1))
				return 0;
			if (edge->from == FLOW_OUTSIDE) {
				if (edge->kind == FLOW_ENTRY)
					return 0;
				continue;
			}
			uint64_t limit = limit_of_edge(search, edge, root);
			if (limit == 0)
				block_walk_add(walk, edge->from);
			else if (limit > largest)
				largest = limit;
		}
	}
	return largest;
}

uint64_t value_limit(struct value_search *search, const struct place *variable, uint32_t block)
{
	struct root root;
	find_root(search, *variable, &root);
	if (root.definitions.incomplete)
		return root.limit == UINT64_MAX ? 0 : root.limit;
	uint64_t guard = walk_guards(search, block, &root);
	if (guard && guard < root.limit)
		return guard;
	return root.limit == UINT64_MAX ? 0 : root.limit;
}
