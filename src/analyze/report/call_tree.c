#include "analyze/report/call_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/procedure_name.h"
#include "analyze/report/report_rows.h"
#include "analyze/report/chosen_samples.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"

/* A row of a tree: key = (parent row or NO_ROW, procedure). */
#define NO_ROW	      UINT32_MAX
#define NO_STACK      (UINT32_MAX - 1) /* stands where a procedure would: samples without a stack */
#define AMBIGUOUS_MAX 8		       /* names in the message about an ambiguous one */

struct chain {
	uint32_t start, count; /* in walk.chains; count 0: not asked yet */
};

struct walk {
	struct report *report;
	const struct chosen_samples *selection;
	size_t columns, nodes;
	struct cell *direct,
		*below;		/* node * columns: samples that end there; and in its subtree */
	struct chain *chain_of; /* by place */
	size_t chain_capacity;
	uint32_t *chains;
	size_t chains_count, chains_capacity;
	struct report_rows rows;
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

/* The functions at a place, outermost first; they stay where they are until the next call. */
static int chain_at(struct walk *walk, uint32_t place, const uint32_t **chain, size_t *count)
{
	if (place >= walk->chain_capacity) {
		size_t capacity = (size_t)place * 2 + 256;
		struct chain *grown = reallocarray(walk->chain_of, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + walk->chain_capacity, 0,
		       (capacity - walk->chain_capacity) * sizeof(*grown));
		walk->chain_of = grown;
		walk->chain_capacity = capacity;
	}
	struct chain *known = &walk->chain_of[place];
	if (known->count == 0) {
		size_t length;
		const uint32_t *made = chosen_samples_chain(walk->report, place, &length);
		if (!made)
			return -ENOMEM;
		known->start = (uint32_t)walk->chains_count;
		for (size_t i = 0; i < length; i++) {
			int ret = array_reserve(&walk->chains, &walk->chains_capacity,
						walk->chains_count, sizeof(*walk->chains));
			if (ret < 0)
				return ret;
			walk->chains[walk->chains_count++] = made[i];
		}
		known->count = (uint32_t)length;
	}
	*chain = walk->chains + known->start;
	*count = known->count;
	return 0;
}

static int node_chain(struct walk *walk, size_t node, const uint32_t **chain, size_t *count)
{
	return chain_at(walk, walk->selection->node_place[node], chain, count);
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

/* ---- inclusive: a row a procedure */

struct node_links {
	uint32_t *first_child, *next_sibling; /* by node id; children of 0 are the roots */
	uint32_t *on_path;		      /* by procedure: how often it is above */
	size_t procedures;
};

static int add_inclusive(struct walk *walk, uint32_t procedure, const struct cell *cells)
{
	uint32_t row;
	int ret = report_rows_find(&walk->rows, &procedure, &row);
	if (ret == 0)
		cells_add(report_rows_total(&walk->rows, row), cells, walk->columns);
	return ret;
}

static int add_self(struct walk *walk, uint32_t procedure, const struct cell *cells)
{
	uint32_t row;
	int ret = report_rows_find(&walk->rows, &procedure, &row);
	if (ret == 0)
		cells_add(report_rows_self(&walk->rows, row), cells, walk->columns);
	return ret;
}

static int enter(struct walk *walk, struct node_links *links, uint32_t node)
{
	const uint32_t *chain;
	size_t count;
	int ret = node_chain(walk, node, &chain, &count);
	for (size_t i = 0; ret == 0 && i < count; i++)
		if (links->on_path[chain[i]]++ == 0)
			ret = add_inclusive(walk, chain[i], cells_at(walk->below, walk, node));
	const struct cell *direct = cells_at(walk->direct, walk, node);
	if (ret == 0 && !cells_are_empty(direct, walk->columns))
		ret = add_self(walk, chain[count - 1], direct);
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
		ret = chain_at(walk, sample->place, &chain, &count);
		for (size_t k = 0; ret == 0 && k < count; k++) {
			bool again = false;
			for (size_t j = 0; j < k; j++)
				again |= chain[j] == chain[k];
			if (!again)
				ret = add_inclusive(walk, chain[k], cells);
		}
		if (ret == 0)
			ret = add_self(walk, chain[count - 1], cells);
	}
	free(cells);
	return ret;
}

static int fill_inclusive(struct walk *walk)
{
	struct node_links links = { 0 };
	report_rows_init(&walk->rows, 1, walk->columns);
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

static int step(struct walk *walk, uint32_t from, uint32_t procedure, uint32_t *row)
{
	const uint32_t key[] = { from, procedure };
	return report_rows_find(&walk->rows, key, row);
}

/* Which procedures are meant: by procedure number. NULL: all start at the root. */
struct start {
	const bool *is; /* NULL: a tree from the outermost frame */
	size_t count;
};

static bool is_start(const struct start *start, uint32_t procedure)
{
	return procedure < start->count && start->is[procedure];
}

/* Down from the outermost frame, or from the first procedure of a stack that is meant. */
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

static int add_path_cells(struct walk *walk, uint32_t row, const struct cell *cells)
{
	if (row != NO_ROW)
		cells_add(report_rows_self(&walk->rows, row), cells, walk->columns);
	return 0;
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
		if (ret == 0)
			ret = add_path_cells(walk, row_of[node],
					     cells_at(walk->direct, walk, node));
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < walk->selection->count; i++) {
		const struct selected *sample = &walk->selection->list[i];
		if (sample->node)
			continue;
		const uint32_t *chain;
		size_t count;
		uint32_t row = NO_ROW;
		int ret = chain_at(walk, sample->place, &chain, &count);
		if (ret == 0 && !start->is)
			ret = step(walk, NO_ROW, NO_STACK, &row);
		if (ret == 0)
			ret = grow_down(walk, start, row, chain, count, &row);
		memset(cells, 0, walk->columns * sizeof(*cells));
		cells[sample->column] = sample->cell;
		if (ret == 0)
			ret = add_path_cells(walk, row, cells);
		if (ret < 0)
			return ret;
	}
	/* rows come after the row they hang on */
	for (size_t row = walk->rows.count; row-- > 0;) {
		struct cell *total = report_rows_total(&walk->rows, row);
		cells_add(total, report_rows_self(&walk->rows, row), walk->columns);
		uint32_t parent = report_rows_key(&walk->rows, row)[0];
		if (parent != NO_ROW)
			cells_add(report_rows_total(&walk->rows, parent), total, walk->columns);
	}
	return 0;
}

/* Up from place `at` of a chain to the outermost frame; the last row reached gets the cells as its
 * own. */
static int grow_up(struct walk *walk, const uint32_t *chain, size_t at, uint32_t above,
		   const struct cell *cells)
{
	uint32_t row = NO_ROW;
	for (;;) {
		for (size_t i = at + 1; i-- > 0;) {
			int ret = step(walk, row, chain[i], &row);
			if (ret < 0)
				return ret;
			cells_add(report_rows_total(&walk->rows, row), cells, walk->columns);
		}
		if (above == 0)
			break;
		int ret = node_chain(walk, above, &chain, &at);
		if (ret < 0)
			return ret;
		at--;
		above = parent_of(walk, above);
	}
	cells_add(report_rows_self(&walk->rows, row), cells, walk->columns);
	return 0;
}

static bool find_start(const struct start *start, const uint32_t *chain, size_t count, size_t *at)
{
	for (*at = 0; *at < count; ++*at)
		if (is_start(start, chain[*at]))
			return true;
	return false;
}

/* From the outermost procedure of each stack that is meant: so each sample counts once. */
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
		int ret = chain_at(walk, sample->place, &chain, &count);
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
				cells_add(report_rows_total(&walk->rows, row), cells,
					  walk->columns);
		}
		if (ret == 0)
			ret = step(walk, row, NO_STACK, &row);
		if (ret < 0)
			return ret;
		cells_add(report_rows_total(&walk->rows, row), cells, walk->columns);
		cells_add(report_rows_self(&walk->rows, row), cells, walk->columns);
	}
	return 0;
}

