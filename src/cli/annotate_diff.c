#include "cli/annotate_diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/annotate_diff.h"
#include "analyze/compare/compare_scope.h"
#include "analyze/names/resolve.h"
#include "analyze/report/report_scope.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/comparison.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/page.h"
#include "render/listing_diff.h"

#define NS_PER_S 1e9

struct diffs {
	struct annotation_diff **list;
	size_t count;
};

static void diffs_release(struct diffs *diffs)
{
	for (size_t i = 0; i < diffs->count; i++)
		annotation_diff_free(diffs->list[i]);
	free(diffs->list);
}

/* Significant changes of the first event before others, larger ones before smaller ones. */
static bool changed_more(const struct annotation_diff *a, const struct annotation_diff *b)
{
	const struct difference *x = &a->whole[0], *y = &b->whole[0];
	bool left = x->verdict != DIFFERENCE_NOISE, right = y->verdict != DIFFERENCE_NOISE;
	if (left != right)
		return left;
	return fabs(x->change.value) > fabs(y->change.value);
}

/* Sorts the last one in and drops the last of more than `most`. */
static void keep_most_changed(struct diffs *diffs, size_t most)
{
	for (size_t i = diffs->count - 1; i > 0; i--) {
		struct annotation_diff *other = diffs->list[i - 1];
		if (!changed_more(diffs->list[i], other))
			break;
		diffs->list[i - 1] = diffs->list[i];
		diffs->list[i] = other;
	}
	if (diffs->count > most)
		annotation_diff_free(diffs->list[--diffs->count]);
}

/* Chooses what the counts are compared by, from --per or from how both sides were recorded. 0 or
 * the exit status. */
static int choose_base(const struct annotate_diff_request *request, const struct profile *before,
		       const struct event_columns *columns, struct annotate_diff_options *options)
{
	CLEANUP(scope_release) struct scope left = { 0 };
	CLEANUP(scope_release) struct scope right = { 0 };
	struct error err;
	const char *per = request->comparison->per;
	if (scope_init(&left, before, columns, &err) < 0 ||
	    scope_init(&right, request->after->profile, request->after->columns, &err) < 0)
		return message_failure(&err);
	options->before_s = (double)left.duration_ns / NS_PER_S;
	options->after_s = (double)right.duration_ns / NS_PER_S;
	options->base = DIFFERENCE_RAW;
	if (!per) {
		if (compare_time_was_chosen(&left) && compare_time_was_chosen(&right))
			options->base = DIFFERENCE_SECOND;
		return 0;
	}
	if (strcmp(per, "total") == 0)
		options->base = DIFFERENCE_TOTAL;
	else if (strcmp(per, "second") == 0)
		options->base = DIFFERENCE_SECOND;
	else if (strcmp(per, "raw") != 0)
		return options_misuse(request->verb, "--per is raw, total or second, not '%s'",
				      per);
	if (options->base == DIFFERENCE_SECOND &&
	    !(options->before_s > 0 && options->after_s > 0)) {
		message_error("no duration is known of the %s side, which --per second needs",
			      options->before_s > 0 ? "after" : "base");
		return 1;
	}
	return 0;
}

static int compare_all(const struct annotate_diff_request *request,
		       const struct annotate_index *before,
		       const struct annotate_diff_options *options, struct diffs *diffs)
{
	struct error err;
	diffs->list = calloc(request->count + 1, sizeof(*diffs->list));
	if (!diffs->list)
		return message_failure(&(struct error){ -ENOMEM, "out of memory for the listing" });
	for (size_t i = 0; i < request->count; i++) {
		if (annotate_diff(before, request->after, request->positions[i], options,
				  &diffs->list[diffs->count], &err) < 0)
			return message_failure(&err);
		diffs->count++;
		if (request->most_changed)
			keep_most_changed(diffs, request->most_changed);
	}
	return 0;
}

static int print(const struct annotate_diff_request *request, const struct diffs *diffs,
		 const struct listing_diff_sides *sides, struct resolver *names)
{
	CLEANUP(buffer_release) struct buffer out = { 0 };
	const char *const *notes;
	size_t note_count = resolver_notes(names, &notes);
	if (request->json)
		listing_diff_json(diffs->list, diffs->count, sides, notes, note_count, &out);
	for (size_t i = 0; !request->json && i < diffs->count; i++) {
		if (i)
			buffer_append_text(&out, "\n\n");
		listing_diff_print(diffs->list[i], sides, request->listing, &out);
	}
	int status = page_show(&out, request->json ? PAGE_JSON : PAGE_TEXT);
	for (size_t i = 0; status == 0 && !request->json && i < note_count; i++)
		message_note("of the base: %s", notes[i]);
	return status;
}

static int compare_with(const struct annotate_diff_request *request, const struct input *input,
			struct resolver *names, struct annotate_diff_options *options)
{
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	CLEANUP(annotate_index_freep) struct annotate_index *before = NULL;
	CLEANUP(diffs_release) struct diffs diffs = { 0 };
	struct error err;
	int ret = event_columns_init(&columns, input->profile, request->events->items,
				     request->events->count, &err);
	if (ret < 0) {
		message_error("base: %s", err.text);
		return 1;
	}
	if (annotate_index_new(input->profile, names, &columns, &before, &err) < 0)
		return message_failure(&err);
	int status = choose_base(request, input->profile, &columns, options);
	if (status == 0)
		status = compare_all(request, before, options, &diffs);
	if (status)
		return status;
	const struct listing_diff_sides sides = { .before = before,
						  .after = request->after,
						  .before_title = input->title,
						  .after_title = request->after_title,
						  .base = options->base,
						  .factor = options->base == DIFFERENCE_SECOND
								    ? options->after_s /
									      options->before_s
								    : 1 };
	return print(request, &diffs, &sides, names);
}

int annotate_diff_print(const struct annotate_diff_request *request)
{
	struct annotate_diff_options options = { .annotate = request->options };
	int status = comparison_choose_counts(request->verb, request->comparison, &options.counts);
	if (status)
		return status;
	CLEANUP(input_release) struct input input = { 0 };
	CLEANUP(resolver_freep) struct resolver *names = NULL;
	char *path[] = {
		(char *)(uintptr_t)request->base
	}; /* input_read() changes nothing in it */
	status = input_read(request->input, path, 1, &input);
	if (status == 0)
		status = input_resolver(request->input, &input, INPUT_NAMES_AND_CODE, &names);
	return status ? status : compare_with(request, &input, names, &options);
}
