#include "render/summary_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/names/fold_name.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "render/quantity.h"

#define NAME_WIDTH	  40
#define LABEL_WIDTH	  30
#define LEAST_SHOWN	  0.05 /* percent: what reads as 0.0 */
#define UNEXPLAINED_SHARE 0.25 /* of a stall: that much without a cause is said */

static void append_name(struct buffer *out, const char *name)
{
	text_append_safe(out, name, strlen(name));
}

/* --- the head --- */

static void print_event(const struct summary *summary, const struct cycles *cycles,
			struct buffer *out)
{
	const struct event_column *time =
		&cycles_index(cycles)->columns->list[cycles_events(cycles)->time];
	char text[QUANTITY_SIZE];
	text_append_safe(out, time->name.data, time->name.size);
	quantity_count((uint64_t)summary->samples, text);
	buffer_printf(out, ": %s sample%s, ", text, summary->samples == 1 ? "" : "s");
	quantity_describe(summary->total, time->unit, text);
	buffer_append_text(out, text);
	if (!span_equal(time->unit, span_of_text("ns"))) {
		buffer_append_u8(out, ' ');
		text_append_safe(out, time->unit.data, time->unit.size);
	}
	quantity_percent(summary->total, summary->whole_profile, text);
	buffer_printf(out, ", %s of all\n", text);
}

static void print_head(const struct summary *summary, const struct cycles *cycles,
		       const struct summary_text_options *options, struct buffer *out)
{
	append_name(out, options->title);
	if (options->subject) {
		buffer_append_text(out, ": ");
		append_name(out, options->subject);
	}
	buffer_append_text(out, "\n");
	print_event(summary, cycles, out);
	const struct pipeline *pipeline = cycles_pipeline(cycles)->pipeline;
	buffer_printf(out, "processor: %s, %s\n", pipeline->name,
		      pipeline->in_order ? "in order" : "out of order");
	buffer_printf(out, "procedures: %zu", summary->procedures);
	if (summary->unknown_procedures)
		buffer_printf(out, ", and %zu whose code is not known",
			      summary->unknown_procedures);
	buffer_append_text(out, "\n\n");
}

/* --- the table --- */

static double percent(const struct summary *summary, double cycles)
{
	double value = summary->total > 0 ? 100 * cycles / summary->total : 0;
	return fabs(value) < LEAST_SHOWN ? 0 : value; /* no "-0.0" */
}

/* Executions come from branches too: where those are of another program than the samples, more ran
 * than all cycles have time for, and the excess counts as gain. Shares beyond are not shown. */
#define MOST_PERCENT 1000

static bool is_beyond(const struct summary *summary, double cycles)
{
	return fabs(percent(summary, cycles)) > MOST_PERCENT;
}

static void print_percent(const struct summary *summary, double cycles, int width,
			  struct buffer *out)
{
	if (is_beyond(summary, cycles))
		buffer_printf(out, "%*s", width + 2, "-");
	else
		buffer_printf(out, "%*.1f %%", width, percent(summary, cycles));
}

static void print_row(const struct summary *summary, const char *label, double cycles,
		      struct buffer *out)
{
	buffer_printf(out, "  %-*s ", LABEL_WIDTH, label);
	print_percent(summary, cycles, 18, out);
	buffer_append_u8(out, '\n');
}

static void print_sum(const struct summary *summary, const char *label, double cycles,
		      struct buffer *out)
{
	buffer_printf(out, "%-*s ", LABEL_WIDTH + 2, label);
	print_percent(summary, cycles, 18, out);
	buffer_append_u8(out, '\n');
}

/* Whether of no cycle is known what it was for: then the causes are not 0, but not known either. */
static bool nothing_known(const struct summary *summary)
{
	double known = summary->total - summary->unknown_cycles - summary->late_cycles;
	return summary->unknown_cycles > 0 && percent(summary, known) == 0;
}

static void print_causes(const struct summary *summary, bool in_order, struct buffer *out)
{
	for (enum dynamic_cause cause = 0; cause < DYNAMIC_CAUSES; cause++) {
		/* on in-order processors nearly all of it is in the static causes, by register */
		if (cause == DYNAMIC_CHAIN && in_order && summary->dynamics[cause].high == 0)
			continue;
		buffer_printf(out, "  %-*s ", LABEL_WIDTH, dynamic_cause_text(cause));
		print_percent(summary, summary->dynamics[cause].low, 5, out);
		buffer_append_text(out, " to ");
		print_percent(summary, summary->dynamics[cause].high, 6, out);
		buffer_append_u8(out, '\n');
	}
	print_row(summary, "unexplained stall", summary->unexplained_stall, out);
	print_row(summary, "unexplained gain", summary->unexplained_gain, out);
	print_sum(summary, "subtotal dynamic", summary_dynamic_cycles(summary), out);
	buffer_append_text(out, "\n");
	for (enum static_cause cause = STATIC_NONE + 1; in_order && cause < STATIC_CAUSES; cause++)
		print_row(summary, static_cause_text(cause), summary->statics[cause], out);
	if (in_order) {
		print_sum(summary, "subtotal static", summary_static_cycles(summary), out);
		buffer_append_text(out, "\n");
	}
	print_sum(summary, summary->relative_procedures ? "total stall, at least" : "total stall",
		  summary_dynamic_cycles(summary) + summary_static_cycles(summary), out);
	print_sum(summary, summary->relative_procedures ? "execution, at most" : "execution",
		  summary->issue_cycles, out);
	print_sum(summary, "net sampling error", summary->noise_cycles, out);
}

