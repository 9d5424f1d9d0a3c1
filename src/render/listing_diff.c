#include "render/listing_diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "render/difference_text.h"
#include "render/listing_parts.h"
#include "render/quantity.h"

#define EVENTS_MAX  4 /* columns of figures; --json has all */
#define HEADS_MAX   (EVENTS_MAX * 4 + 4)
#define MIN_STRETCH 4 /* rows; fewer below min_percent are shown as they are */

struct shown_event {
	size_t column; /* of the difference */
	const struct event_column *event;
	struct quantity_scale scale;
};

struct layout {
	const struct annotation_diff *diff;
	const struct listing_diff_sides *sides;
	const struct listing_options *options;
	struct shown_event events[EVENTS_MAX];
	size_t event_count, left_out;
	struct text_table table;
	uint32_t source; /* of the row before */
	struct buffer text;
};

static void init_layout(struct layout *layout, const struct annotation_diff *diff,
			const struct listing_diff_sides *sides,
			const struct listing_options *options)
{
	*layout = (struct layout){
		.diff = diff, .sides = sides, .options = options, .source = ANNOTATED_NO_SOURCE
	};
	for (size_t c = 0; c < diff->column_count; c++) {
		const struct difference *whole = &diff->whole[c];
		if (cell_is_empty(&whole->before) && cell_is_empty(&whole->after))
			continue;
		if (layout->event_count == EVENTS_MAX) {
			layout->left_out++;
			continue;
		}
		struct shown_event *shown = &layout->events[layout->event_count++];
		double step = diff->columns[c].event.step;
		shown->column = c;
		shown->event = &sides->after->columns->list[diff->columns[c].after];
		double largest = fmax(whole->before_scaled, (double)whole->after.estimate);
		shown->scale = quantity_scale_for(largest / step, shown->event->unit);
		shown->scale.divisor *= step;
	}
}

static void release_layout(struct layout *layout)
{
	text_table_release(&layout->table);
	buffer_release(&layout->text);
}

static void put_safe(struct buffer *out, const char *text)
{
	text_append_safe(out, text, strlen(text));
}

/* ---- above */

static void put_version(const struct annotation *annotation, const struct annotate_index *index,
			const char *side, const char *title, struct buffer *out)
{
	const struct procedure *procedure = annotation->procedure->procedure;
	buffer_printf(out, "%s: ", side);
	put_safe(out, title);
	buffer_append_text(out, ", ");
	put_safe(out, procedure->name);
	if (annotation->procedure->image_name[0]) {
		buffer_append_text(out, " in ");
		put_safe(out, annotation->procedure->image_name);
	}
	if (procedure->image && procedure->extent_known)
		buffer_printf(out, ", 0x%" PRIx64 "-0x%" PRIx64, procedure->first, procedure->last);
	if (annotation->instructions)
		buffer_printf(out, ", %zu instructions", annotation->instructions);
	struct span build_id = { NULL, 0 };
	if (procedure->image)
		build_id = profile_image(index->profile, procedure->image).build_id;
	if (build_id.size) {
		buffer_append_text(out, ", build-id ");
		buffer_append_hex(out, build_id.data, build_id.size);
	}
	buffer_append_u8(out, '\n');
	if (annotation->no_code)
		buffer_printf(out, "no instructions there: %s\n", annotation->no_code);
}

static void put_match(const struct layout *layout, struct buffer *out)
{
	static const char *const texts[] = {
		[ANNOTATE_MATCH_NONE] =
			"not found in the base, or without samples there: all of it "
			"is new",
		[ANNOTATE_MATCH_BUILD] = "the same build: instructions are matched by address",
		[ANNOTATE_MATCH_CODE] = "other builds, the same code: instructions are matched by "
					"their place in it",
		[ANNOTATE_MATCH_NAME] = "matched by name: instructions that do the same stand side "
					"by side, - only the base has, + only the other",
		[ANNOTATE_MATCH_CODE_ALONE] =
			"another name, the same code: instructions are matched "
			"by their place in it",
	};
	const struct annotation_diff *diff = layout->diff;
	bool code = diff->before && diff->before->instructions && diff->after->instructions;
	if (diff->match == ANNOTATE_MATCH_NAME && !code)
		buffer_append_text(out, "matched by name\n");
	else
		buffer_printf(out, "%s\n", texts[diff->match]);
	if (diff->alignment_cut)
		buffer_append_text(out, "too long to match its middle: what differs there stands "
					"apart\n");
}

