#include "import/perf_script/perf_script_header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/count_of.h"
#include "base/digits.h"
#include "machine/cpu_model.h"

void perf_script_header_release(struct perf_script_header *header)
{
	arena_release(&header->texts);
	free(header->events);
}

static struct span trim(struct span text)
{
	const char *bytes = text.data;
	while (text.size && (*bytes == ' ' || *bytes == '\t')) {
		bytes++;
		text.size--;
	}
	while (text.size && (bytes[text.size - 1] == ' ' || bytes[text.size - 1] == '\t'))
		text.size--;
	return (struct span){ bytes, text.size };
}

static bool is_text(struct span span, const char *text)
{
	return span_equal(span, span_of_text(text));
}

static int keep(struct perf_script_header *header, struct span value, struct span *out)
{
	if (out->data || value.size == 0)
		return 0;
	char *copy = arena_copy_text(&header->texts, value.data, value.size);
	if (!copy)
		return -ENOMEM;
	*out = (struct span){ copy, value.size };
	return 0;
}

/* Decimal or 0x..., up to what is no digit; false without one or past 64 bits. */
static bool leading_number(struct span text, uint64_t *value)
{
	const char *at = text.data, *end = at + text.size;
	unsigned base = 10;
	if (text.size > 2 && at[0] == '0' && at[1] == 'x') {
		base = 16;
		at += 2;
	}
	return digits_take(&at, end, base, value);
}

/* "GenuineIntel,6,94,3" in decimal; Arm's is a MIDR, "0x00000000410fd0c0". */
static int take_cpuid(struct perf_script_header *header, struct span value)
{
	const char *comma = memchr(value.data, ',', value.size);
	uint64_t numbers[3];
	struct span rest = value;
	char model[CPU_MODEL_ROOM];
	if (!comma) {
		if (!leading_number(value, &numbers[0]))
			return keep(header, value, &header->source.cpu_model);
		cpu_model_of_arm(numbers[0], model);
		return keep(header, span_of_text(model), &header->source.cpu_model);
	}
	struct span vendor = { value.data, (size_t)(comma - (const char *)value.data) };
	for (int i = 0; i < 3; i++) {
		comma = memchr(rest.data, ',', rest.size);
		if (!comma)
			return 0;
		rest.size -= (size_t)(comma + 1 - (const char *)rest.data);
		rest.data = comma + 1;
		if (!leading_number(rest, &numbers[i]))
			return 0;
	}
	if (header->source.cpu_model.data)
		return 0;
	cpu_model_of_x86(numbers[0], numbers[1], numbers[2], model);
	int ret = keep(header, span_of_text(model), &header->source.cpu_model);
	return ret < 0 ? ret : keep(header, vendor, &header->source.cpu_vendor);
}

/* "70.273 ms" */
static void take_duration(struct perf_script_header *header, struct span value)
{
	uint64_t whole, fraction;
	if (!leading_number(value, &whole) || whole > UINT64_MAX / 2000000)
		return;
	const char *point = memchr(value.data, '.', value.size);
	header->source.duration_ns = whole * 1000000;
	if (!point)
		return;
	struct span rest = { point + 1,
			     value.size - (size_t)(point + 1 - (const char *)value.data) };
	if (rest.size >= 3 && leading_number((struct span){ rest.data, 3 }, &fraction))
		header->source.duration_ns += fraction * 1000;
}

static void take_attribute(struct profile_event *event, struct span name, struct span value)
{
	static const struct {
		const char *name;
		uint64_t exclude;
	} excludes[] = {
		{ "exclude_user", EXCLUDE_USER },     { "excl_usr", EXCLUDE_USER },
		{ "exclude_kernel", EXCLUDE_KERNEL }, { "excl_kern", EXCLUDE_KERNEL },
		{ "exclude_hv", EXCLUDE_HV },	      { "exclude_idle", EXCLUDE_IDLE },
		{ "exclude_host", EXCLUDE_HOST },     { "excl_host", EXCLUDE_HOST },
		{ "exclude_guest", EXCLUDE_GUEST },   { "excl_guest", EXCLUDE_GUEST },
	};
	uint64_t number;
	if (!leading_number(value, &number)) {
		const char *bracket = memchr(value.data, '(', value.size); /* "4 (cpu)" since 6.9 */
		if (!bracket)
			return;
		value.size -= (size_t)(bracket + 1 - (const char *)value.data);
		value.data = bracket + 1;
		if (!leading_number(value, &number))
			return;
	}
	if (is_text(name, "{ sample_period, sample_freq }")) {
		event->period = number;
		event->policy = event->policy == PERIOD_FREQUENCY ? PERIOD_FREQUENCY : PERIOD_FIXED;
	} else if (is_text(name, "freq") && number) {
		event->policy = PERIOD_FREQUENCY;
	} else if (is_text(name, "type")) {
		event->type = number;
	} else if (is_text(name, "config")) {
		event->config = number;
	} else if (is_text(name, "precise_ip")) {
		event->precise = number;
	} else {
		for (size_t i = 0; i < COUNT_OF(excludes); i++)
			if (is_text(name, excludes[i].name) && number)
				event->exclude |= excludes[i].exclude;
	}
}

