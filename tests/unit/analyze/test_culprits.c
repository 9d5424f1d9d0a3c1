#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/cycles/culprits_private.h"
#include "annotate_subject.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/stash.h"

#define FIRST	     0x1000u
#define PERIOD	     1000u
#define EXECUTIONS   2e6
#define INSTRUCTIONS 40

/* --- procedures as profiles --- */

static uint32_t add_event(struct profile *profile, const char *name, uint64_t sampled)
{
	const struct profile_event event = {
		.name = span_of_text(name),
		.unit = span_of_text(sampled ? "cycles" : "events"),
		.policy = sampled ? PERIOD_FIXED : PERIOD_NONE,
		.period = sampled ? PERIOD : 0,
		.precise = sampled ? 2 : 0,
		.sampled = sampled,
	};
	uint32_t id;
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	return id;
}

static void add_cell(struct profile *profile, uint32_t event, uint32_t image, uint64_t vaddr,
		     struct cell cell)
{
	const struct profile_frame leaf = { .image = image, .vaddr = vaddr };
	assert_int_equal(profile_add_flat(profile, event, 0, &leaf, &cell), 0);
}

static void add_samples(struct profile *profile, uint32_t event, uint32_t image, uint64_t vaddr,
			uint64_t samples)
{
	add_cell(profile, event, image, vaddr,
		 (struct cell){ samples, samples * PERIOD,
				(unsigned __int128)samples * PERIOD * PERIOD });
}

/* What went on in a procedure, by instruction. */
struct story {
	const uint8_t *code;
	size_t size;
	double executed[INSTRUCTIONS]; /* 0: EXECUTIONS */
	double stall[INSTRUCTIONS];    /* cycles an execution */
	/* An event that was counted exactly, and its counts. */
	const char *event[3];
	double counted[3][INSTRUCTIONS];
	/* One that was sampled 4000 times a second, and so often elsewhere: a million events each.
	 */
	const char *elsewhere;
	uint64_t elsewhere_samples;
};

struct subject {
	struct annotate_subject names;
	struct cycles *cycles;
	struct procedure_cycles *procedure;
	struct culprits *culprits;
};

static void subject_release(struct subject *subject)
{
	culprits_free(subject->culprits);
	procedure_cycles_free(subject->procedure);
	cycles_free(subject->cycles);
	annotate_subject_release(&subject->names);
}

static const struct profile_event clock_event = {
	.name = { "cpu-clock", 9 },
	.unit = { "ns", 2 },
	.clock = EVENT_CLOCK,
	.policy = PERIOD_FIXED,
	.period = PERIOD,
	.sampled = 1,
};

/* Takes the profile over. */
static void subject_init(struct subject *subject, struct profile *profile, const char *pipeline)
{
	const struct cycles_options options = { .pipeline = pipeline };
	struct error err = { 0 };
	annotate_subject_init(&subject->names, profile);
	const struct culprit_events events = culprit_events_of(&subject->names.columns);
	if (cycles_new(subject->names.index, &options, &subject->cycles, &err) < 0 ||
	    cycles_of_procedure(subject->cycles, 0, &subject->procedure, &err) < 0 ||
	    culprits_new(subject->procedure, &subject->names.columns, &events, &subject->culprits,
			 &err) < 0)
		fail_msg("%s", err.text);
}

/* The schedule of the code, without anything that happened. */
static struct procedure_cycles *probe(struct subject *subject, const struct story *story,
				      const char *pipeline)
{
	uint32_t image;
	struct profile *profile = profile_of_code("f", FIRST, story->code, story->size, &image);
	add_samples(profile, add_event(profile, "cycles", 1), image, FIRST, 1);
	subject_init(subject, profile, pipeline);
	return subject->procedure;
}

