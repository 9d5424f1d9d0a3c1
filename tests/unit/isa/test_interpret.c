/*
 * Paths through small x86-64 programs whose outcomes are known beforehand.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "interpret_world.h"

#define WORLD(...)                                                                                 \
	world_of(ISA_X86_64, (const uint8_t[]){ __VA_ARGS__ },                                     \
		 sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void a_counted_loop_goes_back_until_its_count_ends(void **state)
{
	(void)state;
	/* 0: dec %ecx; 2: jne 0; 4: syscall */
	struct world world = WORLD(0xff, 0xc9, 0x75, 0xfc, 0x0f, 0x05);
	world_know(&world, X86_RCX, 3);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 3);
	expect_edge(&world, 0, 2, 0, INTERPRET_CONDITIONAL);
	expect_edge(&world, 1, 2, 0, INTERPRET_CONDITIONAL);
	expect_edge(&world, 2, 2, 4, INTERPRET_CONDITIONAL);
	expect_end(&world, 4, INTERPRET_END_SYSTEM);
	assert_int_equal(world.result.instructions, 6);
	interpreter_free(world.interpreter);
}

static void an_unknown_condition_ends_the_path(void **state)
{
	(void)state;
	/* 0: test %eax,%eax; 2: je 0 */
	struct world world = WORLD(0x85, 0xc0, 0x74, 0xfc);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 0);
	expect_end(&world, 2, INTERPRET_END_CONDITION);
	interpreter_free(world.interpreter);
}

static void sampled_flags_decide_a_branch(void **state)
{
	(void)state;
	/* 0: jg 4; 2: syscall; 4: jb 2; 6: syscall */
	struct world world = WORLD(0x7f, 0x02, 0x0f, 0x05, 0x72, 0xfc, 0x0f, 0x05);
	world_run(&world, 30);
	expect_end(&world, 0, INTERPRET_END_CONDITION);
	world.start.flags_known = true;
	world.start.flags = 0x880; /* sign and overflow: not less */
	world_run(&world, 30);
	expect_edge(&world, 0, 0, 4, INTERPRET_CONDITIONAL);
	expect_edge(&world, 1, 4, 6, INTERPRET_CONDITIONAL);
	world.start.flags = 0x80;
	world_run(&world, 30);
	expect_edge(&world, 0, 0, 2, INTERPRET_CONDITIONAL);
	expect_end(&world, 2, INTERPRET_END_SYSTEM);
	interpreter_free(world.interpreter);
}

static void a_call_is_followed_and_returns(void **state)
{
	(void)state;
	/* 0: call 7; 5: syscall; 7: push %rbx; 8: pop %rbx; 9: ret */
	struct world world = WORLD(0xe8, 2, 0, 0, 0, 0x0f, 0x05, 0x53, 0x5b, 0xc3);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	expect_edge(&world, 0, 9, 5, INTERPRET_RETURN);
	expect_end(&world, 5, INTERPRET_END_SYSTEM);
	assert_int_equal(world.result.instructions, 4);
	interpreter_free(world.interpreter);
}

static void the_sampled_stack_tells_where_a_return_goes(void **state)
{
	(void)state;
	/* 0: ret; 1: ret */
	struct world world = WORLD(0xc3, 0xc3);
	uint64_t stack = CODE_AT + 1;
	world_run(&world, 30);
	expect_end(&world, 0, INTERPRET_END_RETURN);
	world.start.stack = (struct span){ &stack, sizeof(stack) };
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	expect_edge(&world, 0, 0, 1, INTERPRET_RETURN);
	expect_end(&world, 1, INTERPRET_END_RETURN); /* beyond the 8 bytes */
	world.start.registers_known = 0;
	world_run(&world, 30);
	expect_end(&world, 0, INTERPRET_END_RETURN);
	interpreter_free(world.interpreter);
}

