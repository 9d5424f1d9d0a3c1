#include "render/repeated_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/csv_cell.h"
#include "render/stat_figures.h"
#include "render/stat_separated.h"
#include "render/stat_text.h"
#include "render/text_table.h"

/* Measures of repeated runs before those of events: elapsed, user and sys. */
#define TIMES 3

/* Half of the mean's interval in percent of it; NAN: not known. */
static double spread_percent(const struct run_summary *summary)
{
	const struct estimate *mean = &summary->mean;
	if (mean->kind != ESTIMATE_INTERVAL || mean->value == 0)
		return NAN;
	return 100 * (mean->high - mean->low) / 2 / fabs(mean->value);
}

static void append_safe(struct buffer *out, const char *text)
{
	text_append_safe(out, text, strlen(text));
}

/* --- one command --- */

static void add_note(const struct repeated_measure *measure, size_t command, struct buffer *out)
{
	const struct run_summary *summary = &measure->summaries[command];
	/* where more than half of the runs are the same, as with ticks, what is not has no scale */
	if (summary->outliers && summary->median_deviation > 0) {
		buffer_printf(out, " %zu of %zu runs stand out in ", summary->outliers,
			      summary->counted);
		append_safe(out, measure->name);
		buffer_printf(out, ": from %.6g to %.6g, median %.6g %s\n", summary->least,
			      summary->most, summary->median, measure->unit);
	}
	if (run_summary_hangs_together(summary)) {
		buffer_append_text(out, " runs hang together in ");
		append_safe(out, measure->name);
		buffer_append_text(out,
				   summary->trend.tau_p < RUN_TREND_SHOWN
					   ? (summary->trend.tau > 0 ? ": it rises from run to run"
								     : ": it falls from run to run")
					   : ": neighbours are alike");
		buffer_append_text(out, "; the interval is too short\n");
	}
	if (summary->absent && summary->counted) {
		append_safe(out, " ");
		append_safe(out, measure->name);
		buffer_printf(out, " was not counted in %zu of %zu runs\n", summary->absent,
			      summary->absent + summary->counted);
	}
}

static void add_notes(const struct repeated *repeated, size_t command, struct buffer *out)
{
	size_t before = out->size;
	for (size_t m = 0; m < repeated->measure_count; m++)
		add_note(&repeated->measures[m], command, out);
	if (out->size > before)
		buffer_append_u8(out, '\n');
}

void repeated_text_print(const struct repeated *repeated, const struct counts *means,
			 const struct limiting_factor *factor, struct buffer *out)
{
	struct stat_text_runs runs = { .runs = repeated->rounds };
	double spreads[TIMES];
	for (size_t i = 0; i < TIMES; i++)
		spreads[i] = spread_percent(&repeated->measures[i].summaries[0]);
	CLEANUP(free_pointer)
	double *of_events = calloc(repeated->measure_count, sizeof(*of_events));
	if (!of_events) {
		out->failed = true;
		return;
	}
	for (size_t i = TIMES; i < repeated->measure_count; i++)
		of_events[i - TIMES] = spread_percent(&repeated->measures[i].summaries[0]);
	runs.elapsed = spreads[0];
	runs.user = spreads[1];
	runs.system = spreads[2];
	runs.events = of_events;
	stat_text_print_runs(means, factor, &runs, out);
	if (repeated->rounds > 1)
		buffer_append_text(out, " +-: the 95 % interval of the mean of such runs\n\n");
	add_notes(repeated, 0, out);
}

/* --- several commands --- */

/* "A" to "Z", then "27". */
static void name_command(size_t command, char text[STAT_FIGURE_SIZE])
{
	if (command < 26)
		snprintf(text, STAT_FIGURE_SIZE, "%c", (char)('A' + command));
	else
		snprintf(text, STAT_FIGURE_SIZE, "%zu", command + 1);
}

/* "123.4 ms +- 0.4 %", "-" */
static void add_mean(struct text_table *table, const struct repeated_measure *measure,
		     size_t command)
{
	const struct run_summary *summary = &measure->summaries[command];
	bool seconds = strcmp(measure->unit, "s") == 0, ns = strcmp(measure->unit, "ns") == 0;
	double spread = spread_percent(summary), value = summary->mean.value;
	char text[STAT_FIGURE_SIZE];
	if (summary->mean.kind == ESTIMATE_ABSENT) {
		text_table_add(table, TEXT_PLAIN, "-");
		return;
	}
	if (seconds || ns)
		snprintf(text, sizeof(text), "%.3f ms", value * (seconds ? 1e3 : 1e-6));
	else
		snprintf(text, sizeof(text), "%.*f", value == floor(value) ? 0 : 1, value);
	if (isfinite(spread))
		text_table_add(table, TEXT_PLAIN, "%s +- %.2f %%", text, spread);
	else
		text_table_add(table, TEXT_PLAIN, "%s", text);
}

/* Whether its words end in numbers of the measure's unit: percents say so themselves. */
static bool has_unit(const struct run_comparison *comparison)
{
	return comparison->scale == RUN_DIFFERENCE && comparison->verdict != RUN_TOO_FEW &&
	       comparison->verdict != RUN_MAYBE && comparison->change.low < comparison->change.high;
}

