#include "render/spread_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/spread/spread.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "render/bill_text.h"
#include "render/difference_text.h"
#include "render/quantity.h"
#include "render/rest_text.h"
#include "render/scope_text.h"
#include "render/scope_text_parts.h"
#include "render/row_columns.h"
#include "render/shown_names.h"
#include "render/spread_growth_text.h"
#include "render/table_heads.h"

#define RUNS_LISTED 16 /* one by one; --json has all */
#define WORDS_SIZE  96

struct layout {
	const struct spread *spread;
	const struct spread_text_options *options;
	struct report_text_options look;
	struct quantity_scale scale;
	struct row_columns with;
	struct text_table table;
	const char **names; /* of the rows' procedures, as they are shown */
	struct arena arena; /* that they live in */
};

static bool init_layout(struct layout *layout, const struct spread *spread,
			const struct spread_text_options *options)
{
	*layout = (struct layout){ .spread = spread,
				   .options = options,
				   .look = { .colour = options->colour, .title = options->title } };
	struct span unit = spread->report->columns.list[spread->column].unit;
	double largest = 0; /* of the rows: digits of their deviations count, not those of sums */
	for (size_t i = 0; i < spread->row_count; i++)
		largest = fmax(largest, spread->rows[i].most / spread->step);
	layout->scale = quantity_scale_for(largest, unit);
	layout->scale.divisor *= spread->step;
	layout->with = row_columns_of(&spread->report->options);
	layout->names = calloc(spread->row_count + 1, sizeof(*layout->names));
	if (!layout->names)
		return false;
	for (size_t i = 0; i < spread->row_count; i++)
		layout->names[i] = spread->rows[i].row->texts[REPORT_PROCEDURE];
	return options->full_names ||
	       shown_names_fold(layout->names, spread->row_count, &layout->arena) == 0;
}

static void release_layout(struct layout *layout)
{
	text_table_release(&layout->table);
	arena_release(&layout->arena);
	free(layout->names);
}

/* ---- above */

static void label(const struct layout *layout, struct buffer *out, const char *name)
{
	scope_put_label(out, &layout->look, name);
}

static void put_amount(const struct layout *layout, struct buffer *out, double value)
{
	char text[QUANTITY_SIZE];
	const struct spread *spread = layout->spread;
	quantity_describe(value / spread->step, spread->report->columns.list[spread->column].unit,
			  text);
	buffer_append_text(out, text);
}

static void put_run(const struct layout *layout, size_t at, struct buffer *out)
{
	const struct spread_run *run = &layout->spread->runs[at];
	const char *title = layout->options->titles[at];
	label(layout, out, at ? "" : "runs");
	buffer_printf(out, "%2zu: ", at + 1);
	if (run->counted)
		put_amount(layout, out, (double)run->whole.estimate);
	else
		buffer_append_u8(out, '-');
	if (run->duration_ns) {
		buffer_append_text(out, " in ");
		scope_put_ns(out, (double)run->duration_ns);
	}
	buffer_append_text(out, ", ");
	text_append_safe(out, title, strlen(title));
	buffer_append_u8(out, '\n');
}

static void put_runs(const struct layout *layout, struct buffer *out)
{
	const struct spread *spread = layout->spread;
	for (size_t i = 0; i < spread->run_count && i < RUNS_LISTED; i++)
		put_run(layout, i, out);
	if (spread->run_count <= RUNS_LISTED)
		return;
	label(layout, out, "");
	buffer_printf(out, "and %zu more; --json has all\n", spread->run_count - RUNS_LISTED);
}

/* What runs that differ by chance alone have alike. */
static void put_base(const struct layout *layout, struct buffer *out)
{
	const struct spread *spread = layout->spread;
	bool given = spread->options.base_given;
	label(layout, out, "compared");
	switch (spread->base) {
	case SPREAD_TOTAL:
		buffer_append_text(out, "by shares of each run's total");
		buffer_append_text(out, given ? "" : ", as all watched for a chosen time");
		buffer_append_text(out, ": costs are scaled to the mean total; --per second takes "
					"rates\n");
		return;
	case SPREAD_SECOND:
		buffer_append_text(out, "per second: costs are scaled to the mean duration\n");
		return;
	default:
		buffer_append_text(out,
				   given ? "as counted\n"
					 : "as counted: assumes that all runs did the same work; "
					   "--per total compares shares\n");
	}
}

