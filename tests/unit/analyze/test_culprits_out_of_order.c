#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "culprit_story.h"

/* 0 xor  1 mov (%rax),%rax  2 dec %rsi  3 jne 1  4 ret */
static const uint8_t chase[] = { 0x31, 0xc9, 0x48, 0x8b, 0x00, 0x48, 0xff, 0xce, 0x75, 0xf8, 0xc3 };
/* 0 xor  1 imul %rcx,%rax  2 dec %rsi  3 jne 1  4 ret */
static const uint8_t products[] = { 0x31, 0xc0, 0x48, 0x0f, 0xaf, 0xc1,
				    0x48, 0xff, 0xce, 0x75, 0xf7, 0xc3 };
/* 0 xor  1 to 8 add %rdi to eight registers  9 dec %rsi  10 jne 1  11 ret */
static const uint8_t sums[] = { 0x31, 0xc0, 0x48, 0x01, 0xf8, 0x48, 0x01, 0xfb, 0x48, 0x01, 0xf9,
				0x48, 0x01, 0xfa, 0x49, 0x01, 0xf8, 0x49, 0x01, 0xf9, 0x49, 0x01,
				0xfa, 0x49, 0x01, 0xfb, 0x48, 0xff, 0xce, 0x75, 0xe3, 0xc3 };
/* 0 xor  1 imul (%rdx),%rax  2 mov %rax,8(%rdx)  3 dec %rsi  4 jne 1  5 ret */
static const uint8_t place[] = { 0x31, 0xc0, 0x48, 0x0f, 0xaf, 0x02, 0x48, 0x89,
				 0x42, 0x08, 0x48, 0xff, 0xce, 0x75, 0xf3, 0xc3 };
/* A round of six shifts and sums of %rdi: 0 to 5, 6 test $4,%dil  7 je 9  8 inc %rbx  9 dec %rsi
 * 10 jne 0  11 ret */
static const uint8_t turns[] = { 0x48, 0x89, 0xf9, 0x48, 0xc1, 0xe1, 0x0d, 0x48, 0x31,
				 0xcf, 0x48, 0x89, 0xf9, 0x48, 0xc1, 0xe9, 0x07, 0x48,
				 0x31, 0xcf, 0x40, 0xf6, 0xc7, 0x04, 0x74, 0x03, 0x48,
				 0xff, 0xc3, 0x48, 0xff, 0xce, 0x75, 0xde, 0xc3 };
enum { TURNS_BRANCH = 7, TURNS_ARM, TURNS_JOIN };
/* 0 test %ecx,%ecx  1 je 3  2 mov %rcx,%rdx  3 rep stosb  4 ret */
static const uint8_t fill[] = { 0x85, 0xc9, 0x74, 0x03, 0x48, 0x89, 0xca, 0xf3, 0xaa, 0xc3 };
/* The same with 3 inc %rbx  4 rep stosb */
static const uint8_t fill_behind[] = { 0x85, 0xc9, 0x74, 0x03, 0x48, 0x89, 0xca,
				       0x48, 0xff, 0xc3, 0xf3, 0xaa, 0xc3 };
/* 0 test %ecx,%ecx  1 je 3  2 mov %ecx,%edx  3 in (%dx),%al  4 inc %rbx  5 ret */
static const uint8_t port[] = { 0x85, 0xc9, 0x74, 0x02, 0x89, 0xca, 0xec, 0x48, 0xff, 0xc3, 0xc3 };

static void out_of_order_the_load_itself_waits(void **state)
{
	(void)state;
	struct story story = { chase, sizeof(chase), .stall = { 0 } };
	/* One behind: nearly all of them the load's. */
	const uint64_t samples[INSTRUCTIONS] = { 0, 40, 5000, 60, 0 };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell_clock(&subject, &story, samples);
	/* A cycle of at least three. */
	expect_near(stall_at(&subject, 1)->dynamic_cycles, 5000.0 * PERIOD * 2 / 3, 0.12);
	expect_near(stall_at(&subject, 1)->most_cycles, 5000.0 * PERIOD, 0.01);
	const struct culprit *first = first_culprit(&subject, 1);
	assert_int_equal(first->cause, DYNAMIC_DCACHE);
	assert_int_equal(first->instruction, 1);
	assert_null(find_culprit(&subject, 1, DYNAMIC_ICACHE));
	assert_non_null(find_culprit(&subject, 1, DYNAMIC_CHAIN));
	assert_false(stall_at(&subject, 2)->dynamic_cycles > 0);
	check_sums(&subject);
}

