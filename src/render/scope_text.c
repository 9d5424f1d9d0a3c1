#include "render/scope_text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "analyze/report.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "render/broken_stacks_text.h"
#include "render/charge_text.h"
#include "render/quantity.h"

#define LABEL_WIDTH 11

/* Starts a line "label      "; an empty label goes on with the one above. */
static void label(struct buffer *out, const struct report_text_options *options, const char *name)
{
	text_append_style(out, options->colour, *name ? TEXT_BOLD : TEXT_PLAIN);
	buffer_printf(out, "%-*s", LABEL_WIDTH, name);
	text_append_style(out, options->colour, TEXT_PLAIN);
}

static void put_span(struct buffer *out, const char *before, struct span text)
{
	if (!text.size)
		return;
	buffer_append_text(out, before);
	text_append_safe(out, text.data, text.size);
}

static void put_count(struct buffer *out, uint64_t count)
{
	char text[QUANTITY_SIZE];
	quantity_count(count, text);
	buffer_append_text(out, text);
}

static void put_samples(struct buffer *out, uint64_t count)
{
	put_count(out, count);
	buffer_append_text(out, count == 1 ? " sample" : " samples");
}

static void put_percent(struct buffer *out, double part, double whole)
{
	char text[QUANTITY_SIZE];
	quantity_percent(part, whole, text);
	buffer_append_text(out, text);
}

static void put_quantity(struct buffer *out, double value, struct span unit)
{
	char text[QUANTITY_SIZE];
	quantity_describe(value, unit, text);
	buffer_append_text(out, text);
}

static struct span nanoseconds(void)
{
	return span_of_text("ns");
}

/* ---- above */

static void put_machine(struct buffer *out, const struct profile_source *source)
{
	bool bare = source->kernel.size && *(const char *)source->kernel.data >= '0' &&
		    *(const char *)source->kernel.data <= '9';
	put_span(out, bare ? ": Linux " : ": ", source->kernel);
	put_span(out, source->kernel.size ? " " : ": ", source->machine);
	put_span(out, ", ", source->cpu_name);
	if (source->cpus)
		buffer_printf(out, ", %" PRIu64 " CPU%s", source->cpus,
			      source->cpus == 1 ? "" : "s");
	put_span(out, ", in a VM: ", source->hypervisor);
}

static void put_hosts(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (scope->host_count == 0)
		return;
	label(out, options, scope->host_count == 1 ? "host" : "hosts");
	if (scope->host_count == 1) {
		put_span(out, "", scope->hosts[0]);
		if (scope->one_machine)
			put_machine(out, &scope->first);
	} else {
		buffer_printf(out, "%zu: ", scope->host_count);
		for (size_t i = 0; i < scope->host_count; i++) {
			if (i == 8) {
				buffer_printf(out, ", ... %zu more", scope->host_count - i);
				break;
			}
			put_span(out, i ? ", " : "", scope->hosts[i]);
		}
	}
	buffer_append_u8(out, '\n');
}

static void put_date(struct buffer *out, uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000u);
	struct tm tm;
	char text[64];
	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		buffer_append_text(out, text);
	else
		buffer_append_u8(out, '-');
}

static void put_recorded(const struct report *report, const struct report_text_options *options,
			 struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (!scope->has_source || (scope->start_ns == 0 && scope->duration_ns == 0))
		return;
	label(out, options, "recorded");
	if (scope->start_ns) {
		put_date(out, scope->start_ns);
		buffer_append_text(out, ", ");
	}
	put_quantity(out, (double)scope->duration_ns, nanoseconds());
	if (scope->epochs > 1) {
		buffer_printf(out, " in %zu recordings", scope->epochs);
		if (scope->end_ns > scope->start_ns) {
			buffer_append_text(out, " until ");
			put_date(out, scope->end_ns);
		}
	}
	if (scope->one_command)
		put_span(out, ": ", scope->first.command);
	buffer_append_u8(out, '\n');
	if (scope->cut_off.known && scope->cut_off.value) {
		label(out, options, "");
		buffer_append_text(out, scope->epochs > 1
						? "some were cut off: what came after their last "
						  "merge is lost\n"
						: "cut off: what came after its last merge is "
						  "lost\n");
	}
}

