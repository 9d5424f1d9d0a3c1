#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "advice/perf_explain.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json_stream.h"
#include "cli/events.h"
#include "cli/message.h"
#include "cli/page.h"
#include "events/event_catalog.h"
#include "events/pfm_names.h"
#include "machine/event.h"
#include "machine/pmu.h"

static const char *const type_names[] = { "hardware", "software", "tracepoint",
					  "hw-cache", "raw",	  "breakpoint" };

static const char *const cycle_names[] = {
	[EVENT_NO_CYCLES] = "",
	[EVENT_THREAD_CYCLES] = "THREAD cycles (of this hardware thread, at the core's clock)",
	[EVENT_CORE_CYCLES] = "CORE cycles (while any thread of the core runs)",
	[EVENT_REF_CYCLES] = "REF cycles (at a fixed rate, whatever the clock)",
};

/* What the event excludes, in words; "": nothing. */
static void format_excluded(const struct perf_event_attr *attr, char *text, size_t size)
{
	const struct {
		bool excluded;
		const char *name;
	} parts[] = { { attr->exclude_user, "user" },	  { attr->exclude_kernel, "kernel" },
		      { attr->exclude_hv, "hypervisor" }, { attr->exclude_idle, "idle" },
		      { attr->exclude_host, "host" },	  { attr->exclude_guest, "guest" } };
	size_t length = 0;
	text[0] = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].excluded)
			length += (size_t)snprintf(text + length, size - length, "%s%s",
						   length ? ", " : "", parts[i].name);
}

/* Whether the event opens on this machine; if not, `cause` says why. */
static bool counted_here(const struct pmu_list *pmus, const struct event *event, char *cause,
			 size_t size)
{
	int code = event_try(pmus, event);
	cause[0] = 0;
	if (code)
		perf_open_explain(event, code, event->uncore ? -1 : 0, -1, cause, size);
	return code == 0;
}

/* Its place in its group, if any, and whether it is sampled there; "" of one that stands alone. */
static const char *place_of(const struct event_list *list, size_t i)
{
	size_t leader = list->events[i].leader, sampled;
	if (event_list_group_size(list, leader) == 1)
		return "";
	bool read = event_list_sampled(list, leader, &sampled, NULL) == 0;
	if (leader == i)
		return read && sampled != i ? " (leads a group, is not sampled)"
					    : " (leads a group)";
	return read && sampled == i ? " (in the group, is sampled)" : " (in the group)";
}

static void print_event(const struct pmu_list *pmus, const struct event_list *list, size_t i)
{
	const struct event *event = &list->events[i];
	const struct perf_event_attr *attr = &event->attr;
	char perf[512], excluded[64], cause[256];
	event_format_perf(event, perf, sizeof(perf));
	format_excluded(attr, excluded, sizeof(excluded));
	page_line("%s%s%s%s", event->name, event->core_type ? " on " : "",
		  event->core_type ? event->core_type : "", place_of(list, i));
	page_line("  perf     %s", perf);
	page_line("  PMU      %s", event->pmu);
	page_line("  type     %" PRIu32 "%s%s%s", (uint32_t)attr->type, attr->type < 6 ? " (" : "",
		  attr->type < 6 ? type_names[attr->type] : "", attr->type < 6 ? ")" : "");
	page_line("  config   0x%" PRIx64, (uint64_t)attr->config);
	if (attr->config1)
		page_line("  config1  0x%" PRIx64, (uint64_t)attr->config1);
	if (attr->config2)
		page_line("  config2  0x%" PRIx64, (uint64_t)attr->config2);
	if (excluded[0])
		page_line("  without  %s", excluded);
	if (attr->precise_ip || event->max_precise)
		page_line("  precise  %s%.0d", event->max_precise ? "the highest that opens" : "",
			  event->max_precise ? 0 : (int)attr->precise_ip);
	if (attr->sample_period)
		page_line("  %s  %" PRIu64, attr->freq ? "freq   " : "period ",
			  (uint64_t)attr->sample_period);
	if (event->scale == 1)
		page_line("  counts   %s",
			  event->cycles ? cycle_names[event->cycles] : event->unit);
	else
		page_line("  counts   %s, each count is %g", event->unit, event->scale);
	if (counted_here(pmus, event, cause, sizeof(cause)))
		page_line("  here     counted");
	else
		page_line("  here     not countable: %s", cause);
}

