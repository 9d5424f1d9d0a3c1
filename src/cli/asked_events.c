#include "cli/asked_events.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "advice/default_events.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "events/pfm_names.h"
#include "machine/event.h"
#include "machine/machine_root.h"
#include "machine/pmu.h"
#include "machine/probe.h"

static bool is_software(const struct event *event)
{
	return event->kind == EVENT_SOFTWARE || event->attr.type == PERF_TYPE_SOFTWARE;
}

/* cpu-clock with the user and kernel bits of the event it stands for. */
static int add_clock(struct event_list *events, const struct pmu_list *pmus,
		     const struct event *instead_of, struct error *err)
{
	const char *name =
		instead_of->attr.exclude_kernel && !instead_of->attr.exclude_user   ? "cpu-clock:u"
		: instead_of->attr.exclude_user && !instead_of->attr.exclude_kernel ? "cpu-clock:k"
										    : "cpu-clock";
	return event_list_parse(events, pmus, NULL, name, err);
}

/*
 * Without a PMU: what software counts stays, hardware events become one
 * cpu-clock unless a clock is there.
 */
static int substitute(struct event_list *events, const struct pmu_list *pmus, bool *substituted,
		      struct error *err)
{
	CLEANUP(event_list_release) struct event_list kept = { 0 };
	const struct event *dropped = NULL;
	bool clock = false;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < events->count; i++) {
		const struct event *event = &events->events[i];
		if (!is_software(event)) {
			if (!dropped)
				dropped = event;
			continue;
		}
		clock = clock || event->clock;
		ret = event_list_parse(&kept, pmus, NULL, event->name, err);
	}
	if (ret < 0 || !dropped)
		return ret;
	if (!clock)
		ret = add_clock(&kept, pmus, dropped, err);
	if (ret < 0)
		return ret;
	message_warning("'%s' cannot be counted here: this machine has no hardware counters (no "
			"PMU); sampling %s instead, which is time: 'culprit doctor' says more",
			dropped->name, clock ? "the clock" : kept.events[kept.count - 1].name);
	*substituted = true;
	struct event_list replaced = *events;
	*events = kept;
	kept = replaced; /* released at the end */
	return 0;
}

static int read_all(const struct option_list *asked, const struct pmu_list *pmus,
		    struct event_list *events, bool *substituted, struct error *err)
{
	CLEANUP(event_list_release) struct event_list best = { 0 };
	int why_not_cycles = 0;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < asked->count; i++)
		ret = event_list_parse(events, pmus, &pfm_names, asked->items[i], err);
	if (ret < 0)
		return ret;
	if (asked->count == 0) {
		ret = event_list_default(events, pmus, &why_not_cycles, err);
		if (ret == 0 && why_not_cycles == -ENOENT)
			message_note(
				"no hardware counters here (no PMU): sampling cpu-clock, which "
				"is time, not cycles");
		return ret;
	}
	/* The same question as for the default: does this machine count cycles at all? */
	if (event_list_default(&best, pmus, &why_not_cycles, NULL) == 0 &&
	    why_not_cycles == -ENOENT)
		ret = substitute(events, pmus, substituted, err);
	return ret;
}

int asked_events_read(const struct option_list *asked, struct event_list *events, bool *substituted)
{
	CLEANUP(machine_root_close) struct machine_root root = { .fd = -1 };
	CLEANUP(pmu_list_release) struct pmu_list pmus = { 0 };
	struct error err = { 0 };
	*substituted = false;
	int ret = machine_root_open("/", &root, &err);
	if (ret == 0)
		ret = pmu_list_read(&root, &pmus, &err);
	if (ret == 0)
		ret = read_all(asked, &pmus, events, substituted, &err);
	if (ret == 0)
		return 0;
	message_error("%s", err.text);
	return ret == -EINVAL || ret == -ENOENT ? 2 : 1;
}
