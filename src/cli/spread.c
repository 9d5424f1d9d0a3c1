#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/spread/spread.h"
#include "analyze/spread/spread_growth.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/colour.h"
#include "cli/comparison.h"
#include "cli/filters.h"
#include "cli/input_runs.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/report_parts.h"
#include "cli/verbs.h"
#include "render/spread_json.h"
#include "render/spread_text.h"

#define DEFAULT_LIMIT  40 /* rows: about a screen */
#define DEFAULT_CAUSES 3  /* procedures whose growth is explained */

static struct {
	struct input_options input;
	struct filter_options filters;
	struct comparison_options comparison;
	const char *by, *sort, *color;
	bool inclusive, no_inline, full_names, json;
	double min_percent;
	uint64_t limit, causes;
	bool limit_given;
} given = { .causes = DEFAULT_CAUSES };

static const struct option *spread_options(void)
{
	static const struct option options[] = {
		INPUT_OPTION_ROWS(given.input),
		{ "comparison", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "per", 0, OPTION_TEXT, "raw|total|second",
		  "what runs have alike: raw costs; total when all watched for a chosen time",
		  &given.comparison.per, NULL },
		{ "counts", 0, OPTION_TEXT, "samples|exact",
		  "what imported counts are, whose error is not known", &given.comparison.counts,
		  NULL },
		{ "causes", 0, OPTION_U64, "N", "say of the first N that vary why they grew (3)",
		  &given.causes, NULL },
		{ "view", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		BY_OPTION_ROW(given.by, ""),
		INCLUSIVE_OPTION_ROW(given.inclusive),
		NO_INLINE_OPTION_ROW(given.no_inline),
		{ "filters", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		EVENT_OPTION_ROW(given.filters),
		FILTER_OPTION_ROWS(given.filters),
		{ "rows", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "sort", 0, OPTION_TEXT, "range|sum|mean|deviation|name",
		  "range: what varies beyond chance, by range; then the rest by sum", &given.sort,
		  NULL },
		{ "min", 0, OPTION_DOUBLE, "PERCENT", "rows of at least that share in some run",
		  &given.min_percent, NULL },
		{ "limit", 0, OPTION_U64, "N", "at most N rows; 0: all", &given.limit,
		  &given.limit_given },
		{ "names", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		NAMING_OPTION_ROWS(given.input),
		FULL_NAMES_OPTION_ROW(given.full_names),
		{ "output", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "json", 0, OPTION_FLAG, NULL, "one JSON document", &given.json, NULL },
		COLOUR_OPTION_ROW(given.color),
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
	};
	return options;
}

/* The number of a word among `count` names; `count`: none of them. */
static size_t find_word(const char *word, const char *const *names, size_t count)
{
	size_t at = 0;
	while (at < count && strcmp(names[at], word) != 0)
		at++;
	return at;
}

/* 0 or the exit status. */
static int choose_words(struct spread_options *options)
{
	const char *per = given.comparison.per;
	if (given.sort) {
		size_t at = find_word(given.sort, spread_sort_names, SPREAD_SORTS);
		if (at == SPREAD_SORTS)
			return options_misuse(&verb_spread,
					      "--sort knows range, sum, mean, deviation and name, "
					      "not '%s'",
					      given.sort);
		options->sort = (enum spread_sort)at;
	}
	if (per) {
		size_t at = find_word(per, spread_base_names, SPREAD_BASES);
		if (at == SPREAD_BASES)
			return options_misuse(&verb_spread,
					      "--per is raw, total or second, not '%s'", per);
		options->base_given = true;
		options->base = (enum spread_base)at;
	}
	return comparison_choose_counts(&verb_spread, &given.comparison, &options->counts);
}

/* 0 or the exit status. */
static int choose_options(struct spread_options *options)
{
	*options = (struct spread_options){
		.report = { .view = given.inclusive ? REPORT_INCLUSIVE : REPORT_FLAT,
			    .inlined = given.no_inline ? REPORT_INLINED_FOLDED
						       : REPORT_INLINED_APART },
		.min_percent = given.min_percent,
		.limit = given.limit_given || given.json ? given.limit : DEFAULT_LIMIT,
	};
	filters_apply(&given.filters, &options->report);
	if (given.inclusive && given.by)
		return options_misuse(&verb_spread, "--inclusive and --by exclude each other");
	if (given.causes > UINT32_MAX)
		return options_misuse(&verb_spread, "--causes is too large");
	int status = options_check_share(&verb_spread, "min", given.min_percent);
	if (status == 0)
		status = report_parts_choose(&verb_spread, given.by, &options->report);
	if (status == 0 && report_options_have(&options->report, REPORT_ADDRESS))
		return options_misuse(&verb_spread, "addresses move from build to build; 'culprit "
						    "annotate --diff' compares instructions");
	return status ? status : choose_words(options);
}

static int print(const struct spread *spread, const struct input_runs *runs,
		 struct spread_text_options *look)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	if (given.json)
		spread_json(spread, (const char *const *)runs->titles, look->growth,
			    look->growth_count, &page);
	else
		spread_text(spread, look, &page);
	return page_show(&page, given.json ? PAGE_JSON : PAGE_TEXT);
}

static int compare_runs(const struct input_runs *runs, const struct spread_options *options,
			struct spread_text_options *look)
{
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	CLEANUP(spread_freep) struct spread *spread = NULL;
	CLEANUP(free_pointer) struct spread_growth *growth = NULL;
	struct error err = { 0 };
	bool code = given.causes > 0 || report_options_have(&options->report, REPORT_LINE);
	int status = input_resolver(&given.input, &runs->whole,
				    code ? INPUT_NAMES_AND_CODE : INPUT_NAMES, &resolver);
	if (status)
		return status;
	if (spread_new(runs->whole.profile, resolver, runs->count, options, &spread, &err) < 0)
		return message_refusal(&err);
	if (given.causes && spread_growth_new(spread, resolver, (size_t)given.causes, &growth,
					      &look->growth_count, &err) < 0)
		return message_failure(&err);
	look->growth = growth;
	look->title = runs->whole.title;
	look->titles = (const char *const *)runs->titles;
	return print(spread, runs, look);
}

static int run_spread(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_spread, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status)
		return status;
	struct spread_options options;
	struct spread_text_options look = { .full_names = given.full_names };
	status = choose_options(&options);
	if (status == 0)
		status = colour_choose(&verb_spread, given.color, &look.colour);
	if (status)
		return status;
	CLEANUP(input_runs_release) struct input_runs runs = { 0 };
	status = input_read_runs(&given.input, argv + 1, (size_t)count, INPUT_EPOCHS_ARE_RUNS,
				 &runs);
	if (status)
		return status;
	if (runs.count < 2)
		return options_misuse(&verb_spread,
				      "needs two runs or more: profiles, or a database with "
				      "several epochs");
	return compare_runs(&runs, &options, &look);
}

const struct verb verb_spread = {
	.name = "spread",
	.run = run_spread,
	.summary = "how costs vary over several runs, beyond chance, and why",
	.usage = "[OPTIONS] PROFILE...",
	.pages = true,
	.options = spread_options,
};
