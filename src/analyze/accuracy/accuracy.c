#include "analyze/accuracy/accuracy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/accuracy/accuracy_causes.h"
#include "analyze/accuracy/exact_counts.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#define BUCKET_WIDTH 0.05
#define FAR_OFF	     0.15 /* "off by more than 15 %" */

const double accuracy_limits[ACCURACY_LIMITS] = { 0.05, 0.10, 0.15 };

/* A block or an edge that ran, with its estimate as it is. */
struct pair {
	double weight, truth;
	struct frequency estimate;
	size_t procedure; /* in accuracy->procedures */
};

struct pairs {
	struct pair *list;
	size_t count, capacity;
};

struct builder {
	struct accuracy *accuracy;
	struct cycles *cycles;
	const struct exact_counts *truth;
	size_t column; /* whose samples weigh */
	struct pairs blocks, edges;
	struct accuracy_causes causes;
	size_t procedure_capacity;
};

void accuracy_free(struct accuracy *accuracy)
{
	if (!accuracy)
		return;
	free(accuracy->procedures);
	free(accuracy);
}

void accuracy_freep(struct accuracy **accuracy)
{
	accuracy_free(*accuracy);
}

static void builder_release(struct builder *builder)
{
	accuracy_causes_release(&builder->causes);
	free(builder->blocks.list);
	free(builder->edges.list);
}

static int add_pair(struct pairs *pairs, const struct pair *pair)
{
	if (array_reserve(&pairs->list, &pairs->capacity, pairs->count, sizeof(*pairs->list)) < 0)
		return -ENOMEM;
	pairs->list[pairs->count++] = *pair;
	return 0;
}

/* ---- one procedure */

/* Adds samples at their own addresses by block; those in no block to accuracy->no_block. */
static void add_weights(struct builder *builder, const struct cfg *cfg,
			const struct annotate_procedure *part, double *weights)
{
	for (size_t i = 0; part && i < part->sample_count; i++) {
		const struct annotate_sample *sample = &part->samples[i];
		if (sample->column != builder->column)
			continue;
		uint32_t block = cfg_block_at(cfg, sample->vaddr);
		if (block == CFG_NO_BLOCK)
			builder->accuracy->no_block += (double)sample->cell.samples;
		else
			weights[block] += (double)sample->cell.samples;
	}
}

/* Executions of a block: of its first instruction that is no string instruction, of which callgrind
 * counts each round. NaN: there is none. */
static double count_block(const struct builder *builder, const struct procedure_cycles *procedure,
			  uint32_t image, uint32_t block)
{
	const struct cfg_block *extent = &procedure->cfg.blocks[block];
	for (uint32_t i = extent->first; i < extent->first + extent->count; i++)
		if (procedure->effects[i].class != LATENCY_MICROCODE)
			return builder->accuracy->request.runs *
			       exact_counts_count(builder->truth,
						  exact_counts_executions_column(builder->truth),
						  image, procedure->cfg.instructions[i].vaddr);
	return NAN;
}

/* How often control went along an edge between two blocks. `executions` are the first one's. */
static double count_edge(const struct builder *builder, const struct procedure_cycles *procedure,
			 uint32_t image, const struct flow_edge *edge, double executions)
{
	const struct cfg *cfg = &procedure->cfg;
	const struct cfg_block *from = &cfg->blocks[edge->from];
	const struct cfg_instruction *last = &cfg->instructions[from->first + from->count - 1];
	uint64_t to = cfg->instructions[cfg->blocks[edge->to].first].vaddr;
	double runs = builder->accuracy->request.runs;
	if (edge->kind != FLOW_NEXT)
		return runs * exact_counts_jumps(builder->truth, image, last->vaddr, to);
	if (last->kind != INSTRUCTION_CONDITIONAL)
		return executions;
	return executions -
	       runs * exact_counts_jumps_elsewhere(builder->truth, image, last->vaddr, to);
}

