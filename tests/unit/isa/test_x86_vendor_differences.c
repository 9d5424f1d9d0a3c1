/*
 * Each encoding that CPUs of different vendors read or execute differently has a sample here,
 * and nothing is followed through it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/count_of.h"
#include "interpret_world.h"
#include "isa/interpret_private.h"
#include "isa/x86_vendor_differences.h"

#define BYTES(...)                                                                                 \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static const struct {
	const char *encoding; /* of the row */
	uint8_t bytes[12];
} samples[] = {
	{ "66 70-7F cb", BYTES(0x66, 0x74, 0x10) },
	{ "66 E0-E3 cb", BYTES(0x66, 0xe2, 0x10) },
	{ "66 E0-E3 cb", BYTES(0x66, 0xe3, 0x10) },
	{ "66 E8-E9 cd", BYTES(0x66, 0xe8, 1, 0, 0, 0) },
	{ "66 E8-E9 cd", BYTES(0x66, 0x41, 0xe9, 1, 0, 0, 0) },
	{ "66 E8-E9 cd", BYTES(0x48, 0x66, 0xe9, 1, 0, 0, 0) }, /* a REX that does not count */
	{ "66 EB cb", BYTES(0x66, 0xeb, 0x10) },
	{ "66 EB cb", BYTES(0x2e, 0x66, 0xeb, 0x10) },
	{ "66 0F 80-8F cd", BYTES(0x66, 0x0f, 0x84, 1, 0, 0, 0) },
	{ "66 C2-C3", BYTES(0x66, 0xc3) },
	{ "66 C2-C3", BYTES(0x66, 0xc2, 8, 0) },
	{ "66 FF /2, /4", BYTES(0x66, 0xff, 0xd0) },
	{ "66 FF /2, /4", BYTES(0x66, 0xff, 0x20) },
	{ "REX.W FF /3, /5 m", BYTES(0x48, 0xff, 0x18) },
	{ "REX.W FF /3, /5 m", BYTES(0x48, 0xff, 0x28) },
	{ "0F FF", BYTES(0x0f, 0xff, 0xc0) },
	{ "F2 and F3", BYTES(0xf2, 0xf3, 0xa4) },
	{ "F2 and F3", BYTES(0xf3, 0xf2, 0x0f, 0x10, 0xc1) },
	{ "64 and 65", BYTES(0x64, 0x65, 0x8b, 0x00) },
	{ "F3 REX.B 90", BYTES(0xf3, 0x45, 0x90) },
	{ "F3 REX.B 90", BYTES(0xf3, 0x41, 0x90) },
	{ "F3 REX.B 90", BYTES(0xf3, 0x4f, 0x90) },
	{ "F3 REX.B 90", BYTES(0x66, 0xf3, 0x41, 0x90) },
	{ "F3 REX.B 90", BYTES(0xf3, 0x66, 0x41, 0x90) },
	{ "F2 A4-A5", BYTES(0xf2, 0xa4) },
	{ "F2 A4-A5", BYTES(0xf2, 0x48, 0xa5) },
	{ "F2 AA-AD", BYTES(0xf2, 0xaa) },
	{ "F2 AA-AD", BYTES(0xf2, 0xad) },
	{ "0F 0D /r with a register", BYTES(0x0f, 0x0d, 0xc8) },
	{ "0F 1A-1B /r", BYTES(0x0f, 0x1b, 0x00) },
	{ "0F 1A-1B /r", BYTES(0x66, 0x0f, 0x1a, 0x00) },
	{ "F3 0F 1E /1 with a register", BYTES(0xf3, 0x48, 0x0f, 0x1e, 0xc8) },
	{ "0F 34-35", BYTES(0x0f, 0x34) },
	{ "0F 34-35", BYTES(0x0f, 0x35) },
	{ "REX.W 0F B2", BYTES(0x48, 0x0f, 0xb2, 0x00) },
	{ "REX.W 0F B4-B5", BYTES(0x48, 0x0f, 0xb4, 0x00) },
	{ "0F A6-A7", BYTES(0xf3, 0x0f, 0xa7, 0xc8) },
	{ "0F A6-A7", BYTES(0x0f, 0xa7, 0xc0) },
	{ "66 63 /r", BYTES(0x66, 0x63, 0xc1) },
	{ "66 0F A4-A5", BYTES(0x66, 0x0f, 0xa4, 0xc8, 0x11) },
	{ "66 0F AC-AD", BYTES(0x66, 0x0f, 0xad, 0xc8) },
	{ "66 0F C8-CF", BYTES(0x66, 0x0f, 0xc9) },
	{ "F3 0F BC", BYTES(0xf3, 0x0f, 0xbc, 0xc1) },
	{ "F3 0F BC", BYTES(0xf3, 0x48, 0x0f, 0xbc, 0xc1) },
	{ "F3 0F BD", BYTES(0xf3, 0x0f, 0xbd, 0xc1) },
	{ "(F3, VEX) 0F 52-53", BYTES(0x0f, 0x53, 0xc1) },
	{ "(F3, VEX) 0F 52-53", BYTES(0xf3, 0x0f, 0x52, 0xc1) },
	{ "(F3, VEX) 0F 52-53", BYTES(0xc5, 0xf8, 0x52, 0xc1) },
	{ "(F3, VEX) 0F 52-53", BYTES(0xc4, 0xc1, 0x7a, 0x53, 0xc1) },
	{ "0F A2", BYTES(0x0f, 0xa2) },
	{ "0F 02-03 /r", BYTES(0x0f, 0x02, 0xc1) },
	{ "0F 02-03 /r", BYTES(0x0f, 0x03, 0xc1) },
	{ "0F AE /0, /4, /6 m", BYTES(0x0f, 0xae, 0x04, 0x24) },
};

