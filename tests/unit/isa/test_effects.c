#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "base/random.h"
#include "effect_rows.h"

#define VADDR 0x401000

static struct decoder *decoder_of(enum isa isa)
{
	struct decoder *decoder = NULL;
	assert_int_equal(decoder_new(isa, ISA_SYNTAX_ATT, &decoder, NULL), 0);
	return decoder;
}

static size_t bytes_of(const char *hex, uint8_t bytes[16])
{
	size_t size = strlen(hex) / 2;
	for (size_t i = 0; i < size; i++) {
		char pair[3] = { hex[2 * i], hex[2 * i + 1], 0 };
		bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return size;
}

/* "rax rflags", in the order of their numbers. */
static void names_of(enum isa isa, const struct register_set *set, char text[512])
{
	struct register_set all = register_set_all(isa);
	size_t at = 0;
	text[0] = 0;
	if (register_set_equal(set, &all)) {
		snprintf(text, 512, "all");
		return;
	}
	for (unsigned r = register_set_next(set, 0); r < REGISTER_LIMIT;
	     r = register_set_next(set, r + 1))
		at += (size_t)snprintf(text + at, 512 - at, "%s%s", at ? " " : "",
				       register_name(isa, r));
}

static void set_is(const struct effect_row *row, const char *what, const struct register_set *set,
		   const char *expected)
{
	char text[512];
	names_of(row->isa, set, text);
	if (strcmp(text, expected) != 0)
		fail_msg("%s: %s '%s', not '%s'", row->text, what, text, expected);
}

static void size_is(const struct effect_row *row, bool touches, unsigned bytes, int expected)
{
	assert_int_equal(touches, expected != 0);
	if (bytes != (expected > 0 ? (unsigned)expected : 0))
		fail_msg("%s: %u bytes, not %d", row->text, bytes, expected);
}

static void known_instructions_have_their_effects(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(effect_rows) / sizeof(effect_rows[0]); i++) {
		const struct effect_row *row = &effect_rows[i];
		struct decoder *decoder = decoder_of(row->isa);
		uint8_t bytes[16];
		size_t size = bytes_of(row->bytes, bytes);
		struct instruction instruction;
		struct instruction_effects effects;
		assert_int_equal(decoder_effects(decoder, (struct span){ bytes, size }, VADDR,
						 &instruction, &effects),
				 0);
		assert_int_equal(instruction.length_bytes, size);
		if (strcmp(latency_class_name(effects.class), row->class) != 0)
			fail_msg("%s: class %s, not %s", row->text,
				 latency_class_name(effects.class), row->class);
		assert_int_equal(effects.known, strcmp(row->class, "unknown") != 0);
		set_is(row, "reads", &effects.reads, row->reads);
		set_is(row, "writes", &effects.writes, row->writes);
		set_is(row, "address", &effects.address, row->address);
		size_is(row, effects.reads_memory, effects.read_bytes, row->read_bytes);
		size_is(row, effects.writes_memory, effects.written_bytes, row->written_bytes);
		assert_int_equal(effects.breaks_dependency, (row->notes & BREAKS) != 0);
		assert_int_equal(effects.conditional_move, (row->notes & SELECTS) != 0);
		assert_int_equal(effects.merges_flags, (row->notes & MERGES) != 0);
		assert_int_equal(effects.width_bits, row->width_bits);
		decoder_free(decoder);
	}
}

