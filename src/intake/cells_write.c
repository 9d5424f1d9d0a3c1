#include "intake/cells_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define AHEAD 16 /* how many cells ahead of its use memory is prefetched */

struct writing {
	struct cells *cells;
	struct cells flat; /* the same samples without their stacks; its cache is not used */
	const struct cells_rows *rows;
	struct profile *profile;
	uint32_t *stacks; /* by cell: its node's number; 0: none */
	uint32_t *nodes;  /* rows by number */
	uint64_t *counts; /* by event: *before of cells_rows.measured() */
	uint32_t *images; /* rows by number; 0: not translated yet */
	size_t image_capacity;
	bool distinct; /* different numbers are different rows: none has to be looked for */
	uint32_t row;  /* that was added last */
};

static void writing_release(struct writing *writing)
{
	cells_release(&writing->flat);
	free(writing->stacks);
	free(writing->nodes);
	free(writing->counts);
	free(writing->images);
}

/* ---- leaves */

static void expect_leaf(const struct cells *cells, size_t i)
{
	if (i >= cells->count)
		return;
	const struct cell_key *key = &cells->list[i].key;
	if (key->stack == CELL_STACK_LEAF)
		cells_expect(cells, cells_path_below(cells_path(cells, key->calls), key->image,
						     key->vaddr, FRAME_IP));
}

static void expect_calls(const struct cells *cells, size_t i)
{
	if (i < cells->count && cells->list[i].key.calls)
		__builtin_prefetch(&cells->nodes[cells->list[i].key.calls - 1]);
}

