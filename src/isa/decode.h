/*
 * decode - machine code to instructions, one at a time: how long, what it reads
 * like, and where it may go next. x86-64, i386 and AArch64.
 *
 * Decoding never fails: bytes that are no known instruction come out as data
 * (".byte 0x06", ".word 0x00000000"), as many as their encoding shows to belong
 * together, so that a sweep stays in step behind an instruction that is newer
 * than the disassembler. It reads the given bytes and nothing else.
 *
 * What follows is by the encoding alone: where registers or memory hold the
 * target, it is not known. A decoder belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "isa/isa.h"

struct error;
struct decoder;

enum isa_syntax {
	ISA_SYNTAX_ATT, /* as gdb, objdump and perf print by default; x86 only */
	ISA_SYNTAX_INTEL,
};

enum instruction_kind {
	INSTRUCTION_OTHER,
	INSTRUCTION_CALL,
	INSTRUCTION_JUMP,	 /* always taken */
	INSTRUCTION_CONDITIONAL, /* may go on with the next instruction */
	INSTRUCTION_RETURN,	 /* from a procedure, an interrupt or a system call */
	INSTRUCTION_DATA,	 /* not decodable; `kind` says nothing about its effect */
};

#define INSTRUCTION_MNEMONIC_BYTES 40
#define INSTRUCTION_OPERANDS_BYTES 168

struct instruction {
	uint64_t vaddr;
	uint32_t length_bytes; /* 1 to 15 */
	enum instruction_kind kind;
	/*
	 * Where control goes depends on the CPU's vendor (x86_vendor_differences.h). A direct
	 * branch is then a jump without a target, since its length is not known either.
	 */
	bool cpus_differ;
	bool has_target; /* of a call, jump or conditional */
	uint64_t target;
	bool has_reference; /* an address that it computes from its own: data, or a slot of the GOT
			     */
	uint64_t reference;
	char mnemonic[INSTRUCTION_MNEMONIC_BYTES];
	char operands[INSTRUCTION_OPERANDS_BYTES]; /* "" without any; a target is written as 0x...
						    */
};

/* EM_* of an ELF header; ISA_UNKNOWN for what cannot be decoded here. */
enum isa isa_of_elf_machine(uint16_t machine);
/* What uname -m prints, or "x86-64", "i386", "aarch64", "arm64". */
enum isa isa_of_name(struct span name);
const char *isa_name(enum isa isa); /* "x86-64", "i386", "aarch64", "unknown" */

/*
 * Stores a decoder that the caller frees. Returns 0, -EINVAL (ISA_UNKNOWN),
 * -ENOTSUP (the disassembler was built without this instruction set), or -ENOMEM.
 */
int decoder_new(enum isa isa, enum isa_syntax syntax, struct decoder **out, struct error *err);
void decoder_free(struct decoder *decoder);
void decoder_freep(struct decoder **decoder); /* for CLEANUP() */

/*
 * The instruction that the first bytes of `code` hold, which lie at `vaddr`.
 * `code` must not be empty; *out never is longer than it. An instruction that
 * the end of `code` cuts is data.
 */
void decoder_decode(struct decoder *decoder, struct span code, uint64_t vaddr,
		    struct instruction *out);

/*
 * As decoder_decode(), but without texts ("" both): for whole binaries, where
 * they would take most of the time.
 */
void decoder_flow(struct decoder *decoder, struct span code, uint64_t vaddr,
		  struct instruction *out);
