/*
 * The interpreter against the CPU: random AArch64 instructions from random states of
 * which the interpreter is told random parts. Each bit that it then says to know must
 * be as the CPU left it; and told all, it must know most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#ifdef __aarch64__
#include "base/random.h"
#include "isa/interpret_private.h"
#include "machine_aarch64.h"
#include "support/skip.h"

#define TRIALS	   5000
#define TEXT_BYTES 8192
#define STACK_SEEN 64 /* bytes from sp on that the interpreter may be told */

struct trial {
	struct interpreter *interpreter;
	struct decoder *decoder;
	struct random_state random;
	uint32_t word;
	bool all_known;
	struct step step;
	struct machine_state before, after;
	struct interpret_start start;
	struct interpret_callbacks callbacks;
	struct interpret_result result;
	size_t ran, wrong, at;
	size_t bits, bits_known; /* of what was written, all being known before */
	char text[TEXT_BYTES];
};

static uint64_t any_value(struct random_state *random)
{
	static const uint64_t edges[] = { 0,	      1,    UINT64_MAX,	       UINT64_C(1) << 63,
					  UINT32_MAX, 0x80, UINT64_C(1) << 31, INT32_MAX };
	switch (random_below(random, 4)) {
	case 0:
		return random_below(random, 70);
	case 1:
		return edges[random_below(random, sizeof(edges) / sizeof(edges[0]))];
	}
	return random_u64(random);
}

static struct known_bits part_of(struct trial *trial, uint64_t value)
{
	uint64_t known = UINT64_MAX;
	if (!trial->all_known && random_below(&trial->random, 2))
		known = random_below(&trial->random, 3)
				? random_u64(&trial->random) | random_u64(&trial->random)
				: 0;
	return (struct known_bits){ value & known, known };
}

static const struct {
	enum fact fact;
	unsigned bit;
	bool inverted;
} flags_of_facts[] = { { FACT_SIGN, 31, false },
		       { FACT_ZERO, 30, false },
		       { FACT_CARRY, 29, true },
		       { FACT_OVERFLOW, 28, false } };

static bool is_base(unsigned reg)
{
	return reg == AARCH64_SP || reg == 1 || reg == 2;
}

/* sp, x1 and x2 point into the memory, and are known: stores elsewhere would be ignored. */
static void any_state(struct trial *trial)
{
	struct random_state *random = &trial->random;
	struct interpreter *interpreter = trial->interpreter;
	struct machine_state *state = &trial->before;
	trial->all_known = random_below(random, 4) == 0;
	for (unsigned r = 0; r < 32; r++) {
		state->general[r] = any_value(random);
		if (is_base(r))
			state->general[r] = machine_memory() + 16 * random_below(random, 4);
		interpreter->general[r] =
			is_base(r) ? bits_of(state->general[r]) : part_of(trial, state->general[r]);
		for (unsigned i = 0; i < 2; i++) {
			state->vectors[r][i] = any_value(random);
			interpreter->vectors[r][i] = part_of(trial, state->vectors[r][i]);
		}
	}
	for (size_t i = 0; i < MACHINE_MEMORY_BYTES; i++)
		state->memory[i] = (uint8_t)random_u64(random);
	state->nzcv = random_u64(random) & UINT64_C(0xf0000000);
	interpreter->facts = (struct facts){ 0, 0 };
	for (unsigned i = 0; i < 4; i++)
		if (trial->all_known || random_below(random, 2))
			fact_set(&interpreter->facts, flags_of_facts[i].fact,
				 (state->nzcv >> flags_of_facts[i].bit & 1) !=
					 flags_of_facts[i].inverted);
	facts_conclude(&interpreter->facts);
	uint64_t sp = state->general[AARCH64_SP];
	trial->start.stack.data = state->memory + MACHINE_MEMORY_AT + (sp - machine_memory());
	trial->start.stack.size = trial->all_known ? STACK_SEEN : random_below(random, STACK_SEEN);
	memory_begin(&interpreter->memory, sp, &trial->start, &trial->callbacks);
}

/* Of data processing, loads and stores; these mostly at what points into the memory. */
static uint32_t any_word(struct random_state *random)
{
	static const uint8_t groups[] = { 8, 9, 5, 13, 4, 6, 12, 14, 7, 15 };
	static const uint8_t bases[] = { 1, 2, 31 };
	uint32_t word = (uint32_t)random_u64(random);
	unsigned op0 = groups[random_below(random, sizeof(groups))];
	word = (word & ~UINT32_C(0x1e000000)) | op0 << 25;
	if ((op0 & 5) == 4) {
		word &= ~(UINT32_C(31) << 5);
		word |= (uint32_t)bases[random_below(random, 3)] << 5;
		if (random_below(random, 2)) /* small offsets */
			word &= ~UINT32_C(0x001f0000);
	}
	if ((op0 & 7) == 5 && random_below(random, 2)) /* small shifts, sparse opcodes */
		word &= ~UINT32_C(0x0000c000);
	return word;
}

static bool fit_to_run(const struct trial *trial, const struct instruction *instruction,
		       const struct instruction_effects *effects)
{
	if (!effects->known || instruction->kind != INSTRUCTION_OTHER ||
	    effects->class == LATENCY_SYSTEM || effects->class == LATENCY_BARRIER ||
	    effects->class == LATENCY_MICROCODE)
		return false;
	if (!effects->reads_memory && !effects->writes_memory)
		return true;
	/* a register as an offset leads anywhere; an update of what is loaded is undefined */
	struct register_set others = effects->address;
	register_set_remove(&others, 1);
	register_set_remove(&others, 2);
	register_set_remove(&others, AARCH64_SP);
	unsigned base = trial->word >> 5 & 31, first = trial->word & 31;
	unsigned second = trial->word >> 10 & 31, third = trial->word >> 16 & 31;
	return register_set_empty(&others) && base != first && base != second && base != third;
}

