#include "analyze/spread/spread.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "analyze/compare/compare_scope.h"
#include "analyze/report/page_notes.h"
#include "analyze/report/report_make.h"
#include "analyze/spread/spread_private.h"
#include "base/cleanup.h"
#include "base/error.h"

const char *const spread_base_names[SPREAD_BASES] = {
	[SPREAD_RAW] = "raw", [SPREAD_TOTAL] = "total", [SPREAD_SECOND] = "second"
};

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory comparing runs");
}

int spread_note(struct spread *spread, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int ret = page_note_add(&spread->arena, &spread->notes, &spread->note_count, format, args);
	va_end(args);
	return ret;
}

static int fill_whole(struct spread *spread)
{
	if (spread_row_init(spread, &spread->whole) < 0)
		return -ENOMEM;
	for (size_t run = 0; run < spread->run_count; run++)
		spread_row_add(&spread->whole, run, &spread->runs[run].whole);
	return spread_fill_rows(spread, &spread->whole, 1);
}

static int fill_rows(struct spread *spread, struct error *err)
{
	int ret = spread_make_rows(spread);
	if (ret == 0)
		ret = spread_fill_rows(spread, spread->all, spread->all_count);
	if (ret == 0)
		ret = fill_whole(spread);
	if (ret == 0)
		ret = spread_rank(spread);
	return ret < 0 ? out_of_memory(err) : 0;
}

static int make(struct spread *spread, const struct profile *profile, struct resolver *resolver,
		struct error *err)
{
	struct report_options options = spread->options.report;
	options.sort = NULL;
	options.min_percent = 0;
	options.limit = 0;
	options.runs = EVENT_RUNS_TOGETHER;
	int ret = report_new(profile, resolver, &options, &spread->report, err);
	if (ret < 0)
		return ret;
	const struct event_columns *columns = &spread->report->columns;
	if (columns->count == 0)
		return error_set(err, -ENODATA, "the profiles have no events");
	spread->column = event_columns_main(columns);
	spread->step = event_column_divisor(&columns->list[spread->column]);
	spread->counts = compare_counts_of(profile, spread->options.counts);
	spread->runs = calloc(spread->run_count + 1, sizeof(*spread->runs));
	if (!spread->runs)
		return out_of_memory(err);
	ret = run_cells_init(&spread->cells, spread->report, resolver, spread->run_count,
			     spread->column, err);
	if (ret == 0)
		ret = spread_choose_base(spread, err);
	return ret < 0 ? ret : fill_rows(spread, err);
}

int spread_new(const struct profile *profile, struct resolver *resolver, size_t runs,
	       const struct spread_options *options, struct spread **out, struct error *err)
{
	CLEANUP(spread_freep) struct spread *spread = calloc(1, sizeof(*spread));
	if (!spread)
		return out_of_memory(err);
	spread->options = *options;
	spread->run_count = runs;
	int ret = make(spread, profile, resolver, err);
	if (ret < 0)
		return ret;
	*out = spread;
	spread = NULL; /* the caller's from here on */
	return 0;
}

void spread_free(struct spread *spread)
{
	if (!spread)
		return;
	report_free(spread->report);
	run_cells_release(&spread->cells);
	arena_release(&spread->arena);
	free(spread->runs);
	free(spread->rows);
	free(spread->all);
	free(spread->notes);
	free(spread);
}

void spread_freep(struct spread **spread)
{
	spread_free(*spread);
}
