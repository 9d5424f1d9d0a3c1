#include "render/listing_cycles_json.h"

#include <math.h>

#include "analyze/culprits/culprits.h"
#include "analyze/cycles/estimate_words.h"
#include "render/json_value.h"
#include "render/listing.h"

/* ---- the document */

static void add_event(struct json_writer *writer, struct json_object *object, const char *key,
		      const struct cycles *cycles, size_t column)
{
	if (column == CYCLES_NO_COLUMN)
		json_add_null(writer, object, key);
	else
		json_add_span(writer, object, key,
			      cycles_index(cycles)->columns->list[column].name);
}

void listing_json_add_cycles(struct json_writer *writer, struct json_object *object,
			     const struct cycles *cycles)
{
	static const char *const fits[] = { [PIPELINE_FITS] = "fits",
					    [PIPELINE_KIND_KNOWN] = "kind_known",
					    [PIPELINE_GUESSED] = "guessed" };
	if (!cycles) {
		json_add_null(writer, object, "cycles");
		return;
	}
	const struct cycles_events *events = cycles_events(cycles);
	const struct pipeline_choice *choice = cycles_pipeline(cycles);
	struct json_object *inner = json_new_object(writer);
	const char *const *notes;
	size_t count = cycles_notes(cycles, &notes);
	add_event(writer, inner, "time_event", cycles, events->time);
	add_event(writer, inner, "executions_event", cycles, events->executions);
	add_event(writer, inner, "instructions_event", cycles, events->instructions);
	json_add_text(writer, inner, "model", frequency_model_word(events->model));
	json_add_text(writer, inner, "scale", cycles_scale_word(events->scale));
	json_add_u64(writer, inner, "skid_instructions", events->skid);
	json_add_bool(writer, inner, "skid_assumed", events->skid_assumed);
	json_add_text(writer, inner, "processor", choice->pipeline->name);
	json_add_text(writer, inner, "processor_fit", fits[choice->fit]);
	json_add_bool(writer, inner, "in_order", choice->pipeline->in_order);
	json_add_texts(writer, inner, "notes", notes, count);
	json_add(writer, object, "cycles", inner);
}

/* ---- procedures */

/* Executions: relative ones are right up to a factor of the procedure's own. */
static void add_executions(struct json_writer *writer, struct json_object *object,
			   const struct procedure_cycles *procedure,
			   const struct frequency *frequency)
{
	bool known = frequency->source != FREQUENCY_UNKNOWN;
	struct json_object *inner = json_new_object(writer);
	json_add_double(writer, inner, "value", frequency->value);
	json_add_double(writer, inner, "low", frequency->low);
	json_add_double(writer, inner, "high", frequency->high);
	json_add_text(writer, inner, "source", frequency_source_word(frequency->source));
	json_add_text(writer, inner, "confidence",
		      known ? frequency_confidence_word(frequency->confidence) : NULL);
	json_add_bool(writer, inner, "relative", procedure->scale == CYCLES_RELATIVE);
	json_add(writer, object, "executions", inner);
}

/* Without a scale there are no cycles an instruction: what it costs beside the others is. */
static void add_cpi(struct json_writer *writer, struct json_object *object,
		    const struct procedure_cycles *procedure, const struct cycles_cost *cost)
{
	bool relative = procedure->scale == CYCLES_RELATIVE;
	json_add_double(writer, object, "cpi", relative ? NAN : cost->cpi);
	json_add_double(writer, object, "best_cpi", relative ? NAN : cost->best_cpi);
	json_add_double(writer, object, "relative_cost", relative ? cost->cpi : NAN);
}

static void add_cost(struct json_writer *writer, struct json_object *object,
		     const struct procedure_cycles *procedure, const struct cycles_cost *cost)
{
	bool relative = procedure->scale == CYCLES_RELATIVE;
	json_add_double(writer, object, "charged_samples", cost->samples);
	json_add_double(writer, object, "charged_cycles", cost->cycles);
	json_add_double(writer, object, "best_cycles", relative ? NAN : cost->best_cycles);
	add_cpi(writer, object, procedure, cost);
	json_add_double(writer, object, "cpi_low", relative ? NAN : cost->low);
	json_add_double(writer, object, "cpi_high", relative ? NAN : cost->high);
	json_add_double(writer, object, "relative_cost_low", relative ? cost->low : NAN);
	json_add_double(writer, object, "relative_cost_high", relative ? cost->high : NAN);
}

static void add_number(struct json_writer *writer, struct json_object *object, const char *key,
		       uint32_t number, uint32_t none)
{
	if (number == none)
		json_add_null(writer, object, key);
	else
		json_add_u64(writer, object, key, number);
}

