#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/flow/cfg.h"
#include "analyze/flow/seen_branches.h"
#include "analyze/names/resolve.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/random.h"
#include "support/byte_space.h"
#include "support/test_profile.h"

#define START BYTE_SPACE_START

/* A procedure of a few bytes at START in the profile's one image. */
struct subject {
	struct test_profile test;
	struct resolver *resolver;
	struct seen_branches *evidence;
	struct byte_space space;
	struct cfg cfg;
};

static void release(struct subject *subject)
{
	seen_branches_free(subject->evidence);
	resolver_free(subject->resolver);
	cfg_release(&subject->cfg);
	profile_free(subject->test.profile);
}

static void build(struct subject *subject)
{
	struct decoder *decoder = NULL;
	struct error err;
	assert_int_equal(decoder_new(ISA_X86_64, ISA_SYNTAX_ATT, &decoder, &err), 0);
	assert_int_equal(cfg_build(&subject->space.space, decoder, START, &subject->cfg, &err), 0);
	decoder_free(decoder);
	subject->test = test_profile_new();
	test_event(&subject->test, "cycles", 1000);
	test_image(&subject->test, IMAGE_FILE, "/bin/app", "\1\2\3\4");
}

/* 0 test %edi,%edi; 2 je 6; 4 xor %eax,%eax; 6 dec %edi; 8 jne 0; a ret */
static const uint8_t loop_code[] = { 0x85, 0xff, 0x74, 0x02, 0x31, 0xc0,
				     0xff, 0xcf, 0x75, 0xf6, 0xc3 };
enum { HEAD, MIDDLE, TAIL, LAST };

static void init_loop(struct subject *subject)
{
	*subject = (struct subject){ 0 };
	byte_space_init(&subject->space, ISA_X86_64, loop_code, sizeof(loop_code));
	build(subject);
	assert_int_equal(subject->cfg.graph.block_count, 4);
}

static struct profile_frame frame(uint32_t image, uint64_t vaddr)
{
	return (struct profile_frame){ .image = image, .vaddr = vaddr };
}

static void add_edge(struct subject *subject, enum event_origin origin, uint64_t from, uint64_t to,
		     uint64_t count)
{
	struct test_profile *test = &subject->test;
	struct profile_frame source = frame(test->image, from), target = frame(test->image, to);
	assert_int_equal(profile_add_edge(test->profile, test->event, test->context, origin,
					  &source, &target, count, 0),
			 0);
}

static void add_run(struct subject *subject, uint64_t first, uint64_t last, uint64_t count)
{
	struct test_profile *test = &subject->test;
	const uint64_t keys[] = {
		[RANGE_EVENT] = test->event,
		[RANGE_CONTEXT] = test->context,
		[RANGE_ORIGIN] = ORIGIN_IMPORTED,
		[RANGE_IMAGE] = test->image,
		[RANGE_FIRST] = first,
		[RANGE_LAST] = last,
	};
	const uint64_t values[] = { count, 0, 0, 0 };
	assert_int_equal(table_add(test->profile->tables[PROFILE_RANGE], keys, values, NULL), 0);
}

static struct seen_counts count(struct subject *subject, enum seen_branches_kind kind)
{
	static const struct resolver_options stash_only = { .stash_only = true };
	struct seen_counts counts;
	struct error err;
	if (!subject->evidence) {
		assert_int_equal(
			resolver_new(subject->test.profile, &stash_only, &subject->resolver, &err),
			0);
		assert_int_equal(seen_branches_new(subject->test.profile, subject->resolver,
						   &subject->evidence),
				 0);
	}
	assert_int_equal(seen_branches_count(subject->evidence, subject->test.image, &subject->cfg,
					     kind, &counts),
			 0);
	return counts;
}

static double of(const struct subject *subject, const struct seen_counts *counts, uint32_t from,
		 uint32_t to)
{
	for (size_t i = 0; i < subject->cfg.graph.edge_count; i++)
		if (subject->cfg.graph.edges[i].from == from &&
		    subject->cfg.graph.edges[i].to == to)
			return counts->edges[i];
	fail_msg("no edge from %u to %u", from, to);
	return 0;
}

