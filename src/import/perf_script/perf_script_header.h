/*
 * perf_script_header - the lines with # in front that `perf script --header`
 * prints: the machine, and the events with their attributes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"
#include "profile/profile.h"

#define PERF_SCRIPT_HEADER_EVENTS 1024 /* more are left out */

struct perf_script_header {
	struct arena texts;
	struct profile_source source; /* its spans are in `texts` */
	struct profile_event *events; /* filled as far as the header goes; names in `texts` */
	size_t event_count, event_capacity;
};

void perf_script_header_release(struct perf_script_header *header);
/* Reads a line that starts with '#'; lines that it does not know are passed over. Returns 0 or
 * -ENOMEM. */
int perf_script_header_take(struct perf_script_header *header, const char *line, size_t size);
/* The attributes of the event that sample lines call so; the header may give it other modifiers.
 * NULL: the header has none, or several. */
const struct profile_event *perf_script_header_event(const struct perf_script_header *header,
						     struct span name);
