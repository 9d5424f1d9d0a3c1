#include "render/live_text.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/buffer.h"
#include "base/visible_text.h"
#include "render/bill_text.h"
#include "render/scope_text.h"
#include "render/scope_text_parts.h"

#define EVENTS_MOST 3 /* described above the rows: a screen is short */

static void put_label(struct buffer *out, const struct live_text_options *options, const char *name)
{
	const struct report_text_options look = { .colour = options->colour };
	scope_put_label(out, &look, name);
}

/* Of the machine, when it is the machine that is watched. */
static void put_busy(const struct report *report, const struct live_text_options *options,
		     struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (scope->busy_ns.known && options->ns) {
		double busy = (double)scope->busy_ns.value / (double)options->ns;
		double most = (double)scope->cpus;
		/* busy time comes in the kernel's ticks, and may be a little more than there is */
		buffer_printf(out, "%.2f of %" PRIu64 " CPU%s busy, ", busy > most ? most : busy,
			      scope->cpus, scope->cpus == 1 ? "" : "s");
	}
	scope_put_ns(out, (double)options->ns);
	buffer_append_text(out, " of ");
	text_append_safe(out, options->source, strlen(options->source));
	if (*options->state)
		buffer_append_text(out, ", ");
	text_append_safe(out, options->state, strlen(options->state));
	buffer_append_u8(out, '\n');
}

static void put_events(const struct report *report, const struct live_text_options *options,
		       struct buffer *out)
{
	size_t count = report->columns.count;
	for (size_t i = 0; i < count && i < EVENTS_MOST; i++) {
		put_label(out, options, i ? "" : count > 1 ? "events" : "event");
		scope_text_event(report, i, out);
		if (i == EVENTS_MOST - 1 && count > EVENTS_MOST)
			buffer_printf(out, "; %zu more", count - EVENTS_MOST);
		buffer_append_u8(out, '\n');
	}
	for (size_t i = 0; i < count; i++) {
		if (report->columns.list[i].clock != EVENT_CLOCK ||
		    !report->columns.list[i].sampled)
			continue;
		put_label(out, options, "");
		buffer_append_text(out,
				   "a clock counts time, not cycles: no CPI; samples fall some "
				   "instructions late\n");
		return;
	}
}

static void put_bill(const struct report *report, const struct live_text_options *options,
		     struct buffer *out)
{
	if (!report->columns.count)
		return;
	put_label(out, options, "bill");
	bill_text_samples(&report->scope.bills[report->sort_column], out);
	buffer_append_u8(out, '\n');
}

static void put_cost(const struct report *report, const struct live_text_options *options,
		     struct buffer *out)
{
	const struct scope *scope = &report->scope;
	if (!options->ns || (!scope->self_cpu_ns.known && !scope->interrupt_ns.known))
		return;
	put_label(out, options, "cost");
	buffer_append_text(out, "of one CPU: ");
	if (scope->self_cpu_ns.known)
		buffer_printf(out, "culprit itself %.1f %%",
			      100 * (double)scope->self_cpu_ns.value / (double)options->ns);
	if (scope->interrupt_ns.known)
		buffer_printf(out, "%sinterrupts %.1f %%, estimated",
			      scope->self_cpu_ns.known ? ", " : "",
			      100 * (double)scope->interrupt_ns.value / (double)options->ns);
	buffer_append_u8(out, '\n');
}

void live_text(const struct report *report, const struct live_text_options *options,
	       struct buffer *out)
{
	put_label(out, options, "on-CPU");
	put_busy(report, options, out);
	put_events(report, options, out);
	put_bill(report, options, out);
	put_cost(report, options, out);
}