static struct json_object *blocks(struct json_writer *writer,
				  const struct procedure_cycles *procedure)
{
	const struct cfg *cfg = &procedure->cfg;
	struct json_object *array = json_new_array(writer);
	for (uint32_t b = 0; b < cfg->graph.block_count; b++) {
		const struct cfg_block *block = &cfg->blocks[b];
		const struct schedule_bounds *bounds = &procedure->bounds[b];
		struct json_object *object = json_new_object(writer);
		json_add_hex(writer, object, "vaddr", cfg->instructions[block->first].vaddr);
		json_add_u64(writer, object, "instructions", block->count);
		add_number(writer, object, "loop", procedure->loops.of_block[b], FLOW_NO_LOOP);
		add_executions(writer, object, procedure, &procedure->frequencies.blocks[b]);
		add_cost(writer, object, procedure, &procedure->blocks[b]);
		json_add_double(writer, object, "width_bound_cycles", bounds->width_cycles);
		json_add_double(writer, object, "unit_bound_cycles", bounds->unit_cycles);
		json_add_double(writer, object, "latency_bound_cycles", bounds->latency_cycles);
		json_append(writer, array, object);
	}
	return array;
}

static struct json_object *loops(struct json_writer *writer,
				 const struct procedure_cycles *procedure)
{
	struct json_object *array = json_new_array(writer);
	for (uint32_t l = 0; l < procedure->loops.count; l++) {
		const struct flow_loop *loop = &procedure->loops.list[l];
		struct json_object *object = json_new_object(writer);
		json_add_u64(writer, object, "header_block", loop->header);
		add_number(writer, object, "parent", loop->parent, FLOW_NO_LOOP);
		json_add_u64(writer, object, "depth", loop->depth);
		json_add_u64(writer, object, "blocks", loop->block_count);
		json_add_bool(writer, object, "irreducible", loop->irreducible);
		add_cost(writer, object, procedure, &procedure->loop_costs[l]);
		json_append(writer, array, object);
	}
	return array;
}

static struct json_object *edges(struct json_writer *writer,
				 const struct procedure_cycles *procedure)
{
	static const char *const kinds[] = {
		[FLOW_NEXT] = "next",	       [FLOW_BRANCH] = "branch",
		[FLOW_INDIRECT] = "indirect",  [FLOW_ENTRY] = "entry",
		[FLOW_OTHER_ENTRY] = "entry",  [FLOW_LANDING] = "landing",
		[FLOW_RETURN] = "return",      [FLOW_TAIL] = "tail",
		[FLOW_NO_RETURN] = "no_return"
	};
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct json_object *array = json_new_array(writer);
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct flow_edge *edge = &graph->edges[e];
		struct json_object *object = json_new_object(writer);
		add_number(writer, object, "from_block", edge->from, FLOW_OUTSIDE);
		add_number(writer, object, "to_block", edge->to, FLOW_OUTSIDE);
		json_add_text(writer, object, "kind", kinds[edge->kind]);
		add_executions(writer, object, procedure, &procedure->frequencies.edges[e]);
		if (procedure->evidence)
			json_add_double(writer, object, "seen", procedure->evidence[e]);
		else
			json_add_null(writer, object, "seen");
		json_append(writer, array, object);
	}
	return array;
}

void listing_json_add_procedure_cycles(struct json_writer *writer, struct json_object *object,
				       const struct listing_subject *subject)
{
	const struct procedure_cycles *procedure = subject->cycles;
	json_add_text(writer, object, "no_cycles", subject->no_cycles);
	if (!procedure) {
		json_add_null(writer, object, "cycles");
		return;
	}
	struct json_object *inner = json_new_object(writer);
	json_add_text(writer, inner, "model", frequency_model_word(procedure->model));
	json_add_text(writer, inner, "scale", cycles_scale_word(procedure->scale));
	json_add_double(writer, inner, "processor_cycle", procedure->cycle);
	add_cost(writer, inner, procedure, &procedure->whole);
	json_add_double(writer, inner, "instructions_executed", procedure->whole.executed);
	json_add_double(writer, inner, "elsewhere_samples", procedure->elsewhere_samples);
	json_add_double(writer, inner, "elsewhere_cycles", procedure->elsewhere_cycles);
	json_add_bool(writer, inner, "missing_edges", procedure->cfg.graph.missing_edges);
	if (procedure->evidence)
		json_add_u64(writer, inner, "branches_seen_unmatched",
			     procedure->evidence_unmatched);
	else
		json_add_null(writer, inner, "branches_seen_unmatched");
	json_add(writer, inner, "blocks", blocks(writer, procedure));
	json_add(writer, inner, "loops", loops(writer, procedure));
	json_add(writer, inner, "edges", edges(writer, procedure));
	json_add(writer, object, "cycles", inner);
}

/* ---- rows */

