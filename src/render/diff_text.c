#include "render/diff_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/compare.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "render/diff_scope_text.h"
#include "render/difference_text.h"
#include "render/quantity.h"
#include "render/rest_text.h"
#include "render/row_columns.h"
#include "render/shown_names.h"
#include "render/table_heads.h"

struct layout {
	struct diff_view view;
	struct row_columns with;
	struct text_table table;
	const char **names; /* of the rows' procedures, as they are shown */
	struct arena arena; /* that they live in */
};

static const struct report_row *any_row(const struct compared_row *row)
{
	return row->after ? row->after : row->before;
}

static const struct report *report_of(const struct comparison *comparison,
				      const struct compared_row *row)
{
	return row->after ? comparison->after : comparison->before;
}

static bool init_layout(struct layout *layout, const struct comparison *comparison,
			const struct diff_text_options *options)
{
	*layout = (struct layout){ .view = { .comparison = comparison, .options = options } };
	layout->view.main = &comparison->columns[comparison->main];
	layout->view.event = &comparison->before->columns.list[layout->view.main->before];
	double step = layout->view.main->event.step;
	double runs = (double)layout->view.main->runs[1];
	double largest = fmax(layout->view.main->whole.before_scaled,
			      (double)layout->view.main->whole.after.estimate);
	layout->view.scale = quantity_scale_for(largest / step / runs, layout->view.event->unit);
	/* of several runs, the mean of one */
	layout->view.scale.divisor *= step * runs;
	for (size_t i = 0; i < comparison->pair_count && !layout->view.with_split; i++)
		if (comparison->pairs[i].cycles == comparison->main) {
			layout->view.with_split = true;
			layout->view.split = i;
		}
	layout->with = row_columns_of(&comparison->before->options);
	layout->names = calloc(comparison->row_count + 1, sizeof(*layout->names));
	if (!layout->names)
		return false;
	for (size_t i = 0; i < comparison->row_count; i++)
		layout->names[i] = any_row(&comparison->rows[i])->texts[REPORT_PROCEDURE];
	return options->full_names ||
	       shown_names_fold(layout->names, comparison->row_count, &layout->arena) == 0;
}

static void release_layout(struct layout *layout)
{
	text_table_release(&layout->table);
	arena_release(&layout->arena);
	free(layout->names);
}

/* ---- rows: the head and each row go through the same steps */

static void head_of_numbers(struct table_heads *heads, const char *text, const char *unit)
{
	table_heads_add(heads, TEXT_RIGHT, "%s%s%.40s", text, *unit ? " " : "", unit);
}

static bool is_context(enum report_part part)
{
	return part != REPORT_PROCEDURE && part != REPORT_LINE && part != REPORT_IMAGE;
}

static void put_head(struct layout *layout)
{
	struct table_heads heads = { 0 };
	const struct report_options *options = &layout->view.comparison->before->options;
	const char *unit = layout->view.scale.unit;
	table_heads_add(&heads, TEXT_LEFT, "%s", "");
	head_of_numbers(&heads, "before", unit);
	head_of_numbers(&heads, "after", unit);
	head_of_numbers(&heads, "change", unit);
	table_heads_add(&heads, TEXT_LEFT, "95 %% interval");
	head_of_numbers(&heads, "change", "%");
	head_of_numbers(&heads, "global", "%");
	head_of_numbers(&heads, "share", "%");
	head_of_numbers(&heads, "->", "%");
	if (layout->view.with_split) {
		head_of_numbers(&heads, "by instr.", unit);
		head_of_numbers(&heads, "by CPI", unit);
	}
	for (size_t i = 0; options->view == REPORT_FLAT && i < options->part_count; i++) {
		enum report_part part = options->parts[i];
		if (is_context(part))
			table_heads_add(&heads, part == REPORT_CPU ? TEXT_RIGHT : TEXT_LEFT, "%s",
					report_part_names[part]);
	}
	if (layout->with.image)
		table_heads_add(&heads, layout->with.procedure ? TEXT_NARROW : TEXT_LEFT, "image");
	if (layout->with.procedure)
		table_heads_add(&heads, TEXT_LEFT, "procedure");
	if (layout->with.line)
		table_heads_add(&heads, TEXT_LEFT, "line");
	table_heads_begin(&heads, &layout->table);
}

