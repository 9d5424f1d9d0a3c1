/* What the events of a row say together: cycles per instruction, and shares of slots. */
#include "analyze/report/report.h"
#include "base/json_stream.h"
#include "render/json_parts.h"
#include "render/report_json_parts.h"

static void add_cpi(struct json_stream *json, const struct report *report, const struct cell *cells)
{
	json_stream_open(json, "cpi", '[', JSON_LINES);
	for (size_t i = 0; i < report->columns.pair_count; i++) {
		const struct event_pair *pair = &report->columns.pairs[i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		struct estimate cpi = report_cpi(report, cells, i);
		json_stream_u64(json, "cycles_event", pair->cycles);
		json_stream_u64(json, "instructions_event", pair->instructions);
		json_stream_span(json, "core_type", report->columns.list[pair->cycles].core_type);
		json_stream_text(json, "samples",
				 pair->samples == RATIO_GROUPED ? "grouped" : "independent");
		json_add_estimate(json, "cycles_per_instruction", cpi, 1);
		json_add_estimate(json, "instructions_per_cycle", interval_inverse(cpi), 1);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_topdown(struct json_stream *json, const struct report *report,
			const struct cell *cells)
{
	static const char *const keys[SLOT_PARTS] = { "retiring_percent", "bad_speculation_percent",
						      "frontend_percent", "backend_percent" };
	json_stream_open(json, "topdown", '[', JSON_LINES);
	for (size_t i = 0; i < report->slots_count; i++) {
		const struct slot_columns *slots = &report->slots[i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_u64(json, "slots_event", slots->slots);
		json_stream_span(json, "core_type", report->columns.list[slots->slots].core_type);
		for (size_t part = 0; part < SLOT_PARTS; part++)
			json_add_estimate(
				json, keys[part],
				slot_share(&report->columns, slots, (enum slot_part)part, cells),
				100);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

void report_json_add_ratios(struct json_stream *json, const struct report *report,
			    const struct cell *cells)
{
	add_cpi(json, report, cells);
	add_topdown(json, report, cells);
}
