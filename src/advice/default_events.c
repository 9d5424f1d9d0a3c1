#include "advice/default_events.h"

#include <errno.h>
#include <stdio.h>

#include "advice/perf_explain.h"
#include "base/error.h"
#include "machine/event.h"
#include "machine/probe.h"

static int try_events(struct event_list *list, const struct pmu_list *pmus, const char *text,
		      struct error *err)
{
	size_t before = list->count;
	int status = event_list_parse(list, pmus, NULL, text, err);
	for (size_t i = before; !status && i < list->count; i++)
		if (list->events[i].leader == i)
			status = probe_group(list, i);
	if (status)
		list->count = before;
	return status;
}

int event_list_default(struct event_list *list, const struct pmu_list *pmus, int *why_not_cycles,
		       struct error *err)
{
	static const char *const hardware[] = { "{cycles,instructions,ref-cycles}%s",
						"{cycles,instructions}%s", "cycles%s" };
	static const char *const scopes[] = { "", ":u" };
	char text[64];
	int status = 0;
	for (size_t scope = 0; scope < 2; scope++)
		for (size_t i = 0; i < sizeof(hardware) / sizeof(hardware[0]); i++) {
			snprintf(text, sizeof(text), hardware[i], scopes[scope]);
			status = try_events(list, pmus, text, err);
			*why_not_cycles = status;
			if (status == 0 || status == -ENOMEM)
				return status;
		}
	for (size_t scope = 0; scope < 2; scope++) {
		snprintf(text, sizeof(text), "cpu-clock%s", scopes[scope]);
		status = try_events(list, pmus, text, err);
		if (status == 0 || status == -ENOMEM)
			return status;
	}
	struct event clock = { .kind = EVENT_SOFTWARE, .pmu = "software" };
	char cause[256];
	perf_open_explain(&clock, status, 0, -1, cause, sizeof(cause));
	return error_set(err, status, "cannot sample even 'cpu-clock': %s", cause);
}
