#include "render/scope_text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "analyze/report/report.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/sum.h"
#include "render/charge_text.h"
#include "render/quantity.h"
#include "render/scope_text_parts.h"

#define LABEL_WIDTH 11

void scope_put_label(struct buffer *out, const struct report_text_options *options,
		     const char *name)
{
	text_append_style(out, options->colour, *name ? TEXT_BOLD : TEXT_PLAIN);
	buffer_printf(out, "%-*s", LABEL_WIDTH, name);
	text_append_style(out, options->colour, TEXT_PLAIN);
}

void scope_put_span(struct buffer *out, const char *before, struct span text)
{
	if (!text.size)
		return;
	buffer_append_text(out, before);
	text_append_safe(out, text.data, text.size);
}

void scope_put_count(struct buffer *out, uint64_t count)
{
	char text[QUANTITY_SIZE];
	quantity_count(count, text);
	buffer_append_text(out, sum_passed(count) ? "-" : text);
}

void scope_put_samples(struct buffer *out, uint64_t count)
{
	scope_put_count(out, count);
	buffer_append_text(out, count == 1 ? " sample" : " samples");
}

void scope_put_percent(struct buffer *out, double part, double whole)
{
	char text[QUANTITY_SIZE];
	quantity_percent(part, whole, text);
	buffer_append_text(out, text);
}

