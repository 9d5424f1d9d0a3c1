/* Walks on stacks that are made up: each way to go on, and each reason to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "unwind/stack_walk.h"

#define CODE  0x400000u
#define STACK 0x7ff000u
#define WORDS 64
#define ROOM  16

/* Code with one rule every 16 bytes. */
struct scene {
	uint16_t machine;
	bool narrow, no_guess, no_rules;
	frame_rule rules[16];
	uint64_t registers[33], words[WORDS];
	uint64_t mask;
	size_t stack_words;
	struct walk_frame frames[ROOM];
	size_t count;
};

static void look_up(void *context, uint64_t address, struct walk_place *place)
{
	const struct scene *scene = context;
	if (address - CODE >= sizeof(scene->rules) / sizeof(scene->rules[0]) * 16) {
		place->end = WALK_NO_MAPPING;
		return;
	}
	place->rule = scene->rules[(address - CODE) / 16];
	place->may_guess = !scene->no_guess;
	place->has_rules = !scene->no_rules;
}

static struct scene of_x86_64(void)
{
	struct scene scene = { .machine = EM_X86_64,
			       .mask = WALK_MASK_X86_64,
			       .stack_words = WORDS };
	scene.registers[7] = STACK;
	scene.registers[8] = CODE + 4;
	return scene;
}

static struct scene of_aarch64(void)
{
	struct scene scene = { .machine = EM_AARCH64,
			       .mask = WALK_MASK_AARCH64,
			       .stack_words = WORDS };
	scene.registers[31] = STACK;
	scene.registers[32] = CODE + 4;
	return scene;
}

static enum walk_end run(struct scene *scene)
{
	const struct stack_walk walk = { .machine = scene->machine,
					 .narrow = scene->narrow,
					 .registers = scene->registers,
					 .mask = scene->mask,
					 .stack = { scene->words, scene->stack_words * 8 },
					 .look_up = look_up,
					 .context = scene };
	return stack_walk_run(&walk, scene->frames, ROOM, &scene->count);
}

static void expect_frames(const struct scene *scene, size_t count, const uint64_t *addresses)
{
	assert_int_equal(scene->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(scene->frames[i].address, addresses[i]);
}

#define EXPECT_FRAMES(scene, ...)                                                                  \
	expect_frames(scene, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ })

static frame_rule stack_rule(int offset)
{
	return frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0, offset);
}

static const frame_rule end_rule = FRAME_CFA_END;

