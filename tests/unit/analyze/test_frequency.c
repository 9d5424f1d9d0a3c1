/*
 * Frequencies of simulated programs (frequency_program.h) against what is true of
 * them, and of small procedures. The simulation is a small one, of random code; it says what the
 * method can do where its model holds, not what it does on real programs.
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/frequency.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "support/poisson.h"
#include "frequency_program.h"

#define OUT	   FLOW_OUTSIDE
#define SEEDS	   20
#define PROCEDURES 20
/* Intervals of what has fewer say little, and nearly always hold. */
#define INTERVAL_SAMPLES 20

/* share of instructions that stall, cycles each time, error of the waits that are said */
static const struct machine no_stalls = { "no stalls", 0, 1, 1, 0 };
static const struct machine few_stalls = { "few, long", 0.1, 0.5, 50, 0 };
static const struct machine many_stalls = { "many, short", 0.25, 0.2, 20, 0 };
static const struct machine most_stall = { "most, short", 0.5, 0.2, 20, 0 };
static const struct machine wrong_waits = { "waits off", 0.1, 0.5, 50, 0.2 };

/* Weights and, by confidence, what is within 10 %; intervals by their number. */
struct tally {
	double all, within[3]; /* 5, 10, 15 % */
	double graded[3], graded_right[3];
	double intervals[3], intervals_right[3];
};

static void put(struct tally *tally, const struct frequency *frequency, double truth, double weight)
{
	static const double limits[] = { 0.05, 0.1, 0.15 };
	double off = fabs(frequency->value / truth - 1);
	tally->all += weight;
	for (size_t i = 0; i < COUNT_OF(limits); i++)
		tally->within[i] += off <= limits[i] ? weight : 0;
	tally->graded[frequency->confidence] += weight;
	tally->graded_right[frequency->confidence] += off <= 0.1 ? weight : 0;
	if (weight < INTERVAL_SAMPLES)
		return;
	tally->intervals[frequency->confidence]++;
	tally->intervals_right[frequency->confidence] +=
		frequency->low <= truth && truth <= frequency->high;
}

static struct frequencies estimate(const struct procedure *procedure, enum frequency_model model)
{
	const struct frequency_input input = procedure_input(procedure, model);
	struct frequencies frequencies;
	assert_int_equal(frequencies_new(&input, &frequencies), 0);
	return frequencies;
}

struct result {
	struct tally blocks, edges; /* by samples, by executions */
};

static void compare(const struct procedure *procedure, const struct frequencies *found,
		    double period, struct result *result)
{
	const struct random_flow *flow = &procedure->flow;
	for (uint32_t block = 0; block < flow->graph.block_count; block++) {
		double samples = 0;
		for (uint32_t i = procedure->blocks[block].first; i < procedure->blocks[block].end;
		     i++)
			samples += procedure->samples[i];
		put(&result->blocks, &found->blocks[block], flow->blocks[block] / period, samples);
	}
	for (size_t i = 0; i < flow->graph.edge_count; i++)
		put(&result->edges, &found->edges[i], flow->edges[i] / period,
		    flow->edges[i] / period);
}

