/*
 * verb - a verb of the command line, and its table of options, from which parsing, --help and
 * completion come.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
	OPTION_FLAG,		/* `value` is a bool * that becomes true */
	OPTION_TEXT,		/* `value` is a const char **; given twice, the last one wins */
	OPTION_LIST,		/* `value` is a struct option_list *; each use appends */
	OPTION_U64,		/* `value` is a uint64_t * */
	OPTION_DOUBLE,		/* `value` is a double *; "1%" reads as 1 */
	OPTION_OPTIONAL_DOUBLE, /* a double * too; "--name" alone leaves it as it is */
	OPTION_NS,		/* `value` is a uint64_t * in ns, written as "1.5s" */
	OPTION_GROUP,		/* no option: a heading in --help */
};

struct option_list {
	const char *items[64];
	size_t count;
	bool of_file; /* the items are a settings file's: those of the command line replace them */
};

struct option {
	const char *name; /* long, without dashes; NULL ends the table */
	char letter;	  /* 0: none */
	enum option_kind kind;
	const char
		*argument; /* as --help and completion show it: "FILE", "PID", "EVENT", "a|b|c" */
	const char *help;  /* one line, no full stop */
	void *value;
	bool *given; /* becomes true when the option is used; may be NULL, but not for
			OPTION_OPTIONAL_DOUBLE */
};

struct verb {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the verb; returns as cli/status.h has it */
	const char *summary;
	const char *usage; /* what follows "culprit VERB": "[OPTIONS] [PROFILE...]" */
	bool pages;	   /* its output may go through the pager: it has --no-pager by itself */
	/* Fills `options` for --help and completion, without parsing; at most OPTIONS_MAX with the
	 * final NULL. */
	const struct option *(*options)(void);
};
