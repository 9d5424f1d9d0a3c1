/*
 * Where interrupts that waited are delivered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/count_of.h"
#include "isa/decode.h"
#include "isa/interrupts.h"

#define FIRST UINT64_C(0xffffffff81000000)
#define BYTES(...)                                                                                 \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* Offsets where they arrive, as bits. */
static uint64_t arrivals(enum isa isa, const void *bytes, size_t size)
{
	struct decoder *decoder = NULL;
	uint64_t found = 0;
	uint8_t *marks = NULL;
	assert_int_equal(decoder_new(isa, ISA_SYNTAX_ATT, &decoder, NULL), 0);
	for (size_t at = 0; at < size; at++)
		if (interrupts_arrive_at(decoder, (struct span){ bytes, size }, FIRST, FIRST + at,
					 &marks))
			found |= UINT64_C(1) << at;
	free(marks);
	decoder_free(decoder);
	return found;
}

static void behind_what_lets_them_in(void **state)
{
	(void)state;
	static const struct {
		uint8_t bytes[24];
		uint64_t arrive;
	} cases[] = {
		/* sti; nopl; mov 8(%rbx),%rax; nop */
		{ BYTES(0xfb, 0x0f, 0x1f, 0x44, 0, 0, 0x48, 0x8b, 0x43, 0x08, 0x90),
		  1 << 1 | 1 << 6 },
		/* push %rdi; popf; decl (%rax); nop: at once */
		{ BYTES(0x57, 0x9d, 0xff, 0x08, 0x90, 0x90), 1 << 2 },
		/* sti; je +2; nop; the next: a branch that is not taken */
		{ BYTES(0xfb, 0x74, 0x02, 0x90, 0x90, 0x90), 1 << 1 | 1 << 3 },
		/* sti; ret; nop: it comes in at the caller */
		{ BYTES(0xfb, 0xc3, 0x90, 0x90), 1 << 1 },
		/* sti; call +0; nop: at the callee */
		{ BYTES(0xfb, 0xe8, 0, 0, 0, 0, 0x90, 0x90), 1 << 1 },
		/* mov $0xfb,%al; nop; mov $0x9d9dfbfb,%eax: bytes of other instructions */
		{ BYTES(0xb0, 0xfb, 0x90, 0xb8, 0xfb, 0xfb, 0x9d, 0x9d, 0x90), 0 },
		/* cli; nop; sti at the end */
		{ BYTES(0xfa, 0x90, 0x90, 0xfb), 0 },
		/* pushf; fwait; sahf: next to popf */
		{ BYTES(0x9c, 0x90, 0x9b, 0x90, 0x9e, 0x90), 0 },
	};
	static const size_t sizes[] = { 11, 6, 6, 4, 8, 9, 4, 6 };
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint64_t found = arrivals(ISA_X86_64, cases[i].bytes, sizes[i]);
		if (found != cases[i].arrive)
			fail_msg("case %zu: %#llx, not %#llx", i, (unsigned long long)found,
				 (unsigned long long)cases[i].arrive);
	}
}

static void aarch64_has_three_ways(void **state)
{
	(void)state;
	static const uint32_t words[] = {
		0xd50342ff,		/* msr daifclr, #2 */
		0xd503201f,		/* nop */
		0xd50343ff,		/* msr daifclr, #3 */
		0xd503201f, 0xd50341ff, /* msr daifclr, #1: FIQ alone */
		0xd503201f, 0xd50342df, /* msr daifset, #2 */
		0xd503201f, 0xd51b4220, /* msr daif, x0 */
		0xd503201f, 0xd53b4220, /* mrs x0, daif */
		0xd5184613,		/* msr icc_pmr_el1, x19 */
		0xd503201f,
	};
	uint64_t found = arrivals(ISA_AARCH64, words, sizeof(words));
	assert_int_equal(found, UINT64_C(1) << 4 | UINT64_C(1) << 12 | UINT64_C(1) << 36 |
					UINT64_C(1) << 48);
}

/* 50,000 walks from the first would take minutes. */
static void all_of_long_code_costs_one_walk(void **state)
{
	(void)state;
	enum { SIZE = 50000 };
	static uint8_t bytes[SIZE];
	struct decoder *decoder = NULL;
	uint8_t *marks = NULL;
	memset(bytes, 0x9d, sizeof(bytes)); /* popf */
	assert_int_equal(decoder_new(ISA_X86_64, ISA_SYNTAX_ATT, &decoder, NULL), 0);
	for (uint64_t at = SIZE; at-- > 0;)
		assert_int_equal(interrupts_arrive_at(decoder, (struct span){ bytes, SIZE }, FIRST,
						      FIRST + at, &marks),
				 at > 0);
	free(marks);
	decoder_free(decoder);
}

static void outside_the_code_none_are(void **state)
{
	(void)state;
	static const uint8_t bytes[] = { 0x90, 0xfb };
	struct decoder *decoder = NULL;
	struct span code = { bytes, sizeof(bytes) };
	uint8_t *marks = NULL;
	assert_int_equal(decoder_new(ISA_X86_64, ISA_SYNTAX_ATT, &decoder, NULL), 0);
	assert_false(interrupts_arrive_at(decoder, code, FIRST, FIRST + 2, &marks));
	assert_false(interrupts_arrive_at(decoder, code, FIRST, FIRST - 1, &marks));
	assert_false(interrupts_arrive_at(decoder, code, FIRST, UINT64_MAX, &marks));
	assert_false(interrupts_arrive_at(decoder, (struct span){ NULL, 0 }, FIRST, FIRST, &marks));
	decoder_free(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_what_lets_them_in),
		cmocka_unit_test(aarch64_has_three_ways),
		cmocka_unit_test(all_of_long_code_costs_one_walk),
		cmocka_unit_test(outside_the_code_none_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
