#include "cli/accuracy_truth.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/accuracy/accuracy.h"
#include "analyze/accuracy/exact_counts.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/candidates.h"
#include "cli/message.h"
#include "cli/page.h"
#include "profile/profile.h"
#include "render/accuracy_text.h"

#define DEFAULT_PROCEDURES 10

struct work {
	const struct verb *verb;
	const struct accuracy_truth_options *options;
	bool json;
	const struct input *input, *counted;
	const struct annotate_index *index;
	uint32_t *positions; /* NULL: all procedures */
	size_t count;
};

/* 0 or the exit status. */
static int choose_scale(const struct work *work, const struct cycles *cycles,
			enum accuracy_scale *scale)
{
	static const enum accuracy_scale defaults[] = {
		[CYCLES_RELATIVE] = ACCURACY_PROCEDURE,
		[CYCLES_PROGRAM] = ACCURACY_PROGRAM,
		[CYCLES_BY_CLOCK] = ACCURACY_PROGRAM,
		[CYCLES_ABSOLUTE] = ACCURACY_ABSOLUTE,
	};
	const char *given = work->options->scale;
	*scale = defaults[cycles_events(cycles)->scale];
	if (!given)
		return 0;
	for (int s = ACCURACY_ABSOLUTE; s <= ACCURACY_PROGRAM; s++) {
		*scale = (enum accuracy_scale)s;
		if (strcmp(accuracy_scale_name(*scale), given) == 0)
			return 0;
	}
	return options_misuse(work->verb, "--scale is absolute, procedure or program, not '%s'",
			      given);
}

/* Finds the procedures that the options name. 0 or the exit status. */
static int choose_procedures(struct work *work)
{
	const struct accuracy_truth_options *options = work->options;
	const struct annotate_index *index = work->index;
	if (!options->procedure && !options->image)
		return 0;
	if (!options->procedure)
		return candidates_hottest(index, options->image, work->input->title, index->count,
					  &work->positions, &work->count);
	return candidates_find(index, options->procedure, options->image, work->input->title,
			       &work->positions, &work->count);
}

static int print(const struct work *work, const struct cycles *cycles,
		 const struct accuracy *accuracy)
{
	const struct cycles_events *events = cycles_events(cycles);
	size_t column = events->time != CYCLES_NO_COLUMN ? events->time : events->executions;
	CLEANUP(buffer_release) struct buffer name = { 0 };
	CLEANUP(buffer_release) struct buffer out = { 0 };
	buffer_append(&name, work->index->columns->list[column].name.data,
		      work->index->columns->list[column].name.size);
	const struct accuracy_look look = {
		.title = work->input->title,
		.truth_title = work->counted->title,
		.event = buffer_text(&name),
		.most_procedures = work->options->procedures_given ? work->options->procedures
								   : DEFAULT_PROCEDURES,
	};
	if (work->json)
		accuracy_json_print(accuracy, cycles, &look, &out);
	else
		accuracy_text_print(accuracy, cycles, &look, &out);
	if (buffer_failed(&name))
		return message_failure(&(struct error){ -ENOMEM, "out of memory for the tables" });
	return page_show(&out, work->json ? PAGE_JSON : PAGE_TEXT);
}

static int compare(struct work *work, struct resolver *resolver)
{
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	CLEANUP(annotate_index_freep) struct annotate_index *index = NULL;
	CLEANUP(cycles_freep) struct cycles *cycles = NULL;
	CLEANUP(exact_counts_freep) struct exact_counts *truth = NULL;
	CLEANUP(accuracy_freep) struct accuracy *accuracy = NULL;
	CLEANUP(free_pointer) uint32_t *positions = NULL;
	const struct cycles_options asked = { .isa = ISA_UNKNOWN,
					      .pipeline = work->options->pipeline,
					      .no_evidence = work->options->alone };
	struct accuracy_request request = { .runs = work->options->runs_given ? work->options->runs
									      : 1 };
	struct error err;
	if (event_columns_init(&columns, work->input->profile, NULL, 0, &err) < 0 ||
	    annotate_index_new(work->input->profile, resolver, &columns, &index, &err) < 0)
		return message_failure(&err);
	work->index = index;
	int ret = cycles_new(index, &asked, &cycles, &err);
	if (ret == -EINVAL)
		return options_misuse(work->verb, "%s", err.text);
	if (ret < 0)
		return message_failure(&err);
	int status = choose_scale(work, cycles, &request.scale);
	if (status == 0)
		status = choose_procedures(work);
	positions = work->positions;
	if (status)
		return status;
	if (exact_counts_new(work->counted->profile, work->input->profile, &truth, &err) < 0 ||
	    accuracy_new(cycles, truth, positions, work->count, &request, &accuracy, &err) < 0)
		return message_failure(&err);
	return print(work, cycles, accuracy);
}

int accuracy_truth_run(const struct verb *verb, const struct accuracy_options *shared,
		       const struct accuracy_truth_options *options, char *const *paths,
		       size_t count)
{
	CLEANUP(input_release) struct input sampled = { 0 };
	CLEANUP(input_release) struct input counted = { 0 };
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	struct input_options counts = { .base = true };
	input_share(&counts, &shared->input);
	struct work work = { .verb = verb,
			     .options = options,
			     .json = shared->json,
			     .input = &sampled,
			     .counted = &counted };
	if (options->runs_given && !(options->runs > 0 && isfinite(options->runs)))
		return options_misuse(verb, "--runs is a number above 0, not %g", options->runs);
	/* input_read() changes nothing in it */
	char *path = (char *)(uintptr_t)options->truth;
	int status = input_read(&counts, &path, 1, &counted);
	if (status == 0)
		status = input_read(&shared->input, paths, count, &sampled);
	if (status == 0)
		status = input_resolver(&shared->input, &sampled, INPUT_NAMES_AND_CODE, &resolver);
	return status ? status : compare(&work, resolver);
}
