#include "cli/help.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/verb.h"

#define COLUMNS		80
#define HELP_COLUMN	34 /* where what an option does begins */
#define OVERVIEW_COLUMN 15
#define FIRST_COLUMN	6 /* where an option's long name does */

/* A line that is written piece by piece. */
struct line {
	size_t column, indent;
	bool wrapped;
};

static void put(struct line *line, const char *text, size_t length)
{
	fwrite(text, 1, length, stdout);
	line->column += length;
}

static void go_to(struct line *line, size_t column)
{
	if (line->column > column) {
		putchar('\n');
		line->column = 0;
	}
	printf("%*s", (int)(column - line->column), "");
	line->column = column;
}

static void wrap(struct line *line)
{
	putchar('\n');
	line->column = 0;
	line->wrapped = true;
	go_to(line, line->indent);
}

/* Breaks lines at spaces, and behind the '|' between alternatives. */
static void put_wrapped(struct line *line, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, " |");
		length += text[length] == '|';
		if (line->column + length > COLUMNS && line->column > line->indent) {
			wrap(line);
		}
		put(line, text, length);
		text += length;
		size_t spaces = strspn(text, " ");
		/* no space at a line's end */
		size_t next = strcspn(text + spaces, " |");
		next += text[spaces + next] == '|';
		if (spaces && line->column + spaces + next <= COLUMNS) {
			put(line, text, spaces);
		} else if (spaces) {
			wrap(line);
		}
		text += spaces;
	}
}

static void put_option(const struct option *option)
{
	struct line line = { 0 };
	char letter[] = "  -x, ";
	letter[3] = option->letter;
	put(&line, option->letter ? letter : "      ", FIRST_COLUMN);
	put(&line, "--", 2);
	put(&line, option->name, strlen(option->name));
	bool optional = option->kind == OPTION_OPTIONAL_DOUBLE;
	if (option->argument) {
		put(&line, optional ? "[=" : " ", optional ? 2 : 1);
		line.indent = line.column;
		put_wrapped(&line, option->argument);
		put(&line, "]", optional ? 1 : 0);
	}
	/* two spaces between, or a line of its own */
	if (line.wrapped || line.column + 2 > HELP_COLUMN)
		line.column = HELP_COLUMN + 1;
	go_to(&line, HELP_COLUMN);
	line.indent = HELP_COLUMN;
	put_wrapped(&line, option->help);
	putchar('\n');
}

static void put_sentence(const char *before, const char *verb, const char *between,
			 const char *text)
{
	struct line line = { 0 };
	put(&line, before, strlen(before));
	put(&line, verb, strlen(verb));
	put(&line, between, strlen(between));
	line.indent = line.column;
	put_wrapped(&line, text);
	putchar('\n');
}

void help_print(const struct verb *verb)
{
	put_sentence("culprit ", verb->name, " - ", verb->summary);
	putchar('\n');
	put_sentence("usage: culprit ", verb->name, " ", verb->usage);
	bool headed = false;
	for (const struct option *option = verb->options(); option->name; option++) {
		if (option->kind == OPTION_GROUP) {
			printf("\n%s:\n", option->name);
			headed = true;
			continue;
		}
		if (!headed) {
			printf("\noptions:\n");
			headed = true;
		}
		put_option(option);
	}
	printf("\n%s",
	       verb->pages ? "      --no-pager                  straight to the terminal\n" : "");
	printf("  -q, --quiet                     no notes, only errors\n"
	       "  -h, --help                      print this and exit\n"
	       "\n'man culprit-%s' says more.\n",
	       verb->name);
}

void help_print_overview(const struct verb *const *verbs)
{
	printf("culprit - where the CPU cycles went, and whose fault it was\n\n"
	       "usage: culprit VERB [OPTIONS] [ARGUMENTS]\n\n");
	for (size_t i = 0; verbs[i]; i++) {
		struct line line = { .indent = OVERVIEW_COLUMN };
		put(&line, "  ", 2);
		put(&line, verbs[i]->name, strlen(verbs[i]->name));
		go_to(&line, OVERVIEW_COLUMN);
		put_wrapped(&line, verbs[i]->summary);
		putchar('\n');
	}
	printf("\n'culprit VERB --help' lists a verb's options; 'man culprit' says more.\n");
}
