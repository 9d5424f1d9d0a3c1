#include <inttypes.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_stream.h"
#include "base/sum.h"
#include "collect/collector.h"
#include "daemon/service_private.h"
#include "profile/profile.h"
#include "store/epoch.h"

const char *service_state_name(enum service_state state)
{
	switch (state) {
	case SERVICE_SAMPLING:
		return "sampling";
	case SERVICE_PAUSED:
		return "paused";
	case SERVICE_WAITING:
		return "waiting";
	case SERVICE_STOPPING:
		return "stopping";
	}
	return "unknown";
}

struct bill_totals service_totals(const struct service *service)
{
	struct bill_totals totals = service->totals;
	if (service->recorder) {
		struct bill_totals now = recorder_totals(service->recorder);
		bill_totals_join(&totals, &now);
	}
	return totals;
}

static uint64_t epochs_ended(const struct service *service)
{
	return service->epochs + (service->recorder ? service->recorder->epochs : 0);
}

/* Of the CPU time of the machine; NAN: nothing is known yet. */
static double share_of_machine(const struct bill_totals *totals, uint64_t ns)
{
	if (!totals->online_ns || sum_passed(totals->online_ns))
		return __builtin_nan("");
	return 100 * (double)ns / (double)totals->online_ns;
}

/* ---- status */

static void write_lost(const struct bill_totals *totals, struct json_stream *json)
{
	json_stream_open(json, "lost", '{', JSON_ONE_LINE);
	json_stream_u64(json, "ring", totals->lost_ring);
	json_stream_u64(json, "table", totals->lost_table);
	json_stream_u64(json, "damaged", totals->lost_damaged);
	json_stream_u64(json, "skipped", totals->lost_skipped);
	json_stream_u64(json, "records", totals->lost_sideband);
	json_stream_close(json, '}');
}

