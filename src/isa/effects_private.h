/*
 * effects_private - what the parts of effects know of each other.
 */
#pragma once

#include "isa/decode_private.h"
#include "isa/effects.h"

/* Effects of the instruction in decoder->room, decoded as CAPSTONE_DETAILS. */
void x86_effects(struct decoder *decoder, struct instruction_effects *effects);
/* Effects of a word, from its bits; `decoded`: Capstone knows it as an instruction. */
void aarch64_effects(uint32_t word, bool decoded, struct instruction_effects *effects);
/* Effects that are not known: every register and all memory are read and written. */
void effects_unknown(enum isa isa, struct instruction_effects *effects);