static void expect_no_stall(const struct subject *subject)
{
	for (uint32_t i = 0; i < subject->procedure->cfg.instruction_count; i++)
		if (stall_at(subject, i)->dynamic_cycles != 0 &&
		    !isnan(stall_at(subject, i)->dynamic_cycles))
			fail_msg("instruction %u stalls", i);
	check_sums(subject);
}

/* As many are done at once: that one of them has most of the samples says nothing. */
static void out_of_order_what_need_not_wait_shows_no_stall(void **state)
{
	(void)state;
	static const struct {
		const uint8_t *code;
		size_t size;
		uint64_t samples[INSTRUCTIONS];
	} cases[] = {
		/* a third, and three quarters, of one loop's samples at one sum */
		{ sums, sizeof(sums), { 0, 100, 1500, 700, 100, 900, 300, 100, 700, 50, 50 } },
		{ sums, sizeof(sums), { 0, 50, 4000, 200, 100, 400, 100, 100, 100, 50, 50 } },
		/* a load of which no round needs that of the one before */
		{ sum, sizeof(sum), { 40, 5000, 60, 30, 50, 0 } },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct story story = { cases[i].code, cases[i].size, .stall = { 0 } };
		CLEANUP(subject_release) struct subject subject = { 0 };
		tell_clock(&subject, &story, cases[i].samples);
		assert_true(subject.culprits->known);
		expect_no_stall(&subject);
	}
}

/* 36 xor %eax,%eax  36 dec %rcx  37 jne 0  38 ret: zeroings need no unit, so an eighth of a cycle
 * each; by units the round would take nine, and its one instruction with samples have waited for
 * some. */
static void out_of_order_zeroings_take_no_unit(void **state)
{
	(void)state;
	uint8_t code[36 * 2 + 3 + 2 + 1];
	uint64_t samples[INSTRUCTIONS] = { 0 };
	for (size_t i = 0; i < 36; i++) {
		memcpy(code + 2 * i, (uint8_t[]){ 0x31, 0xc0 }, 2);
		samples[i] = 1;
	}
	memcpy(code + 72, (uint8_t[]){ 0x48, 0xff, 0xc9, 0x75, 0xb3, 0xc3 }, 6);
	samples[37] = 3000;
	struct story story = { code, sizeof(code), .stall = { 0 } };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell_clock(&subject, &story, samples);
	assert_int_equal(subject.procedure->loops.count, 1);
	assert_true(subject.procedure->loop_bounds[0].issue_cycles <
		    6 * subject.procedure->frequencies.blocks[0].value);
	expect_no_stall(&subject);
}

enum { LONGEST_ROUND = 403 };

/* A round takes at least an eighth of its instructions in cycles: of 50 one with nearly all of them
 * has waited. Of eight it may be the only one behind which interrupts come through. */
