#include "count/sides.h"

#include <stdio.h>
#include <string.h>

#include "machine/event.h"

bool event_has_sides(const struct event *event)
{
	return !event->clock && !event->uncore && !event_is_kernel_only(&event->attr);
}

/* Whether letters of modifiers are all that stands there (perf-list(1)). */
static bool are_modifiers(const char *text)
{
	return !text[strspn(text, "ukhHGpPSDIWeb")];
}

void name_user_side(char *name, size_t size)
{
	size_t length = strlen(name);
	const char *terms_end = strrchr(name, '/'), *colon = strrchr(name, ':');
	bool behind_terms = terms_end && are_modifiers(terms_end + 1);
	bool behind_colon = colon && colon > name && are_modifiers(colon + 1);
	snprintf(name + length, size - length, "%su", behind_terms || behind_colon ? "" : ":");
}
