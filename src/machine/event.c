#include "machine/event.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "machine/event_private.h"

#define EVENT_TEXT_LIMIT 65536 /* a command line's worth */
#define EVENT_NAME_LIMIT 512   /* one event with its terms */

static const char modifier_letters[] = "ukhIGHpPSDe";

static void group_release(struct written_group *group)
{
	free(group->members);
}

int event_parse_error(const struct event_parser *parser, int code, const char *at,
		      const char *format, ...)
{
	char sentence[768];
	va_list args;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	size_t length = strlen(parser->text);
	/* Terms that come from sysfs have no place in the text. */
	if (!at || at <= parser->text || at > parser->text + length)
		return error_set(parser->err, code, "%s", sentence);
	return error_set(parser->err, code, "%s (character %zu of '%.160s%s')", sentence,
			 (size_t)(at - parser->text) + 1, parser->text, length > 160 ? "..." : "");
}

static const char *skip_spaces(const char *at)
{
	return at + strspn(at, " \t\n");
}

static int take_modifiers(const struct event_parser *parser, const char *at, size_t size,
			  struct written_event *written)
{
	size_t kept = strlen(written->modifiers);
	size_t precise = 0;
	for (size_t i = 0; i < kept; i++)
		precise += written->modifiers[i] == 'p';
	for (size_t i = 0; i < size; i++) {
		if (!strchr(modifier_letters, at[i]))
			return event_parse_error(parser, -EINVAL, at + i,
						 "unknown modifier '%c': there are u k h (user, "
						 "kernel, hypervisor), "
						 "p to ppp and P (precise), G H (guest, host), I "
						 "(not idle), S, D, e",
						 at[i]);
		precise += at[i] == 'p';
		if (precise > 3)
			return event_parse_error(parser, -EINVAL, at + i,
						 "more than three 'p': ppp is the most precise");
		if (at[i] != 'p' && strchr(written->modifiers, at[i]))
			continue;
		written->modifiers[kept++] = at[i];
		written->modifiers[kept] = 0;
	}
	return 0;
}

static bool all_modifiers(const char *text, size_t size)
{
	return size && strspn(text, modifier_letters) >= size;
}

static int check_modifiers(const struct event_parser *parser, const struct written_event *written)
{
	bool precise = strpbrk(written->modifiers, "pP");
	if (!precise || written->event.kind != EVENT_SOFTWARE)
		return 0;
	return event_parse_error(parser, -EINVAL, written->at,
				 "'%.*s' is a software event: it has no precise form, drop the 'p'",
				 (int)written->name_size, written->name);
}

