#include "render/bill_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/sum.h"
#include "profile/bill.h"
#include "render/broken_stacks_text.h"
#include "render/quantity.h"
#include "render/scope_text_parts.h"

/* " (0.06 %: ring 12, table 3)" */
static void put_causes(struct buffer *out, const struct scope_cause *causes, size_t count,
		       uint64_t sum, uint64_t of)
{
	if (sum == 0)
		return;
	buffer_append_text(out, " (");
	scope_put_part(out, sum, of);
	for (size_t i = 0, put = 0; i < count; i++) {
		if (causes[i].samples == 0)
			continue;
		buffer_append_text(out, put++ ? ", " : ": ");
		for (size_t k = 0; k < causes[i].name.size; k++) {
			char c = ((const char *)causes[i].name.data)[k];
			text_append_safe(out, c == '_' ? " " : &c, 1);
		}
		buffer_append_u8(out, ' ');
		scope_put_count(out, causes[i].samples);
	}
	buffer_append_u8(out, ')');
}

static void put_optional(struct buffer *out, struct scope_number number)
{
	if (number.known)
		scope_put_count(out, number.value);
	else
		buffer_append_u8(out, '-');
}

static void put_filtered(struct buffer *out, struct scope_number filtered)
{
	if (!filtered.known || !filtered.value)
		return;
	buffer_append_text(out, ", ");
	scope_put_count(out, filtered.value);
	buffer_append_text(out, " discarded, of other processes");
}

static void put_throttled(struct buffer *out, struct scope_number throttled)
{
	if (!throttled.known || !throttled.value)
		return;
	buffer_append_text(out, ", throttled ");
	scope_put_count(out, throttled.value);
	buffer_append_text(out, throttled.value == 1 ? " time" : " times");
}

void bill_text_samples(const struct scope_bill *bill, struct buffer *out)
{
	struct scope_number lost = scope_lost(bill), unknown = scope_unknown(bill);
	uint64_t runs =
		bill->runs.known ? bill->runs.value : sum_u64(bill->stored.value, lost.value);
	put_optional(out, bill->stored);
	buffer_append_text(out, " samples stored, ");
	put_optional(out, lost);
	buffer_append_text(out, " lost");
	put_causes(out, bill->lost, bill->lost_count, lost.value, runs);
	buffer_append_text(out, ", ");
	put_optional(out, unknown);
	buffer_append_text(out, " of unknown code");
	put_causes(out, bill->unknown, bill->unknown_count, unknown.value, bill->stored.value);
	put_filtered(out, bill->filtered);
	if (bill->stepped.known && bill->stepped.value) {
		buffer_append_text(out, ", ");
		scope_put_count(out, bill->stepped.value);
		buffer_append_text(out, " left out: their threads were being single-stepped");
	}
}

/* The part of the shortfall that sampling itself took, and what is left. */
static void put_idle(struct buffer *out, const struct scope_bill *bill)
{
	if (!bill->shortfall_ns.known || !bill->idle_ns.known || !bill->idle_ns.value)
		return;
	uint64_t shortfall = bill->shortfall_ns.value;
	buffer_append_text(out, ": ");
	scope_put_ns(out, (double)bill->idle_ns.value);
	if (bill->idle_low_ns.known && bill->idle_high_ns.known) {
		buffer_append_text(out, " (");
		scope_put_ns(out, (double)bill->idle_low_ns.value);
		buffer_append_text(out, " to ");
		scope_put_ns(out, (double)bill->idle_high_ns.value);
		buffer_append_u8(out, ')');
	}
	buffer_append_text(out, " interrupts of sampling itself while idle, estimated, ");
	scope_put_ns(out, (double)(shortfall > bill->idle_ns.value ? shortfall - bill->idle_ns.value
								   : 0));
	buffer_append_text(out, " unexplained");
}