/* States in which a part of what a row's instruction writes is not defined alike. */
#define F(name) (1u << FACT_##name)
static const struct {
	const char *encoding;
	uint8_t bytes[8];
	uint64_t rax, rcx, rdx;
	unsigned facts;	     /* that must be unknown behind it, all flags being known before */
	uint64_t rax_kept;   /* bits of rax that must be unknown */
	unsigned facts_told; /* that must be known: it was followed */
} parts[] = {
	{ "0F BC-BD", BYTES(0x0f, 0xbc, 0xc1), 7, 0, 0, F(CARRY) | F(SIGN), UINT64_MAX, F(ZERO) },
	{ "0F BC-BD", BYTES(0x48, 0x0f, 0xbd, 0xc1), 7, 0, 0, F(OVERFLOW) | F(PARITY), UINT64_MAX,
	  F(ZERO) },
	{ "0F BC-BD", BYTES(0x0f, 0xbc, 0xc1), 7, 8, 0, F(CARRY) | F(SIGN), 0, F(ZERO) },
	{ "0F A3, AB, B3, BB, BA", BYTES(0x0f, 0xa3, 0xc8), 7, 1, 0,
	  F(ZERO) | F(SIGN) | F(OVERFLOW) | F(PARITY), 0, F(CARRY) },
	{ "0F A3, AB, B3, BB, BA", BYTES(0x0f, 0xba, 0xf0, 0x01), 7, 1, 0, F(ZERO), 0, F(CARRY) },
	{ "C0-C1, D0-D3 /4, /5", BYTES(0xc0, 0xe0, 9), 7, 0, 0, F(CARRY) | F(OVERFLOW), 0,
	  F(ZERO) },
	{ "C0-C1, D0-D3 /4, /5", BYTES(0xd3, 0xe8), 7, 2, 0, F(OVERFLOW), 0, F(CARRY) },
	{ "C0-C1, D0-D3 /7", BYTES(0xd3, 0xf8), 7, 2, 0, F(OVERFLOW), 0, F(CARRY) },
	{ "C0-C1, D0-D3 /0, /1", BYTES(0xd3, 0xc8), 7, 2, 0, F(OVERFLOW), 0, F(CARRY) },
	{ "0F A4-A5, AC-AD", BYTES(0x0f, 0xa4, 0xc8, 3), 7, 2, 0, F(OVERFLOW), 0, F(CARRY) },
	{ "F6-F7 /4, /5; 69, 6B, 0F AF", BYTES(0xf7, 0xe1), 7, 2, 0, F(SIGN) | F(ZERO) | F(PARITY),
	  0, F(CARRY) | F(OVERFLOW) },
	{ "F6-F7 /4, /5; 69, 6B, 0F AF", BYTES(0x0f, 0xaf, 0xc1), 7, 2, 0,
	  F(SIGN) | F(ZERO) | F(PARITY), 0, F(CARRY) | F(OVERFLOW) },
	{ "F6-F7 /6, /7", BYTES(0xf7, 0xf1), 7, 2, 0,
	  F(SIGN) | F(ZERO) | F(PARITY) | F(CARRY) | F(OVERFLOW), 0, 0 },
	{ "0F B1", BYTES(0x0f, 0xb1, 0xca), 7, 1, 7, 0, UINT64_C(0xffffffff) << 32,
	  F(ZERO) | F(CARRY) },
	{ "VEX 0F 38 F2-F3", BYTES(0xc4, 0xe2, 0x78, 0xf3, 0xc9), 7, 2, 0, F(PARITY), 0, F(ZERO) },
	{ "VEX 0F 38 F2-F3", BYTES(0xc4, 0xe2, 0x70, 0xf2, 0xc1), 7, 2, 0, F(PARITY), 0, F(ZERO) },
};