static void put_event(const struct layout *layout, const struct shown_event *shown,
		      struct buffer *out)
{
	const struct difference *whole = &layout->diff->whole[shown->column];
	double step = layout->diff->columns[shown->column].event.step;
	char text[QUANTITY_SIZE];
	text_append_safe(out, shown->event->name.data, shown->event->name.size);
	quantity_describe((double)whole->before.estimate / step, shown->event->unit, text);
	buffer_printf(out, ": %s before", text);
	if (whole->before.estimate &&
	    layout->diff->columns[shown->column].event.scale.factor != 1) {
		quantity_describe(whole->before_scaled / step, shown->event->unit, text);
		buffer_printf(out, ", scaled %s", text);
	}
	quantity_describe((double)whole->after.estimate / step, shown->event->unit, text);
	buffer_printf(out, "; %s after", text);
	if (whole->change_ratio.kind != ESTIMATE_ABSENT)
		buffer_printf(out, ": %+.2f %%", 100 * whole->change_ratio.value);
	if (whole->change_ratio.kind == ESTIMATE_INTERVAL && isfinite(whole->change_ratio.high))
		buffer_printf(out, " (%+.2f..%+.2f %%)", 100 * whole->change_ratio.low,
			      100 * whole->change_ratio.high);
	buffer_printf(out, ", %s\n", difference_verdict_words[whole->verdict]);
}

static void put_above(const struct layout *layout, struct buffer *out)
{
	const struct annotation_diff *diff = layout->diff;
	const struct listing_diff_sides *sides = layout->sides;
	text_append_style(out, layout->options->colour, TEXT_BOLD);
	put_safe(out, diff->after->procedure->procedure->name);
	if (diff->after->procedure->image_name[0]) {
		buffer_append_text(out, " in ");
		put_safe(out, diff->after->procedure->image_name);
	}
	text_append_style(out, layout->options->colour, TEXT_PLAIN);
	buffer_append_u8(out, '\n');
	if (diff->before)
		put_version(diff->before, sides->before, "base", sides->before_title, out);
	put_version(diff->after, sides->after, "after", sides->after_title, out);
	put_match(layout, out);
	if (sides->base == DIFFERENCE_SECOND)
		buffer_printf(out, "per second: the base is multiplied by %.4g\n", sides->factor);
	if (sides->base == DIFFERENCE_TOTAL)
		buffer_append_text(out, "by shares of the profiles' totals, which hide that "
					"everything became slower\n");
	buffer_append_text(out,
			   "noise: of sampling alone: how much runs differ by themselves is in no "
			   "interval and mark\n");
	for (size_t i = 0; i < layout->event_count; i++)
		put_event(layout, &layout->events[i], out);
	if (layout->left_out)
		buffer_printf(out, "%zu more event%s; -e chooses\n", layout->left_out,
			      layout->left_out == 1 ? "" : "s");
	buffer_append_u8(out, '\n');
}

/* ---- rows */

static void put_heads(struct layout *layout)
{
	enum text_align align[HEADS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < layout->event_count; i++) {
		align[count++] = TEXT_LEFT;
		for (int k = 0; k < 3; k++)
			align[count++] = TEXT_RIGHT;
	}
	align[count++] = TEXT_LEFT;
	align[count++] = TEXT_RIGHT;
	align[count++] = TEXT_RIGHT;
	align[count++] = TEXT_LEFT;
	text_table_init(&layout->table, align, count);
	for (size_t i = 0; i < layout->event_count; i++) {
		const struct shown_event *shown = &layout->events[i];
		text_table_add(&layout->table, TEXT_BOLD, "%s", "");
		text_table_add(&layout->table, TEXT_BOLD, "%.*s before%s%s",
			       (int)(shown->event->name.size < 40 ? shown->event->name.size : 40),
			       shown->event->name.size ? (const char *)shown->event->name.data : "",
			       shown->scale.unit[0] ? " " : "", shown->scale.unit);
		text_table_add(&layout->table, TEXT_BOLD, "after%s%s",
			       shown->scale.unit[0] ? " " : "", shown->scale.unit);
		text_table_add(&layout->table, TEXT_BOLD, "change");
	}
	text_table_add(&layout->table, TEXT_BOLD, "%s", "");
	text_table_add(&layout->table, TEXT_BOLD, "base");
	text_table_add(&layout->table, TEXT_BOLD, "address");
	text_table_add(&layout->table, TEXT_BOLD, "instruction");
}

static void put_figures(struct layout *layout, const struct difference *changes)
{
	for (size_t i = 0; i < layout->event_count; i++) {
		const struct shown_event *shown = &layout->events[i];
		const struct difference *change = &changes[shown->column];
		char before[QUANTITY_SIZE] = "", after[QUANTITY_SIZE] = "";
		char plain[QUANTITY_SIZE] = "", sign[2] = "";
		bool empty = cell_is_empty(&change->before) && cell_is_empty(&change->after);
		enum text_style style = change->verdict == DIFFERENCE_NOISE ? TEXT_DIM : TEXT_PLAIN;
		if (change->before.estimate)
			quantity_format(&shown->scale, change->before_scaled, before);
		if (change->after.estimate)
			quantity_format(&shown->scale, (double)change->after.estimate, after);
		if (!empty && change->change.kind != ESTIMATE_ABSENT) {
			quantity_format(&shown->scale, fabs(change->change.value), plain);
			if (strspn(plain, "0.") != strlen(plain))
				sign[0] = change->change.value > 0 ? '+' : '-';
		}
		text_table_add(&layout->table, style, "%s",
			       empty ? "" : difference_verdict_marks[change->verdict]);
		text_table_add(&layout->table, style, "%s", before);
		text_table_add(&layout->table, style, "%s", after);
		text_table_add(&layout->table, style, "%s%s", sign, plain);
	}
}

