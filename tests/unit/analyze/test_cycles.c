#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/cycles/cycles.h"
#include "annotate_subject.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/stash.h"

#define FIRST  0x1000u
#define PERIOD 1000u

/*
 * A loop that adds up an array:
 *   0 mov (%rsi),%rax   3 add %rax,%rbx   6 add $8,%rsi   10 dec %rcx   13 jnz 0   15 ret
 */
static const uint8_t loop[] = { 0x48, 0x8b, 0x06, 0x48, 0x01, 0xc3, 0x48, 0x83,
				0xc6, 0x08, 0x48, 0xff, 0xc9, 0x75, 0xf1, 0xc3 };
static const uint64_t offsets[] = { 0, 3, 6, 10, 13, 15 };
enum { LOAD, ADD_UP, ADVANCE, COUNT_DOWN, AGAIN, RETURN, INSTRUCTIONS };

static const struct profile_event cycles_event = {
	.name = { "cycles", 6 },
	.unit = { "cycles", 6 },
	.policy = PERIOD_FIXED,
	.period = PERIOD,
	.precise = 2,
	.sampled = 1,
};
static const struct profile_event clock_event = {
	.name = { "cpu-clock", 9 },
	.unit = { "ns", 2 },
	.clock = EVENT_CLOCK,
	.policy = PERIOD_FIXED,
	.period = PERIOD,
	.sampled = 1,
};
static const struct profile_event instructions_event = {
	.name = { "instructions", 12 },
	.unit = { "instructions", 12 },
	.policy = PERIOD_FIXED,
	.period = PERIOD,
	.precise = 2,
	.sampled = 1,
};
static const struct profile_event instructions_counted = {
	.name = { "instructions", 12 },
	.unit = { "instructions", 12 },
	.leader = { "cycles", 6 },
};

static uint32_t add_event(struct profile *profile, const struct profile_event *event)
{
	uint32_t id;
	assert_int_equal(profile_add_event(profile, event, &id), 0);
	return id;
}

static void add_samples(struct profile *profile, uint32_t event, uint32_t image, uint64_t offset,
			uint64_t samples, uint64_t weight)
{
	const struct profile_frame leaf = { .image = image, .vaddr = FIRST + offset };
	const struct cell cell = { samples, (samples ? samples : 1) * weight,
				   (unsigned __int128)samples * weight * weight };
	assert_int_equal(profile_add_flat(profile, event, 0, &leaf, &cell), 0);
}

struct subject {
	struct annotate_subject names;
	struct cycles *cycles;
};

static void subject_release(struct subject *subject)
{
	cycles_free(subject->cycles);
	annotate_subject_release(&subject->names);
}

/* Takes the profile over. */
static void subject_init(struct subject *subject, struct profile *profile, const char *pipeline)
{
	const struct cycles_options options = { .pipeline = pipeline };
	struct error err = { 0 };
	annotate_subject_init(&subject->names, profile);
	if (cycles_new(subject->names.index, &options, &subject->cycles, &err) < 0)
		fail_msg("%s", err.text);
}

static struct procedure_cycles *cycles_at(const struct subject *subject, size_t position)
{
	struct procedure_cycles *found = NULL;
	struct error err = { 0 };
	if (cycles_of_procedure(subject->cycles, position, &found, &err) < 0)
		fail_msg("%s", err.text);
	return found;
}

static void expect_near(double value, double wanted, double ratio)
{
	if (!(fabs(value - wanted) <= ratio * fabs(wanted)))
		fail_msg("%g is not within %g %% of %g", value, 100 * ratio, wanted);
}

