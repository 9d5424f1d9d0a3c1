#include "support/culprit_accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cycles/cycles_private.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "support/allocated.h"
#include "support/poisson.h"

const char *compared_cause_name(enum compared_cause cause)
{
	static const char *const names[] = { "fetch", "memory", "translation", "branch", "divide" };
	return names[cause];
}

/* --- events as columns of a profile --- */

#define COLUMNS 8
#define WALKS	(COLUMNS - 1) /* which the program has no counts of: the machine makes them */

static const struct {
	const char *name;
	enum exact_event event;
} counted_columns[COLUMNS] = {
	{ "I1mr", EXACT_FETCH_MISSES },		{ "ILmr", EXACT_FETCH_LAST_MISSES },
	{ "D1mr", EXACT_READ_MISSES },		{ "DLmr", EXACT_READ_LAST_MISSES },
	{ "D1mw", EXACT_WRITE_MISSES },		{ "DLmw", EXACT_WRITE_LAST_MISSES },
	{ "branch-misses", EXACT_MISPREDICTS }, { "dTLB-load-misses", EXACT_EVENTS },
};

struct columns {
	struct event_column list[COLUMNS];
	struct event_columns all;
	double periods[COLUMNS];
	double walk_cycles;
};

/* By instruction: how often the machine says that an event happened there. */
static double *events_of(const struct simulated_procedure *procedure, size_t column,
			 double walk_cycles)
{
	uint32_t count = procedure->exact->instruction_count;
	double *events = allocated(count, sizeof(double));
	for (uint32_t i = 0; i < count; i++) {
		const struct simulated_cost *cost = &procedure->costs[i];
		if (column != WALKS)
			events[i] +=
				(double)procedure->exact->events[i][counted_columns[column].event];
		else if (cost->stalls[SIMULATED_TRANSLATION] > 0)
			events[cost->culprits[SIMULATED_TRANSLATION]] +=
				cost->stalls[SIMULATED_TRANSLATION] / walk_cycles;
	}
	return events;
}

static void columns_init(struct columns *columns, const struct simulated_program *program,
			 enum counted_events counted, double event_samples, double walk_cycles)
{
	*columns = (struct columns){ .walk_cycles = walk_cycles };
	columns->all.list = columns->list;
	columns->all.count = counted == COUNT_NOTHING	     ? 0
			     : counted == COUNT_FETCH_MISSES ? 2
							     : COLUMNS;
	for (size_t c = 0; c < columns->all.count; c++) {
		double sum = 0;
		for (uint32_t p = 0; p < program->count; p++) {
			CLEANUP(free_pointer)
			double *events = events_of(&program->procedures[p], c, walk_cycles);
			for (uint32_t i = 0; i < program->procedures[p].exact->instruction_count;
			     i++)
				sum += events[i];
		}
		columns->periods[c] = fmax(1, floor(sum / event_samples));
		columns->list[c] = (struct event_column){
			.name = span_of_text(counted_columns[c].name),
			.policy = PERIOD_FIXED,
			.period_most = (uint64_t)columns->periods[c],
			.skid = 1, /* none */
			.sampled = true,
		};
	}
}

static void draw_events(const struct columns *columns, const struct simulated_procedure *simulated,
			struct annotate_procedure *out, struct random_state *random)
{
	uint32_t count = simulated->exact->instruction_count;
	size_t of_each = columns->all.count;
	struct annotate_sample *samples = allocated(of_each * count, sizeof(*samples));
	for (size_t c = 0; c < of_each; c++) {
		CLEANUP(free_pointer)
		double *events = events_of(simulated, c, columns->walk_cycles);
		double period = columns->periods[c];
		for (uint32_t i = 0; i < count; i++) {
			uint64_t drawn = period > 1 ? poisson(random, events[i] / period)
						    : (uint64_t)events[i];
			samples[i * of_each + c] = (struct annotate_sample){
				.vaddr = simulated->exact->instructions[i].vaddr,
				.column = (uint32_t)c,
				.cell = { drawn, (uint64_t)((double)drawn * period), 0 },
			};
		}
	}
	out->samples = samples;
	out->sample_count = of_each * count;
}

/* --- one procedure, as culprit would have it from a profile --- */