static void put_address(struct layout *layout, const struct annotated_row *row)
{
	if (!row || row->kind == ANNOTATED_NAME)
		text_table_add(&layout->table, TEXT_PLAIN, "%s", "");
	else
		text_table_add(&layout->table, TEXT_PLAIN, "%" PRIx64, row->vaddr);
}

/* Before the first instruction of a source line of the version after. */
static void put_source(struct layout *layout, const struct annotated_row *row)
{
	if (!row || row->source == layout->source)
		return;
	layout->source = row->source;
	if (row->source == ANNOTATED_NO_SOURCE)
		return;
	const struct source_frame *frame = &layout->diff->after->sources[row->source].frames[0];
	for (size_t i = 0; i + 1 < layout->table.columns; i++)
		text_table_add(&layout->table, TEXT_DIM, "%s", "");
	struct span text = { NULL, 0 };
	if (layout->options->source && frame->file && frame->line)
		text = layout->options->source(layout->options->source_context, frame->file,
					       frame->line);
	while (text.size && (*(const char *)text.data == ' ' || *(const char *)text.data == '\t'))
		text = (struct span){ (const char *)text.data + 1, text.size - 1 };
	layout->text.size = 0;
	listing_put_place(&layout->text, frame->file ? basename(frame->file) : NULL, frame->line);
	text_table_add(&layout->table, TEXT_DIM, "%s%s%s%.*s", buffer_text(&layout->text),
		       frame->function ? " inlined" : "", text.size ? "  " : "",
		       (int)(text.size < 120 ? text.size : 120),
		       text.size ? (const char *)text.data : "");
}

static void put_row(struct layout *layout, const struct annotate_diff_row *row)
{
	put_source(layout, row->after);
	put_figures(layout, row->changes);
	bool both = row->before && row->after;
	text_table_add(&layout->table, TEXT_PLAIN, "%s",
		       both || !layout->diff->before ? ""
		       : row->before		     ? "-"
						     : "+");
	put_address(layout, row->before);
	put_address(layout, row->after);
	layout->text.size = 0;
	listing_put_code(row->after ? row->after : row->before, &layout->text);
	text_table_add(&layout->table, TEXT_PLAIN, "%s", buffer_text(&layout->text));
}

/* ---- stretches of rows below --min */

static bool is_small(const struct layout *layout, const struct annotate_diff_row *row)
{
	for (size_t i = 0; i < layout->event_count; i++) {
		const struct difference *change = &row->changes[layout->events[i].column];
		if (change->verdict == DIFFERENCE_SIGNIFICANT ||
		    100 * change->before_share.value >= layout->options->min_percent ||
		    100 * change->after_share.value >= layout->options->min_percent)
			return false;
	}
	return true;
}

static size_t stretch(const struct layout *layout, size_t first)
{
	size_t count = 0;
	if (layout->options->min_percent <= 0)
		return 0;
	while (first + count < layout->diff->row_count &&
	       is_small(layout, &layout->diff->rows[first + count]))
		count++;
	return count < MIN_STRETCH ? 0 : count;
}

static void put_stretch(struct layout *layout, size_t first, size_t count, struct buffer *out)
{
	const struct annotation_diff *diff = layout->diff;
	CLEANUP(free_pointer) struct difference *sums = calloc(diff->column_count, sizeof(*sums));
	if (!sums) {
		out->failed = true;
		return;
	}
	for (size_t c = 0; c < diff->column_count; c++) {
		struct cell_change sum = { { 0 }, { 0 } };
		for (size_t i = first; i < first + count; i++) {
			cell_add(&sum.before, &diff->rows[i].changes[c].before);
			cell_add(&sum.after, &diff->rows[i].changes[c].after);
		}
		sums[c] = difference_of(&diff->columns[c].event, &sum, diff->columns[c].overlap);
	}
	put_figures(layout, sums);
	text_table_add(&layout->table, TEXT_PLAIN, "%s", "");
	text_table_add(&layout->table, TEXT_PLAIN, "%s", "");
	text_table_add(&layout->table, TEXT_PLAIN, "...");
	text_table_add(&layout->table, TEXT_PLAIN, "%zu rows below %g %%", count,
		       layout->options->min_percent);
	layout->source = ANNOTATED_NO_SOURCE;
}

void listing_diff_print(const struct annotation_diff *diff, const struct listing_diff_sides *sides,
			const struct listing_options *options, struct buffer *out)
{
	struct layout layout;
	init_layout(&layout, diff, sides, options);
	put_above(&layout, out);
	put_heads(&layout);
	for (size_t i = 0; i < diff->row_count;) {
		size_t skipped = stretch(&layout, i);
		if (skipped)
			put_stretch(&layout, i, skipped, out);
		else
			put_row(&layout, &diff->rows[i]);
		i += skipped ? skipped : 1;
	}
	text_table_print(&layout.table, options->colour, out);
	out->failed |= buffer_failed(&layout.text);
	release_layout(&layout);
}