static struct result simulate(const struct machine *machine, enum frequency_model model,
			      double samples, uint64_t first_seed)
{
	struct result result = { 0 };
	for (uint64_t seed = first_seed; seed < first_seed + SEEDS; seed++) {
		CLEANUP(program_release) struct program program;
		struct random_state random = random_seed(seed);
		program_init(&program, machine, &random, PROCEDURES);
		double period = model == FREQUENCY_EXECUTIONS
					? program_sample_executions(&program, &random, samples)
					: program_sample_cycles(&program, &random, samples);
		for (uint32_t p = 0; p < program.count; p++) {
			CLEANUP(frequencies_release)
			struct frequencies found = estimate(&program.procedures[p], model);
			assert_int_equal(found.is_relative, model == FREQUENCY_CYCLES_OUT_OF_ORDER);
			compare(&program.procedures[p], &found, period, &result);
		}
	}
	return result;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

/* Percentages that may not be missed, of samples, of executions of edges, of blocks. */
struct bar {
	const struct machine *machine;
	enum frequency_model model;
	double samples;
	double within[3], edges;      /* within 5, 10, 15 %; edges within 10 % */
	double high;		      /* covers at least that share of samples */
	double right;		      /* of that share, within 10 % */
	double least_hold, most_hold; /* intervals of high and medium blocks */
};

/*
 * docs/methods.md has what was measured in 8 times 20 programs, each of which passes all of these;
 * seed 1 is the first of them. The most that intervals may hold keeps them from being wide.
 */
static const struct bar bars[] = {
	{ &no_stalls, FREQUENCY_CYCLES_IN_ORDER, 1e4, { 60, 80, 87 }, 73, 33, 95, 93, 98 },
	{ &no_stalls, FREQUENCY_CYCLES_IN_ORDER, 1e5, { 88, 95, 97 }, 91, 75, 97, 93, 97 },
	{ &no_stalls, FREQUENCY_CYCLES_IN_ORDER, 1e6, { 96, 98, 99 }, 97, 94, 97, 93, 97 },
	{ &few_stalls, FREQUENCY_CYCLES_IN_ORDER, 1e4, { 38, 58, 70 }, 55, 10, 85, 92, 97 },
	{ &few_stalls, FREQUENCY_CYCLES_IN_ORDER, 1e5, { 72, 85, 89 }, 82, 48, 93, 90, 97 },
	{ &few_stalls, FREQUENCY_CYCLES_IN_ORDER, 1e6, { 85, 92, 93 }, 92, 77, 95, 93, 97 },
	{ &many_stalls, FREQUENCY_CYCLES_IN_ORDER, 1e6, { 82, 89, 92 }, 88, 63, 93, 93, 98 },
	{ &most_stall, FREQUENCY_CYCLES_IN_ORDER, 1e6, { 60, 70, 75 }, 65, 20, 85, 85, 98 },
	{ &wrong_waits, FREQUENCY_CYCLES_IN_ORDER, 1e6, { 68, 88, 92 }, 80, 60, 80, 92, 98 },
	{ &few_stalls, FREQUENCY_EXECUTIONS, 1e4, { 60, 80, 87 }, 73, 35, 95, 93, 97 },
	{ &few_stalls, FREQUENCY_EXECUTIONS, 1e5, { 87, 94, 96 }, 91, 75, 97, 93, 97 },
	{ &few_stalls, FREQUENCY_EXECUTIONS, 1e6, { 96, 98, 99 }, 97, 94, 97, 93, 97 },
};

static void at_least(const struct bar *bar, const char *what, double value, double least)
{
	if (!(value >= least))
		fail_msg("%s, model %d, %g samples: %s is %.1f %%, expected at least %.1f %%",
			 bar->machine->name, bar->model, bar->samples, what, value, least);
}

static void simulated_programs_are_known_that_well(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bars); i++) {
		const struct bar *bar = &bars[i];
		struct result result = simulate(bar->machine, bar->model, bar->samples, 1);
		const struct tally *blocks = &result.blocks, *edges = &result.edges;
		double intervals = 0, right_intervals = 0;
		for (int grade = 0; grade < 3; grade++) {
			intervals += blocks->intervals[grade];
			right_intervals += blocks->intervals_right[grade];
		}
		double held = percent(right_intervals, intervals);
		double high = percent(blocks->graded[FREQUENCY_HIGH], blocks->all);
		double right = percent(blocks->graded_right[FREQUENCY_HIGH],
				       blocks->graded[FREQUENCY_HIGH]);
		print_message("%-11s model %d %.0e samples: %3.0f/%3.0f/%3.0f %% within 5/10/15, "
			      "edges %3.0f; high %3.0f, of it right %3.0f; intervals hold %.1f\n",
			      bar->machine->name, bar->model, bar->samples,
			      percent(blocks->within[0], blocks->all),
			      percent(blocks->within[1], blocks->all),
			      percent(blocks->within[2], blocks->all),
			      percent(edges->within[1], edges->all), high, right, held);
		for (size_t k = 0; k < COUNT_OF(bar->within); k++)
			at_least(bar, "within 5, 10 or 15 %",
				 percent(blocks->within[k], blocks->all), bar->within[k]);
		at_least(bar, "edges", percent(edges->within[1], edges->all), bar->edges);
		at_least(bar, "high", high, bar->high);
		at_least(bar, "right of what is high", right, bar->right);
		at_least(
			bar, "edges right of what is high",
			percent(edges->graded_right[FREQUENCY_HIGH], edges->graded[FREQUENCY_HIGH]),
			bar->right);
		at_least(bar, "intervals", held, bar->least_hold);
		at_least(bar, "intervals not too wide", bar->most_hold, held);
	}
}

