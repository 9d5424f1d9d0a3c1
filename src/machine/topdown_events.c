#include "machine/topdown_events.h"

#include <errno.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "machine/event.h"

int topdown_events_add(const struct topdown_method *method, const char *pmu, unsigned levels,
		       const struct pmu_list *pmus, struct event_list *list,
		       struct topdown_events *events, struct error *err)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	const struct topdown_event *before = NULL;
	*events = (struct topdown_events){ .first = list->count };
	for (size_t i = 0; i < method->event_count; i++) {
		const struct topdown_event *event = &method->events[i];
		char name[TOPDOWN_EVENT_TEXT_BYTES];
		events->event_of[i] = SIZE_MAX;
		if (!topdown_event_wanted(event, levels, TOPDOWN_PLAIN))
			continue;
		topdown_event_format(event, pmu, name);
		bool same = before && before->group == event->group;
		buffer_printf(&text, "%s%s", !before ? "{" : same ? "," : "},{", name);
		events->event_of[i] = events->first + events->count++;
		before = event;
	}
	buffer_append_text(&text, before ? "}" : "");
	if (buffer_failed(&text))
		return error_set(err, -ENOMEM, "out of memory for events of TopDown");
	return before ? event_list_parse(list, pmus, NULL, buffer_text(&text), err) : 0;
}