static void memory_given_in_blocks_is_known_until_it_is_stored_to(void **state)
{
	(void)state;
	/* 0: cmpb $1,(%rdi); 3: je 7; 5: syscall; 7: cmpw $0x201,(%rdi); 12: jne 5; 14: movb
	 * $0,(%rdi); 17: cmpb $1,(%rdi); 20: je 5; 22: cmpb $2,1(%rdi); 26: jne 5; 28: hlt */
	struct world world = WORLD(0x80, 0x3f, 0x01, 0x74, 0x02, 0x0f, 0x05, 0x66, 0x81, 0x3f, 0x01,
				   0x02, 0x75, 0xf7, 0xc6, 0x07, 0x00, 0x80, 0x3f, 0x01, 0x74, 0xef,
				   0x80, 0x7f, 0x01, 0x02, 0x75, 0xe9, 0xf4);
	const uint8_t bytes[] = { 7, 7, 7, 1 }, next[] = { 2 };
	const struct interpret_block blocks[] = { { 0x900000, { bytes, sizeof(bytes) } },
						  { 0x900004, { next, sizeof(next) } } };
	world_know(&world, X86_RDI, 0x900003);
	world_run(&world, 30);
	expect_end(&world, 3, INTERPRET_END_CONDITION);
	world.start.blocks = blocks;
	world.start.block_count = 2;
	world_run(&world, 30); /* across both blocks */
	expect_end(&world, 28, INTERPRET_END_SYSTEM);
	assert_int_equal(world.edge_count, 4);
	world.start.block_count = 1;
	world_run(&world, 30);
	expect_edge(&world, 0, 3, 7, INTERPRET_CONDITIONAL);
	expect_end(&world, 12, INTERPRET_END_CONDITION);
	world_know(&world, X86_RDI, 0x8fffff); /* one byte before */
	world_run(&world, 30);
	expect_end(&world, 3, INTERPRET_END_CONDITION);
	interpreter_free(world.interpreter);
}

static void a_jump_table_in_read_only_memory_is_read(void **state)
{
	(void)state;
	/* 0: jmp *TABLE(,%rax,8); 7: syscall */
	struct world world = WORLD(0xff, 0x24, 0xc5, 0x00, 0x20, 0x40, 0x00, 0x0f, 0x05);
	uint64_t target = CODE_AT + 7;
	memcpy(world.table + 16, &target, sizeof(target));
	world_know(&world, X86_RAX, 2);
	world_run(&world, 30);
	expect_edge(&world, 0, 0, 7, INTERPRET_INDIRECT);
	world_know(&world, X86_RAX, 8);
	world_run(&world, 30);
	expect_end(&world, 0, INTERPRET_END_INDIRECT);
	interpreter_free(world.interpreter);
}

static void an_indirect_call_is_reported(void **state)
{
	(void)state;
	/* 0: call *%rax; 2: syscall; 4: ret */
	struct world world = WORLD(0xff, 0xd0, 0x0f, 0x05, 0xc3);
	world_know(&world, X86_RAX, CODE_AT + 4);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 2);
	expect_edge(&world, 0, 0, 4, INTERPRET_CALL);
	expect_edge(&world, 1, 4, 2, INTERPRET_RETURN);
	interpreter_free(world.interpreter);
}

static void parts_of_registers_are_known_by_themselves(void **state)
{
	(void)state;
	/* 0: movzbl %al,%eax; 3: cmp $0x100,%eax; 8: jb 12; 10: syscall; 12: or $1,%al;
	 * 14: test $1,%al; 16: je 10; 18: shl $4,%eax; 21: test $15,%al; 23: jne 10; 25: hlt */
	struct world world =
		WORLD(0x0f, 0xb6, 0xc0, 0x3d, 0, 1, 0, 0, 0x72, 0x02, 0x0f, 0x05, 0x0c, 0x01, 0xa8,
		      0x01, 0x74, 0xf8, 0xc1, 0xe0, 0x04, 0xa8, 0x0f, 0x75, 0xf1, 0xf4);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 3);
	expect_edge(&world, 0, 8, 12, INTERPRET_CONDITIONAL);
	expect_edge(&world, 1, 16, 18, INTERPRET_CONDITIONAL);
	expect_edge(&world, 2, 23, 25, INTERPRET_CONDITIONAL);
	expect_end(&world, 25, INTERPRET_END_SYSTEM);
	interpreter_free(world.interpreter);
}

