#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "cli/verbs.h"

/* What can be offered for a value or an argument, by its name in --help. */
enum value_kind {
	VALUE_ANY,     /* nothing to offer: "PID", "EVENT" */
	VALUE_FILE,    /* "FILE", "PROFILE", "FOLDER", ... */
	VALUE_WORDS,   /* "a|b|c" */
	VALUE_COMMAND, /* "CMD" */
};

static bool is_one_of(const char *word, size_t length, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == length && strncmp(*list, word, length) == 0)
			return true;
	return false;
}

static enum value_kind value_kind(const char *word, size_t length)
{
	static const char *const files[] = { "FILE",   "PATH", "PROFILE", "FOLDER", "DIR",   "DB",
					     "OUTPUT", "BASE", "IMAGE",	  "BINARY", "INPUT", NULL };
	static const char *const commands[] = { "CMD", "COMMAND", NULL };
	if (is_one_of(word, length, files))
		return VALUE_FILE;
	if (is_one_of(word, length, commands))
		return VALUE_COMMAND;
	return length > 0 && islower((unsigned char)word[0]) && memchr(word, '|', length)
		       ? VALUE_WORDS
		       : VALUE_ANY;
}

/* "a|b|c" as "a b c" */
static void print_words(const char *words, size_t length)
{
	for (size_t i = 0; i < length; i++)
		putchar(words[i] == '|' ? ' ' : words[i]);
}

/* The part of a usage line that says what follows the options, as "PROFILE" of "[OPTIONS]
 * [PROFILE...]". */
static enum value_kind usage_kind(const char *usage, const char **word, size_t *length)
{
	enum value_kind kind = VALUE_ANY;
	while (*usage) {
		size_t skipped = strspn(usage, " []().");
		size_t size = strcspn(usage + skipped, " []().");
		enum value_kind found = value_kind(usage + skipped, size);
		/* of `record [OPTIONS] [--] [COMMAND ...]` the command */
		if (found != VALUE_ANY && kind != VALUE_COMMAND) {
			kind = found;
			*word = usage + skipped;
			*length = size;
		}
		usage += skipped + size;
	}
	return kind;
}

static void print_bash_value(enum value_kind kind, const char *word, size_t length)
{
	switch (kind) {
	case VALUE_ANY:
		fputs(":", stdout);
		break;
	case VALUE_FILE:
		fputs("_culprit_offer -f", stdout);
		break;
	case VALUE_COMMAND:
		fputs("_culprit_offer -c -f", stdout);
		break;
	case VALUE_WORDS:
		fputs("_culprit_offer -W '", stdout);
		print_words(word, length);
		fputs("'", stdout);
		break;
	}
}

static void print_bash_verb(const struct verb *verb)
{
	printf("\t%s)\n\t\tcase $previous in\n", verb->name);
	for (const struct option *option = verb->options(); option->name; option++) {
		if (option->kind == OPTION_GROUP || option->kind == OPTION_FLAG ||
		    option->kind == OPTION_OPTIONAL_DOUBLE)
			continue;
		fputs("\t\t", stdout);
		if (option->letter)
			printf("-%c | ", option->letter);
		printf("--%s) ", option->name);
		size_t length = strlen(option->argument);
		print_bash_value(value_kind(option->argument, length), option->argument, length);
		fputs("; return ;;\n", stdout);
	}
	fputs("\t\tesac\n\t\tcase $current in\n\t\t-*) _culprit_offer -W '--help --quiet", stdout);
	if (verb->pages)
		fputs(" --no-pager", stdout);
	for (const struct option *option = verb->options(); option->name; option++)
		if (option->kind != OPTION_GROUP)
			printf(" --%s", option->name);
	fputs("' ;;\n\t\t*) ", stdout);
	const char *word = "";
	size_t length = 0;
	enum value_kind kind = usage_kind(verb->usage, &word, &length);
	print_bash_value(kind, word, length);
	fputs(" ;;\n\t\tesac\n\t\t;;\n", stdout);
}

static void print_bash(void)
{
	fputs("# bash completion for culprit, made by 'culprit completion bash'\n\n"
	      "# Offers what compgen makes of its arguments, a line each, so that names may hold "
	      "spaces.\n"
	      "_culprit_offer() {\n"
	      "\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"$current\")\n"
	      "\t[[ $* = *-f ]] && compopt -o filenames 2>/dev/null\n"
	      "\treturn 0\n"
	      "}\n\n"
	      "_culprit() {\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tCOMPREPLY=()\n"
	      "\t# --option=value comes as three words\n"
	      "\tif [[ $current = = ]]; then\n"
	      "\t\tcurrent=\n"
	      "\telif [[ $previous = = ]]; then\n"
	      "\t\tprevious=${COMP_WORDS[COMP_CWORD-2]}\n"
	      "\tfi\n"
	      "\tif ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ ${COMP_WORDS[1]} = help ]]; "
	      "}; then\n"
	      "\t\t_culprit_offer -W '--help --version",
	      stdout);
	for (size_t i = 0; verbs[i]; i++)
		printf(" %s", verbs[i]->name);
	fputs(" help'\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n", stdout);
	for (size_t i = 0; verbs[i]; i++)
		print_bash_verb(verbs[i]);
	fputs("\tesac\n}\ncomplete -F _culprit culprit\n", stdout);
}

