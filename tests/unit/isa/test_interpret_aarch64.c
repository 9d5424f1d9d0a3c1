/*
 * Paths through small AArch64 programs whose outcomes are known beforehand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "interpret_world.h"

#define WORLD(...)                                                                                 \
	world_of(ISA_AARCH64, (const uint32_t[]){ __VA_ARGS__ },                                   \
		 sizeof((const uint32_t[]){ __VA_ARGS__ }))

static void a_counted_loop_goes_back_until_its_count_ends(void **state)
{
	(void)state;
	/* 0: subs w1,w1,#1; 4: b.ne 0; 8: svc */
	struct world world = WORLD(0x71000421, 0x54ffffe1, 0xd4000001);
	world_know(&world, 1, 2);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 2);
	expect_edge(&world, 0, 4, 0, INTERPRET_CONDITIONAL);
	expect_edge(&world, 1, 4, 8, INTERPRET_CONDITIONAL);
	expect_end(&world, 8, INTERPRET_END_SYSTEM);
	interpreter_free(world.interpreter);
}

static void an_unknown_condition_ends_the_path(void **state)
{
	(void)state;
	/* 0: cbz x0, 4; 4: svc */
	struct world world = WORLD(0xb4000020, 0xd4000001);
	world_run(&world, 30);
	expect_end(&world, 0, INTERPRET_END_CONDITION);
	world_know(&world, 0, 1);
	world_run(&world, 30);
	expect_edge(&world, 0, 0, 4, INTERPRET_CONDITIONAL);
	interpreter_free(world.interpreter);
}

static void a_call_is_followed_and_returns(void **state)
{
	(void)state;
	/* 0: bl 8; 4: svc; 8: stp x29,x30,[sp,#-16]!; c: mov x29,sp; 10: ldp x29,x30,[sp],#16;
	 * 14: ret */
	struct world world =
		WORLD(0x94000002, 0xd4000001, 0xa9bf7bfd, 0x910003fd, 0xa8c17bfd, 0xd65f03c0);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	expect_edge(&world, 0, 0x14, 4, INTERPRET_RETURN);
	expect_end(&world, 4, INTERPRET_END_SYSTEM);
	interpreter_free(world.interpreter);
}

static void the_sampled_frame_record_tells_where_a_return_goes(void **state)
{
	(void)state;
	/* 0: ldp x29,x30,[sp],#32; 4: ret; 8: svc */
	struct world world = WORLD(0xa8c27bfd, 0xd65f03c0, 0xd4000001);
	uint64_t stack[2] = { STACK_AT + 64, CODE_AT + 8 };
	world_know(&world, 30, CODE_AT); /* overwritten */
	world.start.stack = (struct span){ stack, 8 };
	world_run(&world, 30);
	expect_end(&world, 4, INTERPRET_END_RETURN);
	world.start.stack.size = interpret_stack_bytes(ISA_AARCH64);
	world_run(&world, 30);
	expect_edge(&world, 0, 4, 8, INTERPRET_RETURN);
	interpreter_free(world.interpreter);
}

static void a_relative_jump_table_is_read(void **state)
{
	(void)state;
	/* 0: adrp x1, 0x401000; 4: add x1,x1,#1,lsl #12; 8: ldrsw x2,[x1,w0,uxtw #2];
	 * c: add x1,x1,x2; 10: br x1; 14: svc */
	struct world world =
		WORLD(0x90000001, 0x91400421, 0xb8a05822, 0x8b020021, 0xd61f0020, 0xd4000001);
	int32_t distance = (int32_t)(CODE_AT + 0x14 - TABLE_AT);
	memcpy(world.table + 12, &distance, sizeof(distance));
	world_know(&world, 0, UINT64_C(0xabcd00000003)); /* of which w0 counts */
	world_run(&world, 30);
	expect_edge(&world, 0, 0x10, 0x14, INTERPRET_INDIRECT);
	world_know(&world, 0, 16);
	world_run(&world, 30);
	expect_end(&world, 0x10, INTERPRET_END_INDIRECT);
	interpreter_free(world.interpreter);
}

static void parts_of_registers_are_known_by_themselves(void **state)
{
	(void)state;
	/* 0: and w0,w0,#0xff; 4: cmp w0,#0x100; 8: b.lo 10; c: svc; 10: orr w0,w0,#1;
	 * 14: tbnz w0,#0,1c; 18: svc; 1c: lsl w0,w0,#4; 20: tst w0,#15; 24: b.eq 2c; 28: svc;
	 * 2c: csel w3,w4,w5,eq; 30: cbz w3,38; 34: svc; 38: brk */
	struct world world = WORLD(0x12001c00, 0x7104001f, 0x54000043, 0xd4000001, 0x32000000,
				   0x37000040, 0xd4000001, 0x531c6c00, 0x72000c1f, 0x54000040,
				   0xd4000001, 0x1a850083, 0x34000043, 0xd4000001, 0xd4200020);
	world_know(&world, 4, UINT64_C(1) << 32); /* w4 is 0 */
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 4);
	expect_edge(&world, 0, 8, 0x10, INTERPRET_CONDITIONAL);
	expect_edge(&world, 1, 0x14, 0x1c, INTERPRET_CONDITIONAL);
	expect_edge(&world, 2, 0x24, 0x2c, INTERPRET_CONDITIONAL);
	expect_edge(&world, 3, 0x30, 0x38, INTERPRET_CONDITIONAL);
	expect_end(&world, 0x38, INTERPRET_END_SYSTEM);
	interpreter_free(world.interpreter);
}

