#include "analyze/flame/flame_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sum.h"

static uint64_t estimate_of(const struct flame_view *view, const struct cell *cells)
{
	return cells[view->options.width].estimate;
}

static uint64_t scaled(double value, double factor)
{
	value *= factor;
	if (!(value > 0))
		return 0;
	return value >= 0x1p63 ? (uint64_t)1 << 63 : (uint64_t)llround(value);
}

/* The width of cells of one side; the base's is scaled. */
static uint64_t count_of(const struct flame_view *view, enum flame_side side,
			 const struct cell *cells)
{
	uint64_t estimate = estimate_of(view, cells);
	return side == FLAME_BASE ? scaled((double)estimate, view->options.base_factor) : estimate;
}

static bool is_missing(const struct flame_view *view, size_t frame)
{
	const struct flame *flame = view->flame;
	return estimate_of(view, flame_total(flame, view->options.side, frame)) == 0;
}

/* The scripts of 2014 knew only the frames of one side. */
static bool shows_both(const struct flame_view *view)
{
	return view->flame->reports[FLAME_BASE] && !view->options.stretch;
}

/*
 * Widths of all frames. Without a base, their totals. With one, a frame is as
 * wide as its own samples and its children; frames that the chosen side lacks
 * count with the other side's.
 */
static void measure(const struct flame_view *view, uint64_t *widths, uint64_t *own)
{
	const struct flame *flame = view->flame;
	enum flame_side side = view->options.side, other = FLAME_BASE - side;
	memset(widths, 0, flame->count * sizeof(*widths));
	for (size_t frame = flame->count; frame-- > 0;) {
		bool missing = shows_both(view) && is_missing(view, frame);
		enum flame_side of = missing ? other : side;
		own[frame] = count_of(view, of, flame_self(flame, of, frame));
		widths[frame] = sum_u64(widths[frame], own[frame]);
		if (frame) {
			uint64_t *above = &widths[flame->frames[frame].parent];
			*above = sum_u64(*above, widths[frame]);
		}
	}
}

static void leave_out(struct flame_view *view, const uint64_t *widths, size_t frame)
{
	for (size_t end = view->flame->frames[frame].end; frame < end; frame++) {
		view->left_out += widths[frame] > 0;
		view->empty += widths[frame] == 0;
	}
}

/*
 * Adds the frames that are wide enough to view->shown, with their positions. A frame's
 * own part is left of its children, as in FlameGraph, whose lines sort that way.
 * `next` is by frame: its own width, then where its next child goes.
 */
static void place(struct flame_view *view, const uint64_t *widths, uint64_t *next,
		  uint32_t *shown_of)
{
	const struct flame *flame = view->flame;
	double least = view->options.min_share * (double)widths[0];
	for (size_t frame = 0; frame < flame->count;) {
		const struct flame_frame *f = &flame->frames[frame];
		uint64_t x = frame ? next[f->parent] : 0;
		if (frame)
			next[f->parent] = sum_u64(x, widths[frame]);
		if (frame && ((double)widths[frame] < least || widths[frame] == 0)) {
			leave_out(view, widths, frame);
			view->left_out_width = sum_u64(view->left_out_width, widths[frame]);
			frame = f->end;
			continue;
		}
		bool vanished = shows_both(view) && is_missing(view, frame);
		if (vanished && !is_missing(view, f->parent))
			view->vanished_width = sum_u64(view->vanished_width, widths[frame]);
		shown_of[frame] = (uint32_t)view->count;
		view->shown[view->count++] = (struct flame_shown){
			.frame = (uint32_t)frame,
			.parent = frame ? shown_of[f->parent] : 0,
			.x = x,
			.width = widths[frame],
			.vanished = vanished,
		};
		next[frame] = sum_u64(x, next[frame]);
		if (f->depth >= view->depth)
			view->depth = f->depth + 1;
		frame++;
	}
}

static double effective_samples(const struct cell *a, const struct cell *b)
{
	double least = -1;
	const struct cell *both[] = { a, b };
	for (size_t i = 0; i < 2; i++) {
		if (both[i]->squares == 0)
			continue; /* its error is not known */
		double samples = cell_effective_samples(both[i]);
		if (least < 0 || samples < least)
			least = samples;
	}
	return least;
}

static int fill_ratios(struct flame_view *view)
{
	const struct flame *flame = view->flame;
	const struct flame_ratio *ratio = &view->options.ratio;
	bool base = flame->reports[FLAME_BASE] &&
		    flame->base_column[ratio->above] != EVENT_COLUMN_NONE &&
		    flame->base_column[ratio->below] != EVENT_COLUMN_NONE;
	view->ratios = calloc(view->count, sizeof(*view->ratios));
	view->effective = calloc(view->count, sizeof(*view->effective));
	if (base)
		view->base_ratios = calloc(view->count, sizeof(*view->base_ratios));
	if (!view->ratios || !view->effective || (base && !view->base_ratios))
		return -ENOMEM;
	for (size_t i = 0; i < view->count; i++) {
		size_t frame = view->shown[i].frame;
		const struct cell *cells = flame_total(flame, FLAME_MAIN, frame);
		view->ratios[i] = flame_ratio_at(flame, ratio, FLAME_MAIN, frame);
		view->effective[i] = effective_samples(&cells[ratio->above], &cells[ratio->below]);
		if (base)
			view->base_ratios[i] = flame_ratio_at(flame, ratio, FLAME_BASE, frame);
	}
	view->whole_ratio = view->ratios[0];
	return 0;
}

