/*
 * decode_private - what the parts of the decoder know of each other.
 */
#pragma once

#include <capstone/capstone.h>

#include "isa/decode.h"

/* What Capstone is set to; changing it costs some 20 ns. */
enum capstone_use {
	CAPSTONE_TEXT,	  /* in the caller's syntax, with details */
	CAPSTONE_FLOW,	  /* without details */
	CAPSTONE_DETAILS, /* operands in Intel's order: in AT&T's their access is wrong */
};

struct x86_rule;

struct decoder {
	enum isa isa;
	enum isa_syntax syntax;
	csh capstone;
	cs_insn *room; /* reused: one instruction with its details */
	enum capstone_use use;
	const struct x86_rule *rules[X86_INS_ENDING]; /* by id; NULL: not looked up yet */
};

void decoder_use(struct decoder *decoder, enum capstone_use use);
/* Kind, target, reference and length of an x86 instruction, with Capstone's details in
 * decoder->room. False: Capstone knows no such instruction. */
bool x86_decode_details(struct decoder *decoder, struct span code, struct instruction *out);

/* By X86_INS_*. */
enum instruction_kind x86_kind(unsigned id);
/* Fills kind, target and reference of an instruction that Capstone decoded. */
void x86_classify(const cs_insn *decoded, struct instruction *out);

/*
 * The same of one decoded without details, from its id and bytes; false when these
 * do not tell: branches with a prefix that changes the size of operand or address.
 */
bool x86_classify_flow(const cs_insn *decoded, enum isa isa, struct instruction *out);
/* Makes unknown what differs between CPUs of different vendors. */
void x86_apply_differences(struct span code, struct instruction *out);

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
