#include "cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/small_file.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "cli/status.h"

/* The line of a settings file that is being read; NULL: none is. */
static const char *settings_path;
static size_t settings_line;

/* Options that were given, by a settings file and as arguments. */
#define NOTED_MOST 64
static struct noted {
	const struct option *list[NOTED_MOST];
	size_t count;
} of_file, of_arguments;

int options_misuse(const struct verb *verb, const char *format, ...)
{
	char sentence[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (settings_path)
		message_error("'%s', line %zu: %s; try 'culprit %s --help'", settings_path,
			      settings_line, sentence, verb->name);
	else
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

static bool is_noted(const struct noted *noted, const struct option *option)
{
	for (size_t i = 0; i < noted->count; i++)
		if (noted->list[i] == option)
			return true;
	return false;
}

static void note_given(const struct option *option)
{
	struct noted *noted = settings_path ? &of_file : &of_arguments;
	if (noted->count < NOTED_MOST && !is_noted(noted, option))
		noted->list[noted->count++] = option;
}

/* Stores the value of an option. 0, or the exit status after a message. */
static int store_value(const struct verb *verb, const struct option *option, const char *text)
{
	note_given(option);
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
		if (list->of_file && !settings_path)
			list->count = 0;
		list->of_file = settings_path != NULL;
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
		note_given(option);
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

/* `before` is NULL where "--" ends the options. */
static int parse(const struct verb *verb, int argc, char **argv, enum options_stop stop,
		 int *argument_count, size_t *before)
{
	int count = 0;
	int i = 1;
	of_arguments.count = 0;
	for (; i < argc; i++) {
		int status;
		if (strcmp(argv[i], "--") == 0 && before && count) {
			if (*before != OPTIONS_ONE_SIDE)
				return options_misuse(verb, "one '--' stands between two sides, "
							    "and there are more");
			*before = (size_t)count;
			continue;
		}
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

int options_parse(const struct verb *verb, int argc, char **argv, enum options_stop stop,
		  int *argument_count)
{
	return parse(verb, argc, argv, stop, argument_count, NULL);
}

int options_parse_sides(const struct verb *verb, int argc, char **argv, int *argument_count,
			size_t *before)
{
	*before = OPTIONS_ONE_SIDE;
	return parse(verb, argc, argv, OPTIONS_ANYWHERE, argument_count, before);
}

/* ---- settings files */

#define SETTINGS_BYTES 65536

/* Cuts spaces off both ends of a text, in place. */
static char *trimmed(char *text)
{
	text += strspn(text, " \t\r");
	size_t length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = 0;
	return text;
}

/* A flag is set by its name alone or by "yes", and stays as it is by "no". */
static int read_flag(const struct verb *verb, const struct option *option, const char *value)
{
	if (value && strcmp(value, "no") == 0)
		return 0;
	if (!value || strcmp(value, "yes") == 0)
		return store_value(verb, option, NULL);
	return options_misuse(verb, "%s is 'yes' or 'no', not '%s'", option->name, value);
}

/* Reads one line, which stays in memory. 0 or the exit status. */
static int read_setting(const struct verb *verb, char *line)
{
	line = trimmed(line);
	if (!*line || *line == '#')
		return 0;
	char *equals = strchr(line, '=');
	if (equals)
		*equals = 0;
	char *name = trimmed(line);
	char *value = equals ? trimmed(equals + 1) : NULL;
	const struct option *option = find_long(verb->options(), name, strlen(name));
	if (!option)
		return options_misuse(verb, "unknown setting '%s'", name);
	if (option->kind == OPTION_FLAG)
		return read_flag(verb, option, value);
	if (!value || !*value)
		return options_misuse(verb, "%s needs a value: %s", name, option->argument);
	return store_value(verb, option, value);
}

static int read_settings(const struct verb *verb, const char *path, char *text)
{
	int status = 0;
	settings_path = path;
	of_file.count = 0;
	for (settings_line = 1; status == 0 && text; settings_line++) {
		char *line = strsep(&text, "\n");
		status = read_setting(verb, line);
	}
	settings_path = NULL;
	return status;
}

int options_read_file(const struct verb *verb, const char *path)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct stat found;
	int ret = stat(path, &found) < 0			     ? -errno
		  : S_ISREG(found.st_mode) || S_ISCHR(found.st_mode) ? 0
								     : -ENXIO;
	if (ret == 0)
		ret = small_file_read(path, SETTINGS_BYTES, &bytes);
	if (ret < 0) {
		message_error("cannot read the settings in '%s': %s", path,
			      ret == -EFBIG   ? "it has more than 64 kB"
			      : ret == -ENXIO ? "it is no file"
					      : strerror(-ret));
		return 1;
	}
	if (bytes.size && memchr(bytes.data, 0, bytes.size)) {
		message_error("cannot read the settings in '%s': it is no text", path);
		return 1;
	}
	/* What options point to lasts as long as the process. */
	static char *kept;
	free(kept);
	kept = strndup(bytes.size ? (const char *)bytes.data : "", bytes.size);
	if (!kept) {
		message_error("out of memory for the settings in '%s'", path);
		return 1;
	}
	return read_settings(verb, path, kept);
}

/* As if the option had not been given. */
static void take_back(const struct option *option)
{
	if (option->given)
		*option->given = false;
	if (option->kind == OPTION_FLAG)
		*(bool *)option->value = false;
	else if (option->kind == OPTION_TEXT)
		*(const char **)option->value = NULL;
	else if (option->kind == OPTION_LIST)
		*(struct option_list *)option->value = (struct option_list){ 0 };
}

/* Returns the next name in *names, of *length characters, and goes on behind it; NULL at the end.
 */
static const char *next_name(const char **names, size_t *length)
{
	const char *name = *names + strspn(*names, " ");
	*length = strcspn(name, " ");
	*names = name + *length;
	return *length ? name : NULL;
}

void options_prefer_arguments(const struct verb *verb, const char *names)
{
	const char *at = names, *name;
	size_t length;
	bool any = false;
	while ((name = next_name(&at, &length)))
		any |= is_noted(&of_arguments, find_long(verb->options(), name, length));
	at = names;
	while (any && (name = next_name(&at, &length))) {
		const struct option *option = find_long(verb->options(), name, length);
		if (option && is_noted(&of_file, option) && !is_noted(&of_arguments, option))
			take_back(option);
	}
}

const char *options_peek(int argc, char *const *argv, const char *name)
{
	const char *found = NULL;
	size_t length = strlen(name);
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, length) != 0)
			continue;
		const char *end = argv[i] + 2 + length;
		if (*end == '=')
			found = end + 1;
		else if (!*end && i + 1 < argc)
			found = argv[++i];
	}
	return found;
}
