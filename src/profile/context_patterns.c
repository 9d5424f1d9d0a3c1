#include "profile/context_patterns.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "profile/cgroup_names.h"
#include "profile/profile.h"

#define LEAST_DIGITS 6 /* of a container's name: fewer may be those of another */
#define SERVICE	     ".service"

bool pattern_matches(const char *pattern, struct span text)
{
	char room[4096];
	if (!text.data || text.size >= sizeof(room))
		return false;
	memcpy(room, text.data, text.size);
	room[text.size] = 0;
	return strcmp(pattern, room) == 0 || fnmatch(pattern, room, 0) == 0;
}

bool pattern_is_glob(const char *pattern)
{
	return strpbrk(pattern, "*?[\\");
}

bool pattern_matches_cgroup(const char *pattern, struct span path)
{
	if (pattern_matches(pattern, path))
		return true;
	size_t size = strlen(pattern); /* what lies below it */
	const char *text = path.data;
	return size && path.size > size && memcmp(text, pattern, size) == 0 &&
	       (text[size] == '/' || pattern[size - 1] == '/');
}

bool context_is_process(const char *pattern, const struct profile_context *context)
{
	uint64_t pid;
	if (context->pid && number_parse_u64(pattern, &pid) && optional_of(pid) == context->pid)
		return true;
	return pattern_matches(pattern, context->comm);
}

bool context_is_in_cgroup(const char *pattern, const struct profile_context *context)
{
	return pattern_matches_cgroup(pattern, context->cgroup);
}

bool context_is_in_service(const char *pattern, const struct profile_context *context)
{
	const struct service_name service = cgroup_service(context->cgroup);
	char name[1024]; /* two names of units are 511 bytes */
	if (!service.unit.data)
		return false;
	int length = snprintf(name, sizeof(name), "%.*s%s%.*s", (int)service.manager.size,
			      service.manager.data ? (const char *)service.manager.data : "",
			      service.manager.data ? "/" : "", (int)service.unit.size,
			      (const char *)service.unit.data);
	const struct span whole = { name, (size_t)length };
	const struct span stem = { name, whole.size - strlen(SERVICE) };
	return pattern_matches(pattern, whole) || pattern_matches(pattern, stem);
}

bool context_is_in_container(const char *pattern, const struct profile_context *context)
{
	const struct span container = profile_context_container(context);
	bool first_digits = strlen(pattern) >= LEAST_DIGITS &&
			    strspn(pattern, "0123456789abcdef") == strlen(pattern);
	return pattern_matches(pattern, container) ||
	       (first_digits && span_starts_with(container, pattern));
}