static void estimate_executions(struct procedure_cycles *procedure,
				const struct exact_procedure *exact, const double *samples,
				double period)
{
	uint32_t count = exact->instruction_count;
	CLEANUP(free_pointer) double *issue_cycles = allocated(count, sizeof(double));
	CLEANUP(free_pointer) uint32_t *waits_for = allocated(count, sizeof(uint32_t));
	for (uint32_t b = 0; b < exact->graph.block_count; b++)
		for (uint32_t i = exact->blocks[b].first; i < exact->blocks[b].end; i++) {
			const struct scheduled *at = &procedure->schedule[i];
			bool waits = (at->wait == SCHEDULE_OPERAND || at->wait == SCHEDULE_UNIT) &&
				     at->wait_for != SCHEDULE_BEFORE;
			issue_cycles[i] = at->head_cycles;
			waits_for[i] = waits ? exact->blocks[b].first + at->wait_for
					     : FLOW_WAITS_FOR_NOTHING;
		}
	const struct frequency_input input = { .graph = &exact->graph,
					       .model = FREQUENCY_CYCLES_IN_ORDER,
					       .instruction_count = count,
					       .blocks = exact->blocks,
					       .samples = samples,
					       .issue_cycles = issue_cycles,
					       .waits_for = waits_for };
	if (frequencies_new(&input, &procedure->frequencies) < 0)
		abort();
	struct frequency *lists[] = { procedure->frequencies.blocks, procedure->frequencies.edges };
	size_t counts[] = { exact->graph.block_count, exact->graph.edge_count };
	for (size_t l = 0; l < COUNT_OF(lists); l++)
		for (size_t i = 0; i < counts[l]; i++) {
			lists[l][i].value *= period;
			lists[l][i].low *= period;
			lists[l][i].high *= period;
		}
}

static void fill_cfg(struct cfg *cfg, const struct exact_procedure *exact)
{
	cfg->graph = exact->graph; /* borrowed */
	cfg->instruction_count = exact->instruction_count;
	cfg->instructions = allocated(exact->instruction_count, sizeof(*cfg->instructions));
	cfg->blocks = allocated(exact->graph.block_count, sizeof(*cfg->blocks));
	for (uint32_t i = 0; i < exact->instruction_count; i++)
		cfg->instructions[i] = (struct cfg_instruction){
			.vaddr = exact->instructions[i].vaddr,
			.length_bytes = exact->instructions[i].length_bytes,
			.kind = exact->instructions[i].kind,
			.has_target = exact->instructions[i].kind == INSTRUCTION_CONDITIONAL ||
				      exact->instructions[i].kind == INSTRUCTION_CALL,
		};
	for (uint32_t b = 0; b < exact->graph.block_count; b++)
		cfg->blocks[b] = (struct cfg_block){
			.first = exact->blocks[b].first,
			.count = exact->blocks[b].end - exact->blocks[b].first,
		};
	/* A jump that has one edge is taken for a direct one. */
	for (uint32_t b = 0; b < exact->graph.block_count; b++) {
		struct flow_ends out = flow_graph_out_of(&exact->graph, b);
		uint32_t last = exact->blocks[b].end - 1;
		if (cfg->instructions[last].kind == INSTRUCTION_JUMP && out.count == 1 &&
		    exact->graph.edges[out.list[0]].kind != FLOW_INDIRECT)
			cfg->instructions[last].has_target = true;
	}
}

static void procedure_init(struct procedure_cycles *procedure, const struct exact_procedure *exact,
			   const struct pipeline *pipeline, double *samples, double period)
{
	CLEANUP(flow_search_release) struct flow_search search = { 0 };
	uint32_t count = exact->instruction_count;
	*procedure = (struct procedure_cycles){ .isa = ISA_X86_64,
						.pipeline = pipeline,
						.scale = CYCLES_BY_CLOCK,
						.effects = exact->effects };
	fill_cfg(&procedure->cfg, exact);
	if (flow_search_run(&procedure->cfg.graph, &search) < 0 ||
	    flow_loops_find(&procedure->cfg.graph, &search, &procedure->loops) < 0 ||
	    cycles_schedule_blocks(procedure) < 0)
		abort();
	estimate_executions(procedure, exact, samples, period);
	CLEANUP(free_pointer) double *events = allocated(count, sizeof(double));
	struct cycles_samples charged = { .samples = samples, .events = events };
	for (uint32_t i = 0; i < count; i++) {
		events[i] = samples[i] * period;
		charged.sample_sum += samples[i];
		charged.event_sum += events[i];
	}
	if (cycles_schedule_entries(procedure) < 0 || cycles_sum_up(procedure, &charged) < 0)
		abort();
}

