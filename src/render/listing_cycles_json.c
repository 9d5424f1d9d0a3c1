#include "render/listing_cycles_json.h"

#include <math.h>

#include "analyze/culprits/culprits.h"
#include "analyze/cycles/estimate_words.h"
#include "base/json_stream.h"
#include "render/listing.h"

/* ---- the document */

static void add_event(struct json_stream *json, const char *key, const struct cycles *cycles,
		      size_t column)
{
	if (column == CYCLES_NO_COLUMN)
		json_stream_null(json, key);
	else
		json_stream_span(json, key, cycles_index(cycles)->columns->list[column].name);
}

void listing_json_add_cycles(struct json_stream *json, const struct cycles *cycles)
{
	static const char *const fits[] = { [PIPELINE_FITS] = "fits",
					    [PIPELINE_KIND_KNOWN] = "kind_known",
					    [PIPELINE_GUESSED] = "guessed" };
	if (!cycles) {
		json_stream_null(json, "cycles");
		return;
	}
	const struct cycles_events *events = cycles_events(cycles);
	const struct pipeline_choice *choice = cycles_pipeline(cycles);
	json_stream_open(json, "cycles", '{', JSON_LINES);
	const char *const *notes;
	size_t count = cycles_notes(cycles, &notes);
	add_event(json, "time_event", cycles, events->time);
	add_event(json, "executions_event", cycles, events->executions);
	add_event(json, "instructions_event", cycles, events->instructions);
	json_stream_text(json, "model", frequency_model_word(events->model));
	json_stream_text(json, "scale", cycles_scale_word(events->scale));
	json_stream_u64(json, "skid_instructions", events->skid);
	json_stream_bool(json, "skid_assumed", events->skid_assumed);
	json_stream_text(json, "processor", choice->pipeline->name);
	json_stream_text(json, "processor_fit", fits[choice->fit]);
	json_stream_bool(json, "in_order", choice->pipeline->in_order);
	json_stream_texts(json, "notes", notes, count);
	json_stream_close(json, '}');
}

/* ---- procedures */

/* Relative executions are right up to a factor that is the procedure's own. */
static void add_executions(struct json_stream *json, const struct procedure_cycles *procedure,
			   const struct frequency *frequency)
{
	bool known = frequency->source != FREQUENCY_UNKNOWN;
	json_stream_open(json, "executions", '{', JSON_LINES);
	json_stream_double(json, "value", frequency->value);
	json_stream_double(json, "low", frequency->low);
	json_stream_double(json, "high", frequency->high);
	json_stream_text(json, "source", frequency_source_word(frequency->source));
	json_stream_text(json, "confidence",
			 known ? frequency_confidence_word(frequency->confidence) : NULL);
	json_stream_bool(json, "relative", procedure->scale == CYCLES_RELATIVE);
	json_stream_close(json, '}');
}

/* Where no scale is known there is no CPI, but the cost relative to other instructions. */
static void add_cpi(struct json_stream *json, const struct procedure_cycles *procedure,
		    const struct cycles_cost *cost)
{
	bool relative = procedure->scale == CYCLES_RELATIVE;
	json_stream_double(json, "cpi", relative ? NAN : cost->cpi);
	json_stream_double(json, "best_cpi", relative ? NAN : cost->best_cpi);
	json_stream_double(json, "relative_cost", relative ? cost->cpi : NAN);
}

static void add_cost(struct json_stream *json, const struct procedure_cycles *procedure,
		     const struct cycles_cost *cost)
{
	bool relative = procedure->scale == CYCLES_RELATIVE;
	json_stream_double(json, "charged_samples", cost->samples);
	json_stream_double(json, "charged_cycles", cost->cycles);
	json_stream_double(json, "best_cycles", relative ? NAN : cost->best_cycles);
	add_cpi(json, procedure, cost);
	json_stream_double(json, "cpi_low", relative ? NAN : cost->low);
	json_stream_double(json, "cpi_high", relative ? NAN : cost->high);
	json_stream_double(json, "relative_cost_low", relative ? cost->low : NAN);
	json_stream_double(json, "relative_cost_high", relative ? cost->high : NAN);
}

static void add_number(struct json_stream *json, const char *key, uint32_t number, uint32_t none)
{
	if (number == none)
		json_stream_null(json, key);
	else
		json_stream_u64(json, key, number);
}

