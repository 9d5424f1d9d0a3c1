#include "analyze/report/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/named_procedures.h"
#include "analyze/report/chosen_samples.h"
#include "analyze/report/label_tree.h"
#include "analyze/report/place_labels.h"
#include "analyze/report/tree_order.h"
#include "base/cleanup.h"
#include "base/error.h"

#define NO_ROW	 LABEL_TREE_NONE
#define NO_STACK (UINT32_MAX - 1) /* stands where a procedure would: samples without a stack */

struct walk {
	struct report *report;
	const struct chosen_samples *selection;
	size_t columns, nodes;
	struct cell *direct,
		*below;		    /* node * columns: samples that end there; and in its subtree */
	struct place_labels labels; /* procedures */
	struct label_tree tree;	    /* its nodes become rows; their labels are procedures */
	struct node_cells self, total;
};

static struct cell *cells_at(struct cell *cells, const struct walk *walk, size_t node)
{
	return cells + node * walk->columns;
}

static bool cells_are_empty(const struct cell *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!cell_is_empty(&cells[i]))
			return false;
	return true;
}

static void cells_add(struct cell *into, const struct cell *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!cell_is_empty(&from[i]))
			cell_add(&into[i], &from[i]);
}

static int node_chain(struct walk *walk, size_t node, const uint32_t **chain, size_t *count)
{
	return place_labels_at(&walk->labels, walk->selection->node_place[node], chain, count);
}

static uint32_t parent_of(const struct walk *walk, size_t node)
{
	return (uint32_t)table_keys(profile_table(walk->report->profile, PROFILE_NODE),
				    node - 1)[NODE_PARENT];
}

/* Sums up the selected stacks; children come after their parents, so one pass from the end does. */
static int sum_nodes(struct walk *walk)
{
	walk->direct = calloc((walk->nodes + 1) * walk->columns + 1, sizeof(struct cell));
	walk->below = calloc((walk->nodes + 1) * walk->columns + 1, sizeof(struct cell));
	if (!walk->direct || !walk->below)
		return -ENOMEM;
	for (size_t i = 0; i < walk->selection->count; i++) {
		const struct selected *sample = &walk->selection->list[i];
		if (sample->node)
			cell_add(&cells_at(walk->direct, walk, sample->node)[sample->column],
				 &sample->cell);
	}
	for (size_t node = walk->nodes; node > 0; node--) {
		cells_add(cells_at(walk->below, walk, node), cells_at(walk->direct, walk, node),
			  walk->columns);
		uint32_t parent = parent_of(walk, node);
		if (parent)
			cells_add(cells_at(walk->below, walk, parent),
				  cells_at(walk->below, walk, node), walk->columns);
	}
	return 0;
}

/* The row of a procedure below the row `from`, or of a root below NO_ROW, with its cells. */
static int step(struct walk *walk, uint32_t from, uint32_t procedure, uint32_t *row)
{
	int ret = label_tree_find(&walk->tree, from, procedure, row);
	if (ret == 0)
		ret = node_cells_reach(&walk->self, walk->tree.count);
	return ret < 0 ? ret : node_cells_reach(&walk->total, walk->tree.count);
}

/* ---- inclusive: a row a procedure */

struct node_links {
	uint32_t *first_child, *next_sibling; /* by node id; children of 0 are the roots */
	uint32_t *on_path;		      /* by procedure: how often it is above */
	size_t procedures;
};

/* Adds to a procedure's row of `sums`, walk->self or walk->total. */
static int add_row(struct walk *walk, struct node_cells *sums, uint32_t procedure,
		   const struct cell *cells)
{
	uint32_t row;
	int ret = step(walk, NO_ROW, procedure, &row);
	if (ret == 0)
		cells_add(node_cells_of(sums, row), cells, walk->columns);
	return ret;
}

static int enter(struct walk *walk, struct node_links *links, uint32_t node)
{
	const uint32_t *chain;
	size_t count;
	int ret = node_chain(walk, node, &chain, &count);
	for (size_t i = 0; ret == 0 && i < count; i++)
		if (links->on_path[chain[i]]++ == 0)
			ret = add_row(walk, &walk->total, chain[i],
				      cells_at(walk->below, walk, node));
	const struct cell *direct = cells_at(walk->direct, walk, node);
	if (ret == 0 && !cells_are_empty(direct, walk->columns))
		ret = add_row(walk, &walk->self, chain[count - 1], direct);
	return ret;
}