static void put_time_bill(struct buffer *out, const struct report *report, size_t at)
{
	const struct scope_bill *bill = &report->scope.bills[at];
	const struct event_column *column = &report->columns.list[at];
	double busy = (double)report->scope.busy_ns.value;
	if (bill->enabled_ns.known && bill->running_ns.known && bill->enabled_ns.value &&
	    bill->running_ns.value < bill->enabled_ns.value - bill->enabled_ns.value / 1000) {
		buffer_append_text(out, ", multiplexed: counted ");
		scope_put_part(out, bill->running_ns.value, bill->enabled_ns.value);
		buffer_append_text(out, " of the time and scaled");
		double half_width = scope_count_half_width(bill);
		if (half_width > 0 && bill->count.known && bill->count.value) {
			buffer_append_text(out, ", in all +- ");
			scope_put_percent(out, half_width, (double)bill->count.value);
		}
	}
	put_throttled(out, bill->throttled);
	if (column->clock != EVENT_CLOCK)
		return;
	if (bill->shortfall_ns.known) {
		buffer_append_text(out, ", ");
		scope_put_ns(out, (double)bill->shortfall_ns.value);
		buffer_append_text(out, " busy time without a sample");
		if (busy > 0 && bill->shortfall_ns.value) {
			buffer_append_text(out, " (");
			scope_put_percent(out, (double)bill->shortfall_ns.value, busy);
			buffer_append_u8(out, ')');
		}
	}
	put_idle(out, bill);
	if (bill->surplus_ns.known && bill->surplus_ns.value) {
		buffer_append_text(out, ", samples for ");
		scope_put_ns(out, (double)bill->surplus_ns.value);
		buffer_append_text(out, " more than busy time");
	}
}

/* Samples with more than a place, beside those that were counted in the kernel. */
static void put_apart(const struct scope_apart *apart, const struct report_text_options *options,
		      struct buffer *out)
{
	if (!apart->stored.known)
		return;
	scope_put_label(out, options, "apart");
	scope_put_samples(out, apart->stored.value);
	buffer_append_text(out, " one by one, with stacks or registers, beside these, ");
	scope_put_count(out, sum_u64(apart->lost_ring.value, apart->lost_damaged.value));
	buffer_append_text(out, " lost");
	put_filtered(out, apart->filtered);
	put_throttled(out, apart->throttled);
	buffer_append_u8(out, '\n');
}

static void put_part(struct buffer *out, struct scope_number number, uint64_t whole,
		     const char *sentence)
{
	if (!number.known || !number.value)
		return;
	buffer_append_text(out, ", ");
	scope_put_count(out, number.value);
	buffer_append_text(out, " (");
	scope_put_part(out, number.value, whole);
	buffer_append_text(out, ") ");
	buffer_append_text(out, sentence);
}

/* What interpreting samples gave. */
static void put_interpreted(const struct scope_interpreted *interpreted,
			    const struct report_text_options *options, struct buffer *out)
{
	uint64_t paths = interpreted->interpreted.value;
	uint64_t all = sum_u64(sum_u64(paths, interpreted->thinned.value),
			       sum_u64(interpreted->unfit.value, interpreted->lost.value));
	if (!interpreted->interpreted.known || !all)
		return;
	scope_put_label(out, options, "branches");
	scope_put_count(out, interpreted->outcomes.value);
	buffer_append_text(out, " seen by interpreting ");
	scope_put_samples(out, paths);
	buffer_append_text(out, " of user code onwards");
	put_part(out, interpreted->silent, paths, "of which led nowhere");
	put_part(out, interpreted->thinned, all, "more left out to keep the overhead down");
	put_part(out, interpreted->unfit, all, "not fit for it");
	put_part(out, interpreted->lost, all, "lost because interpreting failed");
	buffer_append_u8(out, '\n');
}

static void put_bursts(const struct scope *scope, const struct report_text_options *options,
		       struct buffer *out)
{
	const struct scope_bursts *bursts = &scope->bursts;
	if (!bursts->bursts.known)
		return;
	scope_put_label(out, options, "steps");
	scope_put_count(out, bursts->steps.value);
	buffer_append_text(out, " instructions one by one in ");
	scope_put_count(out, bursts->bursts.value);
	buffer_append_text(out, bursts->bursts.value == 1 ? " burst" : " bursts");
	if (bursts->ns.known && bursts->steps.value) {
		buffer_append_text(out, ", ");
		scope_put_ns(out, (double)bursts->ns.value / (double)bursts->steps.value);
		buffer_append_text(out, " each");
	}
	if (bursts->ns.known && scope->duration_ns) {
		buffer_append_text(out, ": ");
		scope_put_percent(out, (double)bursts->ns.value, (double)scope->duration_ns);
		buffer_append_text(out, " of the time");
	}
	buffer_append_u8(out, '\n');
}