/* ---- the procedure that --callers and --callees name */

static int resolve_all_chains(struct walk *walk)
{
	for (size_t node = 1; node <= walk->nodes; node++) {
		const uint32_t *chain;
		size_t count;
		if (cells_are_empty(cells_at(walk->below, walk, node), walk->columns))
			continue;
		int ret = node_chain(walk, node, &chain, &count);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < walk->selection->count; i++) {
		const uint32_t *chain;
		size_t count;
		int ret = chain_at(walk, walk->selection->list[i].place, &chain, &count);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The list is no array of pointers to sort by heart: few names, distinct, in order of the alphabet.
 */
static int refuse_ambiguous(const struct places *places, const char *name, const bool *meant,
			    size_t count, struct error *err)
{
	CLEANUP(buffer_release) struct buffer list = { 0 };
	const char *last = "";
	size_t shown = 0;
	for (;;) {
		const char *next = NULL;
		for (size_t i = 0; i < count; i++) {
			const char *candidate = places_procedure(places, (uint32_t)i)->name;
			if (meant[i] && strcmp(candidate, last) > 0 &&
			    (!next || strcmp(candidate, next) < 0))
				next = candidate;
		}
		if (!next)
			break;
		if (shown == AMBIGUOUS_MAX) {
			buffer_append_text(&list, ", ...");
			break;
		}
		buffer_printf(&list, "%s%s", shown++ ? ", " : "", next);
		last = next;
	}
	return error_set(err, -EINVAL, "'%s' may mean several procedures: %s", name,
			 buffer_text(&list));
}

/* Marks the procedures that the name fits best. */
static enum procedure_name_fit choose_best(const struct places *places, const char *name,
					   bool *meant, size_t count)
{
	enum procedure_name_fit best = NAME_FITS_NOT;
	for (size_t i = 0; i < count; i++) {
		const struct place_procedure *procedure = places_procedure(places, (uint32_t)i);
		enum procedure_name_fit fit =
			procedure_name_fit(procedure->name, procedure->linkage, name);
		if (fit > best) {
			memset(meant, 0, i * sizeof(*meant));
			best = fit;
		}
		meant[i] = fit == best && fit != NAME_FITS_NOT;
	}
	return best;
}

/* Have the marked ones other names? Instances of one template are one procedure, but for a part of
 * a name, which may be about their arguments. */
static bool differ(const struct places *places, const bool *meant, size_t count,
		   enum procedure_name_fit fit)
{
	CLEANUP(buffer_release) struct buffer first = { 0 };
	for (size_t i = 0; i < count; i++) {
		CLEANUP(buffer_release) struct buffer own = { 0 };
		if (!meant[i])
			continue;
		const char *name = places_procedure(places, (uint32_t)i)->name;
		struct buffer *out = first.size ? &own : &first;
		if (fit == NAME_FITS_TAIL)
			procedure_name_base(name, out);
		else
			buffer_append_text(out, name);
		if (own.size && strcmp(buffer_text(&own), buffer_text(&first)) != 0)
			return true;
	}
	return false;
}

static int find_procedure(struct walk *walk, bool **out, size_t *count, struct error *err)
{
	const struct places *places = walk->report->places;
	const char *name = walk->report->options.procedure;
	if (resolve_all_chains(walk) < 0)
		return error_set(err, -ENOMEM, "out of memory looking for '%s'", name);
	*count = places_procedure_count(places);
	bool *meant = calloc(*count + 1, sizeof(*meant));
	if (!meant)
		return error_set(err, -ENOMEM, "out of memory looking for '%s'", name);
	*out = meant;
	enum procedure_name_fit best = choose_best(places, name, meant, *count);
	if (best == NAME_FITS_NOT)
		return error_set(err, -ENOENT, "no procedure '%s' in the stacks", name);
	bool several = best < NAME_FITS_BASE && differ(places, meant, *count, best);
	return several ? refuse_ambiguous(places, name, meant, *count, err) : 0;
}

/* ---- rows in the order of print */

static int make_rows(struct walk *walk)
{
	struct report *report = walk->report;
	report->rows = calloc(walk->rows.count + 1, sizeof(*report->rows));
	if (!report->rows)
		return -ENOMEM;
	report->row_cells = walk->rows.self;
	report->row_totals = walk->rows.total;
	walk->rows.self = walk->rows.total = NULL; /* the report's from here on */
	report->row_count = walk->rows.count;
	for (size_t i = 0; i < report->row_count; i++) {
		struct report_row *row = &report->rows[i];
		const uint32_t *key = report_rows_key(&walk->rows, i);
		uint32_t procedure = key[walk->rows.key_size - 1];
		row->self = report->row_cells + i * walk->columns;
		row->total = report->row_totals + i * walk->columns;
		row->procedure = PLACE_NONE;
		if (procedure == NO_STACK)
			row->texts[REPORT_PROCEDURE] = "[no stack]";
		else
			report_describe_procedure(report, row, procedure);
		if (walk->rows.key_size == 2 && key[0] != NO_ROW)
			row->depth = report->rows[key[0]].depth + 1;
	}
	return 0;
}

struct siblings {
	uint32_t *order;       /* rows, grouped by parent, each group sorted */
	uint32_t *start, *end; /* by parent row plus one: its group in `order` */
};

struct order_context {
	struct report *report;
	const struct report_rows *rows;
};

static int compare_siblings(const void *left, const void *right, void *context)
{
	const struct order_context *order = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint32_t parent_a = report_rows_key(order->rows, a)[0] + 1; /* NO_ROW becomes 0 */
	uint32_t parent_b = report_rows_key(order->rows, b)[0] + 1;
	if (parent_a != parent_b)
		return parent_a < parent_b ? -1 : 1;
	return report_compare_rows(&order->report->rows[a], &order->report->rows[b], order->report);
}

static int group(struct walk *walk, struct siblings *siblings)
{
	size_t count = walk->report->row_count;
	siblings->order = calloc(count + 1, sizeof(*siblings->order));
	siblings->start = calloc(count + 1, sizeof(*siblings->start));
	siblings->end = calloc(count + 1, sizeof(*siblings->end));
	if (!siblings->order || !siblings->start || !siblings->end)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		siblings->order[i] = (uint32_t)i;
	struct order_context context = { walk->report, &walk->rows };
	qsort_r(siblings->order, count, sizeof(*siblings->order), compare_siblings, &context);
	for (size_t i = 0; i < count; i++) {
		uint32_t parent = report_rows_key(&walk->rows, siblings->order[i])[0] + 1;
		if (siblings->end[parent] == 0)
			siblings->start[parent] = (uint32_t)i;
		siblings->end[parent] = (uint32_t)i + 1;
	}
	return 0;
}

static int compare_estimates(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a < b) - (a > b);
}

/*
 * Which rows are printed: those not below min_percent, and of them the `limit`
 * largest by total. A parent is never smaller than its child, so what is left is
 * a tree; rows that tie at the limit are left out together.
 */
static int choose_rows(struct walk *walk, bool *shown)
{
	struct report *report = walk->report;
	size_t count = report->row_count, kept = 0, main = report->sort_column;
	CLEANUP(free_pointer) uint64_t *totals = calloc(count + 1, sizeof(*totals));
	if (!totals)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		shown[i] = !report_row_is_small(report, &report->rows[i]);
		if (shown[i])
			totals[kept++] = report->rows[i].total[main].estimate;
	}
	if (report->options.limit == 0 || kept <= report->options.limit)
		return 0;
	qsort(totals, kept, sizeof(*totals), compare_estimates);
	uint64_t least = totals[report->options.limit];
	if (totals[0] == least)
		least--; /* all the same: show them */
	for (size_t i = 0; i < count; i++)
		shown[i] &= report->rows[i].total[main].estimate > least;
	return 0;
}

