#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/error.h"
#include "base/random.h"
#include "isa/decode.h"

#define VADDR 0x401000

struct example {
	enum isa isa;
	uint8_t bytes[16];
	size_t size;
	const char *text;
	enum instruction_kind kind;
	uint64_t target; /* 0: none */
};

#define BYTES(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })
#define WORD(w)	   { (w)&0xff, ((w) >> 8) & 0xff, ((w) >> 16) & 0xff, (w) >> 24 }, 4

static const struct example examples[] = {
	{ ISA_X86_64, BYTES(0xe8, 0xfb, 0xff, 0xff, 0xff), "callq 0x401000", INSTRUCTION_CALL,
	  0x401000 },
	{ ISA_X86_64, BYTES(0xff, 0xd0), "callq *%rax", INSTRUCTION_CALL, 0 },
	{ ISA_X86_64, BYTES(0xeb, 0x10), "jmp 0x401012", INSTRUCTION_JUMP, 0x401012 },
	{ ISA_X86_64, BYTES(0xff, 0xe0), "jmpq *%rax", INSTRUCTION_JUMP, 0 },
	{ ISA_X86_64, BYTES(0x74, 0xfe), "je 0x401000", INSTRUCTION_CONDITIONAL, 0x401000 },
	{ ISA_X86_64, BYTES(0x0f, 0x8f, 0, 1, 0, 0), "jg 0x401106", INSTRUCTION_CONDITIONAL,
	  0x401106 },
	{ ISA_X86_64, BYTES(0xe2, 0xfe), "loop 0x401000", INSTRUCTION_CONDITIONAL, 0x401000 },
	{ ISA_X86_64, BYTES(0xe3, 0xfe), "jrcxz 0x401000", INSTRUCTION_CONDITIONAL, 0x401000 },
	{ ISA_X86_64, BYTES(0xc3), "retq", INSTRUCTION_RETURN, 0 },
	{ ISA_X86_64, BYTES(0xf3, 0xc3), "retq", INSTRUCTION_RETURN, 0 },
	{ ISA_X86_64, BYTES(0x48, 0xcf), "iretq", INSTRUCTION_RETURN, 0 },
	{ ISA_X86_64, BYTES(0x0f, 0x05), "syscall", INSTRUCTION_OTHER, 0 },
	{ ISA_X86_64, BYTES(0x48, 0x0f, 0x07), "sysretq", INSTRUCTION_RETURN, 0 },
	{ ISA_X86_64, BYTES(0xf3, 0x0f, 0x1e, 0xfa), "endbr64", INSTRUCTION_OTHER, 0 },
	{ ISA_X86_64, BYTES(0x06), ".byte 0x06", INSTRUCTION_DATA, 0 },
	/* newer than the disassembler: vpdpbusd %zmm1,%zmm0,%zmm0, vpclmulqdq with an immediate,
	   gf2p8mulb, serialize */
	{ ISA_X86_64, BYTES(0x62, 0xf2, 0x7d, 0x48, 0x50, 0xc1),
	  ".byte 0x62, 0xf2, 0x7d, 0x48, 0x50, 0xc1", INSTRUCTION_DATA, 0 },
	{ ISA_X86_64, BYTES(0x62, 0xf3, 0x75, 0x48, 0x44, 0xc2, 0x11),
	  ".byte 0x62, 0xf3, 0x75, 0x48, 0x44, 0xc2, 0x11", INSTRUCTION_DATA, 0 },
	{ ISA_X86_64, BYTES(0x66, 0x0f, 0x38, 0xcf, 0x44, 0x24, 0x08),
	  ".byte 0x66, 0x0f, 0x38, 0xcf, 0x44, 0x24, 0x08", INSTRUCTION_DATA, 0 },
	{ ISA_X86_64, BYTES(0x0f, 0x01, 0xe8), ".byte 0x0f, 0x01, 0xe8", INSTRUCTION_DATA, 0 },
	{ ISA_I386, BYTES(0x55), "pushl %ebp", INSTRUCTION_OTHER, 0 },
	{ ISA_I386, BYTES(0x40), "incl %eax", INSTRUCTION_OTHER, 0 },
	{ ISA_I386, BYTES(0xe9, 0xfb, 0xef, 0xbf, 0xff), "jmp 0", INSTRUCTION_JUMP, 0 },
	{ ISA_AARCH64, WORD(0x94000001u), "bl 0x401004", INSTRUCTION_CALL, 0x401004 },
	{ ISA_AARCH64, WORD(0x17ffffffu), "b 0x400ffc", INSTRUCTION_JUMP, 0x400ffc },
	{ ISA_AARCH64, WORD(0x54000040u), "b.eq 0x401008", INSTRUCTION_CONDITIONAL, 0x401008 },
	{ ISA_AARCH64, WORD(0xb4ffffe0u), "cbz x0, 0x400ffc", INSTRUCTION_CONDITIONAL, 0x400ffc },
	{ ISA_AARCH64, WORD(0x36080040u), "tbz w0, #1, 0x401008", INSTRUCTION_CONDITIONAL,
	  0x401008 },
	{ ISA_AARCH64, WORD(0xd65f03c0u), "ret", INSTRUCTION_RETURN, 0 },
	{ ISA_AARCH64, WORD(0xd61f0000u), "br x0", INSTRUCTION_JUMP, 0 },
	{ ISA_AARCH64, WORD(0xd63f0000u), "blr x0", INSTRUCTION_CALL, 0 },
	{ ISA_AARCH64, WORD(0xd65f0bffu), ".word 0xd65f0bff", INSTRUCTION_RETURN, 0 }, /* retaa */
	{ ISA_AARCH64, WORD(0xd71f0800u), ".word 0xd71f0800", INSTRUCTION_JUMP, 0 },   /* braa */
	{ ISA_AARCH64, WORD(0xd63f081fu), ".word 0xd63f081f", INSTRUCTION_CALL, 0 },   /* blraaz */
	{ ISA_AARCH64, WORD(0xd503233fu), "paciasp", INSTRUCTION_OTHER, 0 },
	{ ISA_AARCH64, WORD(0xd503245fu), "bti c", INSTRUCTION_OTHER, 0 },
	{ ISA_AARCH64, WORD(0x00000000u), ".word 0x00000000", INSTRUCTION_DATA, 0 },
	{ ISA_AARCH64, BYTES(0xc0, 0x03, 0x5f), ".byte 0xc0, 0x03, 0x5f", INSTRUCTION_DATA, 0 },
};

