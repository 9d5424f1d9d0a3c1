#include "analyze/spread/spread_growth.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/culprits/summary.h"
#include "base/cleanup.h"
#include "base/error.h"

/* What annotating one run needs. */
struct run_code {
	struct event_columns columns;
	struct annotate_index *index;
	struct cycles *cycles;
	bool made;
};

struct growing {
	const struct spread *spread;
	struct resolver *resolver;
	struct run_code *runs; /* made when they are asked for */
};

static void growing_release(struct growing *growing)
{
	for (size_t i = 0; growing->runs && i < growing->spread->run_count; i++) {
		cycles_free(growing->runs[i].cycles);
		annotate_index_free(growing->runs[i].index);
		event_columns_release(&growing->runs[i].columns);
	}
	free(growing->runs);
}

static int make_run(struct growing *growing, size_t run, struct error *err)
{
	struct run_code *code = &growing->runs[run];
	const struct profile *profile = growing->spread->report->profile;
	const struct cycles_options options = { .isa = ISA_UNKNOWN };
	if (code->made)
		return 0;
	code->made = true;
	int ret = event_columns_init_runs(&code->columns, profile, NULL, 0, run + 1, err);
	if (ret == 0)
		ret = annotate_index_new(profile, growing->resolver, &code->columns, &code->index,
					 err);
	return ret < 0 ? ret : cycles_new(code->index, &options, &code->cycles, err);
}

/* ---- the procedures of a row */

static bool is_of(const struct spread *spread, const struct report_row *row,
		  const struct procedure *procedure)
{
	if (row->image != procedure->image)
		return false;
	if (row->procedure == PLACE_NONE)
		return true; /* a row about the image */
	const struct place_procedure *place =
		places_procedure(spread->report->places, row->procedure);
	if (row->marks & PLACE_EXTENT)
		return procedure->extent_known && procedure->first == place->first;
	return strcmp(procedure->name, place->name) == 0;
}

/* Stores which procedures of the run's index the row is about. -ENOMEM, or how many. */
static int find_procedures(const struct spread *spread, const struct report_row *row,
			   const struct annotate_index *index, uint32_t **positions)
{
	int count = 0;
	*positions = calloc(index->count + 1, sizeof(**positions));
	if (!*positions)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++)
		if (is_of(spread, row, index->procedures[i].procedure))
			(*positions)[count++] = (uint32_t)i;
	return count;
}

/* ---- one run's cycles by cause */

static void put(struct spread_growth *growth, const char *key, const char *text, double low,
		double high, bool most)
{
	size_t at = 0;
	while (at < growth->cause_count && strcmp(growth->causes[at].key, key) != 0)
		at++;
	if (at == growth->cause_count) {
		if (low == 0 && high == 0)
			return;
		growth->causes[growth->cause_count++] =
			(struct spread_growth_cause){ .key = key, .text = text };
	}
	struct spread_growth_cause *cause = &growth->causes[at];
	if (most) {
		cause->most_low = low;
		cause->most_high = high;
	} else {
		cause->least_low = low;
		cause->least_high = high;
	}
}

static void put_summary(struct spread_growth *growth, const struct summary *summary, double scale,
			bool most)
{
	double rest = summary->noise_cycles + summary->late_cycles + summary->unknown_cycles;
	double gain = summary->unexplained_gain, stall = summary->unexplained_stall;
	double issue = summary->issue_cycles * scale;
	put(growth, "execution", "execution", issue, issue, most);
	for (enum static_cause cause = STATIC_NONE + 1; cause < STATIC_CAUSES; cause++) {
		double cycles = summary->statics[cause] * scale;
		put(growth, static_cause_key(cause), static_cause_text(cause), cycles, cycles,
		    most);
	}
	for (enum dynamic_cause cause = 0; cause < DYNAMIC_CAUSES; cause++)
		put(growth, dynamic_cause_key(cause), dynamic_cause_text(cause),
		    summary->dynamics[cause].low * scale, summary->dynamics[cause].high * scale,
		    most);
	put(growth, "unexplained_stall", "unexplained stall", stall * scale, stall * scale, most);
	put(growth, "unexplained_gain", "unexplained gain", gain * scale, gain * scale, most);
	put(growth, "rest", "chance, late or unknown", rest * scale, rest * scale, most);
}

