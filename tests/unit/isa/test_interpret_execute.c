/*
 * The interpreter against the CPU: random x86-64 instructions, some after another, from
 * random states of which the interpreter is told random parts. Each bit that it then
 * says to know must be as the CPU left it; and told all, it must know most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#ifdef __x86_64__
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "isa/interpret_private.h"
#include "machine_x86.h"
#include "support/skip.h"

#define CHAINS	   100000
#define CHAIN_MOST 6
#define TEXT_BYTES 16384
#define NEAR_BYTES 32 /* memory operands lie as far from rsp */

/* Shared with the child that runs the instructions. */
struct verdict {
	size_t ran, wrong, followed;
	size_t bits, bits_known; /* of what was written, all being known before */
	size_t at;
	char text[TEXT_BYTES];
};

struct trial {
	struct interpreter *interpreter;
	struct decoder *decoder;
	struct random_state random;
	struct verdict *verdict;
	uint8_t bytes[16];
	struct step step;
	struct instruction_effects effects;
	bool memory, string, reaches;
	bool all_known;
	struct machine_state begin, before, after; /* of the chain, of the instruction */
	struct interpret_start start;
	struct interpret_callbacks callbacks;
	struct interpret_result result;
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
	if (!trial->all_known) {
		switch (random_below(&trial->random, 4)) {
		case 0:
			known = 0;
			break;
		case 1:
			known = random_u64(&trial->random);
			break;
		case 2:
			known = random_u64(&trial->random) | random_u64(&trial->random);
			break;
		}
	}
	return (struct known_bits){ value & known, known };
}

static const struct {
	enum fact fact;
	unsigned bit;
} flags_of_facts[] = { { FACT_CARRY, 0 },
		       { FACT_PARITY, 2 },
		       { FACT_ZERO, 6 },
		       { FACT_SIGN, 7 },
		       { FACT_OVERFLOW, 11 } };
#define FLAGS 5

static bool flag(uint64_t flags, unsigned bit)
{
	return flags >> bit & 1;
}

/* A state, and what the interpreter is told of it. */
static void begin_chain(struct trial *trial)
{
	struct random_state *random = &trial->random;
	struct machine_state *state = &trial->begin;
	struct interpreter *interpreter = trial->interpreter;
	memset(state, 0, sizeof(*state));
	trial->all_known = random_below(random, 4) == 0;
	for (unsigned r = 0; r < 16; r++)
		state->general[r] = any_value(random);
	if (random_below(random, 2)) { /* for strings */
		state->general[X86_RCX] = random_below(random, 5);
		state->general[X86_RSI] = machine_stack() + random_below(random, NEAR_BYTES);
		state->general[X86_RDI] = machine_stack() - random_below(random, NEAR_BYTES);
	}
	if (random_below(random, 2)) /* for divisions */
		state->general[X86_RDX] = random_below(random, 2);
	state->general[X86_RSP] = machine_stack();
	state->flags = random_u64(random) & 0x8c5;
	for (unsigned v = 0; v < 32; v++)
		for (unsigned i = 0; i < 8; i++)
			state->vectors[v][i] = any_value(random);
	for (unsigned i = 0; i < MACHINE_MEMORY_BYTES; i++)
		state->memory[i] = (uint8_t)random_u64(random);

	for (unsigned r = 0; r < 16; r++)
		interpreter->general[r] = part_of(trial, state->general[r]);
	interpreter->general[X86_RSP] = bits_of(state->general[X86_RSP]);
	/* stores at unknown addresses are ignored, which here would be seen */
	interpreter->general[X86_RDI] = bits_of(state->general[X86_RDI]);
	for (unsigned v = 0; v < 32; v++)
		for (unsigned i = 0; i < 2; i++)
			interpreter->vectors[v][i] = part_of(trial, state->vectors[v][i]);
	interpreter->facts = (struct facts){ 0, 0 };
	for (unsigned i = 0; i < FLAGS; i++)
		if (trial->all_known || random_below(random, 2))
			fact_set(&interpreter->facts, flags_of_facts[i].fact,
				 flag(state->flags, flags_of_facts[i].bit));
	facts_conclude(&interpreter->facts);
	interpreter->backwards = TRUTH_FALSE;
	trial->start.stack.data = state->memory + MACHINE_RSP_AT;
	trial->start.stack.size = trial->all_known ? MACHINE_MEMORY_BYTES - MACHINE_RSP_AT
						   : random_below(random, NEAR_BYTES * 2);
	memory_begin(&interpreter->memory, machine_stack(), &trial->start, &trial->callbacks);
	trial->before = *state;
}

