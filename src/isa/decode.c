#include "isa/decode.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "isa/decode_private.h"

enum isa isa_of_elf_machine(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return ISA_X86_64;
	case EM_386:
		return ISA_I386;
	case EM_AARCH64:
		return ISA_AARCH64;
	}
	return ISA_UNKNOWN;
}

enum isa isa_of_name(struct span name)
{
	static const struct {
		const char *name;
		enum isa isa;
	} names[] = {
		{ "x86_64", ISA_X86_64 }, { "x86-64", ISA_X86_64 },   { "amd64", ISA_X86_64 },
		{ "i386", ISA_I386 },	  { "i486", ISA_I386 },	      { "i586", ISA_I386 },
		{ "i686", ISA_I386 },	  { "aarch64", ISA_AARCH64 }, { "arm64", ISA_AARCH64 },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (span_equal(name, span_of_text(names[i].name)))
			return names[i].isa;
	return ISA_UNKNOWN;
}

const char *isa_name(enum isa isa)
{
	switch (isa) {
	case ISA_X86_64:
		return "x86-64";
	case ISA_I386:
		return "i386";
	case ISA_AARCH64:
		return "aarch64";
	case ISA_UNKNOWN:
		break;
	}
	return "unknown";
}

static cs_err open_capstone(struct decoder *decoder, enum isa_syntax syntax)
{
	cs_arch arch = decoder->isa == ISA_AARCH64 ? CS_ARCH_ARM64 : CS_ARCH_X86;
	cs_mode mode = decoder->isa == ISA_AARCH64 ? CS_MODE_LITTLE_ENDIAN
		       : decoder->isa == ISA_I386  ? CS_MODE_32
						   : CS_MODE_64;
	cs_err fault = cs_open(arch, mode, &decoder->capstone);
	if (fault == CS_ERR_OK)
		fault = cs_option(decoder->capstone, CS_OPT_DETAIL, CS_OPT_ON);
	if (fault == CS_ERR_OK && arch == CS_ARCH_X86 && syntax == ISA_SYNTAX_ATT)
		fault = cs_option(decoder->capstone, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	return fault;
}

int decoder_new(enum isa isa, enum isa_syntax syntax, struct decoder **out, struct error *err)
{
	if (isa == ISA_UNKNOWN)
		return error_set(err, -EINVAL, "the instruction set of this code is not known");
	CLEANUP(decoder_freep) struct decoder *decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return error_set(err, -ENOMEM, "out of memory for a decoder");
	decoder->isa = isa;
	decoder->syntax = syntax;
	cs_err fault = open_capstone(decoder, syntax);
	if (fault == CS_ERR_MEM)
		return error_set(err, -ENOMEM, "out of memory for a decoder");
	if (fault != CS_ERR_OK)
		return error_set(err, -ENOTSUP, "cannot decode %s code: %s", isa_name(isa),
				 cs_strerror(fault));
	decoder->room = cs_malloc(decoder->capstone);
	if (!decoder->room)
		return error_set(err, -ENOMEM, "out of memory for a decoder");
	*out = decoder;
	decoder = NULL; /* the caller's from here on */
	return 0;
}

void decoder_use(struct decoder *decoder, enum capstone_use use)
{
	if (decoder->use == use)
		return;
	decoder->use = use;
	/* neither fails: both were set once when the decoder was made */
	cs_option(decoder->capstone, CS_OPT_DETAIL, use == CAPSTONE_FLOW ? CS_OPT_OFF : CS_OPT_ON);
	if (decoder->isa != ISA_AARCH64 && decoder->syntax == ISA_SYNTAX_ATT)
		cs_option(decoder->capstone, CS_OPT_SYNTAX,
			  use == CAPSTONE_TEXT ? CS_OPT_SYNTAX_ATT : CS_OPT_SYNTAX_INTEL);
}

void decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->room)
		cs_free(decoder->room, 1);
	if (decoder->capstone)
		cs_close(&decoder->capstone);
	free(decoder);
}

