#include <string.h>

#include "isa/decode_private.h"

static void flow_x86(struct decoder *decoder, struct span code, struct instruction *out)
{
	const uint8_t *bytes = code.data;
	size_t left = code.size;
	uint64_t vaddr = out->vaddr;
	if (!cs_disasm_iter(decoder->capstone, &bytes, &left, &vaddr, decoder->room)) {
		out->kind = INSTRUCTION_DATA;
		out->length_bytes = (uint32_t)x86_unknown_length(code, decoder->isa);
		return;
	}
	out->length_bytes = decoder->room->size;
	if (!x86_classify_flow(decoder->room, decoder->isa, out)) {
		decoder_use(decoder, CAPSTONE_DETAILS);
		x86_decode_details(decoder, code, out);
	} else if (decoder->isa == ISA_X86_64) {
		x86_apply_differences(code, out);
	}
	if (decoder->isa == ISA_I386)
		out->target &= UINT32_MAX;
}

static void flow_aarch64(struct decoder *decoder, struct span code, struct instruction *out)
{
	if (code.size < 4) {
		out->kind = INSTRUCTION_DATA;
		out->length_bytes = (uint32_t)code.size;
		return;
	}
	uint32_t word;
	memcpy(&word, code.data, sizeof(word));
	out->length_bytes = 4;
	aarch64_classify(word, out->vaddr, out);
	if (out->kind != INSTRUCTION_OTHER || aarch64_hint(word))
		return;
	/* Capstone is used only to tell whether the word is an instruction at all. */
	const uint8_t *bytes = code.data;
	size_t left = 4;
	uint64_t vaddr = out->vaddr;
	if (!cs_disasm_iter(decoder->capstone, &bytes, &left, &vaddr, decoder->room))
		out->kind = INSTRUCTION_DATA;
}

void decoder_flow(struct decoder *decoder, struct span code, uint64_t vaddr,
		  struct instruction *out)
{
	out->vaddr = vaddr;
	out->kind = INSTRUCTION_OTHER;
	out->cpus_differ = false;
	out->has_target = false;
	out->target = 0;
	out->has_reference = false;
	out->reference = 0;
	out->mnemonic[0] = 0;
	out->operands[0] = 0;
	decoder_use(decoder, CAPSTONE_FLOW);
	if (decoder->isa == ISA_AARCH64)
		flow_aarch64(decoder, code, out);
	else
		flow_x86(decoder, code, out);
}