static struct decoder *decoder_of(enum isa isa, enum isa_syntax syntax)
{
	struct decoder *decoder = NULL;
	struct error err = { 0 };
	if (decoder_new(isa, syntax, &decoder, &err) < 0)
		fail_msg("%s", err.text);
	return decoder;
}

static void text_of(const struct instruction *instruction, char text[256])
{
	snprintf(text, 256, "%s%s%s", instruction->mnemonic, instruction->operands[0] ? " " : "",
		 instruction->operands);
}

static void known_instructions_are_told_with_kind_and_target(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const struct example *example = &examples[i];
		struct decoder *decoder = decoder_of(example->isa, ISA_SYNTAX_ATT);
		struct instruction instruction;
		char text[256];
		decoder_decode(decoder, (struct span){ example->bytes, example->size }, VADDR,
			       &instruction);
		text_of(&instruction, text);
		assert_string_equal(text, example->text);
		assert_int_equal(instruction.kind, example->kind);
		assert_int_equal(instruction.length_bytes, example->size);
		assert_int_equal(instruction.vaddr, VADDR);
		assert_int_equal(instruction.target, example->target);
		if (example->target)
			assert_true(instruction.has_target);
		decoder_free(decoder);
	}
}

static void intel_syntax_is_there_when_asked(void **state)
{
	(void)state;
	struct decoder *decoder = decoder_of(ISA_X86_64, ISA_SYNTAX_INTEL);
	struct instruction instruction;
	static const uint8_t bytes[] = { 0x48, 0x8b, 0x07 };
	decoder_decode(decoder, (struct span){ bytes, sizeof(bytes) }, VADDR, &instruction);
	assert_string_equal(instruction.mnemonic, "mov");
	assert_string_equal(instruction.operands, "rax, qword ptr [rdi]");
	decoder_free(decoder);
}

static void addresses_relative_to_the_instruction_are_computed(void **state)
{
	(void)state;
	static const struct example references[] = {
		{ ISA_X86_64, BYTES(0x48, 0x8d, 0x05, 0xf9, 0xff, 0xff, 0xff), "", 0, VADDR },
		{ ISA_X86_64, BYTES(0xff, 0x25, 4, 0, 0, 0), "", 0, VADDR + 10 },
		{ ISA_X86_64, BYTES(0x62, 0xf1, 0x7c, 0x48, 0x58, 0x05, 0x10, 0, 0, 0), "", 0,
		  VADDR + 10 + 0x10 },
		{ ISA_AARCH64, WORD(0x10000040u), "", 0, VADDR + 8 },	   /* adr */
		{ ISA_AARCH64, WORD(0xb0000000u), "", 0, VADDR + 0x1000 }, /* adrp */
		{ ISA_AARCH64, WORD(0xf0ffffe0u), "", 0, VADDR - 0x1000 }, /* adrp, back */
		{ ISA_AARCH64, WORD(0x58000040u), "", 0, VADDR + 8 },	   /* ldr literal */
		{ ISA_AARCH64, WORD(0xd8ffffe0u), "", 0, VADDR - 4 },	   /* prfm literal */
	};
	for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
		struct decoder *decoder = decoder_of(references[i].isa, ISA_SYNTAX_ATT);
		struct instruction instruction;
		decoder_decode(decoder, (struct span){ references[i].bytes, references[i].size },
			       VADDR, &instruction);
		assert_true(instruction.has_reference);
		assert_int_equal(instruction.reference, references[i].target);
		decoder_free(decoder);
	}
}