static void each_way_to_the_caller(void **state)
{
	(void)state;
	/* by the stack pointer, then by the frame pointer, which the first had saved */
	struct scene scene = of_x86_64();
	scene.rules[0] = frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_AT_CFA, 0, -16, 32);
	scene.rules[1] = frame_rule_of(FRAME_CFA_FRAME, FRAME_POINTER_SAME, 0, 0, 16);
	scene.rules[2] = end_rule;
	scene.words[2] = STACK + 64; /* the caller's frame pointer */
	scene.words[3] = CODE + 24;
	scene.words[9] = CODE + 40;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 24, CODE + 40);
	assert_false(scene.frames[0].returns);
	assert_true(scene.frames[1].returns);

	/* a realigned stack, whose frame's address is saved below the frame pointer */
	scene = of_x86_64();
	scene.registers[6] = STACK + 40;
	scene.rules[0] = frame_rule_of(FRAME_CFA_LOADED, FRAME_POINTER_AT_FRAME, 0, 0, -8);
	scene.rules[1] = end_rule;
	scene.words[4] = STACK + 96;
	scene.words[11] = CODE + 20;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20);

	/* records, of which one leads to what is further down, as on another stack */
	scene = of_x86_64();
	scene.registers[6] = STACK + 256;
	scene.rules[0] = frame_rule_of(FRAME_CFA_RECORD, FRAME_POINTER_SAME, 0, 0, 16);
	scene.rules[1] = stack_rule(24);
	scene.rules[2] = scene.rules[0];
	scene.rules[3] = end_rule;
	scene.words[32] = STACK + 64;
	scene.words[33] = CODE + 20;
	scene.words[36] = CODE + 40;
	scene.words[9] = CODE + 60;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20, CODE + 40, CODE + 60);
	assert_false(scene.frames[2].guessed);

	/* a linkage table before and behind its push */
	for (int behind = 0; behind <= 1; behind++) {
		scene = of_x86_64();
		scene.registers[8] = CODE + (behind ? 11 : 6);
		scene.rules[0] = frame_rule_of(FRAME_CFA_PLT, FRAME_POINTER_SAME, 0, 0, 11);
		scene.rules[1] = end_rule;
		scene.words[behind] = CODE + 17;
		assert_int_equal(run(&scene), WALK_WHOLE);
		EXPECT_FRAMES(&scene, CODE + (behind ? 11u : 6u), CODE + 17);
	}

	/* rbx, which an inner frame has saved */
	scene = of_x86_64();
	scene.rules[0] = frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 2, 0, 16);
	scene.rules[1] = frame_rule_of(FRAME_CFA_OTHER, FRAME_POINTER_SAME, 0, 0, 3 << 24 | 16);
	scene.rules[2] = end_rule;
	scene.words[0] = STACK + 48;
	scene.words[1] = CODE + 20;
	scene.words[7] = CODE + 36;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20, CODE + 36);

	/* vfork(3): the return address is in rdi */
	scene = of_x86_64();
	scene.registers[5] = CODE + 20;
	scene.rules[0] = frame_rule_of(FRAME_CFA_LINKED, FRAME_POINTER_SAME, 0, 0, 8);
	scene.rules[1] = end_rule;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20);
}

static void signals_are_walked_through(void **state)
{
	(void)state;
	struct scene scene = of_x86_64();
	scene.rules[0] = stack_rule(8);
	scene.rules[1] = frame_rule_of(FRAME_CFA_SIGNAL, FRAME_POINTER_LOST, 0, 0, 40);
	scene.rules[2] = end_rule;
	scene.words[0] = CODE + 17;
	/* rbp, rbx, rdx, rax, rcx, rsp, rip from where rsp is, minus 40 */
	scene.words[1 + 5] = STACK + 200;
	scene.words[1 + 6] = CODE + 32; /* the first byte of a function: it was to run */
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 17, CODE + 32);
	assert_false(scene.frames[2].returns);

	scene = of_aarch64();
	scene.registers[30] = CODE + 20;
	scene.rules[0] = stack_rule(0);
	scene.rules[1] = frame_rule_of(FRAME_CFA_SIGNAL, FRAME_POINTER_LOST, 0, 0, 64);
	scene.rules[2] = stack_rule(0); /* a leaf: x30 is as it was interrupted */
	scene.rules[3] = end_rule;
	scene.words[8 + 1] = CODE + 52;
	scene.words[8 + 2] = STACK + 300;
	scene.words[8 + 3] = CODE + 32;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20, CODE + 32, CODE + 52);
}

/* Go's frames of AArch64, of which the innermost has its frame pointer where copies do not reach,
 * and a function that came from another stack. */
