#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/figures/count_test.h"
#include "analyze/cycles/cycles_private.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"

void procedure_cycles_free(struct procedure_cycles *procedure)
{
	if (!procedure)
		return;
	frequencies_release(&procedure->frequencies);
	flow_loops_release(&procedure->loops);
	cfg_release(&procedure->cfg);
	free(procedure->effects);
	free(procedure->schedule);
	free(procedure->bounds);
	free(procedure->samples);
	free(procedure->instructions);
	free(procedure->blocks);
	free(procedure->loop_costs);
	free(procedure->loop_bounds);
	free(procedure->evidence);
	free(procedure);
}

void procedure_cycles_freep(struct procedure_cycles **procedure)
{
	procedure_cycles_free(*procedure);
}

bool procedure_cycles_are_relative(const struct procedure_cycles *procedure)
{
	return procedure->scale == CYCLES_RELATIVE || procedure->scale == CYCLES_PROGRAM;
}

static int build_graph(struct cycles *cycles, struct procedure_cycles *procedure,
		       struct decoder **decoder, struct error *err)
{
	const struct procedure *given = procedure->procedure->procedure;
	int ret;
	if (!given->extent_known)
		return error_set(err, -ENODATA, "where it begins and ends is not known");
	const struct code_space *space = cycles_code(cycles, given->image, decoder, err, &ret);
	if (!space)
		return ret;
	procedure->isa = space->isa;
	ret = cfg_build(space, *decoder, given->first, &procedure->cfg, err);
	if (ret < 0)
		return ret == -ENOENT ? -ENODATA : ret;
	for (uint32_t p = 0; p < procedure->cfg.part_count; p++) {
		const struct annotate_procedure *part =
			cycles_procedure_at(cycles, given->image, procedure->cfg.parts[p].first);
		if (part && part != procedure->procedure)
			procedure->cold = part;
	}
	CLEANUP(flow_search_release) struct flow_search search = { 0 };
	ret = flow_search_run(&procedure->cfg.graph, &search);
	if (ret == 0)
		ret = flow_loops_find(&procedure->cfg.graph, &search, &procedure->loops);
	return ret < 0 ? error_set(err, ret, "out of memory for its loops") : 0;
}

/* Adds up branches that were interpreted and stepped over; stepped ones weigh more. 0 or -ENOMEM.
 */
static int find_evidence(const struct cycles *cycles, struct procedure_cycles *procedure)
{
	static const enum seen_branches_kind kinds[] = { SEEN_BRANCHES_INTERPRETED,
							 SEEN_BRANCHES_STEPPED };
	size_t count = procedure->cfg.graph.edge_count;
	for (size_t k = 0; cycles->evidence && k < COUNT_OF(kinds); k++) {
		CLEANUP(seen_counts_release) struct seen_counts seen = { 0 };
		if (seen_branches_count(cycles->evidence, procedure->procedure->procedure->image,
					&procedure->cfg, kinds[k], &seen) < 0)
			return -ENOMEM;
		procedure->evidence_unmatched += seen.unmatched;
		if (!seen.edges)
			continue;
		if (!procedure->evidence)
			procedure->evidence = calloc(2 * count + 1, sizeof(*procedure->evidence));
		if (!procedure->evidence)
			return -ENOMEM;
		procedure->evidence_weights = procedure->evidence + count;
		if (seen_branches_weigh(&procedure->cfg.graph,
					seen_branches_most(cycles->evidence, kinds[k]), &seen,
					procedure->evidence_weights) < 0)
			return -ENOMEM;
		for (size_t e = 0; e < count; e++)
			procedure->evidence[e] += seen.edges[e];
	}
	return 0;
}

/* Arrays of struct frequency_input. */
struct input_arrays {
	struct flow_range *blocks;
	double *issue_cycles;
	uint32_t *waits_for;
};

static void input_arrays_release(struct input_arrays *arrays)
{
	free(arrays->blocks);
	free(arrays->issue_cycles);
	free(arrays->waits_for);
}

static int input_arrays_init(const struct procedure_cycles *procedure, struct input_arrays *arrays)
{
	const struct cfg *cfg = &procedure->cfg;
	arrays->blocks = calloc((size_t)cfg->graph.block_count + 1, sizeof(*arrays->blocks));
	arrays->issue_cycles =
		calloc((size_t)cfg->instruction_count + 1, sizeof(*arrays->issue_cycles));
	arrays->waits_for = calloc((size_t)cfg->instruction_count + 1, sizeof(*arrays->waits_for));
	if (!arrays->blocks || !arrays->issue_cycles || !arrays->waits_for)
		return -ENOMEM;
	for (uint32_t b = 0; b < cfg->graph.block_count; b++) {
		uint32_t first = cfg->blocks[b].first, end = first + cfg->blocks[b].count;
		arrays->blocks[b] = (struct flow_range){ first, end };
		for (uint32_t i = first; i < end; i++) {
			const struct scheduled *at = &procedure->schedule[i];
			bool waits = (at->wait == SCHEDULE_OPERAND || at->wait == SCHEDULE_UNIT) &&
				     at->wait_for != SCHEDULE_BEFORE;
			arrays->issue_cycles[i] = at->head_cycles;
			arrays->waits_for[i] =
				waits ? first + at->wait_for : FLOW_WAITS_FOR_NOTHING;
		}
	}
	return 0;
}

