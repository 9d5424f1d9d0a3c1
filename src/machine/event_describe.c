#include <stdio.h>
#include <string.h>

#include "machine/event_names.h"
#include "machine/event_private.h"

enum core_make { CORE_INTEL, CORE_AMD, CORE_ARM };

/* The width of the field "event" tells the makers apart where the name is "cpu" on both. */
static enum core_make make_of(const struct pmu *core)
{
	if (strncmp(core->name, "armv", 4) == 0)
		return CORE_ARM;
	const struct pmu_format *format = pmu_find_format(core, "event");
	return format && format->mask >> 32 ? CORE_AMD : CORE_INTEL;
}

/*
 * Intel SDM 3B, 20.2: 3C/00 core clock of the thread, 3C/01 at a fixed rate, fixed
 * counters 00/02 and 00/03. Bit 21 ("any") counts for both threads of a core.
 */
static enum event_cycles intel_cycles(uint64_t config)
{
	uint64_t event = config & 0xff, mask = config >> 8 & 0xff;
	bool any = config >> 21 & 1;
	bool edge_or_threshold = config >> 18 & 1 || config >> 24 & 0xff;
	if (edge_or_threshold)
		return EVENT_NO_CYCLES;
	if ((event == 0x3c && mask == 0) || (event == 0 && mask == 2))
		return any ? EVENT_CORE_CYCLES : EVENT_THREAD_CYCLES;
	if ((event == 0x3c && mask == 1) || (event == 0 && mask == 3))
		return EVENT_REF_CYCLES;
	return EVENT_NO_CYCLES;
}

/* AMD PPR: PMCx076 "Cycles not in Halt"; PMCx120 "Reference cycles not in halt" (P0 frequency). */
static enum event_cycles amd_cycles(uint64_t config)
{
	uint64_t event = (config & 0xff) | (config >> 24 & 0xf00);
	if (config >> 18 & 1 || config >> 24 & 0xff)
		return EVENT_NO_CYCLES;
	return event == 0x76	? EVENT_THREAD_CYCLES
	       : event == 0x120 ? EVENT_REF_CYCLES
				: EVENT_NO_CYCLES;
}

/* Arm ARM D13: 0x11 CPU_CYCLES, 0x1d BUS_CYCLES, 0x4004 CNT_CYCLES (the generic timer's rate). */
static enum event_cycles arm_cycles(uint64_t config)
{
	switch (config & 0xffff) {
	case 0x11:
		return EVENT_THREAD_CYCLES;
	case 0x1d:
	case 0x4004:
		return EVENT_REF_CYCLES;
	default:
		return EVENT_NO_CYCLES;
	}
}

/*
 * Kernels that use PERF_METRICS have the event "slots" in sysfs. It is TOPDOWN.SLOTS, event 0 with
 * unit mask 4 (intel/perfmon, fixed counter 3); the metrics are events of the kernel's own, event 0
 * with unit masks from 0x80 (cpu/events/topdown-retiring in sysfs: event=0x00,umask=0x80).
 */
static enum event_slots intel_slots(const struct pmu *core, uint64_t config)
{
	uint64_t event = config & 0xff, mask = config >> 8 & 0xff;
	if (event != 0 || !pmu_find_event(core, "slots"))
		return EVENT_NO_SLOTS;
	return mask == 4 ? EVENT_SLOTS : mask & 0x80 ? EVENT_SLOTS_METRIC : EVENT_NO_SLOTS;
}

void event_classify(const struct pmu *pmu, struct event *event)
{
	bool numbered =
		event->kind == EVENT_RAW || event->kind == EVENT_PMU || event->kind == EVENT_PFM;
	if (numbered && pmu && pmu->core)
		switch (make_of(pmu)) {
		case CORE_INTEL:
			event->cycles = intel_cycles(event->attr.config);
			event->slots = intel_slots(pmu, event->attr.config);
			break;
		case CORE_AMD:
			event->cycles = amd_cycles(event->attr.config);
			break;
		case CORE_ARM:
			event->cycles = arm_cycles(event->attr.config);
			break;
		}
	if (!event->unit)
		event->unit = event->cycles == EVENT_NO_CYCLES ? "events" : "cycles";
}

static void format_modifiers(const struct event *event, char *text)
{
	const struct perf_event_attr *attr = &event->attr;
	if (attr->exclude_user || attr->exclude_kernel || attr->exclude_hv) {
		if (!attr->exclude_user)
			*text++ = 'u';
		if (!attr->exclude_kernel)
			*text++ = 'k';
		if (!attr->exclude_hv)
			*text++ = 'h';
	}
	for (unsigned int i = 0; i < attr->precise_ip; i++)
		*text++ = 'p';
	if (event->max_precise)
		*text++ = 'P';
	if (attr->exclude_host != attr->exclude_guest)
		*text++ = attr->exclude_host ? 'G' : 'H';
	if (attr->exclude_idle)
		*text++ = 'I';
	if (event->read_group)
		*text++ = 'S';
	if (attr->pinned)
		*text++ = 'D';
	if (attr->exclusive)
		*text++ = 'e';
	*text = 0;
}

/* The generic name of a hardware, software or cache event, or NULL; `room` may hold it. */
static const char *generic_name(const struct event *event, char room[CACHE_NAME_SIZE])
{
	const struct perf_event_attr *attr = &event->attr;
	uint64_t config = attr->config & UINT32_MAX;
	char description[64];
	uint64_t known;
	if (attr->type == PERF_TYPE_HARDWARE)
		for (size_t i = 0; i < hardware_name_count; i++)
			if (hardware_names[i].config == config)
				return hardware_names[i].name;
	if (attr->type == PERF_TYPE_SOFTWARE)
		for (size_t i = 0; i < software_name_count; i++)
			if (software_names[i].config == config)
				return software_names[i].name;
	if (attr->type == PERF_TYPE_HW_CACHE)
		for (size_t i = 0; cache_name_at(i, room, &known, description, sizeof(description));
		     i++)
			if (known == config)
				return room;
	return NULL;
}

void event_format_perf(const struct event *event, char *text, size_t size)
{
	const struct perf_event_attr *attr = &event->attr;
	char modifiers[32], room[CACHE_NAME_SIZE];
	format_modifiers(event, modifiers);
	const char *colon = modifiers[0] ? ":" : "";
	const char *generic = generic_name(event, room);
	if (generic && event->core_type) {
		snprintf(text, size, "%s/%s/%s", event->core_type, generic, modifiers);
		return;
	}
	if (generic) {
		snprintf(text, size, "%s%s%s", generic, colon, modifiers);
		return;
	}
	if (attr->type == PERF_TYPE_RAW && !attr->config1 && !attr->config2) {
		snprintf(text, size, "r%llx%s%s", (unsigned long long)attr->config, colon,
			 modifiers);
		return;
	}
	char more[64] = "";
	size_t used = 0;
	if (attr->config1)
		used = (size_t)snprintf(more, sizeof(more), ",config1=0x%llx",
					(unsigned long long)attr->config1);
	if (attr->config2)
		snprintf(more + used, sizeof(more) - used, ",config2=0x%llx",
			 (unsigned long long)attr->config2);
	snprintf(text, size, "%s/config=0x%llx%s/%s", event->pmu, (unsigned long long)attr->config,
		 more, modifiers);
}
