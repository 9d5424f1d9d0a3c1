/*
 * interrupts - where a pending interrupt is delivered: directly behind the instruction that
 * enables interrupts. x86-64 and AArch64.
 *
 * x86: sti enables interrupts behind the instruction that follows it (Intel SDM volume 2, STI;
 * AMD APM volume 3, STI), popf at once. A hypervisor may deliver directly behind sti too. AArch64:
 * writes of DAIFClr with its I bit, of DAIF, and of ICC_PMR_EL1, the priority mask that Linux
 * uses instead where it has pseudo-NMIs (Arm ARM DDI 0487, C5.2).
 *
 * Where the instruction behind is a jump, call or return, its target is not found.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct decoder;

/*
 * Whether a pending interrupt may be delivered at `vaddr`; `code` is a procedure's, which begins at
 * `first`. False outside of it, and without memory. *marks is a cache for this procedure, NULL at
 * first, which the caller frees: with it all addresses cost one walk of the code.
 */
bool interrupts_arrive_at(struct decoder *decoder, struct span code, uint64_t first, uint64_t vaddr,
			  uint8_t **marks);