static void put_head_of_page(const struct layout *layout, struct buffer *out)
{
	const struct spread *spread = layout->spread;
	scope_text_above(spread->report, &layout->look, out);
	put_runs(layout, out);
	put_base(layout, out);
	if (spread->report->columns.count > 1) {
		struct span name = spread->report->columns.list[spread->column].name;
		label(layout, out, "");
		buffer_append_text(out, "the table is of ");
		text_append_safe(out, name.data, name.size);
		buffer_append_text(out, "; -e chooses another event\n");
	}
	for (size_t i = 0; i < spread->note_count; i++) {
		label(layout, out, i ? "" : "but");
		text_append_safe(out, spread->notes[i], strlen(spread->notes[i]));
		buffer_append_u8(out, '\n');
	}
	buffer_append_u8(out, '\n');
}

/* ---- rows: the head and each row go through the same steps */

static bool is_context(enum report_part part)
{
	return part != REPORT_PROCEDURE && part != REPORT_LINE && part != REPORT_IMAGE;
}

static void head_of_amount(struct table_heads *heads, const struct layout *layout, const char *text)
{
	const char *unit = layout->scale.unit;
	table_heads_add(heads, TEXT_RIGHT, "%s%s%.40s", text, *unit ? " " : "", unit);
}

static void put_head(struct layout *layout)
{
	struct table_heads heads = { 0 };
	const struct report_options *options = &layout->spread->report->options;
	table_heads_add(&heads, TEXT_LEFT, "%s", "");
	table_heads_add(&heads, TEXT_RIGHT, "range %%");
	head_of_amount(&heads, layout, "sum");
	table_heads_add(&heads, TEXT_RIGHT, "sum %%");
	table_heads_add(&heads, TEXT_RIGHT, "N");
	head_of_amount(&heads, layout, "mean");
	table_heads_add(&heads, TEXT_RIGHT, "std-dev");
	table_heads_add(&heads, TEXT_RIGHT, "by chance");
	table_heads_add(&heads, TEXT_RIGHT, "min");
	table_heads_add(&heads, TEXT_RIGHT, "max");
	table_heads_add(&heads, TEXT_RIGHT, "max in");
	for (size_t i = 0; options->view == REPORT_FLAT && i < options->part_count; i++)
		if (is_context(options->parts[i]))
			table_heads_add(&heads,
					options->parts[i] == REPORT_CPU ? TEXT_RIGHT : TEXT_LEFT,
					"%s", report_part_names[options->parts[i]]);
	if (layout->with.image)
		table_heads_add(&heads, layout->with.procedure ? TEXT_NARROW : TEXT_LEFT, "image");
	if (layout->with.procedure)
		table_heads_add(&heads, TEXT_LEFT, "procedure");
	if (layout->with.line)
		table_heads_add(&heads, TEXT_LEFT, "line");
	table_heads_begin(&heads, &layout->table);
}

static void put_value(struct layout *layout, enum text_style style, double value)
{
	char text[QUANTITY_SIZE] = "-";
	if (!isnan(value))
		quantity_format(&layout->scale, value, text);
	text_table_add(&layout->table, style, "%s", text);
}

static void put_percent(struct layout *layout, enum text_style style, double ratio)
{
	if (isnan(ratio))
		text_table_add(&layout->table, style, "-");
	else
		text_table_add(&layout->table, style, "%.2f", 100 * ratio);
}

static void put_figures(struct layout *layout, const struct spread_row *row)
{
	enum text_style style = row->verdict == DIFFERENCE_NOISE ? TEXT_DIM : TEXT_PLAIN;
	text_table_add(&layout->table, style, "%s",
		       row->tested ? difference_verdict_marks[row->verdict] : "");
	put_percent(layout, style, row->range_ratio);
	put_value(layout, style, row->total);
	put_percent(layout, style, row->share);
	text_table_add(&layout->table, style, "%zu", row->runs);
	put_value(layout, style, row->mean);
	put_value(layout, style, row->deviation);
	put_value(layout, style, row->chance);
	put_value(layout, style, row->least);
	put_value(layout, style, row->most);
	if (row->most > row->least)
		text_table_add(&layout->table, style, "run %zu", row->most_run + 1);
	else
		text_table_add(&layout->table, style, "-");
}

static void put_text(struct layout *layout, enum text_style style, const char *text)
{
	text_table_add(&layout->table, style, "%s", text && *text ? text : "-");
}

