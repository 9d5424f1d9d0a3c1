/*
 * input - what commands that read profiles read: profile files, databases,
 * files of other tools, or a pipe, recognised by their content. Several read as one.
 * The same options stand in every such command's table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/limits.h"
#include "cli/options.h"

struct profile;
struct resolver;

#define INPUT_DEFAULT "culprit.prof"

struct input_options {
	struct option_list files;	  /* of -i; read before the arguments */
	struct option_list hosts, epochs, labels; /* of databases */
	const char *since, *until;
	const char *symfs;
	const char *limits; /* as limits_open() takes them */
	bool stash_only, debuginfod;
	bool force;	   /* of a damaged file of another tool, what comes before the damage */
	bool without_code; /* the verb never looks at code bytes: faster */
	bool base;	   /* the options are those of the base: --base-host and so on */
	/* Not 0: of a database the base is what ended before that, the other side what began since
	 * (input_sides.h). `apart_text` is how it was said. */
	uint64_t apart_ns;
	const char *apart_text;
};

/* Rows of an option table; `o` is a struct input_options that outlives the table. */
#define INPUT_OPTION_ROWS(o)                                                                           \
	{ "input",    'i', OPTION_LIST, "FILE", "read this profile; '-' is standard input",            \
	  &(o).files, NULL },                                                                          \
		{ "host", 0, OPTION_LIST, "NAME", "of a database, this host only", &(o).hosts, NULL }, \
		{ "epoch",     0,   OPTION_LIST, "NAME", "of a database, this epoch only",             \
		  &(o).epochs, NULL },                                                                 \
		{ "label",                                                                             \
		  0,                                                                                   \
		  OPTION_LIST,                                                                         \
		  "TEXT",                                                                              \
		  "of a database, epochs with this label only",                                        \
		  &(o).labels,                                                                         \
		  NULL },                                                                              \
		{ "since",                                                                             \
		  0,                                                                                   \
		  OPTION_TEXT,                                                                         \
		  "TIME",                                                                              \
		  "of a database, what was recorded after that",                                       \
		  &(o).since,                                                                          \
		  NULL },                                                                              \
		{ "until",                                                                             \
		  0,                                                                                   \
		  OPTION_TEXT,                                                                         \
		  "TIME",                                                                              \
		  "of a database, what was recorded before that",                                      \
		  &(o).until,                                                                          \
		  NULL },                                                                              \
		LIMITS_OPTION_ROW((o).limits),                                                         \
	{                                                                                              \
		"force", 0, OPTION_FLAG, NULL,                                                         \
			"of a damaged recording of another tool, read what comes before the "          \
			"damage",                                                                      \
			&(o).force, NULL                                                               \
	}

/* Rows for the base of a comparison; `o` is a second struct input_options, whose `base` is set. */
#define BASE_INPUT_OPTION_ROWS(o)                                                                    \
	{ "base-host", 0,   OPTION_LIST, "NAME", "of the base's database, this host only",           \
	  &(o).hosts,  NULL },                                                                       \
		{ "base-epoch", 0,   OPTION_LIST, "NAME", "of the base's database, this epoch only", \
		  &(o).epochs,	NULL },                                                              \
		{ "base-label",                                                                      \
		  0,                                                                                 \
		  OPTION_LIST,                                                                       \
		  "TEXT",                                                                            \
		  "of the base's database, epochs with this label only",                             \
		  &(o).labels,                                                                       \
		  NULL },                                                                            \
		{ "base-since",                                                                      \
		  0,                                                                                 \
		  OPTION_TEXT,                                                                       \
		  "TIME",                                                                            \
		  "of the base's database, what was recorded after that",                            \
		  &(o).since,                                                                        \
		  NULL },                                                                            \
	{                                                                                            \
		"base-until", 0, OPTION_TEXT, "TIME",                                                \
			"of the base's database, what was recorded before that", &(o).until, NULL    \
	}

#define NAMING_OPTION_ROWS(o)                                                                      \
	{ "symfs",    0,   OPTION_TEXT, "DIR", "look for binaries below this folder first",        \
	  &(o).symfs, NULL },                                                                      \
		{ "stash-only",                                                                    \
		  0,                                                                               \
		  OPTION_FLAG,                                                                     \
		  NULL,                                                                            \
		  "take names from the profile alone, no file here",                               \
		  &(o).stash_only,                                                                 \
		  NULL },                                                                          \
	{                                                                                          \
		"debuginfod", 0, OPTION_FLAG, NULL, "ask $DEBUGINFOD_URLS for what is missing",    \
			&(o).debuginfod, NULL                                                      \
	}

/* The option that chooses from a database, "--host" or "--base-host", if one is given; else NULL.
 */
const char *input_chosen(const struct input_options *options);

/* Copies to the base what has no option of its own there: --symfs, --limits and so on. */
void input_share(struct input_options *base, const struct input_options *other);

struct input {
	struct profile *profile;
	char *title; /* names of the files, for the head of a report */
};
void input_release(struct input *input); /* for CLEANUP() */

/*
 * Reads options->files and the `count` arguments, or INPUT_DEFAULT without any, and
 * merges them. Errors and remarks go to stderr. Returns 0 and what the caller releases, or the exit
 * status.
 */
int input_read(const struct input_options *options, char *const *arguments, size_t count,
	       struct input *input);

/*
 * Removes the procedure from the arguments [PROCEDURE] [PROFILE...] and returns it; NULL: there is
 * none. It is the first one unless that is a profile, a database or a file of another tool by its
 * content, a pipe or "-"; then the last one if it is no file.
 */
const char *input_take_procedure(char **arguments, size_t *count);
/*
 * Returns 1, after a message, when `name` is all that was given and there is no INPUT_DEFAULT to
 * find it in: it may have been meant as a profile, which is not there. Else 0. `name` may be NULL;
 * `profiles` is the number of profiles among the arguments.
 */
int input_check_name(const struct input_options *options, const char *name, size_t profiles);

enum input_naming {
	INPUT_NAMES,
	INPUT_NAMES_AND_CODE, /* for listings: also the bytes of procedures */
};
/* Stores a resolver of names for the profile's code, which the caller frees before the input.
 * Returns 0, or the exit status after a message. */
int input_resolver(const struct input_options *options, const struct input *input,
		   enum input_naming what, struct resolver **resolver);
