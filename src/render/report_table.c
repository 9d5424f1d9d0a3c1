#include "render/report_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "render/quantity.h"
#include "render/rest_text.h"
#include "render/shown_names.h"
#include "render/table_heads.h"

/* More events than fit the heads are left to --json and --event; the page says so. */
#define EVENTS_MAX 12

/* A report's table while it is made, and which columns it has. */
struct layout {
	const struct report *report;
	const struct report_table_options *options;
	struct quantity_scale *scales; /* by column */
	size_t events[EVENTS_MAX];     /* columns that are shown */
	size_t event_count, left_out;
	bool with_amount, with_total, with_self, with_cumulative, with_pid, with_image,
		with_procedure;
	struct text_table table;
	struct cell cumulative; /* of the sort column */
	const char **names;	/* of the rows' procedures, as they are shown */
	struct arena arena;	/* that they live in */
};

static const struct cell *main_cells(const struct report_row *row)
{
	return row->total ? row->total : row->self;
}

static bool has_part(const struct report *report, enum report_part part)
{
	return report_options_have(&report->options, part);
}

static bool show_names(struct layout *layout)
{
	const struct report *report = layout->report;
	for (size_t i = 0; i < report->row_count; i++)
		layout->names[i] = report->rows[i].texts[REPORT_PROCEDURE];
	return layout->options->full_names ||
	       shown_names_fold(layout->names, report->row_count, &layout->arena) == 0;
}

static void release_layout(struct layout *layout)
{
	text_table_release(&layout->table);
	arena_release(&layout->arena);
	free(layout->names);
	free(layout->scales);
}

static void init_layout(struct layout *layout, const struct report *report,
			const struct report_table_options *options)
{
	enum report_view view = report->options.view;
	*layout = (struct layout){ .report = report, .options = options };
	layout->with_total = view != REPORT_FLAT;
	layout->with_self = view != REPORT_FLAT && view != REPORT_CALLERS;
	layout->with_amount = options->look == REPORT_TABLE_WHOLE;
	layout->with_cumulative =
		layout->with_amount && view == REPORT_FLAT &&
		(!report->options.sort || (strcmp(report->options.sort, "name") != 0 &&
					   strcmp(report->options.sort, "cpi") != 0));
	bool line = has_part(report, REPORT_LINE) || has_part(report, REPORT_ADDRESS);
	layout->with_procedure = view != REPORT_FLAT || has_part(report, REPORT_PROCEDURE) || line;
	layout->with_image = layout->with_procedure || has_part(report, REPORT_IMAGE);
	for (size_t i = 0; i < report->row_count; i++)
		layout->with_pid |= report->rows[i].pid != OPTIONAL_ABSENT;
	layout->names = calloc(report->row_count + 1, sizeof(*layout->names));
	layout->scales = calloc(report->columns.count + 1, sizeof(*layout->scales));
	for (size_t i = 0; layout->scales && i < report->columns.count; i++) {
		const struct event_column *column = &report->columns.list[i];
		double divisor = event_column_divisor(column);
		layout->scales[i] = quantity_scale_for((double)report->shown[i].estimate / divisor,
						       column->unit);
		layout->scales[i].divisor *= divisor;
	}
}

/* ---- which columns there are: the head and each row go through the same steps */

static size_t pair_count(const struct report *report)
{
	return report->columns.pair_count < EVENTS_MAX ? report->columns.pair_count : EVENTS_MAX;
}

static size_t slots_count(const struct report *report)
{
	return report->slots_count < EVENTS_MAX ? report->slots_count : EVENTS_MAX;
}

/* Parts of TopDown are shown as shares of slots alone, unless the rows are sorted by them. */
static void choose_events(struct layout *layout)
{
	const struct report *report = layout->report;
	for (size_t i = 0; i < report->columns.count; i++) {
		if (i != report->sort_column &&
		    slot_columns_have_part(report->slots, slots_count(report), i))
			continue;
		if (layout->event_count < EVENTS_MAX)
			layout->events[layout->event_count++] = i;
		else
			layout->left_out++;
	}
}

