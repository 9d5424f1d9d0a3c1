/*
 * cfg_words - what pictures of control flow say of blocks and edges.
 */
#pragma once

#include "analyze/cycles/cfg_view.h"
#include "render/quantity.h"

struct buffer;

/* "next", "branch", "other_entry"; keys of JSON. */
const char *cfg_edge_key(enum flow_edge_kind kind);
/* "entry", "landing pad", "return"; of edges from or to outside; else "". */
const char *cfg_edge_text(enum flow_edge_kind kind);
const char *cfg_confidence(const struct frequency *frequency); /* "low"; "unknown" */
bool cfg_is_relative(const struct procedure_cycles *procedure);
#define CFG_COST_TEXT 160
/* Of a block: "CPI 1.20, best 0.50"; where no scale is known "relative cost 1.20". */
void cfg_cost_text(const struct procedure_cycles *procedure, const struct cycles_cost *cost,
		   char text[CFG_COST_TEXT]);
/* "times" is a claim about the run; of relative figures, which make none, "relative". */
const char *cfg_times_word(const struct procedure_cycles *procedure);
/* "1.2 M", "-". */
void cfg_count_text(double count, char text[QUANTITY_SIZE]);
/* The same of executions; relative ones beside the `most` of a block (cycles_most_executed()), as
 * in listings, so that nobody takes them for counts: "0.251". */
void cfg_executions_text(const struct procedure_cycles *procedure, double most, double value,
			 char text[QUANTITY_SIZE]);
/* "92 %" of what the block ran; "-". */
void cfg_share_text(double part, double whole, char text[QUANTITY_SIZE]);
/* The indirect jump that ends the block and has unknown targets, or NULL. */
const struct cfg_jump *cfg_unknown_jump(const struct cfg *cfg, uint32_t block);