static void put_remark(struct scope_number number, const struct report_text_options *options,
		       struct buffer *out, const char *sentence)
{
	if (!number.known || !number.value)
		return;
	scope_put_label(out, options, "");
	scope_put_count(out, number.value);
	buffer_append_text(out, sentence);
}

/* A cause that the bill has as "lines_time" becomes "lines (time)". */
static void put_left_out_cause(struct buffer *out, const struct scope_cause *cause)
{
	const char *text = cause->name.data;
	size_t size = cause->name.size;
	const char *line = memchr(text, '_', size);
	size_t what = line ? (size_t)(line - text) : size;
	buffer_append_u8(out, ' ');
	text_append_safe(out, text, what);
	if (!line)
		return;
	buffer_append_text(out, " (");
	text_append_safe(out, line + 1, size - what - 1);
	buffer_append_u8(out, ')');
}

static void put_left_out(const struct scope *scope, const struct report_text_options *options,
			 struct buffer *out)
{
	if (!scope->left_out_count)
		return;
	scope_put_label(out, options, "");
	buffer_append_text(out, "left out, as it would have cost too much:");
	for (size_t i = 0; i < scope->left_out_count; i++) {
		buffer_append_text(out, i ? ", " : " ");
		scope_put_count(out, scope->left_out[i].samples);
		put_left_out_cause(out, &scope->left_out[i]);
	}
	for (size_t i = 0; i < scope->left_out_file_count; i++)
		scope_put_span(out, i ? ", " : "; of ", scope->left_out_files[i].name);
	buffer_append_u8(out, '\n');
}

static void put_bills(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	bool first = true;
	for (size_t i = 0; i < report->columns.count; i++) {
		const struct event_column *column = &report->columns.list[i];
		bool unbilled =
			column->origin == ORIGIN_IMPORTED && !report->scope.bills[i].stored.known;
		if (!column->sampled || unbilled)
			continue;
		scope_put_label(out, options, first ? "bill" : "");
		first = false;
		if (report->columns.count > 1) {
			scope_put_span(out, "", column->name);
			scope_put_span(out, " on ", column->core_type);
			buffer_append_text(out, ": ");
		}
		bill_text_samples(&report->scope.bills[i], out);
		put_time_bill(out, report, i);
		buffer_append_u8(out, '\n');
		put_apart(&report->scope.bills[i].apart, options, out);
		put_interpreted(&report->scope.bills[i].interpreted, options, out);
	}
	put_remark(report->scope.lost_sideband, options, out,
		   " records about processes and mappings lost: some code may be unknown for it\n");
	put_remark(report->scope.maps_cut, options, out,
		   " processes had more mappings than there was time to read: some code may be "
		   "unknown for it\n");
	put_left_out(&report->scope, options, out);
	put_remark(report->scope.trace_cut, options, out,
		   " pieces of a hardware trace were cut short when recording\n");
	put_remark(report->scope.trace_left_out, options, out,
		   " bytes of a hardware trace were not decoded and are left out\n");
	put_remark(report->scope.raw_left_out, options, out,
		   " bytes of raw data in samples are left out\n");
}