static void out_of_order_one_with_most_of_a_long_round_has_waited(void **state)
{
	(void)state;
	const struct {
		uint32_t sums;
		uint64_t load, others;
		bool waits;
	} cases[] = { { 400, 20000, 5, true },
		      { 400, 4000, 40, false },
		      { 64, 6000, 5, false },
		      { 64, 6000, 0, false } };
	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		CLEANUP(subject_release) struct subject subject = { 0 };
		/* 0 mov (%rsi,%rcx,8),%rax  then inc of %r8 to %r15 in turn, dec %rcx, jne 0,
		 * ret */
		uint8_t code[4 + LONGEST_ROUND * 3 + 3 + 6 + 1] = { 0x48, 0x8b, 0x04, 0xce };
		uint64_t samples[LONGEST_ROUND + 1] = { 0 };
		uint32_t count = cases[c].sums, end = 4 + 3 * count;
		for (uint32_t i = 0; i < count; i++)
			memcpy(code + 4 + (size_t)3 * i,
			       (uint8_t[]){ 0x49, 0xff, (uint8_t)(0xc0 + i % 8) }, 3);
		memcpy(code + end, (uint8_t[]){ 0x48, 0xff, 0xc9, 0x0f, 0x85 }, 5);
		int32_t back = -(int32_t)(end + 9);
		memcpy(code + end + 5, &back, sizeof(back));
		code[end + 9] = 0xc3;
		struct story story = { code, end + 10, .stall = { 0 } };
		for (uint32_t i = 0; i < count + 3; i++)
			samples[i] = i == 1 ? cases[c].load : cases[c].others;
		tell_clock(&subject, &story, samples);
		assert_int_equal(subject.procedure->loops.count, 1);
		const struct stall *stall = stall_at(&subject, 0);
		if (cases[c].waits) {
			assert_true(stall->dynamic_cycles > 0.4 * 20000 * PERIOD);
			assert_true(stall->dynamic_cycles < 0.8 * 20000 * PERIOD);
			assert_int_equal(first_culprit(&subject, 0)->cause, DYNAMIC_DCACHE);
		} else {
			expect_no_stall(&subject);
			assert_true(stall->most_cycles > 0);
		}
		check_sums(&subject);
	}
}

static void out_of_order_a_chain_of_products_keeps_no_multiplier_busy(void **state)
{
	(void)state;
	struct story story = { products, sizeof(products), .stall = { 0 } };
	const uint64_t samples[INSTRUCTIONS] = { 0, 50, 5000, 60, 0 };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell_clock(&subject, &story, samples);
	expect_only(&subject, 1, DYNAMIC_CHAIN);
	/* How long a cycle is is not known, so neither is how long it waited. */
	const struct culprit *chain = find_culprit(&subject, 1, DYNAMIC_CHAIN);
	assert_true(chain->low > 0);
	assert_true(chain->high > 1.1 * chain->low);
	assert_true(chain->high < stall_at(&subject, 1)->most_cycles);
	check_sums(&subject);
}

/* The branch that goes on with the loop is charged, but is predicted wrong when it ends alone; and
 * what is in the loop is fetched once. */
static void out_of_order_a_long_loop_is_predicted_and_fetched(void **state)
{
	(void)state;
	struct story story = { products, sizeof(products), .stall = { 0 } };
	const uint64_t samples[INSTRUCTIONS] = { 0, 5000, 60, 50, 0 };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell_clock(&subject, &story, samples);
	assert_true(stall_at(&subject, 3)->dynamic_cycles > 0);
	expect_only(&subject, 3, DYNAMIC_CHAIN);
}

/* Each round comes by the same place: it is in the first cache, unless another writes there. */
static void out_of_order_a_place_misses_when_the_loop_begins(void **state)
{
	(void)state;
	struct story story = { place, sizeof(place), .stall = { 0 } };
	const uint64_t samples[INSTRUCTIONS] = { 0, 50, 3000, 2500, 60, 0 };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell_clock(&subject, &story, samples);
	expect_cleared(&subject, 1, DYNAMIC_DCACHE);
	expect_cleared(&subject, 1, DYNAMIC_DTLB);
	expect_cleared(&subject, 2, DYNAMIC_WRITE_BUFFER);
	assert_int_equal(first_culprit(&subject, 1)->cause, DYNAMIC_CHAIN);
	check_sums(&subject);
}

/* What takes longer than anything that the processor does by itself there: another wrote the line.
 */