static void the_stack_protector_finds_its_guard(void **state)
{
	(void)state;
	/* 0: mov 8(%rsp),%rax; 5: sub %fs:0x28,%rax; 14: jne 0; 16: hlt */
	struct world world = WORLD(0x48, 0x8b, 0x44, 0x24, 0x08, 0x64, 0x48, 0x2b, 0x04, 0x25, 0x28,
				   0, 0, 0, 0x75, 0xf0, 0xf4);
	world_run(&world, 30);
	expect_edge(&world, 0, 14, 16, INTERPRET_CONDITIONAL);
	interpreter_free(world.interpreter);
	/* 0: mov %fs:0x28,%rcx; 9: cmp 32(%rsp),%rcx; 14: jne 0; 16: cmp 32(%rsp),%rcx; 21: jne 0
	 */
	world = WORLD(0x64, 0x48, 0x8b, 0x0c, 0x25, 0x28, 0, 0, 0, 0x48, 0x3b, 0x4c, 0x24, 0x20,
		      0x75, 0xf0, 0x48, 0x3b, 0x4c, 0x24, 0x20, 0x75, 0xe9);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	expect_edge(&world, 0, 14, 16, INTERPRET_CONDITIONAL);
	expect_end(&world, 21, INTERPRET_END_CONDITION); /* not directly behind the load */
	interpreter_free(world.interpreter);
}

static void stores_at_unknown_addresses_are_ignored(void **state)
{
	(void)state;
	/* 0: push $1; 2: mov %rax,(%rbx); 5: pop %rcx; 6: dec %ecx; 8: je 10; 10: hlt */
	struct world world =
		WORLD(0x6a, 0x01, 0x48, 0x89, 0x03, 0x59, 0xff, 0xc9, 0x74, 0x00, 0xf4);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	world_know(&world, X86_RBX, STACK_AT - 8); /* known, and what it writes is not */
	world_run(&world, 30);
	expect_end(&world, 8, INTERPRET_END_CONDITION);
	interpreter_free(world.interpreter);
}

static void an_instruction_without_semantics_costs_what_it_writes(void **state)
{
	(void)state;
	/* 0: rdtsc; 2: test %ebx,%ebx; 4: je 6; 6: test %eax,%eax; 8: je 10 */
	struct world world = WORLD(0x0f, 0x31, 0x85, 0xdb, 0x74, 0x00, 0x85, 0xc0, 0x74, 0x00);
	world_know(&world, X86_RAX, 1);
	world_know(&world, X86_RBX, 1);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	expect_end(&world, 8, INTERPRET_END_CONDITION);
	interpreter_free(world.interpreter);
}

static void a_newer_vector_instruction_is_passed(void **state)
{
	(void)state;
	/* 0: vaddph %zmm1,%zmm0,%zmm2 (AVX512-FP16); 6: test %eax,%eax; 8: je 10; 10: 06, no
	 * instruction */
	struct world world =
		WORLD(0x62, 0xf5, 0x7c, 0x48, 0x58, 0xd1, 0x85, 0xc0, 0x74, 0x00, 0x06);
	world_know(&world, X86_RAX, 0);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	expect_end(&world, 10, INTERPRET_END_UNKNOWN);
	interpreter_free(world.interpreter);
}

static void a_newer_vector_instruction_costs_the_register_it_writes(void **state)
{
	(void)state;
	/* 0: vcvtsh2si %xmm1,%r8d (or vmovw %xmm1,%ecx); 6: test %ecx,%ecx; 8: je 10;
	 * 10: test %r8d,%r8d; 13: je 15; 15: hlt */
	struct world world = WORLD(0x62, 0x75, 0x7e, 0x08, 0x2d, 0xc1, 0x85, 0xc9, 0x74, 0x00, 0x45,
				   0x85, 0xc0, 0x74, 0x00, 0xf4);
	static const uint8_t vmovw[] = { 0x62, 0xf5, 0x7d, 0x08, 0x7e, 0xc9 };
	world_know(&world, X86_RCX, 1);
	world_know(&world, X86_R8, 1);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	expect_end(&world, 13, INTERPRET_END_CONDITION);
	memcpy(world.code, vmovw, sizeof(vmovw));
	world_run(&world, 30);
	expect_end(&world, 8, INTERPRET_END_CONDITION);
	interpreter_free(world.interpreter);
}

static void code_that_changed_is_decoded_again(void **state)
{
	(void)state;
	struct world world = WORLD(0x85, 0xc0, 0x74, 0x00, 0xf4); /* test %eax,%eax; je */
	world_know(&world, X86_RAX, 1);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	world.code[1] = 0xdb; /* %ebx, which is not known */
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 0);
	interpreter_free(world.interpreter);
}

