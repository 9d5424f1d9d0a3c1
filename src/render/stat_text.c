#include "render/stat_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/visible_text.h"
#include "render/limit_text.h"
#include "render/stat_figures.h"
#include "render/stat_topdown.h"

/* Widths of perf stat's columns. */
#define VALUE_WIDTH  18
#define UNIT_WIDTH   4
#define NAME_WIDTH   32
#define REMARK_WIDTH 8
#define WORDS_WIDTH  22
#define TIME_WIDTH   15
#define CPUS_WIDTH   10

static void append_safe(struct buffer *out, const char *text)
{
	text_append_safe(out, text, strlen(text));
}

/* The text and blanks up to `width` columns. */
static void append_padded(struct buffer *out, const char *text, size_t width)
{
	CLEANUP(buffer_release) struct buffer safe = { 0 };
	append_safe(&safe, text);
	size_t taken = text_width(buffer_text(&safe));
	buffer_append(out, safe.data, safe.size);
	buffer_printf(out, "%*s", taken < width ? (int)(width - taken) : 0, "");
}

size_t stat_text_label_width(const struct counts *counts)
{
	size_t width = 0;
	for (size_t i = 0; i < counts->row_count; i++) {
		CLEANUP(buffer_release) struct buffer safe = { 0 };
		if (!counts->rows[i].label)
			continue;
		append_safe(&safe, counts->rows[i].label);
		size_t taken = text_width(buffer_text(&safe));
		width = taken > width ? taken : width;
	}
	return width;
}

struct layout {
	const struct counts *counts;
	struct buffer *out;
	size_t label_width;
	bool with_cpus;			   /* rows are cores */
	double time_s;			   /* NAN: no column for it */
	const struct stat_text_runs *runs; /* NULL: it was one */
	bool scaled;			   /* something was counted a part of the time */
	bool bounded;			   /* and how far off that may be is known */
};

static void begin_line(struct layout *layout, const struct counts_row *row)
{
	if (isfinite(layout->time_s))
		buffer_printf(layout->out, "%*.9f ", TIME_WIDTH, layout->time_s);
	if (layout->label_width)
		append_padded(layout->out, row->label ? row->label : "", layout->label_width);
	if (layout->with_cpus)
		buffer_printf(layout->out, " %*zu", CPUS_WIDTH, row->cpus);
}

static void end_line(struct buffer *out)
{
	while (out->size && out->data[out->size - 1] == ' ')
		out->size--;
	buffer_append_u8(out, '\n');
}

static void append_spread(struct buffer *out, double percent)
{
	if (isfinite(percent))
		buffer_printf(out, "  ( +- %5.2f%% )", percent);
}

static void print_event(struct layout *layout, const struct counts_row *row, size_t index)
{
	const struct counts_event *event = &layout->counts->events[index];
	const struct counts_value *value = &row->values[index];
	struct counts_remark remark = counts_remark_of(layout->counts, row, index);
	char figure[STAT_FIGURE_SIZE], beside[STAT_FIGURE_SIZE];
	const char *unit, *words;
	stat_figure_value(event, value, STAT_GROUPED, figure, &unit);
	stat_figure_remark(&remark, beside, &words);
	begin_line(layout, row);
	buffer_printf(layout->out, "%*s ", VALUE_WIDTH, figure);
	append_padded(layout->out, unit, UNIT_WIDTH);
	buffer_append_u8(layout->out, ' ');
	append_padded(layout->out, event->name, event->core_type ? 0 : NAME_WIDTH);
	if (event->core_type) {
		char type[STAT_FIGURE_SIZE];
		size_t taken = strlen(event->name);
		snprintf(type, sizeof(type), " [%s]", event->core_type);
		append_padded(layout->out, type, taken < NAME_WIDTH ? NAME_WIDTH - taken : 0);
	}
	if (beside[0])
		buffer_printf(layout->out, " # %*s ", REMARK_WIDTH, beside);
	else
		buffer_printf(layout->out, "   %*s ", REMARK_WIDTH, "");
	append_padded(layout->out, words, WORDS_WIDTH);
	if (layout->runs)
		append_spread(layout->out, layout->runs->events[index]);
	if (value->state == COUNTS_KNOWN && value->running_ns < value->enabled_ns) {
		bool bounded = isfinite(value->high) && value->value > 0;
		buffer_printf(layout->out, "  (%.2f%%", counts_running_percent(value));
		if (bounded)
			buffer_printf(layout->out, ", +- %.2f%%",
				      100 * (value->high - value->value) / value->value);
		buffer_append_text(layout->out, ")");
		layout->scaled |= !bounded;
		layout->bounded |= bounded;
	}
	end_line(layout->out);
}

static void print_metric(struct layout *layout, const struct counts_row *row, size_t index)
{
	const struct counts_metric *metric = &layout->counts->metrics[index];
	const struct counts_value *value = &row->metrics[index];
	char figure[STAT_FIGURE_SIZE];
	stat_figure_metric(value, figure);
	begin_line(layout, row);
	buffer_printf(layout->out, "%*s %*s ", VALUE_WIDTH, figure, UNIT_WIDTH, "");
	append_padded(layout->out, metric->name, NAME_WIDTH);
	if (strcmp(metric->name, metric->expression) != 0) {
		buffer_append_text(layout->out, " # ");
		append_safe(layout->out, metric->expression);
	}
	end_line(layout->out);
}

