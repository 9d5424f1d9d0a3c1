/*
 * machine_aarch64 - runs one instruction on this CPU from a given state of its registers
 * and tells the state after it. AArch64 hosts alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_MEMORY_BYTES 1024
#define MACHINE_MEMORY_AT    512 /* in it, what machine_memory() tells the address of */

struct machine_state {
	uint64_t general[32]; /* x0 to x30, sp */
	uint64_t nzcv;	      /* N in bit 31 */
	uint64_t vectors[32][2];
	uint8_t memory[MACHINE_MEMORY_BYTES];
};

/* Once in a process; false: no page may be written and run here. */
bool machine_start(void);
/* Where the instruction lies. */
uint64_t machine_code(void);
/* The middle of the memory, a multiple of 64. */
uint64_t machine_memory(void);
/* False: the CPU raised a fault. */
bool machine_run(uint32_t word, const struct machine_state *before, struct machine_state *after);