static void a_conditional_comparison_is_one_or_the_other(void **state)
{
	(void)state;
	/* 0: cmp x0,#5; 4: ccmp x1,#7,#4,hi; 8: b.eq 10; c: svc; 10: brk */
	struct world world = WORLD(0xf100141f, 0xfa478824, 0x54000040, 0xd4000001, 0xd4200020);
	world_know(&world, 1, 7);
	world_run(&world, 30); /* equal either way */
	expect_edge(&world, 0, 8, 0x10, INTERPRET_CONDITIONAL);
	world_know(&world, 1, 8);
	world_run(&world, 30);
	expect_end(&world, 8, INTERPRET_END_CONDITION);
	world_know(&world, 0, 6);
	world_run(&world, 30);
	expect_edge(&world, 0, 8, 0xc, INTERPRET_CONDITIONAL);
	world_know(&world, 0, 5);
	world_run(&world, 30);
	expect_edge(&world, 0, 8, 0x10, INTERPRET_CONDITIONAL);
	interpreter_free(world.interpreter);
}

static void signed_return_addresses_are_understood(void **state)
{
	(void)state;
	/* 0: paciasp; 4: stp x29,x30,[sp,#-16]!; 8: ldp x29,x30,[sp],#16; c: autiasp; 10: ret */
	struct world world = WORLD(0xd503233f, 0xa9bf7bfd, 0xa8c17bfd, 0xd50323bf, 0xd65f03c0);
	world_know(&world, 30, CODE_AT + 64);
	world_run(&world, 30);
	expect_edge(&world, 0, 0x10, 64, INTERPRET_RETURN);
	/* 0: retaa, of an address signed before the sample */
	interpreter_free(world.interpreter);
	world = WORLD(0xd65f0bff);
	world_know(&world, 30, (CODE_AT + 64) | UINT64_C(0x5a) << 56);
	world_run(&world, 30);
	expect_edge(&world, 0, 0, 64, INTERPRET_RETURN);
	interpreter_free(world.interpreter);
}

static void an_indirect_call_is_reported(void **state)
{
	(void)state;
	/* 0: blr x3; 4: svc; 8: ret */
	struct world world = WORLD(0xd63f0060, 0xd4000001, 0xd65f03c0);
	world_know(&world, 3, CODE_AT + 8);
	world_run(&world, 30);
	expect_edge(&world, 0, 0, 8, INTERPRET_CALL);
	expect_edge(&world, 1, 8, 4, INTERPRET_RETURN);
	interpreter_free(world.interpreter);
}

static void an_atomic_addition_stores_and_returns_the_old(void **state)
{
	(void)state;
	/* 0: str w1,[sp,#-4]!; 4: ldadd w2,w3,[sp]; 8: ldr w4,[sp]; c: cmp w4,#7; 10: b.eq 18;
	 * 14: svc; 18: cbz w3,18; 1c: brk */
	struct world world = WORLD(0xb81fcfe1, 0xb82203e3, 0xb94003e4, 0x71001c9f, 0x54000040,
				   0xd4000001, 0x34000003, 0xd4200020);
	world_know(&world, 1, 4);
	world_know(&world, 2, 3);
	world_run(&world, 30);
	expect_edge(&world, 0, 0x10, 0x18, INTERPRET_CONDITIONAL);
	expect_edge(&world, 1, 0x18, 0x1c, INTERPRET_CONDITIONAL);
	interpreter_free(world.interpreter);
}

static void vectors_carry_values_and_their_arithmetic_is_unknown(void **state)
{
	(void)state;
	/* 0: movi v0.2d,#0; 4: str q0,[sp,#-16]!; 8: ldr x5,[sp,#8]; c: cbz x5,14; 10: svc;
	 * 14: fadd d1,d1,d2; 18: fcmp d1,d2; 1c: b.eq 14 */
	struct world world = WORLD(0x6f00e400, 0x3c9f0fe0, 0xf94007e5, 0xb4000045, 0xd4000001,
				   0x1e622821, 0x1e622020, 0x54ffffc0);
	world.start.flags_known = true;
	world_run(&world, 30);
	expect_edge(&world, 0, 0xc, 0x14, INTERPRET_CONDITIONAL);
	expect_end(&world, 0x1c, INTERPRET_END_CONDITION);
	interpreter_free(world.interpreter);
}