/* In order: what each instruction waits, and a stall at one, give executions and CPI. */
static void a_stall_in_order_is_told_from_executions(void **state)
{
	(void)state;
	uint32_t image;
	struct profile *profile = profile_of_code("sum", FIRST, loop, sizeof(loop), &image);
	uint32_t event = add_event(profile, &cycles_event);
	/* The table's schedule in a loop: load 1, its user 2 more, then two by two. */
	CLEANUP(subject_release) struct subject subject = { 0 };
	CLEANUP(subject_release) struct subject probe = { 0 };
	double head[INSTRUCTIONS];
	uint32_t other;
	struct profile *empty = profile_of_code("sum", FIRST, loop, sizeof(loop), &other);
	add_samples(empty, add_event(empty, &cycles_event), other, 0, 1, PERIOD);
	subject_init(&probe, empty, "generic-in-order");
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *scheduled = cycles_at(&probe, 0);
	for (int i = 0; i < INSTRUCTIONS; i++)
		head[i] = scheduled->schedule[i].head_cycles;
	assert_true(head[LOAD] >= 1 && head[ADD_UP] > 1);

	const double executions = 2e6, stall = 40;
	for (int i = 0; i < RETURN; i++) {
		double each = head[i] + (i == ADD_UP ? stall : 0);
		add_samples(profile, event, image, offsets[i],
			    (uint64_t)(executions * each / PERIOD), PERIOD);
	}
	subject_init(&subject, profile, "generic-in-order");
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = cycles_at(&subject, 0);
	assert_int_equal(cycles_events(subject.cycles)->model, FREQUENCY_CYCLES_IN_ORDER);
	assert_int_equal(found->scale, CYCLES_ABSOLUTE);
	assert_int_equal(found->cfg.graph.block_count, 2);
	expect_near(found->frequencies.blocks[0].value, executions, 0.02);
	expect_near(found->instructions[ADD_UP].cpi, head[ADD_UP] + stall, 0.03);
	expect_near(found->instructions[ADD_UP].best_cpi, head[ADD_UP], 1e-9);
	assert_true(found->instructions[ADD_UP].low < head[ADD_UP] + stall);
	assert_true(found->instructions[ADD_UP].high > head[ADD_UP] + stall);
	double best = 0;
	for (int i = 0; i < RETURN; i++)
		best += head[i];
	expect_near(found->blocks[0].best_cpi, best / RETURN, 1e-9);
	expect_near(found->blocks[0].cpi, (best + stall) / RETURN, 0.03);
	assert_int_equal(found->loops.count, 1);
	expect_near(found->loop_costs[0].cycles, found->blocks[0].cycles, 1e-9);
	assert_true(found->cycle == 1);
}

/* Out of order a clock's samples stand one behind the instruction that they are charged to. */
static void a_late_sample_is_charged_to_who_waited(void **state)
{
	(void)state;
	uint32_t image;
	struct profile *profile = profile_of_code("sum", FIRST, loop, sizeof(loop), &image);
	uint32_t event = add_event(profile, &clock_event);
	add_samples(profile, event, image, offsets[ADD_UP], 900, PERIOD);
	add_samples(profile, event, image, offsets[ADVANCE], 50, PERIOD);
	add_samples(profile, event, image, offsets[LOAD], 60, PERIOD);
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "zen5");
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = cycles_at(&subject, 0);
	const struct cycles_events *events = cycles_events(subject.cycles);
	assert_int_equal(events->model, FREQUENCY_CYCLES_OUT_OF_ORDER);
	assert_int_equal(events->skid, 1);
	assert_true(events->skid_assumed);
	assert_int_equal(found->scale, CYCLES_RELATIVE);
	assert_true(found->samples[ADD_UP] == 900);
	expect_near(found->instructions[ADD_UP].samples, 50, 1e-9);
	/* The first instruction's own samples come from the jump back, but for what enters anew. */
	assert_true(found->instructions[AGAIN].samples > 55);
	assert_true(found->instructions[AGAIN].samples <= 60);
	expect_near(found->instructions[LOAD].samples + found->instructions[AGAIN].samples, 960,
		    1e-9);
	expect_near(found->whole.samples, 1010, 1e-9);
	expect_near(found->whole.cpi, 1, 1e-9);
	/* One loop with nearly all samples: a cycle is at most what its least cycles take. Each round
	 * adds to the sum of the one before. */
	const struct cycles_bounds *bounds = &found->loop_bounds[0];
	expect_near(bounds->chain_cycles, found->frequencies.blocks[0].value, 0.3);
	assert_true(bounds->chain_cycles > bounds->issue_cycles);
	expect_near(bounds->chain_cycles * found->cycle, found->loop_costs[0].cycles, 0.01);
	assert_true(found->frequencies.is_relative);
	assert_true(isnan(found->whole.low));
}

