#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/compare/compare.h"
#include "analyze/flame/flame.h"
#include "analyze/flame/flame_changes.h"
#include "analyze/flame/flame_runs.h"
#include "analyze/flame/flame_view.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/comparison.h"
#include "cli/filters.h"
#include "cli/input_runs.h"
#include "cli/input_sides.h"
#include "cli/message.h"
#include "cli/output_file.h"
#include "cli/report_parts.h"
#include "cli/verbs.h"
#include "profile/profile.h"
#include "render/flame_colour.h"
#include "render/flame_svg.h"

#define DEFAULT_OUTPUT "culprit-flame"
#define WIDTH_LEAST    300 /* px: below that the legend has no room */
#define WIDTH_MOST     100000

static struct {
	struct input_options input, base;
	struct filter_options filters; /* its events are unused: -e chooses the width */
	struct comparison_options comparison;
	enum difference_counts counts;
	struct option_list diff;
	const char *event, *color, *scale, *title, *subtitle, *output;
	bool html, icicle, reverse, no_inline, no_comm, idle, inverse;
	double width, min_width;
	bool width_given, min_given;
} given = { .base = { .base = true } };

static const struct option *flame_options(void)
{
	static const struct option options[] = {
		INPUT_OPTION_ROWS(given.input),
		{ "output", 'o', OPTION_TEXT, "FILE", "write there; '-' is standard output",
		  &given.output, NULL },
		{ "html", 0, OPTION_FLAG, NULL, "an HTML page instead of an SVG picture",
		  &given.html, NULL },
		{ "what is shown", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "event", 'e', OPTION_TEXT, "EVENT", "what width is; the first event otherwise",
		  &given.event, NULL },
		{ "color", 0, OPTION_TEXT,
		  "cpi|ipc|stalls|EVENT/EVENT|retiring|backend|delta|package|none",
		  "what colour is; delta with --diff, else cpi where the profile has it",
		  &given.color, NULL },
		{ "scale", 0, OPTION_TEXT, "LO:MID:HI|gregg",
		  "values of the ends and the middle of the colours", &given.scale, NULL },
		{ "comparison", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "diff", 0, OPTION_LIST, "BASE",
		  "what changed since this profile; given several times, or with --, runs",
		  &given.diff, NULL },
		{ "inverse-diff", 0, OPTION_FLAG, NULL, "as wide as before, not as after",
		  &given.inverse, NULL },
		COMPARISON_OPTION_ROWS(given.comparison, COMPARISON_PER_WORDS),
		BASE_INPUT_OPTION_ROWS(given.base),
		{ "filters", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		FILTER_OPTION_ROWS(given.filters),
		{ "idle", 0, OPTION_FLAG, NULL, "the idle loop too", &given.idle, NULL },
		{ "frames", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "reverse", 0, OPTION_FLAG, NULL, "from the innermost function to its callers",
		  &given.reverse, NULL },
		NO_INLINE_OPTION_ROW(given.no_inline),
		{ "no-comm", 0, OPTION_FLAG, NULL, "begin with the first function", &given.no_comm,
		  NULL },
		{ "the picture", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "title", 0, OPTION_TEXT, "TEXT", "its title", &given.title, NULL },
		{ "subtitle", 0, OPTION_TEXT, "TEXT", "a line below it", &given.subtitle, NULL },
		{ "width", 0, OPTION_DOUBLE, "PIXELS", "its width (1200)", &given.width,
		  &given.width_given },
		{ "min-width", 0, OPTION_DOUBLE, "PIXELS", "leave out narrower frames (0.1)",
		  &given.min_width, &given.min_given },
		{ "icicle", 0, OPTION_FLAG, NULL, "the root at the top", &given.icicle, NULL },
		{ "names", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		NAMING_OPTION_ROWS(given.input),
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
	};
	return options;
}

static bool is_stretch(void)
{
	return given.scale && strcmp(given.scale, "gregg") == 0;
}

/* 0 or the exit status. */
static int check_options(void)
{
	if (!given.width_given)
		given.width = FLAME_WIDTH_PX;
	if (!given.min_given)
		given.min_width = FLAME_MIN_WIDTH_PX;
	if (!(given.width >= WIDTH_LEAST && given.width <= WIDTH_MOST))
		return options_misuse(&verb_flame, "--width is from %d to %d, not %g", WIDTH_LEAST,
				      WIDTH_MOST, given.width);
	if (!(given.min_width >= 0 && given.min_width <= given.width))
		return options_misuse(&verb_flame, "--min-width is from 0 to the width, not %g",
				      given.min_width);
	if (!given.diff.count && input_chosen(&given.base))
		return options_misuse(&verb_flame, "%s needs --diff BASE",
				      input_chosen(&given.base));
	return comparison_choose_counts(&verb_flame, &given.comparison, &given.counts);
}

/* ---- what is drawn */

/* A profile with the names of its code. */
struct side {
	struct input_runs runs; /* its `whole` alone, with no run counted, of one profile */
	struct resolver *resolver;
};

static void side_release(struct side *side)
{
	resolver_free(side->resolver);
	input_runs_release(&side->runs);
}

/* 0 or the exit status. */
static int side_read(struct side *side, const struct input_options *options, char *const *paths,
		     size_t count)
{
	int status = input_read(options, paths, count, &side->runs.whole);
	return status ? status
		      : input_resolver(&given.input, &side->runs.whole, INPUT_NAMES,
				       &side->resolver);
}

/* The same of runs. */
static int side_read_runs(struct side *side, const struct input_options *options,
			  char *const *paths, size_t count)
{
	int status = input_read_runs(options, paths, count, INPUT_EPOCHS_TOGETHER, &side->runs);
	return status ? status
		      : input_resolver(&given.input, &side->runs.whole, INPUT_NAMES,
				       &side->resolver);
}

/* All that one graph is made of; `base` and `comparison` are empty without a base. */
struct drawing {
	struct side main, base;
	struct flame_input
		sides[FLAME_SIDES]; /* of the two; the base's profile is NULL without one */
	struct flame *flame;
	struct comparison *comparison;
	struct flame_runs runs; /* empty with one run a side */
	struct flame_view view;
	struct flame_changes changes;
	struct flame_scale scale;
};

static void drawing_release(struct drawing *drawing)
{
	flame_changes_release(&drawing->changes);
	flame_view_release(&drawing->view);
	flame_runs_release(&drawing->runs);
	compare_free(drawing->comparison);
	flame_free(drawing->flame);
	side_release(&drawing->base);
	side_release(&drawing->main);
}

static int ratio_for(const struct event_columns *columns, enum flame_metric metric, size_t width,
		     struct flame_ratio *ratio, struct error *err)
{
	switch (metric) {
	case FLAME_CPI:
		return flame_ratio_cpi(columns, width, ratio, err);
	case FLAME_IPC:
		return flame_ratio_ipc(columns, width, ratio, err);
	case FLAME_STALLS:
		return flame_ratio_stalls(columns, ratio, err);
	case FLAME_RETIRING:
		return flame_ratio_slots(columns, SLOTS_RETIRING, width, ratio, err);
	case FLAME_BACKEND:
		return flame_ratio_slots(columns, SLOTS_BACKEND, width, ratio, err);
	case FLAME_RATIO:
		return flame_ratio_of(columns, given.color, ratio, err);
	default:
		return 0;
	}
}

/* CPI where there is one; else the image, which needs no second event. */
static enum flame_metric default_metric(const struct event_columns *columns, bool base)
{
	struct flame_ratio ratio;
	if (base)
		return FLAME_DELTA;
	if (columns->pair_count)
		return FLAME_CPI;
	if (is_stretch() && flame_ratio_stalls(columns, &ratio, NULL) == 0)
		return FLAME_STALLS;
	return FLAME_PACKAGE;
}

/* 0 or the exit status. */
static int choose_colours(const struct event_columns *columns, bool base,
			  struct flame_view_options *view, struct flame_scale *scale)
{
	struct error err;
	const char *per = given.comparison.per;
	enum flame_metric metric = default_metric(columns, base);
	if (given.color && strchr(given.color, '/'))
		metric = FLAME_RATIO;
	else if (given.color && !flame_metric_of(given.color, &metric))
		return options_misuse(&verb_flame,
				      "--color knows cpi, ipc, stalls, EVENT/EVENT, retiring, "
				      "backend, delta, package and none, not '%s'",
				      given.color);
	if (metric == FLAME_DELTA && !base)
		return options_misuse(&verb_flame, "--color delta needs --diff BASE");
	if (ratio_for(columns, metric, view->width, &view->ratio, &err) < 0)
		return message_failure(&err);
	*scale = flame_scale_of(metric);
	view->stretch = is_stretch();
	/* difffolded.pl -n: of two events their shares are compared */
	view->stretch_total = !base || (per && strcmp(per, "total") == 0);
	if (view->stretch && !view->ratio.known && !base)
		return options_misuse(&verb_flame, "--scale gregg needs two events to compare");
	if (given.scale && !view->stretch && flame_scale_parse(scale, given.scale, &err) < 0)
		return options_misuse(&verb_flame, "%s", err.text);
	return 0;
}

/* ---- where it goes */

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), tail = strlen(end);
	return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* Standard output, unless that is a terminal: nobody wants to read SVG. */
static const char *default_output(void)
{
	if (!isatty(STDOUT_FILENO))
		return "-";
	return given.html ? DEFAULT_OUTPUT ".html" : DEFAULT_OUTPUT ".svg";
}

/* What the sides are compared by, in words. */
static void say_per(const struct comparison *comparison, const struct compared_column *column,
		    struct buffer *out)
{
	const char *what = comparison->constant ? comparison->constant : "";
	switch (comparison->base) {
	case DIFFERENCE_RAW:
		buffer_append_text(out, "compared as counted");
		if (column->event.scale.factor != 1) /* other numbers of runs */
			break;
		return;
	case DIFFERENCE_TOTAL:
		buffer_append_text(out, "compared per total");
		break;
	case DIFFERENCE_SECOND:
		buffer_append_text(out, "compared per second");
		break;
	case DIFFERENCE_EVENT:
		buffer_printf(out, "compared per count of '%s'", what);
		break;
	default:
		buffer_printf(out, "compared per cost of '%s'", what);
	}
	buffer_printf(out, ": before times %.4g", column->event.scale.factor);
}

static int draw(struct drawing *drawing, const struct compared_column *column)
{
	const struct flame_view *view = &drawing->view;
	const struct comparison *comparison = drawing->comparison;
	bool html = given.html || (given.output && (ends_with(given.output, ".html") ||
						    ends_with(given.output, ".htm")));
	CLEANUP(buffer_release) struct buffer page = { 0 };
	CLEANUP(buffer_release) struct buffer per = { 0 };
	if (drawing->scale.metric == FLAME_RATIO && !given.scale &&
	    view->whole_ratio.kind != ESTIMATE_ABSENT)
		flame_scale_derive(&drawing->scale, view->whole_ratio.value);
	if (comparison)
		say_per(comparison, column, &per);
	const struct flame_picture picture = {
		.view = view,
		.scale = &drawing->scale,
		.changes = comparison ? &drawing->changes : NULL,
		.base_source = drawing->base.runs.whole.title,
		.runs = { comparison ? comparison->side_runs[0] : 0,
			  comparison ? comparison->side_runs[1] : 0 },
		.per = comparison ? buffer_text(&per) : NULL,
		.title = given.title,
		.subtitle = given.subtitle,
		.source = drawing->main.runs.whole.title,
		.width_px = given.width,
		.layout = given.icicle ? FLAME_ICICLE : FLAME_UPWARDS,
		.form = html ? FLAME_HTML : FLAME_SVG,
		.notes = comparison ? comparison->notes : NULL,
		.note_count = comparison ? comparison->note_count : 0,
	};
	flame_svg(&picture, &page);
	if (buffer_failed(&page) || buffer_failed(&per)) {
		message_error("out of memory drawing the flame graph");
		return 1;
	}
	return output_file_write_page(given.output, default_output(), &page);
}

/* The comparison's column of an event of the tree, or NULL. */
static const struct compared_column *compared(const struct comparison *comparison, size_t column)
{
	for (size_t i = 0; comparison && i < comparison->column_count; i++)
		if (comparison->columns[i].after == column)
			return &comparison->columns[i];
	return NULL;
}

static int fill_changes(struct drawing *drawing, const struct compared_column *column,
			struct error *err)
{
	const struct comparison *comparison = drawing->comparison;
	struct flame_changes_options options = { .event = column->event,
						 .overlap = column->overlap,
						 .runs = drawing->runs.flame ? &drawing->runs
									     : NULL };
	for (size_t i = 0; i < comparison->pair_count; i++) {
		const struct compared_pair *pair = &comparison->pairs[i];
		const struct compared_column *cycles = &comparison->columns[pair->cycles];
		if (options.cpi.known && cycles != column)
			continue;
		options.cycles = cycles->event;
		options.cpi = (struct flame_ratio){ true, cycles->after,
						    comparison->columns[pair->instructions].after,
						    pair->samples };
	}
	return flame_changes_init(&drawing->changes, &drawing->view, &options, err);
}

/* 0 or the exit status. */
static int fill(struct drawing *drawing, const struct compared_column **column)
{
	const struct flame *flame = drawing->flame;
	const struct event_columns *columns = &flame->reports[FLAME_MAIN]->columns;
	struct flame_view_options options = { .width = event_columns_main(columns),
					      .base_factor = 1,
					      .side = given.inverse ? FLAME_BASE : FLAME_MAIN };
	struct error err;
	int ret = 0;
	if (given.event)
		ret = event_columns_find(columns, given.event, &options.width, &err);
	*column = compared(drawing->comparison, options.width);
	bool missing = flame->base_column && flame->base_column[options.width] == EVENT_COLUMN_NONE;
	if (ret == 0 && drawing->comparison && (!*column || missing)) {
		struct span name = columns->list[options.width].name;
		ret = error_set(&err, -ENODATA, "the base has no event '%.*s'", (int)name.size,
				(const char *)name.data);
	}
	if (ret < 0)
		return message_failure(&err);
	if (*column)
		options.base_factor = (*column)->event.scale.factor;
	options.min_share = flame_min_share(given.width, given.min_width);
	int status = choose_colours(columns, drawing->comparison, &options, &drawing->scale);
	if (status)
		return status;
	ret = flame_view_init(&drawing->view, flame, &options, &err);
	if (ret == 0 && *column)
		ret = fill_changes(drawing, *column, &err);
	if (ret < 0)
		message_error("%s", err.text);
	return ret < 0 ? 1 : 0;
}

/* Compares both sides as `culprit diff` does, for its factor and its remarks. */
static int compare(struct drawing *drawing, const struct flame_options *options, struct error *err)
{
	const struct flame_input *main = &drawing->sides[FLAME_MAIN];
	const struct flame_input *base = &drawing->sides[FLAME_BASE];
	const struct compare_side before = { base->profile, base->resolver, base->event,
					     drawing->base.runs.count };
	const struct compare_side after = { main->profile, main->resolver, main->event,
					    drawing->main.runs.count };
	struct compare_options comparison = { .report = options->samples,
					      .per = given.comparison.per,
					      .counts = given.counts,
					      .fail_above_percent = -1 };
	comparison.report.parts[0] = REPORT_IMAGE; /* few rows, which are not used */
	comparison.report.part_count = 1;
	int ret = compare_new(&before, &after, &comparison, &drawing->comparison, err);
	if (ret < 0 || before.runs + after.runs <= 2)
		return ret;
	return flame_runs_init(&drawing->runs, drawing->flame, drawing->sides, options,
			       drawing->comparison, err);
}

/* "before" and "after" of folded text with two counts a line are two sides of one profile. */
static int find_two_counts(struct drawing *drawing)
{
	struct event_columns columns;
	struct error err;
	struct flame_input *sides = drawing->sides;
	if (given.event)
		return 0;
	if (event_columns_init(&columns, sides[FLAME_MAIN].profile, NULL, 0, &err) < 0)
		return message_failure(&err);
	if (columns.count == 2 && span_equal(columns.list[0].name, span_of_text("after")) &&
	    span_equal(columns.list[1].name, span_of_text("before"))) {
		sides[FLAME_BASE] = sides[FLAME_MAIN];
		sides[FLAME_MAIN].event = "after";
		sides[FLAME_BASE].event = "before";
	}
	event_columns_release(&columns);
	return 0;
}

static int draw_all(struct drawing *drawing, const struct flame_options *options)
{
	const struct flame_input *sides = drawing->sides;
	const struct flame_input *base = sides[FLAME_BASE].profile ? &sides[FLAME_BASE] : NULL;
	const struct compared_column *column;
	struct error err;
	if (!base && (given.inverse || given.comparison.per || given.comparison.counts))
		return options_misuse(&verb_flame, "--%s needs --diff BASE",
				      given.inverse	     ? "inverse-diff"
				      : given.comparison.per ? "per"
							     : "counts");
	int ret = flame_new(&sides[FLAME_MAIN], base, options, &drawing->flame, &err);
	if (ret == 0 && base)
		ret = compare(drawing, options, &err);
	if (ret < 0)
		return message_refusal(&err);
	int status = fill(drawing, &column);
	return status ? status : draw(drawing, column);
}

/* Each profile is a run: those of --diff, and of the first `before` arguments, are the base's. */
static int read_runs(struct drawing *drawing, char *const *paths, size_t before, size_t count)
{
	if (before == count && !given.input.files.count)
		return options_misuse(&verb_flame,
				      "--diff compares its profiles with others: name "
				      "them, behind a '--' where there are several bases");
	for (size_t i = 0; i < given.diff.count; i++) {
		struct option_list *files = &given.base.files; /* read before the arguments */
		files->items[files->count++] = given.diff.items[i];
	}
	int status = side_read_runs(&drawing->base, &given.base, paths, before);
	return status ? status
		      : side_read_runs(&drawing->main, &given.input, paths + before,
				       count - before);
}

static int read_sides(struct drawing *drawing, char *const *paths, size_t count, size_t before)
{
	if (given.diff.count)
		input_share(&given.base, &given.input);
	if (given.diff.count && before != OPTIONS_ONE_SIDE)
		return read_runs(drawing, paths, before, count);
	if (given.diff.count > 1)
		return read_runs(drawing, paths, 0, count);
	if (!given.diff.count)
		return side_read(&drawing->main, &given.input, paths, count);
	/* input_read() changes nothing in it */
	char *path = (char *)(uintptr_t)given.diff.items[0];
	bool both = input_is_both_sides(&given.input, path, count);
	int status = both ? input_part_database(&given.base, &given.input, path) : 0;
	if (status == 0)
		status = side_read(&drawing->base, &given.base, &path, 1);
	if (status)
		return status;
	return side_read(&drawing->main, &given.input, both ? &path : paths, both ? 1 : count);
}

static int run_flame(int argc, char **argv)
{
	int count;
	size_t before;
	int status = options_parse_sides(&verb_flame, argc, argv, &count, &before);
	if (status == 0)
		status = check_options();
	if (status)
		return status;
	struct flame_options options = {
		.samples = { .inlined =
				     given.no_inline ? REPORT_INLINED_FOLDED : REPORT_INLINED_APART,
			     /* as the scripts of 2014, which left nothing out */
			     .idle = given.idle || is_stretch() ? REPORT_IDLE_KEPT
								: REPORT_IDLE_APART },
		.commands = given.no_comm ? FLAME_WITHOUT_COMMANDS : FLAME_WITH_COMMANDS,
		.direction = given.reverse ? FLAME_FROM_LEAF : FLAME_FROM_ROOT,
	};
	filters_apply(&given.filters, &options.samples);
	CLEANUP(drawing_release) struct drawing drawing = { 0 };
	given.input.without_code = true;
	status = read_sides(&drawing, argv + 1, (size_t)count, before);
	if (status)
		return status;
	drawing.sides[FLAME_MAIN] = (struct flame_input){ drawing.main.runs.whole.profile,
							  drawing.main.resolver, NULL };
	drawing.sides[FLAME_BASE] = (struct flame_input){ drawing.base.runs.whole.profile,
							  drawing.base.resolver, NULL };
	if (!given.diff.count)
		status = find_two_counts(&drawing);
	return status ? status : draw_all(&drawing, &options);
}

const struct verb verb_flame = {
	.name = "flame",
	.run = run_flame,
	.summary = "a flame graph whose colours mean something",
	.usage = "[OPTIONS] [PROFILE...] | --diff BASE [BASE...] -- PROFILE...",
	.options = flame_options,
};