void scope_put_part(struct buffer *out, uint64_t part, uint64_t whole)
{
	bool known = part <= whole && !sum_passed(whole);
	scope_put_percent(out, (double)part, known ? (double)whole : 0);
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

void scope_put_ns(struct buffer *out, double ns)
{
	put_quantity(out, ns, nanoseconds());
}

static void put_machine(struct buffer *out, const struct profile_source *source)
{
	bool bare = source->kernel.size && *(const char *)source->kernel.data >= '0' &&
		    *(const char *)source->kernel.data <= '9';
	scope_put_span(out, bare ? ": Linux " : ": ", source->kernel);
	scope_put_span(out, source->kernel.size ? " " : ": ", source->machine);
	scope_put_span(out, ", ", source->cpu_name);
	if (source->cpus)
		buffer_printf(out, ", %" PRIu64 " CPU%s", source->cpus,
			      source->cpus == 1 ? "" : "s");
	scope_put_span(out, ", in a VM: ", source->hypervisor);
}

static void put_hosts(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (scope->host_count == 0)
		return;
	scope_put_label(out, options, scope->host_count == 1 ? "host" : "hosts");
	if (scope->host_count == 1) {
		scope_put_span(out, "", scope->hosts[0]);
		if (scope->one_machine)
			put_machine(out, &scope->first);
	} else {
		buffer_printf(out, "%zu: ", scope->host_count);
		for (size_t i = 0; i < scope->host_count; i++) {
			if (i == 8) {
				buffer_printf(out, ", ... %zu more", scope->host_count - i);
				break;
			}
			scope_put_span(out, i ? ", " : "", scope->hosts[i]);
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
	if (!scope->has_source ||
	    (scope->start_ns == 0 && scope->duration_ns == 0 && !scope->duration_passed))
		return;
	scope_put_label(out, options, "recorded");
	if (scope->start_ns) {
		put_date(out, scope->start_ns);
		buffer_append_text(out, ", ");
	}
	if (scope->duration_passed)
		buffer_append_u8(out, '-');
	else
		scope_put_ns(out, (double)scope->duration_ns);
	if (scope->epochs > 1) {
		buffer_printf(out, " in %zu recordings", scope->epochs);
		if (scope->end_ns > scope->start_ns) {
			buffer_append_text(out, " until ");
			put_date(out, scope->end_ns);
		}
	}
	if (scope->one_command)
		scope_put_span(out, ": ", scope->first.command);
	buffer_append_u8(out, '\n');
	if (scope->cut_off.known && scope->cut_off.value) {
		scope_put_label(out, options, "");
		buffer_append_text(out, scope->epochs > 1
						? "some were cut off: what came after their last "
						  "merge is lost\n"
						: "cut off: what came after its last merge is "
						  "lost\n");
	}
	if (scope->unsampled_ns.known && scope->unsampled_ns.value) {
		scope_put_label(out, options, "");
		buffer_append_text(out, "not sampled for about ");
		scope_put_ns(out, (double)scope->unsampled_ns.value);
		buffer_append_text(out, scope->epochs > 1 ? " between them (estimated)\n"
							  : " before it (estimated)\n");
	}
}

static void put_cpu_time(struct buffer *out, struct scope_number user, struct scope_number system,
			 uint64_t during_ns)
{
	scope_put_ns(out, (double)user.value);
	buffer_append_text(out, " user, ");
	scope_put_ns(out, (double)system.value);
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
		scope_put_label(out, options, scope->epochs > 1 ? "commands" : "command");
		scope_put_ns(out, (double)scope->command_elapsed_ns.value);
		buffer_append_text(out, " elapsed, ");
		put_cpu_time(out, scope->command_user_ns, scope->command_system_ns,
			     scope->command_elapsed_ns.value);
	} else if (scope->sampled_user_ns.known) {
		scope_put_label(out, options, "processes");
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
	scope_put_label(out, options, scope->host_count > 1 ? "machines" : "machine");
	buffer_printf(out, "%.*f CPU-seconds busy", busy < 1e9 ? 3 : 2, busy / 1e9);
	double mean = scope_mean_busy_cpus(scope), ratio = scope_busy_ratio(scope);
	if (scope->duration_ns && scope->cpus) {
		buffer_append_text(out, ": ");
		if (mean < 0)
			buffer_append_u8(out, '-');
		else
			buffer_printf(out, "%.2f", mean);
		buffer_printf(out, " of %" PRIu64 " CPUs on average", scope->cpus);
	}
	if (scope->host_count > 1)
		buffer_append_text(out, " of a host");
	if (scope->online_ns.known && scope->online_ns.value) {
		buffer_append_text(out, ", ");
		scope_put_percent(out, ratio, ratio < 0 ? 0 : 1);
		buffer_append_text(out, scope->host_count > 1 ? " of their time" : " of its time");
	}
	if (scope->steal_ns.known && scope->steal_ns.value > scope->busy_ns.value / 100) {
		buffer_append_text(out, "; the hypervisor took ");
		scope_put_ns(out, (double)scope->steal_ns.value);
	}
	if (scope->offline_ns.known && scope->offline_ns.value) {
		buffer_append_text(out, "; CPUs were offline for ");
		scope_put_ns(out, (double)scope->offline_ns.value);
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
		scope_put_ns(out, (double)period);
		return;
	}
	if (column->scale) { /* what came in parts of its unit is sampled in such */
		buffer_printf(out, "%.6g ", (double)period / event_column_divisor(column));
		scope_put_span(out, "", column->unit);
		return;
	}
	scope_put_count(out, period);
}

static void put_period(struct buffer *out, const struct event_column *column)
{
	if (column->origin != ORIGIN_MEASURED && column->policy == PERIOD_NONE)
		return;
	if (!column->sampled) {
		scope_put_span(out, ", read with every sample of ", column->leader);
		if (!column->leader.size)
			buffer_append_text(out, ", without samples of its own");
		return;
	}
	if (column->policy == PERIOD_NONE || column->period_most == 0)
		return;
	if (column->policy == PERIOD_FREQUENCY) {
		buffer_append_text(out, ", sampled at ");
		scope_put_count(out, column->period_least);
		if (column->period_most > column->period_least) {
			buffer_append_text(out, " to ");
			scope_put_count(out, column->period_most);
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

/* How much of the CPU time of what was sampled a clock's samples stand for. */
static void put_share_of_time(struct buffer *out, const struct scope *scope,
			      const struct event_column *column, uint64_t estimate)
{
	uint64_t of = scope->busy_ns.known ? scope->busy_ns.value : 0;
	const char *whose = " of the machine's ", *what = "busy time";
	bool alike = scope->epochs <= 1 || scope->one_command; /* all have these times, or none */
	if (alike && scope->sampled_user_ns.known && scope->sampled_system_ns.known) {
		bool user = !(column->exclude & EXCLUDE_USER);
		bool kernel = !(column->exclude & EXCLUDE_KERNEL);
		of = sum_u64(user ? scope->sampled_user_ns.value : 0,
			     kernel ? scope->sampled_system_ns.value : 0);
		whose = scope->command_elapsed_ns.known ? " of the command's "
							: " of the processes' ";
		what = user && kernel ? "CPU time" : user ? "user time" : "system time";
	}
	if (!of || sum_passed(of))
		return;
	buffer_append_text(out, ", ");
	scope_put_percent(out, (double)estimate, (double)of);
	buffer_printf(out, "%s%s", whose, what);
}

void scope_text_event(const struct report *report, size_t at, struct buffer *out)
{
	const struct event_column *column = &report->columns.list[at];
	const struct cell *whole = &report->whole[at];
	scope_put_span(out, "", column->name);
	scope_put_span(out, " on ", column->core_type);
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
		scope_put_count(out, whole->samples);
		buffer_append_text(out, whole->samples == 1 ? " sample, " : " samples, ");
	}
	put_quantity(out, (double)whole->estimate / event_column_divisor(column), column->unit);
	if (column->clock == EVENT_CLOCK) {
		if (report->columns.count == 1 && column->sampled)
			put_share_of_time(out, &report->scope, column, whole->estimate);
	} else if (column->unit.size && !span_equal(column->unit, column->name) &&
		   !counts_ns(column)) {
		scope_put_span(out, " ", column->unit);
	}
}

static void put_event(const struct report *report, const struct report_text_options *options,
		      size_t at, struct buffer *out)
{
	scope_put_label(out, options, at ? "" : report->columns.count > 1 ? "events" : "event");
	scope_text_event(report, at, out);
	buffer_append_u8(out, '\n');
}

static void put_clock_truth(const struct report *report, const struct report_text_options *options,
			    struct buffer *out)
{
	for (size_t i = 0; i < report->columns.count; i++) {
		const struct event_column *column = &report->columns.list[i];
		if (column->clock != EVENT_CLOCK || column->origin == ORIGIN_IMPORTED ||
		    !column->sampled)
			continue;
		scope_put_label(out, options, "");
		scope_put_span(out, "", column->name);
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
	scope_put_label(out, options, report->charge ? "lines" : "addresses");
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
	scope_put_label(out, options, "percent");
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
		scope_put_part(out, report->shown[main].estimate, whole->estimate);
	}
	buffer_append_u8(out, '\n');
}

void scope_text_above(const struct report *report, const struct report_text_options *options,
		      struct buffer *out)
{
	if (options->title) {
		scope_put_label(out, options, "profile");
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