/* "rep stosb" is interrupted itself; "stosb" is not. */
static void samples_at_a_repeated_instruction_stay(void **state)
{
	(void)state;
	/* 0 xor %eax,%eax; 2 rep stosb; 4 nop; 5 stosb; 6 ret */
	static const uint8_t code[] = { 0x31, 0xc0, 0xf3, 0xaa, 0x90, 0xaa, 0xc3 };
	uint32_t image;
	struct profile *profile = profile_of_code("sum", FIRST, code, sizeof(code), &image);
	uint32_t event = add_event(profile, &clock_event);
	add_samples(profile, event, image, 2, 500, PERIOD);
	add_samples(profile, event, image, 5, 30, PERIOD);
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "zen5");
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = cycles_at(&subject, 0);
	expect_near(found->instructions[1].samples, 500, 1e-9);
	expect_near(found->instructions[2].samples, 30, 1e-9);
	assert_true(found->instructions[0].samples == 0);
	assert_true(found->instructions[3].samples == 0);
}

/* What was seen of branches is heard, unless it is not wanted. */
static void branches_that_were_seen_move_executions(void **state)
{
	(void)state;
	/* test; je 6; nop; nop; ret: the nops run in one of two, by samples */
	static const uint8_t code[] = { 0x85, 0xff, 0x74, 0x02, 0x90, 0x90, 0xc3 };
	double executions[2];
	for (int aside = 0; aside < 2; aside++) {
		uint32_t image;
		struct profile *profile = profile_of_code("sum", FIRST, code, sizeof(code), &image);
		uint32_t event = add_event(profile, &clock_event);
		for (uint64_t at = 0; at < sizeof(code); at++)
			if (at != 1 && at != 3)
				add_samples(profile, event, image, at,
					    at == 4 || at == 5 ? 100 : 200, PERIOD);
		const struct profile_frame branch = { .image = image, .vaddr = FIRST + 2 };
		const struct profile_frame ways[] = { { .image = image, .vaddr = FIRST + 4 },
						      { .image = image, .vaddr = FIRST + 6 } };
		assert_int_equal(profile_add_edge(profile, event, 0, ORIGIN_INTERPRETED, &branch,
						  &ways[0], 20, 0),
				 0);
		assert_int_equal(profile_add_edge(profile, event, 0, ORIGIN_STEPPED, &branch,
						  &ways[1], 980, 0),
				 0);
		CLEANUP(annotate_subject_release) struct annotate_subject names = { 0 };
		CLEANUP(cycles_freep) struct cycles *cycles = NULL;
		CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = NULL;
		const struct cycles_options options = { .pipeline = "zen5", .no_evidence = aside };
		annotate_subject_init(&names, profile);
		assert_int_equal(cycles_new(names.index, &options, &cycles, NULL), 0);
		assert_int_equal(cycles_of_procedure(cycles, 0, &found, NULL), 0);
		assert_int_equal(found->cfg.graph.block_count, 3);
		assert_true((found->evidence == NULL) == aside);
		executions[aside] =
			found->frequencies.blocks[1].value / found->frequencies.blocks[0].value;
	}
	expect_near(executions[1], 0.5, 0.1);
	assert_true(executions[0] < 0.25);
}