static void out_of_order_a_place_that_misses_is_shared(void **state)
{
	(void)state;
	const uint64_t offsets[] = { 2, 6, 10, 13 };
	uint32_t image;
	struct profile *profile = profile_of_code("f", FIRST, place, sizeof(place), &image);
	uint32_t cycles = add_event(profile, "cycles", 1);
	uint32_t instructions = add_event(profile, "instructions", 1);
	for (size_t i = 0; i < COUNT_OF(offsets); i++) {
		add_samples(profile, cycles, image, FIRST + offsets[i], i == 0 ? 100000 : 500);
		add_samples(profile, instructions, image, FIRST + offsets[i], 2000);
	}
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "zen5");
	assert_int_equal(subject.procedure->scale, CYCLES_ABSOLUTE);
	expect_cleared(&subject, 1, DYNAMIC_DCACHE);
	assert_int_equal(first_culprit(&subject, 1)->cause, DYNAMIC_SYNCHRONISATION);
	check_sums(&subject);
}

/* Where a cycle may be shorter no chain surely explains a wait: not of a load, nor of a store. */
static void out_of_order_a_place_may_be_shared_at_some_scale(void **state)
{
	(void)state;
	struct story story = { place, sizeof(place), .stall = { 0 } };
	const uint64_t samples[INSTRUCTIONS] = { 0, 50, 3000, 2500, 60, 0 };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell_clock(&subject, &story, samples);
	assert_int_equal(subject.procedure->scale, CYCLES_RELATIVE);
	assert_non_null(find_culprit(&subject, 1, DYNAMIC_SYNCHRONISATION));
	assert_non_null(find_culprit(&subject, 2, DYNAMIC_SYNCHRONISATION));
}

/* 0 nop  1 add (%rbp),%rax  2 dec %rsi  3 jne 1  4 ret; and with 0 mov %rsp,%rbp; 1 of -8(%rsp) */
static const uint8_t by_pointer[] = { 0x90, 0x48, 0x03, 0x45, 0x00, 0x48,
				      0xff, 0xce, 0x75, 0xf7, 0xc3 };
static const uint8_t by_frame[] = { 0x48, 0x89, 0xe5, 0x48, 0x03, 0x45, 0x00,
				    0x48, 0xff, 0xce, 0x75, 0xf7, 0xc3 };
static const uint8_t by_stack[] = { 0x90, 0x48, 0x03, 0x44, 0x24, 0xf8,
				    0x48, 0xff, 0xce, 0x75, 0xf6, 0xc3 };

static void out_of_order_a_stack_is_not_shared(void **state)
{
	(void)state;
	static const struct {
		const uint8_t *code;
		size_t size;
		bool is_shared;
	} cases[] = {
		{ by_pointer, sizeof(by_pointer), true },
		{ by_frame, sizeof(by_frame), false },
		{ by_stack, sizeof(by_stack), false },
	};
	const uint64_t samples[INSTRUCTIONS] = { 0, 50, 3000, 60 };
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct story story = { cases[i].code, cases[i].size, .stall = { 0 } };
		CLEANUP(subject_release) struct subject subject = { 0 };
		tell_clock(&subject, &story, samples);
		assert_true(stall_at(&subject, 1)->most_cycles > 0);
		assert_int_equal(find_culprit(&subject, 1, DYNAMIC_SYNCHRONISATION) != NULL,
				 cases[i].is_shared);
	}
}

/* 0 nop  1 mov %rax,(%rdx)  2 add $4096,%rdx  3 dec %rsi  4 jne 1  5 ret; and 1 of 8(%rsp) */
static const uint8_t store_pages[] = { 0x90, 0x48, 0x89, 0x02, 0x48, 0x81, 0xc2, 0x00, 0x10,
				       0x00, 0x00, 0x48, 0xff, 0xce, 0x75, 0xf1, 0xc3 };
static const uint8_t store_stack[] = { 0x90, 0x48, 0x89, 0x44, 0x24, 0x08, 0x48, 0x81, 0xc2, 0x00,
				       0x10, 0x00, 0x00, 0x48, 0xff, 0xce, 0x75, 0xef, 0xc3 };