static struct world world_with(const uint8_t *bytes, size_t size)
{
	struct world world = world_of(ISA_X86_64, bytes, size);
	for (unsigned r = 0; r < 16; r++)
		if (r != X86_RSP)
			world_know(&world, r, STACK_AT + 8 * r);
	world.start.flags_known = true;
	return world;
}

static void every_row_has_a_sample(void **state)
{
	(void)state;
	enum x86_differs last = X86_DIFFERS_FLOW;
	for (size_t row = 0; x86_difference_at(row); row++) {
		const struct x86_difference *difference = x86_difference_at(row);
		size_t found = 0;
		for (size_t i = 0; i < COUNT_OF(samples); i++)
			found += strcmp(samples[i].encoding, difference->encoding) == 0;
		for (size_t i = 0; i < COUNT_OF(parts); i++)
			found += strcmp(parts[i].encoding, difference->encoding) == 0;
		if (!found)
			fail_msg("no sample of %s", difference->encoding);
		assert_true(difference->differs >= last);
		assert_true(*difference->how && *difference->source);
		last = difference->differs;
	}
}

static void check_sample(const struct x86_difference *difference, const uint8_t *bytes)
{
	struct world world = world_with(bytes, sizeof(samples[0].bytes));
	struct decoder *decoder = world.interpreter->decoder;
	struct span code = { bytes, sizeof(samples[0].bytes) };
	struct instruction instruction;
	struct instruction_effects effects;
	decoder_effects(decoder, code, CODE_AT, &instruction, &effects);
	world_run(&world, 1);
	assert_int_equal(world.edge_count, 0);
	if (difference->differs < X86_DIFFERS_RESULT) {
		assert_false(effects.known);
		assert_int_equal(world.result.instructions, 0);
		assert_int_equal(world.result.pc, CODE_AT);
		assert_true(world.result.end == INTERPRET_END_UNKNOWN ||
			    world.result.end == INTERPRET_END_SYSTEM);
		assert_false(instruction.has_target);
	} else {
		assert_true(effects.known);
		assert_int_equal(world.result.instructions, 1);
		for (unsigned r = 0; r < 16; r++)
			if (register_set_has(&effects.writes, r) && r != X86_RSP)
				assert_int_equal(world.interpreter->general[r].known, 0);
		if (effects.writes_flags)
			assert_int_equal(world.interpreter->facts.known, 0);
	}
	interpreter_free(world.interpreter);
}