static void out_of_order_is_relative_and_never_high(void **state)
{
	(void)state;
	struct result result = simulate(&no_stalls, FREQUENCY_CYCLES_OUT_OF_ORDER, 1e6, 1);
	for (int edges = 0; edges < 2; edges++) {
		const struct tally *tally = edges ? &result.edges : &result.blocks;
		assert_true(tally->all > 0 && tally->intervals[FREQUENCY_MEDIUM] > 0);
		assert_true(tally->intervals[FREQUENCY_HIGH] == 0);
	}
}

#define MOST_BLOCKS 40

/* Blocks of one instruction each. */
struct small {
	struct flow_graph graph;
	struct flow_range blocks[MOST_BLOCKS];
	double samples[MOST_BLOCKS], cycles[MOST_BLOCKS];
	uint32_t waits[MOST_BLOCKS];
};

static void small_init(struct small *small, uint32_t blocks)
{
	*small = (struct small){ 0 };
	flow_graph_init(&small->graph, blocks);
	for (uint32_t block = 0; block < blocks; block++) {
		small->blocks[block] = (struct flow_range){ block, block + 1 };
		small->cycles[block] = 1;
		small->waits[block] = FLOW_WAITS_FOR_NOTHING;
	}
}

static void small_release(struct small *small)
{
	flow_graph_release(&small->graph);
}

static void add(struct small *small, uint32_t from, uint32_t to)
{
	assert_int_equal(flow_graph_add(&small->graph, from, to,
					from == OUT ? FLOW_ENTRY
					: to == OUT ? FLOW_RETURN
						    : FLOW_BRANCH),
			 0);
}

static struct frequency_input input_of(const struct small *small, enum frequency_model model)
{
	return (struct frequency_input){ .graph = &small->graph,
					 .model = model,
					 .instruction_count = small->graph.block_count,
					 .blocks = small->blocks,
					 .samples = small->samples,
					 .issue_cycles = small->cycles,
					 .waits_for = small->waits };
}

static struct frequencies ask(const struct small *small, enum frequency_model model)
{
	struct frequency_input input = input_of(small, model);
	struct frequencies frequencies;
	assert_int_equal(frequencies_new(&input, &frequencies), 0);
	return frequencies;
}

static void assert_near(double value, double expected, double relative)
{
	if (!(fabs(value - expected) <= relative * fabs(expected)))
		fail_msg("%.17g is not near %.17g", value, expected);
}

/* 0 to 1 or 2, both to 3. */
static void diamond(struct small *small)
{
	small_init(small, 4);
	add(small, OUT, 0);
	add(small, 0, 1);
	add(small, 0, 2);
	add(small, 1, 3);
	add(small, 2, 3);
	add(small, 3, OUT);
	small->samples[0] = small->samples[3] = 10000;
	small->samples[1] = 7000;
	small->samples[2] = 3000;
	assert_int_equal(flow_graph_settle(&small->graph), 0);
}

