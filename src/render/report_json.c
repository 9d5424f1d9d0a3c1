#include "render/report_json.h"

#include <math.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/buffer.h"
#include "base/sum.h"
#include "render/json_value.h"
#include "render/report_json_parts.h"

#define REPORT_SCHEMA 1

static void add_number(struct json_writer *writer, struct json_object *object, const char *key,
		       struct scope_number number)
{
	if (number.known)
		json_add_u64(writer, object, key, number.value);
	else
		json_add_null(writer, object, key);
}

/* part / whole in percent, or null: where it is no part too, or the whole passed 64 bits. */
static void add_share(struct json_writer *writer, struct json_object *object, const char *key,
		      uint64_t part, uint64_t whole)
{
	if (whole && part <= whole && !sum_passed(whole))
		json_add_double(writer, object, key, 100.0 * (double)part / (double)whole);
	else
		json_add_null(writer, object, key);
}

/* In events: whole numbers stay whole. */
static void add_events(struct json_writer *writer, struct json_object *object, const char *key,
		       uint64_t value, const struct event_column *column)
{
	if (column->scale == 0)
		json_add_u64(writer, object, key, value);
	else
		json_add_double(writer, object, key, (double)value / event_column_divisor(column));
}

struct json_object *report_json_scope(struct json_writer *writer, const struct report *report)
{
	const struct scope *scope = &report->scope;
	struct json_object *object = json_new_object(writer);
	struct json_object *hosts = json_new_array(writer);
	for (size_t i = 0; i < scope->host_count; i++) {
		struct json_object *host = json_new_object(writer);
		json_add_span(writer, host, "name", scope->hosts[i]);
		json_append(writer, hosts, host);
	}
	json_add(writer, object, "hosts", hosts);
	bool one = scope->has_source && scope->one_machine;
	struct span none = { NULL, 0 };
	json_add_span(writer, object, "kernel", one ? scope->first.kernel : none);
	json_add_span(writer, object, "machine", one ? scope->first.machine : none);
	json_add_span(writer, object, "cpu_name", one ? scope->first.cpu_name : none);
	json_add_span(writer, object, "hypervisor", one ? scope->first.hypervisor : none);
	json_add_span(writer, object, "command",
		      scope->has_source && scope->one_command ? scope->first.command : none);
	json_add_u64(writer, object, "epochs", scope->epochs);
	struct scope_number start = { scope->start_ns != 0, scope->start_ns };
	struct scope_number duration = { scope->has_source && !scope->duration_passed,
					 scope->duration_ns };
	struct scope_number cpus = { scope->cpus != 0, scope->cpus };
	add_number(writer, object, "start_ns", start);
	add_number(writer, object, "duration_ns", duration);
	add_number(writer, object, "cpus", cpus);
	add_number(writer, object, "busy_ns", scope->busy_ns);
	add_number(writer, object, "online_ns", scope->online_ns);
	add_number(writer, object, "steal_ns", scope->steal_ns);
	if (scope->offline_ns.known)
		add_number(writer, object, "offline_ns", scope->offline_ns);
	add_number(writer, object, "command_elapsed_ns", scope->command_elapsed_ns);
	add_number(writer, object, "command_user_ns", scope->command_user_ns);
	add_number(writer, object, "command_system_ns", scope->command_system_ns);
	add_number(writer, object, "sampled_user_ns", scope->sampled_user_ns);
	add_number(writer, object, "sampled_system_ns", scope->sampled_system_ns);
	double mean = scope_mean_busy_cpus(scope), ratio = scope_busy_ratio(scope);
	json_add_double(writer, object, "mean_busy_cpus", mean < 0 ? NAN : mean);
	json_add_double(writer, object, "machine_busy_percent", ratio < 0 ? NAN : 100 * ratio);
	add_number(writer, object, "cut_off_recordings", scope->cut_off);
	json_add_bool(writer, object, "filtered", report->filtered);
	return object;
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

static void add_causes(struct json_writer *writer, struct json_object *object, const char *key,
		       const struct scope_cause *causes, size_t count)
{
	struct json_object *list = json_new_array(writer);
	for (size_t i = 0; i < count; i++) {
		struct json_object *cause = json_new_object(writer);
		json_add_span(writer, cause, "cause", causes[i].name);
		struct scope_number samples = { !sum_passed(causes[i].samples), causes[i].samples };
		add_number(writer, cause, "samples", samples);
		json_append(writer, list, cause);
	}
	json_add(writer, object, key, list);
}

static struct json_object *interpreted_object(struct json_writer *writer,
					      const struct scope_interpreted *interpreted)
{
	struct json_object *object = json_new_object(writer);
	add_number(writer, object, "samples", interpreted->interpreted);
	add_number(writer, object, "thinned_samples", interpreted->thinned);
	add_number(writer, object, "unfit_samples", interpreted->unfit);
	add_number(writer, object, "lost_samples", interpreted->lost);
	add_number(writer, object, "silent_samples", interpreted->silent);
	add_number(writer, object, "branches", interpreted->outcomes);
	add_causes(writer, object, "ended_by", interpreted->ends, interpreted->end_count);
	return object;
}

static struct json_object *bill_object(struct json_writer *writer, const struct scope_bill *bill)
{
	struct json_object *object = json_new_object(writer);
	add_number(writer, object, "overflows", bill->runs);
	add_number(writer, object, "stored_samples", bill->stored);
	add_number(writer, object, "filtered_samples", bill->filtered);
	add_number(writer, object, "stepped_samples", bill->stepped);
	add_number(writer, object, "group_reads", bill->reads);
	add_number(writer, object, "lost_samples", scope_lost(bill));
	add_causes(writer, object, "lost_by", bill->lost, bill->lost_count);
	add_number(writer, object, "lost_events", bill->lost_events);
	add_number(writer, object, "unknown_samples", scope_unknown(bill));
	add_causes(writer, object, "unknown_by", bill->unknown, bill->unknown_count);
	add_number(writer, object, "late_samples", bill->late);
	add_number(writer, object, "counted_events", bill->count);
	add_number(writer, object, "enabled_ns", bill->enabled_ns);
	add_number(writer, object, "running_ns", bill->running_ns);
	add_number(writer, object, "throttled", bill->throttled);
	add_number(writer, object, "period_changes", bill->period_changes);
	add_number(writer, object, "shortfall_ns", bill->shortfall_ns);
	add_number(writer, object, "surplus_ns", bill->surplus_ns);
	add_number(writer, object, "idle_interrupts", bill->idle_interrupts);
	add_number(writer, object, "idle_interrupt_ns", bill->idle_ns);
	add_number(writer, object, "idle_interrupt_low_ns", bill->idle_low_ns);
	add_number(writer, object, "idle_interrupt_high_ns", bill->idle_high_ns);
	if (bill->interpreted.interpreted.known)
		json_add(writer, object, "interpreted",
			 interpreted_object(writer, &bill->interpreted));
	else
		json_add_null(writer, object, "interpreted");
	return object;
}

static struct json_object *event_object(struct json_writer *writer, const struct report *report,
					size_t at)
{
	const struct event_column *column = &report->columns.list[at];
	struct json_object *object = json_new_object(writer);
	json_add_span(writer, object, "name", column->name);
	json_add_span(writer, object, "unit", column->unit);
	json_add_span(writer, object, "pmu", column->pmu);
	json_add_span(writer, object, "core_type", column->core_type);
	json_add_bool(writer, object, "clock", column->clock == EVENT_CLOCK);
	json_add_text(writer, object, "origin", origin_name(column->origin));
	json_add_bool(writer, object, "user", !(column->exclude & EXCLUDE_USER));
	json_add_bool(writer, object, "kernel", !(column->exclude & EXCLUDE_KERNEL));
	json_add_bool(writer, object, "sampled", column->sampled);
	json_add_span(writer, object, "leader", column->leader);
	json_add_text(writer, object, "period_policy", policy_name(column->policy));
	struct scope_number least = { column->period_least != 0, column->period_least };
	struct scope_number most = { column->period_most != 0, column->period_most };
	add_number(writer, object, "period_least", least);
	add_number(writer, object, "period_most", most);
	json_add_u64(writer, object, "precise", column->precise);
	struct scope_number samples = { column->sampled, report->whole[at].samples };
	add_number(writer, object, "total_samples", samples);
	add_events(writer, object, "total", report->whole[at].estimate, column);
	samples.value = report->shown[at].samples;
	add_number(writer, object, "shown_samples", samples);
	add_events(writer, object, "shown", report->shown[at].estimate, column);
	add_events(writer, object, "idle", report->idle[at].estimate, column);
	json_add(writer, object, "bill", bill_object(writer, &report->scope.bills[at]));
	return object;
}

void report_json_add_events(struct json_writer *writer, struct json_object *object,
			    const struct report *report)
{
	struct json_object *events = json_new_array(writer);
	for (size_t i = 0; i < report->columns.count; i++)
		json_append(writer, events, event_object(writer, report, i));
	json_add(writer, object, "events", events);
}

static struct json_object *cell_object(struct json_writer *writer, const struct report *report,
				       const struct cell *cell, size_t at)
{
	const struct event_column *column = &report->columns.list[at];
	double divisor = event_column_divisor(column);
	struct json_object *object = json_new_object(writer);
	struct scope_number samples = { column->sampled, cell->samples };
	add_number(writer, object, "samples", samples);
	add_events(writer, object, "estimate", cell->estimate, column);
	double error = cell_standard_error(cell);
	json_add_double(writer, object, "standard_error", error < 0 ? NAN : error / divisor);
	struct estimate total = interval_total(cell);
	bool known = total.kind == ESTIMATE_INTERVAL;
	json_add_double(writer, object, "estimate_low", known ? total.low / divisor : NAN);
	json_add_double(writer, object, "estimate_high", known ? total.high / divisor : NAN);
	json_add_estimate(writer, object, "percent", interval_share(cell, &report->whole[at]), 100);
	return object;
}

static struct json_object *cells_array(struct json_writer *writer, const struct report *report,
				       const struct cell *cells)
{
	struct json_object *array = json_new_array(writer);
	for (size_t i = 0; i < report->columns.count; i++)
		json_append(writer, array, cell_object(writer, report, &cells[i], i));
	return array;
}

static struct json_object *cpi_array(struct json_writer *writer, const struct report *report,
				     const struct cell *cells)
{
	struct json_object *array = json_new_array(writer);
	for (size_t i = 0; i < report->columns.pair_count; i++) {
		const struct event_pair *pair = &report->columns.pairs[i];
		struct json_object *object = json_new_object(writer);
		struct estimate cpi = report_cpi(report, cells, i);
		json_add_u64(writer, object, "cycles_event", pair->cycles);
		json_add_u64(writer, object, "instructions_event", pair->instructions);
		json_add_span(writer, object, "core_type",
			      report->columns.list[pair->cycles].core_type);
		json_add_text(writer, object, "samples",
			      pair->samples == RATIO_GROUPED ? "grouped" : "independent");
		json_add_estimate(writer, object, "cycles_per_instruction", cpi, 1);
		json_add_estimate(writer, object, "instructions_per_cycle", interval_inverse(cpi),
				  1);
		json_append(writer, array, object);
	}
	return array;
}

static void add_optional(struct json_writer *writer, struct json_object *object, const char *key,
			 uint64_t optional)
{
	struct scope_number number = { optional != OPTIONAL_ABSENT, optional - 1 };
	add_number(writer, object, key, number);
}

static void add_build_id(struct json_writer *writer, struct json_object *object,
			 const struct report *report, uint32_t image)
{
	struct profile_image known = { 0 };
	if (image)
		known = profile_image(report->profile, image);
	json_add_bytes(writer, object, "build_id", known.build_id);
	json_add_writer(writer, object, known.writer);
}

static void add_procedure(struct json_writer *writer, struct json_object *object,
			  const struct report *report, const struct report_row *row)
{
	const struct place_procedure *procedure =
		row->procedure == PLACE_NONE ? NULL
					     : places_procedure(report->places, row->procedure);
	json_add_text(writer, object, "procedure",
		      row->texts[REPORT_PROCEDURE] ? row->texts[REPORT_PROCEDURE]
		      : procedure		   ? procedure->name
						   : NULL);
	json_add_text(writer, object, "linkage_name",
		      procedure && *procedure->linkage ? procedure->linkage : NULL);
	struct scope_number first = { procedure && (row->marks & PLACE_EXTENT) && procedure->first,
				      procedure ? procedure->first : 0 };
	add_number(writer, object, "vaddr", first);
	json_add_bool(writer, object, "inlined", row->marks & PLACE_INLINED);
	json_add_bool(writer, object, "late", row->marks & PLACE_LATE);
}

void report_json_add_key(struct json_writer *writer, struct json_object *object,
			 const struct report *report, const struct report_row *row)
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
			json_add_text(writer, object, "process", row->texts[REPORT_PROCESS]);
			add_optional(writer, object, "pid", row->pid);
		}
		if (part == REPORT_THREAD) {
			json_add_text(writer, object, "thread", row->texts[part]);
			add_optional(writer, object, "tid", row->tid);
		}
		if (part == REPORT_CPU)
			add_optional(writer, object, "cpu", row->cpu);
		if (part == REPORT_CGROUP)
			json_add_text(writer, object, "cgroup", row->texts[part]);
		if (part == REPORT_ADDRESS)
			add_optional(writer, object, "address", row->address);
		if (part == REPORT_LINE) {
			json_add_text(writer, object, "file", row->texts[part]);
			add_optional(writer, object, "line", row->line);
		}
	}
	if (image) {
		json_add_text(writer, object, "image",
			      row->image_name && *row->image_name ? row->image_name : NULL);
		add_build_id(writer, object, report, row->image);
	}
	if (procedure)
		add_procedure(writer, object, report, row);
}