static int leave(struct walk *walk, struct node_links *links, uint32_t node)
{
	const uint32_t *chain;
	size_t count;
	int ret = node_chain(walk, node, &chain, &count);
	for (size_t i = 0; ret == 0 && i < count; i++)
		links->on_path[chain[i]]--;
	return ret;
}

/* Depth first without recursion: stacks may be deeper than ours. */
static int visit(struct walk *walk, struct node_links *links)
{
	uint32_t node = links->first_child[0];
	while (node) {
		int ret = enter(walk, links, node);
		if (ret < 0)
			return ret;
		if (links->first_child[node]) {
			node = links->first_child[node];
			continue;
		}
		while (node) {
			ret = leave(walk, links, node);
			if (ret < 0)
				return ret;
			if (links->next_sibling[node]) {
				node = links->next_sibling[node];
				break;
			}
			node = parent_of(walk, node);
		}
	}
	return 0;
}

static int fill_links(struct walk *walk, struct node_links *links)
{
	links->first_child = calloc(walk->nodes + 1, sizeof(*links->first_child));
	links->next_sibling = calloc(walk->nodes + 1, sizeof(*links->next_sibling));
	if (!links->first_child || !links->next_sibling)
		return -ENOMEM;
	for (size_t node = walk->nodes; node > 0; node--) {
		if (cells_are_empty(cells_at(walk->below, walk, node), walk->columns))
			continue; /* so is all below it */
		uint32_t parent = parent_of(walk, node);
		links->next_sibling[node] = links->first_child[parent];
		links->first_child[parent] = (uint32_t)node;
		const uint32_t *chain;
		size_t count;
		int ret = node_chain(walk, node, &chain, &count);
		if (ret < 0)
			return ret;
	}
	links->procedures = places_procedure_count(walk->report->places);
	links->on_path = calloc(links->procedures + 1, sizeof(*links->on_path));
	return links->on_path ? 0 : -ENOMEM;
}

/* A sample without a stack is a stack of one place. */
static int add_stackless(struct walk *walk)
{
	struct cell *cells = calloc(walk->columns + 1, sizeof(*cells));
	int ret = cells ? 0 : -ENOMEM;
	for (size_t i = 0; ret == 0 && i < walk->selection->count; i++) {
		const struct selected *sample = &walk->selection->list[i];
		if (sample->node)
			continue;
		memset(cells, 0, walk->columns * sizeof(*cells));
		cells[sample->column] = sample->cell;
		const uint32_t *chain;
		size_t count;
		ret = place_labels_at(&walk->labels, sample->place, &chain, &count);
		for (size_t k = 0; ret == 0 && k < count; k++) {
			bool again = false;
			for (size_t j = 0; j < k; j++)
				again |= chain[j] == chain[k];
			if (!again)
				ret = add_row(walk, &walk->total, chain[k], cells);
		}
		if (ret == 0)
			ret = add_row(walk, &walk->self, chain[count - 1], cells);
	}
	free(cells);
	return ret;
}

static int fill_inclusive(struct walk *walk)
{
	struct node_links links = { 0 };
	int ret = fill_links(walk, &links);
	if (ret == 0)
		ret = visit(walk, &links);
	if (ret == 0)
		ret = add_stackless(walk);
	free(links.first_child);
	free(links.next_sibling);
	free(links.on_path);
	return ret;
}

/* ---- trees: a row a path */

/* Which procedures paths start from, by procedure number. */
struct start {
	const bool *is; /* NULL: the outermost frame of each stack */
	size_t count;
};

static bool is_start(const struct start *start, uint32_t procedure)
{
	return procedure < start->count && start->is[procedure];
}

/* Follows a chain down from the row `from`; where that is NO_ROW, from its first start. */
static int grow_down(struct walk *walk, const struct start *start, uint32_t from,
		     const uint32_t *chain, size_t count, uint32_t *row)
{
	for (size_t i = 0; i < count; i++) {
		if (start->is && from == NO_ROW && !is_start(start, chain[i]))
			continue;
		int ret = step(walk, from, chain[i], &from);
		if (ret < 0)
			return ret;
	}
	*row = from;
	return 0;
}

static void add_path_cells(struct walk *walk, uint32_t row, const struct cell *cells)
{
	if (row != NO_ROW)
		cells_add(node_cells_of(&walk->self, row), cells, walk->columns);
}