static void procedure_release(struct procedure_cycles *procedure)
{
	frequencies_release(&procedure->frequencies);
	flow_loops_release(&procedure->loops);
	free(procedure->cfg.instructions);
	free(procedure->cfg.blocks);
	free(procedure->schedule);
	free(procedure->bounds);
	free(procedure->instructions);
	free(procedure->blocks);
	free(procedure->loop_costs);
}

/* --- comparing --- */

static enum compared_cause compared_of_truth(enum simulated_cause cause)
{
	switch (cause) {
	case SIMULATED_FETCH:
		return COMPARED_FETCH;
	case SIMULATED_DATA:
	case SIMULATED_STORE:
		return COMPARED_MEMORY;
	case SIMULATED_TRANSLATION:
		return COMPARED_TRANSLATION;
	case SIMULATED_BRANCH:
		return COMPARED_BRANCH;
	case SIMULATED_DIVIDE:
		return COMPARED_DIVIDE;
	default:
		return COMPARED_CAUSES;
	}
}

static enum compared_cause compared_of(enum dynamic_cause cause)
{
	switch (cause) {
	case DYNAMIC_ICACHE:
		return COMPARED_FETCH;
	case DYNAMIC_DCACHE:
	case DYNAMIC_WRITE_BUFFER:
		return COMPARED_MEMORY;
	case DYNAMIC_DTLB:
		return COMPARED_TRANSLATION;
	case DYNAMIC_MISPREDICT:
		return COMPARED_BRANCH;
	case DYNAMIC_DIVIDE:
		return COMPARED_DIVIDE;
	default:
		return COMPARED_CAUSES;
	}
}

static void compare_stall(struct culprit_accuracy *accuracy, const struct culprits *culprits,
			  uint32_t instruction, const struct simulated_procedure *simulated)
{
	const struct stall *stall = &culprits->stalls[instruction];
	enum simulated_cause dominant = simulated_dominant(&simulated->costs[instruction]);
	enum compared_cause truth = compared_of_truth(dominant);
	bool listed = false;
	double cycles = stall->dynamic_cycles;
	accuracy->stalls += cycles;
	accuracy->causes += cycles * stall->culprit_count;
	accuracy->unexplained += stall->unexplained_cycles;
	if (truth == COMPARED_CAUSES)
		accuracy->without += cycles;
	for (uint32_t c = 0; c < stall->culprit_count; c++) {
		const struct culprit *culprit = &culprits->list[stall->culprits + c];
		if (culprit->cause == DYNAMIC_OTHER)
			accuracy->unexplained += culprit->low;
		listed |= truth != COMPARED_CAUSES && compared_of(culprit->cause) == truth;
	}
	accuracy->listed += listed ? cycles : 0;
	if (stall->culprit_count != 1)
		return;
	accuracy->sole += cycles;
	accuracy->right += listed ? cycles : 0;
}

static void find_worst(struct culprit_accuracy *accuracy, const struct culprits *culprits,
		       const struct simulated_procedure *simulated)
{
	for (uint32_t i = 0; i < simulated->exact->instruction_count; i++) {
		const struct stall *stall = &culprits->stalls[i];
		double cycles = stall->static_cycles + fmax(stall->dynamic_cycles, 0);
		if (!(cycles > accuracy->worst.cycles))
			continue;
		struct worst_stall worst = { .cycles = cycles,
					     .is_static =
						     stall->static_cycles > stall->dynamic_cycles,
					     .static_cause = stall->static_cause,
					     .first = COMPARED_CAUSES };
		if (stall->culprit_count)
			worst.first = compared_of(culprits->list[stall->culprits].cause);
		worst.truth = compared_of_truth(simulated_dominant(&simulated->costs[i]));
		accuracy->worst = worst;
	}
}