static void what_is_not_decodable_may_do_anything(void **state)
{
	(void)state;
	static const struct {
		enum isa isa;
		uint8_t bytes[6];
		size_t size, length;
	} examples[] = {
		{ ISA_X86_64, { 0x06 }, 1, 1 },
		{ ISA_X86_64, { 0x62, 0xf2, 0x7d, 0x48, 0x50, 0xc1 }, 6, 6 }, /* vpdpbusd */
		{ ISA_X86_64, { 0x48, 0x8b }, 2, 1 },			      /* cut */
		{ ISA_AARCH64, { 0, 0, 0, 0 }, 4, 4 },
		{ ISA_AARCH64, { 0xc0, 0x03, 0x5f }, 3, 3 },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct decoder *decoder = decoder_of(examples[i].isa);
		struct register_set all = register_set_all(examples[i].isa);
		struct instruction instruction;
		struct instruction_effects effects;
		assert_int_equal(
			decoder_effects(decoder,
					(struct span){ examples[i].bytes, examples[i].size }, VADDR,
					&instruction, &effects),
			0);
		assert_int_equal(instruction.kind, INSTRUCTION_DATA);
		assert_int_equal(instruction.length_bytes, examples[i].length);
		assert_false(effects.known);
		assert_true(register_set_equal(&effects.reads, &all));
		assert_true(register_set_equal(&effects.writes, &all));
		assert_true(effects.reads_memory && effects.writes_memory);
		assert_int_equal(effects.class, LATENCY_UNKNOWN);
		decoder_free(decoder);
	}
}

static void i386_has_no_effects_but_a_flow(void **state)
{
	(void)state;
	struct decoder *decoder = decoder_of(ISA_I386);
	static const uint8_t jump[] = { 0xeb, 0xfe };
	struct instruction instruction;
	struct instruction_effects effects;
	assert_int_equal(
		decoder_effects(decoder, (struct span){ jump, 2 }, VADDR, &instruction, &effects),
		-ENOTSUP);
	assert_int_equal(instruction.kind, INSTRUCTION_JUMP);
	assert_int_equal(instruction.target, VADDR);
	assert_false(effects.known);
	decoder_free(decoder);
}

static void registers_are_counted_and_named(void **state)
{
	(void)state;
	static const enum isa isas[] = { ISA_X86_64, ISA_AARCH64 };
	for (size_t k = 0; k < 2; k++) {
		unsigned count = register_count(isas[k]);
		assert_in_range(count, 1, REGISTER_LIMIT - 1);
		for (unsigned a = 0; a < count; a++)
			for (unsigned b = 0; b < a; b++)
				assert_string_not_equal(register_name(isas[k], a),
							register_name(isas[k], b));
		assert_null(register_name(isas[k], count));
	}
	assert_string_equal(register_name(ISA_X86_64, X86_R15), "r15");
	assert_string_equal(register_name(ISA_X86_64, X86_XMM0 + 31), "xmm31");
	assert_string_equal(register_name(ISA_X86_64, X86_K0 + 1), "k1");
	assert_string_equal(register_name(ISA_X86_64, X86_FS), "fs");
	assert_string_equal(register_name(ISA_AARCH64, 30), "x30");
	assert_string_equal(register_name(ISA_AARCH64, AARCH64_SP), "sp");
	assert_string_equal(register_name(ISA_AARCH64, AARCH64_V0 + 3), "v3");
	assert_string_equal(register_name(ISA_AARCH64, AARCH64_NZCV), "nzcv");
	assert_int_equal(register_count(ISA_I386), 0);
}

static void sets_hold_what_was_added(void **state)
{
	(void)state;
	struct register_set a = { 0 };
	struct register_set b = { 0 };
	assert_true(register_set_empty(&a));
	assert_int_equal(register_set_next(&a, 0), REGISTER_LIMIT);
	register_set_add(&a, 0);
	register_set_add(&a, 63);
	register_set_add(&a, 64);
	register_set_add(&a, 127);
	register_set_add(&b, 64);
	register_set_add(&b, 5);
	assert_int_equal(register_set_next(&a, 0), 0);
	assert_int_equal(register_set_next(&a, 1), 63);
	assert_int_equal(register_set_next(&a, 64), 64);
	assert_int_equal(register_set_next(&a, 65), 127);
	assert_int_equal(register_set_next(&a, 128), REGISTER_LIMIT);
	struct register_set both = register_set_intersect(&a, &b);
	assert_int_equal(register_set_next(&both, 0), 64);
	assert_int_equal(register_set_next(&both, 65), REGISTER_LIMIT);
	struct register_set rest = register_set_without(&b, &a);
	assert_true(register_set_has(&rest, 5));
	assert_false(register_set_has(&rest, 64));
	struct register_set any = register_set_union(&a, &b);
	assert_true(register_set_has(&any, 5) && register_set_has(&any, 127));
	register_set_remove(&any, 5);
	assert_true(register_set_equal(&any, &a));
}