/* ---- the scripts of 2014: difffolded.pl makes two columns, flamegraph.pl colours their difference
 */

/* How much of an estimate the scripts count as one: a sample, where all weigh the same; else an
 * event. */
static double count_weight(const struct flame_view *view, enum flame_side side, size_t column)
{
	const struct flame *flame = view->flame;
	const struct cell *whole = &flame_total(flame, side, 0)[column];
	uint64_t weight = whole->samples ? whole->estimate / whole->samples : 0;
	if (weight && whole->estimate == weight * whole->samples &&
	    whole->squares == (unsigned __int128)weight * weight * whole->samples)
		return (double)weight;
	return event_scale_divisor(flame->scales[column]);
}

/* One event of a side, as the scripts count it. */
struct counted {
	enum flame_side side;
	size_t column;
	double weight, whole;
};

static double count_of_cells(const struct counted *counted, const struct cell *cells)
{
	return (double)cells[counted->column].estimate / counted->weight;
}

static struct counted count_event(const struct flame_view *view, enum flame_side side,
				  size_t column)
{
	struct counted counted = { side, column, count_weight(view, side, column), 0 };
	counted.whole = count_of_cells(&counted, flame_total(view->flame, side, 0));
	return counted;
}

static int fill_deltas(struct flame_view *view)
{
	const struct flame *flame = view->flame;
	const struct flame_ratio *ratio = &view->options.ratio;
	size_t width = view->options.width;
	bool base = flame->reports[FLAME_BASE] != NULL;
	size_t other = base ? width : ratio->above == width ? ratio->below : ratio->above;
	struct counted after = count_event(view, FLAME_MAIN, width);
	struct counted before = count_event(view, base ? FLAME_BASE : FLAME_MAIN, other);
	bool scale = view->options.stretch_total && before.whole > 0 && before.whole != after.whole;
	CLEANUP(free_pointer) double *all = calloc(flame->count, sizeof(*all));
	view->deltas = calloc(view->count, sizeof(*view->deltas));
	if (!all || !view->deltas)
		return -ENOMEM;
	view->largest_delta = 1;
	for (size_t frame = 0; frame < flame->count; frame++) {
		double count = count_of_cells(&before, flame_self(flame, before.side, frame));
		if (scale)
			count = trunc(count * after.whole / before.whole);
		all[frame] = count_of_cells(&after, flame_self(flame, FLAME_MAIN, frame)) - count;
		if (fabs(all[frame]) > view->largest_delta)
			view->largest_delta = fabs(all[frame]);
	}
	for (size_t i = 0; i < view->count; i++)
		view->deltas[i] = all[view->shown[i].frame];
	return 0;
}

static int fill(struct flame_view *view)
{
	const struct flame *flame = view->flame;
	CLEANUP(free_pointer) uint64_t *numbers = calloc(flame->count, 2 * sizeof(*numbers));
	CLEANUP(free_pointer) uint32_t *shown_of = calloc(flame->count, sizeof(*shown_of));
	view->shown = calloc(flame->count, sizeof(*view->shown));
	if (!numbers || !shown_of || !view->shown)
		return -ENOMEM;
	measure(view, numbers, numbers + flame->count);
	place(view, numbers, numbers + flame->count, shown_of);
	if (view->options.ratio.known && fill_ratios(view) < 0)
		return -ENOMEM;
	if (view->options.stretch && fill_deltas(view) < 0)
		return -ENOMEM;
	return 0;
}

int flame_view_init(struct flame_view *view, const struct flame *flame,
		    const struct flame_view_options *options, struct error *err)
{
	*view = (struct flame_view){ .flame = flame, .options = *options };
	int ret = fill(view) < 0 ? error_set(err, -ENOMEM, "out of memory drawing the flame graph")
				 : 0;
	if (ret == 0 && view->shown[0].width == 0) {
		const struct report *report = flame->reports[FLAME_MAIN];
		struct span name = report->columns.list[options->width].name;
		ret = error_set(err, -ENODATA, "%s no samples of '%.*s' to draw",
				report->filtered ? "the filters leave" : "there are",
				(int)name.size, (const char *)name.data);
	}
	if (ret == 0 && sum_passed(view->shown[0].width))
		ret = error_set(err, -EOVERFLOW,
				"the samples of both profiles pass 64 bits together");
	if (ret < 0)
		flame_view_release(view);
	return ret;
}

void flame_view_release(struct flame_view *view)
{
	free(view->shown);
	free(view->ratios);
	free(view->effective);
	free(view->base_ratios);
	free(view->deltas);
	*view = (struct flame_view){ 0 };
}
