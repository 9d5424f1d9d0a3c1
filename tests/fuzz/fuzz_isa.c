#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isa/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
		struct instruction instruction;
		decoder_decode(decoders[which], (struct span){ data + at, size - at },
			       UINT64_C(0) - 64 + at, &instruction);
		assert(instruction.length_bytes >= 1 && instruction.length_bytes <= 15);
		assert(instruction.length_bytes <= size - at);
		assert(memchr(instruction.mnemonic, 0, sizeof(instruction.mnemonic)));
		assert(memchr(instruction.operands, 0, sizeof(instruction.operands)));
		at += instruction.length_bytes;
	}
	return 0;
}
