#include "analyze/flow/flow_propagate.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "base/cleanup.h"

/* The two sums that a block has part in: side 2 * block is into it, the next out of it. */
struct side {
	uint32_t unknown; /* edges */
	bool open;	  /* a made-up edge is among them: it never adds up */
	bool listed;	  /* for work, or done with: nothing is learnt from it twice */
};

struct work {
	const struct flow_propagate_input *input;
	struct flow_executions *classes;
	uint32_t *member_start; /* by class, and two more */
	uint32_t *members;	/* by class: blocks, and block_count + edges */
	struct side *sides;
	uint32_t *list; /* of sides to work on, in the order in which they turned up */
	size_t side_count, listed;
};

static void work_release(struct work *work)
{
	free(work->classes);
	free(work->member_start);
	free(work->members);
	free(work->sides);
	free(work->list);
}

static int work_init(struct work *work)
{
	const struct flow_graph *graph = work->input->graph;
	size_t blocks = graph->block_count, classes = work->input->class_count;
	assert(blocks < UINT32_MAX / 2 && graph->edge_count < UINT32_MAX - blocks);
	work->side_count = 2 * blocks;
	work->classes = calloc(classes + 1, sizeof(*work->classes));
	work->member_start = calloc(classes + 2, sizeof(*work->member_start));
	work->members = calloc(blocks + graph->edge_count + 1, sizeof(*work->members));
	work->sides = calloc(work->side_count + 1, sizeof(*work->sides));
	work->list = calloc(work->side_count + 1, sizeof(*work->list));
	bool all =
		work->classes && work->member_start && work->members && work->sides && work->list;
	return all ? 0 : -ENOMEM;
}

static uint32_t class_of(const struct flow_propagate_input *input, size_t member)
{
	size_t blocks = input->graph->block_count;
	uint32_t class = member < blocks ? input->class_of_block[member]
					 : input->class_of_edge[member - blocks];
	assert(class < input->class_count);
	return class;
}

static void list_members(struct work *work)
{
	const struct flow_graph *graph = work->input->graph;
	size_t members = graph->block_count + graph->edge_count;
	/* two places on: filling then moves each start to where it belongs */
	for (size_t member = 0; member < members; member++)
		work->member_start[class_of(work->input, member) + (size_t)2]++;
	for (size_t class = 2; class < work->input->class_count + (size_t)2; class ++)
		work->member_start[class] += work->member_start[class - 1];
	for (size_t member = 0; member < members; member++) {
		uint32_t *start = &work->member_start[class_of(work->input, member) + (size_t)1];
		work->members[(*start)++] = (uint32_t)member;
	}
}

static struct flow_ends ends_of(const struct flow_graph *graph, uint32_t side)
{
	return side % 2 ? flow_graph_out_of(graph, side / 2) : flow_graph_into(graph, side / 2);
}

static void prepare_sides(struct work *work)
{
	const struct flow_propagate_input *input = work->input;
	for (uint32_t side = 0; side < work->side_count; side++)
		work->sides[side].unknown = (uint32_t)ends_of(input->graph, side).count;
	for (size_t i = 0; i < input->made_up_count; i++) {
		const struct flow_edge *edge = &input->made_up[i];
		if (edge->to != FLOW_OUTSIDE)
			work->sides[2 * edge->to].open = true;
		if (edge->from != FLOW_OUTSIDE)
			work->sides[2 * edge->from + 1].open = true;
	}
}

static const struct flow_executions *block_of(const struct work *work, uint32_t side)
{
	return &work->classes[work->input->class_of_block[side / 2]];
}

static const struct flow_executions *edge_of(const struct work *work, uint32_t edge)
{
	return &work->classes[work->input->class_of_edge[edge]];
}

/* Puts a side to work that tells something new: all of its sum is known but one. */
static void consider(struct work *work, uint32_t side)
{
	struct side *at = &work->sides[side];
	uint32_t unknown = at->unknown + (block_of(work, side)->origin == FLOW_UNKNOWN);
	if (at->open || at->listed || unknown != 1)
		return;
	at->listed = true;
	work->list[work->listed++] = side;
}