static uint32_t next_shown(const struct siblings *siblings, const bool *shown, uint32_t at,
			   uint32_t end)
{
	while (at < end && !shown[siblings->order[at]])
		at++;
	return at;
}

/* Writes the shown rows depth first into `out`, with their indents. */
static size_t lay_out(struct walk *walk, const struct siblings *siblings, const bool *shown,
		      uint32_t *next, struct report_row *out)
{
	struct report *report = walk->report;
	size_t count = 0;
	uint32_t parent = 0; /* row plus one */
	next[0] = siblings->start[0];
	for (;;) {
		uint32_t at = next_shown(siblings, shown, next[parent], siblings->end[parent]);
		if (at == siblings->end[parent]) {
			if (parent == 0)
				return count;
			parent = report_rows_key(&walk->rows, parent - 1)[0] + 1;
			continue;
		}
		next[parent] = at + 1;
		uint32_t row = siblings->order[at];
		bool first = next_shown(siblings, shown, siblings->start[parent], at) == at;
		bool last = next_shown(siblings, shown, at + 1, siblings->end[parent]) ==
			    siblings->end[parent];
		struct report_row *shape = &report->rows[row];
		shape->branch = !(first && last);
		shape->indent = parent ? report->rows[parent - 1].indent : 0;
		shape->indent += shape->branch;
		out[count++] = *shape;
		parent = row + 1;
		next[parent] = siblings->start[parent];
	}
}

