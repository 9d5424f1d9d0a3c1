#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isa/effects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Without details the same must come out. */
static void check_flow(const struct instruction *decoded, const struct instruction *flow)
{
	assert(flow->vaddr == decoded->vaddr && flow->length_bytes == decoded->length_bytes);
	assert(flow->kind == decoded->kind);
	assert(flow->has_target == decoded->has_target && flow->target == decoded->target);
	assert(flow->has_reference == decoded->has_reference &&
	       flow->reference == decoded->reference);
	assert(!flow->mnemonic[0] && !flow->operands[0]);
}

static void check_effects(enum isa isa, const struct instruction_effects *effects)
{
	struct register_set all = register_set_all(isa);
	struct register_set used = register_set_union(&effects->reads, &effects->writes);
	struct register_set outside = register_set_without(&used, &all);
	struct register_set unread = register_set_without(&effects->address, &effects->reads);
	assert(register_set_empty(&outside) && register_set_empty(&unread));
	assert(effects->class < LATENCY_CLASSES);
	assert(effects->known == (effects->class != LATENCY_UNKNOWN));
	assert(effects->known || (effects->reads_memory && effects->writes_memory));
	assert(effects->known || register_set_equal(&effects->reads, &all));
	assert(effects->reads_memory || !effects->read_bytes);
	assert(effects->writes_memory || !effects->written_bytes);
}

/* The first byte chooses the instruction set; a sweep over the rest ends at its end. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum isa isas[] = { ISA_X86_64, ISA_I386, ISA_AARCH64 };
	static struct decoder *decoders[3];
	if (size < 2)
		return 0;
	unsigned which = data[0] % 3;
	if (!decoders[which] &&
	    decoder_new(isas[which], ISA_SYNTAX_ATT, &decoders[which], NULL) < 0)
		abort();
	for (size_t at = 1; at < size;) {
		struct span rest = { data + at, size - at };
		uint64_t vaddr = UINT64_C(0) - 64 + at;
		struct instruction instruction;
		struct instruction flow;
		struct instruction_effects effects;
		decoder_decode(decoders[which], rest, vaddr, &instruction);
		assert(instruction.length_bytes >= 1 && instruction.length_bytes <= 15);
		assert(instruction.length_bytes <= size - at);
		assert(memchr(instruction.mnemonic, 0, sizeof(instruction.mnemonic)));
		assert(memchr(instruction.operands, 0, sizeof(instruction.operands)));
		decoder_flow(decoders[which], rest, vaddr, &flow);
		check_flow(&instruction, &flow);
		int ret = decoder_effects(decoders[which], rest, vaddr, &flow, &effects);
		assert(ret == (isas[which] == ISA_I386 ? -ENOTSUP : 0));
		check_flow(&instruction, &flow);
		check_effects(isas[which], &effects);
		at += instruction.length_bytes;
	}
	return 0;
}