/* Whatever the bytes: 1 to 15 of them, never past the end, always a text. */
static void every_sweep_moves_on_and_stays_inside(void **state)
{
	(void)state;
	static const enum isa isas[] = { ISA_X86_64, ISA_I386, ISA_AARCH64 };
	struct random_state random = random_seed(4);
	for (size_t k = 0; k < 3; k++) {
		struct decoder *decoder = decoder_of(isas[k], ISA_SYNTAX_ATT);
		uint8_t bytes[512];
		for (int round = 0; round < 200; round++) {
			for (size_t i = 0; i < sizeof(bytes); i++)
				bytes[i] = (uint8_t)random_u64(&random);
			if (round & 1) /* dense in VEX, EVEX and 0F 38 */
				for (size_t i = 0; i < sizeof(bytes); i += 8)
					memcpy(bytes + i,
					       (const uint8_t[]){ 0x62, 0xc4, 0xc5, 0x0f } +
						       (i / 8 & 3),
					       1);
			size_t size = 1 + random_below(&random, sizeof(bytes));
			for (size_t at = 0; at < size;) {
				struct instruction instruction;
				decoder_decode(decoder, (struct span){ bytes + at, size - at },
					       VADDR + at, &instruction);
				assert_in_range(instruction.length_bytes, 1, 15);
				assert_true(instruction.length_bytes <= size - at);
				assert_true(instruction.mnemonic[0] != 0);
				at += instruction.length_bytes;
			}
		}
		decoder_free(decoder);
	}
}

static void an_instruction_that_the_end_cuts_is_data(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct decoder *decoder = decoder_of(examples[i].isa, ISA_SYNTAX_ATT);
		for (size_t size = 1; size < examples[i].size; size++) {
			struct instruction instruction;
			uint8_t *exact =
				malloc(size); /* so that a sanitizer sees a read behind it */
			memcpy(exact, examples[i].bytes, size);
			decoder_decode(decoder, (struct span){ exact, size }, VADDR, &instruction);
			assert_true(instruction.length_bytes <= size);
			if (examples[i].isa == ISA_AARCH64)
				assert_int_equal(instruction.kind, INSTRUCTION_DATA);
			free(exact);
		}
		decoder_free(decoder);
	}
}

static void instruction_sets_are_known_by_name_and_machine(void **state)
{
	(void)state;
	assert_int_equal(isa_of_elf_machine(62), ISA_X86_64);
	assert_int_equal(isa_of_elf_machine(3), ISA_I386);
	assert_int_equal(isa_of_elf_machine(183), ISA_AARCH64);
	assert_int_equal(isa_of_elf_machine(40), ISA_UNKNOWN);
	assert_int_equal(isa_of_name(span_of_text("x86_64")), ISA_X86_64);
	assert_int_equal(isa_of_name(span_of_text("i686")), ISA_I386);
	assert_int_equal(isa_of_name(span_of_text("aarch64")), ISA_AARCH64);
	assert_int_equal(isa_of_name(span_of_text("riscv64")), ISA_UNKNOWN);
	assert_int_equal(isa_of_name(span_of_text("")), ISA_UNKNOWN);

	struct decoder *decoder = NULL;
	struct error err;
	assert_int_equal(decoder_new(ISA_UNKNOWN, ISA_SYNTAX_ATT, &decoder, &err), -EINVAL);
	assert_string_equal(err.text, "the instruction set of this code is not known");
	assert_null(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_instructions_are_told_with_kind_and_target),
		cmocka_unit_test(intel_syntax_is_there_when_asked),
		cmocka_unit_test(addresses_relative_to_the_instruction_are_computed),
		cmocka_unit_test(every_sweep_moves_on_and_stays_inside),
		cmocka_unit_test(an_instruction_that_the_end_cuts_is_data),
		cmocka_unit_test(instruction_sets_are_known_by_name_and_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
