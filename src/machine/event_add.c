/* From what was written to events: core types, PMUs, modifiers, leaders. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "machine/event_private.h"

#define EVENT_COUNT_LIMIT 4096 /* events that one list may become */

static void apply_modifiers(const char *modifiers, struct event *event)
{
	struct perf_event_attr *attr = &event->attr;
	bool user = strchr(modifiers, 'u'), kernel = strchr(modifiers, 'k');
	bool hypervisor = strchr(modifiers, 'h'), guest = strchr(modifiers, 'G');
	bool host = strchr(modifiers, 'H');
	if (user || kernel || hypervisor) {
		attr->exclude_user = !user;
		attr->exclude_kernel = !kernel;
		attr->exclude_hv = !hypervisor;
	}
	if (guest || host) {
		attr->exclude_guest = !guest;
		attr->exclude_host = !host;
	}
	for (const char *letter = modifiers; *letter; letter++)
		switch (*letter) {
		case 'p':
			attr->precise_ip++;
			break;
		case 'P':
			event->max_precise = true;
			break;
		case 'I':
			attr->exclude_idle = 1;
			break;
		case 'D':
			attr->pinned = 1;
			break;
		case 'e':
			attr->exclusive = 1;
			break;
		case 'S':
			event->read_group = true;
			break;
		}
}

/* Number of the generic event in Armv8's common architectural events (Arm ARM, D13). */
static bool arm_number(uint64_t hardware, uint64_t *number)
{
	static const struct {
		uint64_t hardware, number;
		const char *name;
	} known[] = {
		{ PERF_COUNT_HW_CPU_CYCLES, 0x11, "cpu_cycles" },
		{ PERF_COUNT_HW_INSTRUCTIONS, 0x08, "inst_retired" },
		{ PERF_COUNT_HW_CACHE_REFERENCES, 0x04, "l1d_cache" },
		{ PERF_COUNT_HW_CACHE_MISSES, 0x03, "l1d_cache_refill" },
		{ PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0x21, "br_retired" },
		{ PERF_COUNT_HW_BRANCH_MISSES, 0x10, "br_mis_pred" },
		{ PERF_COUNT_HW_BUS_CYCLES, 0x1d, "bus_cycles" },
		{ PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 0x23, "stall_frontend" },
		{ PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 0x24, "stall_backend" },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].hardware == hardware) {
			*number = known[i].number;
			return true;
		}
	return false;
}

static bool is_arm_core(const struct pmu *pmu)
{
	return strncmp(pmu->name, "armv", 4) == 0;
}

/* Several core types: the event must say on which one it counts. */
static void bind_to_type(const struct pmu *core, struct event *event)
{
	uint64_t number;
	switch (event->kind) {
	case EVENT_HARDWARE:
		/* Arm kernels before 6.6 know no extended type; the number is architectural. */
		if (is_arm_core(core) && arm_number(event->attr.config, &number)) {
			event->attr.type = core->type;
			event->attr.config = number;
			return;
		}
		/* fall through */
	case EVENT_CACHE:
		event->attr.config |= (uint64_t)core->type << PERF_PMU_TYPE_SHIFT;
		return;
	case EVENT_RAW:
	case EVENT_PFM:
		event->attr.type = core->type;
		return;
	case EVENT_SOFTWARE:
	case EVENT_PMU:
		return;
	}
}

static int name_event(const struct event_parser *parser, const struct written_event *written,
		      struct event *event)
{
	struct arena *arena = &parser->list->arena;
	/* name= replaces what was written, modifiers too, as for perf. */
	if (!event->name)
		event->name = arena_printf(
			arena, "%.*s%s%s", (int)written->name_size, written->name,
			!written->modifiers[0] || memchr(written->name, '/', written->name_size)
				? ""
				: ":",
			written->modifiers);
	return event->name ? 0
			   : error_set(parser->err, -ENOMEM, "out of memory while reading events");
}

