#include "render/repeated_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyze/counted/limiting_factor.h"
#include "base/cleanup.h"
#include "base/csv_cell.h"
#include "render/limit_text.h"
#include "render/repeated_figures.h"
#include "render/stat_figures.h"
#include "render/stat_separated.h"
#include "render/stat_text.h"
#include "render/text_table.h"

/* Half of the mean's interval in percent of it; NAN: not known. */
static double spread_percent(const struct run_summary *summary)
{
	const struct estimate *mean = &summary->mean;
	if (mean->kind != ESTIMATE_INTERVAL || mean->value == 0)
		return NAN;
	return 100 * (mean->high - mean->low) / 2 / fabs(mean->value);
}

/* Of all measures of the first command, malloc'ed; NULL: out of memory. */
static double *spreads_of(const struct repeated *repeated)
{
	double *spreads = calloc(repeated->measure_count, sizeof(*spreads));
	for (size_t i = 0; spreads && i < repeated->measure_count; i++)
		spreads[i] = spread_percent(&repeated->measures[i].summaries[0]);
	return spreads;
}

static void append_safe(struct buffer *out, const char *text)
{
	text_append_safe(out, text, strlen(text));
}

/* --- one command --- */

/* ": from 1.178 to 1.895 ms, median 1.224" */
static void add_range(const struct repeated_measure *measure, const struct run_summary *summary,
		      struct buffer *out)
{
	char least[STAT_FIGURE_SIZE], most[STAT_FIGURE_SIZE], median[STAT_FIGURE_SIZE];
	struct run_unit unit = repeated_unit(measure);
	repeated_figure(measure, summary->least, least);
	repeated_figure(measure, summary->most, most);
	repeated_figure(measure, summary->median, median);
	buffer_printf(out, ": from %s to %s%s", least, most, unit.name[0] ? " " : "");
	append_safe(out, unit.name);
	buffer_printf(out, ", median %s\n", median);
}

static void add_note(const struct repeated_measure *measure, size_t command, struct buffer *out)
{
	const struct run_summary *summary = &measure->summaries[command];
	/* where more than half of the runs are the same, as with ticks, what is not has no scale */
	if (summary->outliers && summary->median_deviation > 0) {
		buffer_printf(out, " %zu of %zu runs stand out in ", summary->outliers,
			      summary->counted);
		append_safe(out, measure->name);
		add_range(measure, summary, out);
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
	CLEANUP(free_pointer) double *spreads = spreads_of(repeated);
	if (!spreads) {
		out->failed = true;
		return;
	}
	runs.elapsed = spreads[REPEATED_ELAPSED];
	runs.user = spreads[REPEATED_USER];
	runs.system = spreads[REPEATED_SYSTEM];
	runs.events = spreads + REPEATED_TIMES;
	runs.metrics = runs.events + means->event_count;
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
	double spread = spread_percent(summary);
	/* a count's unit is in its name */
	bool with_unit = strcmp(repeated_unit(measure).name, "ms") == 0;
	char text[STAT_FIGURE_SIZE];
	if (summary->mean.kind == ESTIMATE_ABSENT) {
		text_table_add(table, TEXT_PLAIN, "-");
		return;
	}
	repeated_figure(measure, summary->mean.value, text);
	if (isfinite(spread))
		text_table_add(table, TEXT_PLAIN, "%s%s +- %.2f %%", text, with_unit ? " ms" : "",
			       spread);
	else
		text_table_add(table, TEXT_PLAIN, "%s%s", text, with_unit ? " ms" : "");
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
		run_verdict_text(comparison, measure->kind, repeated_unit(measure), text);
		text_table_add(&table, TEXT_PLAIN, "%s", text);
		run_detectable_text(comparison, repeated_unit(measure), text);
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
		run_verdict_text(&main->comparisons[c - 1], main->kind, repeated_unit(main), text);
		buffer_printf(out, "%s against A, ", name);
		append_safe(out, main->name);
		buffer_append_text(out, ": ");
		append_safe(out, text);
		buffer_append_u8(out, '\n');
	}
	buffer_append_u8(out, '\n');
}

/* Whether commands had to wait for others, so that elapsed time is not theirs alone. */
static bool had_rivals(const struct repeated *repeated, const struct limiting_factor *factors)
{
	for (size_t c = 0; c < repeated->commands; c++)
		if (factors[c].limit == LIMIT_CROWDED || factors[c].limit == LIMIT_OFF_CPU ||
		    (factors[c].limit == LIMIT_NOTHING_CLEARLY && factors[c].pushed_off))
			return true;
	return false;
}

static void print_explanations(const struct repeated *repeated,
			       const struct limiting_factor *factors, struct buffer *out)
{
	if (repeated->main == REPEATED_ELAPSED && had_rivals(repeated, factors))
		buffer_append_text(out, "elapsed: other programs may be in it, that had the CPUs; "
					"not in task-clock (-e task-clock asks for that)\n");
	if (repeated->rounds >= run_least_rounds(1))
		buffer_append_text(
			out, "would find: the difference that 80 of 100 such comparisons find; "
			     "four times the rounds (-r) find half of it\n");
	buffer_append_text(out, "+-: the 95 % interval of the mean of such runs. Of what is found "
				"beside the first line, 5 % is expected\nto be chance\n");
}

void repeated_text_print_commands(const struct repeated *repeated,
				  const struct limiting_factor *factors, struct buffer *out)
{
	char name[STAT_FIGURE_SIZE], limit[LIMIT_TEXT_SIZE];
	print_verdicts(repeated, out);
	for (size_t c = 0; c < repeated->commands; c++) {
		name_command(c, name);
		buffer_printf(out, "%s: ", name);
		append_safe(out, repeated->subjects[c]);
		limit_text(&factors[c], limit);
		buffer_printf(out, "\n   %s\n", limit);
	}
	buffer_printf(out, "%zu round%s", repeated->rounds, repeated->rounds == 1 ? "" : "s");
	if (repeated->warmup)
		buffer_printf(out, ", %zu before that not counted", repeated->warmup);
	buffer_printf(out, ", in random order (--seed %" PRIu64 ")\n\n", repeated->seed);
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
	print_explanations(repeated, factors, out);
}

/* --- lines of fields --- */

void repeated_separated_print(const struct repeated *repeated, const struct counts *means,
			      const char *separator, struct buffer *out)
{
	CLEANUP(free_pointer) double *spreads = spreads_of(repeated);
	if (!spreads) {
		out->failed = true;
		return;
	}
	stat_separated_print(means, separator, false, spreads + REPEATED_TIMES, out);
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
			if (measure->unit[0])
				csv_cell_append(out, &cell, span_of_text(measure->unit), separator);
			buffer_append_text(out, separator);
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
			buffer_printf(out, "%s%s%s\n",
				      comparison ? run_scale_word(comparison->scale) : "",
				      separator,
				      comparison ? run_verdict_word(comparison->verdict) : "");
		}
}
