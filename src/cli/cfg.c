#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/cycles/cfg_view.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/candidates.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/output_file.h"
#include "cli/verbs.h"
#include "profile/profile.h"
#include "render/cfg_svg.h"

#define DEFAULT_OUTPUT	     "culprit-cfg.svg"
#define DEFAULT_BLOCKS	     150
#define DEFAULT_INSTRUCTIONS 12

static struct {
	struct input_options input;
	const char *output, *image, *color, *syntax, *pipeline;
	uint64_t limit, instructions;
	bool limit_given, instructions_given, json, dot;
} given;

static const struct option *cfg_options(void)
{
	static const struct option options[] = {
		INPUT_OPTION_ROWS(given.input),
		{ "output", 'o', OPTION_TEXT, "FILE", "write there; '-' is standard output",
		  &given.output, NULL },
		{ "json", 0, OPTION_FLAG, NULL, "one JSON document instead of a picture",
		  &given.json, NULL },
		{ "dot", 0, OPTION_FLAG, NULL, "text for Graphviz instead of a picture", &given.dot,
		  NULL },
		{ "what is shown", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "image", 0, OPTION_TEXT, "NAME", "the procedure of this image", &given.image,
		  NULL },
		{ "limit", 0, OPTION_U64, "N", "the N hottest blocks, if it has more (150); 0: all",
		  &given.limit, &given.limit_given },
		{ "instructions", 0, OPTION_U64, "N", "the first N of a block (12); 0: all",
		  &given.instructions, &given.instructions_given },
		{ "color", 0, OPTION_TEXT, "cpi|cycles",
		  "what colour is; cpi where it is absolute, else cycles", &given.color, NULL },
		{ "disassembler-style", 'M', OPTION_TEXT, "att|intel", "how x86 code is written",
		  &given.syntax, NULL },
		{ "pipeline", 0, OPTION_TEXT, "NAME",
		  "the processor's table, when it is not the recorded one's", &given.pipeline,
		  NULL },
		{ "names", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		NAMING_OPTION_ROWS(given.input),
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
	};
	return options;
}

/* Values of options that are words. */
struct words {
	enum isa_syntax syntax;
	enum cfg_colour colour;
	bool coloured; /* --color is given; else colour is CPI where that is known */
};

/* 0 or the exit status. */
static int read_words(struct words *words)
{
	if (given.json && given.dot)
		return options_misuse(&verb_cfg, "--json and --dot exclude each other");
	words->syntax = given.syntax && strcmp(given.syntax, "intel") == 0 ? ISA_SYNTAX_INTEL
									   : ISA_SYNTAX_ATT;
	if (given.syntax && words->syntax == ISA_SYNTAX_ATT && strcmp(given.syntax, "att") != 0)
		return options_misuse(&verb_cfg, "--disassembler-style is att or intel, not '%s'",
				      given.syntax);
	words->coloured = given.color;
	words->colour =
		given.color && strcmp(given.color, "cpi") == 0 ? CFG_COLOUR_CPI : CFG_COLOUR_CYCLES;
	if (given.color && words->colour == CFG_COLOUR_CYCLES && strcmp(given.color, "cycles") != 0)
		return options_misuse(&verb_cfg, "--color is cpi or cycles, not '%s'", given.color);
	return 0;
}

/* Finds the procedure of that name, or without a name the hottest. 0 or the exit status. */
static int choose(const struct annotate_index *index, const char *name, const char *title,
		  uint32_t *position)
{
	CLEANUP(free_pointer) uint32_t *hottest = NULL;
	size_t count = 0;
	if (name)
		return candidates_find_one(index, name, given.image, title, position);
	int status = candidates_hottest(index, given.image, title, 1, &hottest, &count);
	if (status == 0)
		*position = hottest[0];
	return status;
}

static int draw(struct cycles *cycles, struct resolver *resolver, uint32_t position,
		const struct words *words, struct cfg_picture *picture)
{
	const struct annotate_procedure *asked = &cycles_index(cycles)->procedures[position];
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *procedure = NULL;
	CLEANUP(cfg_view_release) struct cfg_view view = { 0 };
	CLEANUP(buffer_release) struct buffer page = { 0 };
	struct error err = { 0 };
	int ret = cycles_of_procedure(cycles, position, &procedure, &err);
	if (ret == -ENODATA) {
		message_error("'%s' has no graph: %s", asked->procedure->name, err.text);
		return 1;
	}
	if (ret == 0)
		ret = cfg_view_init(&view, procedure, resolver, words->syntax,
				    given.limit_given ? given.limit : DEFAULT_BLOCKS, &err);
	if (ret < 0)
		return message_failure(&err);
	picture->view = &view;
	picture->instructions =
		given.instructions_given ? given.instructions : DEFAULT_INSTRUCTIONS;
	if (!words->coloured)
		picture->colour = cfg_default_colour(procedure);
	if (picture->colour == CFG_COLOUR_CPI && procedure->scale == CYCLES_RELATIVE) {
		message_error("these events do not tell the CPI of '%s', whose costs are relative; "
			      "--color cycles colours shares",
			      procedure->procedure->procedure->name);
		return 1;
	}
	if (given.json)
		cfg_json(picture, &page);
	else if (given.dot)
		cfg_dot(picture, &page);
	else
		cfg_svg(picture, &page);
	if (buffer_failed(&page))
		return message_failure(
			&(struct error){ -ENOMEM, "out of memory drawing the graph" });
	bool standard = given.json || given.dot || !isatty(STDOUT_FILENO);
	return output_file_write_page(given.output, standard ? "-" : DEFAULT_OUTPUT, &page);
}

static int cfg_with(const struct input *input, struct resolver *resolver, const char *name,
		    const struct words *words)
{
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	CLEANUP(annotate_index_freep) struct annotate_index *index = NULL;
	CLEANUP(cycles_freep) struct cycles *cycles = NULL;
	CLEANUP(buffer_release) struct buffer event = { 0 };
	const struct cycles_options asked = { .isa = ISA_UNKNOWN, .pipeline = given.pipeline };
	struct cfg_picture picture = { .source = input->title, .colour = words->colour };
	struct error err = { 0 };
	uint32_t position = 0;
	if (event_columns_init(&columns, input->profile, NULL, 0, &err) < 0 ||
	    annotate_index_new(input->profile, resolver, &columns, &index, &err) < 0)
		return message_failure(&err);
	int ret = cycles_new(index, &asked, &cycles, &err);
	if (ret == -EINVAL)
		return options_misuse(&verb_cfg, "%s", err.text);
	if (ret < 0)
		return message_failure(&err);
	int status = choose(index, name, input->title, &position);
	if (status)
		return status;
	const struct cycles_events *events = cycles_events(cycles);
	size_t column = events->time != CYCLES_NO_COLUMN ? events->time : events->executions;
	buffer_append(&event, columns.list[column].name.data, columns.list[column].name.size);
	picture.event = buffer_text(&event);
	return draw(cycles, resolver, position, words, &picture);
}

static int cfg_run(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_cfg, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status)
		return status;
	CLEANUP(input_release) struct input input = { 0 };
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	struct words words = { .syntax = ISA_SYNTAX_ATT };
	status = read_words(&words);
	if (status)
		return status;
	size_t profiles = (size_t)count;
	const char *procedure = input_take_procedure(argv + 1, &profiles);
	status = input_check_name(&given.input, procedure, profiles);
	if (status == 0)
		status = input_read(&given.input, argv + 1, profiles, &input);
	if (status == 0)
		status = input_resolver(&given.input, &input, INPUT_NAMES_AND_CODE, &resolver);
	return status ? status : cfg_with(&input, resolver, procedure, &words);
}

const struct verb verb_cfg = {
	.name = "cfg",
	.run = cfg_run,
	.summary = "a picture of a procedure's control flow, with executions and CPI",
	.usage = "[OPTIONS] [PROCEDURE] [PROFILE...]",
	.options = cfg_options,
};