/* Calls `each` with the code that this process has mapped, libc's among it. */
struct sweep {
	enum isa isa;
	struct decoder *decoder;
	void (*each)(struct sweep *sweep, struct span code, uint64_t vaddr);
	size_t instructions, unknown;
};

static void sweep_code(struct sweep *sweep, const uint8_t *code, size_t size, uint64_t vaddr)
{
	for (size_t at = 0; at < size;) {
		struct instruction instruction;
		struct span rest = { code + at, size - at };
		sweep->each(sweep, rest, vaddr + at);
		decoder_flow(sweep->decoder, rest, vaddr + at, &instruction);
		assert_in_range(instruction.length_bytes, 1, 15);
		at += instruction.length_bytes;
		sweep->instructions++;
	}
}

static int sweep_object(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so") && !strstr(info->dlpi_name, "libstdc++"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD &&
		    (segment->p_flags & (PF_X | PF_R)) == (PF_X | PF_R))
			sweep_code(data, (const uint8_t *)(info->dlpi_addr + segment->p_vaddr),
				   segment->p_filesz, segment->p_vaddr);
	}
	return 0;
}

static void sweep_libraries(struct sweep *sweep)
{
#ifdef __aarch64__
	sweep->isa = ISA_AARCH64;
#else
	sweep->isa = ISA_X86_64;
#endif
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY);
	sweep->decoder = decoder_of(sweep->isa);
	dl_iterate_phdr(sweep_object, sweep);
	decoder_free(sweep->decoder);
	if (library)
		dlclose(library);
	assert_true(sweep->instructions > 100000);
}

static void flow_is_the_same(struct decoder *decoder, struct span code, uint64_t vaddr)
{
	struct instruction slow;
	struct instruction fast;
	decoder_decode(decoder, code, vaddr, &slow);
	decoder_flow(decoder, code, vaddr, &fast);
	if (slow.vaddr != fast.vaddr || slow.length_bytes != fast.length_bytes ||
	    slow.kind != fast.kind || slow.has_target != fast.has_target ||
	    slow.target != fast.target || slow.has_reference != fast.has_reference ||
	    slow.reference != fast.reference)
		fail_msg("%s %s: kind %d, length %u, target %llx, reference %llx, but by its flow "
			 "%d, %u, %llx, %llx",
			 slow.mnemonic, slow.operands, slow.kind, slow.length_bytes,
			 (unsigned long long)slow.target, (unsigned long long)slow.reference,
			 fast.kind, fast.length_bytes, (unsigned long long)fast.target,
			 (unsigned long long)fast.reference);
	assert_string_equal(fast.mnemonic, "");
	assert_string_equal(fast.operands, "");
}

static void compare_flow(struct sweep *sweep, struct span code, uint64_t vaddr)
{
	flow_is_the_same(sweep->decoder, code, vaddr);
}

static void flow_equals_decoding_over_libraries(void **state)
{
	(void)state;
	struct sweep sweep = { .each = compare_flow };
	sweep_libraries(&sweep);
}

