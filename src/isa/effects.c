#include "isa/effects.h"

#include <errno.h>
#include <string.h>

#include "isa/decode_private.h"

const char *latency_class_name(enum latency_class class)
{
	static const char *const names[LATENCY_CLASSES] = {
		[LATENCY_UNKNOWN] = "unknown",
		[LATENCY_NOP] = "nop",
		[LATENCY_MOVE] = "move",
		[LATENCY_ALU] = "alu",
		[LATENCY_SHIFT] = "shift",
		[LATENCY_LEA] = "lea",
		[LATENCY_BIT_COUNT] = "bit-count",
		[LATENCY_MULTIPLY] = "multiply",
		[LATENCY_DIVIDE] = "divide",
		[LATENCY_TRANSFER] = "transfer",
		[LATENCY_VECTOR_MOVE] = "vector-move",
		[LATENCY_VECTOR_INTEGER] = "vector-integer",
		[LATENCY_VECTOR_MULTIPLY] = "vector-multiply",
		[LATENCY_SHUFFLE] = "shuffle",
		[LATENCY_FP_ADD] = "fp-add",
		[LATENCY_FP_MULTIPLY] = "fp-multiply",
		[LATENCY_FP_FUSED] = "fp-fused",
		[LATENCY_FP_DIVIDE] = "fp-divide",
		[LATENCY_FP_ROOT] = "fp-root",
		[LATENCY_CONVERT] = "convert",
		[LATENCY_LOAD] = "load",
		[LATENCY_STORE] = "store",
		[LATENCY_BRANCH] = "branch",
		[LATENCY_CALL] = "call",
		[LATENCY_RETURN] = "return",
		[LATENCY_ATOMIC] = "atomic",
		[LATENCY_BARRIER] = "barrier",
		[LATENCY_MICROCODE] = "microcode",
		[LATENCY_CRYPTO] = "crypto",
		[LATENCY_SYSTEM] = "system",
	};
	return (unsigned)class < LATENCY_CLASSES ? names[class] : "unknown";
}

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