static double executions_at(const struct subject *subject, const char *name,
			    enum cycles_scale scale)
{
	for (size_t i = 0; i < subject->names.index->count; i++) {
		if (strcmp(subject->names.index->procedures[i].procedure->name, name) != 0)
			continue;
		CLEANUP(procedure_cycles_freep)
		struct procedure_cycles *found = cycles_at(subject, i);
		assert_int_equal(found->scale, scale);
		/* beside those of the procedure of most samples */
		double above = scale == CYCLES_PROGRAM && strcmp(name, "cheap") == 0 ? 1.6 : 1;
		assert_true(found->frequencies.blocks[0].high >
			    above * found->frequencies.blocks[0].value);
		return found->frequencies.blocks[0].value;
	}
	fail_msg("no procedure '%s'", name);
	return NAN;
}

/* A loop that only calls: what it calls takes a thirtieth of the time and runs as often. */
static void calls_make_procedures_compare(void **state)
{
	(void)state;
	/* call 0x1000 on, or call *%rax and a nop; test; jne 0; ret */
	static const uint8_t direct[] = { 0xe8, 0xfb, 0x0f, 0, 0, 0x85, 0xff, 0x75, 0xf7, 0xc3 };
	static const uint8_t indirect[] = {
		0xff, 0xd0, 0x0f, 0x1f, 0, 0x85, 0xff, 0x75, 0xf7, 0xc3
	};
	static const uint8_t callee[] = { 0x90, 0x90, 0xc3 };
	for (int round = 0; round < 3; round++) {
		bool is_direct = round != 1, seen = round < 2;
		uint32_t image;
		struct error err = { 0 };
		struct profile *profile = profile_of_code(
			"loop", FIRST, is_direct ? direct : indirect, sizeof(direct), &image);
		add_function(profile, image, "cheap", FIRST + 0x1000, sizeof(callee),
			     (struct span){ (const char *)callee, sizeof(callee) });
		uint32_t event = add_event(profile, &clock_event);
		for (int i = 0; i < 3; i++) {
			add_samples(profile, event, image, (const uint64_t[]){ 0, 5, 7 }[i], 3000,
				    PERIOD);
			add_samples(profile, event, image, (uint64_t)(0x1000 + i), 100, PERIOD);
		}
		const struct profile_frame branch = { .image = image, .vaddr = FIRST + 7 };
		const struct profile_frame call = { .image = image, .vaddr = FIRST };
		const struct profile_frame start = { .image = image, .vaddr = FIRST };
		const struct profile_frame cheap = { .image = image, .vaddr = FIRST + 0x1000 };
		if (seen)
			assert_int_equal(profile_add_edge(profile, event, 0, ORIGIN_INTERPRETED,
							  &branch, &start, 50, 0),
					 0);
		if (!is_direct)
			assert_int_equal(profile_add_edge(profile, event, 0, ORIGIN_INTERPRETED,
							  &call, &cheap, 50, 0),
					 0);
		CLEANUP(subject_release) struct subject subject = { 0 };
		subject_init(&subject, profile, "zen5");
		double before = executions_at(&subject, "cheap", CYCLES_RELATIVE) /
				executions_at(&subject, "loop", CYCLES_RELATIVE);
		assert_int_equal(cycles_join_calls(subject.cycles, &err), 0);
		enum cycles_scale scale = seen ? CYCLES_PROGRAM : CYCLES_RELATIVE;
		double after = executions_at(&subject, "cheap", scale) /
			       executions_at(&subject, "loop", scale);
		expect_near(1 / before, 30, 0.4);
		expect_near(after, seen ? 1 : before, seen ? 0.3 : 1e-9);
	}
}

/* One sample is in one block, which then has all of them: that does not make it sure. */
static void few_samples_are_of_low_confidence(void **state)
{
	static const uint64_t counts[] = { 1, 24, 25, 5000 };
	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint32_t image;
		struct profile *profile = profile_of_code("sum", FIRST, loop, sizeof(loop), &image);
		uint32_t event = add_event(profile, &clock_event);
		add_samples(profile, event, image, offsets[LOAD], counts[i], PERIOD);
		CLEANUP(subject_release) struct subject subject = { 0 };
		subject_init(&subject, profile, "zen5");
		CLEANUP(procedure_cycles_freep)
		struct procedure_cycles *found = cycles_at(&subject, 0);
		enum frequency_confidence most = FREQUENCY_LOW;
		for (uint32_t b = 0; b < found->cfg.graph.block_count; b++)
			if (found->frequencies.blocks[b].confidence > most)
				most = found->frequencies.blocks[b].confidence;
		assert_int_equal(most, counts[i] < 25 ? FREQUENCY_LOW : FREQUENCY_MEDIUM);
	}
}