/* Twice when an edge is the block's own loop: into it and out of it. */
static void edge_is_known(struct work *work, uint32_t edge)
{
	const struct flow_edge *ends = &work->input->graph->edges[edge];
	if (ends->to != FLOW_OUTSIDE) {
		work->sides[2 * ends->to].unknown--;
		consider(work, 2 * ends->to);
	}
	if (ends->from != FLOW_OUTSIDE) {
		work->sides[2 * ends->from + 1].unknown--;
		consider(work, 2 * ends->from + 1);
	}
}

static void class_is_known(struct work *work, uint32_t class, double value, enum flow_origin origin)
{
	uint32_t blocks = work->input->graph->block_count;
	work->classes[class] = (struct flow_executions){ value, origin };
	for (size_t i = work->member_start[class]; i < work->member_start[class + (size_t)1]; i++) {
		uint32_t member = work->members[i];
		if (member >= blocks) {
			edge_is_known(work, member - blocks);
			continue;
		}
		consider(work, 2 * member);
		consider(work, 2 * member + 1);
	}
}

static void add_up(struct work *work, uint32_t side)
{
	const struct flow_executions *block = block_of(work, side);
	struct flow_ends ends = ends_of(work->input->graph, side);
	uint32_t missing = UINT32_MAX;
	double sum = 0;
	for (size_t i = 0; i < ends.count; i++) {
		if (edge_of(work, ends.list[i])->origin == FLOW_UNKNOWN)
			missing = ends.list[i];
		else
			sum += edge_of(work, ends.list[i])->value;
	}
	if (missing == UINT32_MAX && block->origin == FLOW_UNKNOWN) {
		class_is_known(work, work->input->class_of_block[side / 2], sum, FLOW_PROPAGATED);
	} else if (missing != UINT32_MAX && block->origin != FLOW_UNKNOWN) {
		double rest = block->value - sum;
		class_is_known(work, work->input->class_of_edge[missing], rest < 0 ? 0 : rest,
			       rest < 0 ? FLOW_CLAMPED : FLOW_PROPAGATED);
	} /* else its last one was learnt elsewhere by now */
}

static void spread_known(struct work *work)
{
	const double *estimates = work->input->estimates;
	for (uint32_t class = 0; class < work->input->class_count; class ++) {
		bool known = !isnan(estimates[class]);
		assert(!known || estimates[class] >= 0);
		work->classes[class].value = estimates[class];
		work->classes[class].origin = known ? FLOW_ESTIMATED : FLOW_UNKNOWN;
	}
	for (uint32_t class = 0; class < work->input->class_count; class ++)
		if (!isnan(estimates[class]))
			class_is_known(work, class, estimates[class], FLOW_ESTIMATED);
	for (size_t at = 0; at < work->listed; at++)
		add_up(work, work->list[at]);
}

static void guess(const struct flow_graph *graph, uint32_t side,
		  const struct flow_executions *block, struct flow_executions *edges)
{
	struct flow_ends ends = ends_of(graph, side);
	double left = block->value;
	size_t unknown = 0;
	for (size_t i = 0; i < ends.count; i++) {
		const struct flow_executions *edge = &edges[ends.list[i]];
		unknown += edge->origin == FLOW_UNKNOWN;
		left -= edge->origin == FLOW_UNKNOWN ? 0 : edge->value;
	}
	if (block->origin == FLOW_UNKNOWN || unknown == 0)
		return;
	double share = left < 0 ? 0 : left / (double)unknown;
	for (size_t i = 0; i < ends.count; i++)
		if (edges[ends.list[i]].origin == FLOW_UNKNOWN)
			edges[ends.list[i]] = (struct flow_executions){ share, FLOW_GUESSED };
}

int flow_propagate(const struct flow_propagate_input *input, struct flow_executions *blocks,
		   struct flow_executions *edges)
{
	CLEANUP(work_release) struct work work = { .input = input };
	const struct flow_graph *graph = input->graph;
	int ret = work_init(&work);
	if (ret < 0)
		return ret;
	list_members(&work);
	prepare_sides(&work);
	spread_known(&work);
	for (uint32_t block = 0; block < graph->block_count; block++)
		blocks[block] = *block_of(&work, 2 * block);
	for (uint32_t edge = 0; edge < graph->edge_count; edge++)
		edges[edge] = *edge_of(&work, edge);
	for (uint32_t block = 0; block < graph->block_count; block++)
		guess(graph, 2 * block + 1, &blocks[block], edges);
	for (uint32_t block = 0; block < graph->block_count; block++)
		guess(graph, 2 * block, &blocks[block], edges);
	return 0;
}
