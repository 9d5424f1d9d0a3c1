#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "culprit_story.h"

/* 0 mov (%rsi),%rax  1 test %ecx,%ecx  2 je 4  3 inc %rdx  4 add %rax,%rbx  5 add %rax,%rbp  6 ret
 */
static const uint8_t across[] = { 0x48, 0x8b, 0x06, 0x85, 0xc9, 0x74, 0x03, 0x48, 0xff,
				  0xc2, 0x48, 0x01, 0xc3, 0x48, 0x01, 0xc5, 0xc3 };
/* 0 call elsewhere  1 inc %rbx  2 add %rax,%rbx  3 ret */
static const uint8_t caller[] = { 0xe8, 0x00, 0x02, 0x00, 0x00, 0x48,
				  0xff, 0xc3, 0x48, 0x01, 0xc3, 0xc3 };
/* 0 pop %rax  1 add %rax,%rbx  2 mov (%rdi),%rdx  3 add %rdx,%rbx  4 ret */
static const uint8_t stack[] = { 0x58, 0x48, 0x01, 0xc3, 0x48, 0x8b, 0x17, 0x48, 0x01, 0xd3, 0xc3 };

/* --- D-cache and DTLB --- */

static void a_load_is_blamed_where_its_value_is_first_needed(void **state)
{
	(void)state;
	struct story story = { sum, sizeof(sum), .stall = { [ADD_UP] = 230 } };
	story.executed[5] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, ADD_UP, DYNAMIC_DCACHE, LOAD, 132);
	expect_listed(&subject, ADD_UP, DYNAMIC_DTLB, LOAD, 38);
	assert_int_equal(stall_at(&subject, ADD_UP)->culprit_count, 2);
	/* The table's memory is never that slow. */
	expect_near(stall_at(&subject, ADD_UP)->unexplained_cycles, 60 * EXECUTIONS, 0.3);
	assert_int_equal(first_culprit(&subject, ADD_UP)->cause, DYNAMIC_DCACHE);
}

static void what_needs_no_load_is_not_held_up_by_one(void **state)
{
	(void)state;
	struct story story = { sum, sizeof(sum), .stall = { [ADVANCE] = 20 } };
	story.executed[5] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_cleared(&subject, ADVANCE, DYNAMIC_DCACHE);
	assert_int_equal(stall_at(&subject, ADVANCE)->culprit_count, 0);
	expect_near(stall_at(&subject, ADVANCE)->unexplained_cycles, 20 * EXECUTIONS, 0.05);
}

static void a_load_of_an_earlier_block_is_blamed_once(void **state)
{
	(void)state;
	struct story story = { across, sizeof(across), .stall = { [4] = 30, [5] = 30 } };
	story.executed[3] = EXECUTIONS / 2;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, 4, DYNAMIC_DCACHE, 0, 30);
	/* Who comes behind finds the value there. */
	expect_cleared(&subject, 5, DYNAMIC_DCACHE);
	expect_cleared(&subject, 5, DYNAMIC_DTLB);
}

/* 0 mov (%rax),%rax  1 test %rax,%rax  2 jne 0  3 ret */
static void a_load_through_the_register_that_it_writes_is_blamed(void **state)
{
	(void)state;
	static const uint8_t chase[] = { 0x48, 0x8b, 0x00, 0x48, 0x85, 0xc0, 0x75, 0xf8, 0xc3 };
	struct story story = { chase, sizeof(chase), .stall = { [1] = 60 } };
	story.executed[3] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, 1, DYNAMIC_DCACHE, 0, 60);
}

static void what_a_caller_or_callee_loaded_may_be_waited_for(void **state)
{
	(void)state;
	struct story story = { caller, sizeof(caller), .stall = { [1] = 10, [2] = 10 } };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, 2, DYNAMIC_DCACHE, CULPRIT_NO_INSTRUCTION, 10);
	expect_cleared(&subject, 1, DYNAMIC_DCACHE);
}