static void both_ways_of_a_branch_are_counted(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	init_loop(&subject);
	add_edge(&subject, ORIGIN_INTERPRETED, START + 2, START + 6, 30);
	add_edge(&subject, ORIGIN_INTERPRETED, START + 2, START + 4, 10);
	test_event(&subject.test, "instructions", 1000);
	add_edge(&subject, ORIGIN_INTERPRETED, START + 2, START + 4, 5);
	add_edge(&subject, ORIGIN_INTERPRETED, START + 8, START, 40);
	add_edge(&subject, ORIGIN_STEPPED, START + 8, START + 10, 3);
	CLEANUP(seen_counts_release)
	struct seen_counts seen = count(&subject, SEEN_BRANCHES_INTERPRETED);
	CLEANUP(seen_counts_release)
	struct seen_counts stepped = count(&subject, SEEN_BRANCHES_STEPPED);
	assert_float_equal(of(&subject, &seen, HEAD, TAIL), 30, 0);
	assert_float_equal(of(&subject, &seen, HEAD, MIDDLE), 15, 0);
	assert_float_equal(of(&subject, &seen, TAIL, HEAD), 40, 0);
	assert_float_equal(of(&subject, &seen, TAIL, LAST), 0, 0);
	assert_int_equal(seen.matched, 85);
	assert_int_equal(seen.unmatched, 0);
	assert_null(seen.blocks);
	assert_float_equal(of(&subject, &stepped, TAIL, LAST), 3, 0);
	assert_float_equal(of(&subject, &stepped, TAIL, HEAD), 0, 0);
	assert_int_equal(stepped.matched, 3);
	assert_true(seen_branches_has(subject.evidence, SEEN_BRANCHES_STEPPED));
	assert_false(seen_branches_has(subject.evidence, SEEN_BRANCHES_COUNTED));
}

static void add_outcomes(struct subject *subject, enum event_origin origin)
{
	add_edge(subject, origin, START + 2, START + 6, 1);
	add_edge(subject, origin, START + 8, START, 75000);
	add_edge(subject, origin, START + 8, START + 10, 25000);
}

static void what_is_seen_weighs_less_the_more_there_is_and_stepped_ones_more(void **state)
{
	(void)state;
	static const struct {
		bool stepped_too;
		enum seen_branches_kind kind;
		double most;
	} cases[] = { { false, SEEN_BRANCHES_INTERPRETED, 60 },
		      { true, SEEN_BRANCHES_INTERPRETED, 30 },
		      { true, SEEN_BRANCHES_STEPPED, 600 } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(release) struct subject subject;
		init_loop(&subject);
		add_outcomes(&subject, ORIGIN_INTERPRETED);
		if (cases[i].stepped_too)
			add_outcomes(&subject, ORIGIN_STEPPED);
		CLEANUP(seen_counts_release)
		struct seen_counts seen = count(&subject, cases[i].kind);
		double weights[8] = { 0 },
		       most = seen_branches_most(subject.evidence, cases[i].kind);
		assert_true(subject.cfg.graph.edge_count <= 8);
		assert_float_equal(most, cases[i].most, 0);
		for (int twice = 0; twice < 2; twice++)
			assert_int_equal(
				seen_branches_weigh(&subject.cfg.graph, most, &seen, weights), 0);
		struct seen_counts weighed = { .edges = weights };
		double few = of(&subject, &weighed, HEAD, TAIL) / 2; /* they add up */
		double taken = of(&subject, &weighed, TAIL, HEAD) / 2;
		double left = of(&subject, &weighed, TAIL, LAST) / 2;
		assert_float_equal(few, most / (most + 1), 1e-9);
		assert_float_equal(taken / left, 3, 1e-9);
		assert_float_equal(taken + left, 1e5 / (1 + 1e5 / most), 1e-6);
	}
}

static void a_return_leaves_and_what_fits_no_edge_is_reported(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	init_loop(&subject);
	add_edge(&subject, ORIGIN_STEPPED, START + 10, START + 0x100, 7); /* returns to a caller */
	add_edge(&subject, ORIGIN_STEPPED, START + 8, START + 6, 1);	  /* no such edge */
	add_edge(&subject, ORIGIN_STEPPED, START + 8, START + 2, 2);	  /* into a block */
	add_edge(&subject, ORIGIN_STEPPED, START + 6, START, 4);	  /* no branch there */
	add_edge(&subject, ORIGIN_STEPPED, START + 8, START + 0x200, 8);  /* never leaves */
	add_edge(&subject, ORIGIN_STEPPED, START - 1, START, 16);	  /* elsewhere's */
	struct profile_frame from = frame(subject.test.image, START + 10), to = frame(0, START);
	assert_int_equal(profile_add_edge(subject.test.profile, subject.test.event, 0,
					  ORIGIN_STEPPED, &from, &to, 32, 0),
			 0); /* START of no known image */
	CLEANUP(seen_counts_release)
	struct seen_counts seen = count(&subject, SEEN_BRANCHES_STEPPED);
	assert_float_equal(of(&subject, &seen, LAST, FLOW_OUTSIDE), 39, 0);
	assert_float_equal(of(&subject, &seen, TAIL, HEAD), 0, 0);
	assert_int_equal(seen.matched, 39);
	assert_int_equal(seen.unmatched, 15);
}