/* Instructions counted beside cycles make a procedure's executions absolute. */
static void counted_instructions_make_a_procedure_absolute(void **state)
{
	(void)state;
	uint32_t image;
	struct profile *profile = profile_of_code("sum", FIRST, loop, sizeof(loop), &image);
	uint32_t time = add_event(profile, &cycles_event);
	uint32_t instructions = add_event(profile, &instructions_counted);
	for (int i = 0; i < RETURN; i++) {
		add_samples(profile, time, image, offsets[i], 500, PERIOD);
		add_samples(profile, instructions, image, offsets[i], 0, 500 * 4 * PERIOD);
	}
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "zen5");
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = cycles_at(&subject, 0);
	assert_int_equal(found->scale, CYCLES_ABSOLUTE);
	expect_near(found->whole.executed, 5 * 500 * 4 * PERIOD, 1e-6);
	expect_near(found->whole.cpi, 0.25, 1e-6);
	assert_true(found->cycle == 1);
	expect_near(found->instructions[LOAD].best_cpi, 1.0 / found->pipeline->issue_width, 1e-9);
}

static void sampled_instructions_give_cycles_of_each(void **state)
{
	(void)state;
	uint32_t image;
	struct profile *profile = profile_of_code("sum", FIRST, loop, sizeof(loop), &image);
	uint32_t time = add_event(profile, &cycles_event);
	uint32_t instructions = add_event(profile, &instructions_event);
	for (int i = 0; i < RETURN; i++)
		add_samples(profile, instructions, image, offsets[i], 1000, PERIOD);
	add_samples(profile, time, image, offsets[LOAD], 3000, PERIOD);
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "zen5");
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = cycles_at(&subject, 0);
	assert_int_equal(cycles_events(subject.cycles)->model, FREQUENCY_EXECUTIONS);
	expect_near(found->frequencies.blocks[0].value, 1000 * PERIOD, 0.01);
	expect_near(found->instructions[LOAD].cpi, 3, 0.01);
	expect_near(found->instructions[ADVANCE].cpi, 0, 0);
	assert_true(found->instructions[ADVANCE].low == 0 && found->instructions[ADVANCE].high > 0);
	assert_true(found->instructions[LOAD].low < 3 && found->instructions[LOAD].high > 3);
	assert_true(found->instructions[LOAD].high - found->instructions[LOAD].low < 1);
}

