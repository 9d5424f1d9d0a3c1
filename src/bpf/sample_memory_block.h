/* sample_memory_block - what the program that reads memory at samples hands on
 * (sample_memory.h). */
#pragma once

#include <stdint.h>

/* What a block is aligned to: docs/methods.md, "Samples to interpret". */
#define SAMPLE_MEMORY_LINE   64
#define SAMPLE_MEMORY_BYTES  128 /* of a block */
#define SAMPLE_MEMORY_BLOCKS 32	 /* the most: general registers of AArch64, with sp */

struct sample_memory_block {
	uint64_t address;
	uint8_t bytes[SAMPLE_MEMORY_BYTES];
};
