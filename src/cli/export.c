#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/figures/event_column.h"
#include "analyze/names/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/output_file.h"
#include "cli/verbs.h"
#include "export/exporter.h"
#include "export/sink.h"
#include "profile/profile.h"
#include "render/text_table.h"

static struct {
	struct input_options input;
	struct option_list events;
	const char *format, *output;
	bool samples, kernel, jit, inlined, all, addrs, pid, tid, no_comm;
} given;

static const struct option *export_options(void)
{
	static const struct option options[] = {
		INPUT_OPTION_ROWS(given.input),
		{ "format", 'f', OPTION_TEXT,
		  "folded|perf-script|firefox|pprof|speedscope|csv|json|callgrind|pixie",
		  "what to write (folded)", &given.format, NULL },
		{ "output", 'o', OPTION_TEXT, "FILE", "write there; '-' is standard output",
		  &given.output, NULL },
		{ "event", 'e', OPTION_LIST, "EVENT", "of this event; 'A,B' or twice for several",
		  &given.events, NULL },
		{ "samples", 0, OPTION_FLAG, NULL, "count samples instead of events",
		  &given.samples, NULL },
		{ "frames", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "kernel", 0, OPTION_FLAG, NULL, "mark kernel procedures with _[k]", &given.kernel,
		  NULL },
		{ "jit", 0, OPTION_FLAG, NULL, "mark code compiled at run time with _[j]",
		  &given.jit, NULL },
		{ "inline", 0, OPTION_FLAG, NULL, "inlined functions as frames, with _[i]",
		  &given.inlined, NULL },
		{ "addrs", 0, OPTION_FLAG, NULL, "code without a name shows its address",
		  &given.addrs, NULL },
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

#define MOST_PATTERNS 64

/* What -e asks for: "A,B" are two, but "cpu/event=1,umask=2/" is one. */
struct patterns {
	char *texts[MOST_PATTERNS];
	size_t count;
};

static void patterns_release(struct patterns *patterns)
{
	for (size_t i = 0; i < patterns->count; i++)
		free(patterns->texts[i]);
}

static int add_pattern(struct patterns *patterns, const char *text, size_t size)
{
	if (patterns->count == MOST_PATTERNS)
		return options_misuse(&verb_export, "more than %d events are given", MOST_PATTERNS);
	patterns->texts[patterns->count] = strndup(text, size);
	if (!patterns->texts[patterns->count]) {
		message_error("out of memory reading events");
		return 1;
	}
	patterns->count++;
	return 0;
}

static int read_patterns(struct patterns *patterns)
{
	int status = 0;
	for (size_t i = 0; i < given.events.count; i++) {
		const char *start = given.events.items[i];
		bool inside = false;
		for (const char *at = start; status == 0; at++) {
			inside ^= *at == '/';
			if (*at && (*at != ',' || inside))
				continue;
			status = add_pattern(patterns, start, (size_t)(at - start));
			start = at + 1;
			if (!*at)
				break;
		}
	}
	return status;
}

/* Formats without names of events tell two apart by their order: there a pattern must match one
 * event only. */
static int refuse_several(const struct exporter *exporter, const char *pattern, size_t count)
{
	return options_misuse(&verb_export,
			      "'%s' is the name of %zu events of this profile, and %s cannot tell "
			      "them apart",
			      pattern, count, exporter->name);
}

/* Adds the columns of one pattern to the choice, each once. 0 or the exit status. */
static int choose_pattern(const struct exporter *exporter, const struct profile *profile,
			  const char *pattern, const struct event_columns *columns, size_t *chosen,
			  size_t *count)
{
	CLEANUP(event_columns_release) struct event_columns matched = { 0 };
	struct error err = { 0 };
	int ret = event_columns_init(&matched, profile, &pattern, 1, &err);
	if (ret < 0)
		return message_failure(&err);
	if (matched.count > 1 && exporter->most_events != EXPORT_ANY_EVENTS &&
	    !strpbrk(pattern, "*?["))
		return refuse_several(exporter, pattern, matched.count);
	for (size_t c = 0; c < matched.count; c++) {
		size_t event = 1, i = 0;
		while (matched.of_event[event] != c)
			event++;
		uint32_t column = columns->of_event[event];
		while (i < *count && chosen[i] != column)
			i++;
		if (i == *count)
			chosen[(*count)++] = column;
	}
	return 0;
}

static int refuse_choice(const struct exporter *exporter, const struct event_columns *columns,
			 size_t chosen)
{
	CLEANUP(buffer_release) struct buffer names = { 0 };
	for (size_t c = 0; c < columns->count; c++) {
		const struct event_column *event = &columns->list[c];
		buffer_append_text(&names, c ? ", " : "");
		text_append_safe(&names, event->name.data, event->name.size);
		if (event->core_type.size) {
			buffer_append_text(&names, " of ");
			text_append_safe(&names, event->core_type.data, event->core_type.size);
		}
	}
	if (given.events.count)
		return options_misuse(&verb_export, "%s holds %zu events at most, not %zu",
				      exporter->name, exporter->most_events, chosen);
	bool two = exporter->most_events > 1;
	return options_misuse(&verb_export, "%s holds one event%s; choose with -e EVENT%s: %s",
			      exporter->name, two ? ", or two side by side" : "",
			      two ? " or -e EVENT,EVENT" : "", buffer_text(&names));
}

/* Which columns to write, in the order asked for. 0 or the exit status. */
static int choose_events(const struct exporter *exporter, const struct profile *profile,
			 const struct event_columns *columns, size_t *chosen, size_t *count)
{
	CLEANUP(patterns_release) struct patterns patterns = { 0 };
	int status = read_patterns(&patterns);
	for (size_t i = 0; status == 0 && i < patterns.count; i++)
		status = choose_pattern(exporter, profile, patterns.texts[i], columns, chosen,
					count);
	if (status)
		return status;
	if (columns->count == 0) {
		message_error("the profile has no event");
		return 1;
	}
	bool one = !patterns.count && exporter->most_events != EXPORT_ANY_EVENTS;
	size_t main = event_columns_main(columns);
	for (size_t c = 0; !patterns.count && c < columns->count; c++)
		if (!one || c == main || columns->list[c].counted) /* not one without counts */
			chosen[(*count)++] = c;
	size_t most = patterns.count || exporter->most_events == EXPORT_ANY_EVENTS
			      ? exporter->most_events
			      : 1;
	return *count > most ? refuse_choice(exporter, columns, *count) : 0;
}

static void say_sums(const struct event_column *event, const struct export_sums *sums)
{
	if (!sums->has_stacks)
		message_note(
			"the profile has no stacks of '%.*s': what is written are commands, images "
			"and procedures; record -g keeps stacks",
			(int)event->name.size, (const char *)event->name.data);
	else if (!cell_is_empty(&sums->missing))
		message_note("%" PRIu64 " samples of '%.*s' have no stack and are left out",
			     sums->missing.samples, (int)event->name.size,
			     (const char *)event->name.data);
}

static int write_output(const struct exporter *exporter, const struct export_input *input,
			struct export_sums *sums)
{
	CLEANUP(output_file_release) struct output_file output;
	CLEANUP(sink_release) struct sink sink = { 0 };
	struct error err = { 0 };
	int status = output_file_open(&output, given.output);
	if (status)
		return status;
	if (output.standard && exporter->binary && isatty(STDOUT_FILENO)) {
		message_error("%s is not for a terminal; write it to a file with -o FILE",
			      exporter->name);
		return 1;
	}
	sink_init(&sink, output_file_write, &output);
	int ret = exporter->write(input, &sink, sums, &err);
	if (ret == 0)
		ret = sink_finish(&sink);
	if (sink.status)
		return output_file_failed(&output, sink.status);
	return ret < 0 ? message_failure(&err) : output_file_finish(&output);
}

static int export_with(const struct exporter *exporter, const struct input *input,
		       struct resolver *resolver)
{
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	struct error err = { 0 };
	int ret = event_columns_init(&columns, input->profile, NULL, 0, &err);
	if (ret < 0)
		return message_failure(&err);
	CLEANUP(free_pointer) size_t *chosen = calloc(columns.count + 1, sizeof(*chosen));
	CLEANUP(free_pointer)
	struct export_sums *sums = calloc(columns.count + 1, sizeof(*sums));
	if (!chosen || !sums) {
		message_error("out of memory reading events");
		return 1;
	}
	struct export_input what = {
		.profile = input->profile,
		.resolver = resolver,
		.columns = &columns,
		.chosen = chosen,
		.options = { .count = given.samples ? EXPORT_SAMPLES : EXPORT_ESTIMATES,
			     .root = given.no_comm ? EXPORT_ROOT_NONE
				     : given.tid   ? EXPORT_ROOT_TID
				     : given.pid   ? EXPORT_ROOT_PID
						   : EXPORT_ROOT_COMM,
			     .marks = (given.kernel || given.all ? EXPORT_MARK_KERNEL : 0u) |
				      (given.jit || given.all ? EXPORT_MARK_JIT : 0u) |
				      (given.inlined ? EXPORT_INLINED : 0u) |
				      (given.addrs ? EXPORT_ADDRESSES : 0u) },
	};
	int status = choose_events(exporter, input->profile, &columns, chosen, &what.chosen_count);
	if (status == 0)
		status = write_output(exporter, &what, sums);
	for (size_t i = 0; status == 0 && !exporter->of_code && i < what.chosen_count; i++)
		say_sums(&columns.list[chosen[i]], &sums[i]);
	return status;
}

static int refuse_format(void)
{
	CLEANUP(buffer_release) struct buffer names = { 0 };
	for (size_t i = 0; exporters[i]; i++)
		buffer_printf(&names, "%s%s", i ? ", " : "", exporters[i]->name);
	return options_misuse(&verb_export, "unknown format '%s'; there are: %s", given.format,
			      buffer_text(&names));
}

/* Refuses options that have no effect on the format. */
static int refuse_useless(const struct exporter *exporter)
{
	const struct {
		bool is_given;
		enum export_use use;
		const char *name;
	} options[] = {
		{ given.samples, EXPORT_USES_COUNT, "samples" },
		{ given.pid, EXPORT_USES_ROOT, "pid" },
		{ given.tid, EXPORT_USES_ROOT, "tid" },
		{ given.no_comm, EXPORT_USES_ROOT, "no-comm" },
		{ given.kernel, EXPORT_USES_MARKS, "kernel" },
		{ given.jit, EXPORT_USES_MARKS, "jit" },
		{ given.all, EXPORT_USES_MARKS, "all" },
		{ given.addrs, EXPORT_USES_MARKS, "addrs" },
		{ given.inlined, EXPORT_USES_INLINED, "inline" },
	};
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].is_given && !(exporter->uses & options[i].use))
			return options_misuse(&verb_export, "--%s means nothing with --format %s",
					      options[i].name, exporter->name);
	if (given.events.count && exporter->of_code)
		return options_misuse(&verb_export,
				      "--event means nothing with --format %s: it takes all",
				      exporter->name);
	return 0;
}

static int export_run(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_export, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status)
		return status;
	const struct exporter *exporter = exporter_named(given.format ? given.format : "folded");
	if (!exporter)
		return refuse_format();
	if (given.no_comm && (given.pid || given.tid))
		return options_misuse(&verb_export, "--no-comm and --%s exclude each other",
				      given.pid ? "pid" : "tid");
	status = refuse_useless(exporter);
	if (status)
		return status;
	CLEANUP(input_release) struct input input = { 0 };
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	status = input_read(&given.input, argv + 1, (size_t)count, &input);
	if (status == 0)
		status = input_resolver(&given.input, &input,
					exporter->of_code ? INPUT_NAMES_AND_CODE : INPUT_NAMES,
					&resolver);
	return status ? status : export_with(exporter, &input, resolver);
}

const struct verb verb_export = {
	.name = "export",
	.run = export_run,
	.summary = "write a profile for other tools",
	.usage = "[OPTIONS] [PROFILE...]",
	.options = export_options,
};