/* "sched:sched_switch": events of hardware are no two words of small letters. */
static bool is_tracepoint(const char *token)
{
	static const char small[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t system = strspn(token, small);
	if (!system || token[system] != ':')
		return false;
	const char *name = token + system + 1;
	return *name && !name[strspn(name, small)] && !all_modifiers(name, strlen(name));
}

static int fail(const struct event_parser *parser, const struct written_event *written,
		const char *token, const char *name)
{
	if (is_tracepoint(token))
		return event_parse_error(parser, -ENOENT, written->at,
					 "tracepoints, as '%s', are not counted or sampled", token);
	return event_lookup_failed(parser, written, name);
}

/* `token` is a whole event without slashes, colon and modifiers included. */
static int parse_name(const struct event_parser *parser, const char *token,
		      struct written_event *written)
{
	char name[EVENT_NAME_LIMIT];
	size_t base = strcspn(token, ":");
	memcpy(name, token, base);
	name[base] = 0;
	written->name_size = base;
	if (event_lookup_plain(parser, name, written)) {
		if (!token[base])
			return 0;
		if (!token[base + 1])
			return event_parse_error(parser, -EINVAL, written->at + base,
						 "a modifier is missing after ':'");
		return take_modifiers(parser, written->at + base + 1, strlen(token) - base - 1,
				      written);
	}
	if (!parser->namer)
		return fail(parser, written, token, name);
	/* libpfm4 has colons in its names: the last part may be our modifiers or its own. */
	const char *last = strrchr(token, ':');
	size_t whole = strlen(token);
	struct error reason = { 0 };
	int status = -ENOENT;
	if (last && all_modifiers(last + 1, whole - (size_t)(last - token) - 1)) {
		size_t front = (size_t)(last - token);
		memcpy(name, token, front);
		name[front] = 0;
		status = event_lookup_by_namer(parser, name, written, &reason);
		if (!status) {
			written->name_size = front;
			return take_modifiers(parser, written->at + front + 1, whole - front - 1,
					      written);
		}
	}
	if (status != -ENOMEM)
		status = event_lookup_by_namer(parser, token, written, &reason);
	if (!status) {
		written->name_size = whole;
		return 0;
	}
	if (status == -EINVAL)
		return event_parse_error(parser, status, written->at, "%s", reason.text);
	if (status == -ENOMEM)
		return event_parse_error(parser, status, NULL, "%s", reason.text);
	/* "pmu::EVENT" is one name; a unit mask or modifier behind a single colon is not part of
	 * it. */
	size_t size = strstr(token, "::") == token + base ? whole : base;
	memcpy(name, token, size);
	name[size] = 0;
	return fail(parser, written, token, name);
}

/* "pmu/terms/modifiers", slashes known to be there. */
static int parse_pmu_event(const struct event_parser *parser, const char *token,
			   struct written_event *written)
{
	char name[EVENT_NAME_LIMIT];
	const char *open = strchr(token, '/');
	const char *close = strchr(open + 1, '/');
	memcpy(name, token, (size_t)(open - token));
	name[open - token] = 0;
	if (!name[0])
		return event_parse_error(parser, -EINVAL, written->at,
					 "a PMU's name is missing before '/'");
	int status = event_lookup_pmus(parser, name, written);
	if (status)
		return status;
	written->event.kind = EVENT_PMU;
	written->name_size = (size_t)(close - token) + 1;
	const char *modifiers = close + 1;
	if (*modifiers == ':')
		modifiers++;
	const char *terms = written->at + (open + 1 - token);
	status = event_terms_resolve(parser, written->pmu, terms, (size_t)(close - open) - 1,
				     &written->event);
	if (status)
		return status;
	return take_modifiers(parser, written->at + (modifiers - token), strlen(modifiers),
			      written);
}

/* The characters of one event: up to a comma, brace or space that is not between slashes. */
static size_t event_extent(const char *at, bool *closed)
{
	size_t slashes = 0, size = 0;
	while (at[size]) {
		if (at[size] == '/')
			slashes++;
		else if (slashes != 1 && strchr(",{} \t\n", at[size]))
			break;
		size++;
	}
	*closed = slashes == 0 || slashes == 2;
	return size;
}

static int parse_event(const struct event_parser *parser, const char **at,
		       struct written_event *written)
{
	char token[EVENT_NAME_LIMIT];
	bool closed;
	size_t size = event_extent(*at, &closed);
	*written = (struct written_event){ .at = *at, .name = *at };
	written->event.attr.size = sizeof(written->event.attr);
	written->event.scale = 1;
	if (size == 0 && !**at)
		return event_parse_error(parser, -EINVAL, *at, "an event is missing at the end");
	if (size == 0)
		return event_parse_error(parser, -EINVAL, *at, "an event is missing before '%c'",
					 **at);
	if (size >= sizeof(token))
		return event_parse_error(parser, -EINVAL, *at,
					 "an event of more than %d characters",
					 EVENT_NAME_LIMIT - 1);
	memcpy(token, *at, size);
	token[size] = 0;
	if (!closed)
		return event_parse_error(parser, -EINVAL, *at,
					 "'%s' needs two slashes, as 'pmu/event/'", token);
	*at += size;
	int status = strchr(token, '/') ? parse_pmu_event(parser, token, written)
					: parse_name(parser, token, written);
	written->marked = !status && strchr(written->modifiers, 'S');
	return status ? status : check_modifiers(parser, written);
}

static int parse_member(const struct event_parser *parser, const char **at,
			struct written_group *group)
{
	if (group->count == EVENT_GROUP_LIMIT)
		return event_parse_error(parser, -EINVAL, *at, "a group of more than %d events",
					 EVENT_GROUP_LIMIT);
	if (array_reserve(&group->members, &group->capacity, group->count, sizeof(*group->members)))
		return error_set(parser->err, -ENOMEM, "out of memory while reading events");
	int status = parse_event(parser, at, &group->members[group->count]);
	if (!status)
		group->count++;
	return status;
}

/* "{a,b}:u" or one event. */
static int parse_group(const struct event_parser *parser, const char **at,
		       struct written_group *group)
{
	*at = skip_spaces(*at);
	group->braces = **at == '{';
	if (!group->braces)
		return parse_member(parser, at, group);
	const char *open = *at;
	do {
		*at = skip_spaces(*at + 1);
		int status = parse_member(parser, at, group);
		if (status)
			return status;
		*at = skip_spaces(*at);
	} while (**at == ',');
	if (**at == '{')
		return event_parse_error(parser, -EINVAL, *at,
					 "a group cannot stand inside a group");
	if (**at != '}')
		return event_parse_error(parser, -EINVAL, **at ? *at : open,
					 "no '}' closes '%.40s'", open);
	(*at)++;
	if (**at != ':')
		return 0;
	const char *modifiers = ++*at;
	*at += strcspn(modifiers, ",{} \t\n");
	if (*at == modifiers)
		return event_parse_error(parser, -EINVAL, modifiers - 1,
					 "a modifier is missing after ':'");
	for (size_t i = 0; i < group->count; i++) {
		struct written_event *member = &group->members[i];
		int status = take_modifiers(parser, modifiers, (size_t)(*at - modifiers), member);
		if (!status)
			status = check_modifiers(parser, member);
		if (status)
			return status;
	}
	return 0;
}

int event_list_parse(struct event_list *list, const struct pmu_list *pmus,
		     const struct event_namer *namer, const char *text, struct error *err)
{
	struct event_parser parser = { list, pmus, namer, text, err };
	const char *at = text;
	size_t before = list->count;
	int status = 0;
	if (strlen(text) > EVENT_TEXT_LIMIT)
		return error_set(err, -EINVAL, "a list of events of more than %d characters",
				 EVENT_TEXT_LIMIT);
	if (!*skip_spaces(text))
		return error_set(err, -EINVAL, "an event is missing");
	for (;;) {
		CLEANUP(group_release) struct written_group group = { 0 };
		status = parse_group(&parser, &at, &group);
		if (!status)
			status = event_group_add(&parser, &group);
		if (status)
			break;
		at = skip_spaces(at);
		if (!*at)
			return 0;
		if (*at != ',') {
			status = event_parse_error(&parser, -EINVAL, at,
						   "a comma is missing before '%.16s'", at);
			break;
		}
		at++;
	}
	list->count = before;
	return status;
}

void event_list_release(struct event_list *list)
{
	free(list->events);
	arena_release(&list->arena);
	*list = (struct event_list){ 0 };
}

size_t event_list_group_size(const struct event_list *list, size_t leader)
{
	size_t size = 0;
	while (leader + size < list->count && list->events[leader + size].leader == leader)
		size++;
	return size;
}

bool event_is_kernel_only(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		attr->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		attr->config == PERF_COUNT_SW_CGROUP_SWITCHES);
}