static void compare(struct culprit_accuracy *accuracy, const struct culprits *culprits,
		    const struct simulated_procedure *simulated)
{
	struct compared_procedure sums = { .truth = { 0 } };
	for (uint32_t i = 0; i < simulated->exact->instruction_count; i++) {
		const struct stall *stall = &culprits->stalls[i];
		const struct simulated_cost *cost = &simulated->costs[i];
		accuracy->cycles += culprits->procedure->instructions[i].cycles;
		for (enum simulated_cause cause = 0; cause < SIMULATED_EARLIER; cause++) {
			accuracy->truth += cost->stalls[cause];
			if (cost->stalls[cause] > 0)
				sums.truth[compared_of_truth(cause)] += cost->stalls[cause];
		}
		if (isnan(stall->issue_cycles))
			continue;
		accuracy->noise += stall->noise_cycles;
		if (stall->dynamic_cycles > 0)
			compare_stall(accuracy, culprits, i, simulated);
		else
			accuracy->gain += stall->dynamic_cycles;
	}
	for (size_t c = 0; c < culprits->count; c++) {
		enum compared_cause cause = compared_of(culprits->list[c].cause);
		if (cause == COMPARED_CAUSES)
			continue;
		sums.low[cause] += culprits->list[c].low;
		sums.high[cause] += culprits->list[c].high;
	}
	accuracy->procedures = reallocarray(accuracy->procedures, accuracy->procedure_count + 1,
					    sizeof(*accuracy->procedures));
	if (!accuracy->procedures)
		abort();
	accuracy->procedures[accuracy->procedure_count++] = sums;
	for (enum compared_cause cause = 0; cause < COMPARED_CAUSES; cause++) {
		accuracy->whole.truth[cause] += sums.truth[cause];
		accuracy->whole.low[cause] += sums.low[cause];
		accuracy->whole.high[cause] += sums.high[cause];
	}
}

void culprit_accuracy_add(struct culprit_accuracy *accuracy,
			  const struct simulated_program *program, const struct pipeline *pipeline,
			  double period, enum counted_events counted, double event_samples,
			  const struct simulated_machine *machine, struct random_state *random)
{
	struct columns columns;
	accuracy->worst = (struct worst_stall){ .cycles = 0 };
	columns_init(&columns, program, counted, event_samples, machine->translation_miss);
	const struct culprit_events events = culprit_events_of(&columns.all);
	for (uint32_t p = 0; p < program->count; p++) {
		const struct simulated_procedure *simulated = &program->procedures[p];
		CLEANUP(procedure_release) struct procedure_cycles procedure;
		CLEANUP(culprits_freep) struct culprits *culprits = NULL;
		struct annotate_procedure sampled = { 0 };
		procedure_init(&procedure, simulated->exact, pipeline, simulated->samples, period);
		draw_events(&columns, simulated, &sampled, random);
		procedure.procedure = &sampled;
		if (culprits_new(&procedure, &columns.all, &events, &culprits, NULL) < 0)
			abort();
		compare(accuracy, culprits, simulated);
		find_worst(accuracy, culprits, simulated);
		free((void *)sampled.samples);
	}
}

void culprit_accuracy_add_up(struct culprit_accuracy *accuracy,
			     const struct culprit_accuracy *other)
{
	accuracy->cycles += other->cycles;
	accuracy->stalls += other->stalls;
	accuracy->listed += other->listed;
	accuracy->without += other->without;
	accuracy->causes += other->causes;
	accuracy->sole += other->sole;
	accuracy->right += other->right;
	accuracy->unexplained += other->unexplained;
	accuracy->gain += other->gain;
	accuracy->noise += other->noise;
	accuracy->truth += other->truth;
	for (enum compared_cause cause = 0; cause < COMPARED_CAUSES; cause++) {
		accuracy->whole.truth[cause] += other->whole.truth[cause];
		accuracy->whole.low[cause] += other->whole.low[cause];
		accuracy->whole.high[cause] += other->whole.high[cause];
	}
	accuracy->procedures = reallocarray(accuracy->procedures,
					    accuracy->procedure_count + other->procedure_count + 1,
					    sizeof(*accuracy->procedures));
	if (!accuracy->procedures)
		abort();
	for (size_t i = 0; i < other->procedure_count; i++)
		accuracy->procedures[accuracy->procedure_count++] = other->procedures[i];
}

void culprit_accuracy_release(struct culprit_accuracy *accuracy)
{
	free(accuracy->procedures);
	*accuracy = (struct culprit_accuracy){ 0 };
}

double culprit_accuracy_correlation(const struct culprit_accuracy *accuracy,
				    enum compared_cause cause)
{
	double n = (double)accuracy->procedure_count, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
	for (size_t i = 0; i < accuracy->procedure_count; i++) {
		const struct compared_procedure *at = &accuracy->procedures[i];
		double truth = at->truth[cause], found = (at->low[cause] + at->high[cause]) / 2;
		x += truth;
		y += found;
		xx += truth * truth;
		yy += found * found;
		xy += truth * found;
	}
	double spread = sqrt(n * xx - x * x) * sqrt(n * yy - y * y);
	return n >= 3 && spread > 0 ? (n * xy - x * y) / spread : NAN;
}
