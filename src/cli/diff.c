#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/compare.h"
#include "analyze/compare/compare_base.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/colour.h"
#include "cli/comparison.h"
#include "cli/filters.h"
#include "cli/input_runs.h"
#include "cli/input_sides.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/report_parts.h"
#include "cli/verbs.h"
#include "render/diff_json.h"
#include "render/diff_text.h"

#define DEFAULT_LIMIT 40 /* rows: about a screen */
#define NAMED_GROWN   10 /* rows that --fail-above names */

static struct {
	struct input_options base,
		after; /* `after` also has the options that both have in common */
	struct filter_options filters;
	struct comparison_options comparison;
	const char *by, *sort, *color;
	bool inclusive, no_inline, full_names, json;
	double min_percent, fail_above;
	uint64_t limit;
	bool limit_given, fail_given;
} given = { .base = { .base = true } };

static const struct option *diff_options(void)
{
	static const struct option options[] = {
		BASE_INPUT_OPTION_ROWS(given.base),
		{ "host", 0, OPTION_LIST, "NAME", "of the other database, this host only",
		  &given.after.hosts, NULL },
		{ "epoch", 0, OPTION_LIST, "NAME", "of the other database, this epoch only",
		  &given.after.epochs, NULL },
		{ "label", 0, OPTION_LIST, "TEXT",
		  "of the other database, epochs with this label only", &given.after.labels, NULL },
		{ "since", 0, OPTION_TEXT, "TIME",
		  "of the other database, what was recorded after that", &given.after.since, NULL },
		{ "until", 0, OPTION_TEXT, "TIME",
		  "of the other database, what was recorded before that", &given.after.until,
		  NULL },
		LIMITS_OPTION_ROW(given.after.limits),
		{ "force", 0, OPTION_FLAG, NULL,
		  "of a damaged recording of another tool, read what comes before the damage",
		  &given.after.force, NULL },
		{ "comparison", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		COMPARISON_OPTION_ROWS(given.comparison, COMPARISON_PER_WORDS),
		{ "fail-above", 0, OPTION_DOUBLE, "PERCENT",
		  "exit 3 when something grew by more than that share of the base's total",
		  &given.fail_above, &given.fail_given },
		{ "view", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		BY_OPTION_ROW(given.by, ""),
		INCLUSIVE_OPTION_ROW(given.inclusive),
		NO_INLINE_OPTION_ROW(given.no_inline),
		{ "filters", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		EVENT_OPTION_ROW(given.filters),
		FILTER_OPTION_ROWS(given.filters),
		{ "rows", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "sort", 0, OPTION_TEXT, "change|percent|before|after|name",
		  "change: what is significant first, then by size", &given.sort, NULL },
		{ "min", 0, OPTION_DOUBLE, "PERCENT", "rows of at least that share on a side",
		  &given.min_percent, NULL },
		{ "limit", 0, OPTION_U64, "N", "at most N rows; 0: all", &given.limit,
		  &given.limit_given },
		{ "names", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		NAMING_OPTION_ROWS(given.after),
		FULL_NAMES_OPTION_ROW(given.full_names),
		{ "output", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "json", 0, OPTION_FLAG, NULL, "one JSON document", &given.json, NULL },
		COLOUR_OPTION_ROW(given.color),
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
	};
	return options;
}

/* ---- options */

static int choose_words(struct compare_options *options)
{
	if (given.sort) {
		size_t at = 0;
		while (at < COMPARE_SORTS && strcmp(compare_sort_names[at], given.sort) != 0)
			at++;
		if (at == COMPARE_SORTS)
			return options_misuse(&verb_diff,
					      "--sort knows change, percent, before, after and "
					      "name, not '%s'",
					      given.sort);
		options->sort = (enum compare_sort)at;
	}
	return comparison_choose_counts(&verb_diff, &given.comparison, &options->counts);
}

/* 0 or the exit status. */
static int choose_options(struct compare_options *options)
{
	*options = (struct compare_options){
		.report = { .view = given.inclusive ? REPORT_INCLUSIVE : REPORT_FLAT,
			    .inlined = given.no_inline ? REPORT_INLINED_FOLDED
						       : REPORT_INLINED_APART },
		.per = given.comparison.per,
		.min_percent = given.min_percent,
		.limit = given.limit_given || given.json ? given.limit : DEFAULT_LIMIT,
		.fail_above_percent = given.fail_given ? given.fail_above : -1
	};
	filters_apply(&given.filters, &options->report);
	if (given.inclusive && given.by)
		return options_misuse(&verb_diff, "--inclusive and --by exclude each other");
	if (given.fail_given && given.fail_above < 0)
		return options_misuse(&verb_diff, "--fail-above is not below 0, as %g is",
				      given.fail_above);
	int status = options_check_share(&verb_diff, "min", given.min_percent);
	if (status == 0)
		status = report_parts_choose(&verb_diff, given.by, &options->report);
	if (status == 0 && report_options_have(&options->report, REPORT_ADDRESS))
		return options_misuse(&verb_diff, "addresses move from build to build; 'culprit "
						  "annotate --diff' compares instructions");
	return status ? status : choose_words(options);
}

/* ---- the two sides */

struct sides {
	/* Their `whole` alone, with no run counted, when it is one profile a side; `after_runs` is
	 * empty when both sides are events of one profile. */
	struct input_runs before_runs, after_runs;
	struct resolver *before_names, *after_names;
	const char *before_event, *after_event; /* of one profile */
	char *event_names[2];
};

static void sides_release(struct sides *sides)
{
	resolver_free(sides->before_names);
	resolver_free(sides->after_names);
	input_runs_release(&sides->before_runs);
	input_runs_release(&sides->after_runs);
	free(sides->event_names[0]);
	free(sides->event_names[1]);
}

static int out_of_memory(void)
{
	message_error("out of memory comparing profiles");
	return 1;
}

/* Puts the events "before" and "after" of one file into that order. */
static void order_by_name(char *names[2])
{
	if (strcmp(names[0], "after") != 0 || strcmp(names[1], "before") != 0)
		return;
	char *other = names[0];
	names[0] = names[1];
	names[1] = other;
}

/* The name of the one event that `pattern` matches, which the caller frees. 0 or the exit status.
 */
static int find_event(const struct profile *profile, const char *pattern, char **name)
{
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	struct error err = { 0 };
	if (event_columns_init(&columns, profile, &pattern, 1, &err) < 0)
		return message_failure(&err);
	if (columns.count != 1)
		return options_misuse(&verb_diff, "'%s' is the name of %zu events of this profile",
				      pattern, columns.count);
	*name = strndup(columns.list[0].name.data, columns.list[0].name.size);
	return *name ? 0 : out_of_memory();
}

/* Two -e, the base's first. 0 or the exit status. */
static int find_two_events(struct sides *sides)
{
	const struct option_list *events = &given.filters.events;
	if (events->count != 2)
		return options_misuse(&verb_diff,
				      "'%s' alone is compared by two events, and -e names %zu",
				      sides->before_runs.whole.title, events->count);
	for (size_t i = 0; i < 2; i++) {
		int status = find_event(sides->before_runs.whole.profile, events->items[i],
					&sides->event_names[i]);
		if (status)
			return status;
	}
	sides->before_event = sides->event_names[0];
	sides->after_event = sides->event_names[1];
	return 0;
}

/* The first two events of the profile, in the order they came; -e chooses others. */
static int choose_two_events(struct sides *sides)
{
	if (given.filters.events.count)
		return find_two_events(sides);
	const struct profile *profile = sides->before_runs.whole.profile;
	struct event_columns columns;
	struct error err = { 0 };
	if (event_columns_init(&columns, profile, NULL, 0, &err) < 0)
		return message_failure(&err);
	size_t count = columns.count, counted = 0;
	uint32_t seen = EVENT_COLUMN_NONE;
	for (size_t i = 0; i < columns.count; i++)
		counted += columns.list[i].counted;
	if (counted == 2) /* the other events are zeros */
		count = 2;
	bool failed = false;
	for (size_t id = 1, at = 0; count == 2 && id <= columns.event_count && at < 2; id++) {
		uint32_t column = columns.of_event[id];
		if (column == EVENT_COLUMN_NONE || column == seen ||
		    (counted == 2 && !columns.list[column].counted))
			continue;
		seen = column;
		struct span name = columns.list[column].name;
		sides->event_names[at] = strndup(name.size ? name.data : "", name.size);
		failed |= !sides->event_names[at++];
	}
	event_columns_release(&columns);
	if (failed)
		return out_of_memory();
	if (count != 2)
		return options_misuse(&verb_diff,
				      "'%s' alone has %zu event%s: name a second profile, or two "
				      "events with -e",
				      sides->before_runs.whole.title, count, count == 1 ? "" : "s");
	order_by_name(sides->event_names);
	sides->before_event = sides->event_names[0];
	sides->after_event = sides->event_names[1];
	return 0;
}

/* Two -e that are not both on both sides: the base's and the other's. */
static void choose_event_of_each(struct sides *sides)
{
	const char *const *names = given.filters.events.items;
	if (given.filters.events.count != 2 ||
	    !compare_has_event(sides->before_runs.whole.profile, names[0]) ||
	    !compare_has_event(sides->after_runs.whole.profile, names[1]))
		return;
	if (compare_has_event(sides->before_runs.whole.profile, names[1]) &&
	    compare_has_event(sides->after_runs.whole.profile, names[0]))
		return;
	sides->before_event = names[0];
	sides->after_event = names[1];
}

/* Several runs a side: the first `before` paths are the base's. 0 or the exit status. */
static int read_runs(char *const *paths, size_t before, size_t count, enum input_naming names,
		     struct sides *sides)
{
	if (before == count)
		return options_misuse(&verb_diff, "no profile stands behind the '--'");
	input_share(&given.base, &given.after);
	int status = input_read_runs(&given.base, paths, before, INPUT_EPOCHS_TOGETHER,
				     &sides->before_runs);
	if (status == 0)
		status = input_read_runs(&given.after, paths + before, count - before,
					 INPUT_EPOCHS_TOGETHER, &sides->after_runs);
	if (status == 0)
		status = input_resolver(&given.after, &sides->before_runs.whole, names,
					&sides->before_names);
	if (status == 0)
		status = input_resolver(&given.after, &sides->after_runs.whole, names,
					&sides->after_names);
	if (status == 0)
		choose_event_of_each(sides);
	return status;
}

/* 0 or the exit status. */
static int read_sides(char *const *paths, size_t count, bool lines, struct sides *sides)
{
	if (count > 2)
		return options_misuse(&verb_diff, "several runs a side are written A1 A2 -- B1 B2, "
						  "with '--' between the sides");
	if (count == 0)
		return options_misuse(&verb_diff, "needs two profiles, the base and what is "
						  "compared with it");
	enum input_naming names = lines ? INPUT_NAMES_AND_CODE : INPUT_NAMES;
	input_share(&given.base, &given.after);
	int status = count == 1 ? input_part_database(&given.base, &given.after, paths[0]) : 0;
	bool one = count == 1 && !input_chosen(&given.base) && !given.base.apart_ns;
	if (status == 0)
		status = input_read(one ? &given.after : &given.base, paths, 1,
				    &sides->before_runs.whole);
	if (status == 0)
		status = input_resolver(&given.after, &sides->before_runs.whole, names,
					&sides->before_names);
	if (status)
		return status;
	if (one)
		return choose_two_events(sides);
	status = input_read(&given.after, paths + count - 1, 1, &sides->after_runs.whole);
	if (status)
		return status;
	choose_event_of_each(sides);
	return input_resolver(&given.after, &sides->after_runs.whole, names, &sides->after_names);
}

/* ---- the verdict */

static void put_growth(struct buffer *line, const struct comparison *comparison,
		       const struct compared_row *row)
{
	const struct report_row *shown = row->after ? row->after : row->before;
	bool first = true;
	for (size_t part = 0; part < REPORT_PARTS; part++) {
		const char *text = shown->texts[part];
		if (!text || (part == REPORT_IMAGE && shown->texts[REPORT_PROCEDURE]))
			continue;
		buffer_append_text(line, first ? "'" : ", '");
		text_append_safe(line, text, strlen(text));
		if (part == REPORT_LINE && shown->line != OPTIONAL_ABSENT)
			buffer_printf(line, ":%" PRIu64, shown->line - 1);
		buffer_append_u8(line, '\'');
		first = false;
	}
	if (shown->cpu != OPTIONAL_ABSENT)
		buffer_printf(line, "CPU %" PRIu64, shown->cpu - 1);
	if (shown->texts[REPORT_PROCEDURE] && shown->image_name && *shown->image_name) {
		buffer_append_text(line, " in '");
		text_append_safe(line, shown->image_name, strlen(shown->image_name));
		buffer_append_u8(line, '\'');
	}
	buffer_printf(line, " grew by %.2f %% of the base's total%s", row->growth_percent,
		      row->changes[comparison->main].verdict == DIFFERENCE_NO_ERROR_KNOWN
			      ? " (no error known)"
			      : "");
}

/* The verdict of --fail-above: 3 after a message, else 0. */
static int judge(const struct comparison *comparison)
{
	if (!comparison->total_grown && !comparison->grown_count)
		return 0;
	const struct difference *whole = &comparison->columns[comparison->main].whole;
	if (comparison->total_grown)
		message_error("the total grew by %.2f %%, more than %g %%",
			      100 * whole->change_ratio.value, given.fail_above);
	for (size_t i = 0; i < comparison->grown_count && i < NAMED_GROWN; i++) {
		CLEANUP(buffer_release) struct buffer line = { 0 };
		put_growth(&line, comparison, comparison->grown[i]);
		message_error("%s, more than %g %%", buffer_text(&line), given.fail_above);
	}
	if (comparison->grown_count > NAMED_GROWN)
		message_error("and %zu more rows did", comparison->grown_count - NAMED_GROWN);
	return 3;
}

static int print(const struct comparison *comparison, const struct diff_text_options *look)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	if (given.json)
		diff_json(comparison, look->before_title, look->after_title, &page);
	else
		diff_text(comparison, look, &page);
	return page_show(&page, given.json ? PAGE_JSON : PAGE_TEXT);
}

static int compare_sides(const struct sides *sides, const struct compare_options *options,
			 struct diff_text_options *look)
{
	const struct input *left = &sides->before_runs.whole, *right = &sides->after_runs.whole;
	bool one = !right->profile;
	const struct compare_side before = { left->profile, sides->before_names,
					     sides->before_event, sides->before_runs.count };
	const struct compare_side after = { one ? before.profile : right->profile,
					    one ? before.resolver : sides->after_names,
					    sides->after_event, sides->after_runs.count };
	look->before_title = left->title;
	look->after_title = one ? left->title : right->title;
	CLEANUP(compare_freep) struct comparison *comparison = NULL;
	struct error err = { 0 };
	if (compare_new(&before, &after, options, &comparison, &err) < 0)
		return message_refusal(&err);
	int status = print(comparison, look);
	if (status == 0 && fflush(stdout) == 0)
		status = judge(comparison);
	return status;
}

static int run_diff(int argc, char **argv)
{
	int count;
	size_t before_count;
	int status = options_parse_sides(&verb_diff, argc, argv, &count, &before_count);
	if (status)
		return status;
	struct compare_options options;
	struct diff_text_options look = { .full_names = given.full_names };
	status = choose_options(&options);
	if (status)
		return status;
	status = colour_choose(&verb_diff, given.color, &look.colour);
	if (status)
		return status;
	CLEANUP(sides_release) struct sides sides = { 0 };
	bool lines = report_options_have(&options.report, REPORT_LINE);
	status = before_count == OPTIONS_ONE_SIDE
			 ? read_sides(argv + 1, (size_t)count, lines, &sides)
			 : read_runs(argv + 1, before_count, (size_t)count,
				     lines ? INPUT_NAMES_AND_CODE : INPUT_NAMES, &sides);
	return status ? status : compare_sides(&sides, &options, &look);
}

const struct verb verb_diff = {
	.name = "diff",
	.run = run_diff,
	.summary = "what changed between two profiles, and whether by chance",
	.usage = "[OPTIONS] BASE AFTER | BASE... -- AFTER... | FILE | --since TIME DB",
	.pages = true,
	.options = diff_options,
};