static void add_schedule(struct json_writer *writer, struct json_object *object,
			 const struct procedure_cycles *procedure, uint32_t instruction,
			 uint32_t block)
{
	static const char *const waits[] = { [SCHEDULE_WAITS_NOT] = NULL,
					     [SCHEDULE_SLOTTING] = "slotting",
					     [SCHEDULE_OPERAND] = "operand",
					     [SCHEDULE_UNIT] = "unit" };
	const struct scheduled *at = &procedure->schedule[instruction];
	struct json_object *inner = json_new_object(writer);
	json_add_double(writer, inner, "issue_cycle", at->issue_cycle);
	json_add_double(writer, inner, "head_cycles", at->head_cycles);
	json_add_text(writer, inner, "wait", waits[at->wait]);
	json_add_text(writer, inner, "wait_register",
		      at->wait == SCHEDULE_OPERAND
			      ? register_name(procedure->isa, at->wait_register)
			      : NULL);
	if ((at->wait == SCHEDULE_OPERAND || at->wait == SCHEDULE_UNIT) &&
	    at->wait_for != SCHEDULE_BEFORE)
		json_add_hex(
			writer, inner, "wait_for_vaddr",
			procedure->cfg
				.instructions[procedure->cfg.blocks[block].first + at->wait_for]
				.vaddr);
	else
		json_add_null(writer, inner, "wait_for_vaddr");
	json_add(writer, object, "schedule", inner);
}

static void add_address(struct json_writer *writer, struct json_object *object, const char *key,
			const struct cfg *cfg, uint32_t instruction)
{
	if (instruction == CULPRIT_NO_INSTRUCTION)
		json_add_null(writer, object, key);
	else
		json_add_hex(writer, object, key, cfg->instructions[instruction].vaddr);
}

static struct json_object *causes(struct json_writer *writer, const struct culprits *culprits,
				  const struct stall *stall)
{
	struct json_object *array = json_new_array(writer);
	for (uint32_t i = 0; i < stall->culprit_count; i++) {
		const struct culprit *culprit = &culprits->list[stall->culprits + i];
		struct json_object *object = json_new_object(writer);
		json_add_text(writer, object, "cause", dynamic_cause_key(culprit->cause));
		add_address(writer, object, "culprit_vaddr", &culprits->procedure->cfg,
			    culprit->instruction);
		json_add_double(writer, object, "cycles_low", culprit->low);
		json_add_double(writer, object, "cycles_high", culprit->high);
		json_add_bool(writer, object, "bound_by_events", culprit->bound_by_events);
		json_append(writer, array, object);
	}
	return array;
}

/* Cycles of all executions together, in the unit of the time event. */
static void add_stall(struct json_writer *writer, struct json_object *object,
		      const struct culprits *culprits, uint32_t instruction)
{
	const struct cfg *cfg = &culprits->procedure->cfg;
	const struct stall *stall = &culprits->stalls[instruction];
	struct json_object *inner = json_new_object(writer);
	bool is_static = stall->static_cause != STATIC_NONE;
	json_add_double(writer, inner, "issue_cycles", stall->issue_cycles);
	json_add_double(writer, inner, "static_cycles", stall->static_cycles);
	json_add_text(writer, inner, "static_cause",
		      is_static ? static_cause_key(stall->static_cause) : NULL);
	json_add_text(writer, inner, "static_register",
		      is_static && stall->static_register != REGISTER_NONE
			      ? register_name(culprits->procedure->isa, stall->static_register)
			      : NULL);
	add_address(writer, inner, "static_culprit_vaddr", cfg,
		    is_static ? stall->static_instruction : CULPRIT_NO_INSTRUCTION);
	json_add_double(writer, inner, "dynamic_cycles", stall->dynamic_cycles);
	json_add_double(writer, inner, "dynamic_cycles_low", stall->dynamic_low);
	json_add_double(writer, inner, "dynamic_cycles_high", stall->dynamic_high);
	json_add_double(writer, inner, "dynamic_cycles_most", stall->most_cycles);
	json_add_double(writer, inner, "noise_cycles", stall->noise_cycles);
	json_add_double(writer, inner, "unexplained_cycles", stall->unexplained_cycles);
	json_add(writer, inner, "causes", causes(writer, culprits, stall));
	json_add(writer, object, "stall", inner);
}

void listing_json_add_row_cycles(struct json_writer *writer, struct json_object *object,
				 const struct listing_subject *subject,
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
	json_add_u64(writer, object, "block", block);
	add_executions(writer, object, procedure, &procedure->frequencies.blocks[block]);
	add_cost(writer, object, procedure, &procedure->instructions[instruction]);
	add_schedule(writer, object, procedure, instruction, block);
	if (subject->culprits && subject->culprits->known)
		add_stall(writer, object, subject->culprits, instruction);
	else
		json_add_null(writer, object, "stall");
}

void listing_json_add_line_cycles(struct json_writer *writer, struct json_object *object,
				  const struct procedure_cycles *procedure,
				  const struct cycles_cost *cost)
{
	if (!cost)
		return;
	json_add_double(writer, object, "charged_samples", cost->samples);
	json_add_double(writer, object, "charged_cycles", cost->cycles);
	add_cpi(writer, object, procedure, cost);
}
