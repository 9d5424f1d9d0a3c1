/*
 * Whose a sample is. Out of order an interrupt shows the instruction behind the one
 * that kept the others waiting, so its samples are charged to that one: inside a block
 * to the instruction before it, at the start of a block to the last ones of the blocks
 * that led there, shared out as often as these did. Where control came from outside, the
 * one that waited is in another procedure, and the samples stay. So do those at a repeated
 * string instruction, which is interrupted itself, between two elements.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cycles/cycles_private.h"
#include "base/cleanup.h"

void cycles_samples_release(struct cycles_samples *samples)
{
	free(samples->samples);
	*samples = (struct cycles_samples){ 0 };
}

static void take(const struct cfg *cfg, const struct annotate_procedure *from, size_t column,
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
	take(&procedure->cfg, procedure->procedure, column, divisor, out);
	take(&procedure->cfg, procedure->cold, column, divisor, out);
	return 0;
}

/* How often an edge was gone, to share by; 1 where that is not known. */
static double weight_of(const struct procedure_cycles *procedure, uint32_t edge)
{
	double value = procedure->frequencies.edges[edge].value;
	return isnan(value) ? 1 : value;
}

/* "rep stosb" and its like: they count rcx down and move a pointer along. */
static bool repeats(const struct procedure_cycles *procedure, uint32_t instruction)
{
	const struct instruction_effects *effects = &procedure->effects[instruction];
	return procedure->isa == ISA_X86_64 && effects->known &&
	       register_set_has(&effects->reads, X86_RCX) &&
	       register_set_has(&effects->writes, X86_RCX) &&
	       (register_set_has(&effects->writes, X86_RDI) ||
		register_set_has(&effects->writes, X86_RSI)) &&
	       (effects->reads_memory || effects->writes_memory);
}

/* Hands what stands at the first instruction of a block to the last ones of those before. */
static void charge_back(const struct procedure_cycles *procedure, uint32_t block,
			const double *from, double *to)
{
	const struct cfg *cfg = &procedure->cfg;
	struct flow_ends into = flow_graph_into(&cfg->graph, block);
	uint32_t leader = cfg->blocks[block].first;
	double sum = 0;
	if (from[leader] == 0)
		return;
	if (repeats(procedure, leader)) {
		to[leader] += from[leader];
		return;
	}
	for (size_t i = 0; i < into.count; i++)
		sum += weight_of(procedure, into.list[i]);
	for (size_t i = 0; i < into.count; i++) {
		const struct flow_edge *edge = &cfg->graph.edges[into.list[i]];
		double share =
			sum > 0 ? weight_of(procedure, into.list[i]) / sum : 1 / (double)into.count;
		uint32_t at = leader;
		if (edge->from != FLOW_OUTSIDE)
			at = cfg->blocks[edge->from].first + cfg->blocks[edge->from].count - 1;
		to[at] += from[leader] * share;
	}
}

static void charge_once(const struct procedure_cycles *procedure, double *values, double *scratch)
{
	const struct cfg *cfg = &procedure->cfg;
	memset(scratch, 0, cfg->instruction_count * sizeof(*scratch));
	for (uint32_t b = 0; b < cfg->graph.block_count; b++) {
		const struct cfg_block *block = &cfg->blocks[b];
		for (uint32_t i = block->first + 1; i < block->first + block->count; i++)
			scratch[repeats(procedure, i) ? i : i - 1] += values[i];
		charge_back(procedure, b, values, scratch);
	}
	memcpy(values, scratch, cfg->instruction_count * sizeof(*scratch));
}

int cycles_charge(const struct procedure_cycles *procedure, unsigned skid,
		  struct cycles_samples *samples)
{
	CLEANUP(free_pointer)
	double *scratch = calloc((size_t)procedure->cfg.instruction_count + 1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	for (unsigned step = 0; step < skid; step++) {
		charge_once(procedure, samples->samples, scratch);
		charge_once(procedure, samples->events, scratch);
	}
	return 0;
}