static uint8_t *put(uint8_t *at, unsigned byte)
{
	*at = (uint8_t)byte;
	return at + 1;
}

/* More than one, or one behind REX, disassemblers and CPUs read differently. */
static bool is_prefix(unsigned byte)
{
	return (byte & 0xf0) == 0x40 || (byte & 0xe7) == 0x26 || (byte & 0xfc) == 0x64 ||
	       byte == 0xf0 || byte == 0xf2 || byte == 0xf3;
}

/* Any instruction of the legacy maps, of VEX or EVEX, with registers or memory near rsp. */
static void any_instruction(struct trial *trial)
{
	static const uint8_t prefixes[] = { 0x66, 0xf2, 0xf3 };
	struct random_state *random = &trial->random;
	uint8_t *at = trial->bytes;
	unsigned map = (unsigned)random_below(random, 8);
	unsigned opcode = (unsigned)random_below(random, 256);
	trial->memory = random_below(random, 3) == 0;
	bool vex = map == 7 && machine_vectors() >= MACHINE_AVX;
	bool evex = vex && machine_vectors() == MACHINE_AVX512 && random_below(random, 2);
	map = map < 4 ? 0 : map < 6 ? 1 : 2 + (unsigned)random_below(random, 2);
	unsigned low = trial->memory ? 4 : 7; /* rsp is without B, X */
	if (map == 0 && (is_prefix(opcode) || opcode == 0x0f))
		opcode = 0x8b;
	if (evex) {
		unsigned other = random_below(random, 2) ? 0x78 : random_u64(random) & 0x78;
		at = put(at, 0x62);
		at = put(at, (unsigned)(random_u64(random) & 0xf0) | (trial->memory ? 0x60 : 0) |
				     (1 + (unsigned)random_below(random, 3)));
		at = put(at, ((unsigned)random_u64(random) & 0x83) | other | 4);
		at = put(at, (unsigned)random_below(random, 3) << 5 |
				     (random_below(random, 2) ? 8 : random_u64(random) & 0x8f));
	} else if (vex) {
		map = 1 + (unsigned)random_below(random, 3);
		at = put(at, 0xc4);
		at = put(at,
			 (unsigned)(random_u64(random) & 0xe0) | (trial->memory ? 0x60 : 0) | map);
		at = put(at, (unsigned)random_u64(random) & 0xfb); /* 128 bits */
	} else {
		if (random_below(random, 3) == 0)
			at = put(at, prefixes[random_below(random, 3)]);
		if (random_below(random, 2))
			at = put(at, 0x40 | (unsigned)random_below(random, 2) << 3 |
					     ((unsigned)random_below(random, 8) & low));
		if (map)
			at = put(at, 0x0f);
		if (map > 1)
			at = put(at, map == 2 ? 0x38 : 0x3a);
	}
	at = put(at, opcode);
	bool bit_string = !vex && map == 1 && (opcode & 0xe7) == 0xa3;
	trial->reaches = trial->memory && (bit_string || (map == 0 && opcode == 0x8f));
	trial->string = !vex && map == 0 && opcode >= 0xa4 && opcode <= 0xaf && opcode != 0xa8 &&
			opcode != 0xa9;
	/* An exchange is locked: across two cache lines it stops all CPUs, on some hosts for
	 * seconds. */
	unsigned aligned = !vex && map == 0 && (opcode & 0xfe) == 0x86 ? 0xf8 : 0xff;
	unsigned middle = (unsigned)random_below(random, 8);
	if (trial->memory) {
		at = put(at, 0x44 | middle << 3);
		at = put(at, 0x24);				      /* rsp and no index */
		at = put(at, evex ? (unsigned)random_below(random, 2) /* times up to 64 */
				  : (unsigned)(random_below(random, 2 * NEAR_BYTES) - NEAR_BYTES) &
					     aligned);
	} else {
		at = put(at, 0xc0 | middle << 3 | (unsigned)random_below(random, 8));
	}
	while (at < trial->bytes + 15)
		at = put(at, (unsigned)random_u64(random) & 0xff);
}

