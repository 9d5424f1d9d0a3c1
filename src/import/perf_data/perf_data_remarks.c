/*
 * Remarks about a recording: what it lost, and what of it is left out.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/sum.h"
#include "import/perf_data/perf_data_private.h"
#include "profile/profile.h"

#define EVENTS_SHOWN 3 /* that a note names, before it counts */

static void report_count(const struct perf_data *data, enum import_remark kind, uint64_t count,
			 const char *sentence)
{
	if (count)
		import_report(data->options, kind, "%" PRIu64 " %s", count, sentence);
}

const char *perf_data_trace_words(enum perf_trace trace)
{
	static const char *const words[PERF_TRACES] = {
		[PERF_TRACE_UNKNOWN] = "",
		[PERF_TRACE_INTEL_PT] = " of Intel PT",
		[PERF_TRACE_INTEL_BTS] = " of Intel BTS",
		[PERF_TRACE_CORESIGHT] = " of CoreSight",
		[PERF_TRACE_ARM_SPE] = " of Arm SPE",
		[PERF_TRACE_S390] = " of s390's sampling",
		[PERF_TRACE_HISI_PTT] = " of HiSilicon PTT",
	};
	return words[trace];
}

/* Raw data are what AMD's IBS knows of an instruction, or the fields of a tracepoint. */
static void report_raw(const struct perf_data *data, const struct profile *profile)
{
	CLEANUP(buffer_release) struct buffer names = { 0 };
	size_t count = 0;
	uint64_t bytes = 0;
	for (size_t i = 0; i < data->events.count; i++) {
		const struct perf_file_event *event = &data->events.list[i];
		if (!event->counts.raw_bytes || !event->row)
			continue;
		struct span name = profile_event(profile, event->row).name;
		bytes += event->counts.raw_bytes;
		if (count++ < EVENTS_SHOWN)
			buffer_printf(&names, "%s'%.*s'", count > 1 ? ", " : "", (int)name.size,
				      (const char *)name.data);
	}
	if (count > EVENTS_SHOWN)
		buffer_printf(&names, " and %zu more", count - EVENTS_SHOWN);
	if (count)
		import_report(data->options, IMPORT_NOTE,
			      "samples of %s have %" PRIu64
			      " bytes of raw data, which are left out",
			      buffer_text(&names), bytes);
}

void perf_data_report(const struct perf_data *data, const struct profile *profile)
{
	const struct perf_data_counts *counts = &data->counts;
	uint64_t hardware = 0;
	for (size_t i = 0; i < data->events.count; i++)
		sum_add(&hardware, data->events.list[i].counts.lost_samples);
	if (data->killed)
		import_report(data->options, IMPORT_WARNING,
			      "incomplete recording: its end was never written; it was read to the "
			      "end of the file");
	report_count(data, IMPORT_WARNING, counts->lost,
		     "records were lost because a ring buffer was full: counts are low");
	report_count(data, IMPORT_WARNING, hardware,
		     "samples were lost because the CPU's own buffer was full: counts are low");
	report_count(data, IMPORT_NOTE, counts->throttled,
		     "times an event was stopped for its rate");
	report_count(data, IMPORT_WARNING, counts->unknown_id,
		     "samples belong to no event of the file and are left out");
	report_count(data, IMPORT_WARNING, counts->damaged,
		     "records hold less than they promise and are left out");
	report_count(data, IMPORT_WARNING, counts->late,
		     "records came too late to be put in the order of time");
	report_count(
		data, IMPORT_WARNING, counts->map_timeouts,
		"processes had more mappings than perf had time to read: some code stays unknown");
	report_count(data, IMPORT_NOTE, counts->guest_samples,
		     "samples are of virtual machines' guests, whose code the file does not name");
	report_count(data, IMPORT_WARNING, counts->aux_lost,
		     "pieces of a hardware trace were cut short when recording");
	if (counts->aux_bytes)
		import_report(data->options, IMPORT_NOTE,
			      "%" PRIu64 " bytes of hardware trace%s are not decoded; samples are "
			      "taken",
			      counts->aux_bytes, perf_data_trace_words(counts->trace));
	report_raw(data, profile);
	report_count(data, IMPORT_NOTE, counts->wrong_path,
		     "branches were fetched but not taken and are left out");
	perf_data_report_unwound(data);
	perf_here_report(&data->here, data->options);
	report_count(data, IMPORT_WARNING, data->events.bad_scales,
		     "events have a scale that is no number: their counts stay as they are");
	report_count(data, IMPORT_NOTE, counts->unknown_records,
		     "records of unknown types are left out");
}