/* Random bytes, dense in prefixes and in branches. */
static void flow_equals_decoding_over_random_bytes(void **state)
{
	(void)state;
	static const enum isa isas[] = { ISA_X86_64, ISA_I386, ISA_AARCH64 };
	static const uint8_t firsts[] = { 0x66, 0x67, 0xf2, 0x2e, 0x48, 0x0f, 0xe8, 0xe9,
					  0xeb, 0x74, 0xc7, 0xff, 0x8f, 0x62, 0xc4, 0xc5 };
	struct random_state random = random_seed(21);
	for (size_t k = 0; k < 3; k++) {
		struct decoder *decoder = decoder_of(isas[k]);
		for (int round = 0; round < 200000; round++) {
			uint64_t words[2] = { random_u64(&random), random_u64(&random) };
			uint8_t bytes[16];
			memcpy(bytes, words, sizeof(bytes));
			if (round % 4 && k < 2)
				bytes[0] = firsts[random_below(&random, sizeof(firsts))];
			if (round % 4 > 1 && k < 2)
				bytes[1] = firsts[random_below(&random, sizeof(firsts))];
			if (round % 4 == 3 && bytes[0] == 0x0f && k < 2)
				bytes[1] = 0x80 | (bytes[1] & 15);
			flow_is_the_same(decoder, (struct span){ bytes, sizeof(bytes) }, VADDR);
		}
		decoder_free(decoder);
	}
}

/* The registers within the parentheses of AT&T's operands: an independent witness. */
static void address_is_read(const char *operands, const struct instruction_effects *effects)
{
	static const char *const names[] = { "%rax", "%rcx", "%rdx", "%rbx", "%rsp", "%rbp",
					     "%rsi", "%rdi", "%r8",  "%r9",  "%r10", "%r11",
					     "%r12", "%r13", "%r14", "%r15" };
	const char *open = strchr(operands, '(');
	const char *close = open ? strchr(open, ')') : NULL;
	if (!close || effects->class == LATENCY_NOP)
		return;
	for (const char *at = open; (at = strchr(at, '%')) && at < close; at++)
		for (unsigned r = 0; r < 16; r++)
			if (strcspn(at, ",)") == strlen(names[r]) &&
			    !strncmp(at, names[r], strlen(names[r])) &&
			    !register_set_has(&effects->reads, r))
				fail_msg("%s does not read %s", operands, names[r]);
}

static void check_effects(struct sweep *sweep, struct span code, uint64_t vaddr)
{
	struct instruction decoded;
	struct instruction instruction;
	struct instruction_effects effects;
	decoder_decode(sweep->decoder, code, vaddr, &decoded);
	assert_int_equal(decoder_effects(sweep->decoder, code, vaddr, &instruction, &effects), 0);
	assert_int_equal(instruction.length_bytes, decoded.length_bytes);
	assert_int_equal(instruction.kind, decoded.kind);
	assert_int_equal(instruction.target, decoded.target);
	assert_int_equal(instruction.reference, decoded.reference);
	struct register_set used = register_set_union(&effects.reads, &effects.writes);
	struct register_set all = register_set_all(sweep->isa);
	struct register_set outside = register_set_without(&used, &all);
	struct register_set unread = register_set_without(&effects.address, &effects.reads);
	assert_true(register_set_empty(&outside));
	assert_true(register_set_empty(&unread));
	sweep->unknown += !effects.known && decoded.kind != INSTRUCTION_DATA;
	if (!effects.known)
		return;
	assert_in_range(effects.class, LATENCY_NOP, LATENCY_CLASSES - 1);
	assert_true(effects.reads_memory || !effects.read_bytes);
	assert_true(effects.writes_memory || !effects.written_bytes);
	if (sweep->isa == ISA_X86_64)
		address_is_read(decoded.operands, &effects);
	/* control flow and what is said of it belong together */
	if (decoded.kind == INSTRUCTION_CALL && effects.class != LATENCY_SYSTEM)
		assert_int_equal(effects.class, LATENCY_CALL);
	if (decoded.kind == INSTRUCTION_CONDITIONAL && effects.class != LATENCY_SYSTEM)
		assert_int_equal(effects.class, LATENCY_BRANCH);
	if (decoded.kind == INSTRUCTION_RETURN && effects.class != LATENCY_SYSTEM)
		assert_int_equal(effects.class, LATENCY_RETURN);
}