static void put_cpu_time(struct buffer *out, struct scope_number user, struct scope_number system,
			 uint64_t during_ns)
{
	put_quantity(out, (double)user.value, nanoseconds());
	buffer_append_text(out, " user, ");
	put_quantity(out, (double)system.value, nanoseconds());
	buffer_append_text(out, " system");
	if (during_ns)
		buffer_printf(out, ": %.2f CPUs on average",
			      ((double)user.value + (double)system.value) / (double)during_ns);
	buffer_append_u8(out, '\n');
}

/* The time of what was recorded, as the kernel counted it. */
static void put_watched(const struct report *report, const struct report_text_options *options,
			struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (scope->command_elapsed_ns.known) {
		label(out, options, scope->epochs > 1 ? "commands" : "command");
		put_quantity(out, (double)scope->command_elapsed_ns.value, nanoseconds());
		buffer_append_text(out, " elapsed, ");
		put_cpu_time(out, scope->command_user_ns, scope->command_system_ns,
			     scope->command_elapsed_ns.value);
	} else if (scope->sampled_user_ns.known) {
		label(out, options, "processes");
		put_cpu_time(out, scope->sampled_user_ns, scope->sampled_system_ns,
			     scope->duration_ns);
	}
}

static void put_busy(const struct report *report, const struct report_text_options *options,
		     struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (!scope->busy_ns.known)
		return;
	double busy = (double)scope->busy_ns.value;
	label(out, options, scope->host_count > 1 ? "machines" : "machine");
	buffer_printf(out, "%.*f CPU-seconds busy", busy < 1e9 ? 3 : 2, busy / 1e9);
	if (scope->duration_ns && scope->cpus)
		buffer_printf(out, ": %.2f of %" PRIu64 " CPUs on average",
			      scope_mean_busy_cpus(scope), scope->cpus);
	if (scope->host_count > 1)
		buffer_append_text(out, " of a host");
	if (scope->online_ns.known && scope->online_ns.value) {
		buffer_append_text(out, ", ");
		put_percent(out, busy, (double)scope->online_ns.value);
		buffer_append_text(out, scope->host_count > 1 ? " of their time" : " of its time");
	}
	if (scope->steal_ns.known && scope->steal_ns.value > scope->busy_ns.value / 100) {
		buffer_append_text(out, "; the hypervisor took ");
		put_quantity(out, (double)scope->steal_ns.value, nanoseconds());
	}
	if (scope->offline_ns.known && scope->offline_ns.value) {
		buffer_append_text(out, "; CPUs were offline for ");
		put_quantity(out, (double)scope->offline_ns.value, nanoseconds());
	}
	buffer_append_u8(out, '\n');
}

static const char *privilege(const struct event_column *column)
{
	bool user = !(column->exclude & EXCLUDE_USER), kernel = !(column->exclude & EXCLUDE_KERNEL);
	return user && kernel ? "user and kernel"
	       : user	      ? "user only"
	       : kernel	      ? "kernel only"
			      : "hypervisor only";
}

static bool counts_ns(const struct event_column *column)
{
	return column->clock == EVENT_CLOCK || span_equal(column->unit, nanoseconds());
}

static void put_period_value(struct buffer *out, const struct event_column *column, uint64_t period)
{
	if (counts_ns(column)) {
		put_quantity(out, (double)period, nanoseconds());
		return;
	}
	if (column->scale) { /* what came in parts of its unit is sampled in such */
		buffer_printf(out, "%.6g ", (double)period / event_column_divisor(column));
		put_span(out, "", column->unit);
		return;
	}
	put_count(out, period);
}

static void put_period(struct buffer *out, const struct event_column *column)
{
	if (column->origin != ORIGIN_MEASURED && column->policy == PERIOD_NONE)
		return;
	if (!column->sampled) {
		put_span(out, ", read with every sample of ", column->leader);
		if (!column->leader.size)
			buffer_append_text(out, ", without samples of its own");
		return;
	}
	if (column->policy == PERIOD_NONE || column->period_most == 0)
		return;
	if (column->policy == PERIOD_FREQUENCY) {
		buffer_append_text(out, ", sampled at ");
		put_count(out, column->period_least);
		if (column->period_most > column->period_least) {
			buffer_append_text(out, " to ");
			put_count(out, column->period_most);
		}
		buffer_append_text(out, " Hz");
		return;
	}
	buffer_append_text(out, ", sampled every ");
	put_period_value(out, column, column->period_least);
	if (column->period_most > column->period_least) {
		buffer_append_text(out, " to ");
		put_period_value(out, column, column->period_most);
	}
	if (column->policy == PERIOD_RANDOM)
		buffer_append_text(out, " at random");
}