static void classes_that_fit_are_high_and_edges_of_a_class_as_its_blocks(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	diamond(&small);
	CLEANUP(frequencies_release)
	struct frequencies found = ask(&small, FREQUENCY_CYCLES_IN_ORDER);
	assert_false(found.is_relative);
	for (uint32_t block = 0; block < 4; block++) {
		const struct frequency *frequency = &found.blocks[block];
		assert_near(frequency->value, small.samples[block], 1e-3);
		assert_true(frequency->low < frequency->value &&
			    frequency->value < frequency->high);
		/* one instruction alone may have stalled */
		bool cluster = block == 0 || block == 3;
		assert_int_equal(frequency->source, cluster ? FREQUENCY_CLUSTER : FREQUENCY_SUM);
		assert_int_equal(frequency->confidence,
				 cluster ? FREQUENCY_HIGH : FREQUENCY_MEDIUM);
	}
	for (size_t i = 0; i < small.graph.edge_count; i++) {
		const struct flow_edge *edge = &small.graph.edges[i];
		uint32_t block = edge->from == 1 || edge->from == 2 ? edge->from : edge->to;
		if (block == OUT)
			block = edge->from;
		assert_near(found.edges[i].value, found.blocks[block].value, 1e-9);
		assert_near(found.edges[i].high, found.blocks[block].high, 1e-9);
		assert_int_equal(found.edges[i].source, found.blocks[block].source);
		assert_int_equal(found.edges[i].confidence, found.blocks[block].confidence);
	}
}

/* 402 samples are 5 %, just enough if nothing comes to that: here, that the two blocks differ. */
static void a_wide_interval_is_not_high(void **state)
{
	(void)state;
	for (int wide = 0; wide < 2; wide++) {
		CLEANUP(small_release) struct small small;
		diamond(&small);
		small.samples[0] = wide ? 230 : 201;
		small.samples[3] = wide ? 172 : 201;
		small.samples[1] = small.samples[2] = 0;
		small.cycles[1] = small.cycles[2] = 0;
		CLEANUP(frequencies_release)
		struct frequencies found = ask(&small, FREQUENCY_CYCLES_IN_ORDER);
		assert_int_equal(found.blocks[0].confidence, wide ? FREQUENCY_LOW : FREQUENCY_HIGH);
	}
}

/* Block 0 has as many executions as block 3, whatever the branch between; 1 and 2 depend on it. */
static void blocks_as_sure_as_the_hottest_are_medium_out_of_order(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	diamond(&small);
	small.samples[1] = small.samples[2] = 5;
	double half[3];
	for (int evidence = 0; evidence < 3; evidence++) {
		double seen[6] = { 0 };
		struct frequency_input input = input_of(&small, FREQUENCY_CYCLES_OUT_OF_ORDER);
		for (size_t i = 0; i < small.graph.edge_count; i++)
			if (small.graph.edges[i].from == 0)
				seen[i] = evidence == 1 ? 5 : 5000;
		input.evidence = evidence ? seen : NULL;
		CLEANUP(frequencies_release) struct frequencies found = { 0 };
		assert_int_equal(frequencies_new(&input, &found), 0);
		assert_true(found.is_relative);
		const struct frequency *hottest = &found.blocks[0], *side = &found.blocks[1];
		assert_int_equal(hottest->confidence, FREQUENCY_MEDIUM);
		assert_near(log(hottest->high / hottest->value), evidence ? 0.088 : 0.12, 1e-6);
		assert_near(hottest->value / hottest->low, hottest->high / hottest->value, 1e-6);
		assert_int_equal(side->confidence,
				 evidence == 2 ? FREQUENCY_MEDIUM : FREQUENCY_LOW);
		half[evidence] = log(side->high / side->value);
	}
	assert_true(half[0] > half[1] && half[1] > half[2]);
}

/* Half of the executions go to block 1, not 70 %: it is slower. */
static void branches_that_were_seen_move_what_samples_say_out_of_order(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	diamond(&small);
	double evidence[6] = { 0 };
	for (size_t i = 0; i < small.graph.edge_count; i++)
		if (small.graph.edges[i].from == 0)
			evidence[i] = 400;
	for (int model = FREQUENCY_CYCLES_IN_ORDER; model <= FREQUENCY_CYCLES_OUT_OF_ORDER;
	     model++) {
		bool moves = model == FREQUENCY_CYCLES_OUT_OF_ORDER;
		struct frequency_input input = input_of(&small, (enum frequency_model)model);
		input.evidence = evidence;
		CLEANUP(frequencies_release) struct frequencies found = { 0 };
		assert_int_equal(frequencies_new(&input, &found), 0);
		double share = found.blocks[1].value / found.blocks[0].value;
		assert_near(share, moves ? 0.51 : 0.7, 0.02);
		assert_near(found.blocks[1].value + found.blocks[2].value, found.blocks[0].value,
			    1e-6);
		assert_near(found.blocks[3].value, found.blocks[0].value, 1e-6);
		assert_int_equal(found.blocks[0].source == FREQUENCY_POSTERIOR, moves);
		assert_int_equal(found.is_relative, moves);
		for (size_t i = 0; i < small.graph.edge_count && moves; i++)
			assert_int_equal(found.edges[i].source, FREQUENCY_POSTERIOR);
	}
	/* none seen: as without */
	struct frequency_input input = input_of(&small, FREQUENCY_CYCLES_OUT_OF_ORDER);
	input.evidence = (double[6]){ 0 };
	CLEANUP(frequencies_release) struct frequencies found = { 0 };
	assert_int_equal(frequencies_new(&input, &found), 0);
	assert_int_equal(found.blocks[0].source, FREQUENCY_LIKELIHOOD);
}