void decoder_freep(struct decoder **decoder)
{
	decoder_free(*decoder);
}

/* `unit` 4 prints whole words, 1 bytes. */
static void spell_data(const uint8_t *bytes, size_t length, size_t unit, struct instruction *out)
{
	out->kind = INSTRUCTION_DATA;
	out->length_bytes = (uint32_t)length;
	if (unit == 4) {
		uint32_t word;
		memcpy(&word, bytes, sizeof(word));
		snprintf(out->mnemonic, sizeof(out->mnemonic), ".word");
		snprintf(out->operands, sizeof(out->operands), "0x%08x", word);
		return;
	}
	snprintf(out->mnemonic, sizeof(out->mnemonic), ".byte");
	size_t at = 0;
	for (size_t i = 0; i < length; i++)
		at += (size_t)snprintf(out->operands + at, sizeof(out->operands) - at, "%s0x%02x",
				       i ? ", " : "", bytes[i]);
}

/* AArch64 immediates come as "#0x1004"; the target of a branch reads better without the #. */
static void copy_text(const cs_insn *decoded, struct instruction *out)
{
	snprintf(out->mnemonic, sizeof(out->mnemonic), "%s", decoded->mnemonic);
	snprintf(out->operands, sizeof(out->operands), "%s", decoded->op_str);
	if (!out->has_target)
		return;
	char *mark = strrchr(out->operands, '#');
	if (mark)
		memmove(mark, mark + 1, strlen(mark));
}

bool x86_decode_details(struct decoder *decoder, struct span code, struct instruction *out)
{
	const uint8_t *bytes = code.data;
	size_t left = code.size;
	uint64_t vaddr = out->vaddr;
	if (!cs_disasm_iter(decoder->capstone, &bytes, &left, &vaddr, decoder->room))
		return false;
	out->length_bytes = decoder->room->size;
	x86_classify(decoder->room, out);
	if (decoder->isa == ISA_X86_64)
		x86_apply_differences(code, out);
	if (decoder->isa == ISA_I386) { /* addresses wrap at 4 GiB */
		out->target &= UINT32_MAX;
		out->reference &= UINT32_MAX;
	}
	return true;
}

static void decode_x86(struct decoder *decoder, struct span code, struct instruction *out)
{
	if (x86_decode_details(decoder, code, out))
		copy_text(decoder->room, out);
	else
		spell_data(code.data, x86_unknown_length(code, decoder->isa), 1, out);
}

static void decode_aarch64(struct decoder *decoder, struct span code, struct instruction *out)
{
	if (code.size < 4) {
		spell_data(code.data, code.size, 1, out);
		return;
	}
	uint32_t word;
	memcpy(&word, code.data, sizeof(word));
	out->length_bytes = 4;
	aarch64_classify(word, out->vaddr, out);
	const uint8_t *bytes = code.data;
	size_t left = 4;
	uint64_t vaddr = out->vaddr;
	const char *hint = aarch64_hint(word);
	if (hint) {
		snprintf(out->mnemonic, sizeof(out->mnemonic), "%s", hint);
	} else if (cs_disasm_iter(decoder->capstone, &bytes, &left, &vaddr, decoder->room)) {
		copy_text(decoder->room, out);
	} else {
		/* newer than the disassembler, but its flow is known from the bits */
		enum instruction_kind kind = out->kind;
		spell_data(code.data, 4, 4, out);
		if (kind != INSTRUCTION_OTHER)
			out->kind = kind;
	}
}

void decoder_decode(struct decoder *decoder, struct span code, uint64_t vaddr,
		    struct instruction *out)
{
	*out = (struct instruction){ .vaddr = vaddr };
	decoder_use(decoder, CAPSTONE_TEXT);
	if (decoder->isa == ISA_AARCH64)
		decode_aarch64(decoder, code, out);
	else
		decode_x86(decoder, code, out);
}
