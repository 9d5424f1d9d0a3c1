/*
 * effects_private - what the parts of effects know of each other.
 */
#pragma once

#include "isa/decode_private.h"
#include "isa/effects.h"

/* Of one decoded with details in Intel's syntax. */
void x86_effects(struct decoder *decoder, struct instruction_effects *effects);
/* Of a word that is not Capstone's to tell; `decoded` says whether it knew it. */
void aarch64_effects(uint32_t word, bool decoded, struct instruction_effects *effects);
/* Every register and all memory. */
void effects_unknown(enum isa isa, struct instruction_effects *effects);