static struct json_object *rows_array(struct json_writer *writer, const struct report *report)
{
	struct json_object *array = json_new_array(writer);
	bool tree = report->options.view == REPORT_TREE || report->options.view == REPORT_CALLERS ||
		    report->options.view == REPORT_CALLEES;
	for (size_t i = 0; i < report->row_count && !writer->failed; i++) {
		const struct report_row *row = &report->rows[i];
		struct json_object *object = json_new_object(writer);
		report_json_add_key(writer, object, report, row);
		if (tree)
			json_add_u64(writer, object, "depth", row->depth);
		if (row->total)
			json_add(writer, object, "inclusive",
				 cells_array(writer, report, row->total));
		if (report->options.view != REPORT_CALLERS)
			json_add(writer, object, "self", cells_array(writer, report, row->self));
		json_add(writer, object, "cpi",
			 cpi_array(writer, report, row->total ? row->total : row->self));
		json_append(writer, array, object);
	}
	return array;
}

static struct json_object *resolution_object(struct json_writer *writer,
					     const struct report *report)
{
	const struct scope_resolution *r = &report->scope.resolution;
	struct json_object *object = json_new_object(writer);
	json_add_u64(writer, object, "samples", r->samples);
	json_add_u64(writer, object, "with_image", r->with_image);
	add_share(writer, object, "with_image_percent", r->with_image, r->samples);
	json_add_u64(writer, object, "with_symbol", r->with_symbol);
	add_share(writer, object, "with_symbol_percent", r->with_symbol, r->samples);
	json_add_u64(writer, object, "function_start_only", r->start_only);
	add_share(writer, object, "function_start_only_percent", r->start_only, r->samples);
	json_add_u64(writer, object, "user_in_images_with_symbols", r->user_symbol_images);
	json_add_u64(writer, object, "user_with_procedure", r->user_named);
	add_share(writer, object, "user_with_procedure_percent", r->user_named,
		  r->user_symbol_images);
	json_add_u64(writer, object, "in_known_function", r->in_extent);
	add_share(writer, object, "in_known_function_percent", r->in_extent, r->with_image);
	return object;
}