static void the_stack_is_on_a_page_that_is_known(void **state)
{
	(void)state;
	struct story story = { stack, sizeof(stack), .stall = { [1] = 20, [3] = 20 } };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, 1, DYNAMIC_DCACHE, 0, 20);
	expect_cleared(&subject, 1, DYNAMIC_DTLB);
	/* A walk of 38 cycles comes with a miss of 12, at least. */
	expect_listed(&subject, 3, DYNAMIC_DCACHE, 2, 20);
	expect_listed(&subject, 3, DYNAMIC_DTLB, 2, 20 * 38.0 / 50);
	expect_near(find_culprit(&subject, 3, DYNAMIC_DCACHE)->low,
		    stall_at(&subject, 3)->dynamic_cycles * 12 / 50, 0.01);
}

/* 0 inc %rbx  1 incl (%rdi)  2 inc %rax  3 ret */
static void who_writes_back_what_it_reads_waits_for_that_itself(void **state)
{
	(void)state;
	static const uint8_t code[] = { 0x48, 0xff, 0xc3, 0xff, 0x07, 0x48, 0xff, 0xc0, 0xc3 };
	struct story story = { code, sizeof(code), .stall = { [1] = 20 } };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, 1, DYNAMIC_DCACHE, 1, 20);
}

/* 0 mov (%rdi),%rbx  1 test %ecx,%ecx  2 je 5  3 mov (%rsi),%rax  4 jmp 6  5 mov 8(%rsi),%rax
 * 6 lea (%rax,%rbx),%rdx  7 ret: the first load ran as often as both others together. */
static void of_several_loads_the_one_that_can_take_most_is_blamed(void **state)
{
	(void)state;
	static const uint8_t code[] = { 0x48, 0x8b, 0x1f, 0x85, 0xc9, 0x74, 0x05,
					0x48, 0x8b, 0x06, 0xeb, 0x04, 0x48, 0x8b,
					0x46, 0x08, 0x48, 0x8d, 0x14, 0x18, 0xc3 };
	struct story story = { code, sizeof(code), .stall = { [6] = 60 } };
	for (int i = 3; i <= 5; i++)
		story.executed[i] = EXECUTIONS / 2;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, 6, DYNAMIC_DCACHE, 0, 60);
	assert_non_null(find_culprit(&subject, 6, DYNAMIC_DTLB));
	assert_int_equal(find_culprit(&subject, 6, DYNAMIC_DTLB)->instruction, 0);
}

/* --- I-cache, ITLB, predictions --- */

/* Straight code of 30 3-byte instructions; one lies across the end of the first line. */
static void only_who_reaches_a_new_line_waits_to_be_fetched(void **state)
{
	(void)state;
	uint8_t code[3 * 30 + 1];
	for (size_t i = 0; i < 30; i++)
		memcpy(code + 3 * i, "\x48\xff\xc0", 3); /* inc %rax */
	code[90] = 0xc3;
	struct story story = { code, sizeof(code),
			       .stall = { [0] = 5, [20] = 5, [21] = 5, [22] = 5 } };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, 21, DYNAMIC_ICACHE, 21, 5);
	expect_only(&subject, 21, DYNAMIC_ICACHE);
	expect_cleared(&subject, 20, DYNAMIC_ICACHE);
	expect_cleared(&subject, 22, DYNAMIC_ICACHE);
	/* Who is called comes from somewhere. */
	expect_listed(&subject, 0, DYNAMIC_ICACHE, 0, 5);
	expect_listed(&subject, 0, DYNAMIC_ITLB, 0, 5 * 38.0 / 50);
	expect_listed(&subject, 0, DYNAMIC_MISPREDICT, CULPRIT_NO_INSTRUCTION, 5);
}

