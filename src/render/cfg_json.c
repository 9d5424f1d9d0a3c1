#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/cycles/estimate_words.h"
#include "base/cleanup.h"
#include "base/json_stream.h"
#include "base/visible_text.h"
#include "render/cfg_svg.h"
#include "render/cfg_words.h"
#include "render/listing_cycles.h"

static uint64_t vaddr_of(const struct cfg *cfg, uint32_t block)
{
	return cfg->instructions[cfg->blocks[block].first].vaddr;
}

static void add_frequency(struct json_stream *json, const struct frequency *frequency)
{
	json_stream_double(json, "executions", frequency->value);
	json_stream_double(json, "low", frequency->low);
	json_stream_double(json, "high", frequency->high);
	json_stream_text(json, "confidence", cfg_confidence(frequency));
}

static void add_block(struct json_stream *json, const struct cfg_view *view, uint32_t block)
{
	const struct procedure_cycles *procedure = view->procedure;
	const struct cycles_cost *cost = &procedure->blocks[block];
	const struct cfg_jump *jump = cfg_unknown_jump(&procedure->cfg, block);
	uint32_t loop = procedure->loops.of_block[block];
	json_stream_open(json, NULL, '{', JSON_ONE_LINE);
	json_stream_hex(json, "vaddr", vaddr_of(&procedure->cfg, block));
	json_stream_u64(json, "instructions", procedure->cfg.blocks[block].count);
	add_frequency(json, &procedure->frequencies.blocks[block]);
	json_stream_double(json, "samples", cost->samples);
	json_stream_double(json, "cycles", cost->cycles);
	bool relative = cfg_is_relative(procedure);
	json_stream_double(json, "cpi", relative ? NAN : cost->cpi);
	json_stream_double(json, "best_cpi", relative ? NAN : cost->best_cpi);
	json_stream_double(json, "relative_cost", relative ? cost->cpi : NAN);
	json_stream_double(json, "cpi_low", relative ? NAN : cost->low);
	json_stream_double(json, "cpi_high", relative ? NAN : cost->high);
	json_stream_double(json, "relative_cost_low", relative ? cost->low : NAN);
	json_stream_double(json, "relative_cost_high", relative ? cost->high : NAN);
	if (loop == FLOW_NO_LOOP) {
		json_stream_null(json, "loop_header");
		json_stream_u64(json, "loop_depth", 0);
	} else {
		json_stream_hex(json, "loop_header",
				vaddr_of(&procedure->cfg, procedure->loops.list[loop].header));
		json_stream_u64(json, "loop_depth", procedure->loops.list[loop].depth);
	}
	json_stream_text(json, "missing_ways", jump ? cfg_missing_text(jump->missing) : NULL);
	json_stream_bool(json, "shown", view->position[block] != CFG_NO_BLOCK);
	json_stream_close(json, '}');
}

static void add_edge(struct json_stream *json, const struct procedure_cycles *procedure, size_t e)
{
	const struct flow_edge *edge = &procedure->cfg.graph.edges[e];
	json_stream_open(json, NULL, '{', JSON_ONE_LINE);
	if (edge->from == FLOW_OUTSIDE)
		json_stream_null(json, "from");
	else
		json_stream_hex(json, "from", vaddr_of(&procedure->cfg, edge->from));
	if (edge->to == FLOW_OUTSIDE)
		json_stream_null(json, "to");
	else
		json_stream_hex(json, "to", vaddr_of(&procedure->cfg, edge->to));
	json_stream_text(json, "kind", cfg_edge_key(edge->kind));
	add_frequency(json, &procedure->frequencies.edges[e]);
	json_stream_bool(json, "back", cfg_view_is_back(procedure, edge));
	json_stream_close(json, '}');
}