/*
 * Counts of a random procedure, each off by chance as stacks that see `COUNTED_AT_ONCE` at once
 * make it; two edges of one block are not known, nothing is of its samples.
 */
static void counts_of_branch_stacks_are_executions(void **state)
{
	(void)state;
	struct random_state random = random_seed(6);
	unsigned held = 0, intervals = 0;
	for (unsigned round = 0; round < 50; round++) {
		struct random_flow flow;
		random_flow_init(&flow, &random, 40, 3e3, 20);
		const struct flow_graph *graph = &flow.graph;
		CLEANUP(free_pointer)
		double *counts = calloc(graph->block_count + graph->edge_count, sizeof(double));
		assert_non_null(counts);
		double *edges = counts + graph->block_count;
		for (size_t i = 0; i < graph->edge_count; i++) {
			if (graph->edges[i].from == OUT)
				continue;
			edges[i] = 32 * (double)poisson(&random, flow.edges[i] / 32);
			counts[graph->edges[i].from] += edges[i];
		}
		for (size_t i = 0; i < graph->edge_count; i++)
			if (graph->edges[i].from == round % graph->block_count)
				edges[i] = 0;
		struct frequency_input input = { .graph = graph,
						 .model = FREQUENCY_COUNTS,
						 .counted_blocks = counts,
						 .counted_edges = edges };
		CLEANUP(frequencies_release) struct frequencies found = { 0 };
		assert_int_equal(frequencies_new(&input, &found), 0);
		assert_false(found.is_relative);
		for (uint32_t block = 0; block < graph->block_count; block++) {
			const struct frequency *frequency = &found.blocks[block];
			assert_int_equal(frequency->source, FREQUENCY_COUNTED);
			if (flow.blocks[block] < 3000)
				continue;
			intervals++;
			held += frequency->low <= flow.blocks[block] &&
				flow.blocks[block] <= frequency->high;
			assert_near(frequency->value, flow.blocks[block], 0.3);
		}
		random_flow_release(&flow);
	}
	assert_true(intervals > 500);
	if (held < 0.93 * intervals)
		fail_msg("%u of %u intervals hold the truth", held, intervals);
}

