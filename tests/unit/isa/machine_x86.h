/*
 * machine_x86 - runs one instruction on this CPU from a given state of all its
 * registers and tells the state after it. x86-64 hosts alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_MEMORY_BYTES 384
#define MACHINE_RSP_AT	     128

struct machine_state {
	uint64_t general[16]; /* rsp is replaced: it points into a stack of its own */
	uint64_t flags;	      /* CF, PF, AF, ZF, SF, OF */
	uint64_t masks[8];
	uint64_t vectors[32][8];
	uint8_t memory[MACHINE_MEMORY_BYTES]; /* around rsp, which stands at MACHINE_RSP_AT */
};

/* What the CPU has beyond SSE. */
enum machine_vectors {
	MACHINE_SSE,
	MACHINE_AVX,
	MACHINE_AVX512,
};

enum machine_vectors machine_vectors(void);
/* Once in a process; false: no page may be written and run here. */
bool machine_start(void);
/* rsp before the instruction, a multiple of 64; 2 KiB on either side are free. */
uint64_t machine_stack(void);
/* False: the CPU raised a fault (of an unknown instruction, a division). */
bool machine_run(const uint8_t *bytes, size_t size, const struct machine_state *before,
		 struct machine_state *after);
