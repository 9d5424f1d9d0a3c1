#include "render/cfg_words.h"

#include <math.h>
#include <stdio.h>

#include "analyze/cycles/estimate_words.h"
#include "base/span.h"
#include "render/listing_cycles.h"

const char *cfg_edge_key(enum flow_edge_kind kind)
{
	static const char *const keys[] = {
		[FLOW_NEXT] = "next",
		[FLOW_BRANCH] = "branch",
		[FLOW_INDIRECT] = "indirect",
		[FLOW_ENTRY] = "entry",
		[FLOW_OTHER_ENTRY] = "other_entry",
		[FLOW_LANDING] = "landing_pad",
		[FLOW_RETURN] = "return",
		[FLOW_TAIL] = "tail_call",
		[FLOW_NO_RETURN] = "no_return",
	};
	return keys[kind];
}

const char *cfg_edge_text(enum flow_edge_kind kind)
{
	switch (kind) {
	case FLOW_ENTRY:
		return "entry";
	case FLOW_OTHER_ENTRY:
		return "entered from elsewhere";
	case FLOW_LANDING:
		return "landing pad of exceptions";
	case FLOW_RETURN:
		return "return";
	case FLOW_TAIL:
		return "tail call";
	case FLOW_NO_RETURN:
		return "does not come back";
	default:
		return "";
	}
}

const char *cfg_confidence(const struct frequency *frequency)
{
	return isnan(frequency->value) ? "unknown"
				       : frequency_confidence_word(frequency->confidence);
}

bool cfg_is_relative(const struct procedure_cycles *procedure)
{
	return procedure->scale == CYCLES_RELATIVE;
}

void cfg_cost_text(const struct procedure_cycles *procedure, const struct cycles_cost *cost,
		   char text[CFG_COST_TEXT])
{
	char cpi[CYCLES_TEXT], best[CYCLES_TEXT];
	cycles_text_cpi(cost->cpi, cpi);
	cycles_text_cpi(cost->best_cpi, best);
	if (cfg_is_relative(procedure))
		snprintf(text, CFG_COST_TEXT, "relative cost %s", cpi);
	else
		snprintf(text, CFG_COST_TEXT, "CPI %s, best %s", cpi, best);
}

const char *cfg_times_word(const struct procedure_cycles *procedure)
{
	return cfg_is_relative(procedure) ? "relative" : "times";
}

void cfg_count_text(double count, char text[QUANTITY_SIZE])
{
	if (isnan(count))
		snprintf(text, QUANTITY_SIZE, "-");
	else
		quantity_describe(count, (struct span){ NULL, 0 }, text);
}

void cfg_executions_text(const struct procedure_cycles *procedure, double most, double value,
			 char text[QUANTITY_SIZE])
{
	if (cfg_is_relative(procedure))
		cycles_text_relative(value, most, text);
	else
		cfg_count_text(value, text);
}

void cfg_share_text(double part, double whole, char text[QUANTITY_SIZE])
{
	if (!(whole > 0) || isnan(part))
		snprintf(text, QUANTITY_SIZE, "-");
	else if (part < 0.001 * whole)
		snprintf(text, QUANTITY_SIZE, part > 0 ? "<0.1 %%" : "0 %%");
	else
		snprintf(text, QUANTITY_SIZE, part < 0.0995 * whole ? "%.1f %%" : "%.0f %%",
			 100 * fmin(part / whole, 1));
}

const struct cfg_jump *cfg_unknown_jump(const struct cfg *cfg, uint32_t block)
{
	uint32_t last = cfg->blocks[block].first + cfg->blocks[block].count - 1;
	for (size_t i = 0; i < cfg->jump_count; i++)
		if (cfg->jumps[i].instruction == last && cfg->jumps[i].fate == CFG_JUMP_UNKNOWN)
			return &cfg->jumps[i];
	return NULL;
}
