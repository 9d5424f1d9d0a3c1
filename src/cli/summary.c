#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/culprits/summary.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/colour.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/verbs.h"
#include "profile/profile.h"
#include "render/summary_json.h"
#include "render/summary_text.h"

#define DEFAULT_WORST 20

static struct {
	struct input_options input;
	struct option_list events;
	const char *image, *isa, *pipeline, *color;
	bool json;
	uint64_t limit;
} given = { .limit = DEFAULT_WORST };

static const struct option *summary_options(void)
{
	static const struct option options[] = {
		INPUT_OPTION_ROWS(given.input),
		{ "what", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "event", 'e', OPTION_LIST, "EVENT", "estimate with this event alone",
		  &given.events, NULL },
		{ "image", 0, OPTION_TEXT, "NAME", "procedures of this image alone", &given.image,
		  NULL },
		{ "limit", 0, OPTION_U64, "N", "list the N worst stalls (20)", &given.limit, NULL },
		{ "estimates", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "pipeline", 0, OPTION_TEXT, "NAME",
		  "the table of this processor instead of the profile's own", &given.pipeline,
		  NULL },
		{ "isa", 0, OPTION_TEXT, "x86-64|i386|aarch64",
		  "the code's instruction set, when the profile does not tell", &given.isa, NULL },
		{ "names", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		NAMING_OPTION_ROWS(given.input),
		{ "output", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "json", 0, OPTION_FLAG, NULL, "one JSON document", &given.json, NULL },
		COLOUR_OPTION_ROW(given.color),
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
	};
	return options;
}

/* The arguments: procedures and images, then files to read. */
struct asked {
	char *const *names;
	size_t name_count;
	char *const *files;
	size_t file_count;
};

/* An argument that is a file here is a profile. */
static struct asked split(char *const *arguments, size_t count)
{
	size_t names = count;
	while (names && access(arguments[names - 1], F_OK) == 0)
		names--;
	return (struct asked){ arguments, names, arguments + names, count - names };
}

/* Procedures that the arguments name. */
struct chosen {
	uint32_t *positions;
	size_t count;
	bool *taken; /* by position: it is in `positions` */
	size_t images, procedures;
};

static void chosen_release(struct chosen *chosen)
{
	free(chosen->positions);
	free(chosen->taken);
}

static void take(struct chosen *chosen, uint32_t position)
{
	if (chosen->taken[position])
		return;
	chosen->taken[position] = true;
	chosen->positions[chosen->count++] = position;
}

static size_t take_image(const struct annotate_index *index, const char *image,
			 struct chosen *chosen)
{
	size_t found = 0;
	for (size_t i = 0; i < index->count; i++) {
		if (image && strcmp(index->procedures[i].image_name, image) != 0)
			continue;
		take(chosen, (uint32_t)i);
		found++;
	}
	return found;
}

/* Adds the procedures of the image of that name, or else those that it may mean. 0 or the exit
 * status.
 */
static int take_name(const struct annotate_index *index, const char *name, const char *title,
		     struct chosen *chosen)
{
	CLEANUP(free_pointer) uint32_t *positions = NULL;
	size_t count = 0;
	if (!given.image && take_image(index, name, chosen)) {
		chosen->images++;
		return 0;
	}
	if (annotate_index_search(index, name, given.image, &positions, &count) < 0)
		return message_failure(&(struct error){ -ENOMEM, "out of memory" });
	for (size_t i = 0; i < count; i++)
		take(chosen, positions[i]);
	chosen->procedures += count;
	if (count)
		return 0;
	message_error("no procedure or image '%s' has samples in %s; 'culprit report' lists those "
		      "that have",
		      name, title);
	return 1;
}

static int choose(const struct annotate_index *index, const struct asked *asked, const char *title,
		  struct chosen *chosen)
{
	chosen->positions = calloc(index->count + 1, sizeof(*chosen->positions));
	chosen->taken = calloc(index->count + 1, sizeof(*chosen->taken));
	if (!chosen->positions || !chosen->taken)
		return message_failure(&(struct error){ -ENOMEM, "out of memory" });
	if (!asked->name_count) {
		if (take_image(index, given.image, chosen) || !given.image)
			return 0;
		message_error("no samples of image '%s' in %s", given.image, title);
		return 1;
	}
	for (size_t i = 0; i < asked->name_count; i++) {
		int status = take_name(index, asked->names[i], title, chosen);
		if (status)
			return status;
	}
	return 0;
}

/* For the head: the names that were given. */
static void describe(const struct asked *asked, struct buffer *out)
{
	for (size_t i = 0; i < asked->name_count; i++)
		buffer_printf(out, "%s%s", i ? ", " : "", asked->names[i]);
	if (given.image)
		buffer_printf(out, "%s%s", asked->name_count ? " of " : "", given.image);
}

static void say_notes(const struct cycles *cycles, const struct resolver *resolver)
{
	const char *const *notes;
	size_t count = cycles_notes(cycles, &notes);
	for (size_t i = 0; i < count; i++)
		message_note("%s", notes[i]);
	count = resolver_notes(resolver, &notes);
	for (size_t i = 0; i < count; i++)
		message_note("%s", notes[i]);
	count = resolver_file_notes(resolver, &notes);
	for (size_t i = 0; i < count; i++)
		message_note("%s", notes[i]);
}

static int print(const struct summary *summary, const struct cycles *cycles,
		 const struct resolver *resolver, const struct summary_text_options *look)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	const char *const *notes;
	size_t note_count = resolver_notes(resolver, &notes);
	if (given.json)
		summary_json(summary, cycles, notes, note_count, &page);
	else
		summary_text(summary, cycles, look, &page);
	int status = page_show(&page, given.json ? PAGE_JSON : PAGE_TEXT);
	if (status == 0 && !given.json)
		say_notes(cycles, resolver);
	return status;
}

