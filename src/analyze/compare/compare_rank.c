#include "analyze/compare/compare_rank.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/compare_runs.h"
#include "analyze/compare/comparison.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/order.h"

const char *const compare_sort_names[COMPARE_SORTS] = {
	[COMPARE_BY_CHANGE] = "change", [COMPARE_BY_PERCENT] = "percent",
	[COMPARE_BY_BEFORE] = "before", [COMPARE_BY_AFTER] = "after",
	[COMPARE_BY_NAME] = "name",
};

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory comparing profiles");
}

/* ---- verdicts */

/* Rows are judged together, event by event. */
static int judge(struct comparison *comparison, struct error *err)
{
	CLEANUP(free_pointer) double *p = calloc(comparison->row_count + 1, sizeof(*p));
	if (!p)
		return out_of_memory(err);
	for (size_t c = 0; c < comparison->column_count; c++) {
		for (size_t i = 0; i < comparison->row_count; i++)
			p[i] = comparison->all[i].changes[c].p;
		if (difference_control(p, comparison->row_count, p) < 0)
			return out_of_memory(err);
		for (size_t i = 0; i < comparison->row_count; i++) {
			struct compared_row *row = &comparison->all[i];
			difference_judge(&row->changes[c], p[i]);
			if (c == comparison->main)
				row->q = p[i];
		}
	}
	for (size_t i = 0; i < comparison->row_count; i++) {
		enum difference_verdict verdict =
			comparison->all[i].changes[comparison->main].verdict;
		comparison->significant += verdict == DIFFERENCE_SIGNIFICANT;
		comparison->noise += verdict == DIFFERENCE_NOISE;
		comparison->unknown += verdict == DIFFERENCE_NO_ERROR_KNOWN;
	}
	return 0;
}

/* ---- growth: what --fail-above asks */

/* The change in percent of the total before, both as the base has it. */
static double growth_of(const struct comparison *comparison, const struct difference *change)
{
	double whole = comparison->columns[comparison->main].whole.before_scaled;
	return whole > 0 && change->change.kind != ESTIMATE_ABSENT
		       ? 100 * change->change.value / whole
		       : NAN;
}

static int compare_growth(const void *left, const void *right)
{
	const struct compared_row *a = *(const struct compared_row *const *)left;
	const struct compared_row *b = *(const struct compared_row *const *)right;
	if (a->growth_percent != b->growth_percent)
		return a->growth_percent > b->growth_percent ? -1 : 1;
	return (a > b) - (a < b);
}

/* Where no error is known, the threshold alone decides: a check that never fails is none. */
static bool has_grown(const struct comparison *comparison, const struct difference *change,
		      double growth)
{
	return comparison->options.fail_above_percent >= 0 && change->verdict != DIFFERENCE_NOISE &&
	       growth > comparison->options.fail_above_percent;
}

static int find_growth(struct comparison *comparison, struct error *err)
{
	comparison->grown = calloc(comparison->row_count + 1, sizeof(*comparison->grown));
	if (!comparison->grown)
		return out_of_memory(err);
	for (size_t i = 0; i < comparison->row_count; i++) {
		struct compared_row *row = &comparison->all[i];
		const struct difference *change = &row->changes[comparison->main];
		row->growth_percent = growth_of(comparison, change);
		row->grown = has_grown(comparison, change, row->growth_percent);
		if (row->grown)
			comparison->grown[comparison->grown_count++] = row;
	}
	if (comparison->grown_count)
		qsort(comparison->grown, comparison->grown_count, sizeof(*comparison->grown),
		      compare_growth);
	const struct difference *whole = &comparison->columns[comparison->main].whole;
	comparison->total_grown = has_grown(comparison, whole, growth_of(comparison, whole));
	return 0;
}

/* ---- order, and the rest */

static int compare_names(const struct compared_row *a, const struct compared_row *b)
{
	const struct report_row *x = a->before ? a->before : a->after;
	const struct report_row *y = b->before ? b->before : b->after;
	int order = report_compare_names(x, y);
	return order ? order : order_numbers(x->cpu, y->cpu);
}

static int rank(const struct difference *change)
{
	return change->verdict == DIFFERENCE_SIGNIFICANT      ? 0
	       : change->verdict == DIFFERENCE_NO_ERROR_KNOWN ? 1
							      : 2;
}