static void counted_edges_are_told_apart_where_blocks_do_not(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	/* 0 and 1 each lead to 2 and 3: 10,000 and 9,000 go straight on */
	small_init(&small, 4);
	for (uint32_t block = 0; block < 4; block++)
		add(&small, block < 2 ? OUT : block, block < 2 ? block : OUT);
	for (uint32_t from = 0; from < 2; from++)
		for (uint32_t to = 2; to < 4; to++)
			add(&small, from, to);
	assert_int_equal(flow_graph_settle(&small.graph), 0);
	double blocks[4] = { 10100, 9100, 10100, 9100 }, edges[8] = { 0 };
	for (size_t i = 0; i < small.graph.edge_count; i++) {
		const struct flow_edge *edge = &small.graph.edges[i];
		if (edge->from != OUT)
			edges[i] = edge->to == OUT		? blocks[edge->from]
				   : edge->to == edge->from + 2 ? blocks[edge->from] - 100
								: 100;
	}
	struct frequency_input input = input_of(&small, FREQUENCY_COUNTS);
	input.counted_blocks = blocks;
	input.counted_edges = edges;
	CLEANUP(frequencies_release) struct frequencies found = { 0 };
	assert_int_equal(frequencies_new(&input, &found), 0);
	for (size_t i = 0; i < small.graph.edge_count; i++) {
		const struct flow_edge *edge = &small.graph.edges[i];
		if (edge->from == OUT || edge->to == OUT)
			continue;
		assert_near(found.edges[i].value, edges[i], 0.02);
		assert_int_equal(found.edges[i].source, FREQUENCY_COUNTED);
	}
	for (uint32_t block = 0; block < 4; block++)
		assert_int_equal(found.blocks[block].confidence, FREQUENCY_HIGH);

	input.model = FREQUENCY_CYCLES_OUT_OF_ORDER;
	input.evidence = edges;
	memcpy(small.samples, blocks, sizeof(blocks));
	CLEANUP(frequencies_release) struct frequencies moved = { 0 };
	assert_int_equal(frequencies_new(&input, &moved), 0);
	for (size_t i = 0; i < small.graph.edge_count; i++) {
		const struct flow_edge *edge = &small.graph.edges[i];
		if (edge->from < 2)
			assert_near(moved.edges[i].value / moved.blocks[edge->from].value,
				    edges[i] / blocks[edge->from], 0.3);
	}
}

/* A block of four, two of which may stall each time, or the other two are taken too seldom. */
static void a_class_whose_points_differ_is_low(void **state)
{
	(void)state;
	for (int differ = 0; differ < 2; differ++) {
		CLEANUP(small_release) struct small small;
		small_init(&small, 1);
		add(&small, OUT, 0);
		add(&small, 0, OUT);
		assert_int_equal(flow_graph_settle(&small.graph), 0);
		small.blocks[0].end = 4;
		for (uint32_t i = 0; i < 4; i++) {
			small.samples[i] = 1200 + (i % 2 ? 108 : -108) * differ;
			small.cycles[i] = 1;
			small.waits[i] = FLOW_WAITS_FOR_NOTHING;
		}
		const struct frequency_input input = { .graph = &small.graph,
						       .model = FREQUENCY_CYCLES_IN_ORDER,
						       .instruction_count = 4,
						       .blocks = small.blocks,
						       .samples = small.samples,
						       .issue_cycles = small.cycles,
						       .waits_for = small.waits };
		CLEANUP(frequencies_release) struct frequencies found;
		assert_int_equal(frequencies_new(&input, &found), 0);
		assert_int_equal(found.blocks[0].source, FREQUENCY_CLUSTER);
		assert_int_equal(found.blocks[0].confidence,
				 differ ? FREQUENCY_LOW : FREQUENCY_HIGH);
	}
}

/* Two instructions of one block: the lower one may have stalled as well as the other has. */
static void a_point_that_none_confirms_is_low(void **state)
{
	(void)state;
	for (int alone = 0; alone < 2; alone++) {
		CLEANUP(small_release) struct small small;
		small_init(&small, 2);
		add(&small, OUT, 0);
		add(&small, 0, 1);
		add(&small, 1, OUT);
		assert_int_equal(flow_graph_settle(&small.graph), 0);
		small.samples[0] = 3000;
		small.samples[1] = alone ? 9000 : 3000;
		CLEANUP(frequencies_release)
		struct frequencies found = ask(&small, FREQUENCY_CYCLES_IN_ORDER);
		assert_near(found.blocks[0].value, 3000, 0.05);
		assert_int_equal(found.blocks[0].source, FREQUENCY_CLUSTER);
		assert_int_equal(found.blocks[0].confidence,
				 alone ? FREQUENCY_LOW : FREQUENCY_HIGH);
	}
}