static void frames_of_go_on_aarch64_need_no_frame_pointers(void **state)
{
	(void)state;
	struct scene scene = of_aarch64();
	scene.registers[29] = 1; /* as good as none */
	scene.rules[0] = frame_rule_of(FRAME_CFA_BELOW, FRAME_POINTER_SAME, 0, 0, 32);
	scene.rules[1] = frame_rule_of(FRAME_CFA_BELOW, FRAME_POINTER_SAME, 0, 0, 48);
	scene.rules[2] = frame_rule_of(FRAME_CFA_RECORD, FRAME_POINTER_SAME, 0, 0, 24);
	scene.rules[3] = end_rule;
	scene.words[0] = CODE + 20;
	scene.words[3] = STACK + 320; /* 8 bytes below the second frame */
	scene.words[4] = CODE + 36;
	scene.words[40] = STACK + 400;
	scene.words[41] = CODE + 52;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20, CODE + 36, CODE + 52);
	/* Right behind the innermost frame nobody knows where that was. */
	scene.rules[1] = scene.rules[2];
	assert_int_equal(run(&scene), WALK_LOST);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20);
	scene.rules[0] = FRAME_CFA_BELOW;
	assert_int_equal(run(&scene), WALK_BACKWARDS);
	struct scene other = of_x86_64();
	other.rules[0] = frame_rule_of(FRAME_CFA_BELOW, FRAME_POINTER_SAME, 0, 0, 32);
	assert_int_equal(run(&other), WALK_BAD_RULE);
}

static void frames_of_aarch64_may_be_large(void **state)
{
	(void)state;
	struct scene scene = of_aarch64();
	scene.rules[0] =
		frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_AT_CFA, FRAME_SLOT_PAIR, -256, 256);
	scene.rules[1] =
		frame_rule_of(FRAME_CFA_FRAME, FRAME_POINTER_AT_CFA, FRAME_SLOT_PAIR, -32, 32);
	scene.rules[2] = end_rule;
	scene.words[0] = STACK + 256;
	scene.words[1] = (CODE + 20) | UINT64_C(0x2a) << 48; /* it is signed */
	scene.words[32] = 0;
	scene.words[33] = CODE + 36;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20, CODE + 36);
}

static void without_a_rule_leaves_and_frame_pointers_are_tried(void **state)
{
	(void)state;
	/* a leaf, for a rule is about where it would return to */
	struct scene scene = of_x86_64();
	scene.rules[1] = end_rule;
	scene.words[0] = CODE + 20;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20);
	assert_false(scene.frames[1].guessed);

	/* in a file without rules frame pointers alone, and marked */
	scene.no_rules = true;
	scene.registers[6] = STACK + 16;
	scene.words[2] = 0;
	scene.words[3] = CODE + 36;
	scene.rules[2] = FRAME_CFA_NONE;
	assert_int_equal(run(&scene), WALK_WHOLE); /* that of the last one is 0 */
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 36);
	assert_true(scene.frames[1].guessed);

	/* a guess that leads nowhere is dropped; one below the stack is none */
	scene.words[2] = STACK + 32;
	scene.words[3] = 0x1234;
	assert_int_equal(run(&scene), WALK_NO_RULE);
	EXPECT_FRAMES(&scene, CODE + 4);
	scene.registers[6] = STACK - 8;
	assert_int_equal(run(&scene), WALK_NO_RULE);
	/* nor where rules may still come */
	scene.no_guess = true;
	assert_int_equal(run(&scene), WALK_NO_TABLE);

	/* AArch64: behind a guess the stack pointer is unknown, and frame pointers go on */
	scene = of_aarch64();
	scene.no_rules = true;
	scene.registers[29] = STACK + 16;
	scene.rules[1] = stack_rule(48);
	scene.rules[2] = end_rule;
	scene.words[2] = STACK + 80;
	scene.words[3] = CODE + 20;
	scene.words[10] = 0;
	scene.words[11] = CODE + 36;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20, CODE + 36);
}