static double percent_of(const struct difference *change)
{
	return change->change_ratio.kind == ESTIMATE_ABSENT ? INFINITY
							    : fabs(change->change_ratio.value);
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct comparison *comparison = context;
	const struct compared_row *a = left, *b = right;
	const struct difference *x = &a->changes[comparison->main];
	const struct difference *y = &b->changes[comparison->main];
	int order = 0;
	switch (comparison->options.sort) {
	case COMPARE_BY_BEFORE:
		order = order_figures(x->before_scaled, y->before_scaled);
		break;
	case COMPARE_BY_AFTER:
		order = order_figures((double)x->after.estimate, (double)y->after.estimate);
		break;
	case COMPARE_BY_NAME:
		order = compare_names(a, b);
		break;
	case COMPARE_BY_PERCENT:
		order = rank(x) - rank(y);
		if (!order)
			order = order_figures(percent_of(x), percent_of(y));
		break;
	default:
		order = rank(x) - rank(y);
	}
	if (!order)
		order = order_figures(fabs(x->change.value), fabs(y->change.value));
	if (!order)
		order = compare_names(a, b);
	/* as the reports have them, which is the same order every time */
	if (!order)
		order = a->before && b->before ? (a->before > b->before) - (a->before < b->before)
					       : !a->before - !b->before;
	if (!order && a->after && b->after)
		order = (a->after > b->after) - (a->after < b->after);
	return order;
}

static bool is_small(const struct comparison *comparison, const struct compared_row *row)
{
	for (size_t i = 0; i < comparison->column_count; i++) {
		const struct difference *change = &row->changes[i];
		if (100 * change->before_share.value >= comparison->options.min_percent ||
		    100 * change->after_share.value >= comparison->options.min_percent)
			return false;
	}
	return comparison->options.min_percent > 0;
}

/* The changes of the rows left out, whose cells are in `rest` and whose groups are listed. */
static int fill_rest(struct comparison *comparison, const struct cell_change *rest,
		     const struct match_group *const *groups)
{
	comparison->rest = arena_allocate(&comparison->arena,
					  comparison->column_count * sizeof(*comparison->rest));
	if (!comparison->rest)
		return -ENOMEM;
	bool runs = compare_runs_known(comparison);
	for (size_t c = 0; c < comparison->column_count; c++) {
		struct difference_noise noise;
		if (runs && compare_runs_noise_of(comparison, groups, comparison->rest_count, c,
						  &noise) < 0)
			return -ENOMEM;
		comparison->rest[c] =
			difference_of_runs(&comparison->columns[c].event, &rest[c],
					   comparison->columns[c].overlap, runs ? &noise : NULL);
	}
	return 0;
}

/* Leaves in `rows` what is shown, and sums up what is not. */
static int cut_rows(struct comparison *comparison)
{
	CLEANUP(free_pointer)
	const struct match_group **groups = calloc(comparison->row_count + 1, sizeof(*groups));
	struct cell_change *rest =
		arena_allocate(&comparison->arena, comparison->column_count * sizeof(*rest));
	comparison->rows = calloc(comparison->row_count + 1, sizeof(*comparison->rows));
	if (!rest || !comparison->rows || !groups)
		return -ENOMEM;
	size_t kept = 0;
	for (size_t i = 0; i < comparison->row_count; i++) {
		const struct compared_row *row = &comparison->all[i];
		bool full = comparison->options.limit && kept == comparison->options.limit;
		if (!full && !is_small(comparison, row)) {
			comparison->rows[kept++] = *row;
			continue;
		}
		groups[comparison->rest_count++] = row->group;
		for (size_t c = 0; c < comparison->column_count; c++) {
			cell_add(&rest[c].before, &row->changes[c].before);
			cell_add(&rest[c].after, &row->changes[c].after);
		}
	}
	comparison->row_count = kept;
	bool overlap = comparison->options.report.view != REPORT_FLAT;
	if (comparison->rest_count == 0 || overlap)
		return 0;
	return fill_rest(comparison, rest, groups);
}

int compare_rank(struct comparison *comparison, struct error *err)
{
	int ret = judge(comparison, err);
	if (ret < 0)
		return ret;
	if (comparison->row_count)
		qsort_r(comparison->all, comparison->row_count, sizeof(*comparison->all),
			compare_rows, comparison);
	ret = find_growth(comparison, err);
	if (ret == 0 && cut_rows(comparison) < 0)
		ret = out_of_memory(err);
	return ret;
}
