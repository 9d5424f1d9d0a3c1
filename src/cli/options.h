/*
 * options - one table per verb that feeds parsing, --help and completion.
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
};

struct option {
	const char *name; /* long, without dashes; NULL ends the table */
	char letter;	  /* 0: none */
	enum option_kind kind;
	const char
		*argument; /* as --help and completion show it: "FILE", "PID", "EVENT", "a|b|c" */
	const char *help;  /* one line, no full stop */
	void *value;
	bool *given; /* becomes true when the option is used; may be NULL */
};

struct verb {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the verb; returns the exit status */
	const char *summary;
	const char *usage; /* what follows "culprit VERB": "[OPTIONS] [PROFILE...]" */
	bool pages;	   /* its output may go through the pager: it has --no-pager by itself */
	/* Fills `options` for --help and completion, without parsing; at most OPTIONS_MAX with the
	 * final NULL. */
	const struct option *(*options)(void);
};

enum options_stop {
	OPTIONS_ANYWHERE,	  /* options may follow arguments */
	OPTIONS_BEFORE_ARGUMENTS, /* the first argument ends them: `record -a sleep -x` */
};

/*
 * Parses argv[1..]; leaves the arguments in argv[1..*argument_count] in order.
 * Returns -1 to go on, or the exit status to return at once: 0 after --help
 * (printed on stdout), 2 after a mistake (one line on stderr). Every verb has
 * --help/-h and --quiet/-q by itself.
 */
int options_parse(const struct verb *verb, int argc, char **argv, enum options_stop stop,
		  int *argument_count);

/* A share is from 0 to 100. Returns -1, or 2 after saying that --NAME is none. */
int options_check_share(const struct verb *verb, const char *name, double percent);

/* Says "culprit: <sentence>; try 'culprit VERB --help'" on stderr and returns 2. */
__attribute__((format(printf, 2, 3))) int options_misuse(const struct verb *verb,
							 const char *format, ...);