static void write_events(const struct service *service, struct json_stream *json)
{
	const struct profile *profile =
		service->recorder ? epoch_profile(service->recorder->epoch) : NULL;
	size_t count = profile ? profile_table(profile, PROFILE_EVENT)->count : 0;
	json_stream_open(json, "events", '[', JSON_LINES);
	for (size_t id = 1; id <= count; id++) {
		struct profile_event event = profile_event(profile, id);
		json_stream_open(json, NULL, '{', JSON_ONE_LINE);
		json_stream_span(json, "name", event.name);
		json_stream_span(json, "unit", event.unit);
		json_stream_known(json, "period", event.sampled && event.policy != PERIOD_FREQUENCY,
				  event.period);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

/* As --engine has them; NULL while nothing is sampled. */
static const char *engine_name(const struct recorder *recorder)
{
	if (!recorder)
		return NULL;
	return collector_engine(recorder->collector) == COLLECT_ENGINE_BPF ? "bpf" : "ring";
}

static double mean_ns(uint64_t ns, uint64_t samples)
{
	return samples ? (double)ns / (double)samples : __builtin_nan("");
}

/* What programs in the kernel took of a sample. */
static void write_timed(const struct bill_totals *totals, struct json_stream *json)
{
	uint64_t samples = totals->timed_hits + totals->timed_misses;
	json_stream_double(json, "kernel_sample_ns",
			   mean_ns(totals->timed_hit_ns + totals->timed_miss_ns, samples));
	json_stream_double(json, "kernel_hit_ns",
			   mean_ns(totals->timed_hit_ns, totals->timed_hits));
	json_stream_double(json, "kernel_miss_ns",
			   mean_ns(totals->timed_miss_ns, totals->timed_misses));
	json_stream_double(json, "kernel_stack_ns",
			   mean_ns(totals->timed_stack_ns, totals->timed_stacks));
	json_stream_double(json, "kernel_percent",
			   samples || totals->timed_stacks
				   ? share_of_machine(totals, bill_totals_kernel_ns(totals))
				   : __builtin_nan(""));
}

void service_write_status(const struct service *service, struct buffer *out)
{
	const struct service_options *options = service->options;
	const struct bill_totals totals = service_totals(service);
	struct json_stream json = { .out = out };
	uint64_t now_ns = clock_monotonic_ns();
	json_stream_open(&json, NULL, '{', JSON_LINES);
	json_stream_text(&json, "state", service_state_name(service->state));
	json_stream_text(&json, "reason", service->reason[0] ? service->reason : NULL);
	json_stream_text(&json, "version", CULPRIT_VERSION);
	json_stream_u64(&json, "pid", (uint64_t)getpid());
	json_stream_u64(&json, "start_ns", service->start_ns);
	json_stream_double(&json, "seconds", (double)(now_ns - service->begin_ns) / 1e9);
	json_stream_text(&json, "database", options->database);
	json_stream_double(&json, "epoch_length_seconds", (double)options->epoch_ns / 1e9);
	json_stream_double(&json, "epoch_seconds",
			   service->recorder
				   ? (double)(now_ns - service->recorder->epoch_begin_ns) / 1e9
				   : __builtin_nan(""));
	json_stream_u64(&json, "epochs_ended", epochs_ended(service));
	json_stream_u64(&json, "epochs_ended_for_memory", service->early);
	json_stream_u64(&json, "epochs_removed", service->epochs_removed);
	json_stream_u64(&json, "epochs_compacted", service->epochs_compacted);
	json_stream_u64(&json, "failures", service->failures);
	write_events(service, &json);
	json_stream_text(&json, "engine", engine_name(service->recorder));
	json_stream_u64(&json, "samples", totals.stored);
	json_stream_u64(&json, "samples_with_stacks_apart", totals.apart_stored);
	json_stream_u64(&json, "unknown", totals.unknown);
	write_lost(&totals, &json);
	json_stream_u64(&json, "throttled", totals.throttled);
	json_stream_double(&json, "busy_percent", share_of_machine(&totals, totals.busy_ns));
	json_stream_double(&json, "budget_percent",
			   options->collect->overhead_percent > 0
				   ? options->collect->overhead_percent
				   : __builtin_nan(""));
	json_stream_double(&json, "own_cpu_percent", share_of_machine(&totals, totals.self_cpu_ns));
	json_stream_double(&json, "interrupt_percent",
			   totals.interrupt_ns ? share_of_machine(&totals, totals.interrupt_ns)
					       : __builtin_nan(""));
	write_timed(&totals, &json);
	json_stream_known(&json, "resident_bytes", service->resident_bytes > 0,
			  service->resident_bytes);
	json_stream_known(&json, "most_resident_bytes", service->resident_bytes > 0,
			  service->most_resident_bytes);
	json_stream_known(&json, "memory_limit_bytes", options->memory_bytes > 0,
			  options->memory_bytes);
	json_stream_double(&json, "busiest_second_ms", (double)service->most_in_second_ns / 1e6);
	json_stream_double(&json, "longest_epoch_end_ms", (double)service->most_at_end_ns / 1e6);
	json_stream_u64(&json, "clients_refused", service->control.refused);
	json_stream_end(&json, '}');
}

/* ---- metrics */

static void write_head(struct buffer *out, const char *name, const char *type, const char *help)
{
	buffer_printf(out, "# HELP culprit_%s %s\n# TYPE culprit_%s %s\n", name, help, name, type);
}

static void write_count(struct buffer *out, const char *name, const char *help, uint64_t value)
{
	write_head(out, name, "counter", help);
	buffer_printf(out, "culprit_%s %" PRIu64 "\n", name, value);
}

static void write_seconds(struct buffer *out, const char *name, const char *help, uint64_t ns)
{
	write_head(out, name, "counter", help);
	buffer_printf(out, "culprit_%s %.9g\n", name, (double)ns / 1e9);
}

static void write_gauge(struct buffer *out, const char *name, const char *help, uint64_t value)
{
	write_head(out, name, "gauge", help);
	buffer_printf(out, "culprit_%s %" PRIu64 "\n", name, value);
}

static void write_lost_by_cause(struct buffer *out, const struct bill_totals *totals)
{
	const struct {
		const char *cause;
		uint64_t samples;
	} causes[] = {
		{ "ring", totals->lost_ring },
		{ "table", totals->lost_table },
		{ "damaged", totals->lost_damaged },
		{ "skipped", totals->lost_skipped },
	};
	write_head(out, "samples_lost_total", "counter", "Samples that are in no cell, by cause.");
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		buffer_printf(out, "culprit_samples_lost_total{cause=\"%s\"} %" PRIu64 "\n",
			      causes[i].cause, causes[i].samples);
}

/* Of one sample in BILL_TIMED_ONE_IN: count and sum, as a summary has them. */
static void write_timed_metrics(struct buffer *out, const struct bill_totals *totals)
{
	const struct {
		const char *what;
		uint64_t samples, ns;
	} kinds[] = {
		{ "hit", totals->timed_hits, totals->timed_hit_ns },
		{ "miss", totals->timed_misses, totals->timed_miss_ns },
		{ "stack", totals->timed_stacks, totals->timed_stack_ns },
	};
	write_head(out, "kernel_sample_seconds", "summary",
		   "What programs in the kernel took of the samples that were timed, 1 in 64.");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].samples)
			continue;
		buffer_printf(out, "culprit_kernel_sample_seconds_sum{kind=\"%s\"} %.9g\n",
			      kinds[i].what, (double)kinds[i].ns / 1e9);
		buffer_printf(out, "culprit_kernel_sample_seconds_count{kind=\"%s\"} %" PRIu64 "\n",
			      kinds[i].what, kinds[i].samples);
	}
}