static void effects_hold_together_over_libraries(void **state)
{
	(void)state;
	struct sweep sweep = { .each = check_effects };
	sweep_libraries(&sweep);
	assert_int_equal(sweep.unknown, 0);
}

/* The register that an operand of AArch64's text names at `at`, as our number; or none. */
static unsigned register_in_text(const char *at)
{
	char *end;
	if (!strncmp(at, "sp", 2) || !strncmp(at, "wsp", 3))
		return AARCH64_SP;
	if (!strchr("xwvqdshb", *at) || at[1] < '0' || at[1] > '9')
		return REGISTER_NONE;
	unsigned long number = strtoul(at + 1, &end, 10);
	if (number > 31 || (*end && !strchr(",. ]}!", *end)))
		return REGISTER_NONE;
	return (unsigned)number + (*at == 'x' || *at == 'w' ? AARCH64_X0 : AARCH64_V0);
}

/* What the disassembler prints is an independent witness: all that it names is touched. */
static void aarch64_instructions_touch_what_their_text_names(void **state)
{
	(void)state;
	struct decoder *decoder = decoder_of(ISA_AARCH64);
	struct random_state random = random_seed(5);
	size_t seen = 0;
	for (int round = 0; round < 500000; round++) {
		uint32_t word = (uint32_t)random_u64(&random);
		struct span code = { &word, sizeof(word) };
		struct instruction instruction;
		struct instruction_effects effects;
		decoder_decode(decoder, code, VADDR, &instruction);
		const char *operands = instruction.operands;
		decoder_effects(decoder, code, VADDR, &(struct instruction){ 0 }, &effects);
		if (!effects.known || instruction.mnemonic[0] == '.')
			continue;
		struct register_set touched = register_set_union(&effects.reads, &effects.writes);
		for (const char *at = operands; *at; at++) {
			bool starts = at == operands || strchr(" [{", at[-1]);
			unsigned r = starts ? register_in_text(at) : REGISTER_NONE;
			if (r == REGISTER_NONE)
				continue;
			seen++;
			if (!register_set_has(&touched, r))
				fail_msg("0x%08x %s %s does not touch %s", word,
					 instruction.mnemonic, operands,
					 register_name(ISA_AARCH64, r));
		}
	}
	assert_true(seen > 200000);
	decoder_free(decoder);
}

/* Reading, then writing, then reading again with other details gives the same. */
static void ways_of_decoding_may_alternate(void **state)
{
	(void)state;
	struct decoder *decoder = decoder_of(ISA_X86_64);
	static const uint8_t bytes[] = { 0x48, 0x01, 0x07 }; /* add %rax,(%rdi) */
	struct span code = { bytes, sizeof(bytes) };
	for (int i = 0; i < 3; i++) {
		struct instruction instruction;
		struct instruction_effects effects;
		decoder_decode(decoder, code, VADDR, &instruction);
		assert_string_equal(instruction.operands, "%rax, (%rdi)");
		decoder_effects(decoder, code, VADDR, &instruction, &effects);
		assert_true(effects.writes_memory);
		assert_false(register_set_has(&effects.writes, X86_RAX));
		decoder_flow(decoder, code, VADDR, &instruction);
		assert_int_equal(instruction.length_bytes, 3);
	}
	decoder_free(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_instructions_have_their_effects),
		cmocka_unit_test(what_is_not_decodable_may_do_anything),
		cmocka_unit_test(i386_has_no_effects_but_a_flow),
		cmocka_unit_test(registers_are_counted_and_named),
		cmocka_unit_test(sets_hold_what_was_added),
		cmocka_unit_test(flow_equals_decoding_over_libraries),
		cmocka_unit_test(flow_equals_decoding_over_random_bytes),
		cmocka_unit_test(effects_hold_together_over_libraries),
		cmocka_unit_test(aarch64_instructions_touch_what_their_text_names),
		cmocka_unit_test(ways_of_decoding_may_alternate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