static void none_is_followed(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		struct span code = { samples[i].bytes, sizeof(samples[i].bytes) };
		const struct x86_difference *difference = x86_difference_of(code);
		if (!difference || strcmp(difference->encoding, samples[i].encoding) != 0)
			fail_msg("a sample of %s is %s", samples[i].encoding,
				 difference ? difference->encoding : "not found");
		check_sample(difference, samples[i].bytes);
	}
}

static void what_is_undefined_in_part_is_unknown_in_part(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		struct world world = world_with(parts[i].bytes, sizeof(parts[i].bytes));
		world_know(&world, X86_RAX, parts[i].rax);
		world_know(&world, X86_RCX, parts[i].rcx);
		world_know(&world, X86_RDX, parts[i].rdx);
		world_run(&world, 1);
		const struct facts *facts = &world.interpreter->facts;
		uint64_t unknown = ~world.interpreter->general[X86_RAX].known;
		if (world.result.instructions != 1 || facts->known & parts[i].facts ||
		    (unknown & parts[i].rax_kept) != parts[i].rax_kept ||
		    (facts->known & parts[i].facts_told) != parts[i].facts_told)
			fail_msg("row %zu, %s: flags %02x are known, bits %#llx of rax unknown", i,
				 parts[i].encoding, facts->known, (unsigned long long)unknown);
		interpreter_free(world.interpreter);
	}
}

/* As near to the rows as an encoding can be that all CPUs read alike. */
static void what_cpus_agree_on_is_followed(void **state)
{
	(void)state;
	static const uint8_t same[][8] = {
		BYTES(0x41, 0x90),			/* xchg of r8d and eax */
		BYTES(0xf3, 0x90),			/* pause */
		BYTES(0xf3, 0x48, 0x90),		/* pause */
		BYTES(0x41, 0xf3, 0x90),		/* pause: REX does not count */
		BYTES(0x66, 0x41, 0x90),		/* xchg of r8w and ax */
		BYTES(0x66, 0x48, 0xe8, 0, 0, 0, 0),	/* call: REX.W beats 66 */
		BYTES(0xeb, 0x00),			/* jmp */
		BYTES(0x3e, 0xeb, 0x00),		/* jmp */
		BYTES(0x67, 0xe8, 0, 0, 0, 0),		/* call */
		BYTES(0xf3, 0x0f, 0x1e, 0xfa),		/* endbr64 */
		BYTES(0x66, 0x66, 0x2e, 0x0f, 0x1f, 0), /* nop */
		BYTES(0x0f, 0x0d, 0x08),		/* prefetchw */
		BYTES(0xf3, 0xa4),			/* rep movsb */
		BYTES(0xf2, 0xae),			/* repne scasb */
		BYTES(0x0f, 0xc8),			/* bswap */
		BYTES(0xc5, 0xf8, 0x54, 0xc1),		/* vandps */
		BYTES(0x0f, 0xae, 0xe8),		/* lfence */
		BYTES(0x64, 0x64, 0x8b, 0x00),		/* one prefix twice */
	};
	for (size_t i = 0; i < COUNT_OF(same); i++) {
		struct span code = { same[i], sizeof(same[i]) };
		const struct x86_difference *difference = x86_difference_of(code);
		if (difference)
			fail_msg("case %zu is taken for %s", i, difference->encoding);
		struct world world = world_with(same[i], sizeof(same[i]));
		world_run(&world, 1);
		assert_int_equal(world.result.instructions, 1);
		interpreter_free(world.interpreter);
	}
}

static void a_cut_instruction_is_read_no_further(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(samples); i++)
		for (size_t size = 0; size < sizeof(samples[i].bytes); size++) {
			uint8_t *copy = malloc(size + !size);
			assert_non_null(copy);
			memcpy(copy, samples[i].bytes, size);
			x86_difference_of((struct span){ copy, size });
			free(copy);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_a_sample),
		cmocka_unit_test(none_is_followed),
		cmocka_unit_test(what_is_undefined_in_part_is_unknown_in_part),
		cmocka_unit_test(what_cpus_agree_on_is_followed),
		cmocka_unit_test(a_cut_instruction_is_read_no_further),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