/* `error`: 95 % of the factor's logarithm; NaN: not known, and then intervals are not either. */
static void scale(struct frequency *list, size_t count, double factor, double error)
{
	for (size_t i = 0; i < count; i++) {
		struct frequency *at = &list[i];
		if (error > 0 && at->value > 0) {
			at->low = at->value * exp(-hypot(log(at->value / at->low), error));
			at->high = at->value * exp(hypot(log(at->high / at->value), error));
		}
		at->value *= factor;
		at->low = isnan(error) ? NAN : at->low * factor;
		at->high = isnan(error) ? NAN : at->high * factor;
	}
}

/* Instructions executed in all blocks, by frequencies as they are. */
static double executed(const struct procedure_cycles *procedure)
{
	double sum = 0;
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		double value = procedure->frequencies.blocks[b].value;
		if (!isnan(value))
			sum += value * procedure->cfg.blocks[b].count;
	}
	return sum;
}

/* Instructions executed, by counts and not by samples; NaN: not known. 0 or -ENOMEM. */
static int count_instructions(const struct procedure_cycles *procedure,
			      const struct cycles_samples *time,
			      const struct cycles_samples *executions,
			      const struct seen_counts *stacks, double *instructions)
{
	const struct cycles_events *events = cycles_events(procedure->cycles);
	*instructions = NAN;
	if (executions->event_sum > 0) {
		*instructions = executions->event_sum;
	} else if (events->instructions != CYCLES_NO_COLUMN) {
		CLEANUP(cycles_samples_release) struct cycles_samples counted = { 0 };
		if (cycles_samples_of(procedure, cycles_index(procedure->cycles)->columns,
				      events->instructions, &counted) < 0)
			return -ENOMEM;
		if (counted.event_sum > 0)
			*instructions = counted.event_sum;
	} else if (stacks->run_cycles > 0 && !events->time_is_clock) {
		*instructions = time->event_sum * stacks->run_instructions / stacks->run_cycles;
	}
	return 0;
}

/*
 * The unit of the frequencies, in executions: the mean period of samples. Where frequencies are
 * right up to a factor, the unit with which they add up to the instructions that were counted, or
 * else with which an instruction costs 1 on average. NaN: there are no samples. 0 or -ENOMEM.
 */
static int find_unit(struct procedure_cycles *procedure, const struct cycles_samples *time,
		     const struct cycles_samples *executions, const struct seen_counts *stacks,
		     double *unit)
{
	bool counted = procedure->model == FREQUENCY_COUNTS;
	const struct cycles_samples *samples =
		procedure->model == FREQUENCY_EXECUTIONS ? executions : time;
	*unit = samples->sample_sum > 0 ? samples->event_sum / samples->sample_sum : NAN;
	if (!counted && procedure->model != FREQUENCY_CYCLES_OUT_OF_ORDER)
		return 0;
	double instructions, sum = executed(procedure);
	if (count_instructions(procedure, time, executions, stacks, &instructions) < 0)
		return -ENOMEM;
	procedure->scale = isnan(instructions) ? CYCLES_RELATIVE : CYCLES_ABSOLUTE;
	if (!isnan(instructions))
		*unit = sum > 0 ? instructions / sum : NAN;
	else if (sum > 0 && time->event_sum > 0)
		*unit = time->event_sum / sum;
	else if (counted)
		*unit = NAN;
	return 0;
}

/* Estimates frequencies and scales them to executions. 0 or -ENOMEM. */
static int estimate(struct procedure_cycles *procedure, const struct cycles_samples *time,
		    const struct cycles_samples *executions, const struct seen_counts *stacks)
{
	CLEANUP(input_arrays_release) struct input_arrays arrays = { 0 };
	if (input_arrays_init(procedure, &arrays) < 0)
		return -ENOMEM;
	const struct frequency_input input = {
		.graph = &procedure->cfg.graph,
		.model = procedure->model,
		.instruction_count = procedure->cfg.instruction_count,
		.blocks = arrays.blocks,
		.samples = procedure->model == FREQUENCY_EXECUTIONS ? executions->samples
								    : time->samples,
		.evidence = procedure->evidence_weights,
		.counted_blocks = stacks->blocks,
		.counted_edges = stacks->edges,
		.issue_cycles = arrays.issue_cycles,
		.waits_for = arrays.waits_for,
	};
	double unit = NAN;
	int ret = frequencies_new(&input, &procedure->frequencies);
	if (ret == 0)
		ret = find_unit(procedure, time, executions, stacks, &unit);
	if (ret < 0)
		return ret;
	const struct cycles *cycles = procedure->cycles;
	/* intervals stay where executions are compared with each other alone; compared with those
	 * of other procedures they need the error of a factor, which calls may tell */
	bool keeps = !procedure->frequencies.is_relative || procedure->scale == CYCLES_RELATIVE;
	double error = keeps ? 0 : NAN;
	const struct flow_calls_factor *factor = cycles_factor(cycles, procedure->procedure);
	if (factor && procedure->scale == CYCLES_RELATIVE) {
		unit *= factor->value;
		error = COUNT_TEST_Z_95 * factor->error;
		procedure->scale = CYCLES_PROGRAM;
	}
	scale(procedure->frequencies.blocks, procedure->cfg.graph.block_count, unit, error);
	scale(procedure->frequencies.edges, procedure->cfg.graph.edge_count, unit, error);
	return 0;
}