/* What a clock's samples stand for, of the CPU time of what was sampled. */
static void put_share_of_time(struct buffer *out, const struct scope *scope,
			      const struct event_column *column, uint64_t estimate)
{
	uint64_t of = scope->busy_ns.known ? scope->busy_ns.value : 0;
	const char *whose = " of the machine's ", *what = "busy time";
	bool alike = scope->epochs <= 1 || scope->one_command; /* all have these times, or none */
	if (alike && scope->sampled_user_ns.known && scope->sampled_system_ns.known) {
		bool user = !(column->exclude & EXCLUDE_USER);
		bool kernel = !(column->exclude & EXCLUDE_KERNEL);
		of = (user ? scope->sampled_user_ns.value : 0) +
		     (kernel ? scope->sampled_system_ns.value : 0);
		whose = scope->command_elapsed_ns.known ? " of the command's "
							: " of the processes' ";
		what = user && kernel ? "CPU time" : user ? "user time" : "system time";
	}
	if (!of)
		return;
	buffer_append_text(out, ", ");
	put_percent(out, (double)estimate, (double)of);
	buffer_printf(out, "%s%s", whose, what);
}

void scope_text_event(const struct report *report, size_t at, struct buffer *out)
{
	const struct event_column *column = &report->columns.list[at];
	const struct cell *whole = &report->whole[at];
	put_span(out, "", column->name);
	put_span(out, " on ", column->core_type);
	put_period(out, column);
	if (column->origin == ORIGIN_IMPORTED)
		buffer_append_text(out, ", imported");
	else if (column->origin == ORIGIN_ESTIMATED)
		buffer_append_text(out, ", computed from others");
	else
		buffer_printf(out, ", %s", privilege(column));
	if (column->precise)
		buffer_printf(out, ", precise %" PRIu64, column->precise);
	buffer_append_text(out, ": ");
	if (column->sampled) {
		put_count(out, whole->samples);
		buffer_append_text(out, whole->samples == 1 ? " sample, " : " samples, ");
	}
	put_quantity(out, (double)whole->estimate / event_column_divisor(column), column->unit);
	if (column->clock == EVENT_CLOCK) {
		if (report->columns.count == 1 && column->sampled)
			put_share_of_time(out, &report->scope, column, whole->estimate);
	} else if (column->unit.size && !span_equal(column->unit, column->name) &&
		   !counts_ns(column)) {
		put_span(out, " ", column->unit);
	}
}

static void put_event(const struct report *report, const struct report_text_options *options,
		      size_t at, struct buffer *out)
{
	label(out, options, at ? "" : report->columns.count > 1 ? "events" : "event");
	scope_text_event(report, at, out);
	buffer_append_u8(out, '\n');
}

static void put_clock_truth(const struct report *report, const struct report_text_options *options,
			    struct buffer *out)
{
	for (size_t i = 0; i < report->columns.count; i++) {
		const struct event_column *column = &report->columns.list[i];
		if (column->clock != EVENT_CLOCK || column->origin == ORIGIN_IMPORTED)
			continue;
		label(out, options, "");
		put_span(out, "", column->name);
		buffer_append_text(out, " counts time, not cycles: no CPI; samples fall where the "
					"interrupt came through, some instructions late\n");
		return;
	}
}

static void put_charge(const struct report *report, const struct report_text_options *options,
		       struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	charge_text(report, &text);
	out->failed |= buffer_failed(&text);
	if (!text.size)
		return;
	label(out, options, report->charge ? "lines" : "addresses");
	buffer_append(out, text.data, text.size);
	buffer_append_u8(out, '\n');
}

static void put_percent_scope(const struct report *report,
			      const struct report_text_options *options, struct buffer *out)
{
	size_t main = report->sort_column;
	if (report->columns.count == 0 || report->whole[main].estimate == 0)
		return;
	const struct event_column *column = &report->columns.list[main];
	const struct cell *whole = &report->whole[main];
	label(out, options, "percent");
	buffer_append_text(out, "of ");
	if (report->columns.count > 1) {
		buffer_append_text(out, "each event's total");
	} else {
		buffer_append_text(out, "these ");
		put_quantity(out, (double)whole->estimate / event_column_divisor(column),
			     column->unit);
	}
	if (report->idle[main].estimate) {
		buffer_append_text(out, ", without the idle loop's ");
		put_quantity(out,
			     (double)report->idle[main].estimate / event_column_divisor(column),
			     column->unit);
	}
	if (report->filtered) {
		buffer_append_text(out, "; the filters keep ");
		put_percent(out, (double)report->shown[main].estimate, (double)whole->estimate);
	}
	buffer_append_u8(out, '\n');
}