static void a_loop_that_fits_is_fetched_once(void **state)
{
	(void)state;
	struct story story = { sum, sizeof(sum), .stall = { [LOAD] = 5 } };
	story.executed[5] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_cleared(&subject, LOAD, DYNAMIC_ICACHE);
	/* Its branch goes one way all the time. */
	expect_cleared(&subject, LOAD, DYNAMIC_MISPREDICT);
}

static void a_branch_is_blamed_on_both_its_ways_for_what_it_can_cost(void **state)
{
	(void)state;
	struct story story = { diamond, sizeof(diamond), .stall = { [ARM] = 20, [JOIN] = 3 } };
	for (int i = ARM; i < JOIN; i++)
		story.executed[i] = EXECUTIONS / 2;
	story.executed[LEAVE] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	/* 8 cycles, for half of the executions. */
	expect_listed(&subject, ARM, DYNAMIC_MISPREDICT, BRANCH, 4);
	expect_listed(&subject, JOIN, DYNAMIC_MISPREDICT, BRANCH, 3);
	expect_only(&subject, ARM, DYNAMIC_MISPREDICT);
	expect_near(stall_at(&subject, ARM)->unexplained_cycles, 6 * EXECUTIONS, 0.1);
}

static void a_branch_that_goes_one_way_is_blamed_when_nothing_else_can_be(void **state)
{
	(void)state;
	struct story story = { diamond, sizeof(diamond), .stall = { [ARM] = 5 } };
	story.executed[LEAVE] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, ARM, DYNAMIC_MISPREDICT, BRANCH, 5);
	expect_only(&subject, ARM, DYNAMIC_MISPREDICT);
	/* Unless wrong predictions are counted. */
	CLEANUP(subject_release) struct subject counted = { 0 };
	story.event[0] = "branch-misses";
	tell(&counted, &story);
	expect_cleared(&counted, ARM, DYNAMIC_MISPREDICT);
}

/* 0 to 18 inc  19 test $1,%cl  20 je 26  21 inc, across the end of a line  22 to 29 inc  30 ret */
static void that_it_may_have_been_fetched_late_clears_no_branch(void **state)
{
	(void)state;
	uint8_t code[3 * 29 + 5 + 1];
	for (size_t i = 0; i < 19; i++)
		memcpy(code + 3 * i, "\x48\xff\xc0", 3); /* inc %rax */
	memcpy(code + 57, "\xf6\xc1\x01\x74\x0f", 5);
	for (size_t i = 19; i < 29; i++)
		memcpy(code + 3 * i + 5, "\x48\xff\xc0", 3);
	code[sizeof(code) - 1] = 0xc3;
	struct story story = { code, sizeof(code), .stall = { [21] = 5 } };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	assert_non_null(find_culprit(&subject, 21, DYNAMIC_ICACHE));
	assert_non_null(find_culprit(&subject, 21, DYNAMIC_MISPREDICT));
	assert_int_equal(find_culprit(&subject, 21, DYNAMIC_MISPREDICT)->instruction, 20);
}

static void behind_a_call_the_return_may_have_gone_wrong(void **state)
{
	(void)state;
	struct story story = { caller, sizeof(caller), .stall = { [1] = 10, [2] = 5 } };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, 1, DYNAMIC_MISPREDICT, 0, 8);
	expect_listed(&subject, 1, DYNAMIC_ICACHE, 1, 10);
	expect_cleared(&subject, 2, DYNAMIC_MISPREDICT);
	expect_cleared(&subject, 2, DYNAMIC_ICACHE);
}

/* --- units, stores, synchronisation, other --- */