static void print_table(const struct repeated *repeated, size_t command, struct buffer *out)
{
	static const enum text_align align[] = { TEXT_LEFT, TEXT_RIGHT, TEXT_RIGHT, TEXT_LEFT,
						 TEXT_LEFT };
	char name[STAT_FIGURE_SIZE], text[RUN_WORDS_BYTES];
	struct text_table table;
	text_table_init(&table, align, sizeof(align) / sizeof(align[0]));
	name_command(command, name);
	text_table_add(&table, TEXT_BOLD, "%s", "");
	text_table_add(&table, TEXT_BOLD, "A");
	text_table_add(&table, TEXT_BOLD, "%s", name);
	text_table_add(&table, TEXT_BOLD, "%s against A", name);
	text_table_add(&table, TEXT_BOLD, "%s", "");
	for (size_t m = 0; m < repeated->measure_count; m++) {
		const struct repeated_measure *measure = &repeated->measures[m];
		const struct run_comparison *comparison = &measure->comparisons[command - 1];
		if (measure->summaries[0].counted == 0 && measure->summaries[command].counted == 0)
			continue; /* what this machine does not count was said */
		text_table_add(&table, TEXT_PLAIN, "%s", measure->name);
		add_mean(&table, measure, 0);
		add_mean(&table, measure, command);
		run_verdict_text(comparison, measure->kind, text);
		text_table_add(&table, TEXT_PLAIN, "%s%s%s", text, has_unit(comparison) ? " " : "",
			       has_unit(comparison) ? measure->unit : "");
		run_detectable_text(comparison, text);
		text_table_add(&table, TEXT_DIM, "%s", text);
	}
	text_table_print(&table, TEXT_WITHOUT_COLOUR, out);
	text_table_release(&table);
	buffer_append_u8(out, '\n');
}

/* What the question was: the main measure's verdict. */
static void print_verdicts(const struct repeated *repeated, struct buffer *out)
{
	const struct repeated_measure *main = &repeated->measures[repeated->main];
	char name[STAT_FIGURE_SIZE], text[RUN_WORDS_BYTES];
	for (size_t c = 1; c < repeated->commands; c++) {
		name_command(c, name);
		run_verdict_text(&main->comparisons[c - 1], main->kind, text);
		buffer_printf(out, "%s against A, ", name);
		append_safe(out, main->name);
		buffer_printf(out, ": %s\n", text);
	}
	buffer_append_u8(out, '\n');
}

void repeated_text_print_commands(const struct repeated *repeated, struct buffer *out)
{
	char name[STAT_FIGURE_SIZE];
	print_verdicts(repeated, out);
	for (size_t c = 0; c < repeated->commands; c++) {
		name_command(c, name);
		buffer_printf(out, "%s: ", name);
		append_safe(out, repeated->subjects[c]);
		buffer_append_u8(out, '\n');
	}
	buffer_printf(out,
		      "%zu round%s, %zu before that not counted, in random order (--seed %" PRIu64
		      ")\n\n",
		      repeated->rounds, repeated->rounds == 1 ? "" : "s", repeated->warmup,
		      repeated->seed);
	for (size_t c = 1; c < repeated->commands; c++)
		print_table(repeated, c, out);
	for (size_t c = 0; c < repeated->commands; c++) {
		CLEANUP(buffer_release) struct buffer notes = { 0 };
		add_notes(repeated, c, &notes);
		if (!notes.size)
			continue;
		name_command(c, name);
		buffer_printf(out, "%s:\n", name);
		buffer_append(out, notes.data, notes.size);
	}
	buffer_append_text(out, "+-: the 95 % interval of the mean of such runs. Of what is found "
				"beside the first line, 5 % is expected\nto be chance\n");
}

/* --- lines of fields --- */

void repeated_separated_print(const struct repeated *repeated, const struct counts *means,
			      const char *separator, struct buffer *out)
{
	CLEANUP(free_pointer) double *spreads = calloc(repeated->measure_count, sizeof(*spreads));
	if (!spreads) {
		out->failed = true;
		return;
	}
	for (size_t i = TIMES; i < repeated->measure_count; i++)
		spreads[i - TIMES] = spread_percent(&repeated->measures[i].summaries[0]);
	stat_separated_print(means, separator, false, spreads, out);
}

static void append_number(struct buffer *out, double value, const char *separator)
{
	if (isfinite(value))
		buffer_printf(out, "%.9g", value);
	buffer_append_text(out, separator);
}

void repeated_separated_print_commands(const struct repeated *repeated, const char *separator,
				       struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer cell = { 0 };
	for (size_t c = 0; c < repeated->commands; c++)
		for (size_t m = 0; m < repeated->measure_count; m++) {
			const struct repeated_measure *measure = &repeated->measures[m];
			const struct run_summary *summary = &measure->summaries[c];
			const struct run_comparison *comparison =
				c ? &measure->comparisons[c - 1] : NULL;
			bool interval = comparison && comparison->change.kind == ESTIMATE_INTERVAL;
			buffer_printf(out, "%zu%s", c, separator);
			append_number(out,
				      summary->mean.kind == ESTIMATE_ABSENT ? NAN
									    : summary->mean.value,
				      separator);
			buffer_printf(out, "%s%s", measure->unit, separator);
			csv_cell_append(out, &cell, span_of_text(measure->name), separator);
			buffer_append_text(out, separator);
			append_number(out, spread_percent(summary), separator);
			append_number(out,
				      comparison && comparison->change.kind != ESTIMATE_ABSENT
					      ? comparison->change.value
					      : NAN,
				      separator);
			append_number(out, interval ? comparison->change.low : NAN, separator);
			append_number(out, interval ? comparison->change.high : NAN, separator);
			buffer_printf(out, "%s\n",
				      comparison ? run_verdict_word(comparison->verdict) : "");
		}
}