/* Escapes text inside '...' of a zsh specification, where brackets and colons are special too. */
static void print_zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", stdout);
		else if (strchr("[]:\\", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void print_zsh_action(enum value_kind kind, const char *word, size_t length)
{
	switch (kind) {
	case VALUE_ANY:
		fputs(" ", stdout); /* a value, but none to offer */
		break;
	case VALUE_FILE:
		fputs("_files", stdout);
		break;
	case VALUE_COMMAND:
		fputs("_normal", stdout);
		break;
	case VALUE_WORDS:
		putchar('(');
		print_words(word, length);
		putchar(')');
		break;
	}
}

static void print_zsh_value(const struct option *option)
{
	if (option->kind == OPTION_FLAG)
		return;
	size_t length = strlen(option->argument);
	if (option->kind == OPTION_OPTIONAL_DOUBLE)
		putchar(':');
	putchar(':');
	print_zsh_text(option->argument);
	putchar(':');
	print_zsh_action(value_kind(option->argument, length), option->argument, length);
}

static void print_zsh_option(const struct option *option)
{
	const char *repeat = option->kind == OPTION_LIST ? "*" : "";
	bool flag = option->kind == OPTION_FLAG;
	if (option->letter) {
		printf("\t\t\t'%s-%c%s[", repeat, option->letter, flag ? "" : "+");
		print_zsh_text(option->help);
		putchar(']');
		print_zsh_value(option);
		fputs("' \\\n", stdout);
	}
	bool optional = option->kind == OPTION_OPTIONAL_DOUBLE;
	printf("\t\t\t'%s--%s%s[", repeat, option->name, flag ? "" : optional ? "=-" : "=");
	print_zsh_text(option->help);
	putchar(']');
	print_zsh_value(option);
	fputs("' \\\n", stdout);
}

static void print_zsh_verb(const struct verb *verb)
{
	printf("\t%s)\n\t\t_arguments -s \\\n", verb->name);
	for (const struct option *option = verb->options(); option->name; option++)
		if (option->kind != OPTION_GROUP)
			print_zsh_option(option);
	if (verb->pages)
		fputs("\t\t\t'--no-pager[straight to the terminal]' \\\n", stdout);
	fputs("\t\t\t'(-q --quiet)'{-q,--quiet}'[no notes, only errors]' \\\n"
	      "\t\t\t'(- *)'{-h,--help}'[print the options and exit]' \\\n\t\t\t",
	      stdout);
	const char *word = "";
	size_t length = 0;
	enum value_kind kind = usage_kind(verb->usage, &word, &length);
	fputs(kind == VALUE_COMMAND ? "'*::command:" : "'*:argument:", stdout);
	print_zsh_action(kind, word, length);
	fputs("'\n\t\t;;\n", stdout);
}

static void print_zsh(void)
{
	fputs("#compdef culprit\n# zsh completion for culprit, made by 'culprit completion zsh'\n\n"
	      "_culprit() {\n\tlocal -a verbs=(\n",
	      stdout);
	for (size_t i = 0; verbs[i]; i++) {
		printf("\t\t'%s:", verbs[i]->name);
		print_zsh_text(verbs[i]->summary);
		fputs("'\n", stdout);
	}
	fputs("\t\t'help:a verb'\\''s options'\n\t)\n"
	      "\tif ((CURRENT == 2)) || { ((CURRENT == 3)) && [[ $words[2] = help ]] }; then\n"
	      "\t\t_describe verb verbs\n\t\treturn\n\tfi\n"
	      "\tshift words\n\t((CURRENT--))\n\tcase $words[1] in\n",
	      stdout);
	for (size_t i = 0; verbs[i]; i++)
		print_zsh_verb(verbs[i]);
	fputs("\tesac\n}\n\n_culprit \"$@\"\n", stdout);
}

static const struct option *completion_options(void)
{
	static const struct option none[] = { { 0 } };
	return none;
}

static int completion_run(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_completion, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status)
		return status;
	if (count == 1 && strcmp(argv[1], "bash") == 0)
		print_bash();
	else if (count == 1 && strcmp(argv[1], "zsh") == 0)
		print_zsh();
	else if (count == 1)
		return options_misuse(&verb_completion,
				      "no completion for '%s', only for bash and zsh", argv[1]);
	else
		return options_misuse(&verb_completion, "name one shell, bash or zsh");
	return 0;
}

const struct verb verb_completion = {
	.name = "completion",
	.run = completion_run,
	.summary = "print the completion for a shell",
	.usage = "bash|zsh",
	.options = completion_options,
};
