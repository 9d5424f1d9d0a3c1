#include "analyze/report/run_cells.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/report/report_make.h"
#include "base/cleanup.h"
#include "base/error.h"

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory telling runs apart");
}

/* The column of the report that is `apart` of all runs, or EVENT_COLUMN_NONE. */
static uint32_t column_of(const struct report *report, const struct report *apart, size_t column)
{
	for (size_t id = 1; id <= apart->columns.event_count; id++)
		if (apart->columns.of_event[id] == column)
			return report->columns.of_event[id];
	return EVENT_COLUMN_NONE;
}

static const struct cell *shown(const struct report_row *row)
{
	return row->total ? row->total : row->self;
}

static int allocate(struct run_cells *cells)
{
	size_t width = cells->columns * cells->runs;
	cells->whole = calloc(width + 1, sizeof(*cells->whole));
	cells->has = calloc(width + 1, sizeof(*cells->has));
	cells->cells = calloc(cells->rows + 1, (width + 1) * sizeof(*cells->cells));
	return cells->whole && cells->has && cells->cells ? 0 : -ENOMEM;
}

/* A column of one event and run, to its place in every row. */
static void fill_column(struct run_cells *cells, const struct report *apart, size_t from,
			size_t column, size_t run)
{
	size_t at = (column - cells->first) * cells->runs + run;
	cells->has[at] = true;
	cells->whole[at] = apart->whole[from];
	for (size_t i = 0; i < apart->row_count; i++) {
		const struct report_row *row = &apart->rows[i];
		size_t first = (size_t)row->number * cells->columns * cells->runs;
		cells->cells[first + at] = shown(row)[from];
	}
}

/* That every row is the sum of its runs shows that rows are the same ones in both reports. */
static bool adds_up(const struct run_cells *cells, const struct report *report)
{
	for (size_t i = 0; i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];
		for (size_t c = cells->first; c < cells->first + cells->columns; c++) {
			struct cell sum = { 0 };
			for (size_t run = 0; run < cells->runs; run++)
				cell_add(&sum, run_cells_of(cells, row, c, run));
			if (sum.samples != shown(row)[c].samples ||
			    sum.estimate != shown(row)[c].estimate)
				return false;
		}
	}
	return true;
}

static bool is_kept(const struct run_cells *cells, uint32_t column)
{
	return column != EVENT_COLUMN_NONE && column >= cells->first &&
	       column < cells->first + cells->columns;
}

static int fill(struct run_cells *cells, const struct report *report, struct resolver *resolver,
		struct error *err)
{
	CLEANUP(report_freep) struct report *apart = NULL;
	struct report_options options = report->options;
	options.sort = NULL;
	options.min_percent = 0;
	options.limit = 0;
	options.runs = EVENT_RUNS_APART;
	int ret = report_new(report->profile, resolver, &options, &apart, err);
	if (ret < 0)
		return ret;
	if (apart->row_count != report->row_count)
		return error_set(err, -EBADMSG, "the runs do not add up to the whole");
	if (allocate(cells) < 0)
		return out_of_memory(err);
	for (size_t from = 0; from < apart->columns.count; from++) {
		uint32_t column = column_of(report, apart, from);
		uint64_t run = apart->columns.list[from].run;
		if (is_kept(cells, column) && run >= 1 && run <= cells->runs)
			fill_column(cells, apart, from, column, (size_t)run - 1);
	}
	return adds_up(cells, report)
		       ? 0
		       : error_set(err, -EBADMSG, "the runs do not add up to the whole");
}

int run_cells_init(struct run_cells *cells, const struct report *report, struct resolver *resolver,
		   size_t runs, size_t column, struct error *err)
{
	bool all = column == RUN_CELLS_ALL;
	*cells = (struct run_cells){ .runs = runs,
				     .rows = report->row_count,
				     .first = all ? 0 : column,
				     .columns = all ? report->columns.count : 1 };
	int ret = fill(cells, report, resolver, err);
	if (ret < 0)
		run_cells_release(cells);
	return ret;
}

void run_cells_release(struct run_cells *cells)
{
	free(cells->whole);
	free(cells->has);
	free(cells->cells);
	*cells = (struct run_cells){ 0 };
}
