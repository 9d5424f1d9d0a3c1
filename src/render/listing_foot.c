/*
 * Below a listing: what is missing of a procedure's executions, and what the columns of
 * executions and cycles mean and cannot tell.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/cycles/cycles_rank.h"
#include "analyze/figures/interval.h"
#include "base/buffer.h"
#include "base/sum.h"
#include "render/listing_parts.h"
#include "render/quantity.h"

static void print_confidence(const struct procedure_cycles *procedure, struct buffer *out)
{
	double samples = procedure->whole.samples;
	if (samples > 0 && samples < INTERVAL_FEW_SAMPLES) {
		buffer_printf(out, "confidence in executions: its %.0f sample%s too few to say\n",
			      samples, samples < 1.5 ? " is" : "s are");
		return;
	}
	struct cycles_surety surety = cycles_surety(procedure);
	double unknown = 100 - surety.high - surety.medium - surety.low;
	buffer_printf(out, "confidence in executions: high %.0f %%, medium %.0f %%, low %.0f %%",
		      surety.high, surety.medium, surety.low);
	if (unknown >= 0.5)
		buffer_printf(out, ", unknown %.0f %%", unknown);
	buffer_printf(out, " of its %s\n",
		      isnan(procedure->whole.cycles) ? "instructions" : "time");
}

static void print_missing_edges(const struct cfg *cfg, struct buffer *out)
{
	size_t unknown = 0;
	const struct cfg_jump *first = NULL;
	for (size_t i = 0; i < cfg->jump_count; i++) {
		if (cfg->jumps[i].fate != CFG_JUMP_UNKNOWN)
			continue;
		if (unknown++ == 0)
			first = &cfg->jumps[i];
	}
	if (!first)
		return;
	buffer_printf(out,
		      "of %zu of its %zu indirect jumps not all targets are known (at %" PRIx64
		      ": %s), so loops and executions may be wrong there\n",
		      unknown, cfg->jump_count, cfg->instructions[first->instruction].vaddr,
		      cfg_missing_text(first->missing));
}

/* How many branches that were seen the executions rest on, besides or instead of samples. */
static void print_evidence(const struct procedure_cycles *procedure, struct buffer *out)
{
	char seen[QUANTITY_SIZE], astray[QUANTITY_SIZE];
	double sum = 0;
	if (procedure->model == FREQUENCY_COUNTS)
		buffer_append_text(out, "executions here are from branch stacks, not samples\n");
	for (size_t e = 0; procedure->evidence && e < procedure->cfg.graph.edge_count; e++)
		sum += procedure->evidence[e];
	if (!(sum > 0))
		return;
	quantity_count(sum_of_real(sum), seen);
	buffer_printf(out, "executions here rest on %s branches interpreted or stepped over too",
		      seen);
	if (procedure->evidence_unmatched) {
		quantity_count(procedure->evidence_unmatched, astray);
		buffer_printf(out, "; %s more fit no edge", astray);
	}
	buffer_append_u8(out, '\n');
}

static void print_elsewhere(const struct procedure_cycles *procedure, struct buffer *out)
{
	char count[QUANTITY_SIZE], percent[QUANTITY_SIZE];
	double all = procedure->elsewhere_samples + procedure->whole.samples;
	if (!(procedure->elsewhere_samples > 0))
		return;
	quantity_count(sum_of_real(procedure->elsewhere_samples), count);
	quantity_percent(procedure->elsewhere_samples, all, percent);
	buffer_printf(out,
		      "%s sample%s (%s) at addresses where no instruction starts: in no block\n",
		      count, procedure->elsewhere_samples == 1 ? "" : "s", percent);
}

void listing_print_remarks(const struct listing *listing)
{
	const struct procedure_cycles *procedure = listing->cycles.procedure;
	struct buffer *out = listing->out;
	if (!procedure)
		return;
	buffer_append_u8(out, '\n');
	cycle_columns_print_letters(&listing->cycles, out);
	print_confidence(procedure, out);
	print_evidence(procedure, out);
	print_missing_edges(&procedure->cfg, out);
	print_elsewhere(procedure, out);
}

