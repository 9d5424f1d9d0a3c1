#include "import/perf_script/perf_script_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/importer.h"
#include "import/perf_script/perf_script_header.h"
#include "import/perf_script/perf_script_line.h"
#include "machine/event_names.h"
#include "profile/profile.h"

void perf_script_events_release(struct perf_script_events *events)
{
	known_text_release(&events->names);
	buffer_release(&events->key);
	free(events->list);
}

/* "cycles" of "cpu_core/cycles/ppp", "cycles:HG" */
static struct span plain_name(struct span event)
{
	const char *text = event.data;
	const char *slash = event.size ? memchr(text, '/', event.size) : NULL;
	if (slash) {
		event.size -= (size_t)(slash + 1 - text);
		event.data = slash + 1;
	}
	size_t size = 0;
	while (size < event.size && !strchr(":/,", ((const char *)event.data)[size]))
		size++;
	event.size = size;
	return event;
}

static const struct event_name *known_event(struct span event)
{
	char name[64];
	struct span plain = plain_name(event);
	snprintf(name, sizeof(name), "%.*s", (int)(plain.size < 64 ? plain.size : 63),
		 (const char *)plain.data);
	const struct event_name *found = hardware_name_find(name);
	return found ? found : software_name_find(name);
}

static int add_event(struct perf_script_events *events, const struct perf_script_sample *line,
		     struct perf_script_event *event)
{
	const struct profile_event *told = perf_script_header_event(events->header, line->event);
	struct profile_event row = told ? *told : (struct profile_event){ .policy = PERIOD_NONE };
	const struct event_name *known = known_event(line->event);
	bool weighed = line->period != OPTIONAL_ABSENT || row.policy == PERIOD_FIXED;
	row.name = line->event;
	if (row.name.size == 0)
		row.name =
			span_of_text(events->options->event ? events->options->event : "samples");
	row.unit = span_of_text(!weighed		? "samples"
				: events->options->unit ? events->options->unit
				: known			? known->unit
							: "events");
	row.clock = weighed && known && known->clock ? EVENT_CLOCK : EVENT_COUNTED;
	row.origin = ORIGIN_IMPORTED;
	row.sampled = 1;
	*event =
		(struct perf_script_event){ .period = row.policy == PERIOD_FIXED ? row.period : 1 };
	return profile_add_event(events->profile, &row, &event->id);
}

int perf_script_events_find(struct perf_script_events *events,
			    const struct perf_script_sample *line, uint32_t *number)
{
	bool added;
	buffer_empty(&events->key);
	buffer_append_u8(&events->key, line->period != OPTIONAL_ABSENT);
	buffer_append(&events->key, line->event.data, line->event.size);
	if (buffer_failed(&events->key) || known_text_number(&events->names, events->key.data,
							     events->key.size, number, &added) < 0)
		return -ENOMEM;
	if (!added)
		return 0;
	if (array_reserve(&events->list, &events->capacity, *number, sizeof(*events->list)) < 0)
		return -ENOMEM;
	return add_event(events, line, &events->list[*number]);
}