static void an_instruction_without_known_effects_ends_the_path(void **state)
{
	(void)state;
	/* 0: add z0.d,z0.d,z1.d (SVE) */
	struct world world = WORLD(0x04e10000);
	world_run(&world, 30);
	expect_end(&world, 0, INTERPRET_END_UNKNOWN);
	world.code_size = 3;
	world_run(&world, 30);
	expect_end(&world, 0, INTERPRET_END_UNKNOWN);
	interpreter_free(world.interpreter);
}

static void the_stack_protector_finds_its_guard(void **state)
{
	(void)state;
	/* 0: ldr x2,[sp,#8]; 4: ldr x1,[x0]; 8: subs x2,x2,x1; c: mov x1,#0; 10: b.ne 0;
	 * 14: b.ne 14 */
	struct world world =
		WORLD(0xf94007e2, 0xf9400001, 0xeb010042, 0xd2800001, 0x54ffff81, 0x54000001);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	expect_edge(&world, 0, 0x10, 0x14, INTERPRET_CONDITIONAL);
	expect_end(&world, 0x14, INTERPRET_END_CONDITION);
	world.code[12] = 3; /* mov x3,#0: another comparison */
	world_run(&world, 30);
	expect_end(&world, 0x10, INTERPRET_END_CONDITION);
	interpreter_free(world.interpreter);
}

static void carries_are_of_the_last_operation(void **state)
{
	(void)state;
	/* 0: tst x0,x0; 4: b.cs 4; 8: subs x1,x2,x3; c: b.cs 10; 10: adds x1,x2,x3; 14: b.cs 14;
	 * 18: adc x4,x2,xzr; 1c: cbnz x4,20; 20: b.hi 20; 24: b.ls 28; 28: brk */
	struct world world =
		WORLD(0xea00001f, 0x54000002, 0xeb030041, 0x54000022, 0xab030041, 0x54000002,
		      0x9a1f0044, 0xb5000024, 0x54000008, 0x54000029, 0xd4200020);
	world_know(&world, 2, 5);
	world_know(&world, 3, 4);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 6);
	expect_edge(&world, 0, 4, 8, INTERPRET_CONDITIONAL);	   /* cleared by logic */
	expect_edge(&world, 1, 0xc, 0x10, INTERPRET_CONDITIONAL);  /* set: no borrow */
	expect_edge(&world, 2, 0x14, 0x18, INTERPRET_CONDITIONAL); /* clear: no carry */
	expect_edge(&world, 3, 0x1c, 0x20, INTERPRET_CONDITIONAL);
	expect_edge(&world, 4, 0x20, 0x24, INTERPRET_CONDITIONAL);
	expect_edge(&world, 5, 0x24, 0x28, INTERPRET_CONDITIONAL);
	interpreter_free(world.interpreter);
}

static void sampled_flags_decide_a_branch(void **state)
{
	(void)state;
	/* 0: b.ne 0; 4: svc */
	struct world world = WORLD(0x54000001, 0xd4000001);
	world_run(&world, 3);
	expect_end(&world, 0, INTERPRET_END_CONDITION);
	world.start.flags_known = true;
	world.start.flags = UINT64_C(1) << 30; /* Z */
	world_run(&world, 3);
	expect_edge(&world, 0, 0, 4, INTERPRET_CONDITIONAL);
	world.start.flags = 0;
	world_run(&world, 3);
	assert_int_equal(world.edge_count, 3);
	expect_end(&world, 0, INTERPRET_END_LIMIT);
	interpreter_free(world.interpreter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counted_loop_goes_back_until_its_count_ends),
		cmocka_unit_test(an_unknown_condition_ends_the_path),
		cmocka_unit_test(a_call_is_followed_and_returns),
		cmocka_unit_test(the_sampled_frame_record_tells_where_a_return_goes),
		cmocka_unit_test(a_relative_jump_table_is_read),
		cmocka_unit_test(parts_of_registers_are_known_by_themselves),
		cmocka_unit_test(a_conditional_comparison_is_one_or_the_other),
		cmocka_unit_test(signed_return_addresses_are_understood),
		cmocka_unit_test(an_indirect_call_is_reported),
		cmocka_unit_test(an_atomic_addition_stores_and_returns_the_old),
		cmocka_unit_test(vectors_carry_values_and_their_arithmetic_is_unknown),
		cmocka_unit_test(an_instruction_without_known_effects_ends_the_path),
		cmocka_unit_test(the_stack_protector_finds_its_guard),
		cmocka_unit_test(carries_are_of_the_last_operation),
		cmocka_unit_test(sampled_flags_decide_a_branch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