static void put_late(const struct report *report, const struct report_text_options *options,
		     struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (scope->late_samples == 0)
		return;
	scope_put_label(out, options, "late");
	scope_put_samples(out, scope->late_samples);
	buffer_append_text(out, " (");
	scope_put_part(out, scope->late_samples, scope->late_of);
	buffer_append_text(out, ") waited until interrupts came back on; the code before took "
				"the time: ");
	uint64_t named = 0;
	for (size_t i = 0; i < scope->late_count; i++) {
		const char *name = places_procedure(report->places, scope->late[i].procedure)->name;
		buffer_append_text(out, i ? ", " : "");
		text_append_safe(out, name, strlen(name));
		buffer_append_u8(out, ' ');
		scope_put_count(out, scope->late[i].samples);
		named += scope->late[i].samples;
	}
	if (named < scope->late_samples) {
		buffer_append_text(out, ", others ");
		scope_put_count(out, scope->late_samples - named);
	}
	buffer_append_u8(out, '\n');
}

/* Returns whether it wrote anything. */
static bool put_broken_stacks(const struct scope *scope, const struct report_text_options *options,
			      struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer line = { 0 };
	if (!broken_stacks_text(&scope->broken_stacks, &line))
		return false;
	scope_put_label(out, options, "stacks");
	buffer_append(out, line.data, line.size);
	buffer_append_u8(out, '\n');
	const char *cure = broken_stacks_cure(&scope->broken_stacks);
	if (cure) {
		scope_put_label(out, options, "");
		buffer_append_text(out, cure);
		buffer_append_u8(out, '\n');
	}
	return true;
}

static void put_stacks(const struct report *report, const struct report_text_options *options,
		       struct buffer *out)
{
	const struct scope *scope = &report->scope;
	bool labelled = put_broken_stacks(scope, options, out);
	if (scope->cut_stacks.value) {
		scope_put_label(out, options, labelled ? "" : "stacks");
		labelled = true;
		scope_put_samples(out, scope->cut_stacks.value);
		buffer_append_text(out, " (");
		scope_put_part(out, scope->cut_stacks.value, scope->stack_samples);
		if (scope->cut_is_guess)
			buffer_printf(out,
				      ") have stacks of exactly %" PRIu64
				      " frames, the deepest: probably cut there",
				      scope->stack_depth);
		else
			buffer_append_text(out, ") have stacks that were cut at their outer end");
		buffer_append_text(out, " (kernel.perf_event_max_stack)\n");
	}
	size_t main = report->sort_column;
	if (report->options.view == REPORT_FLAT || report->columns.count == 0 ||
	    report->without_stack[main].estimate == 0)
		return;
	scope_put_label(out, options, labelled ? "" : "stacks");
	scope_put_part(out, report->without_stack[main].estimate, report->shown[main].estimate);
	buffer_append_text(out, " of what is shown has no stack and counts in its own procedure "
				"only\n");
}

static void put_names(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	const struct scope_resolution *r = &report->scope.resolution;
	if (r->samples == 0) /* imported text has none */
		return;
	scope_put_label(out, options, "names");
	scope_put_part(out, r->with_symbol, r->samples);
	buffer_append_text(out, " of samples have their procedure's symbol");
	if (r->start_only) {
		buffer_append_text(out, ", ");
		scope_put_part(out, r->start_only, r->samples);
		buffer_append_text(out, " only its start");
	}
	uint64_t neither = r->samples - r->with_symbol - r->start_only;
	if (neither) {
		buffer_append_text(out, ", ");
		scope_put_part(out, neither, r->samples);
		buffer_append_text(out, r->start_only ? " neither" : " none");
	}
	if (r->with_image < r->samples) {
		buffer_append_text(out, "; ");
		scope_put_part(out, r->samples - r->with_image, r->samples);
		buffer_append_text(out, " lie in no known image");
	}
	buffer_append_u8(out, '\n');
}

/* " (1.2 % of the machine)" */
static void put_share(struct buffer *out, const struct scope *scope, struct scope_number ns)
{
	if (!scope->online_ns.known || !scope->online_ns.value)
		return;
	buffer_append_text(out, " (");
	scope_put_percent(out, (double)ns.value, (double)scope->online_ns.value);
	buffer_append_text(out, " of the machine)");
}

static double mean(struct scope_number ns, struct scope_number samples)
{
	return (double)ns.value / (double)samples.value;
}

/* "interrupt side: about 310 ns a sample and 1800 ns a stack (1 in 64 timed), so about 0.03 % of a
 * CPU" */