/* As it would be sampled on a machine that does what its table says, in order. */
static void tell(struct subject *subject, const struct story *story)
{
	CLEANUP(subject_release) struct subject scheduled = { 0 };
	const struct procedure_cycles *plan = probe(&scheduled, story, "generic-in-order");
	uint32_t image;
	struct profile *profile = profile_of_code("f", FIRST, story->code, story->size, &image);
	uint32_t cycles = add_event(profile, "cycles", 1);
	for (uint32_t i = 0; i < plan->cfg.instruction_count; i++) {
		double executed = story->executed[i] > 0 ? story->executed[i] : EXECUTIONS;
		double each = plan->schedule[i].head_cycles + story->stall[i];
		add_samples(profile, cycles, image, plan->cfg.instructions[i].vaddr,
			    (uint64_t)(executed * each / PERIOD));
	}
	for (size_t e = 0; e < COUNT_OF(story->event) && story->event[e]; e++) {
		uint32_t event = add_event(profile, story->event[e], 0);
		for (uint32_t i = 0; i < plan->cfg.instruction_count; i++)
			if (story->counted[e][i] > 0)
				add_cell(profile, event, image, plan->cfg.instructions[i].vaddr,
					 (struct cell){ 0, (uint64_t)story->counted[e][i], 0 });
		/* One that is somewhere: the event is known even where it never happened. */
		add_cell(profile, event, image, 0x100000, (struct cell){ 0, 1, 0 });
	}
	if (story->elsewhere) {
		const struct profile_event event = {
			.name = span_of_text(story->elsewhere),
			.unit = { "events", 6 },
			.policy = PERIOD_FREQUENCY,
			.period = 4000,
			.precise = 2,
			.sampled = 1,
		};
		uint32_t id;
		uint64_t samples = story->elsewhere_samples;
		assert_int_equal(profile_add_event(profile, &event, &id), 0);
		add_cell(profile, id, image, 0x100000,
			 (struct cell){ samples, samples ? samples * 1000000 : 1, 0 });
	}
	subject_init(subject, profile, "generic-in-order");
}

/* Out of order: samples as they stand, `samples` by instruction. */
static void tell_clock(struct subject *subject, const struct story *story, const uint64_t *samples)
{
	CLEANUP(subject_release) struct subject decoded = { 0 };
	const struct procedure_cycles *plan = probe(&decoded, story, "zen5");
	uint32_t image, clock;
	struct profile *profile = profile_of_code("f", FIRST, story->code, story->size, &image);
	assert_int_equal(profile_add_event(profile, &clock_event, &clock), 0);
	for (uint32_t i = 0; i < plan->cfg.instruction_count; i++)
		if (samples[i])
			add_samples(profile, clock, image, plan->cfg.instructions[i].vaddr,
				    samples[i]);
	subject_init(subject, profile, "zen5");
}

/* --- what is found --- */

static const struct stall *stall_at(const struct subject *subject, uint32_t instruction)
{
	return &subject->culprits->stalls[instruction];
}

static const struct culprit *find(const struct subject *subject, uint32_t instruction,
				  enum dynamic_cause cause)
{
	const struct stall *stall = stall_at(subject, instruction);
	for (uint32_t c = 0; c < stall->culprit_count; c++)
		if (subject->culprits->list[stall->culprits + c].cause == cause)
			return &subject->culprits->list[stall->culprits + c];
	return NULL;
}

static const struct culprit *first_at(const struct subject *subject, uint32_t instruction)
{
	assert_true(stall_at(subject, instruction)->culprit_count > 0);
	return &subject->culprits->list[stall_at(subject, instruction)->culprits];
}

static void expect_near(double value, double wanted, double ratio)
{
	if (!(fabs(value - wanted) <= ratio * fabs(wanted)))
		fail_msg("%g is not within %g %% of %g", value, 100 * ratio, wanted);
}

/* Listed there, blamed on that instruction; `high` in cycles an execution. */
static void expect_listed(const struct subject *subject, uint32_t instruction,
			  enum dynamic_cause cause, uint32_t blamed, double high)
{
	const struct culprit *culprit = find(subject, instruction, cause);
	if (!culprit)
		fail_msg("%s is not listed at instruction %u", dynamic_cause_text(cause),
			 instruction);
	assert_int_equal(culprit->instruction, blamed);
	/* Bounds are by the most that executions can be. */
	expect_near(culprit->high, high * EXECUTIONS, 0.12);
}