static int order_tree(struct walk *walk)
{
	struct report *report = walk->report;
	size_t rows = report->row_count;
	struct siblings siblings = { 0 };
	CLEANUP(free_pointer) bool *shown = calloc(rows + 1, sizeof(*shown));
	CLEANUP(free_pointer) uint32_t *next = calloc(rows + 1, sizeof(*next));
	struct report_row *out = calloc(rows + 1, sizeof(*out));
	int ret = shown && next && out ? group(walk, &siblings) : -ENOMEM;
	if (ret == 0)
		ret = choose_rows(walk, shown);
	if (ret == 0) {
		for (size_t i = 0; i < rows; i++) {
			if (shown[i])
				continue;
			report->rest_count++;
			cells_add(report->rest, report->rows[i].self, walk->columns);
		}
		report->row_count = lay_out(walk, &siblings, shown, next, out);
		free(report->rows);
		report->rows = out;
		out = NULL;
	}
	free(out);
	free(siblings.order);
	free(siblings.start);
	free(siblings.end);
	return ret;
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
	report_rows_init(&walk->rows, 2, walk->columns);
	int ret = view == REPORT_CALLERS ? fill_up(walk, &start) : fill_down(walk, &start);
	if (ret == 0)
		ret = make_rows(walk);
	if (ret == 0)
		ret = order_tree(walk);
	return ret < 0 ? error_set(err, ret, "out of memory following stacks") : 0;
}

int call_tree_fill(struct report *report, const struct chosen_samples *selection, struct error *err)
{
	struct walk walk = { .report = report,
			     .selection = selection,
			     .columns = report->columns.count,
			     .nodes = profile_table(report->profile, PROFILE_NODE)->count };
	int ret = sum_nodes(&walk);
	if (ret < 0)
		error_set(err, ret, "out of memory following stacks");
	else if (report->options.view == REPORT_INCLUSIVE) {
		ret = fill_inclusive(&walk);
		if (ret == 0)
			ret = make_rows(&walk);
		if (ret < 0)
			error_set(err, ret, "out of memory following stacks");
	} else {
		ret = fill_tree(&walk, err);
	}
	free(walk.direct);
	free(walk.below);
	free(walk.chain_of);
	free(walk.chains);
	report_rows_release(&walk.rows);
	return ret;
}
