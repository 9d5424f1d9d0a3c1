#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/visible_text.h"
#include "render/broken_stacks_text.h"
#include "render/flame_page.h"
#include "render/flame_text.h"
#include "render/quantity.h"
#include "render/scope_text.h"

/* ---- lines of text under each other */

static void start_line(struct buffer *out, double *y)
{
	*y += FLAME_LINE_PX;
	buffer_append_text(out, "<tspan x=\"10\" y=\"");
	flame_put_px(out, *y);
	buffer_append_text(out, "\">");
}

/* Breaks a text into lines of the picture's width. */
static void put_line(const struct flame_picture *picture, struct buffer *out, double *y,
		     const struct buffer *text)
{
	const char *at = (const char *)text->data;
	size_t left = text->size;
	/* labels are measured by their widest letters; whole lines come out narrower */
	double room = 1.07 * (picture->width_px - 2 * FLAME_MARGIN_PX);
	while (left) {
		size_t fits = flame_text_fit(at, left, room), end = fits;
		while (fits < left && end > 0 && at[end] != ' ')
			end--;
		if (end == 0)
			end = fits ? fits : left;
		start_line(out, y);
		flame_put_escaped(out, at, end);
		buffer_append_text(out, "</tspan>\n");
		while (end < left && at[end] == ' ')
			end++;
		at += end;
		left -= end;
	}
}

