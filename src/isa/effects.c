#include "isa/effects.h"

#include <errno.h>
#include <string.h>

#include "isa/effects_private.h"
#include "isa/x86_vendor_differences.h"

void effects_unknown(enum isa isa, struct instruction_effects *effects)
{
	*effects = (struct instruction_effects){
		.reads = register_set_all(isa),
		.writes = register_set_all(isa),
		.reads_memory = true,
		.writes_memory = true,
		.reads_flags = true,
		.writes_flags = true,
	};
}

static void decode_x86_effects(struct decoder *decoder, struct span code, struct instruction *out,
			       struct instruction_effects *effects)
{
	if (x86_decode_details(decoder, code, out)) {
		const struct x86_difference *difference = x86_difference_of(code);
		if (difference && difference->differs <= X86_DIFFERS_EFFECTS)
			effects_unknown(decoder->isa, effects);
		else
			x86_effects(decoder, effects);
		return;
	}
	out->kind = INSTRUCTION_DATA;
	out->length_bytes = (uint32_t)x86_unknown_length(code, decoder->isa);
	effects_unknown(decoder->isa, effects);
}

int decoder_effects(struct decoder *decoder, struct span code, uint64_t vaddr,
		    struct instruction *out, struct instruction_effects *effects)
{
	if (decoder->isa == ISA_X86_64) {
		*out = (struct instruction){ .vaddr = vaddr };
		decoder_use(decoder, CAPSTONE_DETAILS);
		decode_x86_effects(decoder, code, out, effects);
		return 0;
	}
	decoder_flow(decoder, code, vaddr, out);
	effects_unknown(decoder->isa, effects);
	if (decoder->isa != ISA_AARCH64)
		return -ENOTSUP;
	if (out->length_bytes == 4) {
		uint32_t word;
		memcpy(&word, code.data, sizeof(word));
		aarch64_effects(word, out->kind != INSTRUCTION_DATA, effects);
	}
	return 0;
}