static void expect_cleared(const struct subject *subject, uint32_t instruction,
			   enum dynamic_cause cause)
{
	if (!(stall_at(subject, instruction)->dynamic_cycles > 0))
		fail_msg("instruction %u did not stall", instruction);
	if (find(subject, instruction, cause))
		fail_msg("%s is listed at instruction %u", dynamic_cause_text(cause), instruction);
}

static void expect_only(const struct subject *subject, uint32_t instruction,
			enum dynamic_cause cause)
{
	for (enum dynamic_cause other = 0; other < DYNAMIC_CAUSES; other++)
		if (other != cause)
			expect_cleared(subject, instruction, other);
	assert_non_null(find(subject, instruction, cause));
}

/* --- the code --- */

/* 0 mov (%rsi),%rax  1 add %rax,%rbx  2 add $8,%rsi  3 dec %rcx  4 jnz 0  5 ret */
static const uint8_t sum[] = { 0x48, 0x8b, 0x06, 0x48, 0x01, 0xc3, 0x48, 0x83,
			       0xc6, 0x08, 0x48, 0xff, 0xc9, 0x75, 0xf1, 0xc3 };
enum { LOAD, ADD_UP, ADVANCE, COUNT_DOWN, AGAIN };
/* 0 test $1,%cl  1 je 6  2 to 5 inc  6 inc %rbx  7 dec %rcx  8 jne 0  9 ret */
static const uint8_t diamond[] = { 0xf6, 0xc1, 0x01, 0x74, 0x0c, 0x48, 0xff, 0xc0, 0x49,
				   0xff, 0xc0, 0x49, 0xff, 0xc1, 0x49, 0xff, 0xc2, 0x48,
				   0xff, 0xc3, 0x48, 0xff, 0xc9, 0x75, 0xe7, 0xc3 };
enum { BRANCH = 1, ARM, JOIN = 6, LEAVE = 9 };
/* 8 inc  0 xor %edx,%edx  1 div %rcx  2 add %rax,%rbx  3 mov %rbx,(%rdi)  4 lock incl (%rsi)
 * 5 rep movsb  6 inc %rax  7 ret: positions behind the first eight */
static const uint8_t works[] = { 0x49, 0xff, 0xc0, 0x49, 0xff, 0xc1, 0x49, 0xff, 0xc2, 0x49, 0xff,
				 0xc3, 0x49, 0xff, 0xc0, 0x49, 0xff, 0xc1, 0x49, 0xff, 0xc2, 0x49,
				 0xff, 0xc3, 0x31, 0xd2, 0x48, 0xf7, 0xf1, 0x48, 0x01, 0xc3, 0x48,
				 0x89, 0x1f, 0xf0, 0xff, 0x06, 0xf3, 0xa4, 0x48, 0xff, 0xc0, 0xc3 };
enum { DIVIDE = 9, NEEDS_QUOTIENT, STORE, LOCKED, COPY, BEHIND_COPY };
/* 0 mov (%rsi),%rax  1 test %ecx,%ecx  2 je 4  3 inc %rdx  4 add %rax,%rbx  5 add %rax,%rbp  6 ret
 */
static const uint8_t across[] = { 0x48, 0x8b, 0x06, 0x85, 0xc9, 0x74, 0x03, 0x48, 0xff,
				  0xc2, 0x48, 0x01, 0xc3, 0x48, 0x01, 0xc5, 0xc3 };
/* 0 imul %rsi,%rax  1 test %ecx,%ecx  2 je 4  3 nop  4 add %rax,%rbx  5 add %rax,%rbp  6 ret */
static const uint8_t product[] = { 0x48, 0x0f, 0xaf, 0xc6, 0x85, 0xc9, 0x74, 0x01,
				   0x90, 0x48, 0x01, 0xc3, 0x48, 0x01, 0xc5, 0xc3 };
/* 0 call elsewhere  1 inc %rbx  2 add %rax,%rbx  3 ret */
static const uint8_t caller[] = { 0xe8, 0x00, 0x02, 0x00, 0x00, 0x48,
				  0xff, 0xc3, 0x48, 0x01, 0xc3, 0xc3 };