static bool fit_to_run(const struct trial *trial, enum instruction_kind kind, bool first)
{
	const struct instruction_effects *effects = &trial->effects;
	struct register_set touched = register_set_union(&effects->reads, &effects->writes);
	struct register_set allowed = { { 0 } };
	if (!effects->known || kind != INSTRUCTION_OTHER || effects->class == LATENCY_SYSTEM ||
	    effects->class == LATENCY_BARRIER)
		return false;
	for (unsigned r = register_set_next(&touched, X86_DIRECTION + 1); r < REGISTER_LIMIT;
	     r = register_set_next(&touched, r + 1))
		if (r < X86_XMM0 || r >= X86_MM0)
			return false;
	if (register_set_has(&effects->writes, X86_DIRECTION))
		return false;
	if (!effects->reads_memory && !effects->writes_memory)
		return true;
	if (trial->reaches || (trial->string && !first))
		return false;
	register_set_add(&allowed, X86_RSP);
	if (trial->string) {
		uint64_t count = trial->before.general[X86_RCX];
		uint64_t reach = machine_stack() + 64 - trial->before.general[X86_RSI];
		if (count > 4 || reach > 128)
			return false;
		register_set_add(&allowed, X86_RSI);
		register_set_add(&allowed, X86_RDI);
	}
	struct register_set others = register_set_without(&effects->address, &allowed);
	return register_set_empty(&others);
}

static void complain(struct trial *trial, const char *what, unsigned number, uint64_t said,
		     uint64_t known, uint64_t real)
{
	struct verdict *verdict = trial->verdict;
	struct instruction text;
	verdict->wrong++;
	if (TEXT_BYTES - verdict->at < 400)
		return;
	decoder_decode(trial->decoder, (struct span){ trial->bytes, 15 }, 0x1000, &text);
	verdict->at += (size_t)snprintf(verdict->text + verdict->at, TEXT_BYTES - verdict->at,
					"%s %s (", text.mnemonic, text.operands);
	for (unsigned i = 0; i < trial->step.length; i++)
		verdict->at +=
			(size_t)snprintf(verdict->text + verdict->at, TEXT_BYTES - verdict->at,
					 i ? " %02x" : "%02x", trial->bytes[i]);
	verdict->at += (size_t)snprintf(verdict->text + verdict->at, TEXT_BYTES - verdict->at,
					") %s %u: said %llx (known %llx), is %llx\n", what, number,
					(unsigned long long)said, (unsigned long long)known,
					(unsigned long long)real);
}

static bool check_bits(struct trial *trial, const char *what, unsigned number,
		       struct known_bits said, uint64_t real)
{
	if (!((said.value ^ real) & said.known) && !(said.value & ~said.known))
		return true;
	complain(trial, what, number, said.value, said.known, real);
	return false;
}

/* Each fact from the flags themselves. */
static bool check_facts(struct trial *trial)
{
	uint64_t flags = trial->after.flags;
	bool carry = flag(flags, 0), zero = flag(flags, 6);
	bool less = flag(flags, 7) != flag(flags, 11);
	const bool real[] = { [FACT_CARRY] = carry,
			      [FACT_ZERO] = zero,
			      [FACT_SIGN] = flag(flags, 7),
			      [FACT_OVERFLOW] = flag(flags, 11),
			      [FACT_PARITY] = flag(flags, 2),
			      [FACT_LESS] = less,
			      [FACT_BELOW_EQUAL] = carry || zero,
			      [FACT_LESS_EQUAL] = less || zero };
	const struct facts *facts = &trial->interpreter->facts;
	for (unsigned f = 0; f < sizeof(real) / sizeof(real[0]); f++) {
		enum truth truth = fact_of(facts, f);
		if (truth == TRUTH_UNKNOWN || (truth == TRUTH_TRUE) == real[f])
			continue;
		complain(trial, "fact", f, truth == TRUTH_TRUE, 1, real[f]);
		return false;
	}
	return true;
}

