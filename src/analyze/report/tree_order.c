#include "analyze/report/tree_order.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/report/label_tree.h"
#include "analyze/report/report.h"
#include "base/cleanup.h"

struct siblings {
	uint32_t *order;       /* rows, grouped by parent, each group sorted */
	uint32_t *start, *end; /* by parent row plus one: its group in `order` */
};

struct order_context {
	struct report *report;
	const struct label_tree *tree;
};

static int compare_siblings(const void *left, const void *right, void *context)
{
	const struct order_context *order = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint32_t parent_a = order->tree->nodes[a].parent + 1; /* LABEL_TREE_NONE becomes 0 */
	uint32_t parent_b = order->tree->nodes[b].parent + 1;
	if (parent_a != parent_b)
		return parent_a < parent_b ? -1 : 1;
	return report_compare_rows(&order->report->rows[a], &order->report->rows[b], order->report);
}

static int group(struct report *report, const struct label_tree *tree, struct siblings *siblings)
{
	size_t count = report->row_count;
	siblings->order = calloc(count + 1, sizeof(*siblings->order));
	siblings->start = calloc(count + 1, sizeof(*siblings->start));
	siblings->end = calloc(count + 1, sizeof(*siblings->end));
	if (!siblings->order || !siblings->start || !siblings->end)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		siblings->order[i] = (uint32_t)i;
	struct order_context context = { report, tree };
	qsort_r(siblings->order, count, sizeof(*siblings->order), compare_siblings, &context);
	for (size_t i = 0; i < count; i++) {
		uint32_t parent = tree->nodes[siblings->order[i]].parent + 1;
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
static int choose_rows(const struct report *report, bool *shown)
{
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
static size_t lay_out(struct report *report, const struct label_tree *tree,
		      const struct siblings *siblings, const bool *shown, uint32_t *next,
		      struct report_row *out)
{
	size_t count = 0;
	uint32_t parent = 0; /* row plus one */
	next[0] = siblings->start[0];
	for (;;) {
		uint32_t at = next_shown(siblings, shown, next[parent], siblings->end[parent]);
		if (at == siblings->end[parent]) {
			if (parent == 0)
				return count;
			parent = tree->nodes[parent - 1].parent + 1;
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

int tree_order(struct report *report, const struct label_tree *tree)
{
	size_t rows = report->row_count;
	struct siblings siblings = { 0 };
	CLEANUP(free_pointer) bool *shown = calloc(rows + 1, sizeof(*shown));
	CLEANUP(free_pointer) uint32_t *next = calloc(rows + 1, sizeof(*next));
	struct report_row *out = calloc(rows + 1, sizeof(*out));
	int ret = shown && next && out ? group(report, tree, &siblings) : -ENOMEM;
	if (ret == 0)
		ret = choose_rows(report, shown);
	if (ret == 0) {
		for (size_t i = 0; i < rows; i++) {
			if (shown[i])
				continue;
			report->rest_count++;
			for (size_t c = 0; c < report->columns.count; c++)
				cell_add(&report->rest[c], &report->rows[i].self[c]);
		}
		report->row_count = lay_out(report, tree, &siblings, shown, next, out);
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
