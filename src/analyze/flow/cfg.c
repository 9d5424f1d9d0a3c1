#include "analyze/flow/cfg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/flow/cfg_private.h"
#include "base/error.h"

/* Rounds of finding targets: they lead to new blocks, in which new tables are found. More rounds
 * were never needed. */
#define ROUNDS 12
/* Of the search for tables. The most that was needed: 6 million, in a function of cc1 with 77
 * tables over 16,000 instructions. */
#define STEPS		     (UINT64_C(1) << 24)
#define STEPS_AN_INSTRUCTION 16

const char *cfg_missing_text(enum cfg_missing missing)
{
	switch (missing) {
	case CFG_MISSING_BASE:
		return "where its table starts is not known";
	case CFG_MISSING_TABLE:
		return "its table cannot be read, or leads nowhere in the function";
	case CFG_MISSING_CPU:
		return "CPUs of different vendors read it differently";
	case CFG_MISSING_EFFORT:
		return "the function is too large to find its table";
	case CFG_MISSING_NOTHING:
		break;
	}
	return "";
}

static void builder_release(struct cfg_builder *builder)
{
	for (size_t i = 0; builder->targets && i < builder->cfg->jump_count; i++)
		free(builder->targets[i].list);
	free(builder->targets);
	free(builder->writes);
	free(builder->block_of_instruction);
}

void cfg_release(struct cfg *cfg)
{
	flow_graph_release(&cfg->graph);
	free(cfg->instructions);
	free(cfg->blocks);
	free(cfg->jumps);
	*cfg = (struct cfg){ 0 };
}

/* False: its bytes are not known. */
static bool add_part(struct cfg_builder *builder, const struct code_function *function)
{
	struct cfg *cfg = builder->cfg;
	const struct code_space *space = builder->space;
	uint64_t last = function->last;
	if (last < function->first)
		return false;
	if (last - function->first >= CFG_EXTENT_LIMIT)
		last = function->first + CFG_EXTENT_LIMIT - 1;
	struct cfg_part part = { .first = function->first, .is_cold = cfg->part_count > 0 };
	part.bytes = space->bytes(space->context, part.first, (size_t)(last - part.first) + 1);
	if (part.bytes.size == 0)
		return false;
	part.last = part.first + (part.bytes.size - 1);
	part.is_cut = part.last != function->last;
	uint32_t at = cfg->part_count++;
	if (at == 1 && part.first < cfg->parts[0].first) {
		cfg->parts[1] = cfg->parts[0];
		at = 0;
	}
	cfg->parts[at] = part;
	return true;
}

static bool overlap(const struct code_function *a, const struct code_function *b)
{
	return a->first <= b->last && b->first <= a->last;
}

static int find_parts(struct cfg_builder *builder, uint64_t vaddr, struct error *err)
{
	const struct code_space *space = builder->space;
	struct code_function function, cold;
	if (!space->function(space->context, vaddr, &function))
		return error_set(err, -ENOENT, "no function is known at 0x%" PRIx64, vaddr);
	if (function.is_cold) {
		struct code_function parent;
		if (space->function(space->context, function.parent, &parent) && !parent.is_cold)
			function = parent;
	}
	builder->cfg->first = function.first;
	if (!add_part(builder, &function))
		return error_set(err, -ENODATA,
				 "the code of the function at 0x%" PRIx64 " is not known",
				 function.first);
	if (!function.is_cold && space->cold_part(space->context, function.first, &cold) &&
	    !overlap(&function, &cold))
		add_part(builder, &cold);
	for (uint32_t i = 0; i < builder->cfg->part_count; i++) {
		const struct cfg_part *part = &builder->cfg->parts[i];
		builder->entries[i].list = space->entries(space->context, part->first, part->last,
							  &builder->entries[i].count);
	}
	return 0;
}

/* Allocates what only functions with indirect jumps need. 0 or -ENOMEM. */
static int prepare_jumps(struct cfg_builder *builder)
{
	struct cfg *cfg = builder->cfg;
	if (cfg->jump_count == 0)
		return 0;
	builder->steps_left = STEPS + (uint64_t)STEPS_AN_INSTRUCTION * cfg->instruction_count;
	builder->targets = calloc(cfg->jump_count, sizeof(*builder->targets));
	builder->writes = calloc(cfg->instruction_count, sizeof(*builder->writes));
	builder->block_of_instruction =
		calloc(cfg->instruction_count, sizeof(*builder->block_of_instruction));
	return builder->targets && builder->writes && builder->block_of_instruction ? 0 : -ENOMEM;
}

static int build(struct cfg_builder *builder)
{
	int ret = cfg_sweep(builder);
	if (ret == 0)
		ret = prepare_jumps(builder);
	if (ret < 0)
		return ret;
	cfg_mark_leaders(builder);
	ret = cfg_connect(builder);
	bool changed = builder->cfg->jump_count > 0;
	for (int round = 0; ret == 0 && changed && round < ROUNDS; round++) {
		ret = cfg_resolve_jumps(builder, &changed);
		if (ret == 0 && (changed || round == 0))
			ret = cfg_connect(builder);
	}
	return ret;
}

int cfg_build(const struct code_space *space, struct decoder *decoder, uint64_t vaddr,
	      struct cfg *out, struct error *err)
{
	struct cfg cfg = { 0 };
	struct cfg_builder builder = { .space = space, .decoder = decoder, .cfg = &cfg };
	int ret = find_parts(&builder, vaddr, err);
	if (ret == 0) {
		ret = build(&builder);
		if (ret < 0)
			error_set(err, ret, "out of memory for the code at 0x%" PRIx64, cfg.first);
	}
	builder_release(&builder);
	if (ret < 0)
		cfg_release(&cfg);
	else
		*out = cfg;
	return ret;
}

uint32_t cfg_instruction_starting_at(const struct cfg *cfg, uint64_t vaddr)
{
	uint32_t found = cfg_instruction_at(cfg, vaddr);
	return found != CFG_NO_INSTRUCTION && cfg->instructions[found].vaddr == vaddr
		       ? found
		       : CFG_NO_INSTRUCTION;
}

uint32_t cfg_block_of(const struct cfg *cfg, uint32_t instruction)
{
	uint32_t low = 0, high = cfg->graph.block_count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (cfg->blocks[middle].first <= instruction)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint32_t cfg_block_at(const struct cfg *cfg, uint64_t vaddr)
{
	uint32_t instruction = cfg_instruction_at(cfg, vaddr);
	return instruction == CFG_NO_INSTRUCTION ? CFG_NO_BLOCK : cfg_block_of(cfg, instruction);
}
