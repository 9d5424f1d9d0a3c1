#include "render/stat_separated.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/csv_cell.h"
#include "render/stat_figures.h"
#include "render/stat_topdown.h"

struct lines {
	const struct counts *counts;
	const char *separator;
	bool with_time;
	const double *spreads; /* NULL: no field for them */
	struct buffer *out;
	struct buffer cell;
};

static void append_text(struct lines *lines, const char *text)
{
	if (*text)
		csv_cell_append(lines->out, &lines->cell, span_of_text(text), lines->separator);
}

static void begin_line(struct lines *lines, const struct counts_row *row)
{
	if (lines->with_time)
		buffer_printf(lines->out, "%.9f%s",
			      lines->counts->begin_s + lines->counts->elapsed_s, lines->separator);
	if (row->label) {
		append_text(lines, row->label);
		buffer_append_text(lines->out, lines->separator);
	}
	if (row->cpus)
		buffer_printf(lines->out, "%zu%s", row->cpus, lines->separator);
}

static void print_event(struct lines *lines, const struct counts_row *row, size_t index)
{
	const struct counts_event *event = &lines->counts->events[index];
	const struct counts_value *value = &row->values[index];
	struct counts_remark remark = counts_remark_of(lines->counts, row, index);
	char figure[STAT_FIGURE_SIZE], beside[STAT_FIGURE_SIZE];
	const char *unit, *words, *separator = lines->separator;
	stat_figure_value(event, value, STAT_PLAIN, figure, &unit);
	stat_figure_remark(&remark, beside, &words);
	beside[strcspn(beside, "%")] = 0; /* perf has no sign there */
	begin_line(lines, row);
	buffer_printf(lines->out, "%s%s", figure, separator);
	append_text(lines, unit);
	buffer_append_text(lines->out, separator);
	append_text(lines, event->name);
	if (lines->spreads)
		buffer_append_text(lines->out, separator);
	if (lines->spreads && isfinite(lines->spreads[index]))
		buffer_printf(lines->out, "%.2f%%", lines->spreads[index]);
	buffer_printf(lines->out, "%s%" PRIu64 "%s%.2f%s%s%s", separator, value->running_ns,
		      separator, counts_running_percent(value), separator, beside, separator);
	append_text(lines, words);
	buffer_append_u8(lines->out, '\n');
}

static void print_metric(struct lines *lines, const struct counts_row *row, size_t index)
{
	const char *separator = lines->separator;
	char figure[STAT_FIGURE_SIZE];
	stat_figure_metric(&row->metrics[index], figure);
	begin_line(lines, row);
	buffer_printf(lines->out, "%s%s%s", figure, separator, separator);
	append_text(lines, lines->counts->metrics[index].name);
	for (int i = lines->spreads ? 0 : 1; i < 5; i++)
		buffer_append_text(lines->out, separator);
	buffer_append_u8(lines->out, '\n');
}

static void print_topdown(struct lines *lines, const struct counts_row *row, size_t type)
{
	const struct topdown *topdown = &row->topdown[type];
	for (unsigned category = 0; category < TOPDOWN_CATEGORIES; category++) {
		const struct topdown_figure *figure = &topdown->figures[category];
		if (!stat_topdown_is_shown(topdown, category))
			continue;
		begin_line(lines, row);
		if (figure->known)
			buffer_printf(lines->out, "%.2f", 100 * figure->value);
		else
			buffer_append_text(lines->out, "<not counted>");
		buffer_printf(lines->out, "%s%%%s%s%s", lines->separator, lines->separator,
			      lines->counts->core_types[type] ? lines->counts->core_types[type]
							      : "",
			      lines->counts->core_types[type] ? "/" : "");
		append_text(lines, topdown_category_name(category));
		buffer_printf(lines->out, "%s%s%.2f%s%s\n", lines->separator, lines->separator,
			      100 * topdown->running_share, lines->separator, lines->separator);
	}
}

static void release(struct lines *lines)
{
	buffer_release(&lines->cell);
}

void stat_separated_print(const struct counts *counts, const char *separator, bool with_time,
			  const double *spreads, struct buffer *out)
{
	CLEANUP(release) struct lines lines = { counts, separator, with_time, spreads, out, { 0 } };
	for (size_t i = 0; i < counts->event_count; i++)
		for (size_t row = 0; row < counts->row_count; row++)
			print_event(&lines, &counts->rows[row], i);
	for (size_t i = 0; i < counts->metric_count; i++)
		for (size_t row = 0; row < counts->row_count; row++)
			print_metric(&lines, &counts->rows[row], i);
	for (size_t type = 0; type < counts->topdown_count; type++)
		for (size_t row = 0; row < counts->row_count; row++)
			print_topdown(&lines, &counts->rows[row], type);
}