static int add_blocks(struct builder *builder, const struct procedure_cycles *procedure,
		      uint32_t image, double *executions)
{
	struct accuracy *accuracy = builder->accuracy;
	struct accuracy_procedure *entry = &accuracy->procedures[accuracy->procedure_count];
	const struct cfg *cfg = &procedure->cfg;
	CLEANUP(free_pointer)
	double *weights = calloc((size_t)cfg->graph.block_count + 1, sizeof(*weights));
	if (!weights)
		return -ENOMEM;
	add_weights(builder, cfg, procedure->procedure, weights);
	add_weights(builder, cfg, procedure->cold, weights);
	for (uint32_t b = 0; b < cfg->graph.block_count; b++) {
		executions[b] = count_block(builder, procedure, image, b);
		if (isnan(executions[b]))
			accuracy->uncountable += weights[b];
		else if (executions[b] <= 0)
			accuracy->never_executed += weights[b];
		else
			entry->samples += weights[b];
		const struct pair pair = { weights[b], executions[b],
					   procedure->frequencies.blocks[b],
					   accuracy->procedure_count };
		if (executions[b] > 0 && add_pair(&builder->blocks, &pair) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_edges(struct builder *builder, const struct procedure_cycles *procedure,
		     uint32_t image, const double *executions)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct flow_edge *edge = &graph->edges[e];
		if (edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE)
			continue;
		double count = count_edge(builder, procedure, image, edge, executions[edge->from]);
		const struct pair pair = { count, count, procedure->frequencies.edges[e],
					   builder->accuracy->procedure_count };
		if (count > 0 && add_pair(&builder->edges, &pair) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Executions of jumps inside of the procedure along which its graph has no edge. */
static double count_missing(const struct builder *builder, const struct procedure_cycles *procedure,
			    uint32_t image)
{
	const struct cfg *cfg = &procedure->cfg;
	double sum = 0;
	for (uint32_t b = 0; b < cfg->graph.block_count; b++) {
		const struct cfg_block *block = &cfg->blocks[b];
		const struct cfg_instruction *last =
			&cfg->instructions[block->first + block->count - 1];
		struct flow_ends ends = flow_graph_out_of(&cfg->graph, b);
		if (last->kind != INSTRUCTION_JUMP && last->kind != INSTRUCTION_CONDITIONAL)
			continue;
		for (uint32_t p = 0; p < cfg->part_count; p++)
			sum += exact_counts_jumps_into(builder->truth, image, last->vaddr,
						       cfg->parts[p].first, cfg->parts[p].last);
		for (size_t i = 0; i < ends.count; i++) {
			uint32_t to = cfg->graph.edges[ends.list[i]].to;
			if (to != FLOW_OUTSIDE)
				sum -= exact_counts_jumps(
					builder->truth, image, last->vaddr,
					cfg->instructions[cfg->blocks[to].first].vaddr);
		}
	}
	return builder->accuracy->request.runs * sum;
}

static double samples_of(const struct builder *builder, const struct annotate_procedure *part)
{
	return part ? (double)part->cells[builder->column].samples : 0;
}

static int add_procedure(struct builder *builder, size_t position, struct error *err)
{
	struct accuracy *accuracy = builder->accuracy;
	const struct annotate_procedure *annotated =
		&cycles_index(builder->cycles)->procedures[position];
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *procedure = NULL;
	double samples = samples_of(builder, annotated);
	uint32_t image = exact_counts_image(builder->truth, annotated->procedure->image);
	int ret = cycles_of_procedure(builder->cycles, position, &procedure, err);
	if (ret < 0 && ret != -ENODATA)
		return ret;
	if (procedure)
		samples += samples_of(builder, procedure->cold);
	accuracy->samples += samples;
	if (!image)
		accuracy->not_counted += samples;
	else if (!procedure)
		accuracy->no_code += samples;
	if (!image || !procedure || samples <= 0)
		return 0;
	CLEANUP(free_pointer)
	double *executions =
		calloc((size_t)procedure->cfg.graph.block_count + 1, sizeof(*executions));
	if (!executions ||
	    array_reserve(&accuracy->procedures, &builder->procedure_capacity,
			  accuracy->procedure_count, sizeof(*accuracy->procedures)) < 0)
		return error_set(err, -ENOMEM, "out of memory for the accuracy of estimates");
	accuracy->procedures[accuracy->procedure_count] =
		(struct accuracy_procedure){ .procedure = annotated, .factor = 1 };
	if (add_blocks(builder, procedure, image, executions) < 0 ||
	    add_edges(builder, procedure, image, executions) < 0)
		return error_set(err, -ENOMEM, "out of memory for the accuracy of estimates");
	accuracy->procedure_count++;
	accuracy->missing_edges += count_missing(builder, procedure, image);
	return accuracy_causes_add(&builder->causes, procedure, image, err);
}

/* ---- one factor for several estimates */

struct weighted {
	double value, weight;
};

static int compare_weighted(const void *left, const void *right)
{
	double a = ((const struct weighted *)left)->value;
	double b = ((const struct weighted *)right)->value;
	return (a > b) - (a < b);
}

/* The value at which half of the weight is reached; 1 without any. */
static double weighted_median(struct weighted *list, size_t count)
{
	double whole = 0, sum = 0;
	for (size_t i = 0; i < count; i++)
		whole += list[i].weight;
	qsort(list, count, sizeof(*list), compare_weighted);
	for (size_t i = 0; i < count; i++) {
		sum += list[i].weight;
		if (sum >= whole / 2 && whole > 0)
			return list[i].value;
	}
	return 1;
}

/* The median of truth over estimate, of the blocks first..end-1 weighted by samples. */
static double factor_of(const struct pairs *pairs, size_t first, size_t end,
			struct weighted *scratch)
{
	size_t count = 0;
	for (size_t i = first; i < end; i++) {
		const struct pair *pair = &pairs->list[i];
		if (pair->estimate.value > 0 && pair->weight > 0)
			scratch[count++] = (struct weighted){ pair->truth / pair->estimate.value,
							      pair->weight };
	}
	return weighted_median(scratch, count);
}

/* Pairs of one procedure stand together. */
static int find_factors(struct builder *builder)
{
	struct accuracy *accuracy = builder->accuracy;
	const struct pairs *pairs = &builder->blocks;
	if (accuracy->request.scale == ACCURACY_ABSOLUTE)
		return 0;
	CLEANUP(free_pointer) struct weighted *scratch = calloc(pairs->count + 1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	double whole = factor_of(pairs, 0, pairs->count, scratch);
	size_t first = 0;
	for (size_t p = 0; p < accuracy->procedure_count; p++) {
		size_t end = first;
		while (end < pairs->count && pairs->list[end].procedure == p)
			end++;
		accuracy->procedures[p].factor = accuracy->request.scale == ACCURACY_PROGRAM
							 ? whole
							 : factor_of(pairs, first, end, scratch);
		first = end;
	}
	return 0;
}

/* ---- sums */

static void add_to(struct accuracy_sum *sum, double weight, double error)
{
	sum->count++;
	sum->weight += weight;
	if (isnan(error)) {
		sum->unknown += weight;
		return;
	}
	double bucket = floor(error / BUCKET_WIDTH) + ACCURACY_BUCKETS / 2;
	sum->buckets[(size_t)fmin(fmax(bucket, 0), ACCURACY_BUCKETS - 1)] += weight;
	for (size_t i = 0; i < ACCURACY_LIMITS; i++)
		if (fabs(error) <= accuracy_limits[i])
			sum->within[i] += weight;
}

static void add_interval(struct accuracy_intervals *intervals, const struct pair *pair,
			 double factor)
{
	double low = pair->estimate.low * factor, high = pair->estimate.high * factor;
	double value = pair->estimate.value * factor;
	if (isnan(low) || isnan(high) || !(value > 0))
		return;
	bool held = pair->truth >= low && pair->truth <= high;
	intervals->count++;
	intervals->held += held;
	intervals->weight += pair->weight;
	intervals->held_weight += held ? pair->weight : 0;
	intervals->width += pair->weight * (high - low) / value; /* a sum, until the end */
}

static void sum_up(struct builder *builder)
{
	struct accuracy *accuracy = builder->accuracy;
	for (size_t i = 0; i < builder->blocks.count; i++) {
		const struct pair *pair = &builder->blocks.list[i];
		struct accuracy_procedure *procedure = &accuracy->procedures[pair->procedure];
		double error = pair->estimate.value * procedure->factor / pair->truth - 1;
		enum frequency_confidence confidence =
			isnan(error) ? FREQUENCY_LOW : pair->estimate.confidence;
		add_interval(&accuracy->intervals, pair, procedure->factor);
		if (pair->weight <= 0)
			continue;
		add_to(&accuracy->instructions, pair->weight, error);
		add_to(&accuracy->instruction_classes[confidence], pair->weight, error);
		add_to(&procedure->instructions, pair->weight, error);
		if (fabs(error) <= FAR_OFF)
			continue;
		accuracy->off_weight += pair->weight;
		accuracy->off_low += confidence == FREQUENCY_LOW ? pair->weight : 0;
	}
	for (size_t i = 0; i < builder->edges.count; i++) {
		const struct pair *pair = &builder->edges.list[i];
		struct accuracy_procedure *procedure = &accuracy->procedures[pair->procedure];
		double error = pair->estimate.value * procedure->factor / pair->truth - 1;
		add_to(&accuracy->edges, pair->weight, error);
		add_to(&accuracy->edge_classes[isnan(error) ? FREQUENCY_LOW
							    : pair->estimate.confidence],
		       pair->weight, error);
		add_to(&procedure->edges, pair->weight, error);
	}
	struct accuracy_intervals *intervals = &accuracy->intervals;
	intervals->width = intervals->weight > 0 ? intervals->width / intervals->weight : NAN;
}

/* Those with judged samples, the most first; equal ones as they were, by the index's order. */
static int compare_procedures(const void *left, const void *right)
{
	const struct accuracy_procedure *a = left, *b = right;
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return (a->procedure > b->procedure) - (a->procedure < b->procedure);
}

static void order_procedures(struct accuracy *accuracy)
{
	if (!accuracy->procedure_count)
		return;
	qsort(accuracy->procedures, accuracy->procedure_count, sizeof(*accuracy->procedures),
	      compare_procedures);
	while (accuracy->procedure_count &&
	       accuracy->procedures[accuracy->procedure_count - 1].samples <= 0)
		accuracy->procedure_count--;
}

int accuracy_new(struct cycles *cycles, const struct exact_counts *truth, const uint32_t *positions,
		 size_t count, const struct accuracy_request *request, struct accuracy **out,
		 struct error *err)
{
	const struct cycles_events *events = cycles_events(cycles);
	CLEANUP(accuracy_freep) struct accuracy *accuracy = calloc(1, sizeof(*accuracy));
	CLEANUP(builder_release)
	struct builder builder = {
		.accuracy = accuracy,
		.cycles = cycles,
		.truth = truth,
		.column = events->time != CYCLES_NO_COLUMN ? events->time : events->executions,
	};
	int ret = 0;
	if (!accuracy)
		return error_set(err, -ENOMEM, "out of memory for the accuracy of estimates");
	accuracy->request = *request;
	accuracy_causes_init(&builder.causes, truth, cycles_index(cycles));
	if (!positions)
		count = cycles_index(cycles)->count;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		size_t position = positions ? positions[i] : i;
		if (!cycles_is_counted_elsewhere(cycles, position))
			ret = add_procedure(&builder, position, err);
	}
	if (ret < 0)
		return ret;
	if (find_factors(&builder) < 0 ||
	    accuracy_causes_sum_up(&builder.causes, accuracy->causes, &accuracy->cause_count) < 0)
		return error_set(err, -ENOMEM, "out of memory for the accuracy of estimates");
	sum_up(&builder);
	order_procedures(accuracy);
	if (!accuracy->procedure_count)
		return error_set(err, -ENODATA,
				 "no sample is in code that the exact counts have: is it the same "
				 "program, and are its files at the same paths?");
	*out = accuracy;
	accuracy = NULL; /* the caller's from here on */
	return 0;
}