static void print_table(const struct summary *summary, bool in_order, struct buffer *out)
{
	if (!nothing_known(summary))
		print_causes(summary, in_order, out);
	if (summary->late_cycles > 0)
		print_sum(summary, "delayed interrupts", summary->late_cycles, out);
	if (summary->unknown_cycles > 0)
		print_sum(summary, "code or executions not known", summary->unknown_cycles, out);
	print_sum(summary, "total tallied", summary_tallied(summary), out);
	if (is_beyond(summary, summary->issue_cycles) ||
	    is_beyond(summary, summary->unexplained_gain))
		buffer_append_text(out,
				   "\nthe profile contradicts itself: by its branches more ran "
				   "than its cycles have time for\n");
	if (summary->idle_cycles > 0) {
		char text[QUANTITY_SIZE];
		quantity_percent(summary->idle_cycles, summary->idle_cycles + summary->total, text);
		buffer_printf(out, "\nidle, left out: %s of the time\n", text);
	}
}

/* --- the worst stalls --- */

static void put_causes(const struct summary_stall *stall, struct buffer *out)
{
	for (uint32_t c = 0; c < stall->culprit_count; c++) {
		const struct summary_culprit *culprit = &stall->culprits[c];
		buffer_printf(out, "%s%s", c ? ", " : "", dynamic_cause_text(culprit->cause));
		if (culprit->vaddr && culprit->vaddr != stall->vaddr)
			buffer_printf(out, " (0x%" PRIx64 ")", culprit->vaddr);
	}
	if (stall->unexplained_cycles > UNEXPLAINED_SHARE * stall->cycles)
		buffer_printf(out, "%sunexplained", stall->culprit_count ? ", " : "");
}

static void print_stall(const struct summary *summary, const struct annotate_index *index,
			const struct summary_stall *stall, struct text_table *table)
{
	const struct annotate_procedure *procedure = &index->procedures[stall->position];
	CLEANUP(buffer_release) struct buffer name = { 0 };
	CLEANUP(buffer_release) struct buffer causes = { 0 };
	fold_name(procedure->procedure->name, NAME_WIDTH, &name);
	put_causes(stall, &causes);
	table->failed |= buffer_failed(&name) || buffer_failed(&causes);
	text_table_add(table, TEXT_PLAIN, "%.1f %%", percent(summary, stall->cycles));
	if (procedure->image_name[0])
		text_table_add(table, TEXT_PLAIN, "%s", procedure->image_name);
	else
		text_table_add(table, TEXT_PLAIN, "-");
	text_table_add(table, TEXT_PLAIN, "%s", buffer_text(&name));
	text_table_add(table, TEXT_PLAIN, "0x%" PRIx64, stall->vaddr);
	if (stall->file)
		text_table_add(table, TEXT_PLAIN, "%s:%" PRIu32, basename(stall->file),
			       stall->line);
	else
		text_table_add(table, TEXT_PLAIN, "-");
	text_table_add(table, TEXT_PLAIN, "%s", stall->code[0] ? stall->code : "-");
	text_table_add(table, TEXT_PLAIN, "%s", buffer_text(&causes));
}

static void print_worst(const struct summary *summary, const struct annotate_index *index,
			enum text_colour colour, struct buffer *out)
{
	static const enum text_align align[] = { TEXT_RIGHT, TEXT_LEFT, TEXT_LEFT, TEXT_RIGHT,
						 TEXT_LEFT,  TEXT_LEFT, TEXT_LEFT };
	static const char *const heads[] = { "stall",  "image",	      "procedure", "address",
					     "source", "instruction", "causes" };
	struct text_table table;
	if (!summary->worst_count)
		return;
	buffer_append_text(out, "\nthe worst stalls\n");
	text_table_init(&table, align, sizeof(align) / sizeof(align[0]));
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		text_table_add(&table, TEXT_BOLD, "%s", heads[i]);
	for (size_t i = 0; i < summary->worst_count; i++)
		print_stall(summary, index, &summary->worst[i], &table);
	text_table_print(&table, colour, out);
	text_table_release(&table);
}

void summary_text(const struct summary *summary, const struct cycles *cycles,
		  const struct summary_text_options *options, struct buffer *out)
{
	print_head(summary, cycles, options, out);
	print_table(summary, cycles_pipeline(cycles)->pipeline->in_order, out);
	print_worst(summary, cycles_index(cycles), options->colour, out);
}
