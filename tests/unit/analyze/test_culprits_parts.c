#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "culprit_story.h"

/* 0 mov (%rsi),%rsi  1 mov (%rsi),%rax  2 add %rax,%rbx  3 imul %rbx,%rbx  4 je 5  5 ret */
static const uint8_t chained[] = { 0x48, 0x8b, 0x36, 0x48, 0x8b, 0x06, 0x48, 0x01,
				   0xc3, 0x48, 0x0f, 0xaf, 0xdb, 0x74, 0x00, 0xc3 };

/* --- static stalls --- */

static void a_schedule_without_misses_explains_static_stalls(void **state)
{
	(void)state;
	struct story story = { chained, sizeof(chained), .stall = { 0 } };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	const struct scheduled *plan = subject.procedure->schedule;
	assert_int_equal(stall_at(&subject, 1)->static_cause, STATIC_RB);
	assert_int_equal(stall_at(&subject, 1)->static_register, X86_RSI);
	assert_int_equal(stall_at(&subject, 1)->static_instruction, 0);
	assert_int_equal(stall_at(&subject, 2)->static_cause, STATIC_RA);
	assert_int_equal(stall_at(&subject, 2)->static_register, X86_RAX);
	assert_int_equal(stall_at(&subject, 4)->static_cause, STATIC_RC);
	/* Behind a cycle that one of two slots was used in. */
	expect_near(stall_at(&subject, 2)->static_cycles, (plan[2].head_cycles - 0.5) * EXECUTIONS,
		    0.03);
	expect_near(stall_at(&subject, 2)->issue_cycles, 0.5 * EXECUTIONS, 0.03);
	for (uint32_t i = 0; i < 6; i++)
		assert_true(stall_at(&subject, i)->dynamic_cycles == 0);
}

/* 0 imul %rsi,%rax  1 test %ecx,%ecx  2 je 4  3 nop  4 add %rax,%rbx: who comes from 2 waits for
 * more of the product than who comes by 3. */
static void a_block_begins_behind_each_of_those_before_it(void **state)
{
	(void)state;
	struct story story = { product, sizeof(product), .stall = { 0 } };
	story.executed[3] = EXECUTIONS / 2;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	const struct stall *user = stall_at(&subject, 4);
	double behind_both = user->issue_cycles + user->static_cycles;
	double likeliest = subject.procedure->instructions[4].best_cycles;
	assert_true(fabs(behind_both - likeliest) > 0.2 * EXECUTIONS);
	assert_int_equal(user->static_cause, STATIC_RA);
	assert_int_equal(user->static_register, X86_RAX);
}

/* 0 imul %rsi,%rax  1 test %ecx,%ecx  2 je 4  3 mov (%rdi),%rbx  4 add %rax,%rbx  5 ret: from 2 the
 * product is waited for, for a cycle; by 3 the load, for three. */
static void a_static_stall_is_of_the_way_that_waits_most(void **state)
{
	(void)state;
	static const uint8_t code[] = { 0x48, 0x0f, 0xaf, 0xc6, 0x85, 0xc9, 0x74, 0x03,
					0x48, 0x8b, 0x1f, 0x48, 0x01, 0xc3, 0xc3 };
	static const struct {
		double loads;
		uint8_t waits_for;
	} cases[] = { { 0.2, X86_RAX }, { 0.4, X86_RBX } };
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct story story = { code, sizeof(code), .stall = { 0 } };
		story.executed[3] = EXECUTIONS * cases[i].loads;
		CLEANUP(subject_release) struct subject subject = { 0 };
		tell(&subject, &story);
		assert_int_equal(stall_at(&subject, 4)->static_cause, STATIC_RA);
		assert_int_equal(stall_at(&subject, 4)->static_register, cases[i].waits_for);
	}
}

/* --- sums --- */

/* Whatever the code and the samples: the parts are the whole, and ranges hold the rest. */
static void parts_add_up_whatever_the_code(void **state)
{
	(void)state;
	static const char *const pipelines[] = { "zen5", "generic-in-order", "cortex-a53" };
	size_t listed = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct random_state random = random_seed(seed);
		uint8_t code[200];
		uint32_t image;
		for (size_t i = 0; i < sizeof(code); i++) /* a third are short jumps */
			code[i] = random_below(&random, 3)
					  ? (uint8_t)random_u64(&random)
					  : (uint8_t)(0x70 + random_below(&random, 16));
		struct profile *profile = profile_of_code("f", FIRST, code, sizeof(code), &image);
		uint32_t cycles = add_event(profile, "cycles", 1);
		uint32_t misses = add_event(profile, "branch-misses", 1);
		uint32_t instructions = seed % 4 == 0 ? add_event(profile, "instructions", 1) : 0;
		for (int i = 0; i < 60; i++) {
			uint64_t vaddr = FIRST + random_below(&random, sizeof(code));
			add_samples(profile, cycles, image, vaddr, 1 + random_below(&random, 500));
			add_samples(profile, misses, image, vaddr, random_below(&random, 3));
			if (instructions)
				add_samples(profile, instructions, image, vaddr,
					    random_below(&random, 500));
		}
		CLEANUP(subject_release) struct subject subject = { 0 };
		subject_init(&subject, profile, pipelines[seed % COUNT_OF(pipelines)]);
		check_sums(&subject);
		listed += subject.culprits->count;
	}
	assert_true(listed > 1000);
}