/* A block without cycles is entered from one whose points differ, and seldom from another. */
static void what_comes_of_an_unsure_value_is_low(void **state)
{
	(void)state;
	for (int differ = 0; differ < 2; differ++) {
		CLEANUP(small_release) struct small small;
		small_init(&small, 4);
		add(&small, OUT, 0);
		add(&small, OUT, 1);
		add(&small, 0, 2);
		add(&small, 1, 2);
		add(&small, 1, 3);
		add(&small, 2, OUT);
		add(&small, 3, OUT);
		assert_int_equal(flow_graph_settle(&small.graph), 0);
		for (uint32_t block = 1; block < 4; block++)
			small.blocks[block] = (struct flow_range){ block + 3, block + 4 };
		small.blocks[0].end = 4;
		for (uint32_t i = 0; i < 7; i++) {
			small.samples[i] = i >= 4 ? 100 : 1200 + (i % 2 ? 108 : -108) * differ;
			small.cycles[i] = i != 5;
			small.waits[i] = FLOW_WAITS_FOR_NOTHING;
		}
		small.samples[5] = 0;
		struct frequency_input input = input_of(&small, FREQUENCY_CYCLES_IN_ORDER);
		input.instruction_count = 7;
		CLEANUP(frequencies_release) struct frequencies found;
		assert_int_equal(frequencies_new(&input, &found), 0);
		assert_int_equal(found.blocks[2].source, FREQUENCY_PROPAGATED);
		assert_int_equal(found.blocks[2].confidence,
				 differ ? FREQUENCY_LOW : FREQUENCY_MEDIUM);
	}
}

/* An interpreter: each of 40 blocks jumps to any of them. One that was never seen stays rare. */
static void events_in_no_edge_do_not_add_up(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	small_init(&small, MOST_BLOCKS);
	for (uint32_t from = 0; from < MOST_BLOCKS; from++)
		for (uint32_t to = 0; to < MOST_BLOCKS; to++)
			add(&small, from, to);
	add(&small, OUT, 0);
	add(&small, 1, OUT);
	assert_int_equal(flow_graph_settle(&small.graph), 0);
	for (uint32_t block = 0; block + 1 < MOST_BLOCKS; block++)
		small.samples[block] = 100;
	CLEANUP(frequencies_release) struct frequencies found = ask(&small, FREQUENCY_EXECUTIONS);
	assert_near(found.blocks[5].value, 100, 0.05);
	assert_true(found.blocks[MOST_BLOCKS - 1].value < 0.3);
}

static void a_stalled_block_is_what_the_others_leave_for_it(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	diamond(&small);
	small.samples[2] = 60000;
	CLEANUP(frequencies_release)
	struct frequencies found = ask(&small, FREQUENCY_CYCLES_IN_ORDER);
	assert_near(found.blocks[2].value, 3000, 0.05);
	assert_int_equal(found.blocks[2].source, FREQUENCY_PROPAGATED);
	/* one of three that could be seen to stall does: some may do so unseen */
	assert_int_equal(found.blocks[2].confidence, FREQUENCY_LOW);
	assert_true(found.blocks[2].low < 3000 && 3000 < found.blocks[2].high);
}

static void a_block_without_cycles_is_what_flows_by(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	diamond(&small);
	small.samples[2] = small.cycles[2] = 0;
	CLEANUP(frequencies_release)
	struct frequencies found = ask(&small, FREQUENCY_CYCLES_IN_ORDER);
	assert_near(found.blocks[2].value, 3000, 0.05);
	assert_int_equal(found.blocks[2].source, FREQUENCY_PROPAGATED);
	assert_int_equal(found.blocks[2].confidence, FREQUENCY_LOW);
}

static void without_any_cycles_all_is_unknown(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	diamond(&small);
	memset(small.cycles, 0, sizeof(small.cycles));
	CLEANUP(frequencies_release)
	struct frequencies found = ask(&small, FREQUENCY_CYCLES_IN_ORDER);
	for (size_t i = 0; i < 4 + small.graph.edge_count; i++) {
		assert_int_equal(found.blocks[i].source, FREQUENCY_UNKNOWN);
		assert_int_equal(found.blocks[i].confidence, FREQUENCY_LOW);
		assert_true(isnan(found.blocks[i].value) && isnan(found.blocks[i].low) &&
			    isnan(found.blocks[i].high));
	}
}