static void complain(struct trial *trial, const char *what, unsigned number, struct known_bits said,
		     uint64_t real)
{
	struct instruction text;
	trial->wrong++;
	if (TEXT_BYTES - trial->at < 400)
		return;
	decoder_decode(trial->decoder, (struct span){ &trial->word, 4 }, machine_code(), &text);
	trial->at += (size_t)snprintf(trial->text + trial->at, TEXT_BYTES - trial->at,
				      "%s %s (%08x) %s %u: said %llx (known %llx), is %llx\n",
				      text.mnemonic, text.operands, trial->word, what, number,
				      (unsigned long long)said.value,
				      (unsigned long long)said.known, (unsigned long long)real);
}

static bool check_bits(struct trial *trial, const char *what, unsigned number,
		       struct known_bits said, uint64_t real)
{
	if (!((said.value ^ real) & said.known) && !(said.value & ~said.known))
		return true;
	complain(trial, what, number, said, real);
	return false;
}

static bool check_facts(struct trial *trial)
{
	uint64_t nzcv = trial->after.nzcv;
	bool below = !(nzcv >> 29 & 1), zero = nzcv >> 30 & 1;
	bool less = (nzcv >> 31 & 1) != (nzcv >> 28 & 1);
	const bool real[] = { [FACT_CARRY] = below,
			      [FACT_ZERO] = zero,
			      [FACT_SIGN] = nzcv >> 31 & 1,
			      [FACT_OVERFLOW] = nzcv >> 28 & 1,
			      [FACT_LESS] = less,
			      [FACT_BELOW_EQUAL] = below || zero,
			      [FACT_LESS_EQUAL] = less || zero };
	for (unsigned f = 0; f < sizeof(real) / sizeof(real[0]); f++) {
		enum truth truth = fact_of(&trial->interpreter->facts, f);
		if (f == FACT_PARITY || truth == TRUTH_UNKNOWN || (truth == TRUTH_TRUE) == real[f])
			continue;
		complain(trial, "fact", f, bits_of(truth == TRUTH_TRUE), real[f]);
		return false;
	}
	return true;
}

static bool check_state(struct trial *trial)
{
	struct interpreter *interpreter = trial->interpreter;
	for (unsigned r = 0; r < 32; r++)
		if (!check_bits(trial, "register", r, interpreter->general[r],
				trial->after.general[r]) ||
		    !check_bits(trial, "vector", r, interpreter->vectors[r][0],
				trial->after.vectors[r][0]) ||
		    !check_bits(trial, "upper vector", r, interpreter->vectors[r][1],
				trial->after.vectors[r][1]))
			return false;
	for (unsigned at = 0; at < MACHINE_MEMORY_BYTES; at++) {
		uint64_t address = machine_memory() - MACHINE_MEMORY_AT + at;
		if (!check_bits(trial, "memory at", at,
				memory_load(&interpreter->memory, address, 1),
				trial->after.memory[at]))
			return false;
	}
	return check_facts(trial);
}

static void count_known(struct trial *trial, bool reads_memory)
{
	for (unsigned r = 0; r < 32 && !reads_memory; r++) {
		if (!register_set_has(&trial->step.writes, r))
			continue;
		trial->bits += 64;
		trial->bits_known +=
			(size_t)__builtin_popcountll(trial->interpreter->general[r].known);
	}
}

static void run_trial(struct trial *trial)
{
	struct instruction instruction;
	struct instruction_effects effects;
	trial->word = any_word(&trial->random);
	struct span code = { &trial->word, 4 };
	decoder_effects(trial->decoder, code, machine_code(), &instruction, &effects);
	if (!fit_to_run(trial, &instruction, &effects))
		return;
	any_state(trial);
	if (!machine_run(trial->word, &trial->before, &trial->after))
		return;
	uint64_t next = machine_code() + 4;
	enum interpret_end end;
	trial->step = (struct step){ 0 };
	if (!aarch64_step_decode(trial->interpreter, code, machine_code(), &trial->step))
		return;
	memcpy(trial->step.bytes, &trial->word, 4);
	if (!aarch64_step_run(trial->interpreter, &trial->step, &next, &end))
		return;
	trial->ran++;
	if (trial->all_known)
		count_known(trial, effects.reads_memory);
	check_state(trial);
}

static void what_is_known_is_what_the_cpu_does(void **state)
{
	(void)state;
	static struct trial trial;
	trial.random = random_seed(3);
	assert_int_equal(interpreter_new(ISA_AARCH64, &trial.interpreter, NULL), 0);
	assert_int_equal(decoder_new(ISA_AARCH64, ISA_SYNTAX_ATT, &trial.decoder, NULL), 0);
	if (!machine_start()) {
		SKIP("no page may be both written and run here");
	}
	for (size_t i = 0; i < TRIALS; i++)
		run_trial(&trial);
	print_message("%zu instructions; of all known %.1f %% stay known\n", trial.ran,
		      100.0 * (double)trial.bits_known / (double)trial.bits);
	if (trial.wrong)
		fail_msg("%zu of %zu instructions leave something else:\n%s", trial.wrong,
			 trial.ran, trial.text);
	assert_true(trial.ran >= TRIALS / 10);
	assert_true(trial.bits_known >= trial.bits / 100 * 90);
	decoder_free(trial.decoder);
	interpreter_free(trial.interpreter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_is_what_the_cpu_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("no AArch64 CPU to run instructions on");
	return 77;
}
#endif
