#include "import/perf_data/perf_data_event_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number_map.h"
#include "import/perf_data/perf_data_events.h"
#include "machine/event_names.h"
#include "profile/profile.h"

/* The PMU of a hybrid machine's generic event is in the upper half of config. */
static uint32_t extended_type(const struct perf_event_attr *attr)
{
	bool generic = attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE;
	return generic ? (uint32_t)(attr->config >> 32) : 0;
}

static const char *pmu_of(const struct perf_file_events *events, const struct perf_event_attr *attr)
{
	uint32_t extended = extended_type(attr);
	const char *known = number_map_find(&events->pmus, extended ? extended : attr->type);
	if (known)
		return known;
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return "cpu";
	case PERF_TYPE_SOFTWARE:
		return "software";
	case PERF_TYPE_TRACEPOINT:
		return "tracepoint";
	case PERF_TYPE_BREAKPOINT:
		return "breakpoint";
	default:
		return NULL;
	}
}

static const struct event_name *known_event(const struct perf_event_attr *attr)
{
	uint64_t config = attr->config & UINT32_MAX;
	if (attr->type == PERF_TYPE_HARDWARE)
		for (size_t i = 0; i < hardware_name_count; i++)
			if (hardware_names[i].config == config)
				return &hardware_names[i];
	if (attr->type == PERF_TYPE_SOFTWARE)
		for (size_t i = 0; i < software_name_count; i++)
			if (software_names[i].config == config)
				return &software_names[i];
	return NULL;
}

/* As perf's evsel__add_modifiers() does; `text` has room for 16. */
static void spell_modifiers(const struct perf_event_attr *attr, char *text)
{
	char *start = text;
	bool guest_by_default = false;
	*text++ = ':';
	if (attr->exclude_user || attr->exclude_kernel || attr->exclude_hv) {
		if (!attr->exclude_kernel)
			*text++ = 'k';
		if (!attr->exclude_user)
			*text++ = 'u';
		if (!attr->exclude_hv)
			*text++ = 'h';
		guest_by_default = true;
	}
	for (unsigned i = 0; i < attr->precise_ip; i++) {
		*text++ = 'p';
		guest_by_default = true;
	}
	if (attr->exclude_host || attr->exclude_guest == guest_by_default) {
		if (!attr->exclude_host)
			*text++ = 'H';
		if (!attr->exclude_guest)
			*text++ = 'G';
	}
	*(text > start + 1 ? text : start) = 0;
}

#define SPELLED_SIZE 256
#define SPELLED_PMU  208 /* bytes of a PMU's name: the rest has room behind it */

/* What perf would call an event that its file does not name. What does not fit is cut before
 * snprintf() reads it: many events may have the name of one PMU. */
static void spell_name(const struct perf_file_events *events, const struct perf_event_attr *attr,
		       char text[SPELLED_SIZE])
{
	const size_t size = SPELLED_SIZE;
	char modifiers[16], cache[CACHE_NAME_SIZE], description[64];
	const struct event_name *known = known_event(attr);
	const char *typed = number_map_find(&events->types, attr->config);
	const char *pmu = pmu_of(events, attr);
	spell_modifiers(attr, modifiers);
	if (known && extended_type(attr) && pmu) {
		snprintf(text, size, "%.*s/%s%s/", SPELLED_PMU, pmu, known->name, modifiers);
		return;
	}
	if (known) {
		snprintf(text, size, "%s%s", known->name, modifiers);
		return;
	}
	if (attr->type == PERF_TYPE_TRACEPOINT) {
		if (typed)
			snprintf(text, size, "%.*s", SPELLED_SIZE - 1, typed);
		else
			snprintf(text, size, "tracepoint %llu", (unsigned long long)attr->config);
		return;
	}
	if (attr->type == PERF_TYPE_HW_CACHE) {
		uint64_t config;
		for (size_t i = 0;
		     cache_name_at(i, cache, &config, description, sizeof(description)); i++)
			if (config == (attr->config & UINT32_MAX)) {
				snprintf(text, size, "%s%s", cache, modifiers);
				return;
			}
	}
	if (attr->type == PERF_TYPE_RAW)
		snprintf(text, size, "raw 0x%llx%s", (unsigned long long)attr->config, modifiers);
	else if (pmu)
		snprintf(text, size, "%.*s/config=0x%llx/%s", SPELLED_PMU, pmu,
			 (unsigned long long)attr->config, modifiers + (modifiers[0] == ':'));
	else
		snprintf(text, size, "type %u config 0x%llx", attr->type,
			 (unsigned long long)attr->config);
}

static uint64_t exclusions(const struct perf_event_attr *attr)
{
	return (attr->exclude_user ? EXCLUDE_USER : 0) |
	       (attr->exclude_kernel ? EXCLUDE_KERNEL : 0) | (attr->exclude_hv ? EXCLUDE_HV : 0) |
	       (attr->exclude_idle ? EXCLUDE_IDLE : 0) | (attr->exclude_host ? EXCLUDE_HOST : 0) |
	       (attr->exclude_guest ? EXCLUDE_GUEST : 0);
}