static void add_blocks(struct json_stream *json, const struct procedure_cycles *procedure)
{
	const struct cfg *cfg = &procedure->cfg;
	json_stream_open(json, "blocks", '[', JSON_LINES);
	for (uint32_t b = 0; b < cfg->graph.block_count; b++) {
		const struct cfg_block *block = &cfg->blocks[b];
		const struct schedule_bounds *bounds = &procedure->bounds[b];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_hex(json, "vaddr", cfg->instructions[block->first].vaddr);
		json_stream_u64(json, "instructions", block->count);
		add_number(json, "loop", procedure->loops.of_block[b], FLOW_NO_LOOP);
		add_executions(json, procedure, &procedure->frequencies.blocks[b]);
		add_cost(json, procedure, &procedure->blocks[b]);
		json_stream_double(json, "width_bound_cycles", bounds->width_cycles);
		json_stream_double(json, "unit_bound_cycles", bounds->unit_cycles);
		json_stream_double(json, "latency_bound_cycles", bounds->latency_cycles);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_loops(struct json_stream *json, const struct procedure_cycles *procedure)
{
	json_stream_open(json, "loops", '[', JSON_LINES);
	for (uint32_t l = 0; l < procedure->loops.count; l++) {
		const struct flow_loop *loop = &procedure->loops.list[l];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_u64(json, "header_block", loop->header);
		add_number(json, "parent", loop->parent, FLOW_NO_LOOP);
		json_stream_u64(json, "depth", loop->depth);
		json_stream_u64(json, "blocks", loop->block_count);
		json_stream_bool(json, "irreducible", loop->irreducible);
		add_cost(json, procedure, &procedure->loop_costs[l]);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_edges(struct json_stream *json, const struct procedure_cycles *procedure)
{
	static const char *const kinds[] = {
		[FLOW_NEXT] = "next",	       [FLOW_BRANCH] = "branch",
		[FLOW_INDIRECT] = "indirect",  [FLOW_ENTRY] = "entry",
		[FLOW_OTHER_ENTRY] = "entry",  [FLOW_LANDING] = "landing",
		[FLOW_RETURN] = "return",      [FLOW_TAIL] = "tail",
		[FLOW_NO_RETURN] = "no_return"
	};
	const struct flow_graph *graph = &procedure->cfg.graph;
	json_stream_open(json, "edges", '[', JSON_LINES);
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct flow_edge *edge = &graph->edges[e];
		json_stream_open(json, NULL, '{', JSON_LINES);
		add_number(json, "from_block", edge->from, FLOW_OUTSIDE);
		add_number(json, "to_block", edge->to, FLOW_OUTSIDE);
		json_stream_text(json, "kind", kinds[edge->kind]);
		add_executions(json, procedure, &procedure->frequencies.edges[e]);
		json_stream_double(json, "seen",
				   procedure->evidence ? procedure->evidence[e] : NAN);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

void listing_json_add_procedure_cycles(struct json_stream *json,
				       const struct listing_subject *subject)
{
	const struct procedure_cycles *procedure = subject->cycles;
	json_stream_text(json, "no_cycles", subject->no_cycles);
	if (!procedure) {
		json_stream_null(json, "cycles");
		return;
	}
	json_stream_open(json, "cycles", '{', JSON_LINES);
	json_stream_text(json, "model", frequency_model_word(procedure->model));
	json_stream_text(json, "scale", cycles_scale_word(procedure->scale));
	json_stream_double(json, "processor_cycle", procedure->cycle);
	add_cost(json, procedure, &procedure->whole);
	json_stream_double(json, "instructions_executed", procedure->whole.executed);
	json_stream_double(json, "elsewhere_samples", procedure->elsewhere_samples);
	json_stream_double(json, "elsewhere_cycles", procedure->elsewhere_cycles);
	json_stream_bool(json, "missing_edges", procedure->cfg.graph.missing_edges);
	json_stream_known(json, "branches_seen_unmatched", procedure->evidence,
			  procedure->evidence_unmatched);
	add_blocks(json, procedure);
	add_loops(json, procedure);
	add_edges(json, procedure);
	json_stream_close(json, '}');
}

/* ---- rows */

static void add_schedule(struct json_stream *json, const struct procedure_cycles *procedure,
			 uint32_t instruction, uint32_t block)
{
	static const char *const waits[] = { [SCHEDULE_WAITS_NOT] = NULL,
					     [SCHEDULE_SLOTTING] = "slotting",
					     [SCHEDULE_OPERAND] = "operand",
					     [SCHEDULE_UNIT] = "unit" };
	const struct scheduled *at = &procedure->schedule[instruction];
	json_stream_open(json, "schedule", '{', JSON_LINES);
	json_stream_double(json, "issue_cycle", at->issue_cycle);
	json_stream_double(json, "head_cycles", at->head_cycles);
	json_stream_text(json, "wait", waits[at->wait]);
	json_stream_text(json, "wait_register",
			 at->wait == SCHEDULE_OPERAND
				 ? register_name(procedure->isa, at->wait_register)
				 : NULL);
	if ((at->wait == SCHEDULE_OPERAND || at->wait == SCHEDULE_UNIT) &&
	    at->wait_for != SCHEDULE_BEFORE)
		json_stream_hex(
			json, "wait_for_vaddr",
			procedure->cfg
				.instructions[procedure->cfg.blocks[block].first + at->wait_for]
				.vaddr);
	else
		json_stream_null(json, "wait_for_vaddr");
	json_stream_close(json, '}');
}

static void add_address(struct json_stream *json, const char *key, const struct cfg *cfg,
			uint32_t instruction)
{
	if (instruction == CULPRIT_NO_INSTRUCTION)
		json_stream_null(json, key);
	else
		json_stream_hex(json, key, cfg->instructions[instruction].vaddr);
}

static void add_causes(struct json_stream *json, const struct culprits *culprits,
		       const struct stall *stall)
{
	json_stream_open(json, "causes", '[', JSON_LINES);
	for (uint32_t i = 0; i < stall->culprit_count; i++) {
		const struct culprit *culprit = &culprits->list[stall->culprits + i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "cause", dynamic_cause_key(culprit->cause));
		add_address(json, "culprit_vaddr", &culprits->procedure->cfg, culprit->instruction);
		json_stream_double(json, "cycles_low", culprit->low);
		json_stream_double(json, "cycles_high", culprit->high);
		json_stream_bool(json, "bound_by_events", culprit->bound_by_events);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

/* Its cycles are those of all executions together, in the unit of the time event. */
static void add_stall(struct json_stream *json, const struct culprits *culprits,
		      uint32_t instruction)
{
	const struct cfg *cfg = &culprits->procedure->cfg;
	const struct stall *stall = &culprits->stalls[instruction];
	json_stream_open(json, "stall", '{', JSON_LINES);
	bool is_static = stall->static_cause != STATIC_NONE;
	json_stream_double(json, "issue_cycles", stall->issue_cycles);
	json_stream_double(json, "static_cycles", stall->static_cycles);
	json_stream_text(json, "static_cause",
			 is_static ? static_cause_key(stall->static_cause) : NULL);
	json_stream_text(json, "static_register",
			 is_static && stall->static_register != REGISTER_NONE
				 ? register_name(culprits->procedure->isa, stall->static_register)
				 : NULL);
	add_address(json, "static_culprit_vaddr", cfg,
		    is_static ? stall->static_instruction : CULPRIT_NO_INSTRUCTION);
	json_stream_double(json, "dynamic_cycles", stall->dynamic_cycles);
	json_stream_double(json, "dynamic_cycles_low", stall->dynamic_low);
	json_stream_double(json, "dynamic_cycles_high", stall->dynamic_high);
	json_stream_double(json, "dynamic_cycles_most", stall->most_cycles);
	json_stream_double(json, "noise_cycles", stall->noise_cycles);
	json_stream_double(json, "unexplained_cycles", stall->unexplained_cycles);
	add_causes(json, culprits, stall);
	json_stream_close(json, '}');
}

void listing_json_add_row_cycles(struct json_stream *json, const struct listing_subject *subject,
				 const struct annotated_row *row)
{
	const struct procedure_cycles *procedure = subject->cycles;
	if (!procedure || row->kind != ANNOTATED_INSTRUCTION)
		return;
	uint32_t instruction = cfg_instruction_at(&procedure->cfg, row->vaddr);
	if (instruction == CFG_NO_INSTRUCTION ||
	    procedure->cfg.instructions[instruction].vaddr != row->vaddr)
		return;
	uint32_t block = cfg_block_of(&procedure->cfg, instruction);
	json_stream_u64(json, "block", block);
	add_executions(json, procedure, &procedure->frequencies.blocks[block]);
	add_cost(json, procedure, &procedure->instructions[instruction]);
	add_schedule(json, procedure, instruction, block);
	if (subject->culprits && subject->culprits->known)
		add_stall(json, subject->culprits, instruction);
	else
		json_stream_null(json, "stall");
}

void listing_json_add_line_cycles(struct json_stream *json,
				  const struct procedure_cycles *procedure,
				  const struct cycles_cost *cost)
{
	if (!cost)
		return;
	json_stream_double(json, "charged_samples", cost->samples);
	json_stream_double(json, "charged_cycles", cost->cycles);
	add_cpi(json, procedure, cost);
}
