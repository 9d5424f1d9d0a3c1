#include "analyze/accuracy/execution_estimate.h"

#include <errno.h>
#include <math.h>

#include "analyze/code/annotate_index.h"
#include "analyze/names/resolve.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"

static bool is_image(const struct annotate_index *index, uint32_t image, struct span build_id,
		     struct span hash)
{
	if (!image)
		return false;
	struct profile_image row = profile_image(index->profile, image);
	/* the profile hashes all of a file that others can write; `hash` is of its code alone */
	bool compared = row.hash.size && hash.size && !row.writer;
	return build_id.size ? span_equal(row.build_id, build_id) &&
				       (!compared || span_equal(row.hash, hash))
			     : hash.size && span_equal(row.hash, hash);
}

static bool holds(const struct procedure *procedure, uint64_t vaddr)
{
	return procedure && procedure->extent_known && vaddr >= procedure->first &&
	       vaddr <= procedure->last;
}

/* The position of the procedure that holds it, itself or in its cold part; or the index's count. */
static uint32_t find_procedure(struct cycles *cycles, struct span build_id, struct span hash,
			       uint64_t vaddr)
{
	const struct annotate_index *index = cycles_index(cycles);
	for (uint32_t i = 0; i < index->count; i++) {
		const struct procedure *procedure = index->procedures[i].procedure;
		if (is_image(index, procedure->image, build_id, hash) &&
		    !cycles_is_counted_elsewhere(cycles, i) &&
		    (holds(procedure, vaddr) ||
		     holds(resolver_cold(index->resolver, procedure), vaddr)))
			return i;
	}
	return (uint32_t)index->count;
}

int execution_estimate_at(struct cycles *cycles, struct span build_id, struct span hash,
			  uint64_t vaddr, struct execution_estimate *out, struct error *err)
{
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *procedure = NULL;
	uint32_t position = find_procedure(cycles, build_id, hash, vaddr);
	*out = (struct execution_estimate){ .value = NAN, .low = NAN, .high = NAN };
	if (position == cycles_index(cycles)->count)
		return error_set(err, -ENOENT, "the profile has no samples of its procedure");
	int ret = cycles_of_procedure(cycles, position, &procedure, err);
	if (ret < 0)
		return ret;
	uint32_t instruction = cfg_instruction_at(&procedure->cfg, vaddr);
	if (instruction == CFG_NO_INSTRUCTION ||
	    procedure->cfg.instructions[instruction].vaddr != vaddr)
		return error_set(err, -ENOENT, "nothing leads to it in its procedure's graph");
	const struct frequency *block =
		&procedure->frequencies.blocks[cfg_block_of(&procedure->cfg, instruction)];
	out->value = procedure->instructions[instruction].executed;
	/* The block's interval, in the unit of `value`. */
	out->low = block->value > 0 ? out->value * (block->low / block->value) : NAN;
	out->high = block->value > 0 ? out->value * (block->high / block->value) : NAN;
	out->confidence = block->confidence;
	out->scale = procedure->scale;
	out->procedure = position;
	return 0;
}