static int fill_down(struct walk *walk, const struct start *start)
{
	CLEANUP(free_pointer) uint32_t *row_of = calloc(walk->nodes + 1, sizeof(*row_of));
	CLEANUP(free_pointer) struct cell *cells = calloc(walk->columns + 1, sizeof(*cells));
	if (!row_of || !cells)
		return -ENOMEM;
	row_of[0] = NO_ROW;
	for (size_t node = 1; node <= walk->nodes; node++) {
		row_of[node] = NO_ROW;
		if (cells_are_empty(cells_at(walk->below, walk, node), walk->columns))
			continue;
		const uint32_t *chain;
		size_t count;
		int ret = node_chain(walk, node, &chain, &count);
		if (ret == 0)
			ret = grow_down(walk, start, row_of[parent_of(walk, node)], chain, count,
					&row_of[node]);
		if (ret < 0)
			return ret;
		add_path_cells(walk, row_of[node], cells_at(walk->direct, walk, node));
	}
	for (size_t i = 0; i < walk->selection->count; i++) {
		const struct selected *sample = &walk->selection->list[i];
		if (sample->node)
			continue;
		const uint32_t *chain;
		size_t count;
		uint32_t row = NO_ROW;
		int ret = place_labels_at(&walk->labels, sample->place, &chain, &count);
		if (ret == 0 && !start->is)
			ret = step(walk, NO_ROW, NO_STACK, &row);
		if (ret == 0)
			ret = grow_down(walk, start, row, chain, count, &row);
		memset(cells, 0, walk->columns * sizeof(*cells));
		cells[sample->column] = sample->cell;
		if (ret < 0)
			return ret;
		add_path_cells(walk, row, cells);
	}
	/* rows come after the row they hang on */
	for (size_t row = walk->tree.count; row-- > 0;) {
		struct cell *total = node_cells_of(&walk->total, row);
		cells_add(total, node_cells_of(&walk->self, row), walk->columns);
		uint32_t parent = walk->tree.nodes[row].parent;
		if (parent != NO_ROW)
			cells_add(node_cells_of(&walk->total, parent), total, walk->columns);
	}
	return 0;
}

/* Follows a chain up from its position `at`, and the nodes from `above` on, to the outermost frame;
 * the last row reached gets the cells as its own. */
static int grow_up(struct walk *walk, const uint32_t *chain, size_t at, uint32_t above,
		   const struct cell *cells)
{
	uint32_t row = NO_ROW;
	for (;;) {
		for (size_t i = at + 1; i-- > 0;) {
			int ret = step(walk, row, chain[i], &row);
			if (ret < 0)
				return ret;
			cells_add(node_cells_of(&walk->total, row), cells, walk->columns);
		}
		if (above == 0)
			break;
		int ret = node_chain(walk, above, &chain, &at);
		if (ret < 0)
			return ret;
		at--;
		above = parent_of(walk, above);
	}
	cells_add(node_cells_of(&walk->self, row), cells, walk->columns);
	return 0;
}

static bool find_start(const struct start *start, const uint32_t *chain, size_t count, size_t *at)
{
	for (*at = 0; *at < count; ++*at)
		if (is_start(start, chain[*at]))
			return true;
	return false;
}

/* Starts from the outermost start of each stack, so that each sample counts once. */
static int fill_up(struct walk *walk, const struct start *start)
{
	CLEANUP(free_pointer) bool *met = calloc(walk->nodes + 1, sizeof(*met));
	CLEANUP(free_pointer) struct cell *cells = calloc(walk->columns + 1, sizeof(*cells));
	if (!met || !cells)
		return -ENOMEM;
	for (size_t node = 1; node <= walk->nodes; node++) {
		uint32_t parent = parent_of(walk, node);
		met[node] = met[parent];
		if (met[node] || cells_are_empty(cells_at(walk->below, walk, node), walk->columns))
			continue;
		const uint32_t *chain;
		size_t count, at;
		int ret = node_chain(walk, node, &chain, &count);
		if (ret == 0 && find_start(start, chain, count, &at)) {
			met[node] = true;
			ret = grow_up(walk, chain, at, parent, cells_at(walk->below, walk, node));
		}
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < walk->selection->count; i++) {
		const struct selected *sample = &walk->selection->list[i];
		const uint32_t *chain;
		size_t count, at;
		if (sample->node)
			continue;
		int ret = place_labels_at(&walk->labels, sample->place, &chain, &count);
		if (ret < 0)
			return ret;
		if (!find_start(start, chain, count, &at))
			continue;
		memset(cells, 0, walk->columns * sizeof(*cells));
		cells[sample->column] = sample->cell;
		uint32_t row = NO_ROW;
		for (size_t k = at + 1; ret == 0 && k-- > 0;) {
			ret = step(walk, row, chain[k], &row);
			if (ret == 0)
				cells_add(node_cells_of(&walk->total, row), cells, walk->columns);
		}
		if (ret == 0)
			ret = step(walk, row, NO_STACK, &row);
		if (ret < 0)
			return ret;
		cells_add(node_cells_of(&walk->total, row), cells, walk->columns);
		cells_add(node_cells_of(&walk->self, row), cells, walk->columns);
	}
	return 0;
}