void scope_text_above(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	if (options->title) {
		label(out, options, "profile");
		text_append_safe(out, options->title, strlen(options->title));
		buffer_append_u8(out, '\n');
	}
	put_hosts(report, options, out);
	put_recorded(report, options, out);
	put_watched(report, options, out);
	put_busy(report, options, out);
	for (size_t i = 0; i < report->columns.count; i++)
		put_event(report, options, i, out);
	put_clock_truth(report, options, out);
	put_charge(report, options, out);
	put_percent_scope(report, options, out);
	buffer_append_u8(out, '\n');
}

/* ---- below */

/* " (0.06 %: ring 12, table 3)" */
static void put_causes(struct buffer *out, const struct scope_cause *causes, size_t count,
		       uint64_t sum, uint64_t of)
{
	if (sum == 0)
		return;
	buffer_append_text(out, " (");
	put_percent(out, (double)sum, (double)of);
	for (size_t i = 0, put = 0; i < count; i++) {
		if (causes[i].samples == 0)
			continue;
		buffer_append_text(out, put++ ? ", " : ": ");
		for (size_t k = 0; k < causes[i].name.size; k++) {
			char c = ((const char *)causes[i].name.data)[k];
			text_append_safe(out, c == '_' ? " " : &c, 1);
		}
		buffer_append_u8(out, ' ');
		put_count(out, causes[i].samples);
	}
	buffer_append_u8(out, ')');
}

static void put_optional(struct buffer *out, struct scope_number number)
{
	if (number.known)
		put_count(out, number.value);
	else
		buffer_append_u8(out, '-');
}

static void put_samples_bill(struct buffer *out, const struct scope_bill *bill)
{
	struct scope_number lost = scope_lost(bill), unknown = scope_unknown(bill);
	uint64_t runs = bill->runs.known ? bill->runs.value : bill->stored.value + lost.value;
	put_optional(out, bill->stored);
	buffer_append_text(out, " samples stored, ");
	put_optional(out, lost);
	buffer_append_text(out, " lost");
	put_causes(out, bill->lost, bill->lost_count, lost.value, runs);
	buffer_append_text(out, ", ");
	put_optional(out, unknown);
	buffer_append_text(out, " of unknown code");
	put_causes(out, bill->unknown, bill->unknown_count, unknown.value, bill->stored.value);
	if (bill->filtered.known && bill->filtered.value) {
		buffer_append_text(out, ", ");
		put_count(out, bill->filtered.value);
		buffer_append_text(out, " discarded, of other processes");
	}
	if (bill->stepped.known && bill->stepped.value) {
		buffer_append_text(out, ", ");
		put_count(out, bill->stepped.value);
		buffer_append_text(out, " left out: their threads were being single-stepped");
	}
}

/* The part of the shortfall that is ours, and what is left. */
static void put_idle(struct buffer *out, const struct scope_bill *bill)
{
	if (!bill->shortfall_ns.known || !bill->idle_ns.known || !bill->idle_ns.value)
		return;
	uint64_t shortfall = bill->shortfall_ns.value;
	buffer_append_text(out, ": ");
	put_quantity(out, (double)bill->idle_ns.value, nanoseconds());
	if (bill->idle_low_ns.known && bill->idle_high_ns.known) {
		buffer_append_text(out, " (");
		put_quantity(out, (double)bill->idle_low_ns.value, nanoseconds());
		buffer_append_text(out, " to ");
		put_quantity(out, (double)bill->idle_high_ns.value, nanoseconds());
		buffer_append_u8(out, ')');
	}
	buffer_append_text(out, " interrupts of sampling itself while idle, estimated, ");
	put_quantity(
		out,
		(double)(shortfall > bill->idle_ns.value ? shortfall - bill->idle_ns.value : 0),
		nanoseconds());
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
		put_percent(out, (double)bill->running_ns.value, (double)bill->enabled_ns.value);
		buffer_append_text(out, " of the time and scaled");
	}
	if (bill->throttled.known && bill->throttled.value) {
		buffer_append_text(out, ", throttled ");
		put_count(out, bill->throttled.value);
		buffer_append_text(out, bill->throttled.value == 1 ? " time" : " times");
	}
	if (column->clock != EVENT_CLOCK)
		return;
	if (bill->shortfall_ns.known) {
		buffer_append_text(out, ", ");
		put_quantity(out, (double)bill->shortfall_ns.value, nanoseconds());
		buffer_append_text(out, " busy time without a sample");
		if (busy > 0 && bill->shortfall_ns.value) {
			buffer_append_text(out, " (");
			put_percent(out, (double)bill->shortfall_ns.value, busy);
			buffer_append_u8(out, ')');
		}
	}
	put_idle(out, bill);
	if (bill->surplus_ns.known && bill->surplus_ns.value) {
		buffer_append_text(out, ", samples for ");
		put_quantity(out, (double)bill->surplus_ns.value, nanoseconds());
		buffer_append_text(out, " more than busy time");
	}
}

