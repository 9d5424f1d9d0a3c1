#include "render/report_json.h"

#include <math.h>

#include "analyze/report/report.h"
#include "base/sum.h"
#include "profile/bill.h"
#include "render/json_parts.h"
#include "render/report_json_parts.h"

#define REPORT_SCHEMA 1

static void add_number(struct json_stream *json, const char *key, struct scope_number number)
{
	json_stream_known(json, key, number.known, number.value);
}

/* part / whole in percent; null where the whole is 0, less than the part, or passed 64 bits. */
static void add_share(struct json_stream *json, const char *key, uint64_t part, uint64_t whole)
{
	if (whole && part <= whole && !sum_passed(whole))
		json_stream_double(json, key, 100.0 * (double)part / (double)whole);
	else
		json_stream_null(json, key);
}

/* In events: whole numbers stay whole. */
static void add_estimate(struct json_stream *json, const char *key, uint64_t value,
			 const struct event_column *column)
{
	if (column->scale == 0)
		json_stream_u64(json, key, value);
	else
		json_stream_double(json, key, (double)value / event_column_divisor(column));
}

void report_json_add_scope(struct json_stream *json, const struct report *report)
{
	const struct scope *scope = &report->scope;
	json_stream_open(json, "scope", '{', JSON_LINES);
	json_stream_open(json, "hosts", '[', JSON_LINES);
	for (size_t i = 0; i < scope->host_count; i++) {
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_span(json, "name", scope->hosts[i]);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
	bool one = scope->has_source && scope->one_machine;
	struct span none = { NULL, 0 };
	json_stream_span(json, "kernel", one ? scope->first.kernel : none);
	json_stream_span(json, "machine", one ? scope->first.machine : none);
	json_stream_span(json, "cpu_name", one ? scope->first.cpu_name : none);
	json_stream_span(json, "hypervisor", one ? scope->first.hypervisor : none);
	json_stream_span(json, "command",
			 scope->has_source && scope->one_command ? scope->first.command : none);
	json_stream_u64(json, "epochs", scope->epochs);
	json_stream_known(json, "start_ns", scope->start_ns != 0, scope->start_ns);
	json_stream_known(json, "duration_ns", scope->has_source && !scope->duration_passed,
			  scope->duration_ns);
	json_stream_known(json, "cpus", scope->cpus != 0, scope->cpus);
	add_number(json, "busy_ns", scope->busy_ns);
	add_number(json, "online_ns", scope->online_ns);
	add_number(json, "steal_ns", scope->steal_ns);
	if (scope->offline_ns.known)
		add_number(json, "offline_ns", scope->offline_ns);
	add_number(json, "command_elapsed_ns", scope->command_elapsed_ns);
	add_number(json, "command_user_ns", scope->command_user_ns);
	add_number(json, "command_system_ns", scope->command_system_ns);
	add_number(json, "sampled_user_ns", scope->sampled_user_ns);
	add_number(json, "sampled_system_ns", scope->sampled_system_ns);
	double mean = scope_mean_busy_cpus(scope), ratio = scope_busy_ratio(scope);
	json_stream_double(json, "mean_busy_cpus", mean < 0 ? NAN : mean);
	json_stream_double(json, "machine_busy_percent", ratio < 0 ? NAN : 100 * ratio);
	add_number(json, "cut_off_recordings", scope->cut_off);
	if (scope->unsampled_ns.known)
		add_number(json, "unsampled_ns", scope->unsampled_ns);
	json_stream_bool(json, "filtered", report->filtered);
	json_stream_close(json, '}');
}

static const char *policy_name(uint64_t policy)
{
	static const char *const names[] = { [PERIOD_NONE] = NULL,
					     [PERIOD_FIXED] = "fixed",
					     [PERIOD_RANDOM] = "random",
					     [PERIOD_FREQUENCY] = "frequency_hz" };
	return policy < sizeof(names) / sizeof(names[0]) ? names[policy] : NULL;
}

static const char *origin_name(uint64_t origin)
{
	static const char *const names[] = { [ORIGIN_MEASURED] = "measured",
					     [ORIGIN_IMPORTED] = "imported",
					     [ORIGIN_ESTIMATED] = "estimated" };
	return origin < sizeof(names) / sizeof(names[0]) ? names[origin] : NULL;
}

/* `what` is the key of a cause's count. */
static void add_causes(struct json_stream *json, const char *key, const char *what,
		       const struct scope_cause *causes, size_t count)
{
	json_stream_open(json, key, '[', JSON_LINES);
	for (size_t i = 0; i < count; i++) {
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_span(json, "cause", causes[i].name);
		json_stream_known(json, what, !sum_passed(causes[i].samples), causes[i].samples);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_interpreted(struct json_stream *json, const struct scope_interpreted *interpreted)
{
	json_stream_open(json, "interpreted", '{', JSON_LINES);
	add_number(json, "samples", interpreted->interpreted);
	add_number(json, "thinned_samples", interpreted->thinned);
	add_number(json, "unfit_samples", interpreted->unfit);
	add_number(json, "lost_samples", interpreted->lost);
	add_number(json, "silent_samples", interpreted->silent);
	add_number(json, "branches", interpreted->outcomes);
	add_causes(json, "ended_by", "samples", interpreted->ends, interpreted->end_count);
	json_stream_close(json, '}');
}

static void add_apart(struct json_stream *json, const struct scope_apart *apart)
{
	json_stream_open(json, "apart", '{', JSON_LINES);
	add_number(json, "overflows", apart->runs);
	add_number(json, "stored_samples", apart->stored);
	add_number(json, "filtered_samples", apart->filtered);
	add_number(json, "lost_ring_samples", apart->lost_ring);
	add_number(json, "lost_damaged_samples", apart->lost_damaged);
	add_number(json, "throttled", apart->throttled);
	json_stream_close(json, '}');
}

static void add_bill(struct json_stream *json, const struct scope_bill *bill)
{
	json_stream_open(json, "bill", '{', JSON_LINES);
	add_number(json, "overflows", bill->runs);
	add_number(json, "stored_samples", bill->stored);
	add_number(json, "filtered_samples", bill->filtered);
	add_number(json, "stepped_samples", bill->stepped);
	add_number(json, "group_reads", bill->reads);
	add_number(json, "lost_samples", scope_lost(bill));
	add_causes(json, "lost_by", "samples", bill->lost, bill->lost_count);
	add_number(json, "lost_events", bill->lost_events);
	add_number(json, "unknown_samples", scope_unknown(bill));
	add_causes(json, "unknown_by", "samples", bill->unknown, bill->unknown_count);
	add_number(json, "counted_events", bill->count);
	json_stream_double(json, "counted_events_half_width", scope_count_half_width(bill));
	add_number(json, "enabled_ns", bill->enabled_ns);
	add_number(json, "running_ns", bill->running_ns);
	add_number(json, "throttled", bill->throttled);
	add_number(json, "period_changes", bill->period_changes);
	add_number(json, "shortfall_ns", bill->shortfall_ns);
	add_number(json, "surplus_ns", bill->surplus_ns);
	add_number(json, "idle_interrupts", bill->idle_interrupts);
	add_number(json, "idle_interrupt_ns", bill->idle_ns);
	add_number(json, "idle_interrupt_low_ns", bill->idle_low_ns);
	add_number(json, "idle_interrupt_high_ns", bill->idle_high_ns);
	if (bill->interpreted.interpreted.known)
		add_interpreted(json, &bill->interpreted);
	else
		json_stream_null(json, "interpreted");
	if (bill->apart.stored.known)
		add_apart(json, &bill->apart);
	else
		json_stream_null(json, "apart");
	json_stream_close(json, '}');
}

static void add_event(struct json_stream *json, const struct report *report, size_t at)
{
	const struct event_column *column = &report->columns.list[at];
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_span(json, "name", column->name);
	json_stream_span(json, "unit", column->unit);
	json_stream_span(json, "pmu", column->pmu);
	json_stream_span(json, "core_type", column->core_type);
	json_stream_bool(json, "clock", column->clock == EVENT_CLOCK);
	json_stream_text(json, "origin", origin_name(column->origin));
	json_stream_bool(json, "user", !(column->exclude & EXCLUDE_USER));
	json_stream_bool(json, "kernel", !(column->exclude & EXCLUDE_KERNEL));
	json_stream_bool(json, "sampled", column->sampled);
	json_stream_span(json, "leader", column->leader);
	json_stream_text(json, "period_policy", policy_name(column->policy));
	json_stream_known(json, "period_least", column->period_least != 0, column->period_least);
	json_stream_known(json, "period_most", column->period_most != 0, column->period_most);
	json_stream_u64(json, "precise", column->precise);
	json_stream_known(json, "total_samples", column->sampled, report->whole[at].samples);
	add_estimate(json, "total", report->whole[at].estimate, column);
	json_stream_known(json, "shown_samples", column->sampled, report->shown[at].samples);
	add_estimate(json, "shown", report->shown[at].estimate, column);
	add_estimate(json, "idle", report->idle[at].estimate, column);
	add_bill(json, &report->scope.bills[at]);
	json_stream_close(json, '}');
}

void report_json_add_events(struct json_stream *json, const struct report *report)
{
	json_stream_open(json, "events", '[', JSON_LINES);
	for (size_t i = 0; i < report->columns.count; i++)
		add_event(json, report, i);
	json_stream_close(json, ']');
}

static void add_cell(struct json_stream *json, const struct report *report, const struct cell *cell,
		     size_t at)
{
	const struct event_column *column = &report->columns.list[at];
	double divisor = event_column_divisor(column);
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_known(json, "samples", column->sampled, cell->samples);
	add_estimate(json, "estimate", cell->estimate, column);
	double error = cell_standard_error(cell);
	json_stream_double(json, "standard_error", error < 0 ? NAN : error / divisor);
	struct estimate total = interval_total(cell);
	bool known = total.kind == ESTIMATE_INTERVAL;
	json_stream_double(json, "estimate_low", known ? total.low / divisor : NAN);
	json_stream_double(json, "estimate_high", known ? total.high / divisor : NAN);
	json_add_estimate(json, "percent", interval_share(cell, &report->whole[at]), 100);
	json_stream_close(json, '}');
}

static void add_cells(struct json_stream *json, const char *key, const struct report *report,
		      const struct cell *cells)
{
	json_stream_open(json, key, '[', JSON_LINES);
	for (size_t i = 0; i < report->columns.count; i++)
		add_cell(json, report, &cells[i], i);
	json_stream_close(json, ']');
}

static void add_optional(struct json_stream *json, const char *key, uint64_t optional)
{
	json_stream_known(json, key, optional != OPTIONAL_ABSENT, optional - 1);
}

static void add_build_id(struct json_stream *json, const struct report *report, uint32_t image)
{
	struct profile_image known = { 0 };
	if (image)
		known = profile_image(report->profile, image);
	json_stream_bytes(json, "build_id", known.build_id);
	json_add_writer(json, known.writer);
}

static void add_procedure(struct json_stream *json, const struct report *report,
			  const struct report_row *row)
{
	const struct place_procedure *procedure =
		row->procedure == PLACE_NONE ? NULL
					     : places_procedure(report->places, row->procedure);
	json_stream_text(json, "procedure",
			 row->texts[REPORT_PROCEDURE] ? row->texts[REPORT_PROCEDURE]
			 : procedure		      ? procedure->name
						      : NULL);
	json_stream_text(json, "linkage_name",
			 procedure && *procedure->linkage ? procedure->linkage : NULL);
	json_stream_known(json, "vaddr",
			  procedure && (row->marks & PLACE_EXTENT) && procedure->first,
			  procedure ? procedure->first : 0);
	json_stream_bool(json, "inlined", row->marks & PLACE_INLINED);
	json_stream_bool(json, "late", row->marks & PLACE_LATE);
}

void report_json_add_key(struct json_stream *json, const struct report *report,
			 const struct report_row *row)
{
	bool flat = report->options.view == REPORT_FLAT;
	bool image = !flat, procedure = !flat, process = false;
	for (size_t i = 0; flat && i < report->options.part_count; i++) {
		enum report_part part = report->options.parts[i];
		bool code =
			part == REPORT_PROCEDURE || part == REPORT_LINE || part == REPORT_ADDRESS;
		image |= code || part == REPORT_IMAGE;
		procedure |= code;
		if ((part == REPORT_PROCESS || part == REPORT_THREAD) && !process) {
			process = true;
			json_stream_text(json, "process", row->texts[REPORT_PROCESS]);
			add_optional(json, "pid", row->pid);
		}
		if (part == REPORT_THREAD) {
			json_stream_text(json, "thread", row->texts[part]);
			add_optional(json, "tid", row->tid);
		}
		if (part == REPORT_CPU)
			add_optional(json, "cpu", row->cpu);
		if (part == REPORT_CGROUP || part == REPORT_SERVICE || part == REPORT_CONTAINER)
			json_stream_text(json, report_part_names[part], row->texts[part]);
		if (part == REPORT_ADDRESS)
			add_optional(json, "address", row->address);
		if (part == REPORT_LINE) {
			json_stream_text(json, "file", row->texts[part]);
			add_optional(json, "line", row->line);
		}
	}
	if (image) {
		json_stream_text(json, "image",
				 row->image_name && *row->image_name ? row->image_name : NULL);
		add_build_id(json, report, row->image);
	}
	if (procedure)
		add_procedure(json, report, row);
}

static void add_rows(struct json_stream *json, const struct report *report)
{
	json_stream_open(json, "rows", '[', JSON_LINES);
	bool tree = report->options.view == REPORT_TREE || report->options.view == REPORT_CALLERS ||
		    report->options.view == REPORT_CALLEES;
	for (size_t i = 0; i < report->row_count && !buffer_failed(json->out); i++) {
		const struct report_row *row = &report->rows[i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		report_json_add_key(json, report, row);
		if (tree)
			json_stream_u64(json, "depth", row->depth);
		if (row->total)
			add_cells(json, "inclusive", report, row->total);
		if (report->options.view != REPORT_CALLERS)
			add_cells(json, "self", report, row->self);
		report_json_add_ratios(json, report, row->total ? row->total : row->self);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_resolution(struct json_stream *json, const struct report *report)
{
	const struct scope_resolution *r = &report->scope.resolution;
	json_stream_open(json, "resolution", '{', JSON_LINES);
	json_stream_u64(json, "samples", r->samples);
	json_stream_u64(json, "with_image", r->with_image);
	add_share(json, "with_image_percent", r->with_image, r->samples);
	json_stream_u64(json, "with_symbol", r->with_symbol);
	add_share(json, "with_symbol_percent", r->with_symbol, r->samples);
	json_stream_u64(json, "function_start_only", r->start_only);
	add_share(json, "function_start_only_percent", r->start_only, r->samples);
	json_stream_u64(json, "user_in_images_with_symbols", r->user_symbol_images);
	json_stream_u64(json, "user_with_procedure", r->user_named);
	add_share(json, "user_with_procedure_percent", r->user_named, r->user_symbol_images);
	json_stream_u64(json, "in_known_function", r->in_extent);
	add_share(json, "in_known_function_percent", r->in_extent, r->with_image);
	json_stream_close(json, '}');
}

static void add_late(struct json_stream *json, const struct report *report)
{
	const struct scope *scope = &report->scope;
	json_stream_open(json, "late", '{', JSON_LINES);
	json_stream_u64(json, "samples", scope->late_samples);
	add_share(json, "percent", scope->late_samples, scope->late_of);
	json_stream_open(json, "procedures", '[', JSON_LINES);
	for (size_t i = 0; i < scope->late_count; i++) {
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "procedure",
				 places_procedure(report->places, scope->late[i].procedure)->name);
		json_stream_u64(json, "samples", scope->late[i].samples);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
	json_stream_close(json, '}');
}

/* Absent where no stacks were followed by frame pointers. */
static void add_broken_stacks(struct json_stream *json, const struct scope_broken_stacks *stacks)
{
	bool known = stacks->user_samples > 0;
	json_stream_known(json, "user_samples", known, stacks->user_samples);
	json_stream_known(json, "broken_samples", known, stacks->broken_samples);
	add_share(json, "broken_percent", stacks->broken_samples, stacks->user_samples);
	json_stream_known(json, "unjudged_samples", known, stacks->unjudged_samples);
	json_stream_open(json, "broken_by", '[', JSON_LINES);
	for (size_t i = 0; i < stacks->image_count; i++) {
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_span(json, "image", stacks->images[i].name);
		json_stream_u64(json, "samples", stacks->images[i].samples);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_stacks(struct json_stream *json, const struct report *report)
{
	const struct scope *scope = &report->scope;
	json_stream_open(json, "stacks", '{', JSON_LINES);
	json_stream_bool(json, "recorded", report->has_stacks);
	json_stream_known(json, "samples", report->has_stacks, scope->stack_samples);
	json_stream_known(json, "deepest_frames", report->has_stacks, scope->stack_depth);
	add_number(json, "cut_samples", scope->cut_stacks);
	json_stream_bool(json, "cut_samples_guessed", scope->cut_is_guess);
	add_broken_stacks(json, &scope->broken_stacks);
	json_stream_close(json, '}');
}

static void add_bursts(struct json_stream *json, const struct scope_bursts *bursts)
{
	json_stream_open(json, "bursts", '{', JSON_LINES);
	add_number(json, "bursts", bursts->bursts);
	add_number(json, "steps", bursts->steps);
	add_number(json, "ns", bursts->ns);
	add_causes(json, "ended_by", "bursts", bursts->ends, bursts->end_count);
	json_stream_close(json, '}');
}

static void add_timed(struct json_stream *json, const struct scope *scope)
{
	const struct scope_timed *timed = &scope->timed;
	json_stream_open(json, "kernel_programs", '{', JSON_LINES);
	json_stream_u64(json, "timed_one_in", BILL_TIMED_ONE_IN);
	add_number(json, "timed_hits", timed->hits);
	add_number(json, "timed_hit_ns", timed->hit_ns);
	add_number(json, "timed_misses", timed->misses);
	add_number(json, "timed_miss_ns", timed->miss_ns);
	add_number(json, "timed_stacks", timed->stacks);
	add_number(json, "timed_stack_ns", timed->stack_ns);
	json_stream_double(json, "estimated_ns", scope_timed_all_ns(timed));
	json_stream_close(json, '}');
}

static void add_collector(struct json_stream *json, const struct report *report)
{
	const struct scope *scope = &report->scope;
	json_stream_open(json, "collector", '{', JSON_LINES);
	add_number(json, "cpu_ns", scope->self_cpu_ns);
	add_number(json, "interrupt_ns", scope->interrupt_ns);
	add_timed(json, scope);
	add_number(json, "slowed_ns", scope->slowed_ns);
	add_number(json, "idle_interrupt_ns", scope_idle_ns(scope, report->columns.count));
	add_number(json, "interpret_ns", scope->interpret_ns);
	if (scope->bursts.bursts.known)
		add_bursts(json, &scope->bursts);
	else
		json_stream_null(json, "bursts");
	add_number(json, "memory_bytes", scope->self_bytes);
	add_number(json, "ring_bytes", scope->ring_bytes);
	add_number(json, "table_entries", scope->table_entries);
	add_number(json, "lost_sideband_records", scope->lost_sideband);
	if (scope->left_out_count)
		add_causes(json, "left_out", "samples", scope->left_out, scope->left_out_count);
	json_stream_close(json, '}');
}

static const char *view_name(enum report_view view)
{
	static const char *const names[] = { [REPORT_FLAT] = "flat",
					     [REPORT_INCLUSIVE] = "inclusive",
					     [REPORT_TREE] = "tree",
					     [REPORT_CALLERS] = "callers",
					     [REPORT_CALLEES] = "callees" };
	return names[view];
}

/* Of a report by line: which instructions the events' samples are counted at. */
static void add_charged(struct json_stream *json, const struct report *report)
{
	json_stream_open(json, "charged", '[', JSON_LINES);
	for (size_t c = 0; c < report->columns.count; c++) {
		const struct report_charge *charge = &report->charge[c];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_span(json, "event", report->columns.list[c].name);
		json_stream_u64(json, "skid_instructions", charge->skid);
		json_stream_u64(json, "charged_samples", charge->charged.samples);
		json_stream_u64(json, "staying_samples", charge->stays.samples);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

void report_json(const struct report *report, struct buffer *out)
{
	struct json_stream stream = { .out = out }, *json = &stream;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_u64(json, "schema", REPORT_SCHEMA);
	json_stream_text(json, "report", view_name(report->options.view));
	if (report->options.view == REPORT_FLAT) {
		json_stream_open(json, "by", '[', JSON_LINES);
		for (size_t i = 0; i < report->options.part_count; i++)
			json_stream_text(json, NULL, report_part_names[report->options.parts[i]]);
		json_stream_close(json, ']');
	}
	report_json_add_scope(json, report);
	report_json_add_events(json, report);
	add_rows(json, report);
	json_stream_open(json, "rest", '{', JSON_LINES);
	json_stream_u64(json, "rows", report->rest_count);
	add_cells(json, "self", report, report->rest);
	json_stream_close(json, '}');
	if (report->charge)
		add_charged(json, report);
	add_late(json, report);
	add_stacks(json, report);
	add_resolution(json, report);
	add_collector(json, report);
	json_stream_texts(json, "notes", report->notes, report->note_count);
	json_stream_end(json, '}');
}
