#include "render/diff_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "render/quantity.h"
#include "render/scope_text.h"
#include "render/shown_names.h"

#define LABEL_WIDTH 11
#define SMALL_SHARE 0.01 /* of the total: what the page says how well such a row is known */

struct layout {
	const struct comparison *comparison;
	const struct diff_text_options *options;
	const struct compared_column *main;
	const struct event_column *event; /* of the main column */
	struct quantity_scale scale;
	bool with_split, with_image, with_procedure, with_line;
	size_t split; /* of the pair that the main column is the cycles of */
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

static bool has_part(const struct comparison *comparison, enum report_part part)
{
	const struct report_options *options = &comparison->before->options;
	if (options->view != REPORT_FLAT)
		return part == REPORT_PROCEDURE;
	for (size_t i = 0; i < options->part_count; i++)
		if (options->parts[i] == part)
			return true;
	return false;
}

static bool init_layout(struct layout *layout, const struct comparison *comparison,
			const struct diff_text_options *options)
{
	*layout = (struct layout){ .comparison = comparison, .options = options };
	layout->main = &comparison->columns[comparison->main];
	layout->event = &comparison->before->columns.list[layout->main->before];
	double step = layout->main->event.step;
	double largest =
		fmax(layout->main->whole.before_scaled, (double)layout->main->whole.after.estimate);
	layout->scale = quantity_scale_for(largest / step, layout->event->unit);
	layout->scale.divisor *= step;
	for (size_t i = 0; i < comparison->pair_count && !layout->with_split; i++)
		if (comparison->pairs[i].cycles == comparison->main) {
			layout->with_split = true;
			layout->split = i;
		}
	layout->with_line = has_part(comparison, REPORT_LINE);
	layout->with_procedure = has_part(comparison, REPORT_PROCEDURE) || layout->with_line;
	layout->with_image = layout->with_procedure || has_part(comparison, REPORT_IMAGE);
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

/* ---- above */

static void label(const struct layout *layout, struct buffer *out, const char *name)
{
	text_append_style(out, layout->options->colour, *name ? TEXT_BOLD : TEXT_PLAIN);
	buffer_printf(out, "%-*s", LABEL_WIDTH, name);
	text_append_style(out, layout->options->colour, TEXT_PLAIN);
}

static void put_safe(struct buffer *out, const char *text)
{
	text_append_safe(out, text, strlen(text));
}

static void put_side(const struct layout *layout, const struct report *report, const char *name,
		     const char *title, struct buffer *out)
{
	const struct report_text_options look = { .colour = layout->options->colour,
						  .title = title };
	text_append_style(out, layout->options->colour, TEXT_BOLD);
	buffer_printf(out, "%s\n", name);
	text_append_style(out, layout->options->colour, TEXT_PLAIN);
	scope_text_above(report, &look, out);
}

static void put_amount(const struct layout *layout, double value, struct buffer *out)
{
	char text[QUANTITY_SIZE];
	quantity_describe(value / layout->main->event.step, layout->event->unit, text);
	buffer_append_text(out, text);
}

/* What was taken as constant. */
static void put_base(const struct layout *layout, struct buffer *out)
{
	const struct comparison *comparison = layout->comparison;
	label(layout, out, "compared");
	switch (comparison->base) {
	case DIFFERENCE_RAW:
		buffer_append_text(out, comparison->base_chosen
						? "raw totals, nothing scaled\n"
						: "raw totals, as of two runs of the same work; "
						  "--per second and others scale\n");
		return;
	case DIFFERENCE_SECOND:
		buffer_append_text(out, comparison->base_chosen
						? "per second"
						: "per second, as both sides watched for a chosen "
						  "time");
		break;
	case DIFFERENCE_TOTAL:
		buffer_append_text(out, "by shares of the total");
		break;
	case DIFFERENCE_EVENT:
		buffer_append_text(out, "per ");
		put_safe(out, comparison->constant);
		break;
	default:
		buffer_append_text(out, "by the cost of ");
		put_safe(out, comparison->constant);
		buffer_append_text(out, comparison->constant_inclusive ? " with what it called"
								       : " by itself");
	}
	buffer_printf(out, ": the base is multiplied by %.4g", layout->main->event.scale.factor);
	buffer_append_u8(out, '\n');
}

static void put_ratio(struct estimate ratio, struct buffer *out)
{
	if (ratio.kind == ESTIMATE_ABSENT) {
		buffer_append_u8(out, '-');
		return;
	}
	buffer_printf(out, "%+.2f %%", 100 * ratio.value);
	if (ratio.kind != ESTIMATE_INTERVAL)
		return;
	if (isinf(ratio.high))
		buffer_printf(out, " (%+.2f %% or more)", 100 * ratio.low);
	else
		buffer_printf(out, " (%+.2f..%+.2f %%)", 100 * ratio.low, 100 * ratio.high);
}

static void put_total(const struct layout *layout, struct buffer *out)
{
	static const char *const verdicts[] = { [DIFFERENCE_NO_ERROR_KNOWN] = "no error known",
						[DIFFERENCE_NOISE] = "may be chance",
						[DIFFERENCE_SIGNIFICANT] = "significant" };
	const struct difference *whole = &layout->main->whole;
	label(layout, out, "total");
	struct span after = layout->comparison->after->columns.list[layout->main->after].name;
	text_append_safe(out, layout->event->name.data, layout->event->name.size);
	if (!span_equal(layout->event->name, after)) {
		buffer_append_text(out, " and ");
		text_append_safe(out, after.data, after.size);
	}
	buffer_append_text(out, ": ");
	put_amount(layout, (double)whole->before.estimate, out);
	buffer_append_text(out, " before");
	if (layout->main->event.scale.factor != 1) {
		buffer_append_text(out, ", scaled ");
		put_amount(layout, whole->before_scaled, out);
	}
	buffer_append_text(out, "; ");
	put_amount(layout, (double)whole->after.estimate, out);
	buffer_append_text(out, " after");
	if (layout->comparison->base == DIFFERENCE_TOTAL) {
		buffer_append_text(out, "; taken as equal\n");
		return;
	}
	buffer_append_text(out, ": ");
	put_ratio(whole->change_ratio, out);
	buffer_printf(out, ", %s\n", verdicts[whole->verdict]);
}

static void put_total_split(const struct layout *layout, struct buffer *out)
{
	if (!layout->with_split)
		return;
	const struct difference_split *split = &layout->comparison->pairs[layout->split].whole;
	if (split->cpi.kind == ESTIMATE_ABSENT)
		return;
	label(layout, out, "");
	char text[QUANTITY_SIZE];
	quantity_format(&layout->scale, split->instructions.value, text);
	buffer_printf(out, "of the change, %s%s %s by more or fewer instructions",
		      split->instructions.value > 0 ? "+" : "", text, layout->scale.unit);
	quantity_format(&layout->scale, split->cpi.value, text);
	buffer_printf(out, ", %s%s %s by CPI: %.2f before, %.2f after\n",
		      split->cpi.value > 0 ? "+" : "", text, layout->scale.unit,
		      split->before_cpi.value, split->after_cpi.value);
}

/* How small a change this comparison can show. */
static void put_sharpness(const struct layout *layout, struct buffer *out)
{
	const struct difference_event *event = &layout->main->event;
	double before = cell_effective_samples(&event->before_whole) * SMALL_SHARE;
	double after = cell_effective_samples(&event->after_whole) * SMALL_SHARE;
	double least = difference_least_ratio(before, after);
	if (isinf(least) || isnan(least))
		return;
	label(layout, out, "");
	buffer_printf(
		out,
		"what is %.0f %% of it has to grow by %.*f %% to be told from chance in 4 of 5 "
		"comparisons\n",
		100 * SMALL_SHARE, least < 1.1 ? 1 : 0, 100 * (least - 1));
}

static void put_notes(const struct layout *layout, struct buffer *out)
{
	const struct comparison *comparison = layout->comparison;
	for (size_t i = 0; i < comparison->note_count; i++) {
		label(layout, out, i ? "" : "but");
		put_safe(out, comparison->notes[i]);
		buffer_append_u8(out, '\n');
	}
}

static void put_other_events(const struct layout *layout, struct buffer *out)
{
	const struct comparison *comparison = layout->comparison;
	if (comparison->column_count < 2)
		return;
	label(layout, out, "");
	buffer_append_text(out, "the table is of ");
	text_append_safe(out, layout->event->name.data, layout->event->name.size);
	buffer_append_text(out, "; -e shows");
	for (size_t i = 0, put = 0; i < comparison->column_count; i++) {
		struct span name =
			comparison->before->columns.list[comparison->columns[i].before].name;
		if (i == comparison->main)
			continue;
		buffer_append_text(out, put++ ? ", " : " ");
		text_append_safe(out, name.data, name.size);
	}
	buffer_append_text(out, ", --json all\n");
}

static void put_above(const struct layout *layout, struct buffer *out)
{
	const struct comparison *comparison = layout->comparison;
	put_side(layout, comparison->before, "BASE", layout->options->before_title, out);
	put_side(layout, comparison->after, "AFTER", layout->options->after_title, out);
	put_base(layout, out);
	put_total(layout, out);
	put_total_split(layout, out);
	put_sharpness(layout, out);
	put_other_events(layout, out);
	put_notes(layout, out);
	buffer_append_u8(out, '\n');
}

/* ---- rows: the head and each row go through the same steps */

#define HEADS_MAX 24
struct heads {
	enum text_align align[HEADS_MAX];
	char text[HEADS_MAX][QUANTITY_SIZE];
	size_t count;
};

static void head(struct heads *heads, enum text_align align, const char *text, const char *unit)
{
	if (heads->count == HEADS_MAX)
		return;
	snprintf(heads->text[heads->count], QUANTITY_SIZE, "%s%s%.40s", text, *unit ? " " : "",
		 unit);
	heads->align[heads->count++] = align;
}

static bool is_context(enum report_part part)
{
	return part != REPORT_PROCEDURE && part != REPORT_LINE && part != REPORT_IMAGE;
}

static void put_head(struct layout *layout)
{
	struct heads heads = { 0 };
	const struct report_options *options = &layout->comparison->before->options;
	const char *unit = layout->scale.unit;
	head(&heads, TEXT_LEFT, "", "");
	head(&heads, TEXT_RIGHT, "before", unit);
	head(&heads, TEXT_RIGHT, "after", unit);
	head(&heads, TEXT_RIGHT, "change", unit);
	head(&heads, TEXT_LEFT, "95 % interval", "");
	head(&heads, TEXT_RIGHT, "change", "%");
	head(&heads, TEXT_RIGHT, "global", "%");
	head(&heads, TEXT_RIGHT, "share", "%");
	head(&heads, TEXT_RIGHT, "->", "%");
	if (layout->with_split) {
		head(&heads, TEXT_RIGHT, "by instr.", unit);
		head(&heads, TEXT_RIGHT, "by CPI", unit);
	}
	for (size_t i = 0; options->view == REPORT_FLAT && i < options->part_count; i++) {
		enum report_part part = options->parts[i];
		if (is_context(part))
			head(&heads, part == REPORT_CPU ? TEXT_RIGHT : TEXT_LEFT,
			     report_part_names[part], "");
	}
	if (layout->with_image)
		head(&heads, layout->with_procedure ? TEXT_NARROW : TEXT_LEFT, "image", "");
	if (layout->with_procedure)
		head(&heads, TEXT_LEFT, "procedure", "");
	if (layout->with_line)
		head(&heads, TEXT_LEFT, "line", "");
	text_table_init(&layout->table, heads.align, heads.count);
	for (size_t i = 0; i < heads.count; i++)
		text_table_add(&layout->table, TEXT_BOLD, "%s", heads.text[i]);
}

/* "+1.20", "-0.30", and "0.00" without a sign for what rounds to nothing. */
static void format_signed(const struct layout *layout, double value, char text[QUANTITY_SIZE])
{
	char plain[QUANTITY_SIZE];
	quantity_format(&layout->scale, fabs(value), plain);
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
	quantity_format(&layout->scale, change->before_scaled, text);
	text_table_add(&layout->table, style, "%s", text);
	quantity_format(&layout->scale, (double)change->after.estimate, text);
	text_table_add(&layout->table, style, "%s", text);
	put_estimate(layout, style, change->change);
	put_interval(layout, style, change->change);
	put_percent(layout, style, change);
	put_global(layout, style, change->change_of_after_total);
	put_share(layout, style, change->before_share);
	put_share(layout, style, change->after_share);
	if (!layout->with_split)
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
	const struct report *report = report_of(layout->comparison, row);
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
	const struct comparison *comparison = layout->comparison;
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
	if (layout->with_image && row->match == MATCH_OTHER_IMAGE)
		text_table_add(&layout->table, style, "%s, %s", row->before->image_name, image);
	else if (layout->with_image)
		put_text(layout, style, image);
	if (layout->with_procedure)
		put_procedure(layout, style, row, layout->names[at]);
	if (!layout->with_line)
		return;
	if (shown->line != OPTIONAL_ABSENT)
		text_table_add(&layout->table, style, "%s:%" PRIu64, shown->texts[REPORT_LINE],
			       shown->line - 1);
	else
		put_text(layout, style, shown->texts[REPORT_LINE]);
}

static void put_rest(struct layout *layout)
{
	const struct comparison *comparison = layout->comparison;
	if (comparison->rest_count == 0 || !comparison->rest)
		return;
	size_t before = layout->table.count;
	put_figures(layout, "", &comparison->rest[comparison->main], NULL);
	while (layout->table.count - before + 1 < layout->table.columns)
		text_table_add(&layout->table, TEXT_DIM, "%s", "");
	text_table_add(&layout->table, TEXT_DIM, "(%zu more row%s; --limit 0 shows all)",
		       comparison->rest_count, comparison->rest_count == 1 ? "" : "s");
}

static void put_table(struct layout *layout, struct buffer *out)
{
	static const char *const marks[] = { [DIFFERENCE_NO_ERROR_KNOWN] = "?",
					     [DIFFERENCE_NOISE] = "",
					     [DIFFERENCE_SIGNIFICANT] = "*" };
	const struct comparison *comparison = layout->comparison;
	if (comparison->row_count == 0 && comparison->rest_count == 0) {
		buffer_append_text(out, "no samples\n\n");
		return;
	}
	put_head(layout);
	for (size_t i = 0; i < comparison->row_count; i++) {
		const struct compared_row *row = &comparison->rows[i];
		const struct difference *change = &row->changes[comparison->main];
		put_figures(layout, marks[change->verdict], change,
			    layout->with_split ? &row->splits[layout->split] : NULL);
		put_names(layout, change->verdict == DIFFERENCE_NOISE ? TEXT_DIM : TEXT_PLAIN, i);
	}
	put_rest(layout);
	text_table_print(&layout->table, layout->options->colour, out);
	if (comparison->rest_count && !comparison->rest)
		buffer_printf(out, "%zu more row%s; --limit 0 shows all\n", comparison->rest_count,
			      comparison->rest_count == 1 ? "" : "s");
	buffer_append_u8(out, '\n');
}

/* ---- below */

static void put_legend(const struct layout *layout, struct buffer *out)
{
	const struct comparison *comparison = layout->comparison;
	size_t all = comparison->significant + comparison->noise + comparison->unknown;
	if (comparison->unknown < all) {
		label(layout, out, "*");
		buffer_printf(out,
			      "significant: %zu of %zu rows, of which at most %.0f %% are expected "
			      "to be chance; the others may all be chance\n",
			      comparison->significant, all, 100 * DIFFERENCE_FALSE_DISCOVERIES);
	}
	if (comparison->unknown) {
		label(layout, out, "?");
		buffer_printf(out,
			      "no error known: %zu row%s of counts without samples; --counts "
			      "samples or --counts exact says what they are\n",
			      comparison->unknown, comparison->unknown == 1 ? "" : "s");
	}
}

static void put_number(struct scope_number number, struct buffer *out)
{
	char text[QUANTITY_SIZE] = "-";
	if (number.known)
		quantity_count(number.value, text);
	buffer_append_text(out, text);
}

static void put_bill(const struct layout *layout, const struct report *report, size_t column,
		     const char *side, struct buffer *out)
{
	const struct scope_bill *bill = &report->scope.bills[column];
	label(layout, out, side);
	struct scope_number stored = { report->columns.list[column].sampled,
				       report->whole[column].samples +
					       report->idle[column].samples };
	put_number(bill->stored.known ? bill->stored : stored, out);
	buffer_append_text(out, " samples, ");
	put_number(scope_lost(bill), out);
	buffer_append_text(out, " lost, ");
	put_number(scope_unknown(bill), out);
	buffer_append_text(out, " of unknown code");
	if (report->scope.self_cpu_ns.known) {
		char text[QUANTITY_SIZE];
		quantity_describe((double)report->scope.self_cpu_ns.value, span_of_text("ns"),
				  text);
		buffer_printf(out, "; collecting took %s", text);
	}
	buffer_append_u8(out, '\n');
}

static void put_side_notes(const struct layout *layout, const struct report *report,
			   const char *side, struct buffer *out)
{
	for (size_t i = 0; i < report->note_count; i++) {
		label(layout, out, "note");
		buffer_printf(out, "%s: ", side);
		put_safe(out, report->notes[i]);
		buffer_append_u8(out, '\n');
	}
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
	put_above(&layout, out);
	put_table(&layout, out);
	put_legend(&layout, out);
	put_bill(&layout, comparison->before, layout.main->before, "base", out);
	put_bill(&layout, comparison->after, layout.main->after, "after", out);
	put_side_notes(&layout, comparison->before, "base", out);
	put_side_notes(&layout, comparison->after, "after", out);
	release_layout(&layout);
}