/* Counts branch stacks over the procedure; with any they replace samples. 0 or -ENOMEM. */
static int find_stacks(const struct cycles *cycles, struct procedure_cycles *procedure,
		       struct seen_counts *stacks)
{
	int ret = 0;
	if (cycles->evidence)
		ret = seen_branches_count(cycles->evidence, procedure->procedure->procedure->image,
					  &procedure->cfg, SEEN_BRANCHES_COUNTED, stacks);
	if (stacks->blocks)
		procedure->model = FREQUENCY_COUNTS;
	return ret;
}

/* From samples and counts to frequencies and costs. 0 or -ENOMEM. */
static int measure(const struct cycles *cycles, struct procedure_cycles *procedure)
{
	const struct cycles_events *events = &cycles->events;
	const struct event_columns *columns = cycles->index->columns;
	CLEANUP(seen_counts_release) struct seen_counts stacks = { 0 };
	CLEANUP(cycles_samples_release) struct cycles_samples time = { 0 };
	CLEANUP(cycles_samples_release) struct cycles_samples executions = { 0 };
	bool timed = events->time != CYCLES_NO_COLUMN;
	int ret = 0;
	procedure->scale = events->scale;
	procedure->model = events->model;
	if (find_stacks(cycles, procedure, &stacks) < 0)
		return -ENOMEM;
	if (timed)
		ret = cycles_samples_of(procedure, columns, events->time, &time);
	if (ret == 0 && events->executions != CYCLES_NO_COLUMN)
		ret = cycles_samples_of(procedure, columns, events->executions, &executions);
	if (ret == 0)
		ret = estimate(procedure, &time, &executions, &stacks);
	if (ret == 0)
		ret = cycles_schedule_entries(procedure);
	if (ret < 0 || !timed)
		return ret < 0 ? ret : cycles_sum_up(procedure, NULL);
	size_t size = ((size_t)procedure->cfg.instruction_count + 1) * sizeof(double);
	procedure->samples = malloc(size);
	if (!procedure->samples)
		return -ENOMEM;
	for (uint32_t i = 0; i < procedure->cfg.instruction_count; i++)
		procedure->samples[i] = time.samples[i];
	procedure->elsewhere_samples = time.elsewhere_samples;
	procedure->elsewhere_cycles = time.elsewhere_events;
	ret = cycles_charge(procedure, events->skid, &time);
	return ret < 0 ? ret : cycles_sum_up(procedure, &time);
}

static void give_steps(const struct cycles *cycles, struct procedure_cycles *procedure)
{
	procedure->chain_steps = cycles->chain_steps < CYCLES_PROCEDURE_CHAIN_STEPS
					 ? cycles->chain_steps
					 : CYCLES_PROCEDURE_CHAIN_STEPS;
}

static void take_steps_back(struct cycles *cycles, const struct procedure_cycles *procedure,
			    uint64_t given)
{
	cycles->chain_steps -= given - procedure->chain_steps;
	if (procedure->chains_left_out && !cycles->chains_left_out) {
		cycles_note(cycles, "not all loops were followed for what a round needs from the "
				    "one before, as they are too many or too large: best figures "
				    "may be higher than they need be");
		cycles->chains_left_out = true;
	}
}

int cycles_of_procedure(struct cycles *cycles, size_t position, struct procedure_cycles **out,
			struct error *err)
{
	CLEANUP(procedure_cycles_freep)
	struct procedure_cycles *procedure = calloc(1, sizeof(*procedure));
	struct decoder *decoder;
	if (!procedure)
		return error_set(err, -ENOMEM, "out of memory for a procedure's cycles");
	procedure->cycles = cycles;
	procedure->procedure = &cycles->index->procedures[position];
	procedure->pipeline = cycles->choice.pipeline;
	int ret = build_graph(cycles, procedure, &decoder, err);
	if (ret < 0)
		return ret;
	give_steps(cycles, procedure);
	uint64_t given = procedure->chain_steps;
	if (cycles_schedule(procedure, decoder) < 0 || find_evidence(cycles, procedure) < 0 ||
	    measure(cycles, procedure) < 0)
		return error_set(err, -ENOMEM, "out of memory for a procedure's cycles");
	take_steps_back(cycles, procedure, given);
	*out = procedure;
	procedure = NULL;
	return 0;
}
