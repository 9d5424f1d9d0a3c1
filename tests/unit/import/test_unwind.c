#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "../../fuzz/unwind_binary.h"
#include "image/address_space.h"
#include "import/unwind/unwind.h"
#include "unwind_signed.h"
#include "support/skip.h"

#define FILES_MAX  64
#define STACK_MAX  65536
#define DEPTH	   6
#define EXPECT_MAX 64

/* What a recording would hold of this very process. */
static struct {
	struct address_space *space;
	char paths[FILES_MAX][512];
	uint32_t file_count;
	uint64_t stack_end;
	uint64_t values[UNWIND_MAX_REGISTERS];
	uint64_t mask;
	uint8_t stack[STACK_MAX];
	size_t stack_bytes;
	void *expected[EXPECT_MAX];
	int expected_count;
	uint32_t hidden_file; /* as if it were not on this machine */
} self;

static uint32_t file_of(const char *path)
{
	for (uint32_t i = 0; i < self.file_count; i++)
		if (strcmp(self.paths[i], path) == 0)
			return i + 1;
	assert_true(self.file_count < FILES_MAX);
	snprintf(self.paths[self.file_count], sizeof(self.paths[0]), "%s", path);
	return ++self.file_count;
}

static void read_maps(void)
{
	CLEANUP(close_file) FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024];
	assert_non_null(maps);
	self.space = address_space_new();
	assert_non_null(self.space);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, offset;
		char rights[8], path[512] = "";
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %511[^\n]", &start, &end, rights,
			   &offset, path) < 4)
			continue;
		if (strcmp(path, "[stack]") == 0)
			self.stack_end = end;
		if (path[0] != '/' || !strchr(rights, 'x'))
			continue;
		struct mapping mapping = { start, end, offset, file_of(path) };
		assert_int_equal(address_space_add(&self.space, &mapping), 0);
	}
}

/* perf's numbers of the registers that unwinding may need. */
static uint64_t read_registers(const ucontext_t *context)
{
#if defined(__x86_64__)
	static const int numbers[] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
				       REG_RDI, REG_RBP, REG_RSP, REG_RIP };
	static const int high[] = { REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15 };
	for (int i = 0; i < 9; i++)
		self.values[i] = (uint64_t)context->uc_mcontext.gregs[numbers[i]];
	for (int i = 0; i < 8; i++)
		self.values[9 + i] = (uint64_t)context->uc_mcontext.gregs[high[i]];
	self.mask = 0x1ff | 0xffu << 16;
	return self.values[7];
#elif defined(__aarch64__)
	for (int i = 0; i < 31; i++)
		self.values[i] = context->uc_mcontext.regs[i];
	self.values[31] = context->uc_mcontext.sp;
	self.values[32] = context->uc_mcontext.pc;
	self.mask = 0x1ffffffffu;
	return self.values[31];
#else
	(void)context;
	return 0;
#endif
}

/* Of frames of others, between variables too: what a sanitizer would not allow. */
__attribute__((noinline, no_sanitize("address"))) static void copy_stack(uint64_t pointer)
{
	const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)pointer;
	for (size_t i = 0; i < self.stack_bytes; i++)
		self.stack[i] = from[i];
}

__attribute__((noinline)) static void take_sample(void)
{
	ucontext_t context;
	const uintptr_t here = (uintptr_t)&take_sample;
	read_maps();
	getcontext(&context);
	uint64_t pointer = read_registers(&context);
	if (!pointer)
		return;
	self.stack_bytes =
		self.stack_end - pointer < STACK_MAX ? self.stack_end - pointer : STACK_MAX;
	copy_stack(pointer);
	self.expected_count = backtrace(self.expected, EXPECT_MAX);
	/* a sanitizer has a backtrace() of its own, which comes first */
	while (self.expected_count && (uintptr_t)self.expected[0] - here >= 65536)
		memmove(self.expected, self.expected + 1,
			(size_t)--self.expected_count * sizeof(self.expected[0]));
}