static void head_event(struct table_heads *heads, const struct layout *layout, size_t at)
{
	const struct report *report = layout->report;
	const struct event_column *column = &report->columns.list[at];
	char name[QUANTITY_SIZE];
	snprintf(name, sizeof(name), "%.*s%s%.*s", (int)column->name.size,
		 column->name.size ? (const char *)column->name.data : "",
		 column->core_type.size ? " " : "", (int)column->core_type.size,
		 column->core_type.size ? (const char *)column->core_type.data : "");
	const char *unit = layout->scales[at].unit;
	if (layout->with_amount)
		table_heads_add(heads, TEXT_RIGHT, "%.50s%s%s", name, *unit ? " " : "", unit);
	if (!layout->with_amount && layout->event_count > 1)
		table_heads_add(heads, TEXT_RIGHT, "%.50s %%", name);
	else
		table_heads_add(heads, TEXT_RIGHT, layout->with_total ? "total %%" : "%%");
	if (at == report->sort_column) {
		if (layout->with_cumulative)
			table_heads_add(heads, TEXT_RIGHT, "cum %%");
		table_heads_add(heads, TEXT_RIGHT, "+-");
	}
	if (layout->with_self)
		table_heads_add(heads, TEXT_RIGHT, "self %%");
	if (at == report->sort_column && column->sampled)
		table_heads_add(heads, TEXT_RIGHT, "samples");
}

static void head_names(struct table_heads *heads, const struct layout *layout)
{
	const struct report *report = layout->report;
	for (size_t i = 0;
	     layout->report->options.view == REPORT_FLAT && i < report->options.part_count; i++) {
		enum report_part part = report->options.parts[i];
		if (part == REPORT_PROCEDURE || part == REPORT_LINE || part == REPORT_IMAGE ||
		    part == REPORT_ADDRESS)
			continue;
		if (layout->with_pid && (part == REPORT_PROCESS || part == REPORT_THREAD))
			table_heads_add(heads, TEXT_RIGHT, "pid");
		if (part == REPORT_THREAD)
			table_heads_add(heads, TEXT_RIGHT, "tid");
		if (part == REPORT_THREAD && !has_part(report, REPORT_PROCESS))
			table_heads_add(heads, TEXT_LEFT, "process");
		table_heads_add(heads, part == REPORT_CPU ? TEXT_RIGHT : TEXT_LEFT, "%s",
				report_part_names[part]);
	}
	if (layout->with_image)
		table_heads_add(heads, layout->with_procedure ? TEXT_NARROW : TEXT_LEFT, "image");
	if (has_part(report, REPORT_ADDRESS))
		table_heads_add(heads, TEXT_RIGHT, "address");
	if (layout->with_procedure)
		table_heads_add(heads, TEXT_LEFT, "procedure");
	if (has_part(report, REPORT_LINE))
		table_heads_add(heads, TEXT_LEFT, "line");
}

/* Short of the names in docs, as each stands above a column of five characters. */
static const char *const slot_heads[SLOT_PARTS] = { "retiring %", "bad spec %", "frontend %",
						    "backend %" };

static void head_slots(struct table_heads *heads, const struct report *report,
		       const struct slot_columns *slots)
{
	struct span core = report->columns.list[slots->slots].core_type;
	for (size_t part = 0; part < SLOT_PARTS; part++) {
		if (slots->parts[part] == EVENT_COLUMN_NONE)
			continue;
		table_heads_add(heads, TEXT_RIGHT, "%s%s%.*s", slot_heads[part],
				core.size ? " " : "", (int)(core.size < 40 ? core.size : 40),
				core.size ? (const char *)core.data : "");
		table_heads_add(heads, TEXT_RIGHT, "+-");
	}
}

static void put_head(struct layout *layout)
{
	struct table_heads heads = { 0 };
	const struct report *report = layout->report;
	for (size_t i = 0; i < layout->event_count; i++)
		head_event(&heads, layout, layout->events[i]);
	for (size_t i = 0; i < pair_count(report); i++) {
		const struct event_column *cycles =
			&report->columns.list[report->columns.pairs[i].cycles];
		table_heads_add(&heads, TEXT_RIGHT, "CPI%s%.*s", cycles->core_type.size ? " " : "",
				(int)(cycles->core_type.size < 40 ? cycles->core_type.size : 40),
				cycles->core_type.size ? (const char *)cycles->core_type.data : "");
		table_heads_add(&heads, TEXT_LEFT, "95 %% interval");
	}
	for (size_t i = 0; i < slots_count(report); i++)
		head_slots(&heads, report, &report->slots[i]);
	head_names(&heads, layout);
	table_heads_begin(&heads, &layout->table);
}

/* ---- rows */

static enum text_style style_of(const struct cell *cell)
{
	double n = cell_effective_samples(cell);
	if (cell_is_empty(cell))
		return TEXT_DIM;
	return n > 0 && n < INTERVAL_FEW_SAMPLES ? TEXT_DIM : TEXT_PLAIN;
}

static void put_share(struct layout *layout, enum text_style style, struct estimate share)
{
	if (share.kind == ESTIMATE_ABSENT)
		text_table_add(&layout->table, style, "-");
	else
		text_table_add(&layout->table, style, "%.2f", 100 * share.value);
}