/* Its line may wait in the write buffer, its address may not: it could fault. */
static void out_of_order_a_store_waits_for_its_walk(void **state)
{
	(void)state;
	const uint64_t samples[INSTRUCTIONS] = { 0, 50, 3000, 60, 20 };
	struct story pages = { store_pages, sizeof(store_pages), .stall = { 0 } };
	struct story stays = { store_stack, sizeof(store_stack), .stall = { 0 } };
	CLEANUP(subject_release) struct subject subject = { 0 }, control = { 0 };
	tell_clock(&subject, &pages, samples);
	assert_non_null(find_culprit(&subject, 1, DYNAMIC_DTLB));
	assert_int_equal(find_culprit(&subject, 1, DYNAMIC_DTLB)->instruction, 1);
	assert_null(find_culprit(&subject, 1, DYNAMIC_DCACHE));
	tell_clock(&control, &stays, samples);
	assert_true(stall_at(&control, 1)->most_cycles > 0);
	assert_null(find_culprit(&control, 1, DYNAMIC_DTLB));
}

static void out_of_order_what_takes_long_itself_is_not_put_down_to_a_branch(void **state)
{
	(void)state;
	static const struct {
		const uint8_t *code;
		size_t size;
		uint64_t samples[INSTRUCTIONS];
		bool begun; /* it stands behind another of its block */
	} cases[] = {
		{ fill, sizeof(fill), { 10, 10, 10, 6000, 10 }, false },
		{ fill_behind, sizeof(fill_behind), { 10, 10, 10, 10, 6000, 10 }, true },
		{ port, sizeof(port), { 10, 10, 10, 10, 6000, 10 }, false },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct story story = { cases[i].code, cases[i].size, .stall = { 0 } };
		CLEANUP(subject_release) struct subject subject = { 0 };
		tell_clock(&subject, &story, cases[i].samples);
		uint32_t at = cases[i].begun ? 4 : 3;
		assert_int_equal(first_culprit(&subject, at)->cause, DYNAMIC_OTHER);
		assert_int_equal(find_culprit(&subject, at, DYNAMIC_MISPREDICT) == NULL,
				 cases[i].begun);
		/* Nothing needs a result of it. */
		assert_null(find_culprit(&subject, at, DYNAMIC_CHAIN));
	}
}

static void out_of_order_a_division_holds_itself_up(void **state)
{
	(void)state;
	struct story story = { works, sizeof(works), .stall = { 0 } };
	const uint64_t samples[INSTRUCTIONS] = { 5, 4, 7,    4,	 9,  3,	   5,  4,
						 5, 4, 5000, 30, 30, 3000, 20, 10 };
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell_clock(&subject, &story, samples);
	expect_only(&subject, DIVIDE, DYNAMIC_DIVIDE);
	/* A repeated one is interrupted while it is at it. */
	assert_non_null(find_culprit(&subject, COPY, DYNAMIC_OTHER));
}

/* Executions are counted for the procedure alone, so no instruction's cost has an interval. */
static void out_of_order_a_sample_that_is_missing_is_chance(void **state)
{
	(void)state;
	const struct profile_event counted = {
		.name = { "instructions", 12 },
		.unit = { "instructions", 12 },
		.leader = { "cycles", 6 },
	};
	const uint64_t offsets[] = { 0, 3, 6, 10, 13 }, samples[] = { 0, 2, 2, 2, 2 };
	uint32_t image, instructions;
	struct profile *profile = profile_of_code("f", FIRST, sum, sizeof(sum), &image);
	uint32_t cycles = add_event(profile, "cycles", 1);
	assert_int_equal(profile_add_event(profile, &counted, &instructions), 0);
	for (size_t i = 0; i < COUNT_OF(offsets); i++) {
		if (samples[i])
			add_samples(profile, cycles, image, FIRST + offsets[i], samples[i]);
		add_cell(profile, instructions, image, FIRST + offsets[i],
			 (struct cell){ 0, 16 * PERIOD, 0 });
	}
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "zen5");
	assert_int_equal(subject.procedure->scale, CYCLES_ABSOLUTE);
	/* Two samples' worth of cycles were due, of which none may be seen. */
	const struct stall *stall = stall_at(&subject, LOAD);
	expect_near(stall->issue_cycles, 2.0 * PERIOD, 0.15);
	expect_near(stall->noise_cycles, -2.0 * PERIOD, 0.15);
	assert_true(stall->dynamic_cycles == 0);
	check_sums(&subject);
}