__attribute__((noinline)) static int deeper(int depth)
{
	if (depth == 0)
		take_sample();
	else
		deeper(depth - 1);
	return depth + self.expected_count; /* no tail call */
}

static int set_up(void **state)
{
	(void)state;
	deeper(DEPTH);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	address_space_drop(self.space);
	return 0;
}

static void name_file(void *context, uint32_t file, struct unwind_file *named)
{
	(void)context;
	assert_true(file >= 1 && file <= self.file_count);
	const char *path = file == self.hidden_file ? "/nowhere/at/all" : self.paths[file - 1];
	named->path = (struct span){ path, strlen(path) };
}

static struct unwind_sample sample_of_self(void)
{
	uint16_t machine = EM_NONE;
#if defined(__x86_64__)
	machine = EM_X86_64;
#elif defined(__aarch64__)
	machine = EM_AARCH64;
#endif
	if (machine == EM_NONE) {
		SKIP("stacks of this machine are not unwound");
	}
	return (struct unwind_sample){
		.machine = machine,
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.mask = self.mask,
		.registers = { (const uint8_t *)self.values,
			       (uint64_t)__builtin_popcountll(self.mask) },
		.stack = { self.stack, self.stack_bytes },
		.space = self.space,
	};
}

static struct unwinder *new_unwinder(void)
{
	/* Without build-ids only symfs says that a name is enough. */
	const struct unwind_options options = { .symfs = "/", .name_file = name_file };
	struct unwinder *unwinder;
	struct error err;
	if (unwinder_new(&options, &unwinder, &err) < 0)
		fail_msg("%s", err.text);
	return unwinder;
}

static void a_stack_of_this_process_is_what_backtrace_says(void **state)
{
	(void)state;
	const struct unwind_sample sample = sample_of_self();
	CLEANUP(unwinder_freep) struct unwinder *unwinder = new_unwinder();
	struct unwind_run run;
	for (int round = 0; round < 2; round++) {
		assert_int_equal(unwinder_run(unwinder, &sample, &run), 0);
		assert_string_equal(unwind_end_text(run.end), unwind_end_text(UNWIND_WHOLE));
		assert_int_equal(run.count, self.expected_count);
		assert_false(run.frames[0].is_return);
		for (size_t i = 1; i < run.count; i++) {
			assert_true(run.frames[i].is_return);
			assert_int_equal(run.frames[i].address,
					 (uint64_t)(uintptr_t)self.expected[i]);
		}
	}
	assert_int_equal(unwinder_count(unwinder, UNWIND_WHOLE), 2);
}