/* Branch stacks count executions; with the cycles of their runs also in what unit. */
static void branch_stacks_are_counted(void **state)
{
	(void)state;
	for (uint64_t told = 0; told < 2; told++) {
		uint32_t image;
		struct profile *profile = profile_of_code("sum", FIRST, loop, sizeof(loop), &image);
		uint32_t event = add_event(profile, &cycles_event);
		for (int i = 0; i < RETURN; i++)
			add_samples(profile, event, image, offsets[i], 100, PERIOD);
		const struct profile_frame from = { .image = image,
						    .vaddr = FIRST + offsets[AGAIN] };
		const struct profile_frame to = { .image = image, .vaddr = FIRST };
		assert_int_equal(
			profile_add_edge(profile, event, 0, ORIGIN_IMPORTED, &from, &to, 990, 0),
			0);
		const uint64_t last[] = { offsets[AGAIN], offsets[RETURN] };
		const uint64_t counts[] = { 990, 10 };
		struct table *ranges = profile->tables[PROFILE_RANGE];
		for (int r = 0; r < 2; r++) {
			const uint64_t keys[] = {
				[RANGE_EVENT] = event,
				[RANGE_CONTEXT] = 0,
				[RANGE_ORIGIN] = ORIGIN_IMPORTED,
				[RANGE_IMAGE] = image,
				[RANGE_FIRST] = FIRST,
				[RANGE_LAST] = FIRST + last[r],
			};
			/* two cycles an instruction */
			uint64_t cycles = told * counts[r] * (r ? 12 : 10);
			const uint64_t values[] = { counts[r], cycles, cycles, 0 };
			assert_int_equal(table_add(ranges, keys, values, NULL), 0);
		}
		CLEANUP(subject_release) struct subject subject = { 0 };
		subject_init(&subject, profile, "zen5");
		CLEANUP(procedure_cycles_freep)
		struct procedure_cycles *found = cycles_at(&subject, 0);
		assert_int_equal(found->model, FREQUENCY_COUNTS);
		assert_int_equal(found->scale, told ? CYCLES_ABSOLUTE : CYCLES_RELATIVE);
		/* ten were seen to leave */
		expect_near(found->frequencies.blocks[1].value / found->frequencies.blocks[0].value,
			    0.01, 0.4);
		expect_near(found->whole.cpi, told ? 2 : 1, 0.01);
	}
}

/* test, jne to the cold part, nop, ret; the cold part jumps back. It is counted in its function
 * alone. */
static void a_cold_part_is_counted_in_its_function_alone(void **state)
{
	(void)state;
	static const uint8_t hot[] = { 0x85, 0xff, 0x0f, 0x85,
				       0xf8, 0x0f, 0x00, 0x00, /* jne +0x1000 */
				       0x90, 0xc3 };
	static const uint8_t cold[] = { 0xff, 0xc7, 0xe9, 0x01, 0xf0, 0xff, 0xff }; /* jmp 0x1008 */
	uint32_t image;
	struct buffer content = { 0 };
	struct profile *profile = profile_of_code("sum", FIRST, hot, sizeof(hot), &image);
	const struct function_record record = { .name = span_of_text("sum.cold"),
						.flags = FUNCTION_COLD,
						.parent = FIRST };
	record_put_function(&content, 0x2000, &record);
	add_record(profile, image, RECORD_FUNCTION, 0x2000, 0x2000 + sizeof(cold) - 1, &content);
	record_put_code(&content, (struct span){ (const char *)cold, sizeof(cold) });
	add_record(profile, image, RECORD_CODE, 0x2000, 0x2000 + sizeof(cold) - 1, &content);
	uint32_t event = add_event(profile, &clock_event);
	add_samples(profile, event, image, 0, 70, PERIOD);
	add_samples(profile, event, image, 0x1002, 30, PERIOD);
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, "zen5");
	assert_int_equal(subject.names.index->count, 2);
	assert_false(cycles_is_counted_elsewhere(subject.cycles, 0));
	assert_true(cycles_is_counted_elsewhere(subject.cycles, 1));
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = cycles_at(&subject, 0);
	assert_int_equal(found->cfg.part_count, 2);
	assert_ptr_equal(found->cold, &subject.names.index->procedures[1]);
	expect_near(found->whole.samples, 100, 1e-9);
	assert_true(found->elsewhere_samples == 0);
}