void cfg_json(const struct cfg_picture *picture, struct buffer *out)
{
	const struct procedure_cycles *procedure = picture->view->procedure;
	struct json_stream json = { .out = out };
	const char *const *notes;
	size_t count = cycles_notes(procedure->cycles, &notes);
	json_stream_open(&json, NULL, '{', JSON_LINES);
	json_stream_u64(&json, "schema", 1);
	json_stream_text(&json, "profile", picture->source);
	json_stream_text(&json, "image", procedure->procedure->image_name);
	json_stream_text(&json, "procedure", procedure->procedure->procedure->name);
	json_stream_text(&json, "event", picture->event);
	json_stream_text(&json, "processor", procedure->pipeline->name);
	json_stream_text(&json, "scale", cycles_scale_word(procedure->scale));
	json_stream_bool(&json, "missing_ways", procedure->cfg.graph.missing_edges);
	json_stream_texts(&json, "notes", notes, count);
	json_stream_open(&json, "blocks", '[', JSON_LINES);
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++)
		add_block(&json, picture->view, b);
	json_stream_close(&json, ']');
	json_stream_open(&json, "edges", '[', JSON_LINES);
	for (size_t e = 0; e < procedure->cfg.graph.edge_count; e++)
		add_edge(&json, procedure, e);
	json_stream_close(&json, ']');
	json_stream_end(&json, '}');
}

/* ---- for Graphviz */

static void put_quoted(struct buffer *out, const char *text)
{
	CLEANUP(buffer_release) struct buffer safe = { 0 };
	text_append_safe(&safe, text, strlen(text));
	for (size_t i = 0; i < safe.size; i++) {
		if (safe.data[i] == '"' || safe.data[i] == '\\')
			buffer_append_u8(out, '\\');
		buffer_append_u8(out, safe.data[i]);
	}
	out->failed |= buffer_failed(&safe);
}

static void put_node(const struct cfg_view *view, uint32_t block, double most_executed,
		     struct buffer *out)
{
	const struct procedure_cycles *procedure = view->procedure;
	const struct cfg_block *extent = &procedure->cfg.blocks[block];
	const struct frequency *frequency = &procedure->frequencies.blocks[block];
	char count[QUANTITY_SIZE], cost[CFG_COST_TEXT];
	cfg_executions_text(procedure, most_executed, frequency->value, count);
	cfg_cost_text(procedure, &procedure->blocks[block], cost);
	buffer_printf(out, "  b%" PRIu32 " [label=\"0x%" PRIx64 "\\l%s %s (%s)\\l%s\\l", block,
		      vaddr_of(&procedure->cfg, block), count, cfg_times_word(procedure),
		      cfg_confidence(frequency), cost);
	for (uint32_t i = extent->first; i < extent->first + extent->count; i++) {
		put_quoted(out, view->texts[i]);
		buffer_append_text(out, "\\l");
	}
	buffer_printf(out, "\"%s];\n",
		      frequency->confidence == FREQUENCY_LOW ? ",style=dashed" : "");
}

void cfg_dot(const struct cfg_picture *picture, struct buffer *out)
{
	const struct cfg_view *view = picture->view;
	const struct procedure_cycles *procedure = view->procedure;
	const struct flow_graph *graph = &procedure->cfg.graph;
	double most_executed = cycles_most_executed(procedure);
	char count[QUANTITY_SIZE];
	buffer_append_text(out, "digraph \"");
	put_quoted(out, procedure->procedure->procedure->name);
	buffer_append_text(out, "\" {\n  node [shape=box,fontname=monospace];\n");
	for (uint32_t i = 0; i < view->count; i++)
		put_node(view, view->blocks[i], most_executed, out);
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct flow_edge *edge = &graph->edges[e];
		if (edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE ||
		    view->position[edge->from] == CFG_NO_BLOCK ||
		    view->position[edge->to] == CFG_NO_BLOCK)
			continue;
		cfg_executions_text(procedure, most_executed, procedure->frequencies.edges[e].value,
				    count);
		buffer_printf(out, "  b%" PRIu32 " -> b%" PRIu32 " [label=\"%s\"%s];\n", edge->from,
			      edge->to, count,
			      procedure->frequencies.edges[e].confidence == FREQUENCY_LOW
				      ? ",style=dashed"
				      : "");
	}
	buffer_append_text(out, "}\n");
}