/* "+1.20", "-0.30", and "0.00" without a sign for what rounds to nothing. */
static void format_signed(const struct layout *layout, double value, char text[QUANTITY_SIZE])
{
	char plain[QUANTITY_SIZE];
	quantity_format(&layout->view.scale, fabs(value), plain);
	bool zero = strspn(plain, "0.") == strlen(plain);
	snprintf(text, QUANTITY_SIZE, "%s%.*s",
		 zero	     ? ""
		 : value > 0 ? "+"
			     : "-",
		 QUANTITY_SIZE - 2, plain);
}

static void put_estimate(struct layout *layout, enum text_style style, struct estimate estimate)
{
	char text[QUANTITY_SIZE];
	if (estimate.kind == ESTIMATE_ABSENT) {
		text_table_add(&layout->table, style, "-");
		return;
	}
	format_signed(layout, estimate.value, text);
	text_table_add(&layout->table, style, "%s", text);
}

static void put_interval(struct layout *layout, enum text_style style, struct estimate estimate)
{
	char low[QUANTITY_SIZE], high[QUANTITY_SIZE];
	if (estimate.kind != ESTIMATE_INTERVAL) {
		text_table_add(&layout->table, style, "-");
		return;
	}
	format_signed(layout, estimate.low, low);
	format_signed(layout, estimate.high, high);
	text_table_add(&layout->table, style, "%s..%s", low, high);
}

static void put_percent(struct layout *layout, enum text_style style,
			const struct difference *change)
{
	if (change->before.estimate == 0)
		text_table_add(&layout->table, style, change->after.estimate ? "new" : "-");
	else if (change->after.estimate == 0)
		text_table_add(&layout->table, style, "gone");
	else if (change->change_ratio.kind == ESTIMATE_ABSENT)
		text_table_add(&layout->table, style, "-");
	else
		text_table_add(&layout->table, style, "%+.2f", 100 * change->change_ratio.value);
}

static void put_share(struct layout *layout, enum text_style style, struct estimate share)
{
	if (share.kind == ESTIMATE_ABSENT)
		text_table_add(&layout->table, style, "-");
	else
		text_table_add(&layout->table, style, "%.2f", 100 * share.value);
}

static void put_global(struct layout *layout, enum text_style style, struct estimate global)
{
	if (global.kind == ESTIMATE_ABSENT)
		text_table_add(&layout->table, style, "-");
	else
		text_table_add(&layout->table, style, "%+.2f", 100 * global.value);
}

static void put_split_part(struct layout *layout, struct estimate estimate, double p)
{
	enum text_style style = p <= DIFFERENCE_FALSE_DISCOVERIES ? TEXT_PLAIN : TEXT_DIM;
	put_estimate(layout, style, estimate);
}

static void put_figures(struct layout *layout, const char *mark, const struct difference *change,
			const struct difference_split *split)
{
	enum text_style style = change->verdict == DIFFERENCE_NOISE ? TEXT_DIM : TEXT_PLAIN;
	char text[QUANTITY_SIZE];
	text_table_add(&layout->table, style, "%s", mark);
	quantity_format(&layout->view.scale, change->before_scaled, text);
	text_table_add(&layout->table, style, "%s", text);
	quantity_format(&layout->view.scale, (double)change->after.estimate, text);
	text_table_add(&layout->table, style, "%s", text);
	put_estimate(layout, style, change->change);
	put_interval(layout, style, change->change);
	put_percent(layout, style, change);
	put_global(layout, style, change->change_of_after_total);
	put_share(layout, style, change->before_share);
	put_share(layout, style, change->after_share);
	if (!layout->view.with_split)
		return;
	if (split) {
		put_split_part(layout, split->instructions, split->instructions_p);
		put_split_part(layout, split->cpi, split->cpi_p);
	} else {
		text_table_add(&layout->table, TEXT_DIM, "-");
		text_table_add(&layout->table, TEXT_DIM, "-");
	}
}

static void put_text(struct layout *layout, enum text_style style, const char *text)
{
	text_table_add(&layout->table, style, "%s", text && *text ? text : "-");
}