__attribute__((format(printf, 2, 3))) static void say_why(struct spread_growth *growth,
							  const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(growth->reason, sizeof(growth->reason), format, args);
	va_end(args);
}

/* 1: its causes are known; 0: they are not, with the reason; or -ENOMEM. */
static int summarise(struct growing *growing, struct spread_growth *growth, size_t run, bool most,
		     struct error *err)
{
	const struct spread *spread = growing->spread;
	struct run_code *code = &growing->runs[run];
	CLEANUP(free_pointer) uint32_t *positions = NULL;
	CLEANUP(summary_freep) struct summary *summary = NULL;
	int ret = make_run(growing, run, err);
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0) {
		say_why(growth, "run %zu: %.120s", run + 1, err->text);
		return 0;
	}
	size_t time = cycles_events(code->cycles)->time;
	const struct event_column *asked = &spread->report->columns.list[spread->column];
	if (time == CYCLES_NO_COLUMN || !span_equal(code->columns.list[time].name, asked->name)) {
		say_why(growth, "the table's event does not say where time was spent");
		return 0;
	}
	int count = find_procedures(spread, growth->row->row, code->index, &positions);
	if (count < 0)
		return error_set(err, count, "out of memory explaining growth");
	if (count == 0) /* none of its cycles are for anything */
		return 1;
	const struct summary_options options = { .worst = 0 };
	ret = summary_new(code->cycles, positions, (size_t)count, &options, &summary, err);
	if (ret < 0)
		return ret;
	if (!summary->procedures) {
		say_why(growth, "the code is not known, or its executions are not");
		return 0;
	}
	growth->relative |= summary->relative_procedures > 0;
	put_summary(growth, summary, 1 / spread->runs[run].exposure, most);
	return 1;
}

/* ---- all rows */

static double grown(const struct spread_growth_cause *cause)
{
	return (cause->most_low + cause->most_high - cause->least_low - cause->least_high) / 2;
}

static int compare_causes(const void *left, const void *right)
{
	double a = grown(left), b = grown(right);
	if (a != b)
		return a > b ? -1 : 1;
	return strcmp(((const struct spread_growth_cause *)left)->key,
		      ((const struct spread_growth_cause *)right)->key);
}

static int explain(struct growing *growing, const struct spread_row *row,
		   struct spread_growth *growth, struct error *err)
{
	*growth = (struct spread_growth){ .row = row,
					  .least_run = row->least_run,
					  .most_run = row->most_run,
					  .change = row->most - row->least };
	const struct report_row *shown = row->row;
	if (growing->spread->report->options.view != REPORT_FLAT) {
		say_why(growth, "inclusive costs are those of many procedures");
		return 0;
	}
	if (row->builds > 1 || !shown->image) {
		say_why(growth, row->builds > 1 ? "code of several builds cannot be compared"
						: "no code in the profiles");
		return 0;
	}
	int ret = summarise(growing, growth, row->least_run, false, err);
	if (ret == 1)
		ret = summarise(growing, growth, row->most_run, true, err);
	if (ret < 0)
		return ret;
	growth->known = ret == 1;
	qsort(growth->causes, growth->cause_count, sizeof(growth->causes[0]), compare_causes);
	return 0;
}

int spread_growth_new(const struct spread *spread, struct resolver *resolver, size_t limit,
		      struct spread_growth **out, size_t *count, struct error *err)
{
	CLEANUP(growing_release) struct growing growing = { spread, resolver, NULL };
	size_t most = limit < spread->row_count ? limit : spread->row_count;
	CLEANUP(free_pointer) struct spread_growth *list = calloc(most + 1, sizeof(*list));
	growing.runs = calloc(spread->run_count + 1, sizeof(*growing.runs));
	if (!list || !growing.runs)
		return error_set(err, -ENOMEM, "out of memory explaining growth");
	size_t kept = 0;
	for (size_t i = 0; i < spread->row_count && kept < most; i++) {
		if (spread->rows[i].verdict != DIFFERENCE_SIGNIFICANT)
			continue;
		int ret = explain(&growing, &spread->rows[i], &list[kept++], err);
		if (ret < 0)
			return ret;
	}
	*out = list;
	*count = kept;
	list = NULL; /* the caller's from here on */
	return 0;
}
