/*
 * interrupts - where an interrupt that waited is delivered: directly behind what let it in.
 * x86-64 and AArch64.
 *
 * x86: sti lets interrupts in behind the instruction that follows it (Intel SDM volume 2, STI;
 * AMD APM volume 3, STI), popf at once. A hypervisor may deliver directly behind sti too. AArch64:
 * writes of DAIFClr with its I bit, of DAIF, and of ICC_PMR_EL1, the priority mask that Linux
 * takes for it where it has pseudo-NMIs (Arm ARM DDI 0487, C5.2).
 *
 * What control reaches by a jump, call or return that stands there is not found.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct decoder;

/*
 * `code` is a procedure's, from `first` on. What is found of all of it is kept in `*marks`,
 * which is NULL at first and which the caller frees: asked for each address of long code it
 * costs one walk.
 */
bool interrupts_arrive_at(struct decoder *decoder, struct span code, uint64_t first, uint64_t vaddr,
			  uint8_t **marks);