static struct json_object *late_object(struct json_writer *writer, const struct report *report)
{
	const struct scope *scope = &report->scope;
	struct json_object *object = json_new_object(writer);
	json_add_u64(writer, object, "samples", scope->late_samples);
	add_share(writer, object, "percent", scope->late_samples, scope->late_of);
	struct json_object *list = json_new_array(writer);
	for (size_t i = 0; i < scope->late_count; i++) {
		struct json_object *one = json_new_object(writer);
		json_add_text(writer, one, "procedure",
			      places_procedure(report->places, scope->late[i].procedure)->name);
		json_add_u64(writer, one, "samples", scope->late[i].samples);
		json_append(writer, list, one);
	}
	json_add(writer, object, "procedures", list);
	return object;
}

/* Absent where no stacks were followed by frame pointers. */
static void add_broken_stacks(struct json_writer *writer, struct json_object *object,
			      const struct scope_broken_stacks *stacks)
{
	bool known = stacks->user_samples > 0;
	struct scope_number user = { known, stacks->user_samples };
	struct scope_number broken = { known, stacks->broken_samples };
	struct scope_number unjudged = { known, stacks->unjudged_samples };
	add_number(writer, object, "user_samples", user);
	add_number(writer, object, "broken_samples", broken);
	add_share(writer, object, "broken_percent", stacks->broken_samples, stacks->user_samples);
	add_number(writer, object, "unjudged_samples", unjudged);
	struct json_object *list = json_new_array(writer);
	for (size_t i = 0; i < stacks->image_count; i++) {
		struct json_object *image = json_new_object(writer);
		json_add_span(writer, image, "image", stacks->images[i].name);
		json_add_u64(writer, image, "samples", stacks->images[i].samples);
		json_append(writer, list, image);
	}
	json_add(writer, object, "broken_by", list);
}

