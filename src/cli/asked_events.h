/*
 * asked_events - the events of -e on this machine, or without -e the best that it
 * has. Where there are no hardware counters at all, cpu-clock takes the place of
 * hardware events, and a message says so once.
 */
#pragma once

#include <stdbool.h>

#include "cli/options.h"

struct event_list;

/*
 * Appends to *events. *substituted: cpu-clock stands in for events of -e, so a period
 * that was given for these means nothing. Returns 0, or the exit status after a message.
 */
int asked_events_read(const struct option_list *asked, struct event_list *events,
		      bool *substituted);