/*
 * "name = cycles, , id = { 550, 551 }, size = 112, { sample_period, sample_freq } = 4000, freq = 1,
 * ...": commas inside braces belong to names and values.
 */
static int take_event(struct perf_script_header *header, struct span text)
{
	struct profile_event event = { .origin = ORIGIN_IMPORTED };
	const char *at = text.data, *end = at + text.size;
	if (header->event_count == PERF_SCRIPT_HEADER_EVENTS)
		return 0;
	while (at < end) {
		const char *start = at, *equals = NULL;
		size_t depth = 0;
		for (; at < end && (depth || *at != ','); at++) {
			depth += *at == '{';
			depth -= *at == '}' && depth;
			if (*at == '=' && !depth && !equals)
				equals = at;
		}
		if (equals) {
			struct span name = trim((struct span){ start, (size_t)(equals - start) });
			struct span value =
				trim((struct span){ equals + 1, (size_t)(at - equals - 1) });
			if (!is_text(name, "name"))
				take_attribute(&event, name, value);
			else if (keep(header, value, &event.name) < 0)
				return -ENOMEM;
		}
		at += at < end;
	}
	if (!event.name.data)
		return 0;
	if (event.period == 0)
		event.policy = PERIOD_NONE;
	if (array_reserve(&header->events, &header->event_capacity, header->event_count,
			  sizeof(event)) < 0)
		return -ENOMEM;
	header->events[header->event_count++] = event;
	return 0;
}

static int take_pair(struct perf_script_header *header, struct span name, struct span value)
{
	struct profile_source *source = &header->source;
	uint64_t number;
	if (is_text(name, "hostname"))
		return keep(header, value, &source->host);
	if (is_text(name, "os release"))
		return keep(header, value, &source->kernel);
	if (is_text(name, "arch"))
		return keep(header, value, &source->machine);
	if (is_text(name, "cpudesc"))
		return keep(header, value, &source->cpu_name);
	if (is_text(name, "cpuid"))
		return take_cpuid(header, value);
	if (is_text(name, "cmdline"))
		return keep(header, value, &source->command);
	if (is_text(name, "event"))
		return take_event(header, value);
	if (is_text(name, "nrcpus online") && leading_number(value, &number))
		source->cpus = number;
	if (is_text(name, "sample duration"))
		take_duration(header, value);
	return 0;
}

int perf_script_header_take(struct perf_script_header *header, const char *line, size_t size)
{
	const char *colon = size ? memchr(line, ':', size) : NULL;
	if (!colon)
		return 0;
	struct span name = trim((struct span){ line + 1, (size_t)(colon - line) - 1 });
	struct span value = trim((struct span){ colon + 1, size - (size_t)(colon + 1 - line) });
	return take_pair(header, name, value);
}

/* "cycles" of "cycles:ppp" */
static struct span without_modifiers(struct span name)
{
	const char *colon = name.size ? memchr(name.data, ':', name.size) : NULL;
	if (colon && !memchr(name.data, '/', name.size))
		name.size = (size_t)(colon - (const char *)name.data);
	return name;
}

const struct profile_event *perf_script_header_event(const struct perf_script_header *header,
						     struct span name)
{
	const struct profile_event *found = NULL;
	struct span plain = without_modifiers(name);
	for (size_t i = 0; i < header->event_count; i++)
		if (span_equal(header->events[i].name, name))
			return &header->events[i];
	for (size_t i = 0; i < header->event_count; i++)
		if (span_equal(without_modifiers(header->events[i].name), plain)) {
			if (found)
				return NULL;
			found = &header->events[i];
		}
	return found;
}