static int add_event(const struct event_parser *parser, const struct written_event *written,
		     const struct pmu *pmu, const struct pmu *core, size_t leader)
{
	struct event_list *list = parser->list;
	struct event event = written->event;
	bool several = pmu_core(parser->pmus, 1);
	if (list->count == EVENT_COUNT_LIMIT)
		return error_set(parser->err, -EINVAL, "more than %d events", EVENT_COUNT_LIMIT);
	int status = 0;
	if (written->bare)
		status = event_terms_resolve(parser, core, written->bare, strlen(written->bare),
					     &event);
	else if (pmu != written->pmu && pmu)
		event.attr.type = pmu->type;
	if (!status && core && several && written->any_core)
		bind_to_type(core, &event);
	if (!status)
		status = name_event(parser, written, &event);
	if (status)
		return status;
	const struct pmu *on = written->any_core ? core : pmu;
	if (on) {
		event.pmu = arena_copy_text(&list->arena, on->name, strlen(on->name));
		event.uncore = on->uncore;
		event.has_cpus = on->has_cpus;
		event.cpus = on->cpus;
		if (several && on->core)
			event.core_type = event.pmu;
	} else {
		event.pmu = event.kind == EVENT_SOFTWARE ? "software" : "cpu";
	}
	/* An event's unit came from sysfs, whose text does not live as long as the list. */
	if (event.unit && event.kind == EVENT_PMU)
		event.unit = arena_copy_text(&list->arena, event.unit, strlen(event.unit));
	event_classify(on, &event);
	apply_modifiers(written->modifiers, &event);
	event.marked = written->marked;
	event.leader = leader == SIZE_MAX ? list->count : leader;
	if (!event.pmu || !event.unit ||
	    array_reserve(&list->events, &list->capacity, list->count, sizeof(event)))
		return error_set(parser->err, -ENOMEM, "out of memory while reading events");
	list->events[list->count++] = event;
	return 0;
}

/* PMUs that are served by the kernel's software context, so their events join any group. */
static bool joins_any_group(const struct pmu *pmu)
{
	static const char *const names[] = { "software", "tracepoint", "kprobe",
					     "uprobe",	 "breakpoint", "msr" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(pmu->name, names[i]) == 0)
			return true;
	return false;
}

/* The one hardware PMU that the group names, if any; more than one cannot be read together. */
static int find_group_pmu(const struct event_parser *parser, const struct written_group *group,
			  const struct pmu **found)
{
	*found = NULL;
	for (size_t i = 0; i < group->count; i++) {
		const struct written_event *member = &group->members[i];
		if (member->alike_count)
			return event_parse_error(
				parser, -EINVAL, member->at,
				"'%.*s' stands for %zu PMUs; in a group name one, as "
				"'%s/.../'",
				(int)member->name_size, member->name, member->alike_count + 1,
				member->pmu->name);
		if (!member->pmu || joins_any_group(member->pmu))
			continue;
		if (*found && *found != member->pmu)
			return event_parse_error(
				parser, -EINVAL, member->at,
				"a group counts on one PMU, but this one is on '%s' "
				"and '%s'",
				(*found)->name, member->pmu->name);
		*found = member->pmu;
	}
	for (size_t i = 0; *found && !(*found)->core && i < group->count; i++)
		if (group->members[i].any_core)
			return event_parse_error(
				parser, -EINVAL, group->members[i].at,
				"a group counts on one PMU, but this one is on '%s' "
				"and the CPU's own",
				(*found)->name);
	return 0;
}

static bool type_has_group(const struct written_group *group, const struct pmu *core)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->members[i].bare && !pmu_find_event(core, group->members[i].bare))
			return false;
	return true;
}

static int add_group_on(const struct event_parser *parser, const struct written_group *group,
			const struct pmu *core)
{
	size_t leader = SIZE_MAX;
	for (size_t i = 0; i < group->count; i++) {
		const struct written_event *member = &group->members[i];
		size_t at = parser->list->count;
		int status = add_event(parser, member, member->pmu, core, leader);
		if (status)
			return status;
		if (leader == SIZE_MAX)
			leader = at;
	}
	return 0;
}

int event_group_add(const struct event_parser *parser, const struct written_group *group)
{
	const struct pmu *named = NULL;
	const struct pmu *core;
	bool any_core = false;
	int status = group->braces ? find_group_pmu(parser, group, &named) : 0;
	if (status)
		return status;
	for (size_t i = 0; i < group->count; i++)
		any_core |= group->members[i].any_core;
	if (!any_core || named || !pmu_core(parser->pmus, 0)) {
		status = add_group_on(parser, group, named && named->core ? named : NULL);
		for (size_t i = 0; !status && i < group->members[0].alike_count; i++)
			status = add_event(parser, &group->members[0], group->members[0].alike[i],
					   NULL, SIZE_MAX);
		return status;
	}
	bool added = false;
	for (size_t n = 0; !status && (core = pmu_core(parser->pmus, n)); n++) {
		if (!type_has_group(group, core))
			continue;
		status = add_group_on(parser, group, core);
		added = true;
	}
	if (!status && !added)
		return event_parse_error(parser, -EINVAL, group->members[0].at,
					 "no core type has all events of this group");
	return status;
}