static void the_limit_and_the_end_of_code_end_a_path(void **state)
{
	(void)state;
	struct world world = WORLD(0x90, 0x90, 0x90, 0x90);
	world_run(&world, 2);
	expect_end(&world, 2, INTERPRET_END_LIMIT);
	assert_int_equal(world.result.instructions, 2);
	world_run(&world, 30);
	expect_end(&world, 4, INTERPRET_END_CODE);
	assert_int_equal(world.result.instructions, 4);
	world_run(&world, 0);
	expect_end(&world, 0, INTERPRET_END_LIMIT);
	interpreter_free(world.interpreter);
}

static void a_path_that_goes_on_knows_what_it_knew(void **state)
{
	(void)state;
	/* 0: push %rcx; 1: pop %rdx; 2: dec %edx; 4: jne 8; 6: syscall; 8: ret */
	struct world world = WORLD(0x51, 0x5a, 0xff, 0xca, 0x75, 0x02, 0x0f, 0x05, 0xc3);
	const uint64_t stack = CODE_AT + 6;
	world.start.stack = (struct span){ &stack, sizeof(stack) };
	world_know(&world, X86_RCX, 3);
	for (unsigned first = 0; first <= 5; first++) {
		world_run(&world, first);
		assert_int_equal(world.result.instructions, first);
		expect_end(&world, world.result.pc - CODE_AT, INTERPRET_END_LIMIT);
		world_go_on(&world, 30);
		assert_int_equal(world.result.instructions, 5);
		assert_int_equal(world.edge_count, 2);
		expect_edge(&world, 0, 4, 8, INTERPRET_CONDITIONAL);
		expect_edge(&world, 1, 8, 6, INTERPRET_RETURN);
		expect_end(&world, 6, INTERPRET_END_SYSTEM);
	}
	interpreter_free(world.interpreter);
}

static void a_repeated_store_is_followed_or_forgotten(void **state)
{
	(void)state;
	/* 0: rep stos %al,(%rdi); 2: cmpb $7,-16(%rsp); 7: je 9; 9: hlt */
	struct world world = WORLD(0xf3, 0xaa, 0x80, 0x7c, 0x24, 0xf0, 0x07, 0x74, 0x00, 0xf4);
	world.start.flags_known = true;
	world_know(&world, X86_RAX, 7);
	world_know(&world, X86_RDI, STACK_AT - 32);
	world_know(&world, X86_RCX, 17);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 1);
	world_know(&world, X86_RCX, 16); /* one byte short */
	world_run(&world, 30);
	expect_end(&world, 7, INTERPRET_END_CONDITION);
	world_know(&world, X86_RCX, 100000);
	world_run(&world, 30);
	expect_end(&world, 7, INTERPRET_END_CONDITION);
	interpreter_free(world.interpreter);
}

static void what_a_long_store_reaches_is_forgotten(void **state)
{
	(void)state;
	/* 0: push $7; 2: rep stos %al,(%rdi); 4: cmpb $7,(%rsp); 8: je 10; 10: cmpb $9,8(%rsp);
	 * 15: je 17; 17: hlt */
	struct world world = WORLD(0x6a, 0x07, 0xf3, 0xaa, 0x80, 0x3c, 0x24, 0x07, 0x74, 0x00, 0x80,
				   0x7c, 0x24, 0x08, 0x09, 0x74, 0x00, 0xf4);
	uint64_t stack = 9;
	world.start.stack = (struct span){ &stack, sizeof(stack) };
	world.start.flags_known = true;
	world_know(&world, X86_RDI, STACK_AT);
	world_know(&world, X86_RCX, 1000);
	world_run(&world, 30); /* what was pushed lies before it, what was sampled in it */
	assert_int_equal(world.edge_count, 1);
	expect_end(&world, 15, INTERPRET_END_CONDITION);
	world_know(&world, X86_RDI, STACK_AT + 8);
	world_run(&world, 30);
	assert_int_equal(world.edge_count, 2);
	world_know(&world, X86_RDI, STACK_AT - 999);
	world_run(&world, 30);
	expect_end(&world, 8, INTERPRET_END_CONDITION);
	interpreter_free(world.interpreter);
}