static void calls_that_come_back_are_no_edges(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject = { 0 };
	/* 0 call far away; 5 ret */
	static const uint8_t code[] = { 0xe8, 0, 1, 0, 0, 0xc3 };
	byte_space_init(&subject.space, ISA_X86_64, code, sizeof(code));
	build(&subject);
	add_edge(&subject, ORIGIN_INTERPRETED, START, START + 0x105, 9);
	CLEANUP(seen_counts_release)
	struct seen_counts seen = count(&subject, SEEN_BRANCHES_INTERPRETED);
	assert_null(seen.edges);
	assert_int_equal(seen.matched, 0);
	assert_int_equal(seen.unmatched, 0);
}

/* One walk through the procedure, its runs and branches added as a branch stack has them. */
static void walk(struct subject *subject, struct random_state *random, double *blocks,
		 double (*edges)[2])
{
	uint64_t start = START;
	for (;;) {
		bool skips = random_below(random, 4) == 0, again = random_below(random, 10) > 0;
		blocks[HEAD]++;
		edges[HEAD][skips]++;
		if (skips) {
			add_run(subject, start, START + 2, 1);
			add_edge(subject, ORIGIN_IMPORTED, START + 2, START + 6, 1);
			start = START + 6;
		} else {
			blocks[MIDDLE]++;
		}
		blocks[TAIL]++;
		edges[TAIL][again]++;
		if (!again)
			break;
		add_run(subject, start, START + 8, 1);
		add_edge(subject, ORIGIN_IMPORTED, START + 8, START, 1);
		start = START;
	}
	blocks[LAST]++;
	add_run(subject, start, START + 10, 1);
	add_edge(subject, ORIGIN_IMPORTED, START + 10, START + 0x100, 1);
}

static void runs_tell_how_often_each_block_and_edge_ran(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	struct random_state random = random_seed(1);
	double blocks[4] = { 0 }, edges[4][2] = { 0 };
	init_loop(&subject);
	for (unsigned i = 0; i < 100; i++)
		walk(&subject, &random, blocks, edges);
	/* of a stack's oldest branch no run is known */
	add_edge(&subject, ORIGIN_IMPORTED, START + 8, START, 1000);
	/* the code before it runs into it; another run is none */
	add_run(&subject, START - 8, START + 2, 50);
	add_edge(&subject, ORIGIN_IMPORTED, START + 2, START + 6, 50);
	add_run(&subject, START, START + (UINT64_C(2) << 20), 7);
	CLEANUP(seen_counts_release)
	struct seen_counts seen = count(&subject, SEEN_BRANCHES_COUNTED);
	assert_float_equal(seen.blocks[HEAD], blocks[HEAD] + 50, 0);
	for (unsigned block = MIDDLE; block <= LAST; block++)
		assert_float_equal(seen.blocks[block], blocks[block], 0);
	assert_float_equal(of(&subject, &seen, HEAD, TAIL), edges[HEAD][1] + 50, 1e-9);
	assert_float_equal(of(&subject, &seen, HEAD, MIDDLE), edges[HEAD][0], 1e-9);
	assert_float_equal(of(&subject, &seen, MIDDLE, TAIL), blocks[MIDDLE], 1e-9);
	assert_float_equal(of(&subject, &seen, TAIL, HEAD), edges[TAIL][1], 1e-9);
	assert_float_equal(of(&subject, &seen, TAIL, LAST), edges[TAIL][0], 1e-9);
	assert_float_equal(of(&subject, &seen, LAST, FLOW_OUTSIDE), blocks[LAST], 1e-9);
}

static void a_call_at_the_end_of_a_block_comes_back_to_the_next(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject = { 0 };
	/* 0 call far away; 5 dec %edi; 7 jne 5; 9 ret */
	static const uint8_t code[] = { 0xe8, 0, 1, 0, 0, 0xff, 0xcf, 0x75, 0xfc, 0xc3 };
	byte_space_init(&subject.space, ISA_X86_64, code, sizeof(code));
	build(&subject);
	add_run(&subject, START, START, 10);
	add_edge(&subject, ORIGIN_IMPORTED, START, START + 0x105, 10);
	add_run(&subject, START + 5, START + 7, 40);
	add_edge(&subject, ORIGIN_IMPORTED, START + 7, START + 5, 40);
	add_run(&subject, START + 5, START + 9, 10);
	CLEANUP(seen_counts_release)
	struct seen_counts seen = count(&subject, SEEN_BRANCHES_COUNTED);
	assert_float_equal(seen.blocks[0], 10, 0);
	assert_float_equal(seen.blocks[1], 50, 0);
	assert_float_equal(of(&subject, &seen, 0, 1), 10, 0);
	assert_float_equal(of(&subject, &seen, 1, 1), 40, 0);
	assert_float_equal(of(&subject, &seen, 1, 2), 10, 0);
}