static void put_timed(const struct scope *scope, const struct report_text_options *options,
		      struct buffer *out)
{
	const struct scope_timed *timed = &scope->timed;
	double sample_ns = scope_timed_sample_ns(timed), stack_ns = scope_timed_stack_ns(timed);
	double all_ns = scope_timed_all_ns(timed);
	if (isnan(all_ns))
		return;
	scope_put_label(out, options, "");
	buffer_append_text(out, "interrupt side: about");
	if (!isnan(sample_ns))
		buffer_printf(out, " %.0f ns a sample", sample_ns);
	if (timed->hits.value && timed->hit_ns.known && timed->misses.value && timed->miss_ns.known)
		buffer_printf(out, " (%.0f where its place had an entry, %.0f where not)",
			      mean(timed->hit_ns, timed->hits),
			      mean(timed->miss_ns, timed->misses));
	if (!isnan(stack_ns))
		buffer_printf(out, "%s %.0f ns a stack", isnan(sample_ns) ? "" : " and", stack_ns);
	buffer_printf(out, ", 1 in %d timed", BILL_TIMED_ONE_IN);
	if (scope->duration_ns) {
		buffer_append_text(out, ", so about ");
		scope_put_percent(out, all_ns, (double)scope->duration_ns);
		buffer_append_text(out, " of a CPU");
	}
	buffer_append_text(out, "; the interrupt itself is not in it\n");
}

static void put_collector(const struct report *report, const struct report_text_options *options,
			  struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (!scope->self_cpu_ns.known && !scope->self_bytes.known)
		return;
	char text[QUANTITY_SIZE];
	scope_put_label(out, options, "collector");
	if (scope->self_cpu_ns.known) {
		scope_put_ns(out, (double)scope->self_cpu_ns.value);
		buffer_append_text(out, " of CPU time");
		put_share(out, scope, scope->self_cpu_ns);
	} else {
		buffer_append_text(out, "- of CPU time");
	}
	struct scope_number idle = scope_idle_ns(scope, report->columns.count);
	if (scope->interrupt_ns.known) {
		buffer_append_text(out, " and ");
		scope_put_ns(out, (double)scope->interrupt_ns.value);
		buffer_append_text(out, " of interrupts, estimated");
		put_share(out, scope, scope->interrupt_ns);
	} else if (idle.known && idle.value) {
		buffer_append_text(out, " and ");
		scope_put_ns(out, (double)idle.value);
		buffer_append_text(out, " of interrupts while idle, estimated");
	}
	if (scope->slowed_ns.known && scope->slowed_ns.value && scope->duration_ns) {
		buffer_append_text(out, ", with ");
		scope_put_percent(out, (double)scope->slowed_ns.value, (double)scope->duration_ns);
		buffer_append_text(out, " fewer samples than planned to keep to the budget");
	}
	if (scope->self_bytes.known) {
		quantity_bytes(scope->self_bytes.value, text);
		buffer_printf(out, ", %s of memory", text);
	}
	if (scope->ring_bytes.known) {
		quantity_bytes(scope->ring_bytes.value, text);
		buffer_printf(out, ", %s read from the kernel", text);
	}
	if (scope->table_entries.known) {
		buffer_append_text(out, ", ");
		scope_put_count(out, scope->table_entries.value);
		buffer_append_text(out, " counts out of its table");
	}
	buffer_append_u8(out, '\n');
}

static void put_notes(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	for (size_t i = 0; i < report->note_count; i++) {
		scope_put_label(out, options, i ? "" : "note");
		text_append_safe(out, report->notes[i], strlen(report->notes[i]));
		buffer_append_u8(out, '\n');
	}
}

void bill_text(const struct report *report, const struct report_text_options *options,
	       struct buffer *out)
{
	buffer_append_u8(out, '\n');
	put_bills(report, options, out);
	put_bursts(&report->scope, options, out);
	put_late(report, options, out);
	put_stacks(report, options, out);
	put_names(report, options, out);
	put_collector(report, options, out);
	put_timed(&report->scope, options, out);
	put_notes(report, options, out);
}
