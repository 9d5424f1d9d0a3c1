#include <errno.h>

#include "analyze/cycles/cycles_private.h"
#include "base/error.h"

#define SKID_LIMIT 16 /* a larger skid in a file is taken for an error */

void cycles_note(struct cycles *cycles, const char *note)
{
	if (note[0] && cycles->note_count < CYCLES_NOTES)
		cycles->notes[cycles->note_count++] = note;
}

/* The first that fits and has samples; else the first that fits. */
static size_t first_column(const struct annotate_index *index,
			   bool (*fits)(const struct event_column *))
{
	size_t first = CYCLES_NO_COLUMN;
	for (size_t c = 0; c < index->columns->count; c++) {
		if (!fits(&index->columns->list[c]))
			continue;
		if (index->whole[c].samples)
			return c;
		if (first == CYCLES_NO_COLUMN)
			first = c;
	}
	return first;
}

static bool tells_time(const struct event_column *column)
{
	return column->sampled &&
	       (event_column_counts_cycles(column) || column->clock == EVENT_CLOCK);
}

static bool tells_executions(const struct event_column *column)
{
	return column->sampled && event_column_counts_instructions(column);
}

/* Instructions that were read with the samples of `time`. */
static size_t counted_with(const struct event_columns *columns, size_t time)
{
	for (size_t p = 0; p < columns->pair_count; p++)
		if (columns->pairs[p].cycles == time &&
		    columns->pairs[p].samples == RATIO_GROUPED &&
		    !columns->list[columns->pairs[p].instructions].sampled)
			return columns->pairs[p].instructions;
	return CYCLES_NO_COLUMN;
}

/* The perf_event_attr.precise_ip from which on addresses are exact (perf_event_open(2)): 1 stands
 * for "constant skid", a PEBS record written one instruction behind; but on AMD any of them means
 * IBS, which keeps the address of the instruction itself. */
static uint64_t least_exact(const struct cycles *cycles)
{
	const struct profile *profile = cycles->index->profile;
	struct profile_source first = { 0 };
	if (profile_table(profile, PROFILE_SOURCE)->count)
		first = profile_source(profile, 0);
	return span_equal(first.cpu_vendor, span_of_text("AuthenticAMD")) ? 1 : 2;
}

/*
 * In order, the address of a sample is of the instruction that waits to be issued, which is what
 * it is charged to. Out of order it is the one behind the oldest that has not retired
 * (docs/methods.md, "Skid"), unless the hardware says which one it was.
 */
static void choose_skid(const struct cycles *cycles, const struct event_column *time,
			unsigned *skid, bool *assumed)
{
	bool in_order = cycles->choice.pipeline->in_order;
	*skid = 0;
	*assumed = false;
	if (time->skid && time->skid <= SKID_LIMIT) {
		*skid = (unsigned)(time->skid - 1);
	} else if (time->precise < least_exact(cycles)) {
		*skid = in_order ? 0 : 1;
		*assumed = true;
	}
}

unsigned cycles_skid_of(const struct cycles *cycles, const struct event_column *column)
{
	const struct event_columns *columns = cycles->index->columns;
	unsigned skid;
	bool assumed;
	for (size_t c = 0; c < columns->count && !column->sampled; c++)
		if (columns->list[c].sampled && span_equal(columns->list[c].name, column->leader))
			column = &columns->list[c];
	if (!tells_time(column))
		return 0;
	choose_skid(cycles, column, &skid, &assumed);
	return skid;
}

static void note_limits(struct cycles *cycles)
{
	const struct cycles_events *events = &cycles->events;
	const struct event_column *list = cycles->index->columns->list;
	bool in_order = cycles->choice.pipeline->in_order;
	if (events->time == CYCLES_NO_COLUMN)
		cycles_note(cycles, "no event says where time went, so cycles are unknown; record "
				    "cycles or cpu-clock too");
	if (events->model == FREQUENCY_EXECUTIONS && !in_order &&
	    list[events->executions].precise < least_exact(cycles))
		cycles_note(cycles,
			    "instructions were not sampled precisely: out of order their "
			    "samples lean to where time is spent, and executions with them");
	if (events->model == FREQUENCY_CYCLES_OUT_OF_ORDER)
		cycles_note(
			cycles,
			events->instructions == CYCLES_NO_COLUMN
				? "on an out-of-order processor samples of time alone give "
				  "executions and costs relative to the rest of the procedure, no "
				  "CPI; sampled instructions would give both"
				: "on an out-of-order processor executions inside a procedure are "
				  "estimated from samples of time; sampled instructions would be "
				  "surer");
	if (cycles->events.scale == CYCLES_BY_CLOCK)
		cycles_note(cycles, "executions are divided by the processor's GHz, which a clock "
				    "does not tell");
}

int cycles_choose_events(struct cycles *cycles, struct error *err)
{
	const struct event_columns *columns = cycles->index->columns;
	struct cycles_events *events = &cycles->events;
	bool in_order = cycles->choice.pipeline->in_order;
	*events = (struct cycles_events){
		.time = first_column(cycles->index, tells_time),
		.executions = first_column(cycles->index, tells_executions),
		.instructions = CYCLES_NO_COLUMN,
	};
	if (events->time == CYCLES_NO_COLUMN && events->executions == CYCLES_NO_COLUMN)
		return error_set(err, -ENOENT,
				 "no event was sampled that says where time went (cycles, "
				 "cpu-clock) or what ran (instructions)");
	if (events->time != CYCLES_NO_COLUMN) {
		const struct event_column *time = &columns->list[events->time];
		events->time_is_clock = time->clock == EVENT_CLOCK;
		events->instructions = counted_with(columns, events->time);
		choose_skid(cycles, time, &events->skid, &events->skid_assumed);
	}
	if (events->executions != CYCLES_NO_COLUMN) {
		events->model = FREQUENCY_EXECUTIONS;
		events->scale = CYCLES_ABSOLUTE;
	} else if (in_order) {
		events->model = FREQUENCY_CYCLES_IN_ORDER;
		events->scale = events->time_is_clock ? CYCLES_BY_CLOCK : CYCLES_ABSOLUTE;
	} else {
		events->model = FREQUENCY_CYCLES_OUT_OF_ORDER;
		events->scale = events->instructions == CYCLES_NO_COLUMN ? CYCLES_RELATIVE
									 : CYCLES_ABSOLUTE;
	}
	note_limits(cycles);
	return 0;
}