static void put_event(const struct cycles *cycles, size_t column, struct buffer *out)
{
	const struct event_column *event = &cycles_index(cycles)->columns->list[column];
	text_append_safe(out, event->name.data, event->name.size);
}

static void print_sources(const struct cycles *cycles, struct buffer *out)
{
	static const char *const models[] = {
		[FREQUENCY_CYCLES_IN_ORDER] = "those that do not wait tell executions (in order)",
		[FREQUENCY_EXECUTIONS] = "which falls on each instruction executed alike",
		[FREQUENCY_CYCLES_OUT_OF_ORDER] =
			"pooled over blocks, as out of order no instruction tells by itself",
	};
	const struct cycles_events *events = cycles_events(cycles);
	size_t from = events->model == FREQUENCY_EXECUTIONS ? events->executions : events->time;
	buffer_append_text(out, "executed: from samples of ");
	put_event(cycles, from, out);
	buffer_printf(out, ", %s", models[events->model]);
	if (events->instructions != CYCLES_NO_COLUMN) {
		buffer_append_text(out, "; their sum from ");
		put_event(cycles, events->instructions, out);
	}
	buffer_append_text(out, "; confidence: = high, ~ medium, ? low\n");
}

/* What a cost is, in the unit that the column has over procedures of that scale. */
static void print_cost(const struct cycles *cycles, enum cycles_scale scale, struct buffer *out)
{
	const struct cycles_events *events = cycles_events(cycles);
	buffer_printf(out, "%s: ", cycles_unit_of(events, scale));
	put_event(cycles, events->time, out);
	if (scale == CYCLES_BY_CLOCK)
		buffer_append_text(out, " in cycles of the processor's table");
	buffer_append_text(out, " for each time an instruction was executed");
	if (events->skid == 1)
		buffer_append_text(out,
				   "; charged to the instruction executed before the one where a "
				   "sample is");
	else if (events->skid)
		buffer_printf(out,
			      "; charged to the instruction executed %u before the one where a "
			      "sample is",
			      events->skid);
	if (events->skid && events->skid_assumed)
		buffer_append_text(out, " (usual of such an event; the profile does not say)");
	buffer_append_u8(out, '\n');
}

static void print_scales(const struct cycles *cycles, unsigned scales, struct buffer *out)
{
	bool has_time = cycles_events(cycles)->time != CYCLES_NO_COLUMN;
	if (scales & 1U << CYCLES_RELATIVE)
		buffer_append_text(out,
				   "relative: executions count the procedure's most executed block "
				   "as 1, and cost its average instruction; neither compares with "
				   "another procedure's\n");
	for (unsigned scale = 0; has_time && scales >> scale; scale++)
		if (scales >> scale & 1)
			print_cost(cycles, scale, out);
}

static void print_pipeline(const struct pipeline_choice *choice, unsigned scales,
			   struct buffer *out)
{
	static const char *const fits[] = {
		[PIPELINE_FITS] = "a table of this processor",
		[PIPELINE_KIND_KNOWN] = "a stand-in: there is no table of this processor",
		[PIPELINE_GUESSED] = "a guess: the profile does not tell the processor",
	};
	if (choice->pipeline->in_order)
		buffer_append_text(out, "dual: issues in the cycle of the instruction ahead\n");
	for (unsigned scale = 0; scales >> scale; scale++)
		if (scales >> scale & 1)
			buffer_printf(out, "%s %s (%s, %s)\n",
				      scale == CYCLES_RELATIVE
					      ? "stalls: what was waited however "
						"long a cycle is, at least, by"
					      : "best case: nothing goes wrong, on",
				      choice->pipeline->name,
				      choice->pipeline->in_order ? "in order" : "out of order",
				      fits[choice->fit]);
}

void listing_print_foot(const struct cycles *cycles, unsigned scales, struct buffer *out)
{
	const char *const *notes;
	size_t count = cycles_notes(cycles, &notes);
	buffer_append_u8(out, '\n');
	print_sources(cycles, out);
	print_scales(cycles, scales, out);
	print_pipeline(cycles_pipeline(cycles), scales, out);
	for (size_t i = 0; i < count; i++)
		buffer_printf(out, "note: %s\n", notes[i]);
}
