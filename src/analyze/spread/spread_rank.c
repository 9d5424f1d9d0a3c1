#include "analyze/spread/spread_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/order.h"

const char *const spread_sort_names[SPREAD_SORTS] = {
	[SPREAD_BY_RANGE] = "range",	     [SPREAD_BY_SUM] = "sum",	[SPREAD_BY_MEAN] = "mean",
	[SPREAD_BY_DEVIATION] = "deviation", [SPREAD_BY_NAME] = "name",
};

static enum difference_verdict verdict_of(double q)
{
	return isnan(q)				   ? DIFFERENCE_NO_ERROR_KNOWN
	       : q <= DIFFERENCE_FALSE_DISCOVERIES ? DIFFERENCE_SIGNIFICANT
						   : DIFFERENCE_NOISE;
}

/* All rows together, before any is left out: which rows are shown says nothing about chance. */
static int judge(struct spread *spread)
{
	CLEANUP(free_pointer) double *p = calloc(spread->all_count + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < spread->all_count; i++)
		p[i] = spread->all[i].p;
	if (difference_control(p, spread->all_count, p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < spread->all_count; i++) {
		struct spread_row *row = &spread->all[i];
		row->q = p[i];
		row->verdict = verdict_of(row->q);
		spread->significant += row->verdict == DIFFERENCE_SIGNIFICANT;
		spread->noise += row->verdict == DIFFERENCE_NOISE;
		spread->unknown += row->verdict == DIFFERENCE_NO_ERROR_KNOWN;
	}
	spread->whole.q = spread->whole.p;
	spread->whole.verdict = verdict_of(spread->whole.q);
	return 0;
}

/* ---- order */

static int compare_names(const struct spread_row *a, const struct spread_row *b)
{
	int order = report_compare_names(a->row, b->row);
	return order ? order : order_numbers(a->row->cpu, b->row->cpu);
}

static int rank(const struct spread_row *row)
{
	return row->verdict == DIFFERENCE_SIGNIFICANT	   ? 0
	       : row->verdict == DIFFERENCE_NO_ERROR_KNOWN ? 1
							   : 2;
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct spread *spread = context;
	const struct spread_row *a = left, *b = right;
	int order = 0;
	switch (spread->options.sort) {
	case SPREAD_BY_SUM:
		order = order_figures((double)a->sum.estimate, (double)b->sum.estimate);
		break;
	case SPREAD_BY_MEAN:
		order = order_figures(a->mean, b->mean);
		break;
	case SPREAD_BY_DEVIATION:
		order = order_figures(a->deviation, b->deviation);
		break;
	case SPREAD_BY_NAME:
		order = compare_names(a, b);
		break;
	default:
		order = rank(a) - rank(b);
		/* of what may be chance the range is largest where least was counted */
		if (!order && a->verdict != DIFFERENCE_NOISE)
			order = order_figures(a->range_ratio, b->range_ratio);
	}
	if (!order)
		order = order_figures((double)a->sum.estimate, (double)b->sum.estimate);
	if (!order)
		order = compare_names(a, b);
	/* as the report has them, which is the same order every time */
	return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* ---- the rest */

static bool is_small(const struct spread *spread, const struct spread_row *row)
{
	for (size_t run = 0; run < spread->run_count; run++) {
		double whole = (double)spread->runs[run].whole.estimate;
		/* a run without samples has no shares */
		if (whole > 0 &&
		    100 * (double)row->cells[run].estimate >= spread->options.min_percent * whole)
			return false;
	}
	return spread->options.min_percent > 0;
}

static int cut_rows(struct spread *spread)
{
	spread->rows = calloc(spread->all_count + 1, sizeof(*spread->rows));
	if (!spread->rows || spread_row_init(spread, &spread->rest) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < spread->all_count; i++) {
		const struct spread_row *row = &spread->all[i];
		bool full = spread->options.limit && spread->row_count == spread->options.limit;
		if (!full && !is_small(spread, row)) {
			spread->rows[spread->row_count++] = *row;
			continue;
		}
		spread->rest_count++;
		for (size_t run = 0; run < spread->run_count; run++)
			spread_row_add(&spread->rest, run, &row->cells[run]);
	}
	if (spread->options.report.view != REPORT_FLAT) /* rows overlap: their sum is nothing */
		return 0;
	int ret = spread_fill_rows(spread, &spread->rest, 1);
	spread->rest.q = spread->rest.p;
	spread->rest.verdict = verdict_of(spread->rest.q);
	return ret;
}

int spread_rank(struct spread *spread)
{
	int ret = judge(spread);
	if (ret < 0)
		return ret;
	if (spread->all_count)
		qsort_r(spread->all, spread->all_count, sizeof(*spread->all), compare_rows, spread);
	return cut_rows(spread);
}
