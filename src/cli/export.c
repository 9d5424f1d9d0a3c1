#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/event_column.h"
#include "analyze/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/verbs.h"
#include "export/folded.h"
#include "profile/profile.h"
#include "render/text_table.h"

static struct {
	struct input_options input;
	const char *format, *event, *output;
	bool samples, kernel, jit, inlined, all, pid, tid, no_comm;
} given;

static const struct option *export_options(void)
{
	static const struct option options[] = {
		INPUT_OPTION_ROWS(given.input),
		{ "format", 'f', OPTION_TEXT, "folded", "what to write (folded)", &given.format,
		  NULL },
		{ "output", 'o', OPTION_TEXT, "FILE", "write there; '-' is standard output",
		  &given.output, NULL },
		{ "event", 'e', OPTION_TEXT, "EVENT",
		  "of this event; needed when there are several", &given.event, NULL },
		{ "samples", 0, OPTION_FLAG, NULL, "count samples instead of events",
		  &given.samples, NULL },
		{ "frames", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "kernel", 0, OPTION_FLAG, NULL, "mark kernel procedures with _[k]", &given.kernel,
		  NULL },
		{ "jit", 0, OPTION_FLAG, NULL, "mark code compiled at run time with _[j]",
		  &given.jit, NULL },
		{ "inline", 0, OPTION_FLAG, NULL, "inlined functions as frames, with _[i]",
		  &given.inlined, NULL },
		{ "all", 0, OPTION_FLAG, NULL, "--kernel and --jit", &given.all, NULL },
		{ "pid", 0, OPTION_FLAG, NULL, "begin with the command and its PID", &given.pid,
		  NULL },
		{ "tid", 0, OPTION_FLAG, NULL, "begin with the command, its PID and TID",
		  &given.tid, NULL },
		{ "no-comm", 0, OPTION_FLAG, NULL, "begin with the first function", &given.no_comm,
		  NULL },
		{ "names", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		NAMING_OPTION_ROWS(given.input),
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
	};
	return options;
}

/* The one column to write. 0 or the exit status. */
static int choose_event(const struct event_columns *columns, size_t *column)
{
	CLEANUP(buffer_release) struct buffer names = { 0 };
	*column = 0;
	if (columns->count == 1)
		return 0;
	for (size_t c = 0; c < columns->count; c++) {
		const struct event_column *event = &columns->list[c];
		buffer_append_text(&names, c ? ", " : "");
		text_append_safe(&names, event->name.data, event->name.size);
		if (event->core_type.size) {
			buffer_append_text(&names, " of ");
			text_append_safe(&names, event->core_type.data, event->core_type.size);
		}
	}
	if (columns->count == 0) {
		message_error("the profile has no event");
		return 1;
	}
	return options_misuse(&verb_export, "folded text holds one event; choose with --event: %s",
			      buffer_text(&names));
}

static int write_output(const struct buffer *text)
{
	if (!given.output || strcmp(given.output, "-") == 0) {
		fwrite(text->data, 1, text->size, stdout); /* main() looks at the outcome */
		return 0;
	}
	CLEANUP(close_file) FILE *file = fopen(given.output, "we");
	if (file && fwrite(text->data, 1, text->size, file) == text->size && fflush(file) == 0)
		return 0;
	message_error("cannot write '%s': %s", given.output, strerror(errno));
	return 1;
}

static void say_sums(const struct event_column *event, const struct folded_export_sums *sums)
{
	if (!sums->has_stacks)
		message_note("the profile has no stacks of '%.*s': lines are command, image and "
			     "procedure; record -g keeps stacks",
			     (int)event->name.size, (const char *)event->name.data);
	else if (!cell_is_empty(&sums->missing))
		message_note("%" PRIu64 " samples have no stack and are in no line",
			     sums->missing.samples);
}

static int export_with(const struct input *input, struct resolver *resolver)
{
	const struct folded_export_options options = {
		.count = given.samples ? FOLDED_SAMPLES : FOLDED_ESTIMATES,
		.root = given.no_comm ? FOLDED_ROOT_NONE
			: given.tid   ? FOLDED_ROOT_TID
			: given.pid   ? FOLDED_ROOT_PID
				      : FOLDED_ROOT_COMM,
		.marks = (given.kernel || given.all ? FOLDED_MARK_KERNEL : 0u) |
			 (given.jit || given.all ? FOLDED_MARK_JIT : 0u) |
			 (given.inlined ? FOLDED_INLINED : 0u),
	};
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct folded_export_sums sums;
	struct error err;
	size_t column;
	int ret = event_columns_init(&columns, input->profile, &given.event, given.event ? 1 : 0,
				     &err);
	if (ret < 0) {
		message_error("%s", err.text);
		return ret == -ENOENT ? 2 : 1;
	}
	int status = choose_event(&columns, &column);
	if (status)
		return status;
	if (folded_export(input->profile, resolver, &columns, column, &options, &out, &sums, &err) <
	    0) {
		message_error("%s", err.text);
		return 1;
	}
	status = write_output(&out);
	if (status == 0)
		say_sums(&columns.list[column], &sums);
	return status;
}

static int export_run(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_export, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status >= 0)
		return status;
	if (given.format && strcmp(given.format, "folded") != 0)
		return options_misuse(&verb_export, "unknown format '%s'; there is: folded",
				      given.format);
	if (given.no_comm && (given.pid || given.tid))
		return options_misuse(&verb_export, "--no-comm and --%s exclude each other",
				      given.pid ? "pid" : "tid");
	CLEANUP(input_release) struct input input = { 0 };
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	status = input_read(&given.input, argv + 1, (size_t)count, &input);
	if (status == 0)
		status = input_resolver(&given.input, &input, &resolver);
	return status ? status : export_with(&input, resolver);
}

const struct verb verb_export = {
	.name = "export",
	.run = export_run,
	.summary = "write a profile's stacks for other tools",
	.usage = "[OPTIONS] [PROFILE...]",
	.options = export_options,
};