/* Whatever the code: no sample is lost, and sums are sums. */
static void no_sample_is_lost_whatever_the_code(void **state)
{
	(void)state;
	static const char *const pipelines[] = { "zen5", "generic-in-order" };
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct random_state random = random_seed(seed);
		uint8_t code[200];
		uint32_t image;
		uint64_t samples = 0;
		for (size_t i = 0; i < sizeof(code); i++) /* a third are short jumps */
			code[i] = random_below(&random, 3)
					  ? (uint8_t)random_u64(&random)
					  : (uint8_t)(0x70 + random_below(&random, 16));
		struct profile *profile = profile_of_code("sum", FIRST, code, sizeof(code), &image);
		uint32_t event = add_event(profile, seed % 3 ? &clock_event : &cycles_event);
		for (int i = 0; i < 60; i++) {
			uint64_t count = 1 + random_below(&random, 50);
			samples += count;
			add_samples(profile, event, image, random_below(&random, sizeof(code)),
				    count, PERIOD / 2 + random_below(&random, PERIOD));
		}
		CLEANUP(subject_release) struct subject subject = { 0 };
		subject_init(&subject, profile, pipelines[seed % COUNT_OF(pipelines)]);
		CLEANUP(procedure_cycles_freep)
		struct procedure_cycles *found = cycles_at(&subject, 0);
		double at = 0, charged = 0, cycles = 0, blocks = 0;
		for (uint32_t i = 0; i < found->cfg.instruction_count; i++) {
			at += found->samples[i];
			charged += found->instructions[i].samples;
			cycles += found->instructions[i].cycles;
			assert_true(found->instructions[i].samples >= 0);
		}
		for (uint32_t b = 0; b < found->cfg.graph.block_count; b++)
			blocks += found->blocks[b].cycles;
		const struct cell *cell = &found->procedure->cells[0];
		expect_near(at + found->elsewhere_samples, (double)samples, 1e-9);
		expect_near(charged, at, 1e-9);
		expect_near(cycles + found->elsewhere_cycles, (double)cell->estimate, 1e-9);
		expect_near(blocks, cycles, 1e-9);
		expect_near(found->whole.cycles, cycles, 1e-9);
		for (uint32_t l = 0; l < found->loops.count; l++)
			assert_true(found->loop_costs[l].cycles <=
				    found->whole.cycles * (1 + 1e-9));
	}
}

static void what_is_not_known_is_said(void **state)
{
	(void)state;
	struct error err = { 0 };
	struct cycles *cycles = NULL;
	struct procedure_cycles *found = NULL;
	uint32_t image, name;
	struct profile *profile = profile_of_code("sum", FIRST, loop, sizeof(loop), &image);
	uint32_t event = add_event(profile, &clock_event);
	assert_int_equal(profile_add_text(profile, "by name alone", &name), 0);
	const struct profile_frame bare = { .name = name };
	const struct cell cell = { 5, 5, 5 };
	assert_int_equal(profile_add_flat(profile, event, 0, &bare, &cell), 0);
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, profile, NULL);
	assert_int_equal(cycles_of_procedure(subject.cycles, 0, &found, &err), -ENODATA);
	assert_string_not_equal(err.text, "");
	assert_int_equal(cycles_pipeline(subject.cycles)->fit, PIPELINE_GUESSED);
	const struct cycles_options options = { .pipeline = "no such" };
	assert_int_equal(cycles_new(subject.names.index, &options, &cycles, &err), -EINVAL);

	CLEANUP(annotate_subject_release) struct annotate_subject counted = { 0 };
	struct profile *other = profile_of_code("sum", FIRST, loop, sizeof(loop), &image);
	add_samples(other, add_event(other, &instructions_counted), image, 0, 0, PERIOD);
	annotate_subject_init(&counted, other);
	const struct cycles_options plain = { 0 };
	assert_int_equal(cycles_new(counted.index, &plain, &cycles, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_in_order_is_told_from_executions),
		cmocka_unit_test(a_late_sample_is_charged_to_who_waited),
		cmocka_unit_test(samples_at_a_repeated_instruction_stay),
		cmocka_unit_test(counted_instructions_make_a_procedure_absolute),
		cmocka_unit_test(branches_that_were_seen_move_executions),
		cmocka_unit_test(calls_make_procedures_compare),
		cmocka_unit_test(few_samples_are_of_low_confidence),
		cmocka_unit_test(branch_stacks_are_counted),
		cmocka_unit_test(sampled_instructions_give_cycles_of_each),
		cmocka_unit_test(a_cold_part_is_counted_in_its_function_alone),
		cmocka_unit_test(no_sample_is_lost_whatever_the_code),
		cmocka_unit_test(what_is_not_known_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
