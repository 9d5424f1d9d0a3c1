#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "isa/effects.h"
#include "isa/transfer.h"

#define VADDR 0x401000

/* rax to r15; x0 to x30 and sp. */
static uint64_t general_registers(enum isa isa)
{
	return isa == ISA_X86_64 ? 0xffff : UINT32_MAX;
}

static void print_bytes(struct span code, char text[64])
{
	for (size_t i = 0; i < code.size; i++)
		snprintf(text + 3 * i, 64 - 3 * i, "%02x ", ((const uint8_t *)code.data)[i]);
}

/*
 * The disassembler's effects are an independent witness: all that an instruction writes,
 * transfer_read() says that it may. Returns whether there was an instruction to judge by.
 */
static bool writes_are_held(enum isa isa, struct decoder *decoder, struct span code)
{
	struct instruction instruction;
	struct instruction_effects effects;
	struct transfer transfer;
	decoder_effects(decoder, code, VADDR, &instruction, &effects);
	if (!effects.known || effects.class == LATENCY_SYSTEM)
		return false;
	code.size = instruction.length_bytes;
	transfer_read(isa, code, VADDR, &transfer);
	uint64_t written = effects.writes.bits[0] & general_registers(isa);
	if (written == general_registers(isa)) /* fldenv and the like: anything, to be safe */
		return false;
	if (transfer.writes & TRANSFER_CALLS) /* the stack pointer comes back */
		written &= ~(UINT64_C(1) << X86_RSP);
	if (effects.writes_memory)
		written |= TRANSFER_WRITES_MEMORY;
	if (written & ~transfer.writes) {
		char bytes[64];
		print_bytes(code, bytes);
		decoder_decode(decoder, code, VADDR, &instruction);
		fail_msg("%s%s %s: writes %llx, and %llx of it is not said", bytes,
			 instruction.mnemonic, instruction.operands, (unsigned long long)written,
			 (unsigned long long)(written & ~transfer.writes));
	}
	return true;
}

static void all_that_x86_writes_is_held(void **state)
{
	(void)state;
	static const uint8_t firsts[] = { 0x66, 0x67, 0xf2, 0xf3, 0x48, 0x4d, 0x0f,
					  0x41, 0x62, 0xc4, 0xc5, 0xff, 0x8f, 0xd9 };
	struct random_state random = random_seed(31);
	struct decoder *decoder = NULL;
	size_t judged = 0;
	assert_int_equal(decoder_new(ISA_X86_64, ISA_SYNTAX_ATT, &decoder, NULL), 0);
	for (int round = 0; round < 1000000; round++) {
		uint64_t words[2] = { random_u64(&random), random_u64(&random) };
		uint8_t bytes[16];
		memcpy(bytes, words, sizeof(bytes));
		if (round % 4)
			bytes[0] = firsts[random_below(&random, sizeof(firsts))];
		if (round % 4 > 1)
			bytes[1] = firsts[random_below(&random, sizeof(firsts))];
		judged +=
			writes_are_held(ISA_X86_64, decoder, (struct span){ bytes, sizeof(bytes) });
	}
	assert_true(judged > 300000);
	decoder_free(decoder);
}

static void all_that_aarch64_writes_is_held(void **state)
{
	(void)state;
	struct random_state random = random_seed(32);
	struct decoder *decoder = NULL;
	size_t judged = 0;
	assert_int_equal(decoder_new(ISA_AARCH64, ISA_SYNTAX_ATT, &decoder, NULL), 0);
	for (int round = 0; round < 1000000; round++) {
		uint32_t word = (uint32_t)random_u64(&random);
		judged +=
			writes_are_held(ISA_AARCH64, decoder, (struct span){ &word, sizeof(word) });
	}
	assert_true(judged > 200000);
	decoder_free(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_x86_writes_is_held),
		cmocka_unit_test(all_that_aarch64_writes_is_held),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