void service_write_metrics(const struct service *service, struct buffer *out)
{
	const struct bill_totals totals = service_totals(service);
	write_gauge(out, "sampling", "1 while samples are taken.",
		    service->state == SERVICE_SAMPLING);
	write_count(out, "samples_total", "Samples stored, by any event.", totals.stored);
	write_count(out, "samples_unknown_total", "Of these, in code that is not known.",
		    totals.unknown);
	write_lost_by_cause(out, &totals);
	write_count(out, "records_lost_total", "Lost records about processes and mappings.",
		    totals.lost_sideband);
	write_count(out, "throttled_total", "Times the kernel stopped an event for its rate.",
		    totals.throttled);
	write_seconds(out, "cpu_seconds_total", "CPU time of the daemon and its helpers.",
		      totals.self_cpu_ns);
	if (totals.interrupt_ns)
		write_seconds(out, "interrupt_seconds_total",
			      "CPU time of its interrupts, estimated.", totals.interrupt_ns);
	write_timed_metrics(out, &totals);
	write_seconds(out, "machine_busy_seconds_total", "Busy time of all sampled CPUs.",
		      totals.busy_ns);
	write_seconds(out, "machine_online_seconds_total", "Online time of all sampled CPUs.",
		      totals.online_ns);
	write_count(out, "ring_bytes_total", "Bytes that came through rings.", totals.ring_bytes);
	write_count(out, "epochs_total", "Epochs that have ended.", epochs_ended(service));
	write_count(out, "epochs_removed_total", "Epochs removed for their age or for room.",
		    service->epochs_removed);
	write_count(out, "failures_total", "Recordings that failed or did not begin.",
		    service->failures);
	write_head(out, "busiest_second_seconds", "gauge",
		   "CPU time in the second that took most to drain.");
	buffer_printf(out, "culprit_busiest_second_seconds %.9g\n",
		      (double)service->most_in_second_ns / 1e9);
	if (service->resident_bytes)
		write_gauge(out, "resident_bytes", "Resident memory of the daemon and its helpers.",
			    service->resident_bytes);
}