/* Half the width of its interval. */
static void put_reach(struct layout *layout, enum text_style style, struct estimate share)
{
	if (share.kind == ESTIMATE_INTERVAL)
		text_table_add(&layout->table, style, "%.2f", 50 * (share.high - share.low));
	else
		text_table_add(&layout->table, style, "-");
}

static void put_event_cells(struct layout *layout, const struct cell *cells,
			    const struct cell *self, size_t at)
{
	const struct report *report = layout->report;
	const struct cell *cell = &cells[at], *whole = &report->whole[at];
	enum text_style style = style_of(cell);
	char text[QUANTITY_SIZE];
	if (layout->with_amount) {
		quantity_format(&layout->scales[at], (double)cell->estimate, text);
		text_table_add(&layout->table, style, "%s", text);
	}
	struct estimate share = interval_share(cell, whole);
	put_share(layout, style, share);
	if (at == report->sort_column) {
		if (layout->with_cumulative) {
			cell_add(&layout->cumulative, cell);
			put_share(layout, style, interval_share(&layout->cumulative, whole));
		}
		put_reach(layout, style, share);
	}
	if (layout->with_self)
		put_share(layout, style, interval_share(&self[at], whole));
	if (at == report->sort_column && report->columns.list[at].sampled) {
		quantity_count(cell->samples, text);
		text_table_add(&layout->table, style, "%s", text);
	}
}

#define MOST_PLAIN_RATIO 1e6 /* nothing true is above; digits would only push the page apart */

static void put_cpi(struct layout *layout, const struct cell *cells, size_t pair)
{
	const struct report *report = layout->report;
	struct estimate cpi = report_cpi(report, cells, pair);
	const struct event_pair *p = &report->columns.pairs[pair];
	enum text_style style = style_of(&cells[p->cycles]) == TEXT_DIM ||
						style_of(&cells[p->instructions]) == TEXT_DIM
					? TEXT_DIM
					: TEXT_PLAIN;
	if (cpi.kind == ESTIMATE_ABSENT)
		text_table_add(&layout->table, TEXT_DIM, "-");
	else
		text_table_add(&layout->table, style,
			       cpi.value < MOST_PLAIN_RATIO ? "%.2f" : "%.3g", cpi.value);
	if (cpi.kind == ESTIMATE_INTERVAL)
		text_table_add(&layout->table, style,
			       cpi.high < MOST_PLAIN_RATIO ? "%.2f-%.2f" : "%.3g-%.3g", cpi.low,
			       cpi.high);
	else
		text_table_add(&layout->table, TEXT_DIM, "-");
}

/* A part that was counted and came to nothing is 0 of the slots, and rests on as many samples. */
static void put_slots(struct layout *layout, const struct cell *cells,
		      const struct slot_columns *slots)
{
	for (size_t part = 0; part < SLOT_PARTS; part++) {
		uint32_t at = slots->parts[part];
		if (at == EVENT_COLUMN_NONE)
			continue;
		struct estimate share =
			slot_share(&layout->report->columns, slots, (enum slot_part)part, cells);
		bool few = style_of(&cells[slots->slots]) == TEXT_DIM ||
			   (!cell_is_empty(&cells[at]) && style_of(&cells[at]) == TEXT_DIM);
		put_share(layout, few ? TEXT_DIM : TEXT_PLAIN, share);
		put_reach(layout, few ? TEXT_DIM : TEXT_PLAIN, share);
	}
}

static void put_figures(struct layout *layout, const struct cell *cells, const struct cell *self)
{
	const struct report *report = layout->report;
	for (size_t i = 0; i < layout->event_count; i++)
		put_event_cells(layout, cells, self, layout->events[i]);
	for (size_t i = 0; i < pair_count(report); i++)
		put_cpi(layout, cells, i);
	for (size_t i = 0; i < slots_count(report); i++)
		put_slots(layout, cells, &report->slots[i]);
}

static void put_text(struct layout *layout, const char *text)
{
	text_table_add(&layout->table, TEXT_PLAIN, "%s", text ? text : "-");
}

static void put_number(struct layout *layout, uint64_t optional)
{
	if (optional == OPTIONAL_ABSENT)
		text_table_add(&layout->table, TEXT_PLAIN, "-");
	else
		text_table_add(&layout->table, TEXT_PLAIN, "%" PRIu64, optional - 1);
}