static struct json_object *stacks_object(struct json_writer *writer, const struct report *report)
{
	const struct scope *scope = &report->scope;
	struct json_object *object = json_new_object(writer);
	json_add_bool(writer, object, "recorded", report->has_stacks);
	struct scope_number depth = { report->has_stacks, scope->stack_depth };
	struct scope_number samples = { report->has_stacks, scope->stack_samples };
	add_number(writer, object, "samples", samples);
	add_number(writer, object, "deepest_frames", depth);
	add_number(writer, object, "cut_samples", scope->cut_stacks);
	json_add_bool(writer, object, "cut_samples_guessed", scope->cut_is_guess);
	add_broken_stacks(writer, object, &scope->broken_stacks);
	return object;
}

static struct json_object *bursts_object(struct json_writer *writer,
					 const struct scope_bursts *bursts)
{
	struct json_object *object = json_new_object(writer);
	struct json_object *ends = json_new_array(writer);
	add_number(writer, object, "bursts", bursts->bursts);
	add_number(writer, object, "steps", bursts->steps);
	add_number(writer, object, "ns", bursts->ns);
	for (size_t i = 0; i < bursts->end_count; i++) {
		struct json_object *end = json_new_object(writer);
		json_add_span(writer, end, "cause", bursts->ends[i].name);
		json_add_u64(writer, end, "bursts", bursts->ends[i].samples);
		json_append(writer, ends, end);
	}
	json_add(writer, object, "ended_by", ends);
	return object;
}