static void put_part(struct buffer *out, struct scope_number number, uint64_t whole,
		     const char *sentence)
{
	if (!number.known || !number.value)
		return;
	buffer_append_text(out, ", ");
	put_count(out, number.value);
	buffer_append_text(out, " (");
	put_percent(out, (double)number.value, (double)whole);
	buffer_append_text(out, ") ");
	buffer_append_text(out, sentence);
}

/* Where branches went, as interpreting samples told. */
static void put_interpreted(const struct scope_interpreted *interpreted,
			    const struct report_text_options *options, struct buffer *out)
{
	uint64_t paths = interpreted->interpreted.value;
	uint64_t all = paths + interpreted->thinned.value + interpreted->unfit.value +
		       interpreted->lost.value;
	if (!interpreted->interpreted.known || !all)
		return;
	label(out, options, "branches");
	put_count(out, interpreted->outcomes.value);
	buffer_append_text(out, " seen by interpreting ");
	put_samples(out, paths);
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
	label(out, options, "steps");
	put_count(out, bursts->steps.value);
	buffer_append_text(out, " instructions one by one in ");
	put_count(out, bursts->bursts.value);
	buffer_append_text(out, bursts->bursts.value == 1 ? " burst" : " bursts");
	if (bursts->ns.known && bursts->steps.value) {
		buffer_append_text(out, ", ");
		put_quantity(out, (double)bursts->ns.value / (double)bursts->steps.value,
			     nanoseconds());
		buffer_append_text(out, " each");
	}
	if (bursts->ns.known && scope->duration_ns) {
		buffer_append_text(out, ": ");
		put_percent(out, (double)bursts->ns.value, (double)scope->duration_ns);
		buffer_append_text(out, " of the time");
	}
	buffer_append_u8(out, '\n');
}

static void put_remark(struct scope_number number, const struct report_text_options *options,
		       struct buffer *out, const char *sentence)
{
	if (!number.known || !number.value)
		return;
	label(out, options, "");
	put_count(out, number.value);
	buffer_append_text(out, sentence);
}

/* As "lines_time" of the bill reads: lines (time). */
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
	label(out, options, "");
	buffer_append_text(out, "left out, as it would have cost too much:");
	for (size_t i = 0; i < scope->left_out_count; i++) {
		buffer_append_text(out, i ? ", " : " ");
		put_count(out, scope->left_out[i].samples);
		put_left_out_cause(out, &scope->left_out[i]);
	}
	for (size_t i = 0; i < scope->left_out_file_count; i++)
		put_span(out, i ? ", " : "; of ", scope->left_out_files[i].name);
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
		label(out, options, first ? "bill" : "");
		first = false;
		if (report->columns.count > 1) {
			put_span(out, "", column->name);
			put_span(out, " on ", column->core_type);
			buffer_append_text(out, ": ");
		}
		put_samples_bill(out, &report->scope.bills[i]);
		put_time_bill(out, report, i);
		buffer_append_u8(out, '\n');
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
	label(out, options, "late");
	put_samples(out, scope->late_samples);
	buffer_append_text(out, " (");
	put_percent(out, (double)scope->late_samples, (double)scope->late_of);
	buffer_append_text(out, ") waited until interrupts came back on; the code before took "
				"the time: ");
	uint64_t named = 0;
	for (size_t i = 0; i < scope->late_count; i++) {
		const char *name = places_procedure(report->places, scope->late[i].procedure)->name;
		buffer_append_text(out, i ? ", " : "");
		text_append_safe(out, name, strlen(name));
		buffer_append_u8(out, ' ');
		put_count(out, scope->late[i].samples);
		named += scope->late[i].samples;
	}
	if (named < scope->late_samples) {
		buffer_append_text(out, ", others ");
		put_count(out, scope->late_samples - named);
	}
	buffer_append_u8(out, '\n');
}

