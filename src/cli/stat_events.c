#include "cli/stat_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "cli/message.h"
#include "cli/stat_metrics.h"
#include "count/count_set.h"
#include "events/pfm_names.h"
#include "machine/machine_root.h"

/* What perf stat counts without -e, and with -d. */
static const char *const usual_events[] = { "task-clock",  "context-switches", "cpu-migrations",
					    "page-faults", "cycles",	       "instructions",
					    "branches",	   "branch-misses" };
/* With --topdown, which takes the PMU. */
static const char *const software_events[] = { "task-clock", "context-switches", "cpu-migrations",
					       "page-faults" };
static const char *const detailed_events[] = { "L1-dcache-loads", "L1-dcache-load-misses",
					       "LLC-loads", "LLC-load-misses" };

static int parse_all(struct stat_events *events, const char *const *names, size_t count,
		     struct error *err)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = event_list_parse(&events->list, &events->pmus, &pfm_names, names[i], err);
	return ret;
}

static int parse_asked(struct stat_events *events, const struct stat_options *options,
		       const struct machine_root *root, struct error *err)
{
	if (options->null_run)
		return 0;
	events->usual = !options->events.count && !options->metrics.count;
	int ret = parse_all(events, options->events.items, options->events.count, err);
	if (ret == 0 && events->usual && options->has_topdown)
		ret = parse_all(events, software_events, COUNT_OF(software_events), err);
	else if (ret == 0 && events->usual)
		ret = parse_all(events, usual_events, COUNT_OF(usual_events), err);
	if (ret == 0 && options->detailed)
		ret = parse_all(events, detailed_events, COUNT_OF(detailed_events), err);
	if (ret == 0)
		ret = stat_metrics_add_events(options, &events->pmus, &events->list, err);
	events->shown_count = events->list.count;
	if (ret < 0 || !options->has_topdown)
		return ret;
	return stat_topdown_add_events(&events->topdown, options, root, &events->pmus,
				       &events->list, err);
}

bool stat_event_is_switch(const struct event *event)
{
	return event->kind == EVENT_SOFTWARE &&
	       (event->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		event->attr.config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		event->attr.config == PERF_COUNT_SW_CGROUP_SWITCHES);
}

/* --user and --kernel, of events that have no such modifier. Time passes and tasks are switched on
 * neither side. */
static void limit_scope(struct event *event, const struct stat_options *options)
{
	struct perf_event_attr *attr = &event->attr;
	if (event->clock || stat_event_is_switch(event) || event->uncore || attr->exclude_user ||
	    attr->exclude_kernel)
		return;
	if (options->user_only)
		attr->exclude_kernel = attr->exclude_hv = 1;
	else if (options->kernel_only)
		attr->exclude_user = 1;
}

/* perf's ":u" behind the name of what is counted of one side only, where it was not written. */
static int show_scope(struct stat_events *events, size_t index, const char *modifier)
{
	struct event_list *list = &events->list;
	const char *name = list->events[index].name;
	if (name[strcspn(name, ":")])
		return 0;
	size_t size = strlen(name);
	const char *between = size && name[size - 1] == '/' ? "" : ":";
	events->shown[index].name = arena_printf(&list->arena, "%s%s%s", name, between, modifier);
	return events->shown[index].name ? 0 : -ENOMEM;
}

static int show_all(struct stat_events *events, const struct stat_options *options)
{
	struct event_list *list = &events->list;
	events->shown = calloc(list->count + 1, sizeof(*events->shown));
	if (!events->shown)
		return -ENOMEM;
	int ret = 0;
	for (size_t i = 0; i < list->count && ret == 0; i++) {
		bool asked =
			list->events[i].attr.exclude_user || list->events[i].attr.exclude_kernel;
		limit_scope(&list->events[i], options);
		events->shown[i] = counts_event_of(&list->events[i]);
		if (!asked && list->events[i].attr.exclude_kernel)
			ret = show_scope(events, i, "u");
		else if (!asked && list->events[i].attr.exclude_user)
			ret = show_scope(events, i, "k");
	}
	return ret;
}

int stat_events_make(struct stat_events *events, const struct stat_options *options)
{
	CLEANUP(machine_root_close) struct machine_root root = { .fd = -1 };
	struct error err = { 0 };
	int ret = machine_root_open("/", &root, &err);
	if (ret == 0)
		ret = pmu_list_read(&root, &events->pmus, &err);
	if (ret == 0)
		ret = parse_asked(events, options, &root, &err);
	if (ret == 0 && show_all(events, options) < 0)
		ret = error_set(&err, -ENOMEM, "out of memory for events");
	if (ret == 0)
		return 0;
	message_error("%s", err.text);
	bool misused = ret == -EINVAL || (ret == -ENOENT && !events->topdown.cores);
	return misused ? 2 : 1;
}

int stat_events_settle(struct stat_events *events, const struct count_set *set)
{
	for (size_t i = 0; i < events->list.count; i++) {
		struct counts_event *shown = &events->shown[i];
		const struct event *event = &events->list.events[i];
		if (!count_set_is_user_only(set, i) || event->clock)
			continue;
		shown->scope |= COUNTS_WITHOUT_KERNEL;
		if (show_scope(events, i, "u") < 0) {
			message_error("out of memory for events");
			return 1;
		}
	}
	return 0;
}

void stat_events_release(struct stat_events *events)
{
	stat_topdown_release(&events->topdown);
	free(events->shown);
	event_list_release(&events->list);
	pmu_list_release(&events->pmus);
	*events = (struct stat_events){ 0 };
}