static void a_missing_binary_ends_the_stack_and_is_named(void **state)
{
	(void)state;
	const struct unwind_sample sample = sample_of_self();
	CLEANUP(unwinder_freep) struct unwinder *unwinder = new_unwinder();
	CLEANUP(free_pointer) struct unwind_missing *missing = NULL;
	size_t count;
	struct unwind_run run;
	const struct mapping *here = address_space_find(self.space, (uintptr_t)&take_sample);
	assert_non_null(here);
	self.hidden_file = here->file;
	assert_int_equal(unwinder_run(unwinder, &sample, &run), 0);
	self.hidden_file = 0;
	assert_int_equal(run.end, UNWIND_NO_BINARY);
	assert_int_equal(run.count, 1);
	assert_int_equal(run.file, here->file);
	assert_int_equal(unwinder_missing(unwinder, &missing, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(missing[0].file, here->file);
	assert_int_equal(missing[0].samples, 1);
}

static void a_stack_that_was_cut_says_so(void **state)
{
	(void)state;
	struct unwind_sample sample = sample_of_self();
	CLEANUP(unwinder_freep) struct unwinder *unwinder = new_unwinder();
	struct unwind_run run;
	sample.stack.size = (size_t)self.stack_bytes / 4;
	while (sample.stack.size > 64) {
		assert_int_equal(unwinder_run(unwinder, &sample, &run), 0);
		assert_true(run.count >= 1);
		if (run.end != UNWIND_WHOLE)
			assert_string_equal(unwind_end_text(run.end),
					    unwind_end_text(UNWIND_STACK_CUT));
		for (size_t i = 1; i < run.count; i++)
			assert_int_equal(run.frames[i].address,
					 (uint64_t)(uintptr_t)self.expected[i]);
		sample.stack.size /= 2;
	}
	assert_true(unwinder_count(unwinder, UNWIND_STACK_CUT) > 0);
}

static void samples_without_registers_or_mappings_are_told_apart(void **state)
{
	(void)state;
	struct unwind_sample sample = sample_of_self();
	CLEANUP(unwinder_freep) struct unwinder *unwinder = new_unwinder();
	struct unwind_run run;
	sample.space = NULL;
	assert_int_equal(unwinder_run(unwinder, &sample, &run), 0);
	assert_int_equal(run.end, UNWIND_NO_MAPPING);
	assert_int_equal(run.count, 1);
	sample.space = self.space;
	sample.machine = EM_S390;
	assert_int_equal(unwinder_run(unwinder, &sample, &run), 0);
	assert_int_equal(run.end, UNWIND_NO_REGISTERS);
	sample.registers.count = 3;
	assert_int_equal(unwinder_run(unwinder, &sample, &run), 0);
	assert_int_equal(run.end, UNWIND_NO_REGISTERS);
	sample.abi = PERF_SAMPLE_REGS_ABI_NONE;
	assert_int_equal(unwinder_run(unwinder, &sample, &run), 0);
	assert_int_equal(run.end, UNWIND_NO_REGISTERS);
	assert_int_equal(unwinder_count(unwinder, UNWIND_NO_REGISTERS), 3);
}

static void many_address_spaces_are_kept_apart(void **state)
{
	(void)state;
	struct unwind_sample sample = sample_of_self();
	CLEANUP(unwinder_freep) struct unwinder *unwinder = new_unwinder();
	struct unwind_run run;
	/* more than the helper knows at once, more than it keeps tables of */
	for (uint64_t i = 0; i < 600; i++) {
		struct mapping mapping = { 0x1000 * (i + 1), 0x1000 * (i + 1) + 1, 0, 1 };
		struct address_space *space = address_space_share(self.space);
		assert_int_equal(address_space_add(&space, &mapping), 0);
		sample.space = space;
		assert_int_equal(unwinder_run(unwinder, &sample, &run), 0);
		assert_int_equal(run.end, UNWIND_WHOLE);
		assert_int_equal(run.count, self.expected_count);
		address_space_drop(space);
	}
}

/* Each of them has a mapping of its own, and many more: that is not told without end. */
static void spaces_that_change_too_often_are_not_followed(void **state)
{
	(void)state;
	struct unwind_sample sample = sample_of_self();
	CLEANUP(unwinder_freep) struct unwinder *unwinder = new_unwinder();
	struct address_space *many = address_space_share(self.space);
	struct unwind_run run;
	for (uint64_t i = 0; i < 100000; i++) {
		struct mapping mapping = { 0x2000 * i + 0x1000, 0x2000 * i + 0x2000, 0, 0 };
		assert_int_equal(address_space_add(&many, &mapping), 0);
	}
	const unsigned runs = 60;
	for (uint64_t i = 0; i < runs; i++) {
		struct mapping mapping = { 0x2000 * i, 0x2000 * i + 1, 0, 0 };
		struct address_space *space = address_space_share(many);
		assert_int_equal(address_space_add(&space, &mapping), 0);
		sample.space = space;
		sample.stack.size = 8;
		assert_int_equal(unwinder_run(unwinder, &sample, &run), 0);
		address_space_drop(space);
	}
	uint64_t left_out = unwinder_count(unwinder, UNWIND_SPACES_COSTLY);
	assert_in_range(left_out, runs - 42, runs - 40);
	assert_int_equal(run.end, UNWIND_SPACES_COSTLY);
	assert_int_equal(run.count, 0);
	/* one that is known costs nothing, and what a sample brings is worth something */
	struct unwind_sample usual = sample_of_self();
	assert_int_equal(unwinder_run(unwinder, &usual, &run), 0);
	assert_int_equal(run.end, UNWIND_WHOLE);
	assert_int_equal(unwinder_run(unwinder, &usual, &run), 0);
	assert_int_equal(run.end, UNWIND_WHOLE);
	address_space_drop(many);
}

#define LOADED 0x400000u
#define STACK  0x7ffe0000u

/* The little binary of the fuzz target, in this process. */
static struct unwind_engine *engine_of_little_binary(void)
{
	struct unwind_engine *engine;
	const struct mapping list[] = { { LOADED, LOADED + 0x1000, 0, 1 },
					{ LOADED + 0x1000, LOADED + 0x2000, 0, 2 } };
	CLEANUP(close_fd) int fd = memfd_create("binary", MFD_CLOEXEC);
	assert_int_equal(write(fd, unwind_binary, sizeof(unwind_binary)), sizeof(unwind_binary));
	assert_int_equal(unwind_engine_new(&engine), 0);
	assert_int_equal(unwind_engine_set_space(engine, 1, EM_X86_64, list, 2), 0);
	struct unwind_registers registers = { .mask = 1 << 7 | 1 << 8 };
	struct unwind_run run;
	registers.values[8] = LOADED + TEXT_FIRST;
	assert_int_equal(unwind_engine_run(engine, 1, &registers, (struct span){ NULL, 0 }, &run),
			 0);
	assert_int_equal(run.end, UNWIND_FILE_NEEDED);
	assert_int_equal(run.file, 1);
	assert_int_equal(unwind_engine_set_file(engine, 1, fd, NULL), 0);
	assert_int_equal(unwind_engine_set_file(engine, 2, -1, NULL), 0);
	return engine;
}

static enum unwind_end run_little(struct unwind_engine *engine, uint64_t offset, uint64_t rbp,
				  const uint64_t *stack, size_t words, struct unwind_run *run)
{
	struct unwind_registers registers = { .mask = 1 << 6 | 1 << 7 | 1 << 8 };
	registers.values[6] = rbp;
	registers.values[7] = STACK;
	registers.values[8] = LOADED + offset;
	assert_int_equal(unwind_engine_run(engine, 1, &registers,
					   (struct span){ stack, words * sizeof(*stack) }, run),
			 0);
	return run->end;
}

static void rules_of_every_kind_are_followed_and_end_when_they_do(void **state)
{
	(void)state;
	struct unwind_engine *engine = engine_of_little_binary();
	struct unwind_run run;
	/* leaf, behind its prologue; other, with a fixed frame; the outermost function */
	const uint64_t whole[] = { 5, 0, LOADED + 0x161, 0, 0, 0, 0, 0, LOADED + 0x179 };
	assert_int_equal(run_little(engine, 0x14f, STACK + 8, whole, 9, &run), UNWIND_WHOLE);
	assert_int_equal(run.count, 3);
	assert_int_equal(run.frames[1].address, LOADED + 0x161);
	assert_int_equal(run.frames[2].address, LOADED + 0x179);
	assert_true(run.frames[2].is_return);
	/* the same, cut */
	assert_int_equal(run_little(engine, 0x14f, STACK + 8, whole, 8, &run), UNWIND_STACK_CUT);
	assert_int_equal(run.count, 2);
	/* into a file that is not to be had, and into nowhere */
	const uint64_t missing[] = { 5, 0, LOADED + 0x1010 };
	assert_int_equal(run_little(engine, 0x14f, STACK + 8, missing, 3, &run), UNWIND_NO_BINARY);
	assert_int_equal(run.file, 2);
	assert_int_equal(run.count, 2);
	const uint64_t nowhere[] = { 5, 0, 0x1234 };
	assert_int_equal(run_little(engine, 0x14f, STACK + 8, nowhere, 3, &run), UNWIND_NO_MAPPING);
	assert_int_equal(run.count, 1);
	/* leaf calls itself for ever: its frame is its own caller's */
	const uint64_t endless[] = { 5, STACK + 8, LOADED + 0x154 };
	assert_int_equal(run_little(engine, 0x14f, STACK + 8, endless, 3, &run), UNWIND_TOO_DEEP);
	assert_int_equal(run.count, UNWIND_MAX_FRAMES);
	unwind_engine_free(engine);
}

/* Return addresses of AArch64 that carry signatures, in x30 and on the stack. */
static void signed_return_addresses_are_followed(void **state)
{
	(void)state;
	static const struct {
		uint64_t loaded, signature;
	} rows[] = {
		{ 0x400000, 0 }, /* as before Armv8.3 */
		{ 0xffff80000000, UINT64_C(0x35) << 48 },
		{ 0x7f80000000, UINT64_C(0x5a5a) << 40 }, /* addresses of 39 bits */
		{ 0x400000, UINT64_C(0x7f) << 48 },
	};
	CLEANUP(close_fd) int fd = memfd_create("binary", MFD_CLOEXEC);
	struct unwind_engine *engine;
	assert_int_equal(write(fd, unwind_signed, sizeof(unwind_signed)), sizeof(unwind_signed));
	assert_int_equal(unwind_engine_new(&engine), 0);
	assert_int_equal(unwind_engine_set_file(engine, 1, fd, NULL), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct mapping mapping = { rows[i].loaded, rows[i].loaded + 0x1000, 0, 1 };
		const uint64_t in_middle = rows[i].loaded + SIGNED_MIDDLE;
		const uint64_t in_outermost = rows[i].loaded + SIGNED_OUTERMOST;
		/* the frame of leaf, 32 bytes, then that of middle: each x29 and x30 first */
		const uint64_t words[] = { STACK + 32, in_middle | rows[i].signature,	0, 0,
					   0,	       in_outermost | rows[i].signature };
		struct unwind_registers registers = { .mask = 0x1ffffffffu };
		struct unwind_run run;
		assert_int_equal(unwind_engine_set_space(engine, 1, EM_AARCH64, &mapping, 1), 0);
		for (int at_once = 0; at_once < 2; at_once++) {
			const size_t from = at_once ? 4 : 0;
			registers.values[30] = at_once ? words[1] : 0;
			registers.values[31] = STACK + from * 8;
			registers.values[32] =
				rows[i].loaded + (at_once ? SIGNED_LEAF_AT_ONCE : SIGNED_LEAF);
			registers.values[29] = registers.values[31];
			const struct span stack = { words + from, sizeof(words) - from * 8 };
			assert_int_equal(unwind_engine_run(engine, 1, &registers, stack, &run), 0);
			assert_string_equal(unwind_end_text(run.end),
					    unwind_end_text(UNWIND_WHOLE));
			assert_int_equal(run.count, 3);
			assert_int_equal(run.frames[1].address, in_middle);
			assert_int_equal(run.frames[2].address, in_outermost);
		}
	}
	unwind_engine_free(engine);
}

static void machines_go_by_their_names(void **state)
{
	(void)state;
	assert_int_equal(unwind_machine(span_of_text("x86_64")), EM_X86_64);
	assert_int_equal(unwind_machine(span_of_text("i686")), EM_386);
	assert_int_equal(unwind_machine(span_of_text("aarch64")), EM_AARCH64);
	assert_int_equal(unwind_machine(span_of_text("armv7l")), EM_ARM);
	assert_int_equal(unwind_machine(span_of_text("s390x")), EM_NONE);
	assert_int_equal(unwind_machine((struct span){ NULL, 0 }), EM_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_of_this_process_is_what_backtrace_says),
		cmocka_unit_test(a_missing_binary_ends_the_stack_and_is_named),
		cmocka_unit_test(a_stack_that_was_cut_says_so),
		cmocka_unit_test(samples_without_registers_or_mappings_are_told_apart),
		cmocka_unit_test(many_address_spaces_are_kept_apart),
		cmocka_unit_test(spaces_that_change_too_often_are_not_followed),
		cmocka_unit_test(rules_of_every_kind_are_followed_and_end_when_they_do),
		cmocka_unit_test(signed_return_addresses_are_followed),
		cmocka_unit_test(machines_go_by_their_names),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
