/*
 * The effects of x86-64 instructions against the CPU: every opcode of the legacy, VEX
 * and EVEX maps, with random registers or memory at rsp for operands, is run from
 * random states. What it does not write must stay, and what it does not read, changed all at once,
 * must not change what it writes.
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

#include "base/count_of.h"
#include "base/random.h"
#include "isa/effects.h"
#include "isa/x86_vendor_differences.h"
#include "machine_x86.h"
#include "support/skip.h"

#define STATES	   6
#define TEXT_BYTES 8192

/* Shared with the child that runs the instructions. */
struct verdict {
	size_t tried, ran, wrong;
	size_t at;
	char text[TEXT_BYTES];
};

#define LANES 65536

struct trial {
	struct decoder *decoder;
	struct random_state random;
	uint64_t lanes[LANES]; /* to draw from: making them is what a trial would cost */
	struct verdict *verdict;
	uint8_t bytes[16];
	struct instruction instruction;
	struct instruction_effects effects;
	unsigned vector_words, vector_count;
	bool memory;  /* the operand that may lie in memory does, at rsp */
	bool reaches; /* bit strings, and pop, which goes by the new rsp */
};

static uint64_t any_value(struct random_state *random)
{
	static const uint64_t edges[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 63, UINT32_MAX, 0x80 };
	switch (random_below(random, 4)) {
	case 0:
		return random_below(random, 70);
	case 1:
		return edges[random_below(random, sizeof(edges) / sizeof(edges[0]))];
	}
	return random_u64(random);
}

static uint64_t any_lane(struct random_state *random)
{
	double wide = (double)(int64_t)random_u64(random) / 1e15;
	float narrow[2] = { (float)wide, (float)random_below(random, 1000) };
	uint64_t bits;
	switch (random_below(random, 3)) {
	case 0:
		memcpy(&bits, &wide, sizeof(bits));
		return bits;
	case 1:
		memcpy(&bits, narrow, sizeof(bits));
		return bits;
	}
	return any_value(random);
}

/* `count` lanes, a multiple of 4, by one number for four. */
static void draw_lanes(struct trial *trial, uint64_t *out, size_t count)
{
	for (size_t i = 0; i < count; i += 4) {
		uint64_t picks = random_u64(&trial->random);
		for (size_t j = i; j < i + 4; j++, picks >>= 16)
			out[j] = trial->lanes[picks % LANES];
	}
}

static void randomize(struct trial *trial, unsigned r, struct machine_state *state)
{
	struct random_state *random = &trial->random;
	if (r == X86_RSP)
		return;
	if (r <= X86_R15)
		state->general[r] = any_value(random);
	else if (r == X86_FLAGS)
		state->flags = random_u64(random) & 0x8d5;
	else if (r >= X86_XMM0 && r < X86_XMM0 + 32)
		draw_lanes(trial, state->vectors[r - X86_XMM0], 8);
	else if (r >= X86_K0 && r < X86_K0 + 8)
		state->masks[r - X86_K0] = random_u64(random);
}

/* Whether a register has the same value in both; `low`: of vectors only the SSE part. */
static bool same(const struct trial *trial, unsigned r, const struct machine_state *a,
		 const struct machine_state *b, bool low)
{
	if (r <= X86_R15)
		return a->general[r] == b->general[r];
	if (r == X86_FLAGS)
		return a->flags == b->flags;
	if (r >= X86_XMM0 && r < X86_XMM0 + trial->vector_count)
		return !memcmp(a->vectors[r - X86_XMM0], b->vectors[r - X86_XMM0],
			       (low ? 2 : trial->vector_words) * sizeof(uint64_t));
	if (r >= X86_K0 && r < X86_K0 + 8 && machine_vectors() == MACHINE_AVX512)
		return a->masks[r - X86_K0] == b->masks[r - X86_K0];
	return true;
}

static void complain(struct trial *trial, const char *what, unsigned r)
{
	struct verdict *verdict = trial->verdict;
	struct instruction text;
	verdict->wrong++;
	if (TEXT_BYTES - verdict->at < 300)
		return;
	decoder_decode(trial->decoder, (struct span){ trial->bytes, 15 }, 0x1000, &text);
	verdict->at += (size_t)snprintf(verdict->text + verdict->at, TEXT_BYTES - verdict->at,
					"%s %s (", text.mnemonic, text.operands);
	for (unsigned i = 0; i < trial->instruction.length_bytes; i++)
		verdict->at +=
			(size_t)snprintf(verdict->text + verdict->at, TEXT_BYTES - verdict->at,
					 i ? " %02x" : "%02x", trial->bytes[i]);
	verdict->at += (size_t)snprintf(verdict->text + verdict->at, TEXT_BYTES - verdict->at,
					") %s %s\n", what, register_name(ISA_X86_64, r));
}