static void put_procedure(struct layout *layout, const struct report_row *row)
{
	const struct report *report = layout->report;
	const char *name = layout->names[row - report->rows];
	const char *variant = "";
	if (row->procedure != PLACE_NONE)
		variant = places_procedure(report->places, row->procedure)->variant;
	text_table_add(&layout->table, TEXT_PLAIN, "%*s%s%s%s%s%s%s",
		       (int)(2 * (row->indent - row->branch)), "", row->branch ? "- " : "",
		       name ? name : "-", *variant ? " " : "", variant,
		       row->marks & PLACE_INLINED ? " (inlined)" : "",
		       row->marks & PLACE_LATE ? " (late)" : "");
}

static void put_names(struct layout *layout, const struct report_row *row)
{
	const struct report *report = layout->report;
	for (size_t i = 0; report->options.view == REPORT_FLAT && i < report->options.part_count;
	     i++) {
		enum report_part part = report->options.parts[i];
		if (part == REPORT_PROCEDURE || part == REPORT_LINE || part == REPORT_IMAGE ||
		    part == REPORT_ADDRESS)
			continue;
		if (layout->with_pid && (part == REPORT_PROCESS || part == REPORT_THREAD))
			put_number(layout, row->pid);
		if (part == REPORT_THREAD)
			put_number(layout, row->tid);
		if (part == REPORT_THREAD && !has_part(report, REPORT_PROCESS))
			put_text(layout, row->texts[REPORT_PROCESS]);
		if (part == REPORT_CPU)
			put_number(layout, row->cpu);
		else
			put_text(layout, row->texts[part]);
	}
	if (layout->with_image)
		put_text(layout, row->image_name && *row->image_name ? row->image_name : NULL);
	if (has_part(report, REPORT_ADDRESS) && row->address != OPTIONAL_ABSENT)
		text_table_add(&layout->table, TEXT_PLAIN, "0x%" PRIx64, row->address - 1);
	else if (has_part(report, REPORT_ADDRESS))
		put_text(layout, NULL);
	if (layout->with_procedure)
		put_procedure(layout, row);
	if (!has_part(report, REPORT_LINE))
		return;
	if (row->line != OPTIONAL_ABSENT)
		text_table_add(&layout->table, TEXT_PLAIN, "%s:%" PRIu64, row->texts[REPORT_LINE],
			       row->line - 1);
	else
		put_text(layout, row->texts[REPORT_LINE]);
}

static void put_rest(struct layout *layout)
{
	const struct report *report = layout->report;
	if (report->rest_count == 0 || layout->with_total || !layout->with_amount)
		return;
	size_t before = layout->table.count;
	put_figures(layout, report->rest, report->rest);
	while (layout->table.count - before + 1 < layout->table.columns)
		text_table_add(&layout->table, TEXT_DIM, "%s", "");
	text_table_add(&layout->table, TEXT_DIM, "(%zu more row%s; %s shows all)",
		       report->rest_count, report->rest_count == 1 ? "" : "s",
		       rest_options(report->row_count + report->rest_count,
				    report->options.min_percent, report->options.limit));
}

/* Rows with totals overlap, so what was left out has no sum but of the rows' own samples. */
static void put_rest_line(const struct layout *layout, struct buffer *out)
{
	const struct report *report = layout->report;
	if (report->rest_count == 0 || !layout->with_total || report->columns.count == 0 ||
	    !layout->with_amount)
		return;
	text_append_style(out, layout->options->colour, TEXT_DIM);
	buffer_printf(out, "%zu smaller row%s left out", report->rest_count,
		      report->rest_count == 1 ? "" : "s");
	if (layout->with_self) {
		char text[QUANTITY_SIZE];
		size_t main = report->sort_column;
		quantity_percent((double)report->rest[main].estimate,
				 (double)report->whole[main].estimate, text);
		buffer_printf(out, " (self %s together)", text);
	}
	buffer_append_text(out, "; --min 0 --limit 0 shows all");
	text_append_style(out, layout->options->colour, TEXT_PLAIN);
	buffer_append_u8(out, '\n');
}

void report_table(const struct report *report, const struct report_table_options *options,
		  struct buffer *out)
{
	struct layout layout;
	init_layout(&layout, report, options);
	if (!layout.scales || !layout.names || !show_names(&layout)) {
		out->failed = true;
		release_layout(&layout);
		return;
	}
	choose_events(&layout);
	put_head(&layout);
	for (size_t i = 0; i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];
		put_figures(&layout, main_cells(row), row->self);
		put_names(&layout, row);
	}
	put_rest(&layout);
	text_table_print(&layout.table, options->colour, out);
	if (layout.left_out && layout.with_amount)
		buffer_printf(out,
			      "%zu more events have no column here; --event chooses some, "
			      "--json has all\n",
			      layout.left_out);
	put_rest_line(&layout, out);
	release_layout(&layout);
}