static void registers_of_perf_are_numbered_as_ours(void **state)
{
	(void)state;
	struct interpret_start start;
	uint64_t values[33];
	for (unsigned i = 0; i < 33; i++)
		values[i] = 100 + i;
	uint64_t mask = interpret_perf_registers(ISA_X86_64);
	assert_int_equal(__builtin_popcountll(mask), 18);
	assert_true(interpret_start_of_perf(ISA_X86_64, mask, values, &start));
	assert_int_equal(start.registers[X86_RAX], 100);
	assert_int_equal(start.registers[X86_RBX], 101);
	assert_int_equal(start.registers[X86_RCX], 102);
	assert_int_equal(start.registers[X86_RDX], 103);
	assert_int_equal(start.registers[X86_RSI], 104);
	assert_int_equal(start.registers[X86_RDI], 105);
	assert_int_equal(start.registers[X86_RBP], 106);
	assert_int_equal(start.registers[X86_RSP], 107);
	assert_int_equal(start.pc, 108);
	assert_true(start.flags_known);
	assert_int_equal(start.flags, 109);
	assert_int_equal(start.registers[X86_R8], 110);
	assert_int_equal(start.registers[X86_R15], 117);
	assert_int_equal(start.registers_known, 0xffff);
	/* with the segments, which perf may be asked for too */
	assert_true(interpret_start_of_perf(ISA_X86_64, UINT64_C(0xffffff), values, &start));
	assert_int_equal(start.registers[X86_R8], 116);
	assert_false(interpret_start_of_perf(ISA_X86_64, 1, values, &start));

	mask = interpret_perf_registers(ISA_AARCH64);
	assert_int_equal(__builtin_popcountll(mask), 33);
	assert_true(interpret_start_of_perf(ISA_AARCH64, mask, values, &start));
	assert_int_equal(start.registers[0], 100);
	assert_int_equal(start.registers[AARCH64_SP], 131);
	assert_int_equal(start.pc, 132);
	assert_int_equal(start.registers_known, UINT32_MAX);
	assert_false(start.flags_known);
	assert_int_equal(interpret_perf_registers(ISA_I386), 0);
	assert_int_equal(interpret_stack_bytes(ISA_X86_64), 8);
}

static void other_instruction_sets_are_refused(void **state)
{
	(void)state;
	struct interpreter *interpreter = NULL;
	struct error err;
	assert_int_equal(interpreter_new(ISA_I386, &interpreter, &err), -ENOTSUP);
	assert_string_equal(err.text, "i386 code cannot be interpreted");
	assert_int_equal(interpreter_new(ISA_UNKNOWN, &interpreter, &err), -EINVAL);
	assert_null(interpreter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counted_loop_goes_back_until_its_count_ends),
		cmocka_unit_test(an_unknown_condition_ends_the_path),
		cmocka_unit_test(sampled_flags_decide_a_branch),
		cmocka_unit_test(a_call_is_followed_and_returns),
		cmocka_unit_test(the_sampled_stack_tells_where_a_return_goes),
		cmocka_unit_test(memory_given_in_blocks_is_known_until_it_is_stored_to),
		cmocka_unit_test(a_jump_table_in_read_only_memory_is_read),
		cmocka_unit_test(an_indirect_call_is_reported),
		cmocka_unit_test(parts_of_registers_are_known_by_themselves),
		cmocka_unit_test(the_stack_protector_finds_its_guard),
		cmocka_unit_test(stores_at_unknown_addresses_are_ignored),
		cmocka_unit_test(an_instruction_without_semantics_costs_what_it_writes),
		cmocka_unit_test(a_newer_vector_instruction_is_passed),
		cmocka_unit_test(a_newer_vector_instruction_costs_the_register_it_writes),
		cmocka_unit_test(code_that_changed_is_decoded_again),
		cmocka_unit_test(the_limit_and_the_end_of_code_end_a_path),
		cmocka_unit_test(a_path_that_goes_on_knows_what_it_knew),
		cmocka_unit_test(a_repeated_store_is_followed_or_forgotten),
		cmocka_unit_test(what_a_long_store_reaches_is_forgotten),
		cmocka_unit_test(registers_of_perf_are_numbered_as_ours),
		cmocka_unit_test(other_instruction_sets_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