static bool legacy(const struct trial *trial)
{
	return !(trial->bytes[0] == 0x62 || trial->bytes[0] == 0xc4 || trial->bytes[0] == 0xc5);
}

#define CF 0x001u
#define PF 0x004u
#define AF 0x010u
#define ZF 0x040u
#define SF 0x080u
#define OF 0x800u

/* What both manuals leave undefined, by how the name begins; the first row counts. */
static uint64_t undefined_flags(struct trial *trial)
{
	static const struct {
		const char *name;
		uint64_t flags;
	} rows[] = {
		{ "div", CF | PF | AF | ZF | SF | OF },
		{ "idiv", CF | PF | AF | ZF | SF | OF },
		{ "mul", PF | AF | ZF | SF },
		{ "imul", PF | AF | ZF | SF },
		{ "bt", PF | AF | ZF | SF | OF },
		{ "bs", CF | PF | AF | SF | OF },
		{ "andn", PF | AF },
		{ "bl", PF | AF },
		{ "bextr", PF | AF | SF },
		{ "bzhi", PF | AF },
		{ "sh", CF | AF | OF }, /* of some counts */
		{ "sa", AF | OF },
		{ "ro", OF },
		{ "rc", OF },
		{ "and", AF },
		{ "or", AF },
		{ "xor", AF },
		{ "test", AF },
	};
	struct instruction text;
	decoder_decode(trial->decoder, (struct span){ trial->bytes, 15 }, 0x1000, &text);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (strncmp(text.mnemonic, rows[i].name, strlen(rows[i].name)) == 0)
			return rows[i].flags;
	return 0;
}

/* Flags that differ only where each run kept what it was given. */
static bool only_kept_flags(const struct machine_state before[2],
			    const struct machine_state after[2])
{
	uint64_t differ = after[0].flags ^ after[1].flags;
	uint64_t kept = ~(before[0].flags ^ after[0].flags) & ~(before[1].flags ^ after[1].flags);
	return !(differ & ~kept);
}

static bool compare(struct trial *trial, const struct machine_state before[2],
		    const struct machine_state after[2])
{
	for (unsigned r = 0; r < X86_REGISTER_COUNT; r++) {
		bool written = register_set_has(&trial->effects.writes, r);
		if (!written && !same(trial, r, &before[0], &after[0], false)) {
			complain(trial, "writes", r);
			return false;
		}
		if (!written || same(trial, r, &after[0], &after[1], legacy(trial)))
			continue;
		if (r == X86_FLAGS && trial->effects.merges_flags && only_kept_flags(before, after))
			continue;
		if (r == X86_FLAGS &&
		    !((after[0].flags ^ after[1].flags) & ~undefined_flags(trial)))
			continue;
		complain(trial, "reads something more, by", r);
		return false;
	}
	return true;
}

/* Bytes from the first to the last that changed. */
static size_t changed_bytes(const struct machine_state *before, const struct machine_state *after)
{
	size_t first = MACHINE_MEMORY_BYTES;
	size_t last = 0;
	for (size_t i = 0; i < MACHINE_MEMORY_BYTES; i++) {
		if (before->memory[i] == after->memory[i])
			continue;
		first = first < i ? first : i;
		last = i;
	}
	return first > last ? 0 : last - first + 1;
}

static bool compare_memory(struct trial *trial, const struct machine_state *before,
			   const struct machine_state *after)
{
	const struct instruction_effects *effects = &trial->effects;
	size_t changed = changed_bytes(before, after);
	if (changed && !effects->writes_memory)
		complain(trial, "writes memory, beside", X86_RSP);
	else if (effects->written_bytes && changed > effects->written_bytes)
		complain(trial, "writes more memory than it says, beside", X86_RSP);
	else
		return true;
	return false;
}

/* Of the second run everything differs that the instruction does not read. */
static void change_unread(struct trial *trial, struct machine_state *state)
{
	const struct instruction_effects *effects = &trial->effects;
	for (unsigned r = 0; r < X86_REGISTER_COUNT; r++)
		if (!register_set_has(&effects->reads, r))
			randomize(trial, r, state);
	size_t reads = effects->reads_memory ? effects->read_bytes : 0;
	bool all = effects->reads_memory && !effects->read_bytes;
	uint64_t eight = 0;
	for (size_t i = 0; i < MACHINE_MEMORY_BYTES && !all; i++, eight >>= 8) {
		eight = i % 8 ? eight : random_u64(&trial->random);
		if (i < MACHINE_RSP_AT || i >= MACHINE_RSP_AT + reads)
			state->memory[i] = (uint8_t)eight;
	}
}

