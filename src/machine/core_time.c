#include "machine/core_time.h"

#include <stdbool.h>
#include <string.h>

#include "machine/event.h"

static bool is_of(const struct event *event, const char *core_type)
{
	return event->core_type && strcmp(event->core_type, core_type) == 0;
}

uint64_t core_time_elsewhere_ns(const struct event *events, size_t count, size_t event,
				core_time_ran ran, const void *context)
{
	const char *own = events[event].core_type;
	uint64_t sum = 0;
	for (size_t i = 0; own && i < count; i++) {
		const char *other = events[i].core_type;
		uint64_t longest = 0;
		bool seen = !other || strcmp(other, own) == 0;
		for (size_t k = 0; k < i && !seen; k++)
			seen = is_of(&events[k], other);
		for (size_t k = i; k < count && !seen; k++) {
			uint64_t running_ns = is_of(&events[k], other) ? ran(context, k) : 0;
			if (running_ns > longest)
				longest = running_ns;
		}
		sum += longest;
	}
	return sum;
}