static void put_counted(struct buffer *out, uint64_t count, const char *one, const char *many)
{
	flame_put_count(out, count);
	buffer_append_text(out, count == 1 ? one : many);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* ---- the scope: what width is, of what, and what is not in it */

static void say_width(const struct flame_picture *picture, struct buffer *out)
{
	const struct flame_view *view = picture->view;
	bool base = view->flame->reports[FLAME_BASE] != NULL;
	static const char meaning[] = "a frame is as wide as what it and all it called took";
	if (base && view->options.side == FLAME_BASE) {
		buffer_printf(out, "width: before; %s; after: ", meaning);
		scope_text_event(flame_main_report(picture), view->options.width, out);
		return;
	}
	buffer_append_text(out, base ? "width: after, of " : "width: ");
	scope_text_event(flame_main_report(picture), view->options.width, out);
	buffer_printf(out, "; %s", meaning);
}

/* Which errors a verdict has in it. */
static void say_noise(const struct flame_picture *picture, struct buffer *out)
{
	const size_t *runs = picture->runs;
	if (runs[0] + runs[1] > 2)
		buffer_printf(out,
			      "; chance is sampling and what runs differ by: %zu before, %zu after",
			      runs[0], runs[1]);
	else
		buffer_append_text(out,
				   "; chance is sampling alone: with one run a side, what runs "
				   "differ by themselves is not in it");
}

/* What the profile is compared with, and how many frames changed significantly. */
static void say_base(const struct flame_picture *picture, struct buffer *out)
{
	const struct flame_view *view = picture->view;
	const struct flame_changes *changes = picture->changes;
	const struct report *base = view->flame->reports[FLAME_BASE];
	buffer_append_text(out, "before: ");
	if (picture->base_source)
		buffer_printf(out, "'%s', ", base_name(picture->base_source));
	scope_text_event(base, view->flame->base_column[view->options.width], out);
	if (picture->per)
		buffer_printf(out, "; %s", picture->per);
	size_t judged = changes->significant + changes->noise;
	if (judged) {
		buffer_append_text(out, "; ");
		flame_put_count(out, changes->significant);
		buffer_append_text(out, " of ");
		put_counted(out, judged, " frame", " frames");
		buffer_append_text(out, " changed more than by chance");
	}
	if (changes->unknown) {
		buffer_append_text(out, "; of ");
		put_counted(out, changes->unknown, " frame", " frames");
		buffer_append_text(out, " no error is known");
	}
	if (judged)
		say_noise(picture, out);
}

static void say_separator(struct buffer *out)
{
	if (out->size)
		buffer_append_text(out, "; ");
}

static void say_share(struct buffer *out, const struct cell *part, const struct cell *whole)
{
	flame_put_percent(out, (double)part->estimate, (double)whole->estimate);
}

static void say_absent(const struct flame_picture *picture, struct buffer *out)
{
	const struct flame_view *view = picture->view;
	const struct report *report = flame_main_report(picture);
	size_t width = view->options.width;
	if (report->filtered) {
		buffer_append_text(out, "the filters keep ");
		say_share(out, &report->shown[width], &report->whole[width]);
	}
	if (!cell_is_empty(&report->idle[width])) {
		char idle[QUANTITY_SIZE];
		const struct event_column *column = &report->columns.list[width];
		quantity_describe((double)report->idle[width].estimate /
					  event_column_divisor(column),
				  column->unit, idle);
		say_separator(out);
		buffer_printf(out, "the idle loop's %s left out (--idle)", idle);
	}
	if (!report->has_stacks) {
		say_separator(out);
		buffer_append_text(out, "the profile has no call stacks: towers of image and "
					"procedure");
	} else if (!cell_is_empty(&report->without_stack[width])) {
		say_separator(out);
		buffer_append_text(out, "without a stack ");
		say_share(out, &report->without_stack[width], &report->shown[width]);
	}
	const struct report *base = view->flame->reports[FLAME_BASE];
	if (base && base->has_stacks != report->has_stacks) {
		say_separator(out);
		buffer_append_text(out, "only one side has call stacks: frames do not compare");
	}
	struct scope_number lost = scope_lost(&report->scope.bills[width]);
	if (lost.known && lost.value) {
		say_separator(out);
		put_counted(out, lost.value, " sample lost", " samples lost");
	}
	if (view->vanished_width) {
		say_separator(out);
		flame_put_percent(out, (double)view->vanished_width, (double)view->shown[0].width);
		buffer_append_text(
			out, view->options.side == FLAME_BASE
				     ? " of the width is only after (dashed, as wide as after)"
				     : " of the width is only before (dashed, as wide as before)");
	}
	if (view->empty) {
		say_separator(out);
		put_counted(out, view->empty, " frame has", " frames have");
		buffer_append_text(out, picture->changes
						? " none of it on this side: not shown"
						: " samples of other events only: not shown");
	}
	if (view->left_out) {
		say_separator(out);
		put_counted(out, view->left_out, " frame", " frames");
		buffer_append_text(out, " too narrow to see left out (");
		flame_put_percent(out, (double)view->left_out_width, (double)view->shown[0].width);
		buffer_append_u8(out, ')');
	}
}

/* Stacks that lack their callers, which are drawn as if they began where they break. */
static void say_broken(const struct flame_picture *picture, struct buffer *out)
{
	const struct scope_broken_stacks *stacks = &flame_main_report(picture)->scope.broken_stacks;
	const char *cure = broken_stacks_cure(stacks);
	if (broken_stacks_text(stacks, out) && cure)
		buffer_printf(out, "; %s", cure);
}

static void say_title(const struct flame_picture *picture, struct buffer *out)
{
	const char *title = picture->title, *source = picture->source;
	if (!title)
		title = picture->view->flame->reports[FLAME_BASE]
				? "Differential on-CPU flame graph"
				: "On-CPU flame graph";
	buffer_append_text(out, title);
	if (picture->title || !source)
		return;
	buffer_append_text(out, ": ");
	buffer_append_text(out, base_name(source));
}

void flame_put_title(const struct flame_picture *picture, struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer title = { 0 };
	say_title(picture, &title);
	flame_put_escaped(out, (const char *)title.data, title.size);
	out->failed |= title.failed;
}

#define NARROW_PX    700.0 /* the script widens such a picture before it puts controls there */
#define CONTROLS_PX  430.0 /* what web/flame_main.js puts right of the title */
#define TITLE_GROWTH 1.55  /* 16 px bold against the 11.5 px of labels */

/* Cut where the controls begin. */
static void put_title(const struct flame_picture *picture, struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer raw = { 0 }, title = { 0 };
	say_title(picture, &raw);
	text_append_safe(&title, (const char *)raw.data, raw.size);
	double taken = picture->width_px < NARROW_PX ? 20 : CONTROLS_PX;
	double room = (picture->width_px - taken) / TITLE_GROWTH;
	size_t size = flame_text_fit((const char *)title.data, title.size, room);
	buffer_append_text(out, "<text id=\"title\" x=\"10\" y=\"24\">");
	flame_put_escaped(out, (const char *)title.data, size);
	if (size < title.size) {
		buffer_append_text(out, "\xe2\x80\xa6<title>");
		flame_put_escaped(out, (const char *)title.data, title.size);
		buffer_append_text(out, "</title>");
	}
	buffer_append_text(out, "</text>\n");
	out->failed |= raw.failed || title.failed;
}

void flame_put_head(const struct flame_picture *picture, double *y, struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer line = { 0 };
	put_title(picture, out);
	buffer_append_text(out, "<text id=\"subtitle\">\n");
	*y = 28;
	if (picture->subtitle) {
		buffer_append_text(&line, picture->subtitle);
		put_line(picture, out, y, &line);
	}
	line.size = 0;
	say_width(picture, &line);
	put_line(picture, out, y, &line);
	line.size = 0;
	if (picture->changes)
		say_base(picture, &line);
	put_line(picture, out, y, &line);
	line.size = 0;
	say_absent(picture, &line);
	put_line(picture, out, y, &line);
	line.size = 0;
	say_broken(picture, &line);
	put_line(picture, out, y, &line);
	for (size_t i = 0; i < picture->note_count; i++) {
		line.size = 0;
		buffer_append_text(&line, picture->notes[i]);
		put_line(picture, out, y, &line);
	}
	buffer_append_text(out, "</text>\n");
	*y += 10;
	out->failed |= line.failed;
}

/* ---- what hovering shows without script */

static void put_ratio(const struct flame_picture *picture, size_t shown, struct buffer *out)
{
	const struct flame_view *view = picture->view;
	static const char *const names[] = { [FLAME_CPI] = "CPI ",
					     [FLAME_IPC] = "IPC ",
					     [FLAME_STALLS] = "stalled ",
					     [FLAME_RETIRING] = "retiring ",
					     [FLAME_BACKEND] = "backend ",
					     [FLAME_RATIO] = "ratio ",
					     [FLAME_DELTA] = "",
					     [FLAME_PACKAGE] = "",
					     [FLAME_NONE] = "" };
	char text[FLAME_LEGEND_TEXT];
	if (!view->ratios || view->ratios[shown].kind == ESTIMATE_ABSENT)
		return;
	const struct estimate *ratio = &view->ratios[shown];
	buffer_append_text(out, ", ");
	buffer_append_text(out, names[picture->scale->metric]);
	flame_value_text(picture->scale, ratio->value, text);
	buffer_append_text(out, text);
	if (ratio->kind != ESTIMATE_INTERVAL)
		return;
	buffer_append_text(out, " (");
	flame_value_text(picture->scale, ratio->low, text);
	buffer_append_text(out, text);
	buffer_append_text(out, " to ");
	flame_value_text(picture->scale, ratio->high, text);
	buffer_append_text(out, text);
	buffer_append_u8(out, ')');
}

/* A percentage in markup, where "<0.01 %" needs its entity. */
static void put_share(struct buffer *out, double part, double whole)
{
	size_t start = out->size;
	flame_put_percent(out, part, whole);
	if (out->failed || out->data[start] != '<')
		return;
	out->size = start;
	buffer_append_text(out, "&lt;0.01 %");
}

static void put_signed(struct buffer *out, double value, uint64_t scale)
{
	buffer_append_text(out, value < 0 ? "-" : "+");
	flame_put_estimate(out, (uint64_t)llround(fmin(fabs(value), 0x1p62)), scale);
}

static void put_change_percent(struct buffer *out, double ratio)
{
	buffer_printf(out, "%+.2f %%", 100 * ratio);
}

/* The parts of a change of cycles. */
static void put_split(const struct difference_split *split, uint64_t scale, struct buffer *out)
{
	if (split->instructions.kind == ESTIMATE_ABSENT || split->cpi.kind == ESTIMATE_ABSENT)
		return;
	buffer_append_text(out, "; of cycles ");
	put_signed(out, split->instructions.value, scale);
	buffer_append_text(out, " by instructions, ");
	put_signed(out, split->cpi.value, scale);
	buffer_append_text(out, " by CPI");
}

/* Both sides, and every percentage by its name. */
static void put_change(const struct flame_picture *picture, size_t shown, struct buffer *out)
{
	const struct difference *change = &picture->changes->list[shown];
	size_t width = picture->view->options.width;
	const uint64_t *scales = picture->view->flame->scales;
	const struct event_column *column = &flame_main_report(picture)->columns.list[width];
	buffer_append_text(out, "before ");
	flame_put_estimate(out, change->before.estimate, scales[width]);
	if (fabs(change->before_scaled - (double)change->before.estimate) >= 0.5) {
		buffer_append_text(out, " (scaled: ");
		flame_put_estimate(out, (uint64_t)llround(fmin(change->before_scaled, 0x1p62)),
				   scales[width]);
		buffer_append_u8(out, ')');
	}
	buffer_append_text(out, ", after ");
	flame_put_estimate(out, change->after.estimate, scales[width]);
	if (column->unit.size) {
		buffer_append_u8(out, ' ');
		flame_put_escaped(out, column->unit.data, column->unit.size);
	}
	buffer_append_text(out, ": ");
	put_signed(out, change->change.value, scales[width]);
	if (change->change_ratio.kind == ESTIMATE_ABSENT) {
		buffer_append_text(out, ", new");
	} else {
		buffer_append_text(out, ", ");
		put_change_percent(out, change->change_ratio.value);
		if (change->change_ratio.kind == ESTIMATE_INTERVAL) {
			buffer_append_text(out, " (");
			put_change_percent(out, change->change_ratio.low);
			buffer_append_text(out, " to ");
			put_change_percent(out, change->change_ratio.high);
			buffer_append_u8(out, ')');
		}
		buffer_append_text(out, " against before");
	}
	if (change->change_of_after_total.kind != ESTIMATE_ABSENT) {
		buffer_append_text(out, ", ");
		put_change_percent(out, change->change_of_after_total.value);
		buffer_append_text(out, " global (of the total after)");
	}
	buffer_append_text(out, "; share before ");
	put_share(out, change->before_share.value, 1);
	buffer_append_text(out, ", after ");
	put_share(out, change->after_share.value, 1);
	if (picture->changes->splits)
		put_split(&picture->changes->splits[shown],
			  scales[picture->changes->options.cpi.above], out);
	if (change->verdict == DIFFERENCE_NOISE)
		buffer_append_text(out, "; may be chance");
	else if (change->verdict == DIFFERENCE_SIGNIFICANT)
		buffer_append_text(out, "; significant");
}

void flame_put_hover(const struct flame_picture *picture, size_t shown, struct buffer *out)
{
	const struct flame_view *view = picture->view;
	const struct flame *flame = view->flame;
	const struct flame_shown *frame = &view->shown[shown];
	const struct flame_label *label = flame_label_of(flame, frame->frame);
	size_t width = view->options.width;
	const struct event_column *column = &flame_main_report(picture)->columns.list[width];
	const struct cell *total = &flame_total(flame, FLAME_MAIN, frame->frame)[width];
	flame_put_escaped(out, label->name, strlen(label->name));
	if (label->kind == FLAME_INLINED)
		buffer_append_text(out, " (inlined)");
	if (*label->image) {
		buffer_append_text(out, " (");
		flame_put_escaped(out, label->image, strlen(label->image));
		buffer_append_u8(out, ')');
	}
	buffer_append_text(out, ": ");
	if (picture->changes) {
		put_change(picture, shown, out);
		put_ratio(picture, shown, out);
		return;
	}
	put_share(out, (double)total->estimate,
		  (double)flame_total(flame, FLAME_MAIN, 0)[width].estimate);
	buffer_append_text(out, ", ");
	flame_put_estimate(out, total->estimate, flame->scales[width]);
	if (column->unit.size) {
		buffer_append_u8(out, ' ');
		flame_put_escaped(out, column->unit.data, column->unit.size);
	}
	if (column->sampled) {
		buffer_append_text(out, ", ");
		put_counted(out, total->samples, " sample", " samples");
	}
	put_ratio(picture, shown, out);
}