/* --- other units than cycles --- */

/* Executions are counted and time is in ns, half of one a cycle. */
static void best_cases_are_in_the_unit_of_time(void **state)
{
	(void)state;
	struct story story = { sum, sizeof(sum), .stall = { 0 } };
	CLEANUP(subject_release) struct subject scheduled = { 0 };
	const struct procedure_cycles *plan =
		schedule_of_code(&scheduled, &story, "generic-in-order");
	uint32_t image, clock;
	struct profile *profile = profile_of_code("f", FIRST, sum, sizeof(sum), &image);
	uint32_t instructions = add_event(profile, "instructions", 1);
	assert_int_equal(profile_add_event(profile, &clock_event, &clock), 0);
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t vaddr = plan->cfg.instructions[i].vaddr;
		double each = plan->schedule[i].head_cycles;
		add_samples(profile, instructions, image, vaddr, (uint64_t)(EXECUTIONS / PERIOD));
		add_samples(profile, clock, image, vaddr,
			    (uint64_t)(0.5 * EXECUTIONS * each / PERIOD));
	}
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "generic-in-order");
	assert_int_equal(subject.procedure->scale, CYCLES_ABSOLUTE);
	expect_near(subject.procedure->cycle, 0.5, 0.05);
	for (uint32_t i = 0; i < 5; i++) {
		const struct stall *stall = stall_at(&subject, i);
		expect_near(stall->issue_cycles + stall->static_cycles,
			    subject.procedure->instructions[i].best_cycles, 0.1);
		assert_true(stall->dynamic_cycles == 0);
	}
	check_sums(&subject);
}

/* Branch stacks tell executions up to a factor: nothing within a best case is told apart. */
static void parts_of_relative_cycles_add_up_in_order(void **state)
{
	(void)state;
	uint32_t image;
	struct profile *profile = profile_of_code("f", FIRST, sum, sizeof(sum), &image);
	uint32_t cycles = add_event(profile, "cycles", 1);
	const uint64_t offsets[] = { 0, 3, 6, 10, 13 }, samples[] = { 100, 5000, 100, 100, 100 };
	for (size_t i = 0; i < COUNT_OF(offsets); i++)
		add_samples(profile, cycles, image, FIRST + offsets[i], samples[i]);
	const struct profile_frame from = { .image = image, .vaddr = FIRST + 13 };
	const struct profile_frame to = { .image = image, .vaddr = FIRST };
	assert_int_equal(profile_add_edge(profile, cycles, 0, ORIGIN_IMPORTED, &from, &to, 990, 0),
			 0);
	const uint64_t keys[] = {
		[RANGE_EVENT] = cycles, [RANGE_CONTEXT] = 0,   [RANGE_ORIGIN] = ORIGIN_IMPORTED,
		[RANGE_IMAGE] = image,	[RANGE_FIRST] = FIRST, [RANGE_LAST] = FIRST + 13,
	};
	const uint64_t values[] = { 1000, 0, 0, 0 };
	assert_int_equal(table_add(profile->tables[PROFILE_RANGE], keys, values, NULL), 0);
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "generic-in-order");
	assert_int_equal(subject.procedure->scale, CYCLES_RELATIVE);
	assert_true(subject.culprits->known);
	assert_true(stall_at(&subject, ADD_UP)->dynamic_cycles > 0);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(stall_at(&subject, i)->static_cause, STATIC_NONE);
	check_sums(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_schedule_without_misses_explains_static_stalls),
		cmocka_unit_test(a_block_begins_behind_each_of_those_before_it),
		cmocka_unit_test(a_static_stall_is_of_the_way_that_waits_most),
		cmocka_unit_test(parts_add_up_whatever_the_code),
		cmocka_unit_test(best_cases_are_in_the_unit_of_time),
		cmocka_unit_test(parts_of_relative_cycles_add_up_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