static void put_procedure(struct layout *layout, enum text_style style, size_t at)
{
	const struct spread_row *row = &layout->spread->rows[at];
	const struct report_row *shown = row->row;
	const char *variant = "";
	if (shown->procedure != PLACE_NONE && row->builds == 1)
		variant =
			places_procedure(layout->spread->report->places, shown->procedure)->variant;
	char builds[QUANTITY_SIZE] = "";
	if (row->builds > 1)
		snprintf(builds, sizeof(builds), " (of %zu builds)", row->builds);
	text_table_add(&layout->table, style, "%s%s%s%s%s%s",
		       layout->names[at] ? layout->names[at] : "-", *variant ? " " : "", variant,
		       shown->marks & PLACE_INLINED ? " (inlined)" : "",
		       shown->marks & PLACE_LATE ? " (late)" : "", builds);
}

static void put_names(struct layout *layout, size_t at)
{
	const struct spread_row *row = &layout->spread->rows[at];
	const struct report_row *shown = row->row;
	enum text_style style = row->verdict == DIFFERENCE_NOISE ? TEXT_DIM : TEXT_PLAIN;
	const struct report_options *options = &layout->spread->report->options;
	for (size_t i = 0; options->view == REPORT_FLAT && i < options->part_count; i++) {
		enum report_part part = options->parts[i];
		if (!is_context(part))
			continue;
		if (part == REPORT_CPU && shown->cpu != OPTIONAL_ABSENT)
			text_table_add(&layout->table, style, "%" PRIu64, shown->cpu - 1);
		else
			put_text(layout, style, part == REPORT_CPU ? NULL : shown->texts[part]);
	}
	if (layout->with.image)
		put_text(layout, style, shown->image_name);
	if (layout->with.procedure)
		put_procedure(layout, style, at);
	if (!layout->with.line)
		return;
	if (shown->line != OPTIONAL_ABSENT)
		text_table_add(&layout->table, style, "%s:%" PRIu64, shown->texts[REPORT_LINE],
			       shown->line - 1);
	else
		put_text(layout, style, shown->texts[REPORT_LINE]);
}

/* A row that is about no procedure: blanks, then its words in the last column. */
static void put_sum(struct layout *layout, const struct spread_row *row, const char *words)
{
	size_t before = layout->table.count;
	put_figures(layout, row);
	while (layout->table.count - before + 1 < layout->table.columns)
		text_table_add(&layout->table, TEXT_DIM, "%s", "");
	text_table_add(&layout->table, TEXT_DIM, "%s", words);
}

static void put_rest_words(const struct spread *spread, char words[WORDS_SIZE])
{
	const struct spread_options *options = &spread->options;
	snprintf(words, WORDS_SIZE, "(%zu more row%s; %s shows all)", spread->rest_count,
		 spread->rest_count == 1 ? "" : "s",
		 rest_options(spread->all_count, options->min_percent, options->limit));
}

static void put_table(struct layout *layout, struct buffer *out)
{
	const struct spread *spread = layout->spread;
	char words[WORDS_SIZE];
	if (spread->all_count == 0) {
		buffer_append_text(out, "no samples\n\n");
		return;
	}
	put_head(layout);
	put_sum(layout, &spread->whole, "(all)");
	for (size_t i = 0; i < spread->row_count; i++) {
		put_figures(layout, &spread->rows[i]);
		put_names(layout, i);
	}
	put_rest_words(spread, words);
	bool overlap = spread->report->options.view != REPORT_FLAT;
	if (spread->rest_count && !overlap)
		put_sum(layout, &spread->rest, words);
	text_table_print(&layout->table, layout->options->colour, out);
	if (spread->rest_count && overlap)
		buffer_printf(out, "%s\n", words);
	buffer_append_u8(out, '\n');
}

/* ---- below */

static void put_legend(const struct layout *layout, struct buffer *out)
{
	const struct spread *spread = layout->spread;
	size_t all = spread->all_count;
	if (spread->unknown < all) {
		label(layout, out, "*");
		buffer_printf(out,
			      "varies by more than counting explains: %zu of %zu rows, of which at "
			      "most %.0f %% are expected to be chance\n",
			      spread->significant, all, 100 * DIFFERENCE_FALSE_DISCOVERIES);
	}
	if (spread->unknown) {
		label(layout, out, "?");
		difference_put_unknown(spread->unknown, out);
	}
}

void spread_text(const struct spread *spread, const struct spread_text_options *options,
		 struct buffer *out)
{
	struct layout layout;
	if (!init_layout(&layout, spread, options)) {
		out->failed = true;
		release_layout(&layout);
		return;
	}
	put_head_of_page(&layout, out);
	put_table(&layout, out);
	spread_growth_text(spread, options, out);
	put_legend(&layout, out);
	bill_text(spread->report, &layout.look, out);
	release_layout(&layout);
}