static const char *unit_of(const struct perf_file_event *event, const struct event_name *known)
{
	if (known && known->unit)
		return known->unit;
	/* a raw event that the user gave such a name */
	if (event->name && strncmp(event->name, "cycles", 6) == 0)
		return "cycles";
	if (event->name && strncmp(event->name, "instructions", 12) == 0)
		return "instructions";
	return "events";
}

/* The unit of the event's estimates. Clocks of the kernel count ns: the file's unit (msec, with a
 * scale of 1e-6) is how perf shows them. */
static void set_unit(struct perf_file_events *events, struct perf_file_event *event,
		     const struct event_name *known)
{
	bool told = event->unit && !(known && known->clock);
	struct span name = told ? span_of_text(event->unit) : (struct span){ NULL, 0 };
	if (!perf_unit_of(name, told ? event->scale : 0, &event->measure))
		events->bad_scales++;
	if (!event->measure.name.size)
		event->measure.name = span_of_text(unit_of(event, known));
}

/* The profile that is written, and the numbers of texts that many events share, by their addresses.
 */
struct writing {
	struct perf_file_events *events;
	struct profile *profile;
	struct number_map numbers;
};

/* The number of a text that lives as long as the events do; 0 of NULL. */
static int number_text(struct writing *writing, const char *text, uint32_t *number)
{
	const uint64_t address = (uintptr_t)text;
	*number = text ? (uint32_t)(uintptr_t)number_map_find(&writing->numbers, address) : 0;
	if (*number || !text)
		return 0;
	int ret = profile_add_text(writing->profile, text, number);
	return ret < 0 ? ret
		       : number_map_put(&writing->numbers, address, (void *)(uintptr_t)*number);
}

static int number_name(struct writing *writing, const struct perf_file_event *event,
		       uint32_t *number)
{
	char spelled[SPELLED_SIZE];
	if (event->name)
		return number_text(writing, event->name, number);
	spell_name(writing->events, &event->attr, spelled);
	return profile_add_text(writing->profile, spelled, number);
}

/* `leader` is NULL unless the event is read with its samples. */
static int number_texts(struct writing *writing, const struct perf_file_event *event,
			const struct perf_file_event *leader, struct profile_event_texts *texts)
{
	*texts = (struct profile_event_texts){ 0 };
	int ret = number_name(writing, event, &texts->name);
	if (ret == 0)
		ret = profile_add_bytes(writing->profile, event->measure.name, &texts->unit);
	if (ret == 0)
		ret = number_text(writing, pmu_of(writing->events, &event->attr), &texts->pmu);
	if (ret == 0 && extended_type(&event->attr))
		texts->core_type = texts->pmu;
	return ret < 0 || !leader ? ret : number_name(writing, leader, &texts->leader);
}

static int write_event(struct writing *writing, struct perf_file_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	const struct event_name *known = known_event(attr);
	set_unit(writing->events, event, known);
	const struct perf_file_event *leader = &writing->events->list[event->leader];
	bool member = leader != event && (leader->attr.sample_type & PERF_SAMPLE_READ);
	const struct profile_event row = {
		.scale = event->measure.decimals,
		.type = attr->type,
		.config = attr->config,
		.config1 = attr->config1,
		.config2 = attr->config2,
		.clock = known && known->clock ? EVENT_CLOCK : EVENT_COUNTED,
		.policy = member       ? PERIOD_NONE
			  : attr->freq ? PERIOD_FREQUENCY
				       : PERIOD_FIXED,
		.period = member       ? 0
			  : attr->freq ? attr->sample_period
				       : perf_unit_sum(&event->measure, attr->sample_period),
		.precise = attr->precise_ip,
		.exclude = exclusions(attr),
		.skid = attr->precise_ip >= 2 ? 1 : 0,
		.origin = ORIGIN_IMPORTED,
		.sampled = !member,
	};
	struct profile_event_texts texts;
	int ret = number_texts(writing, event, member ? leader : NULL, &texts);
	return ret < 0 ? ret
		       : profile_add_event_by_ids(writing->profile, &row, &texts, &event->row);
}

/* An event that has no samples, only records of processes. */
static bool is_dummy(const struct perf_file_event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_DUMMY;
}

int perf_events_write(struct perf_file_events *events, struct profile *profile)
{
	struct writing writing = { .events = events, .profile = profile };
	int ret = 0;
	for (size_t i = 0; i < events->count && ret == 0; i++) {
		struct perf_file_event *event = &events->list[i];
		if (!is_dummy(event) || event->counts.runs || event->counts.reads)
			ret = write_event(&writing, event);
	}
	number_map_release(&writing.numbers);
	return ret;
}