static int summarise(const struct input *input, struct resolver *resolver,
		     const struct asked *asked, enum isa isa, enum text_colour colour)
{
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	CLEANUP(annotate_index_freep) struct annotate_index *index = NULL;
	CLEANUP(cycles_freep) struct cycles *cycles = NULL;
	CLEANUP(summary_freep) struct summary *summary = NULL;
	CLEANUP(chosen_release) struct chosen chosen = { 0 };
	CLEANUP(buffer_release) struct buffer subject = { 0 };
	const struct cycles_options estimate = { .isa = isa, .pipeline = given.pipeline };
	const struct summary_options options = { .worst = (size_t)given.limit };
	struct error err;
	int ret = event_columns_init(&columns, input->profile, given.events.items,
				     given.events.count, &err);
	if (ret < 0)
		return message_failure(&err);
	if (annotate_index_new(input->profile, resolver, &columns, &index, &err) < 0)
		return message_failure(&err);
	ret = cycles_new(index, &estimate, &cycles, &err);
	if (ret == -EINVAL)
		return options_misuse(&verb_summary, "%s", err.text);
	if (ret < 0)
		return message_failure(&err);
	int status = choose(index, asked, input->title, &chosen);
	if (status)
		return status;
	if (summary_new(cycles, chosen.positions, chosen.count, &options, &summary, &err) < 0)
		return message_failure(&err);
	describe(asked, &subject);
	const struct summary_text_options look = {
		.title = input->title,
		.subject = subject.size ? buffer_text(&subject) : NULL,
		.colour = colour,
	};
	return print(summary, cycles, resolver, &look);
}

static int run_summary(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_summary, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status)
		return status;
	enum isa isa = ISA_UNKNOWN;
	enum text_colour colour;
	if (given.isa && (isa = isa_of_name(span_of_text(given.isa))) == ISA_UNKNOWN)
		return options_misuse(&verb_summary, "--isa is x86-64, i386 or aarch64, not '%s'",
				      given.isa);
	if (given.limit > UINT32_MAX)
		return options_misuse(&verb_summary, "--limit is too large");
	status = colour_choose(&verb_summary, given.color, &colour);
	if (status)
		return status;
	struct asked asked = split(argv + 1, (size_t)count);
	if (input_check_name(&given.input,
			     asked.name_count ? asked.names[asked.name_count - 1] : NULL,
			     asked.file_count))
		return 1;
	CLEANUP(input_release) struct input input = { 0 };
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	status = input_read(&given.input, asked.files, asked.file_count, &input);
	if (status == 0)
		status = input_resolver(&given.input, &input, INPUT_NAMES_AND_CODE, &resolver);
	if (status)
		return status;
	return summarise(&input, resolver, &asked, isa, colour);
}

const struct verb verb_summary = {
	.name = "summary",
	.run = run_summary,
	.summary = "why cycles were lost: stalls by cause, and the worst ones",
	.usage = "[OPTIONS] [PROCEDURE|IMAGE...] [PROFILE...]",
	.pages = true,
	.options = summary_options,
};