/* Only what leaves no more behind than registers, and does so the same way each time. */
static bool fit_to_run(const struct trial *trial)
{
	const struct instruction_effects *effects = &trial->effects;
	struct register_set touched = register_set_union(&effects->reads, &effects->writes);
	if (!effects->known || trial->instruction.kind != INSTRUCTION_OTHER)
		return false;
	if (effects->class == LATENCY_SYSTEM || effects->class == LATENCY_BARRIER)
		return false;
	if (x86_difference_of((struct span){ trial->bytes, 15 }))
		return false; /* another instruction on other CPUs, perhaps on this one */
	if (!legacy(trial) && effects->class == LATENCY_NOP)
		return false; /* vzeroupper: upper halves are not followed */
	for (unsigned r = register_set_next(&touched, X86_DIRECTION); r < REGISTER_LIMIT;
	     r = register_set_next(&touched, r + 1))
		if (r < X86_XMM0 || r >= X86_MM0)
			return false;
	if (!effects->reads_memory && !effects->writes_memory)
		return true;
	if (trial->reaches)
		return false;
	struct register_set stack = { 0 };
	register_set_add(&stack, X86_RSP);
	return register_set_equal(&effects->address, &stack);
}

static void run_trial(struct trial *trial)
{
	trial->verdict->tried++;
	decoder_effects(trial->decoder, (struct span){ trial->bytes, 15 }, 0x1000,
			&trial->instruction, &trial->effects);
	if (!fit_to_run(trial))
		return;
	bool ran = false;
	for (int state = 0; state < STATES; state++) {
		struct machine_state before[2];
		struct machine_state after[2];
		memset(before, 0, sizeof(before));
		for (unsigned r = 0; r < X86_REGISTER_COUNT; r++)
			randomize(trial, r, &before[0]);
		if (trial->effects.class == LATENCY_DIVIDE && state % 2)
			before[0].general[X86_RDX] = 0;
		before[0].general[X86_RSP] = machine_stack();
		uint64_t memory[MACHINE_MEMORY_BYTES / 8];
		draw_lanes(trial, memory, COUNT_OF(memory));
		memcpy(before[0].memory, memory, sizeof(memory));
		before[1] = before[0];
		change_unread(trial, &before[1]);
		if (!machine_run(trial->bytes, trial->instruction.length_bytes, &before[0],
				 &after[0]) ||
		    !machine_run(trial->bytes, trial->instruction.length_bytes, &before[1],
				 &after[1]))
			continue;
		ran = true;
		if (!compare(trial, before, after) ||
		    !compare_memory(trial, &before[0], &after[0]) ||
		    !compare_memory(trial, &before[1], &after[1]))
			break;
	}
	trial->verdict->ran += ran;
}

static uint8_t *put(uint8_t *at, unsigned byte)
{
	*at = (uint8_t)byte;
	return at + 1;
}

/* ModRM that names two registers, and what may be immediates. */
static void finish(struct trial *trial, uint8_t *at, unsigned middle)
{
	uint64_t tail = random_u64(&trial->random);
	if (trial->memory) {
		at = put(at, 0x44 | middle << 3);
		at = put(at, 0x24); /* rsp and no index */
		at = put(at, 0);
	} else {
		at = put(at, 0xc0 | middle << 3 | (unsigned)(tail & 7));
	}
	tail >>= 3;
	while (at < trial->bytes + 15) {
		at = put(at, (unsigned)(tail & 0xff));
		tail = tail >> 8 | tail << 56;
	}
}

/* As an opcode it would come after REX, which then is void; Capstone takes it nevertheless. */
static bool is_prefix(unsigned opcode)
{
	return (opcode & 0xf0) == 0x40 || (opcode & 0xe7) == 0x26 || (opcode & 0xfc) == 0x64 ||
	       opcode == 0xf0 || opcode == 0xf2 || opcode == 0xf3;
}

static void legacy_map(struct trial *trial, unsigned map)
{
	static const uint8_t prefixes[] = { 0, 0x66, 0xf2, 0xf3 };
	for (unsigned n = 0; n < 256 * 4 * 3 * 8; n++) {
		unsigned middle = n & 7;
		unsigned prefix = n >> 3 & 3;
		unsigned opcode = n >> 5 & 255;
		unsigned rex = n >> 13; /* 0: none, 1: some, 2: W */
		if (map == 0 && is_prefix(opcode))
			continue;
		uint8_t *at = trial->bytes;
		if (prefix)
			at = put(at, prefixes[prefix]);
		if (rex)
			at = put(at, (rex == 2 ? 0x48 : 0x40) |
					     ((unsigned)random_below(&trial->random, 8) &
					      (trial->memory ? 4 : 7))); /* rsp is without B, X */
		if (map)
			at = put(at, 0x0f);
		if (map > 1)
			at = put(at, map == 2 ? 0x38 : 0x3a);
		at = put(at, opcode);
		bool bit_string = map == 1 && (opcode & 0xe7) == 0xa3;
		trial->reaches = trial->memory && (bit_string || (map == 0 && opcode == 0x8f));
		finish(trial, at, middle);
		run_trial(trial);
	}
}

