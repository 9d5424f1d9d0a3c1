/*
 * effects - what an instruction does: the registers and the memory that it reads
 * and writes, and what kind of work it is for the CPU. x86-64 and AArch64.
 *
 * Registers are architectural, as registers.h numbers them; what is listed:
 * - A write of a part that leaves the rest (al, ax, the low lane of an xmm) reads the
 *   old value too; one that clears the rest (eax, w0, VEX forms) does not. The upper
 *   halves of ymm that SSE instructions leave alone count for nothing.
 * - An instruction whose result is the same whatever its operand (xor eax,eax) does
 *   not read it; `breaks_dependency` says so. x86 alone: AArch64 cores look for none.
 * - Flags that an instruction leaves as they were, or undefined (CF of inc), are not a
 *   read, since CPUs keep them apart; `merges_flags` says so.
 * - Rounding modes and sticky floating-point exceptions are not listed, but for
 *   the instructions that load and store them.
 *
 * Effects are of the instruction as it completes: no faults, traps or interrupts,
 * and of a system call or a call only what the instruction itself does.
 */
#pragma once

#include "base/latency_class.h"
#include "isa/decode.h"
#include "isa/registers.h"

struct instruction_effects {
	/*
	 * False: not understood, and then all registers and memory are read and written, which
	 * is the safe side.
	 */
	bool known;
	enum latency_class class;
	struct register_set reads;
	struct register_set writes;
	/* Of those read, the ones that only form an address (and their own update: push, [x1], #8).
	 */
	struct register_set address;
	bool reads_memory, writes_memory;
	uint16_t read_bytes, written_bytes; /* 0 where not known, or none */
	uint16_t width_bits;		    /* of a division or a root; 0 elsewhere */
	bool breaks_dependency;
	bool conditional_move; /* selects by the flags, without a branch */
	bool reads_flags, writes_flags, merges_flags;
};

/*
 * *out as decoder_flow() fills it, and the effects. Returns 0, or -ENOTSUP (i386):
 * *out is filled nevertheless, and the effects are those of an unknown word without registers.
 */
int decoder_effects(struct decoder *decoder, struct span code, uint64_t vaddr,
		    struct instruction *out, struct instruction_effects *effects);
