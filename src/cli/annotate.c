#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/annotate.h"
#include "analyze/cycles/cycles.h"
#include "analyze/names/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/annotate_diff.h"
#include "cli/annotate_subject.h"
#include "cli/candidates.h"
#include "cli/colour.h"
#include "cli/comparison.h"
#include "cli/input.h"
#include "cli/input_sides.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/source_files.h"
#include "cli/verbs.h"
#include "profile/profile.h"
#include "render/listing.h"
#include "render/listing_json.h"

#define DEFAULT_PROCEDURES  3
#define COMPARED_PROCEDURES 100 /* the hottest, of which --diff shows those that changed most */

static struct {
	struct input_options input, base_input;
	struct option_list events;
	struct comparison_options comparison;
	const char *image, *isa, *syntax, *color, *source_root, *base;
	bool source, blocks, bytes, no_source, json;
	double min;
	uint64_t limit;
	bool limit_given;
} given = { .base_input = { .base = true } };

static const struct option *annotate_options(void)
{
	static const struct option options[] = {
		INPUT_OPTION_ROWS(given.input),
		{ "what", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "event", 'e', OPTION_LIST, "EVENT", "this event only", &given.events, NULL },
		{ "image", 0, OPTION_TEXT, "NAME", "the procedure of this image", &given.image,
		  NULL },
		{ "limit", 0, OPTION_U64, "N",
		  "without a procedure: the N hottest ones (3); 0: all", &given.limit,
		  &given.limit_given },
		{ "comparison", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "diff", 0, OPTION_TEXT, "BASE",
		  "side by side with the procedure's version in that profile", &given.base, NULL },
		COMPARISON_OPTION_ROWS(given.comparison, "raw|total|second"),
		BASE_INPUT_OPTION_ROWS(given.base_input),
		{ "view", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "source", 's', OPTION_FLAG, NULL, "by source line instead of by instruction",
		  &given.source, NULL },
		{ "blocks", 0, OPTION_FLAG, NULL, "its loops and blocks, the dearest first",
		  &given.blocks, NULL },
		{ "min", 0, OPTION_DOUBLE, "PERCENT", "sum up stretches of instructions below that",
		  &given.min, NULL },
		{ "bytes", 0, OPTION_FLAG, NULL, "the bytes of each instruction", &given.bytes,
		  NULL },
		{ "no-source", 0, OPTION_FLAG, NULL, "do not read source files", &given.no_source,
		  NULL },
		{ "source-root", 0, OPTION_TEXT, "DIR", "look for source files below this folder",
		  &given.source_root, NULL },
		{ "disassembler-style", 'M', OPTION_TEXT, "att|intel", "how x86 code is written",
		  &given.syntax, NULL },
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

struct work {
	const struct input *input;
	struct resolver *resolver;
	const struct annotate_index *index;
	struct annotate_options options;
	struct cycles *cycles; /* NULL: no event tells of them */
	struct listing_options listing;
	struct source_files files;
	uint32_t *positions; /* of the procedures to annotate */
	size_t count;
	size_t most_changed; /* of these, with --diff; 0: all */
	void (*print)(const struct listing_subject *subject, const struct annotate_index *index,
		      const struct listing_options *options, struct buffer *out);
};

static void work_release(struct work *work)
{
	free(work->positions);
	cycles_free(work->cycles);
	source_files_release(&work->files);
}

/* Turns the words of options into values. 0 or the exit status. */
static int read_words(struct work *work)
{
	if (given.isa) {
		work->options.isa = isa_of_name(span_of_text(given.isa));
		if (work->options.isa == ISA_UNKNOWN)
			return options_misuse(&verb_annotate,
					      "--isa is x86-64, i386 or aarch64, not '%s'",
					      given.isa);
	}
	if (given.syntax && strcmp(given.syntax, "intel") == 0)
		work->options.syntax = ISA_SYNTAX_INTEL;
	else if (given.syntax && strcmp(given.syntax, "att") != 0)
		return options_misuse(&verb_annotate,
				      "--disassembler-style is att or intel, not '%s'",
				      given.syntax);
	int status = options_check_share(&verb_annotate, "min", given.min);
	if (status)
		return status;
	work->listing.bytes = given.bytes;
	work->listing.min_percent = given.min;
	return colour_choose(&verb_annotate, given.color, &work->listing.colour);
}

static int choose(struct work *work, const char *name)
{
	const struct annotate_index *index = work->index;
	const char *title = work->input->title;
	if (name) {
		work->positions = calloc(1, sizeof(*work->positions));
		if (!work->positions)
			return message_failure(&(struct error){ -ENOMEM, "out of memory" });
		work->count = 1;
		return candidates_find_one(index, name, given.image, title, work->positions);
	}
	size_t asked = !given.limit_given ? DEFAULT_PROCEDURES
		       : given.limit	  ? (size_t)given.limit
					  : index->count;
	work->most_changed = given.base ? asked : 0;
	size_t most = given.base && asked < COMPARED_PROCEDURES ? COMPARED_PROCEDURES : asked;
	return candidates_hottest(index, given.image, title, most, &work->positions, &work->count);
}

static void say_notes(const struct work *work)
{
	const char *const *notes;
	const char *newer = NULL;
	size_t count = resolver_notes(work->resolver, &notes);
	for (size_t i = 0; i < count; i++)
		message_note("%s", notes[i]);
	count = source_files_newer(&work->files, &newer);
	if (count)
		message_note("source file '%s'%s changed after the recording began: its lines may "
			     "have moved",
			     newer, count > 1 ? " and others" : "");
	const char *reason = NULL;
	count = source_files_refused(&work->files, &reason);
	if (count)
		message_note("%zu source file%s not shown: %s%s", count,
			     count > 1 ? "s are" : " is", reason,
			     work->files.root ? "" : "; --source-root names a folder to trust");
}

static void print_cold(const struct work *work, const struct annotation *annotation,
		       struct buffer *out)
{
	const struct annotate_index *index = work->index;
	for (size_t i = 0; annotation->cold && i < index->count; i++) {
		if (index->procedures[i].procedure != annotation->cold)
			continue;
		buffer_append_text(out, "\nits cold part has samples too: ");
		listing_put_command(&work->listing, index->procedures[i].image_name,
				    annotation->cold->first, out);
		buffer_append_u8(out, '\n');
	}
}

/* Prints one procedure. Adds the scale of its cycles, if it has any, to `scales`, for
 * listing_print_foot(). */
static int print_one(const struct work *work, size_t i, unsigned *scales)
{
	CLEANUP(annotate_subject_release) struct annotate_subject subject = { 0 };
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct error err;
	if (annotate_subject_init(&subject, work->index, work->positions[i], &work->options,
				  work->cycles, &err) < 0)
		return message_failure(&err);
	if (i)
		buffer_append_text(&out, "\n\n");
	work->print(&subject.shown, work->index, &work->listing, &out);
	print_cold(work, subject.annotation, &out);
	int status = page_show(&out, PAGE_TEXT);
	if (status == 0 && subject.cycles)
		*scales |= 1U << subject.cycles->scale;
	return status;
}

static int print_text(const struct work *work)
{
	unsigned scales = 0;
	for (size_t i = 0; i < work->count; i++) {
		int status = print_one(work, i, &scales);
		if (status)
			return status;
	}
	if (!scales)
		return 0;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	listing_print_foot(work->cycles, scales, &out);
	return page_show(&out, PAGE_TEXT);
}

struct subjects {
	struct annotate_subject *list;
	const struct listing_subject **shown;
	size_t count;
};

static void subjects_release(struct subjects *subjects)
{
	for (size_t i = 0; i < subjects->count; i++)
		annotate_subject_release(&subjects->list[i]);
	free(subjects->list);
	free(subjects->shown);
}

static int print_json(const struct work *work)
{
	CLEANUP(subjects_release) struct subjects subjects = { 0 };
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct error err;
	subjects.list = calloc(work->count + 1, sizeof(*subjects.list));
	subjects.shown = calloc(work->count + 1, sizeof(*subjects.shown));
	if (!subjects.list || !subjects.shown)
		return message_failure(&(struct error){ -ENOMEM, "out of memory for the listing" });
	for (; subjects.count < work->count; subjects.count++) {
		struct annotate_subject *subject = &subjects.list[subjects.count];
		if (annotate_subject_init(subject, work->index, work->positions[subjects.count],
					  &work->options, work->cycles, &err) < 0)
			return message_failure(&err);
		subjects.shown[subjects.count] = &subject->shown;
	}
	const char *const *notes;
	size_t note_count = resolver_notes(work->resolver, &notes);
	listing_json_print(subjects.shown, subjects.count, work->index, work->cycles, notes,
			   note_count, &out);
	return page_show(&out, PAGE_JSON);
}

static int print_diff(const struct work *work)
{
	input_share(&given.base_input, &given.input);
	const struct annotate_diff_request request = { .verb = &verb_annotate,
						       .base = given.base,
						       .input = &given.base_input,
						       .events = &given.events,
						       .comparison = &given.comparison,
						       .after = work->index,
						       .after_title = work->input->title,
						       .positions = work->positions,
						       .count = work->count,
						       .most_changed = work->most_changed,
						       .options = work->options,
						       .listing = &work->listing,
						       .json = given.json };
	return annotate_diff_print(&request);
}

/* Refuses options that need --diff without it, and those that exclude each other. 0 or the exit
 * status. */
static int check_together(void)
{
	if (given.base && given.source)
		return options_misuse(&verb_annotate, "--diff is by instruction, --source by line");
	if (given.blocks && (given.base || given.source || given.json))
		return options_misuse(&verb_annotate, "--blocks does not go with --%s",
				      given.base     ? "diff"
				      : given.source ? "source"
						     : "json, which has them");
	if (given.base && given.bytes)
		return options_misuse(&verb_annotate, "--diff has no room for --bytes");
	if (!given.base && (given.comparison.per || given.comparison.counts))
		return options_misuse(&verb_annotate, "--%s goes with --diff",
				      given.comparison.per ? "per" : "counts");
	if (!given.base && input_chosen(&given.base_input))
		return options_misuse(&verb_annotate, "%s goes with --diff",
				      input_chosen(&given.base_input));
	return 0;
}

/* 0 or the exit status. Profiles without an event that tells of time have no cycles. */
static int open_cycles(struct work *work)
{
	const struct cycles_options options = { .isa = work->options.isa };
	struct error err;
	int ret = cycles_new(work->index, &options, &work->cycles, &err);
	if (ret == -ENOENT && given.blocks)
		return message_failure(&err);
	return ret == 0 || ret == -ENOENT ? 0 : message_failure(&err);
}

static void choose_view(struct work *work, const char *name)
{
	if (given.source)
		work->print = listing_print_lines;
	else if (given.blocks)
		work->print = listing_print_blocks;
	else if (!name && given.min == 0)
		work->print = listing_print_screen;
	else
		work->print = listing_print;
}

static int annotate_with(struct work *work, const char *name)
{
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	CLEANUP(annotate_index_freep) struct annotate_index *index = NULL;
	const struct profile *profile = work->input->profile;
	struct error err;
	int ret =
		event_columns_init(&columns, profile, given.events.items, given.events.count, &err);
	if (ret < 0)
		return message_failure(&err);
	if (annotate_index_new(profile, work->resolver, &columns, &index, &err) < 0)
		return message_failure(&err);
	work->index = index;
	int status = choose(work, name);
	if (status)
		return status;
	for (size_t row = 0; row < profile_table(profile, PROFILE_SOURCE)->count; row++) {
		uint64_t start_ns = profile_source(profile, row).start_ns;
		if (start_ns > work->files.start_ns)
			work->files.start_ns = start_ns;
	}
	work->files.root = given.source_root;
	if (!given.no_source) {
		work->listing.source = source_files_line;
		work->listing.source_context = &work->files;
	}
	if (!given.base) {
		status = open_cycles(work);
		if (status)
			return status;
		choose_view(work, name);
	}
	if (given.base)
		status = print_diff(work);
	else
		status = given.json ? print_json(work) : print_text(work);
	if (status == 0 && !given.json)
		say_notes(work);
	return status;
}

/* The profile that a suggested command on the same input has to name; NULL: the usual one, standard
 * input or several. */
static const char *only_profile(char *const *arguments, size_t count)
{
	const struct option_list *files = &given.input.files;
	if (files->count + count != 1)
		return NULL;
	const char *only = count ? arguments[0] : files->items[0];
	return strcmp(only, INPUT_DEFAULT) == 0 || strcmp(only, "-") == 0 ? NULL : only;
}

static int annotate_run(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_annotate, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status)
		return status;
	CLEANUP(work_release) struct work work = { 0 };
	CLEANUP(input_release) struct input input = { 0 };
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	status = check_together();
	if (status == 0)
		status = read_words(&work);
	size_t profiles = (size_t)count;
	const char *procedure = input_take_procedure(argv + 1, &profiles);
	char **paths = argv + 1;
	char *base = (char *)(uintptr_t)given.base; /* input_read() changes nothing in it */
	if (base && input_is_both_sides(&given.input, base, profiles)) {
		paths = &base;
		profiles = 1;
		if (status == 0)
			status = input_part_database(&given.base_input, &given.input, base);
	}
	if (status == 0)
		status = input_check_name(&given.input, procedure, profiles);
	if (status == 0)
		status = input_read(&given.input, paths, profiles, &input);
	if (status == 0)
		status = input_resolver(&given.input, &input, INPUT_NAMES_AND_CODE, &resolver);
	if (status)
		return status;
	work.listing.profile = only_profile(paths, profiles);
	work.input = &input;
	work.resolver = resolver;
	return annotate_with(&work, procedure);
}

const struct verb verb_annotate = {
	.name = "annotate",
	.run = annotate_run,
	.summary = "how often a procedure's instructions ran, and what each cost",
	.usage = "[OPTIONS] [PROCEDURE] [PROFILE...]",
	.pages = true,
	.options = annotate_options,
};