/* Few executions are not none: of 0 events, up to 3 may well have been expected. */
static void no_samples_are_few_executions(void **state)
{
	(void)state;
	static const enum frequency_model models[] = { FREQUENCY_CYCLES_IN_ORDER,
						       FREQUENCY_EXECUTIONS };
	for (size_t i = 0; i < COUNT_OF(models); i++) {
		CLEANUP(small_release) struct small small;
		diamond(&small);
		memset(small.samples, 0, sizeof(small.samples));
		CLEANUP(frequencies_release) struct frequencies found = ask(&small, models[i]);
		for (uint32_t block = 0; block < 4; block++) {
			assert_true(found.blocks[block].value < 0.5);
			assert_true(found.blocks[block].low < 0.01 &&
				    found.blocks[block].high > 0.5);
			assert_int_equal(found.blocks[block].confidence, FREQUENCY_LOW);
		}
	}
}

/* Flow that is not all known says nothing against what a block says itself. */
static void with_missing_edges_blocks_speak_for_themselves_and_none_is_high(void **state)
{
	(void)state;
	static const enum frequency_model models[] = { FREQUENCY_CYCLES_IN_ORDER,
						       FREQUENCY_EXECUTIONS };
	for (size_t i = 0; i < COUNT_OF(models); i++) {
		CLEANUP(small_release) struct small small;
		diamond(&small);
		small.samples[2] = 6000;
		small.graph.missing_edges = true;
		CLEANUP(frequencies_release) struct frequencies found = ask(&small, models[i]);
		for (uint32_t block = 0; block < 4; block++) {
			assert_near(found.blocks[block].value, small.samples[block], 1e-12);
			assert_int_equal(found.blocks[block].source, FREQUENCY_SUM);
		}
		for (size_t k = 0; k < 4 + small.graph.edge_count; k++)
			assert_true(found.blocks[k].confidence != FREQUENCY_HIGH);
	}
}

static void an_endless_loop_runs_as_its_samples_say(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	small_init(&small, 3);
	add(&small, OUT, 0);
	add(&small, 0, 1);
	add(&small, 1, 2);
	add(&small, 2, 1);
	assert_int_equal(flow_graph_settle(&small.graph), 0);
	small.samples[0] = 100;
	small.samples[1] = small.samples[2] = 50000;
	CLEANUP(frequencies_release)
	struct frequencies found = ask(&small, FREQUENCY_CYCLES_IN_ORDER);
	assert_near(found.blocks[1].value, 50000, 0.01);
	assert_near(found.blocks[0].value, 100, 0.1);
}

static void no_blocks_no_values(void **state)
{
	(void)state;
	CLEANUP(small_release) struct small small;
	small_init(&small, 0);
	assert_int_equal(flow_graph_settle(&small.graph), 0);
	CLEANUP(frequencies_release)
	struct frequencies found = ask(&small, FREQUENCY_CYCLES_IN_ORDER);
	assert_false(found.is_relative);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simulated_programs_are_known_that_well),
		cmocka_unit_test(out_of_order_is_relative_and_never_high),
		cmocka_unit_test(classes_that_fit_are_high_and_edges_of_a_class_as_its_blocks),
		cmocka_unit_test(a_wide_interval_is_not_high),
		cmocka_unit_test(blocks_as_sure_as_the_hottest_are_medium_out_of_order),
		cmocka_unit_test(branches_that_were_seen_move_what_samples_say_out_of_order),
		cmocka_unit_test(counts_of_branch_stacks_are_executions),
		cmocka_unit_test(counted_edges_are_told_apart_where_blocks_do_not),
		cmocka_unit_test(a_class_whose_points_differ_is_low),
		cmocka_unit_test(a_point_that_none_confirms_is_low),
		cmocka_unit_test(what_comes_of_an_unsure_value_is_low),
		cmocka_unit_test(events_in_no_edge_do_not_add_up),
		cmocka_unit_test(a_stalled_block_is_what_the_others_leave_for_it),
		cmocka_unit_test(a_block_without_cycles_is_what_flows_by),
		cmocka_unit_test(without_any_cycles_all_is_unknown),
		cmocka_unit_test(no_samples_are_few_executions),
		cmocka_unit_test(with_missing_edges_blocks_speak_for_themselves_and_none_is_high),
		cmocka_unit_test(an_endless_loop_runs_as_its_samples_say),
		cmocka_unit_test(no_blocks_no_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