static void branches_taken_without_runs_tell_nothing(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	init_loop(&subject);
	add_edge(&subject, ORIGIN_IMPORTED, START + 8, START, 5);
	CLEANUP(seen_counts_release)
	struct seen_counts seen = count(&subject, SEEN_BRANCHES_COUNTED);
	assert_null(seen.edges);
	assert_null(seen.blocks);
	assert_false(seen_branches_has(subject.evidence, SEEN_BRANCHES_COUNTED));
}

/* 0 test %edi,%edi; 2 je 8 (cold); 4 ret; the cold part: 8 jmp 4 */
static void a_cold_part_is_of_its_procedure(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject = { 0 };
	static const uint8_t code[] = {
		0x85, 0xff, 0x74, 0x04, 0xc3, 0xcc, 0xcc, 0xcc, 0xeb, 0xfa
	};
	byte_space_init(&subject.space, ISA_X86_64, code, sizeof(code));
	subject.space.functions[0].last = START + 4;
	subject.space.functions[1] = (struct code_function){
		.first = START + 8, .last = START + 9, .is_cold = true, .parent = START
	};
	build(&subject);
	assert_int_equal(subject.cfg.part_count, 2);
	add_edge(&subject, ORIGIN_STEPPED, START + 2, START + 8, 3);
	add_edge(&subject, ORIGIN_STEPPED, START + 8, START + 4, 2);
	add_edge(&subject, ORIGIN_STEPPED, START + 5, START + 4, 1); /* between the parts */
	add_edge(&subject, ORIGIN_IMPORTED, START + 2, START + 8, 6);
	add_run(&subject, START, START + 2, 6);
	add_run(&subject, START, START + 4, 1);
	add_run(&subject, START + 8, START + 8, 6);
	add_run(&subject, START + 4, START + 8, 1); /* over both */
	CLEANUP(seen_counts_release)
	struct seen_counts stepped = count(&subject, SEEN_BRANCHES_STEPPED);
	CLEANUP(seen_counts_release)
	struct seen_counts counted = count(&subject, SEEN_BRANCHES_COUNTED);
	uint32_t cold = cfg_block_at(&subject.cfg, START + 8);
	assert_float_equal(of(&subject, &stepped, 0, cold), 3, 0);
	assert_float_equal(of(&subject, &stepped, cold, 1), 2, 0);
	assert_int_equal(stepped.unmatched, 0);
	assert_float_equal(counted.blocks[0], 7, 0);
	assert_float_equal(counted.blocks[1], 2, 0);
	assert_float_equal(counted.blocks[cold], 7, 0);
	assert_float_equal(of(&subject, &counted, 0, cold), 6, 0);
	assert_float_equal(of(&subject, &counted, 0, 1), 1, 0);
}

/* Those that begin and end anywhere: what they cover is what lies between their ends. */
static void runs_cover_what_is_between_their_ends(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	struct random_state random = random_seed(7);
	double covered[16] = { 0 };
	init_loop(&subject);
	const struct cfg *cfg = &subject.cfg;
	assert_true(cfg->instruction_count <= 16);
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t from = START - 12 + random_below(&random, 30);
		uint64_t to = from + random_below(&random, 30),
			 times = 1 + random_below(&random, 9);
		add_run(&subject, from, to, times);
		for (uint32_t k = 0; k < cfg->instruction_count; k++)
			if (cfg->instructions[k].vaddr >= from && cfg->instructions[k].vaddr <= to)
				covered[k] += (double)times;
	}
	add_edge(&subject, ORIGIN_IMPORTED, START + 8, START, 1);
	CLEANUP(seen_counts_release)
	struct seen_counts seen = count(&subject, SEEN_BRANCHES_COUNTED);
	for (uint32_t block = HEAD; block <= LAST; block++) {
		const struct cfg_block *at = &cfg->blocks[block];
		double sum = 0;
		for (uint32_t k = at->first; k < at->first + at->count; k++)
			sum += covered[k];
		assert_float_equal(seen.blocks[block], sum / at->count, 1e-9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways_of_a_branch_are_counted),
		cmocka_unit_test(what_is_seen_weighs_less_the_more_there_is_and_stepped_ones_more),
		cmocka_unit_test(a_return_leaves_and_what_fits_no_edge_is_reported),
		cmocka_unit_test(calls_that_come_back_are_no_edges),
		cmocka_unit_test(runs_tell_how_often_each_block_and_edge_ran),
		cmocka_unit_test(a_call_at_the_end_of_a_block_comes_back_to_the_next),
		cmocka_unit_test(branches_taken_without_runs_tell_nothing),
		cmocka_unit_test(a_cold_part_is_of_its_procedure),
		cmocka_unit_test(runs_cover_what_is_between_their_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