static void work_of_varying_length_is_blamed(void **state)
{
	(void)state;
	struct story story = { works, sizeof(works),
			       .stall = { [NEEDS_QUOTIENT] = 30,
					  [STORE] = 10,
					  [LOCKED] = 50,
					  [COPY] = 50,
					  [BEHIND_COPY] = 50 } };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, NEEDS_QUOTIENT, DYNAMIC_DIVIDE, DIVIDE, 30);
	expect_only(&subject, NEEDS_QUOTIENT, DYNAMIC_DIVIDE);
	expect_listed(&subject, STORE, DYNAMIC_WRITE_BUFFER, STORE, 10);
	expect_listed(&subject, LOCKED, DYNAMIC_SYNCHRONISATION, LOCKED, 50);
	assert_int_equal(first_culprit(&subject, LOCKED)->cause, DYNAMIC_SYNCHRONISATION);
	expect_listed(&subject, COPY, DYNAMIC_OTHER, COPY, 50);
	expect_listed(&subject, BEHIND_COPY, DYNAMIC_OTHER, COPY, 50);
	expect_cleared(&subject, NEEDS_QUOTIENT, DYNAMIC_OTHER);
	/* Who is next has waited for its end. */
	CLEANUP(subject_release) struct subject later = { 0 };
	struct story behind = { works, sizeof(works), .stall = { [BEHIND_COPY + 1] = 50 } };
	tell(&later, &behind);
	expect_cleared(&later, BEHIND_COPY + 1, DYNAMIC_OTHER);
}

static void a_product_of_an_earlier_block_may_be_under_way(void **state)
{
	(void)state;
	struct story story = { product, sizeof(product), .stall = { [4] = 12, [5] = 12 } };
	story.executed[3] = EXECUTIONS / 2;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, 4, DYNAMIC_CHAIN, 0, 3);
	expect_cleared(&subject, 5, DYNAMIC_CHAIN);
	expect_cleared(&subject, 4, DYNAMIC_MULTIPLY); /* it takes another each cycle */
}

/* --- names --- */

static void every_cause_has_a_name_a_key_and_a_letter_of_its_own(void **state)
{
	(void)state;
	char letters[DYNAMIC_CAUSES + STATIC_CAUSES];
	size_t count = 0;
	for (enum dynamic_cause cause = 0; cause < DYNAMIC_CAUSES; cause++) {
		assert_true(strlen(dynamic_cause_text(cause)) > 0);
		assert_true(strlen(dynamic_cause_key(cause)) > 0);
		letters[count++] = dynamic_cause_letter(cause);
	}
	for (enum static_cause cause = 0; cause < STATIC_CAUSES; cause++) {
		assert_true(strlen(static_cause_text(cause)) > 0);
		letters[count++] = static_cause_letter(cause);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(letters[i], letters[j]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_load_is_blamed_where_its_value_is_first_needed),
		cmocka_unit_test(what_needs_no_load_is_not_held_up_by_one),
		cmocka_unit_test(a_load_of_an_earlier_block_is_blamed_once),
		cmocka_unit_test(a_load_through_the_register_that_it_writes_is_blamed),
		cmocka_unit_test(what_a_caller_or_callee_loaded_may_be_waited_for),
		cmocka_unit_test(the_stack_is_on_a_page_that_is_known),
		cmocka_unit_test(who_writes_back_what_it_reads_waits_for_that_itself),
		cmocka_unit_test(of_several_loads_the_one_that_can_take_most_is_blamed),
		cmocka_unit_test(only_who_reaches_a_new_line_waits_to_be_fetched),
		cmocka_unit_test(a_loop_that_fits_is_fetched_once),
		cmocka_unit_test(a_branch_is_blamed_on_both_its_ways_for_what_it_can_cost),
		cmocka_unit_test(a_branch_that_goes_one_way_is_blamed_when_nothing_else_can_be),
		cmocka_unit_test(that_it_may_have_been_fetched_late_clears_no_branch),
		cmocka_unit_test(behind_a_call_the_return_may_have_gone_wrong),
		cmocka_unit_test(work_of_varying_length_is_blamed),
		cmocka_unit_test(a_product_of_an_earlier_block_may_be_under_way),
		cmocka_unit_test(every_cause_has_a_name_a_key_and_a_letter_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
