#include "cli/options.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "cli/status.h"

int options_misuse(const struct verb *verb, const char *format, ...)
{
	char sentence[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	message_error("%s; try 'culprit %s --help'", sentence, verb->name);
	return 2;
}

int options_check_share(const struct verb *verb, const char *name, double percent)
{
	if (percent >= 0 && percent <= 100)
		return 0;
	return options_misuse(verb, "--%s is a share from 0 to 100, not %g", name, percent);
}

static const struct option *find_long(const struct option *options, const char *name, size_t length)
{
	for (const struct option *option = options; option->name; option++)
		if (option->kind != OPTION_GROUP && strlen(option->name) == length &&
		    strncmp(option->name, name, length) == 0)
			return option;
	return NULL;
}

static const struct option *find_letter(const struct option *options, char letter)
{
	for (const struct option *option = options; option->name; option++)
		if (option->kind != OPTION_GROUP && option->letter == letter)
			return option;
	return NULL;
}

/* Stores the value of an option. 0, or the exit status after a message. */
static int store_value(const struct verb *verb, const struct option *option, const char *text)
{
	if (option->given)
		*option->given = true;
	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)option->value = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)option->value = text;
		return 0;
	case OPTION_LIST: {
		struct option_list *list = option->value;
		if (list->count == sizeof(list->items) / sizeof(list->items[0]))
			return options_misuse(verb, "--%s is given more than %zu times",
					      option->name, list->count);
		list->items[list->count++] = text;
		return 0;
	}
	case OPTION_U64:
		if (number_parse_u64(text, option->value))
			return 0;
		return options_misuse(verb, "--%s needs a whole number, not '%s'", option->name,
				      text);
	case OPTION_OPTIONAL_DOUBLE:
	case OPTION_DOUBLE:
		if (number_parse_double(text, option->value))
			return 0;
		return options_misuse(verb, "--%s needs a number, not '%s'", option->name, text);
	case OPTION_NS:
		if (number_parse_duration_ns(text, option->value))
			return 0;
		return options_misuse(verb, "--%s needs a time as '10s' or '50ms', not '%s'",
				      option->name, text);
	case OPTION_GROUP:
		break;
	}
	return 2;
}

static int parse_long(const struct verb *verb, char **argv, int argc, int *at)
{
	const char *text = argv[*at] + 2;
	size_t length = strcspn(text, "=");
	const char *attached = text[length] == '=' ? text + length + 1 : NULL;
	if (!attached && strcmp(text, "help") == 0) {
		help_print(verb);
		return STATUS_DONE;
	}
	if (!attached && strcmp(text, "quiet") == 0) {
		message_set_quiet();
		return 0;
	}
	if (!attached && verb->pages && strcmp(text, "no-pager") == 0) {
		pager_refuse();
		return 0;
	}
	const struct option *option = find_long(verb->options(), text, length);
	if (!option)
		return options_misuse(verb, "unknown option '--%.*s'", (int)length, text);
	if (option->kind == OPTION_FLAG)
		return attached ? options_misuse(verb, "--%s takes no value", option->name)
				: store_value(verb, option, NULL);
	if (!attached && option->kind == OPTION_OPTIONAL_DOUBLE) {
		*option->given = true;
		return 0;
	}
	if (!attached) {
		if (*at + 1 >= argc)
			return options_misuse(verb, "--%s needs a value: %s", option->name,
					      option->argument);
		attached = argv[++*at];
	}
	return store_value(verb, option, attached);
}

static int parse_letters(const struct verb *verb, char **argv, int argc, int *at)
{
	for (const char *letter = argv[*at] + 1; *letter; letter++) {
		if (*letter == 'h') {
			help_print(verb);
			return STATUS_DONE;
		}
		if (*letter == 'q') {
			message_set_quiet();
			continue;
		}
		const struct option *option = find_letter(verb->options(), *letter);
		if (!option)
			return options_misuse(verb, "unknown option '-%c'", *letter);
		const char *value = NULL;
		if (option->kind != OPTION_FLAG) {
			value = letter[1] ? letter + 1 : *at + 1 < argc ? argv[++*at] : NULL;
			if (!value)
				return options_misuse(verb, "-%c needs a value: %s", *letter,
						      option->argument);
		}
		int status = store_value(verb, option, value);
		if (status || value)
			return status;
	}
	return 0;
}

int options_parse(const struct verb *verb, int argc, char **argv, enum options_stop stop,
		  int *argument_count)
{
	int count = 0;
	int i = 1;
	for (; i < argc; i++) {
		int status;
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (argv[i][0] != '-' || argv[i][1] == 0) {
			if (stop == OPTIONS_BEFORE_ARGUMENTS)
				break;
			argv[++count] = argv[i];
			continue;
		}
		status = argv[i][1] == '-' ? parse_long(verb, argv, argc, &i)
					   : parse_letters(verb, argv, argc, &i);
		if (status)
			return status;
	}
	for (; i < argc; i++)
		argv[++count] = argv[i];
	*argument_count = count;
	return 0;
}
