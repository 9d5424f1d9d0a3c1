/*
 * decode_private - what the parts of the decoder know of each other.
 */
#pragma once

#include <capstone/capstone.h>

#include "isa/decode.h"

/* Fills kind, target and reference of an instruction that Capstone decoded. */
void x86_classify(const cs_insn *decoded, struct instruction *out);

/*
 * The length that the encoding of an undecodable x86 instruction shows: VEX,
 * EVEX, 0F 01, 0F 38 and 0F 3A forms carry it. 1 when it shows nothing, or when
 * it would pass the end.
 */
size_t x86_unknown_length(struct span code, enum isa isa);

/* Kind, target and reference of an AArch64 word, all from its bits. */
void aarch64_classify(uint32_t word, uint64_t vaddr, struct instruction *out);
/* The name of a hint ("bti c", "paciasp"), or NULL: Capstone 4 prints numbers. */
const char *aarch64_hint(uint32_t word);