static void print_topdown(struct layout *layout, const struct counts_row *row, size_t type)
{
	for (unsigned category = 0; category < TOPDOWN_CATEGORIES; category++) {
		char figure[STAT_TOPDOWN_NAME_SIZE], name[STAT_TOPDOWN_NAME_SIZE];
		char note[STAT_TOPDOWN_NOTE_SIZE];
		if (!stat_topdown_is_shown(&row->topdown[type], category))
			continue;
		stat_topdown_line(&row->topdown[type], layout->counts->core_types[type], category,
				  figure, name, note);
		begin_line(layout, row);
		buffer_printf(layout->out, "%*s ", VALUE_WIDTH, figure);
		append_padded(layout->out, "%", UNIT_WIDTH);
		buffer_append_u8(layout->out, ' ');
		append_padded(layout->out, name, NAME_WIDTH);
		if (note[0]) {
			buffer_append_text(layout->out, " # ");
			append_safe(layout->out, note);
		}
		end_line(layout->out);
	}
}

static void print_rows(struct layout *layout)
{
	const struct counts *counts = layout->counts;
	for (size_t i = 0; i < counts->event_count; i++)
		for (size_t row = 0; row < counts->row_count; row++)
			print_event(layout, &counts->rows[row], i);
	for (size_t i = 0; i < counts->metric_count; i++)
		for (size_t row = 0; row < counts->row_count; row++)
			print_metric(layout, &counts->rows[row], i);
	for (size_t type = 0; type < counts->topdown_count; type++)
		for (size_t row = 0; row < counts->row_count; row++)
			print_topdown(layout, &counts->rows[row], type);
}

static struct layout layout_of(const struct counts *counts, struct buffer *out)
{
	return (struct layout){ .counts = counts,
				.out = out,
				.label_width = stat_text_label_width(counts),
				.with_cpus = counts->row_count && counts->rows[0].cpus,
				.time_s = NAN };
}

static void print_time(struct layout *layout, double seconds, const char *words, double spread)
{
	buffer_printf(layout->out, "%*.9f ", VALUE_WIDTH, seconds);
	if (isfinite(spread))
		buffer_printf(layout->out, "+- %.9f ", seconds * spread / 100);
	buffer_printf(layout->out, "seconds %s", words);
	append_spread(layout->out, spread);
	buffer_append_u8(layout->out, '\n');
}

static void print_head(struct layout *layout, const struct limiting_factor *factor)
{
	char limit[LIMIT_TEXT_SIZE];
	buffer_append_u8(layout->out, '\n');
	if (factor) {
		limit_text(factor, limit);
		buffer_printf(layout->out, " %s\n\n", limit);
	}
	buffer_append_text(layout->out, " Performance counter stats for ");
	append_safe(layout->out, layout->counts->subject);
	if (layout->runs)
		buffer_printf(layout->out, " (%zu run%s)", layout->runs->runs,
			      layout->runs->runs == 1 ? "" : "s");
	buffer_append_text(layout->out, ":\n\n");
}

void stat_text_print_runs(const struct counts *counts, const struct limiting_factor *factor,
			  const struct stat_text_runs *runs, struct buffer *out)
{
	struct layout layout = layout_of(counts, out);
	layout.runs = runs;
	print_head(&layout, factor);
	print_rows(&layout);
	if (counts->event_count)
		buffer_append_u8(out, '\n');
	print_time(&layout, counts->elapsed_s, "time elapsed", runs ? runs->elapsed : NAN);
	buffer_append_u8(out, '\n');
	if (isfinite(counts->user_s)) {
		print_time(&layout, counts->user_s, "user", runs ? runs->user : NAN);
		print_time(&layout, counts->system_s, "sys", runs ? runs->system : NAN);
		buffer_append_u8(out, '\n');
	}
	if (layout.bounded)
		buffer_append_text(out,
				   " (n%, +- m%): counted so much of the time and scaled to all of "
				   "it; +- is the 95 % interval, by how its rate\n varied\n\n");
	if (layout.scaled)
		buffer_append_text(out, " (n%): counted so much of the time and scaled to all of "
					"it; how far off that is, is not known\n\n");
}

void stat_text_print(const struct counts *counts, const struct limiting_factor *factor,
		     struct buffer *out)
{
	stat_text_print_runs(counts, factor, NULL, out);
}

void stat_text_print_interval(const struct counts *counts, bool with_head, struct buffer *out)
{
	struct layout layout = layout_of(counts, out);
	layout.time_s = counts->begin_s + counts->elapsed_s;
	if (with_head) {
		buffer_printf(out, "#%*s", TIME_WIDTH, "time ");
		if (layout.label_width)
			append_padded(out, counts->rows[0].cpus ? "core" : "", layout.label_width);
		if (layout.with_cpus)
			buffer_printf(out, " %*s", CPUS_WIDTH, "cpus");
		buffer_printf(out, "%*s unit events\n", VALUE_WIDTH, "counts");
	}
	print_rows(&layout);
}