static bool check_state(struct trial *trial)
{
	struct interpreter *interpreter = trial->interpreter;
	for (unsigned r = 0; r < 16; r++)
		if (!check_bits(trial, "register", r, interpreter->general[r],
				trial->after.general[r]))
			return false;
	for (unsigned v = 0; v < 16; v++)
		for (unsigned i = 0; i < 2; i++)
			if (!check_bits(trial, "vector", v, interpreter->vectors[v][i],
					trial->after.vectors[v][i]))
				return false;
	for (unsigned at = 0; at < MACHINE_MEMORY_BYTES; at += 8) {
		uint64_t address = machine_stack() - MACHINE_RSP_AT + at, real;
		struct known_bits said = memory_load(&interpreter->memory, address, 8);
		memcpy(&real, trial->after.memory + at, sizeof(real));
		if (!check_bits(trial, "memory at", at, said, real))
			return false;
	}
	return check_facts(trial);
}

/* How much is known of what the first instruction wrote, where all was known before. */
static void count_known(struct trial *trial)
{
	for (unsigned r = 0; r <= X86_R15; r++) {
		if (!register_set_has(&trial->step.writes, r))
			continue;
		trial->verdict->bits += 64;
		trial->verdict->bits_known +=
			(size_t)__builtin_popcountll(trial->interpreter->general[r].known);
	}
}

/* False: the chain ends. */
static bool run_instruction(struct trial *trial, bool first)
{
	struct instruction instruction;
	any_instruction(trial);
	struct span code = { trial->bytes, 15 };
	decoder_effects(trial->decoder, code, 0x1000, &instruction, &trial->effects);
	if (!fit_to_run(trial, instruction.kind, first))
		return true; /* another in its place */
	if (!machine_run(trial->bytes, instruction.length_bytes, &trial->before, &trial->after))
		return true;
	trial->step = (struct step){ .address = 0x1000 };
	uint64_t next = 0x1000 + instruction.length_bytes;
	enum interpret_end end;
	if (!x86_step_decode(trial->interpreter, code, 0x1000, &trial->step) ||
	    !x86_step_run(trial->interpreter, &trial->step, &next, &end))
		return false;
	trial->verdict->ran++;
	trial->verdict->followed += trial->step.work != 0;
	if (trial->all_known && first && trial->step.work)
		count_known(trial);
	/* further operands would lie elsewhere, or nowhere that the interpreter knows */
	bool stays = trial->after.general[X86_RSP] == machine_stack() &&
		     bits_are_known(trial->interpreter->general[X86_RSP], 64);
	trial->before = trial->after;
	return check_state(trial) && stays;
}

static void run_all(struct trial *trial)
{
	for (size_t chain = 0; chain < CHAINS; chain++) {
		begin_chain(trial);
		size_t ran = trial->verdict->ran;
		while (trial->verdict->ran < ran + CHAIN_MOST &&
		       run_instruction(trial, trial->verdict->ran == ran))
			;
	}
}

static void what_is_known_is_what_the_cpu_does(void **state)
{
	(void)state;
	struct verdict *verdict = mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(verdict != MAP_FAILED);
	pid_t child = fork();
	if (child == 0) {
		static struct trial trial;
		trial.random = random_seed(7);
		trial.verdict = verdict;
		if (!machine_start() ||
		    decoder_new(ISA_X86_64, ISA_SYNTAX_ATT, &trial.decoder, NULL) < 0 ||
		    interpreter_new(ISA_X86_64, &trial.interpreter, NULL) < 0)
			_exit(77);
		run_all(&trial);
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		SKIP("no page may be both written and run here");
	}
	print_message("%zu instructions, %zu followed; of all known %.1f %% stay known\n",
		      verdict->ran, verdict->followed,
		      100.0 * (double)verdict->bits_known / (double)verdict->bits);
	if (verdict->wrong)
		fail_msg("%zu of %zu instructions leave something else:\n%s", verdict->wrong,
			 verdict->ran, verdict->text);
	assert_int_equal(status, 0);
	assert_true(verdict->followed >= CHAINS);
	assert_true(verdict->bits_known >= verdict->bits / 100 * 95);
	munmap(verdict, sizeof(*verdict));
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
	puts("no x86-64 CPU to run instructions on");
	return 77;
}
#endif
