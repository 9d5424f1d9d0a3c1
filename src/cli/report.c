#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report_make.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/colour.h"
#include "cli/filters.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/report_parts.h"
#include "cli/verbs.h"
#include "render/report_json.h"
#include "render/report_text.h"

#define DEFAULT_LIMIT	     40	 /* rows of a table: about a screen */
#define DEFAULT_TREE_LIMIT   100 /* rows of a tree */
#define DEFAULT_TREE_PERCENT 0.5

static struct {
	struct input_options input;
	struct filter_options filters;
	const char *by, *callers, *callees, *sort, *color;
	bool inclusive, tree, no_inline, full_names, json, verbose;
	double min_percent;
	uint64_t limit;
	bool min_given, limit_given;
} given;

static const struct option *report_options(void)
{
	static const struct option options[] = {
		INPUT_OPTION_ROWS(given.input),
		{ "view", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		BY_OPTION_ROW(given.by, ", address"),
		INCLUSIVE_OPTION_ROW(given.inclusive),
		{ "tree", 0, OPTION_FLAG, NULL, "calls from the outermost frame down", &given.tree,
		  NULL },
		{ "callers", 0, OPTION_TEXT, "PROCEDURE", "who called it, upwards", &given.callers,
		  NULL },
		{ "callees", 0, OPTION_TEXT, "PROCEDURE", "what it called, downwards",
		  &given.callees, NULL },
		NO_INLINE_OPTION_ROW(given.no_inline),
		{ "filters", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		EVENT_OPTION_ROW(given.filters),
		FILTER_OPTION_ROWS(given.filters),
		{ "rows", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "sort", 0, OPTION_TEXT, "KEY", "an event, samples, self, cpi or name",
		  &given.sort, NULL },
		{ "min", 0, OPTION_DOUBLE, "PERCENT", "rows of at least that share",
		  &given.min_percent, &given.min_given },
		{ "limit", 0, OPTION_U64, "N", "at most N rows; 0: all", &given.limit,
		  &given.limit_given },
		{ "names", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		NAMING_OPTION_ROWS(given.input),
		FULL_NAMES_OPTION_ROW(given.full_names),
		{ "output", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "json", 0, OPTION_FLAG, NULL, "one JSON document", &given.json, NULL },
		{ "verbose", 'v', OPTION_FLAG, NULL, "what could not be read, too", &given.verbose,
		  NULL },
		COLOUR_OPTION_ROW(given.color),
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
	};
	return options;
}

static int choose_view(struct report_options *options)
{
	const struct {
		bool asked;
		enum report_view view;
		const char *name;
	} views[] = { { given.inclusive, REPORT_INCLUSIVE, "--inclusive" },
		      { given.tree, REPORT_TREE, "--tree" },
		      { given.callers, REPORT_CALLERS, "--callers" },
		      { given.callees, REPORT_CALLEES, "--callees" },
		      { given.by, REPORT_FLAT, "--by" } };
	const char *first = NULL;
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (!views[i].asked)
			continue;
		if (first)
			return options_misuse(&verb_report, "%s and %s exclude each other", first,
					      views[i].name);
		first = views[i].name;
		options->view = views[i].view;
	}
	options->procedure = given.callers ? given.callers : given.callees;
	return 0;
}

static int choose_options(struct report_options *options)
{
	*options = (struct report_options){
		.inlined = given.no_inline ? REPORT_INLINED_FOLDED : REPORT_INLINED_APART,
		.sort = given.sort,
		.min_percent = given.min_percent,
		.limit = given.limit,
	};
	filters_apply(&given.filters, options);
	int status = choose_view(options);
	if (status == 0)
		status = report_parts_choose(&verb_report, given.by, options);
	if (status == 0)
		status = options_check_share(&verb_report, "min", given.min_percent);
	if (status)
		return status;
	bool tree = options->view != REPORT_FLAT && options->view != REPORT_INCLUSIVE;
	if (!given.limit_given && !given.json)
		options->limit = tree ? DEFAULT_TREE_LIMIT : DEFAULT_LIMIT;
	if (!given.min_given && !given.limit_given && !given.json && tree)
		options->min_percent = DEFAULT_TREE_PERCENT;
	return 0;
}

static int print_report(const struct report *report, const struct report_text_options *look)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	if (given.json)
		report_json(report, &page);
	else
		report_text(report, look, &page);
	return page_show(&page, given.json ? PAGE_JSON : PAGE_TEXT);
}

static int add_notes(struct report *report, const char *const *notes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (report_add_note(report, "%s", notes[i]) < 0)
			return -1;
	return 0;
}

static int run_report(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_report, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status)
		return status;
	struct report_options options;
	struct report_text_options look = { 0 };
	status = choose_options(&options);
	if (status)
		return status;
	status = colour_choose(&verb_report, given.color, &look.colour);
	if (status)
		return status;
	CLEANUP(input_release) struct input input;
	/* samples are charged to lines by instructions, which needs the code */
	bool lines = report_options_have(&options, REPORT_LINE);
	status = input_read(&given.input, argv + 1, (size_t)count, &input);
	if (status)
		return status;
	look.title = input.title;
	look.full_names = given.full_names;
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	status = input_resolver(&given.input, &input, lines ? INPUT_NAMES_AND_CODE : INPUT_NAMES,
				&resolver);
	if (status)
		return status;
	CLEANUP(report_freep) struct report *report = NULL;
	struct error err = { 0 };
	if (report_new(input.profile, resolver, &options, &report, &err) < 0)
		return message_refusal(&err);
	const char *const *notes, *const *file_notes;
	size_t note_count = given.verbose ? resolver_notes(resolver, &notes) : 0;
	size_t file_note_count = resolver_file_notes(resolver, &file_notes);
	if (add_notes(report, file_notes, file_note_count) < 0 ||
	    (note_count && add_notes(report, notes, note_count) < 0)) {
		message_error("out of memory making the report");
		return 1;
	}
	return print_report(report, &look);
}

const struct verb verb_report = {
	.name = "report",
	.run = run_report,
	.summary = "where the cycles went: procedures, images, lines, callers",
	.usage = "[OPTIONS] [PROFILE...]",
	.pages = true,
	.options = report_options,
};