/* Sampled addresses join the trie, on top of the calls that led there. */
static int add_leaves(struct writing *writing)
{
	struct cells *cells = writing->cells;
	for (size_t i = 0; i < cells->count; i++) {
		const struct cell_key *key = &cells->list[i].key;
		int ret = 0;
		expect_calls(cells, i + 2 * AHEAD);
		expect_leaf(cells, i + AHEAD);
		if (key->stack == CELL_STACK_LEAF)
			ret = cells_node(cells, key->calls, key->image, key->vaddr, FRAME_IP,
					 &writing->stacks[i]);
		else if (key->stack == CELL_STACK_WHOLE)
			writing->stacks[i] = key->calls;
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int add_flat(struct writing *writing)
{
	const struct cells *cells = writing->cells;
	for (size_t i = 0; i < cells->count; i++) {
		struct cell_key key = cells->list[i].key;
		key.calls = 0;
		key.stack = CELL_STACK_NONE;
		int ret = cells_add(&writing->flat, &key, &cells->list[i].cell);
		if (ret < 0)
			return ret;
	}
	return cells_settle(&writing->flat);
}

/* ---- images */

static int need_image(struct writing *writing, uint32_t number, size_t *made)
{
	int ret = array_reserve_zeroed(&writing->images, &writing->image_capacity, number,
				       sizeof(*writing->images));
	if (ret < 0)
		return ret;
	if (writing->images[number])
		return 0;
	const struct cells_rows *rows = writing->rows;
	bool is_new = false;
	ret = rows->image(rows->owner, number, &writing->images[number], &is_new);
	*made += is_new;
	/* a leaf and a caller at the same address are one node then */
	writing->distinct &= !rows->calls_exact(rows->owner, number);
	return ret;
}

/* Translates all images that occur. Rows can be appended without looking for equal ones when no two
 * images are one in the profile, as hard links of a file are. */
static int write_images(struct writing *writing)
{
	const struct cells_rows *rows = writing->rows;
	const struct cells *cells = writing->cells;
	size_t before = profile_table(writing->profile, PROFILE_IMAGE)->count;
	size_t made = 0, events = 0;
	int ret = 0;
	for (size_t i = 0; i < cells->node_count && ret == 0; i++)
		ret = need_image(writing, cells->nodes[i].image_kind / 2, &made);
	for (size_t i = 0; i < writing->flat.count && ret == 0; i++)
		ret = need_image(writing, writing->flat.list[i].key.image, &made);
	for (size_t i = 0; i < rows->event_count; i++)
		events += rows->events[i] != 0;
	writing->distinct &=
		profile_table(writing->profile, PROFILE_IMAGE)->count - before == made &&
		before == 0 && profile_table(writing->profile, PROFILE_EVENT)->count == events;
	return ret;
}

/* ---- rows */

static int add_row(struct writing *writing, enum profile_table which, const uint64_t *keys,
		   const struct cell *cell)
{
	struct table *table = writing->profile->tables[which];
	uint64_t values[] = { [CELL_SQUARES_HIGH] = 0 };
	if (cell)
		cells_put(cell, values);
	return writing->distinct ? table_append(table, keys, values)
				 : table_add(table, keys, values, &writing->row);
}

/* Callers whose address is that of their call, as Dalvik's, are written as FRAME_IP. */
static enum frame_kind kind_of(const struct writing *writing, const struct cells_node *node)
{
	const struct cells_rows *rows = writing->rows;
	return node->image_kind & 1 && !rows->calls_exact(rows->owner, node->image_kind / 2)
		       ? FRAME_RETURN
		       : FRAME_IP;
}

static int write_nodes(struct writing *writing)
{
	const struct cells *cells = writing->cells;
	for (size_t i = 0; i < cells->node_count; i++) {
		const struct cells_node *node = &cells->nodes[i];
		const uint64_t keys[] = {
			[NODE_PARENT] = writing->nodes[node->parent],
			[NODE_KIND] = kind_of(writing, node),
			[NODE_IMAGE] = writing->images[node->image_kind / 2],
			[NODE_VADDR] = node->vaddr,
			[NODE_NAME] = 0,
		};
		writing->row = (uint32_t)i;
		int ret = add_row(writing, PROFILE_NODE, keys, NULL);
		if (ret < 0)
			return ret;
		writing->nodes[i + 1] = writing->row + 1;
	}
	return 0;
}

/* For each table the counts of events begin at 0. */
static void begin_counts(struct writing *writing)
{
	memset(writing->counts, 0, writing->rows->event_count * sizeof(*writing->counts));
}

static struct cell measured(struct writing *writing, uint32_t event, const struct cell *cell)
{
	const struct cells_rows *rows = writing->rows;
	return rows->measured(rows->owner, event, cell, &writing->counts[event]);
}

static int write_flat(struct writing *writing)
{
	const struct cells_rows *rows = writing->rows;
	int ret = 0;
	begin_counts(writing);
	for (size_t i = 0; i < writing->flat.count && ret == 0; i++) {
		const struct cell_key *key = &writing->flat.list[i].key;
		const uint64_t keys[] = {
			[FLAT_EVENT] = rows->events[key->event],
			[FLAT_IMAGE] = writing->images[key->image],
			[FLAT_VADDR] = key->vaddr,
			[FLAT_NAME] = 0,
			[FLAT_CONTEXT] = rows->contexts[key->context],
		};
		const struct cell cell = measured(writing, key->event, &writing->flat.list[i].cell);
		ret = add_row(writing, PROFILE_FLAT, keys, &cell);
	}
	return ret;
}

static int write_stacks(struct writing *writing)
{
	const struct cells_rows *rows = writing->rows;
	const struct cells *cells = writing->cells;
	int ret = 0;
	/* cells of several leaves may have one stack that was recorded whole */
	for (size_t i = 0; i < cells->count && writing->distinct; i++)
		writing->distinct = cells->list[i].key.stack != CELL_STACK_WHOLE;
	begin_counts(writing);
	for (size_t i = 0; i < cells->count && ret == 0; i++) {
		const struct cell_key *key = &cells->list[i].key;
		if (!writing->stacks[i])
			continue;
		const struct cell sum = measured(writing, key->event, &cells->list[i].cell);
		const uint64_t keys[] = {
			[STACK_EVENT] = rows->events[key->event],
			[STACK_NODE] = writing->nodes[writing->stacks[i]],
			[STACK_CONTEXT] = rows->contexts[key->context],
		};
		ret = add_row(writing, PROFILE_STACK, keys, &sum);
	}
	return ret;
}

static int write_rows(struct writing *writing)
{
	int ret = add_leaves(writing);
	if (ret == 0)
		ret = add_flat(writing);
	if (ret == 0)
		ret = write_images(writing);
	if (ret < 0)
		return ret;
	writing->nodes = calloc(writing->cells->node_count + 1, sizeof(*writing->nodes));
	if (!writing->nodes)
		return -ENOMEM;
	ret = write_nodes(writing);
	if (ret == 0)
		ret = write_flat(writing);
	return ret < 0 ? ret : write_stacks(writing);
}

int cells_write(struct cells *cells, const struct cells_rows *rows, struct profile *profile)
{
	struct writing writing = {
		.cells = cells, .rows = rows, .profile = profile, .distinct = true
	};
	int ret = cells_settle(cells);
	if (ret < 0)
		return ret;
	writing.stacks = calloc(cells->count + 1, sizeof(*writing.stacks));
	writing.counts = calloc(rows->event_count + 1, sizeof(*writing.counts));
	ret = writing.stacks && writing.counts ? write_rows(&writing) : -ENOMEM;
	writing_release(&writing);
	return ret;
}