/* 0 mov (%rsi),%rsi  1 mov (%rsi),%rax  2 add %rax,%rbx  3 imul %rbx,%rbx  4 je 5  5 ret */
static const uint8_t chained[] = { 0x48, 0x8b, 0x36, 0x48, 0x8b, 0x06, 0x48, 0x01,
				   0xc3, 0x48, 0x0f, 0xaf, 0xdb, 0x74, 0x00, 0xc3 };
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
	assert_int_equal(first_at(&subject, ADD_UP)->cause, DYNAMIC_DCACHE);
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
	expect_near(find(&subject, 3, DYNAMIC_DCACHE)->low,
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
	assert_non_null(find(&subject, 6, DYNAMIC_DTLB));
	assert_int_equal(find(&subject, 6, DYNAMIC_DTLB)->instruction, 0);
}

/* --- bounds --- */

static void what_may_have_happened_any_number_of_times_has_no_bound(void **state)
{
	(void)state;
	const double events[] = { 3 };
	bool by_events;
	assert_true(isinf(culprit_miss_cycles(INFINITY, 38, 38, NULL, NULL, 0, &by_events)));
	assert_true(isinf(culprit_miss_cycles(INFINITY, 0, 120, NULL, NULL, 0, &by_events)));
	assert_true(culprit_miss_cycles(INFINITY, 0, 0, NULL, NULL, 0, &by_events) == 0);
	assert_false(by_events);
	/* Unless it was counted. */
	assert_true(culprit_miss_cycles(INFINITY, 38, 38, events, NULL, 0, &by_events) == 3 * 38);
	assert_true(by_events);
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
	assert_non_null(find(&subject, 21, DYNAMIC_ICACHE));
	assert_non_null(find(&subject, 21, DYNAMIC_MISPREDICT));
	assert_int_equal(find(&subject, 21, DYNAMIC_MISPREDICT)->instruction, 20);
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
	assert_int_equal(first_at(&subject, LOCKED)->cause, DYNAMIC_SYNCHRONISATION);
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

/* --- intervals --- */

/* What may have happened is bounded by the most executions that there can have been. */
static void a_cause_takes_as_much_as_the_most_executions_allow(void **state)
{
	(void)state;
	struct story story = { sum, sizeof(sum), .stall = { [ADD_UP] = 230 } };
	story.executed[5] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	uint32_t block = cfg_block_of(&subject.procedure->cfg, ADD_UP);
	const struct frequency *executed = &subject.procedure->frequencies.blocks[block];
	assert_true(executed->high > 1.005 * executed->value);
	expect_near(find(&subject, ADD_UP, DYNAMIC_DCACHE)->high, 132 * executed->high, 1e-9);
	expect_near(find(&subject, ADD_UP, DYNAMIC_DTLB)->high, 38 * executed->high, 1e-9);
}

static void a_stall_has_the_interval_of_its_cycles(void **state)
{
	(void)state;
	/* One that was charged a little less than its best case: chance explains that. */
	struct story story = { sum, sizeof(sum), .stall = { [ADD_UP] = 30, [COUNT_DOWN] = -0.01 } };
	story.executed[5] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	const struct cycles_cost *cost = &subject.procedure->instructions[ADD_UP];
	const struct stall *stall = stall_at(&subject, ADD_UP);
	double best = stall->issue_cycles + stall->static_cycles;
	assert_true(cost->low < 0.995 * cost->cpi && cost->high > 1.005 * cost->cpi);
	expect_near(stall->dynamic_low, cost->low * cost->executed - best, 1e-9);
	expect_near(stall->dynamic_high, cost->high * cost->executed - best, 1e-9);
	assert_true(stall_at(&subject, COUNT_DOWN)->noise_cycles < 0);
	assert_true(stall_at(&subject, COUNT_DOWN)->dynamic_cycles == 0);
	assert_true(stall_at(&subject, COUNT_DOWN)->dynamic_low < 0);
	assert_true(stall_at(&subject, COUNT_DOWN)->dynamic_high > 0);
}

/* --- events --- */

static void events_bound_what_a_cause_can_take(void **state)
{
	(void)state;
	struct story story = {
		sum,
		sizeof(sum),
		.stall = { [ADD_UP] = 30 },
		.event = { "D1mr", "DLmr" },
		.counted = { { [LOAD] = EXECUTIONS / 2 }, { [LOAD] = EXECUTIONS / 10 } },
	};
	story.executed[5] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, ADD_UP, DYNAMIC_DCACHE, LOAD, 0.5 * 12 + 0.1 * 120);
	assert_true(find(&subject, ADD_UP, DYNAMIC_DCACHE)->bound_by_events);
	/* Where no line is missing no translation is. */
	expect_listed(&subject, ADD_UP, DYNAMIC_DTLB, LOAD, 0.5 * 38);
}