static void put_procedure(struct layout *layout, enum text_style style,
			  const struct compared_row *row, const char *name)
{
	const struct report_row *shown = any_row(row);
	const struct report *report = report_of(layout->view.comparison, row);
	bool several = row->before_count > 1 || row->after_count > 1;
	const char *variant = "";
	if (shown->procedure != PLACE_NONE && !several)
		variant = places_procedure(report->places, shown->procedure)->variant;
	char numbers[QUANTITY_SIZE] = "";
	if (several)
		snprintf(numbers, sizeof(numbers), " (%zu of that name before, %zu after)",
			 row->before_count, row->after_count);
	text_table_add(&layout->table, style, "%s%s%s%s%s%s", name ? name : "-",
		       *variant ? " " : "", variant,
		       shown->marks & PLACE_INLINED ? " (inlined)" : "",
		       shown->marks & PLACE_LATE ? " (late)" : "", numbers);
}

static void put_names(struct layout *layout, enum text_style style, size_t at)
{
	const struct comparison *comparison = layout->view.comparison;
	const struct compared_row *row = &comparison->rows[at];
	const struct report_row *shown = any_row(row);
	const struct report_options *options = &comparison->before->options;
	for (size_t i = 0; options->view == REPORT_FLAT && i < options->part_count; i++) {
		enum report_part part = options->parts[i];
		if (!is_context(part))
			continue;
		if (part == REPORT_CPU && shown->cpu != OPTIONAL_ABSENT)
			text_table_add(&layout->table, style, "%" PRIu64, shown->cpu - 1);
		else
			put_text(layout, style, part == REPORT_CPU ? NULL : shown->texts[part]);
	}
	const char *image = shown->image_name;
	if (layout->with.image && row->match == MATCH_OTHER_IMAGE)
		text_table_add(&layout->table, style, "%s, %s", row->before->image_name, image);
	else if (layout->with.image)
		put_text(layout, style, image);
	if (layout->with.procedure)
		put_procedure(layout, style, row, layout->names[at]);
	if (!layout->with.line)
		return;
	if (shown->line != OPTIONAL_ABSENT)
		text_table_add(&layout->table, style, "%s:%" PRIu64, shown->texts[REPORT_LINE],
			       shown->line - 1);
	else
		put_text(layout, style, shown->texts[REPORT_LINE]);
}

/* Which options show the rows that were left out. */
static const char *options_for_all(const struct comparison *comparison)
{
	return rest_options(comparison->row_count + comparison->rest_count,
			    comparison->options.min_percent, comparison->options.limit);
}

static void put_rest(struct layout *layout)
{
	const struct comparison *comparison = layout->view.comparison;
	if (comparison->rest_count == 0 || !comparison->rest)
		return;
	size_t before = layout->table.count;
	put_figures(layout, "", &comparison->rest[comparison->main], NULL);
	while (layout->table.count - before + 1 < layout->table.columns)
		text_table_add(&layout->table, TEXT_DIM, "%s", "");
	text_table_add(&layout->table, TEXT_DIM, "(%zu more row%s; %s shows all)",
		       comparison->rest_count, comparison->rest_count == 1 ? "" : "s",
		       options_for_all(comparison));
}

static void put_table(struct layout *layout, struct buffer *out)
{
	const struct comparison *comparison = layout->view.comparison;
	if (comparison->row_count == 0 && comparison->rest_count == 0) {
		buffer_append_text(out, "no samples\n\n");
		return;
	}
	put_head(layout);
	for (size_t i = 0; i < comparison->row_count; i++) {
		const struct compared_row *row = &comparison->rows[i];
		const struct difference *change = &row->changes[comparison->main];
		put_figures(layout, difference_verdict_marks[change->verdict], change,
			    layout->view.with_split ? &row->splits[layout->view.split] : NULL);
		put_names(layout, change->verdict == DIFFERENCE_NOISE ? TEXT_DIM : TEXT_PLAIN, i);
	}
	put_rest(layout);
	text_table_print(&layout->table, layout->view.options->colour, out);
	if (comparison->rest_count && !comparison->rest)
		buffer_printf(out, "%zu more row%s; %s shows all\n", comparison->rest_count,
			      comparison->rest_count == 1 ? "" : "s", options_for_all(comparison));
	buffer_append_u8(out, '\n');
}

void diff_text(const struct comparison *comparison, const struct diff_text_options *options,
	       struct buffer *out)
{
	struct layout layout;
	if (!init_layout(&layout, comparison, options)) {
		out->failed = true;
		release_layout(&layout);
		return;
	}
	diff_scope_above(&layout.view, out);
	put_table(&layout, out);
	diff_scope_below(&layout.view, out);
	release_layout(&layout);
}