/* Returns whether there was something to say. */
static bool put_broken_stacks(const struct scope *scope, const struct report_text_options *options,
			      struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer line = { 0 };
	if (!broken_stacks_text(&scope->broken_stacks, &line))
		return false;
	label(out, options, "stacks");
	buffer_append(out, line.data, line.size);
	buffer_append_u8(out, '\n');
	const char *cure = broken_stacks_cure(&scope->broken_stacks);
	if (cure) {
		label(out, options, "");
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
		label(out, options, labelled ? "" : "stacks");
		labelled = true;
		put_samples(out, scope->cut_stacks.value);
		buffer_append_text(out, " (");
		put_percent(out, (double)scope->cut_stacks.value, (double)scope->stack_samples);
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
	label(out, options, labelled ? "" : "stacks");
	put_percent(out, (double)report->without_stack[main].estimate,
		    (double)report->shown[main].estimate);
	buffer_append_text(out, " of what is shown has no stack and counts in its own procedure "
				"only\n");
}

static void put_names(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	const struct scope_resolution *r = &report->scope.resolution;
	if (r->samples == 0) /* imported text has none */
		return;
	label(out, options, "names");
	put_percent(out, (double)r->with_symbol, (double)r->samples);
	buffer_append_text(out, " of samples have their procedure's symbol");
	if (r->start_only) {
		buffer_append_text(out, ", ");
		put_percent(out, (double)r->start_only, (double)r->samples);
		buffer_append_text(out, " only its start");
	}
	uint64_t neither = r->samples - r->with_symbol - r->start_only;
	if (neither) {
		buffer_append_text(out, ", ");
		put_percent(out, (double)neither, (double)r->samples);
		buffer_append_text(out, r->start_only ? " neither" : " none");
	}
	if (r->with_image < r->samples) {
		buffer_append_text(out, "; ");
		put_percent(out, (double)(r->samples - r->with_image), (double)r->samples);
		buffer_append_text(out, " lie in no known image");
	}
	buffer_append_u8(out, '\n');
}

static void put_collector(const struct report *report, const struct report_text_options *options,
			  struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (!scope->self_cpu_ns.known && !scope->self_bytes.known)
		return;
	char text[QUANTITY_SIZE];
	label(out, options, "collector");
	if (scope->self_cpu_ns.known) {
		put_quantity(out, (double)scope->self_cpu_ns.value, nanoseconds());
		buffer_append_text(out, " of CPU time");
		if (scope->online_ns.known && scope->online_ns.value) {
			buffer_append_text(out, " (");
			put_percent(out, (double)scope->self_cpu_ns.value,
				    (double)scope->online_ns.value);
			buffer_append_text(out, " of the machine)");
		}
	} else {
		buffer_append_text(out, "- of CPU time");
	}
	struct scope_number idle = scope_idle_ns(scope, report->columns.count);
	if (idle.known && idle.value) {
		buffer_append_text(out, " and ");
		put_quantity(out, (double)idle.value, nanoseconds());
		buffer_append_text(out, " of interrupts while idle, estimated");
	}
	if (scope->self_bytes.known) {
		quantity_bytes(scope->self_bytes.value, text);
		buffer_printf(out, ", %s of memory", text);
	}
	if (scope->ring_bytes.known) {
		quantity_bytes(scope->ring_bytes.value, text);
		buffer_printf(out, ", %s read from the kernel", text);
	}
	buffer_append_u8(out, '\n');
}

static void put_notes(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	for (size_t i = 0; i < report->note_count; i++) {
		label(out, options, i ? "" : "note");
		text_append_safe(out, report->notes[i], strlen(report->notes[i]));
		buffer_append_u8(out, '\n');
	}
}

void scope_text_below(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	buffer_append_u8(out, '\n');
	put_bills(report, options, out);
	put_bursts(&report->scope, options, out);
	put_late(report, options, out);
	put_stacks(report, options, out);
	put_names(report, options, out);
	put_collector(report, options, out);
	put_notes(report, options, out);
}