static void an_event_that_never_happened_clears_its_cause(void **state)
{
	(void)state;
	struct story story = {
		diamond,
		sizeof(diamond),
		.stall = { [ARM] = 5 },
		.event = { "Bcm", "I1mr" },
	};
	for (int i = ARM; i < JOIN; i++)
		story.executed[i] = EXECUTIONS / 2;
	story.executed[LEAVE] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_cleared(&subject, ARM, DYNAMIC_MISPREDICT);
	assert_int_equal(stall_at(&subject, ARM)->culprit_count, 0);
	CLEANUP(subject_release) struct subject load = { 0 };
	struct story other = { sum, sizeof(sum), .stall = { [ADD_UP] = 30 } };
	other.event[0] = "dTLB-load-misses";
	other.executed[5] = 1;
	tell(&load, &other);
	expect_only(&load, ADD_UP, DYNAMIC_DCACHE);
}

/* Where an event has no samples, some may be missing, of as many events as others stand for. */
static void samples_that_are_missing_weigh_what_others_do(void **state)
{
	(void)state;
	struct story story = { diamond, sizeof(diamond), .stall = { [ARM] = 20 } };
	for (int i = ARM; i < JOIN; i++)
		story.executed[i] = EXECUTIONS / 2;
	story.executed[LEAVE] = 1;
	story.elsewhere = "branch-misses";
	for (uint64_t samples = 0; samples <= 10; samples += 10) {
		CLEANUP(subject_release) struct subject subject = { 0 };
		story.elsewhere_samples = samples;
		tell(&subject, &story);
		expect_listed(&subject, ARM, DYNAMIC_MISPREDICT, BRANCH, 4);
		assert_int_equal(find(&subject, ARM, DYNAMIC_MISPREDICT)->bound_by_events,
				 samples > 0);
	}
}

/* --- static stalls, sums --- */

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

static void check_sums(const struct subject *subject)
{
	const struct procedure_cycles *procedure = subject->procedure;
	for (uint32_t i = 0; i < procedure->cfg.instruction_count; i++) {
		const struct stall *stall = stall_at(subject, i);
		double cycles = procedure->instructions[i].cycles, low = 0, high = 0;
		if (isnan(stall->issue_cycles)) {
			assert_true(isnan(procedure->instructions[i].best_cycles));
			continue;
		}
		double sum_of_parts = stall->issue_cycles + stall->static_cycles +
				      stall->dynamic_cycles + stall->noise_cycles;
		assert_true(fabs(sum_of_parts - cycles) <= 1e-9 * (cycles + PERIOD));
		assert_true(stall->issue_cycles >= 0 && stall->static_cycles >= 0);
		for (uint32_t c = 0; c < stall->culprit_count; c++) {
			const struct culprit *culprit =
				&subject->culprits->list[stall->culprits + c];
			assert_true(culprit->low >= 0 && culprit->low <= culprit->high);
			assert_true(culprit->high <= stall->most_cycles * (1 + 1e-9));
			assert_true(culprit->instruction == CULPRIT_NO_INSTRUCTION ||
				    culprit->instruction < procedure->cfg.instruction_count);
			low += culprit->low;
			high += culprit->high;
		}
		double left = fmax(0, stall->dynamic_cycles);
		assert_true(low + stall->unexplained_cycles <= left * (1 + 1e-9));
		assert_true(high + stall->unexplained_cycles >= left * (1 - 1e-9));
	}
}

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

/* --- other units than cycles, in order --- */