/* Executions and cycles are known: a round of ten takes two cycles of eight, and what retires with
 * the first of the next round is charged there. */
static void out_of_order_a_loop_as_fast_as_can_be_shows_no_stall(void **state)
{
	(void)state;
	/* In samples of as many cycles as a round's ten have executions, times two. */
	const uint64_t cycles_at[] = { 0, 0, 0, 0, 1500, 0, 0, 0, 1000, 0 };
	uint32_t image;
	struct profile *profile = profile_of_code("f", FIRST, sums, sizeof(sums), &image);
	uint32_t cycles = add_event(profile, "cycles", 1);
	uint32_t instructions = add_event(profile, "instructions", 1);
	for (size_t i = 0; i < COUNT_OF(cycles_at); i++) {
		uint64_t vaddr = FIRST + 2 + 3 * i;
		if (cycles_at[i])
			add_samples(profile, cycles, image, vaddr, cycles_at[i]);
		add_samples(profile, instructions, image, vaddr, 2000);
	}
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "zen5");
	assert_int_equal(subject.procedure->scale, CYCLES_ABSOLUTE);
	double stalls = 0, gains = 0;
	for (uint32_t i = 1; i <= 10; i++) {
		stalls += fmax(0, stall_at(&subject, i)->dynamic_cycles);
		gains += fmin(0, stall_at(&subject, i)->dynamic_cycles);
	}
	assert_true(stalls < 0.02 * 2500 * PERIOD);
	assert_true(gains > -0.02 * 2500 * PERIOD);
	check_sums(&subject);
}

/* Behind a wrong prediction nothing is there to retire: it is charged to the branch. */
static void out_of_order_a_branch_is_charged_with_the_wait_for_its_way(void **state)
{
	(void)state;
	struct story story = { turns, sizeof(turns), .stall = { 0 } };
	const uint64_t samples[INSTRUCTIONS] = {
		30, 80, 60, 40, 90, 50, 100, 40, 1500, 1600, 40, 0
	};
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell_clock(&subject, &story, samples);
	const struct culprit *wrong = find_culprit(&subject, TURNS_BRANCH, DYNAMIC_MISPREDICT);
	assert_non_null(wrong);
	assert_int_equal(wrong->instruction, TURNS_BRANCH);
	assert_non_null(find_culprit(&subject, TURNS_ARM, DYNAMIC_MISPREDICT));
	check_sums(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(out_of_order_the_load_itself_waits),
		cmocka_unit_test(out_of_order_what_need_not_wait_shows_no_stall),
		cmocka_unit_test(out_of_order_zeroings_take_no_unit),
		cmocka_unit_test(out_of_order_one_with_most_of_a_long_round_has_waited),
		cmocka_unit_test(out_of_order_a_chain_of_products_keeps_no_multiplier_busy),
		cmocka_unit_test(out_of_order_a_long_loop_is_predicted_and_fetched),
		cmocka_unit_test(out_of_order_a_place_misses_when_the_loop_begins),
		cmocka_unit_test(out_of_order_a_place_that_misses_is_shared),
		cmocka_unit_test(out_of_order_a_place_may_be_shared_at_some_scale),
		cmocka_unit_test(out_of_order_a_stack_is_not_shared),
		cmocka_unit_test(out_of_order_a_store_waits_for_its_walk),
		cmocka_unit_test(out_of_order_what_takes_long_itself_is_not_put_down_to_a_branch),
		cmocka_unit_test(out_of_order_a_division_holds_itself_up),
		cmocka_unit_test(out_of_order_a_sample_that_is_missing_is_chance),
		cmocka_unit_test(out_of_order_a_loop_as_fast_as_can_be_shows_no_stall),
		cmocka_unit_test(out_of_order_a_branch_is_charged_with_the_wait_for_its_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