/* ---- the procedure that --callers and --callees name */

static int resolve_all_chains(struct walk *walk)
{
	const uint32_t *chain;
	size_t count;
	int ret = 0;
	for (size_t node = 1; ret == 0 && node <= walk->nodes; node++)
		if (!cells_are_empty(cells_at(walk->below, walk, node), walk->columns))
			ret = node_chain(walk, node, &chain, &count);
	for (size_t i = 0; ret == 0 && i < walk->selection->count; i++)
		ret = place_labels_at(&walk->labels, walk->selection->list[i].place, &chain,
				      &count);
	return ret;
}

static int find_procedure(struct walk *walk, bool **out, size_t *count, struct error *err)
{
	const char *name = walk->report->options.procedure;
	if (resolve_all_chains(walk) < 0)
		return error_set(err, -ENOMEM, "out of memory looking for '%s'", name);
	return named_procedures(walk->report->places, name, out, count, err);
}

/* ---- rows */

static int make_rows(struct walk *walk)
{
	struct report *report = walk->report;
	report->rows = calloc(walk->tree.count + 1, sizeof(*report->rows));
	if (!report->rows)
		return -ENOMEM;
	report->row_cells = walk->self.list;
	report->row_totals = walk->total.list;
	walk->self.list = walk->total.list = NULL; /* the report's from here on */
	report->row_count = walk->tree.count;
	for (size_t i = 0; i < report->row_count; i++) {
		struct report_row *row = &report->rows[i];
		const struct label_node *node = &walk->tree.nodes[i];
		row->self = report->row_cells + i * walk->columns;
		row->total = report->row_totals + i * walk->columns;
		row->number = (uint32_t)i;
		row->procedure = PLACE_NONE;
		if (node->label == NO_STACK)
			row->texts[REPORT_PROCEDURE] = "[no stack]";
		else
			report_describe_procedure(report, row, node->label);
		if (node->parent != NO_ROW)
			row->depth = report->rows[node->parent].depth + 1;
	}
	return 0;
}

static int fill_tree(struct walk *walk, struct error *err)
{
	enum report_view view = walk->report->options.view;
	CLEANUP(free_pointer) bool *meant = NULL;
	struct start start = { 0 };
	if (view != REPORT_TREE) {
		int ret = find_procedure(walk, &meant, &start.count, err);
		if (ret < 0)
			return ret;
		start.is = meant;
	}
	int ret = view == REPORT_CALLERS ? fill_up(walk, &start) : fill_down(walk, &start);
	if (ret == 0)
		ret = make_rows(walk);
	if (ret == 0)
		ret = tree_order(walk->report, &walk->tree);
	return ret < 0 ? error_set(err, ret, "out of memory following stacks") : 0;
}

static int fill(struct walk *walk, struct error *err)
{
	int ret = sum_nodes(walk);
	if (ret == 0 && walk->report->options.view != REPORT_INCLUSIVE)
		return fill_tree(walk, err);
	if (ret == 0)
		ret = fill_inclusive(walk);
	if (ret == 0)
		ret = make_rows(walk);
	return ret < 0 ? error_set(err, ret, "out of memory following stacks") : 0;
}

int call_tree_fill(struct report *report, const struct chosen_samples *selection, struct error *err)
{
	struct walk walk = { .report = report,
			     .selection = selection,
			     .columns = report->columns.count,
			     .nodes = profile_table(report->profile, PROFILE_NODE)->count,
			     .labels = { .report = report },
			     .self = { .columns = report->columns.count },
			     .total = { .columns = report->columns.count } };
	int ret = fill(&walk, err);
	free(walk.direct);
	free(walk.below);
	place_labels_release(&walk.labels);
	label_tree_release(&walk.tree);
	free(walk.self.list);
	free(walk.total.list);
	return ret;
}
