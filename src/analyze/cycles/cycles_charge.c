/*
 * Which instruction a sample is charged to. Out of order an interrupt shows the
 * instruction behind the one that kept the others waiting, so its samples are charged to
 * that one: inside a block to the instruction before it, at the start of a block to the
 * last ones of the blocks that lead there, in proportion to how often they did. Where control
 * came from outside, the one that waited is in another procedure, and the samples stay. So do those
 * at a repeated string instruction, which is interrupted itself, between two elements.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cycles/cycles_private.h"
#include "base/array.h"
#include "base/cleanup.h"

void cycles_samples_release(struct cycles_samples *samples)
{
	free(samples->samples);
	*samples = (struct cycles_samples){ 0 };
}

static void add_samples(const struct cfg *cfg, const struct annotate_procedure *from, size_t column,
			double divisor, struct cycles_samples *out)
{
	if (!from || !from->sample_count)
		return;
	uint32_t next = cfg_instruction_from(cfg, from->samples[0].vaddr);
	for (size_t i = 0; i < from->sample_count; i++) {
		const struct annotate_sample *sample = &from->samples[i];
		if (sample->column != column)
			continue;
		double samples = (double)sample->cell.samples;
		double events = (double)sample->cell.estimate / divisor;
		while (next < cfg->instruction_count &&
		       cfg->instructions[next].vaddr < sample->vaddr)
			next++;
		if (next < cfg->instruction_count &&
		    cfg->instructions[next].vaddr == sample->vaddr) {
			out->samples[next] += samples;
			out->events[next] += events;
			out->sample_sum += samples;
			out->event_sum += events;
		} else {
			out->elsewhere_samples += samples;
			out->elsewhere_events += events;
		}
	}
}

int cycles_samples_of(const struct procedure_cycles *procedure, const struct event_columns *columns,
		      size_t column, struct cycles_samples *out)
{
	size_t count = procedure->cfg.instruction_count;
	*out = (struct cycles_samples){ .samples = calloc(2 * count + 1, sizeof(double)) };
	if (!out->samples)
		return -ENOMEM;
	out->events = out->samples + count;
	double divisor = event_column_divisor(&columns->list[column]);
	add_samples(&procedure->cfg, procedure->procedure, column, divisor, out);
	add_samples(&procedure->cfg, procedure->cold, column, divisor, out);
	return 0;
}

/* Executions of an edge, to share by; 1 where they are not known. */
static double weight_of(const struct procedure_cycles *procedure, uint32_t edge)
{
	double value = procedure->frequencies.edges[edge].value;
	return isnan(value) ? 1 : value;
}

bool cycles_repeats(const struct procedure_cycles *procedure, uint32_t instruction)
{
	const struct instruction_effects *effects = &procedure->effects[instruction];
	return procedure->isa == ISA_X86_64 && effects->known &&
	       register_set_has(&effects->reads, X86_RCX) &&
	       register_set_has(&effects->writes, X86_RCX) &&
	       (register_set_has(&effects->writes, X86_RDI) ||
		register_set_has(&effects->writes, X86_RSI)) &&
	       (effects->reads_memory || effects->writes_memory);
}

static int append(struct cycles_shares *to, uint32_t instruction, double share)
{
	if (array_reserve(&to->list, &to->capacity, to->count, sizeof(*to->list)) < 0)
		return -ENOMEM;
	to->list[to->count++] = (struct cycles_share){ instruction, share };
	return 0;
}

/* Samples at the first instruction of a block belong to the last ones of the blocks before it. */
static int share_with_blocks_before(const struct procedure_cycles *procedure, uint32_t block,
				    double share, struct cycles_shares *to)
{
	const struct cfg *cfg = &procedure->cfg;
	struct flow_ends into = flow_graph_into(&cfg->graph, block);
	double sum = 0;
	int ret = 0;
	for (size_t i = 0; i < into.count; i++)
		sum += weight_of(procedure, into.list[i]);
	for (size_t i = 0; i < into.count && ret == 0; i++) {
		const struct flow_edge *edge = &cfg->graph.edges[into.list[i]];
		double part =
			sum > 0 ? weight_of(procedure, into.list[i]) / sum : 1 / (double)into.count;
		uint32_t at = cfg->blocks[block].first;
		if (edge->from != FLOW_OUTSIDE)
			at = cfg->blocks[edge->from].first + cfg->blocks[edge->from].count - 1;
		ret = append(to, at, share * part);
	}
	return into.count ? ret : append(to, cfg->blocks[block].first, share);
}

int cycles_share_back(const struct procedure_cycles *procedure, uint32_t instruction, double share,
		      struct cycles_shares *to)
{
	if (cycles_repeats(procedure, instruction))
		return append(to, instruction, share);
	if (!procedure->cfg.instructions[instruction].leads)
		return append(to, instruction - 1, share);
	return share_with_blocks_before(procedure, cfg_block_of(&procedure->cfg, instruction),
					share, to);
}

void cycles_shares_release(struct cycles_shares *shares)
{
	free(shares->list);
	*shares = (struct cycles_shares){ 0 };
}

static int charge_once(const struct procedure_cycles *procedure, double *values, double *scratch,
		       struct cycles_shares *shares)
{
	size_t count = procedure->cfg.instruction_count;
	memset(scratch, 0, count * sizeof(*scratch));
	for (uint32_t i = 0; i < count; i++) {
		shares->count = 0;
		if (values[i] != 0 && cycles_share_back(procedure, i, values[i], shares) < 0)
			return -ENOMEM;
		for (size_t s = 0; s < shares->count; s++)
			scratch[shares->list[s].instruction] += shares->list[s].share;
	}
	memcpy(values, scratch, count * sizeof(*scratch));
	return 0;
}

int cycles_charge(const struct procedure_cycles *procedure, unsigned skid,
		  struct cycles_samples *samples)
{
	CLEANUP(free_pointer)
	double *scratch = calloc((size_t)procedure->cfg.instruction_count + 1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	CLEANUP(cycles_shares_release) struct cycles_shares shares = { 0 };
	int ret = 0;
	for (unsigned step = 0; step < skid && ret == 0; step++) {
		ret = charge_once(procedure, samples->samples, scratch, &shares);
		if (ret == 0)
			ret = charge_once(procedure, samples->events, scratch, &shares);
	}
	return ret;
}