static struct json_object *collector_object(struct json_writer *writer, const struct report *report)
{
	const struct scope *scope = &report->scope;
	struct json_object *object = json_new_object(writer);
	add_number(writer, object, "cpu_ns", scope->self_cpu_ns);
	add_number(writer, object, "idle_interrupt_ns",
		   scope_idle_ns(scope, report->columns.count));
	add_number(writer, object, "interpret_ns", scope->interpret_ns);
	if (scope->bursts.bursts.known)
		json_add(writer, object, "bursts", bursts_object(writer, &scope->bursts));
	else
		json_add_null(writer, object, "bursts");
	add_number(writer, object, "memory_bytes", scope->self_bytes);
	add_number(writer, object, "ring_bytes", scope->ring_bytes);
	add_number(writer, object, "lost_sideband_records", scope->lost_sideband);
	if (scope->left_out_count)
		add_causes(writer, object, "left_out", scope->left_out, scope->left_out_count);
	return object;
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
static struct json_object *charged_array(struct json_writer *writer, const struct report *report)
{
	struct json_object *array = json_new_array(writer);
	for (size_t c = 0; c < report->columns.count; c++) {
		const struct report_charge *charge = &report->charge[c];
		struct json_object *object = json_new_object(writer);
		json_add_span(writer, object, "event", report->columns.list[c].name);
		json_add_u64(writer, object, "skid_instructions", charge->skid);
		json_add_u64(writer, object, "charged_samples", charge->charged.samples);
		json_add_u64(writer, object, "staying_samples", charge->stays.samples);
		json_append(writer, array, object);
	}
	return array;
}

void report_json(const struct report *report, struct buffer *out)
{
	struct json_writer writer = { 0 };
	struct json_object *document = json_new_object(&writer);
	json_add_u64(&writer, document, "schema", REPORT_SCHEMA);
	json_add_text(&writer, document, "report", view_name(report->options.view));
	if (report->options.view == REPORT_FLAT) {
		struct json_object *by = json_new_array(&writer);
		for (size_t i = 0; i < report->options.part_count; i++)
			json_append_text(&writer, by, report_part_names[report->options.parts[i]]);
		json_add(&writer, document, "by", by);
	}
	json_add(&writer, document, "scope", report_json_scope(&writer, report));
	report_json_add_events(&writer, document, report);
	json_add(&writer, document, "rows", rows_array(&writer, report));
	struct json_object *rest = json_new_object(&writer);
	json_add_u64(&writer, rest, "rows", report->rest_count);
	json_add(&writer, rest, "self", cells_array(&writer, report, report->rest));
	json_add(&writer, document, "rest", rest);
	if (report->charge)
		json_add(&writer, document, "charged", charged_array(&writer, report));
	json_add(&writer, document, "late", late_object(&writer, report));
	json_add(&writer, document, "stacks", stacks_object(&writer, report));
	json_add(&writer, document, "resolution", resolution_object(&writer, report));
	json_add(&writer, document, "collector", collector_object(&writer, report));
	json_add_texts(&writer, document, "notes", report->notes, report->note_count);
	json_finish(&writer, document, out);
}