/* A factor with all its digits, and a decimal point also where it is whole. */
static void put_scale(struct json_stream *out, double scale)
{
	char text[40];
	snprintf(text, sizeof(text), "%.17g", scale);
	json_stream_key(out, "scale");
	buffer_printf(out->out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

static void put_attr(struct json_stream *out, const struct event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	json_stream_u64(out, "type", attr->type);
	json_stream_u64(out, "config", attr->config);
	json_stream_u64(out, "config1", attr->config1);
	json_stream_u64(out, "config2", attr->config2);
	json_stream_bool(out, "exclude_user", attr->exclude_user);
	json_stream_bool(out, "exclude_kernel", attr->exclude_kernel);
	json_stream_bool(out, "exclude_hypervisor", attr->exclude_hv);
	json_stream_bool(out, "exclude_idle", attr->exclude_idle);
	json_stream_bool(out, "exclude_host", attr->exclude_host);
	json_stream_bool(out, "exclude_guest", attr->exclude_guest);
	if (event->max_precise)
		json_stream_text(out, "precise", "max");
	else
		json_stream_u64(out, "precise", attr->precise_ip);
	json_stream_known(out, "period", attr->sample_period && !attr->freq, attr->sample_period);
	json_stream_known(out, "frequency_hz", attr->freq, attr->sample_freq);
}

static void put_event(struct json_stream *out, const struct pmu_list *pmus,
		      const struct event *event)
{
	char perf[512], cause[256];
	event_format_perf(event, perf, sizeof(perf));
	bool counted = counted_here(pmus, event, cause, sizeof(cause));
	json_stream_open(out, NULL, '{', JSON_LINES);
	json_stream_text(out, "name", event->name);
	json_stream_text(out, "perf", perf);
	json_stream_text(out, "pmu", event->pmu);
	json_stream_text(out, "core_type", event->core_type);
	put_attr(out, event);
	json_stream_text(out, "unit", event->unit);
	put_scale(out, event->scale);
	json_stream_text(out, "cycles", event_cycles_keys[event->cycles]);
	json_stream_u64(out, "leader", event->leader);
	json_stream_bool(out, "counted", counted);
	json_stream_text(out, "cause", cause[0] ? cause : NULL);
	json_stream_close(out, '}');
}

static int print_json(const struct pmu_list *pmus, const struct event_list *list)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	struct json_stream out = { .out = &page };
	json_stream_open(&out, NULL, '{', JSON_LINES);
	json_stream_u64(&out, "schema", 1);
	json_stream_open(&out, "events", '[', JSON_LINES);
	for (size_t i = 0; i < list->count; i++)
		put_event(&out, pmus, &list->events[i]);
	json_stream_close(&out, ']');
	json_stream_end(&out, '}');
	return page_write(&page, PAGE_JSON);
}

int events_encode(const struct pmu_list *pmus, char *const *texts, size_t count, bool json)
{
	CLEANUP(event_list_release) struct event_list list = { 0 };
	struct error err;
	for (size_t i = 0; i < count; i++) {
		int status = event_list_parse(&list, pmus, &pfm_names, texts[i], &err);
		if (status) {
			/* a question ("did you mean 'cycles'?") has its end already */
			bool asks = err.text[0] && err.text[strlen(err.text) - 1] == '?';
			message_error("%s%s", err.text,
				      status != -ENOENT ? ""
				      : asks		? " 'culprit events' lists them all"
							: "; 'culprit events' lists them all");
			return status == -ENOMEM ? 1 : 2;
		}
	}
	if (json)
		return print_json(pmus, &list);
	for (size_t i = 0; i < list.count; i++)
		print_event(pmus, &list, i);
	return 0;
}