static void vex_map(struct trial *trial, unsigned map)
{
	for (unsigned n = 0; n < 256 * 16 * 8; n++) {
		uint64_t random = random_u64(&trial->random);
		uint8_t *at = trial->bytes;
		at = put(at, 0xc4);
		at = put(at, (unsigned)(random & 0xe0) | (trial->memory ? 0x60 : 0) | map);
		/* W, vvvv, L, pp; of some instructions vvvv must be 1111 */
		unsigned other = random & 0x100 ? 0x78 : (unsigned)(random >> 9 & 0x78);
		at = put(at, (n >> 8 & 1) << 7 | other | (n >> 9 & 1) << 2 | (n >> 10 & 3));
		at = put(at, n & 255);
		finish(trial, at, n >> 12 & 7);
		run_trial(trial);
	}
}

static void evex_map(struct trial *trial, unsigned map)
{
	for (unsigned n = 0; n < 256 * 8 * 48; n++) {
		uint64_t random = random_u64(&trial->random);
		uint8_t *at = trial->bytes;
		at = put(at, 0x62);
		at = put(at, (unsigned)(random & 0xf0) | (trial->memory ? 0x60 : 0) | map);
		unsigned other = random & 0x100 ? 0x78 : (unsigned)(random >> 9 & 0x78);
		at = put(at, (n >> 8 & 1) << 7 | other | 4 | (n >> 9 & 3));
		unsigned mask = random >> 20 & 1 ? 0 : (unsigned)(random >> 21 & 7);
		unsigned zero = mask && random >> 24 & 1;
		at = put(at, zero << 7 | (n >> 11) % 3 << 5 |
				     (random & 0x100 ? 8 : (unsigned)(random >> 25 & 8)) | mask);
		at = put(at, n & 255);
		finish(trial, at, (unsigned)(random >> 40 & 7));
		run_trial(trial);
	}
}

static void run_all(struct trial *trial, void (*map)(struct trial *, unsigned), unsigned first,
		    unsigned last)
{
	for (unsigned m = first; m <= last; m++) {
		trial->memory = false;
		trial->reaches = false;
		map(trial, m);
		trial->memory = true;
		map(trial, m);
	}
}

static void check_maps(void (*map)(struct trial *, unsigned), unsigned first, unsigned last,
		       size_t least)
{
	struct verdict *verdict = mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(verdict != MAP_FAILED);
	pid_t child = fork();
	if (child == 0) {
		static const unsigned words[] = { 2, 4, 8 };
		static struct trial trial;
		trial.random = random_seed(11);
		trial.verdict = verdict;
		for (size_t i = 0; i < LANES; i++)
			trial.lanes[i] = any_lane(&trial.random);
		trial.vector_words = words[machine_vectors()];
		trial.vector_count = machine_vectors() == MACHINE_AVX512 ? 32 : 16;
		if (!machine_start() ||
		    decoder_new(ISA_X86_64, ISA_SYNTAX_ATT, &trial.decoder, NULL) < 0)
			_exit(77);
		run_all(&trial, map, first, last);
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		SKIP("no page may be both written and run here");
	}
	print_message("%zu of %zu instructions ran\n", verdict->ran, verdict->tried);
	if (verdict->wrong)
		fail_msg("%zu of %zu instructions do what their effects do not say:\n%s",
			 verdict->wrong, verdict->ran, verdict->text);
	assert_int_equal(status, 0);
	assert_true(verdict->ran >= least);
	munmap(verdict, sizeof(*verdict));
}

static void legacy_instructions_do_what_their_effects_say(void **state)
{
	(void)state;
	check_maps(legacy_map, 0, 3, 5000);
}

static void vex_instructions_do_what_their_effects_say(void **state)
{
	(void)state;
	if (machine_vectors() < MACHINE_AVX) {
		SKIP("this CPU has no AVX");
	}
	check_maps(vex_map, 1, 3, 5000);
}

static void evex_instructions_do_what_their_effects_say(void **state)
{
	(void)state;
	if (machine_vectors() < MACHINE_AVX512) {
		SKIP("this CPU has no AVX-512");
	}
	check_maps(evex_map, 1, 3, 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(legacy_instructions_do_what_their_effects_say),
		cmocka_unit_test(vex_instructions_do_what_their_effects_say),
		cmocka_unit_test(evex_instructions_do_what_their_effects_say),
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
