#include "count/definitions.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "machine/event.h"
#include "machine/event_names.h"

/* Names are compared one by one: more than any CPU has events, and read in 0.1 s. */
#define DEFINITIONS_LIMIT 4096

struct definition {
	const char *name, *event;
	struct event_encoding encoding;
};

struct definitions {
	struct arena arena;
	struct definition *all;
	size_t count, capacity;
	const struct event_namer *further;
	struct event_namer namer;
};

void definitions_free(struct definitions *definitions)
{
	if (!definitions)
		return;
	arena_release(&definitions->arena);
	free(definitions->all);
	free(definitions);
}

static void free_definitions(struct definitions **definitions)
{
	definitions_free(*definitions);
}

static const struct definition *find(const struct definitions *definitions, const char *name)
{
	for (size_t i = 0; i < definitions->count; i++)
		if (strcmp(definitions->all[i].name, name) == 0)
			return &definitions->all[i];
	return NULL;
}

static int encode(const void *names, const char *name, struct event_encoding *encoding,
		  struct error *err)
{
	const struct definitions *definitions = names;
	const struct definition *definition = find(definitions, name);
	if (definition) {
		*encoding = definition->encoding;
		return 0;
	}
	if (!definitions->further)
		return error_set(err, -ENOENT, "unknown event '%s'", name);
	return definitions->further->encode(definitions->further->names, name, encoding, err);
}

static int each(const void *names, event_name_visit visit, void *context)
{
	const struct definitions *definitions = names;
	for (size_t i = 0; i < definitions->count; i++) {
		int status = visit(context, definitions->all[i].name);
		if (status)
			return status;
	}
	return definitions->further
		       ? definitions->further->each(definitions->further->names, visit, context)
		       : 0;
}

static bool is_name(const char *name)
{
	if (!isalpha((unsigned char)name[0]) && name[0] != '_')
		return false;
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_.-:", *at))
			return false;
	return true;
}

static bool is_taken(const char *name)
{
	uint64_t config;
	return hardware_name_find(name) || software_name_find(name) ||
	       cache_name_parse(name, &config);
}

/* `event` as one event; of the definitions, those that come before it may be used. */
static int resolve(const struct definitions *definitions, const struct pmu_list *pmus,
		   const char *text, struct event_encoding *encoding, struct error *err)
{
	CLEANUP(event_list_release) struct event_list list = { 0 };
	int status = event_list_parse(&list, pmus, &definitions->namer, text, err);
	if (status)
		return status;
	for (size_t i = 1; i < list.count; i++)
		if (!list.events[i].core_type ||
		    strcmp(list.events[i].name, list.events[0].name) != 0)
			return error_set(err, -EINVAL, "'%s' is more than one event", text);
	const struct event *event = &list.events[0];
	*encoding = (struct event_encoding){
		/* on every core type, where there are several */
		.type = event->kind == EVENT_RAW ? PERF_TYPE_RAW : event->attr.type,
		.config = event->attr.config,
		.config1 = event->attr.config1,
		.config2 = event->attr.config2,
		.precise = event->attr.precise_ip,
		.exclude_user = event->attr.exclude_user,
		.exclude_kernel = event->attr.exclude_kernel,
	};
	return 0;
}

static char *trimmed(char *text)
{
	text += strspn(text, " \t\r");
	size_t size = strlen(text);
	while (size && strchr(" \t\r", text[size - 1]))
		text[--size] = 0;
	return text;
}

static int read_line(struct definitions *definitions, const struct pmu_list *pmus, char *line,
		     struct error *err)
{
	char *comment = strchr(line, '#');
	if (comment)
		*comment = 0;
	line = trimmed(line);
	if (!*line)
		return 0;
	char *equals = strchr(line, '=');
	if (!equals)
		return error_set(err, -EINVAL, "'%s' is not 'name = event'", line);
	*equals = 0;
	char *name = trimmed(line), *event = trimmed(equals + 1);
	if (!is_name(name))
		return error_set(err, -EINVAL, "'%s' is no name for an event", name);
	if (is_taken(name))
		return error_set(err, -EINVAL, "'%s' is the kernel's name of an event", name);
	if (find(definitions, name))
		return error_set(err, -EINVAL, "'%s' is defined twice", name);
	if (definitions->count == DEFINITIONS_LIMIT)
		return error_set(err, -EINVAL, "more than %d names", DEFINITIONS_LIMIT);
	if (array_reserve(&definitions->all, &definitions->capacity, definitions->count,
			  sizeof(*definitions->all)))
		return error_set(err, -ENOMEM, "out of memory");
	struct definition definition = {
		.name = arena_copy_text(&definitions->arena, name, strlen(name)),
		.event = arena_copy_text(&definitions->arena, event, strlen(event)),
	};
	if (!definition.name || !definition.event)
		return error_set(err, -ENOMEM, "out of memory");
	int status = resolve(definitions, pmus, definition.event, &definition.encoding, err);
	if (status == 0)
		definitions->all[definitions->count++] = definition;
	if (status != -ENOENT)
		return status;
	/* not an event that is missing: a mistake in the text */
	if (err)
		err->code = -EINVAL;
	return -EINVAL;
}

int definitions_parse(const char *text, size_t size, const char *name, const struct pmu_list *pmus,
		      const struct event_namer *further, struct definitions **out,
		      struct error *err)
{
	CLEANUP(free_definitions) struct definitions *definitions = calloc(1, sizeof(*definitions));
	if (!definitions)
		return error_set(err, -ENOMEM, "out of memory reading '%s'", name);
	definitions->further = further;
	definitions->namer =
		(struct event_namer){ .encode = encode, .each = each, .names = definitions };
	if (memchr(text, 0, size))
		return error_set(err, -EINVAL, "definitions '%s': it is no text", name);
	char *all = arena_copy_text(&definitions->arena, text, size);
	if (!all)
		return error_set(err, -ENOMEM, "out of memory reading '%s'", name);
	size_t number = 0;
	for (char *line; (line = strsep(&all, "\n"));) {
		number++;
		int status = read_line(definitions, pmus, line, err);
		if (status) {
			error_prefix(err, "definitions '%s', line %zu", name, number);
			return status;
		}
	}
	*out = definitions;
	definitions = NULL;
	return 0;
}

const struct event_namer *definitions_namer(const struct definitions *definitions)
{
	return &definitions->namer;
}