/* Executions are counted and time is in ns, half of one a cycle. */
static void best_cases_are_in_the_unit_of_time(void **state)
{
	(void)state;
	struct story story = { sum, sizeof(sum), .stall = { 0 } };
	CLEANUP(subject_release) struct subject scheduled = { 0 };
	const struct procedure_cycles *plan = probe(&scheduled, &story, "generic-in-order");
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

/* --- out of order --- */

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
	const struct culprit *first = first_at(&subject, 1);
	assert_int_equal(first->cause, DYNAMIC_DCACHE);
	assert_int_equal(first->instruction, 1);
	assert_null(find(&subject, 1, DYNAMIC_ICACHE));
	assert_non_null(find(&subject, 1, DYNAMIC_CHAIN));
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
			assert_int_equal(first_at(&subject, 0)->cause, DYNAMIC_DCACHE);
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
	const struct culprit *chain = find(&subject, 1, DYNAMIC_CHAIN);
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
	assert_int_equal(first_at(&subject, 1)->cause, DYNAMIC_CHAIN);
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
	assert_int_equal(first_at(&subject, 1)->cause, DYNAMIC_SYNCHRONISATION);
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
	assert_non_null(find(&subject, 1, DYNAMIC_SYNCHRONISATION));
	assert_non_null(find(&subject, 2, DYNAMIC_SYNCHRONISATION));
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
		assert_int_equal(find(&subject, 1, DYNAMIC_SYNCHRONISATION) != NULL,
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
	assert_non_null(find(&subject, 1, DYNAMIC_DTLB));
	assert_int_equal(find(&subject, 1, DYNAMIC_DTLB)->instruction, 1);
	assert_null(find(&subject, 1, DYNAMIC_DCACHE));
	tell_clock(&control, &stays, samples);
	assert_true(stall_at(&control, 1)->most_cycles > 0);
	assert_null(find(&control, 1, DYNAMIC_DTLB));
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
		assert_int_equal(first_at(&subject, at)->cause, DYNAMIC_OTHER);
		assert_int_equal(find(&subject, at, DYNAMIC_MISPREDICT) == NULL, cases[i].begun);
		/* Nothing needs a result of it. */
		assert_null(find(&subject, at, DYNAMIC_CHAIN));
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
	assert_non_null(find(&subject, COPY, DYNAMIC_OTHER));
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
	const struct culprit *wrong = find(&subject, TURNS_BRANCH, DYNAMIC_MISPREDICT);
	assert_non_null(wrong);
	assert_int_equal(wrong->instruction, TURNS_BRANCH);
	assert_non_null(find(&subject, TURNS_ARM, DYNAMIC_MISPREDICT));
	check_sums(&subject);
}

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
		cmocka_unit_test(what_may_have_happened_any_number_of_times_has_no_bound),
		cmocka_unit_test(only_who_reaches_a_new_line_waits_to_be_fetched),
		cmocka_unit_test(a_loop_that_fits_is_fetched_once),
		cmocka_unit_test(a_branch_is_blamed_on_both_its_ways_for_what_it_can_cost),
		cmocka_unit_test(a_branch_that_goes_one_way_is_blamed_when_nothing_else_can_be),
		cmocka_unit_test(that_it_may_have_been_fetched_late_clears_no_branch),
		cmocka_unit_test(behind_a_call_the_return_may_have_gone_wrong),
		cmocka_unit_test(work_of_varying_length_is_blamed),
		cmocka_unit_test(a_product_of_an_earlier_block_may_be_under_way),
		cmocka_unit_test(a_cause_takes_as_much_as_the_most_executions_allow),
		cmocka_unit_test(a_stall_has_the_interval_of_its_cycles),
		cmocka_unit_test(events_bound_what_a_cause_can_take),
		cmocka_unit_test(an_event_that_never_happened_clears_its_cause),
		cmocka_unit_test(samples_that_are_missing_weigh_what_others_do),
		cmocka_unit_test(a_schedule_without_misses_explains_static_stalls),
		cmocka_unit_test(a_block_begins_behind_each_of_those_before_it),
		cmocka_unit_test(a_static_stall_is_of_the_way_that_waits_most),
		cmocka_unit_test(parts_add_up_whatever_the_code),
		cmocka_unit_test(best_cases_are_in_the_unit_of_time),
		cmocka_unit_test(parts_of_relative_cycles_add_up_in_order),
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
		cmocka_unit_test(every_cause_has_a_name_a_key_and_a_letter_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
