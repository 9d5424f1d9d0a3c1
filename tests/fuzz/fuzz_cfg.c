#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../support/byte_space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Byte 0: the instruction set and, in its upper bits, the number of entries from elsewhere;
 * 1: where the cold part starts, 2: where it ends, in 256ths of the bytes; then an entry of two
 * bytes each; then code and data.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum isa isas[] = { ISA_X86_64, ISA_AARCH64, ISA_I386 };
	static struct decoder *decoders[3];
	if (size < 3)
		return 0;
	unsigned which = (data[0] & 3) % 3;
	size_t entries = data[0] >> 2, head = 3 + 2 * entries;
	if (size <= head)
		return 0;
	if (!decoders[which] &&
	    decoder_new(isas[which], ISA_SYNTAX_ATT, &decoders[which], NULL) < 0)
		abort();
	struct byte_space space;
	byte_space_init(&space, isas[which], data + head, size - head);
	uint64_t cold = BYTE_SPACE_START + (size - head) * data[1] / 256;
	uint64_t data_start = BYTE_SPACE_START + (size - head) * data[2] / 256;
	if (data[1] && cold < data_start) {
		space.functions[0].last = cold - 1;
		space.functions[1] = (struct code_function){ .first = cold,
							     .last = data_start - 1,
							     .is_cold = true,
							     .parent = BYTE_SPACE_START };
		if (cold == BYTE_SPACE_START) /* a cold part alone */
			space.functions[0].last = 0;
	}
	for (size_t i = 0; i < entries && i < BYTE_SPACE_ENTRIES; i++) {
		uint64_t step = data[3 + 2 * i];
		uint64_t last = i ? space.entries[i - 1].vaddr : BYTE_SPACE_START;
		space.entries[space.entry_count++] =
			(struct code_entry){ last + step, data[4 + 2 * i] % 3 };
	}
	space.no_return = BYTE_SPACE_START + (size - head) / 2;
	struct cfg cfg;
	if (cfg_build(&space.space, decoders[which], BYTE_SPACE_START, &cfg, NULL) == 0) {
		cfg_check(&cfg);
		cfg_release(&cfg);
	}
	return 0;
}
