/*
 * asked_events - the events of -e on this machine, or the best it has without
 * -e. Where no hardware counters exist at all, cpu-clock takes the place of
 * hardware events, and the user is told once.
 */
#pragma once

#include <stdbool.h>

#include "cli/options.h"

struct event_list;

/*
 * Appends to *events. *substituted says whether cpu-clock stands in for asked
 * events, whose periods then mean nothing. Returns 0 to go on, or the exit
 * status after a message.
 */
int asked_events_read(const struct option_list *asked, struct event_list *events,
		      bool *substituted);