static void each_reason_to_end(void **state)
{
	(void)state;
	struct scene scene = of_x86_64();
	scene.mask = WALK_MASK_X86_64 & ~(UINT64_C(1) << 7);
	assert_int_equal(run(&scene), WALK_NO_REGISTERS);
	assert_int_equal(scene.count, 0);
	scene = of_x86_64();
	scene.machine = EM_RISCV;
	assert_int_equal(run(&scene), WALK_NO_REGISTERS);

	scene = of_x86_64();
	scene.registers[8] = 4096;
	assert_int_equal(run(&scene), WALK_NO_MAPPING);
	EXPECT_FRAMES(&scene, 4096);

	/* the copy ends within the frame, or right in front of the return address */
	scene = of_x86_64();
	scene.rules[0] = stack_rule(32);
	scene.stack_words = 3;
	assert_int_equal(run(&scene), WALK_UNREADABLE);
	scene.stack_words = 0;
	assert_int_equal(run(&scene), WALK_UNREADABLE);

	scene = of_x86_64();
	scene.rules[0] = FRAME_CFA_BAD;
	assert_int_equal(run(&scene), WALK_BAD_RULE);

	scene.rules[0] = frame_rule_of(FRAME_CFA_FRAME, FRAME_POINTER_SAME, 0, 0, 16);
	scene.registers[6] = STACK - 64;
	assert_int_equal(run(&scene), WALK_BACKWARDS);

	/* the frame pointer is lost in the first frame, and needed in the second */
	scene = of_x86_64();
	scene.rules[0] = frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_LOST, 0, 0, 8);
	scene.rules[1] = frame_rule_of(FRAME_CFA_FRAME, FRAME_POINTER_SAME, 0, 0, 16);
	scene.words[0] = CODE + 20;
	assert_int_equal(run(&scene), WALK_LOST);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20);

	/* the same of a record; without a frame pointer it is the outermost one; and a ring of them
	 */
	scene.rules[1] = frame_rule_of(FRAME_CFA_RECORD, FRAME_POINTER_SAME, 0, 0, 16);
	assert_int_equal(run(&scene), WALK_LOST);
	scene.rules[0] = scene.rules[1];
	scene.registers[6] = 0;
	assert_int_equal(run(&scene), WALK_WHOLE);
	scene.registers[6] = STACK + 80;
	scene.words[10] = STACK + 80;
	scene.words[11] = CODE + 20;
	assert_int_equal(run(&scene), WALK_TOO_DEEP);
	assert_int_equal(scene.count, ROOM);

	/* a recursion that has more frames than there is room for */
	scene = of_x86_64();
	scene.rules[0] = stack_rule(8);
	for (size_t i = 0; i < WORDS; i++)
		scene.words[i] = CODE + 8;
	assert_int_equal(run(&scene), WALK_TOO_DEEP);
	assert_int_equal(scene.count, ROOM);

	/* a return address of 0 is that of a first function */
	scene.words[3] = 0;
	assert_int_equal(run(&scene), WALK_WHOLE);
	assert_int_equal(scene.count, 4);
}

static void narrow_programs_are_followed_by_frame_pointers(void **state)
{
	(void)state;
	struct scene scene = of_x86_64();
	uint32_t *words = (uint32_t *)scene.words;
	scene.narrow = true;
	scene.registers[6] = STACK + 8;
	words[2] = STACK + 24;
	words[3] = CODE + 20;
	words[6] = 0;
	words[7] = CODE + 36;
	assert_int_equal(run(&scene), WALK_WHOLE);
	EXPECT_FRAMES(&scene, CODE + 4, CODE + 20, CODE + 36);
	words[6] = STACK + 4; /* backwards */
	assert_int_equal(run(&scene), WALK_NO_RULE);
	words[6] = STACK + WORDS * 8;
	assert_int_equal(run(&scene), WALK_UNREADABLE);
	scene.registers[6] = STACK - 4;
	assert_int_equal(run(&scene), WALK_NO_RULE);
	EXPECT_FRAMES(&scene, CODE + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_to_the_caller),
		cmocka_unit_test(signals_are_walked_through),
		cmocka_unit_test(frames_of_aarch64_may_be_large),
		cmocka_unit_test(frames_of_go_on_aarch64_need_no_frame_pointers),
		cmocka_unit_test(without_a_rule_leaves_and_frame_pointers_are_tried),
		cmocka_unit_test(each_reason_to_end),
		cmocka_unit_test(narrow_programs_are_followed_by_frame_pointers),
	};
	return cmocka_run_group_tests_name("walk ends", tests, NULL, NULL);
}
