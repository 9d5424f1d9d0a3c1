#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/accuracy/accuracy.h"
#include "analyze/accuracy/accuracy_causes.h"
#include "analyze/accuracy/exact_counts.h"
#include "annotate_subject.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "profile/stash.h"

#define FIRST  0x1000u
#define PERIOD 1000u

/*
 * A loop with a condition in it; blocks A (0, 3), B (5), C (8, 11), D (13):
 *   0 test %rax,%rax   3 jz 8   5 inc %rbx   8 dec %rcx   11 jnz 0   13 ret
 */
static const uint8_t code[] = { 0x48, 0x85, 0xc0, 0x74, 0x03, 0x48, 0xff,
				0xc3, 0x48, 0xff, 0xc9, 0x75, 0xf3, 0xc3 };
static const uint64_t offsets[] = { 0, 3, 5, 8, 11, 13 };
/* Samples of instructions: A and C ran 1,000,000 times, B 400,000 times, D once. */
static const uint64_t samples[] = { 1000, 1000, 400, 1000, 1000, 0 };
#define B_SAMPLES   400
#define ALL_SAMPLES 4400

static uint32_t add_image(struct profile *profile, const char *path)
{
	const struct profile_image file = { .kind = IMAGE_FILE, .name = span_of_text(path) };
	uint32_t image;
	assert_int_equal(profile_add_image(profile, &file, &image), 0);
	assert_int_equal(profile_add_path(profile, image, span_of_text(path)), 0);
	return image;
}

static void add_count(struct profile *profile, uint32_t event, uint32_t image, uint64_t offset,
		      struct cell cell)
{
	const struct profile_frame leaf = { .image = image, .vaddr = FIRST + offset };
	if (cell.estimate)
		assert_int_equal(profile_add_flat(profile, event, 0, &leaf, &cell), 0);
}

static struct profile *sampled_profile(const char *path)
{
	const struct profile_event event = { .name = span_of_text("instructions"),
					     .unit = span_of_text("instructions"),
					     .policy = PERIOD_FIXED,
					     .period = PERIOD,
					     .precise = 2,
					     .sampled = 1 };
	const struct profile_source source = { .machine = span_of_text("x86_64") };
	struct profile *profile = profile_new();
	uint32_t id;
	assert_non_null(profile);
	uint32_t image = add_image(profile, path);
	assert_int_equal(profile_add_source(profile, &source), 0);
	add_function(profile, image, "sum", FIRST, sizeof(code),
		     (struct span){ code, sizeof(code) });
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	for (size_t i = 0; i < COUNT_OF(samples); i++)
		add_count(profile, id, image, offsets[i],
			  (struct cell){ samples[i], samples[i] * PERIOD,
					 (unsigned __int128)samples[i] * PERIOD * PERIOD });
	return profile;
}

/* Of one run: what the blocks did, from A's and B's executions. */
struct counted {
	uint64_t a, b;
};

static void add_jump(struct profile *profile, uint32_t event, uint32_t image, uint64_t from,
		     uint64_t to, uint64_t count)
{
	const struct profile_frame source = { .image = image, .vaddr = FIRST + from };
	const struct profile_frame target = { .image = image, .vaddr = FIRST + to };
	if (count)
		assert_int_equal(profile_add_edge(profile, event, 0, ORIGIN_IMPORTED, &source,
						  &target, count, 0),
				 0);
}

static struct profile *counted_profile(const char *path, struct counted counted)
{
	const struct profile_event event = { .name = span_of_text("Ir"),
					     .unit = span_of_text("instructions"),
					     .origin = ORIGIN_IMPORTED };
	const uint64_t executions[] = { counted.a, counted.a, counted.b,
					counted.a, counted.a, counted.a ? 1 : 0 };
	struct profile *profile = profile_new();
	uint32_t id;
	assert_non_null(profile);
	uint32_t image = add_image(profile, path);
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	for (size_t i = 0; i < COUNT_OF(executions); i++)
		add_count(profile, id, image, offsets[i], (struct cell){ 0, executions[i], 0 });
	add_jump(profile, id, image, 3, 8, counted.a - counted.b);
	add_jump(profile, id, image, 11, 0, counted.a - 1);
	return profile;
}

struct subject {
	struct annotate_subject sampled;
	struct profile *counted;
	struct cycles *cycles;
	struct exact_counts *truth;
	struct accuracy *accuracy;
};

static void subject_release(struct subject *subject)
{
	accuracy_free(subject->accuracy);
	exact_counts_free(subject->truth);
	cycles_free(subject->cycles);
	profile_free(subject->counted);
	annotate_subject_release(&subject->sampled);
}

static int judge(struct subject *subject, const char *sampled_path, const char *counted_path,
		 struct counted counted, enum accuracy_scale scale, double runs, struct error *err)
{
	const struct cycles_options options = { .pipeline = NULL };
	const struct accuracy_request asked = { .scale = scale, .runs = runs };
	annotate_subject_init(&subject->sampled, sampled_profile(sampled_path));
	subject->counted = counted_profile(counted_path, counted);
	assert_int_equal(cycles_new(subject->sampled.index, &options, &subject->cycles, err), 0);
	assert_int_equal(
		exact_counts_new(subject->counted, subject->sampled.profile, &subject->truth, err),
		0);
	return accuracy_new(subject->cycles, subject->truth, NULL, 0, &asked, &subject->accuracy,
			    err);
}

static void must_judge(struct subject *subject, struct counted counted, enum accuracy_scale scale,
		       double runs)
{
	struct error err = { 0 };
	if (judge(subject, "/bin/sum", "/bin/sum", counted, scale, runs, &err) < 0)
		fail_msg("%s", err.text);
}

static void expect_weight(double value, double wanted)
{
	if (fabs(value - wanted) > 1e-6)
		fail_msg("the weight is %g, not %g", value, wanted);
}

static void what_agrees_is_within_all_limits(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	must_judge(&subject, (struct counted){ 1000000, 400000 }, ACCURACY_ABSOLUTE, 1);
	const struct accuracy *accuracy = subject.accuracy;
	expect_weight(accuracy->samples, ALL_SAMPLES);
	expect_weight(accuracy->instructions.weight, ALL_SAMPLES);
	expect_weight(accuracy->instructions.within[0], ALL_SAMPLES);
	expect_weight(accuracy->edges.weight, 600000 + 400000 + 400000 + 999999 + 1);
	expect_weight(accuracy->off_weight, 0);
	assert_int_equal(accuracy->instructions.count, 3);
	assert_int_equal(accuracy->edges.count, 5);
	assert_int_equal(accuracy->procedure_count, 1);
	double buckets = 0;
	for (int b = 0; b < ACCURACY_BUCKETS; b++)
		buckets += accuracy->instructions.buckets[b];
	expect_weight(buckets, ALL_SAMPLES);
}

/* B ran 12 % more often than its samples say: 10.7 % too low; its neighbours by their share. */
static void an_error_counts_where_it_is_and_by_its_weight(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	must_judge(&subject, (struct counted){ 1000000, 448000 }, ACCURACY_ABSOLUTE, 1);
	const struct accuracy_sum *blocks = &subject.accuracy->instructions;
	const struct accuracy_sum *edges = &subject.accuracy->edges;
	expect_weight(blocks->within[0], ALL_SAMPLES - B_SAMPLES);
	expect_weight(blocks->within[1], ALL_SAMPLES - B_SAMPLES);
	expect_weight(blocks->within[2], ALL_SAMPLES);
	expect_weight(blocks->buckets[ACCURACY_BUCKETS / 2 - 3], B_SAMPLES); /* -15 to -10 % */
	/* A to B and B to C are 10.7 % too low, A to C is 8.7 % too high; one way out of a million
	 * is in no sample */
	expect_weight(edges->weight - edges->within[1], 2 * 448000 + 1);
	expect_weight(edges->within[1] - edges->within[0], 552000);
}

static void a_factor_puts_right_what_it_stands_for(void **state)
{
	(void)state;
	static const struct {
		enum accuracy_scale scale;
		double runs, factor;
		bool right;
	} cases[] = {
		{ ACCURACY_ABSOLUTE, 1, 1, false },
		{ ACCURACY_PROCEDURE, 1, 0.25, true },
		{ ACCURACY_PROGRAM, 1, 0.25, true },
		{ ACCURACY_ABSOLUTE, 4, 1, true },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CLEANUP(subject_release) struct subject subject = { 0 };
		must_judge(&subject, (struct counted){ 250000, 100000 }, cases[i].scale,
			   cases[i].runs);
		const struct accuracy *accuracy = subject.accuracy;
		expect_weight(accuracy->instructions.within[2], cases[i].right ? ALL_SAMPLES : 0);
		if (fabs(accuracy->procedures[0].factor - cases[i].factor) > 0.01)
			fail_msg("the factor is %g, not %g", accuracy->procedures[0].factor,
				 cases[i].factor);
	}
}

static void intervals_are_held_against_the_truth(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject right = { 0 };
	CLEANUP(subject_release) struct subject wrong = { 0 };
	must_judge(&right, (struct counted){ 1000000, 400000 }, ACCURACY_ABSOLUTE, 1);
	must_judge(&wrong, (struct counted){ 1000000, 800000 }, ACCURACY_ABSOLUTE, 1);
	const struct accuracy_intervals *sure = &right.accuracy->intervals;
	assert_true(sure->count >= 3);
	expect_weight(sure->held_weight, ALL_SAMPLES);
	assert_true(sure->width > 0.01 && sure->width < 0.5);
	expect_weight(wrong.accuracy->intervals.held_weight, ALL_SAMPLES - B_SAMPLES);
	expect_weight(wrong.accuracy->off_weight, B_SAMPLES);
}

/* Jumps that no edge stands for are told, and not judged. */
static void what_the_graph_lacks_is_no_edge(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	struct error err = { 0 };
	const struct cycles_options options = { .pipeline = NULL };
	const struct accuracy_request asked = { .scale = ACCURACY_ABSOLUTE, .runs = 2 };
	annotate_subject_init(&subject.sampled, sampled_profile("/bin/sum"));
	subject.counted = counted_profile("/bin/sum", (struct counted){ 500000, 200000 });
	add_jump(subject.counted, 1, 1, 11, 5, 700);	  /* no edge leads there */
	add_jump(subject.counted, 1, 1, 11, 0x4000, 900); /* out of the procedure */
	assert_int_equal(cycles_new(subject.sampled.index, &options, &subject.cycles, &err), 0);
	assert_int_equal(
		exact_counts_new(subject.counted, subject.sampled.profile, &subject.truth, &err),
		0);
	assert_int_equal(accuracy_new(subject.cycles, subject.truth, NULL, 0, &asked,
				      &subject.accuracy, &err),
			 0);
	expect_weight(subject.accuracy->missing_edges, 2 * 700);
	assert_int_equal(subject.accuracy->edges.count, 4); /* of the fifth nothing is left */
}

static void samples_where_the_counted_run_never_came_are_not_judged(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	must_judge(&subject, (struct counted){ 1000000, 0 }, ACCURACY_ABSOLUTE, 1);
	expect_weight(subject.accuracy->never_executed, B_SAMPLES);
	expect_weight(subject.accuracy->instructions.weight, ALL_SAMPLES - B_SAMPLES);
}

static void an_image_is_found_by_its_path_or_by_its_name_alone(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject moved = { 0 };
	CLEANUP(subject_release) struct subject other = { 0 };
	struct error err = { 0 };
	const struct counted counted = { 1000000, 400000 };
	assert_int_equal(
		judge(&moved, "/usr/bin/sum", "/bin/sum", counted, ACCURACY_ABSOLUTE, 1, &err), 0);
	expect_weight(moved.accuracy->instructions.weight, ALL_SAMPLES);
	assert_int_equal(
		judge(&other, "/bin/sum", "/bin/product", counted, ACCURACY_ABSOLUTE, 1, &err),
		-ENODATA);
	assert_null(other.accuracy);
}

static void two_files_of_one_name_are_neither(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *sampled = profile_new();
	CLEANUP(profile_freep)
	struct profile *counted = counted_profile("/bin/sum", (struct counted){ 5, 3 });
	CLEANUP(exact_counts_freep) struct exact_counts *truth = NULL;
	uint32_t at_path = add_image(sampled, "/bin/sum");
	uint32_t elsewhere = add_image(sampled, "/opt/sum");
	uint32_t second = add_image(counted, "/lib/sum");
	assert_int_equal(exact_counts_new(counted, sampled, &truth, NULL), 0);
	assert_true(exact_counts_image(truth, at_path) != 0);
	assert_int_not_equal(exact_counts_image(truth, at_path), second);
	assert_int_equal(exact_counts_image(truth, elsewhere), 0);
	assert_int_equal(exact_counts_image(truth, 99), 0);
}

static void branches_are_those_counted_and_the_rest(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *sampled = profile_new();
	CLEANUP(profile_freep)
	struct profile *counted = counted_profile("/bin/sum", (struct counted){ 50, 30 });
	CLEANUP(exact_counts_freep) struct exact_counts *truth = NULL;
	uint32_t image = add_image(sampled, "/bin/sum");
	assert_int_equal(exact_counts_new(counted, sampled, &truth, NULL), 0);
	image = exact_counts_image(truth, image);
	size_t ir = exact_counts_executions_column(truth);
	expect_weight(exact_counts_count(truth, ir, image, FIRST + 5), 30);
	expect_weight(exact_counts_count(truth, ir, image, FIRST + 6), 0);
	expect_weight(exact_counts_sum(truth, ir, image, FIRST + 3, FIRST + 8), 130);
	expect_weight(exact_counts_jumps(truth, image, FIRST + 3, FIRST + 8), 20);
	expect_weight(exact_counts_jumps_elsewhere(truth, image, FIRST + 3, FIRST + 5), 20);
	expect_weight(exact_counts_jumps_elsewhere(truth, image, FIRST + 3, FIRST + 8), 0);
}

static void counts_without_addresses_are_no_truth(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = sampled_profile("/bin/sum");
	struct exact_counts *truth = NULL;
	struct error err = { 0 };
	assert_int_equal(exact_counts_new(profile, profile, &truth, &err), -ENODATA);
	assert_string_equal(err.text, "the exact counts have no event 'Ir' by instruction; "
				      "callgrind keeps it with --dump-instr=yes");
	assert_null(truth);
}

static void correlations_are_those_of_values_and_of_ranks(void **state)
{
	(void)state;
	const double x[] = { 1, 2, 3, 4, 5 }, twice[] = { 2, 4, 6, 8, 10 };
	const double fall[] = { 5, 4, 3, 2, 1 }, steep[] = { 1, 10, 100, 1000, 10000 };
	const double equal[] = { 7, 7, 7, 7, 7 }, ties[] = { 1, 2, 2, 4, 5 };
	expect_weight(accuracy_correlation(x, twice, 5), 1);
	expect_weight(accuracy_correlation(x, fall, 5), -1);
	assert_true(fabs(accuracy_correlation(x, steep, 5) - 0.7597) < 1e-4);
	expect_weight(accuracy_rank_correlation(x, steep, 5), 1);
	/* ranks 0, 1.5, 1.5, 3, 4 against 0 to 4: 9.5 / sqrt(10 * 9.5) */
	expect_weight(accuracy_rank_correlation(x, ties, 5), sqrt(0.95));
	assert_true(isnan(accuracy_correlation(x, equal, 5)));
	assert_true(isnan(accuracy_correlation(x, twice, 2)));
}

/* Procedures without the cause's stalls and events are no pairs. */
static void stalls_are_held_against_what_was_counted(void **state)
{
	(void)state;
	CLEANUP(annotate_subject_release) struct annotate_subject sampled;
	CLEANUP(profile_freep)
	struct profile *counted = counted_profile("/bin/sum", (struct counted){ 50, 30 });
	CLEANUP(exact_counts_freep) struct exact_counts *truth = NULL;
	CLEANUP(accuracy_causes_release) struct accuracy_causes causes;
	const struct profile_event misses = { .name = span_of_text("D1mr") };
	struct accuracy accuracy = { 0 };
	uint32_t id;
	annotate_subject_init(&sampled, sampled_profile("/bin/sum"));
	assert_int_equal(profile_add_event(counted, &misses, &id), 0);
	add_count(counted, id, 1, 5, (struct cell){ 0, 3, 0 });
	assert_int_equal(exact_counts_new(counted, sampled.profile, &truth, NULL), 0);
	accuracy_causes_init(&causes, truth, sampled.index);
	const struct accuracy_stall stalls[] = {
		{ 0, 20, 1 }, { 10, 30, 2 }, { 0, 60, 3 }, { 0, 0, 0 }
	};
	const size_t dcache = 2, rows = 6;
	causes.procedures = COUNT_OF(stalls);
	causes.stalls = calloc(rows * COUNT_OF(stalls), sizeof(*causes.stalls));
	assert_non_null(causes.stalls);
	for (size_t p = 0; p < COUNT_OF(stalls); p++)
		causes.stalls[rows * p + dcache] = stalls[p];
	assert_int_equal(accuracy_causes_sum_up(&causes, accuracy.causes, &accuracy.cause_count),
			 0);
	assert_int_equal(accuracy.cause_count, 1);
	const struct accuracy_cause *cause = &accuracy.causes[0];
	assert_string_equal(cause->events, "D1mr");
	assert_string_equal(cause->key, dynamic_cause_key(DYNAMIC_DCACHE));
	assert_int_equal(cause->procedures, 3);
	expect_weight(cause->low_cycles, 10);
	expect_weight(cause->high_cycles, 110);
	expect_weight(cause->counted, 6);
	expect_weight(cause->pearson_low, 0);
	expect_weight(cause->pearson, 1);
	/* of 20, 30, 60 and 1, 2, 3 */
	expect_weight(cause->pearson_high, 40 / sqrt(2 * 2600.0 / 3));
	expect_weight(cause->spearman, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_agrees_is_within_all_limits),
		cmocka_unit_test(an_error_counts_where_it_is_and_by_its_weight),
		cmocka_unit_test(a_factor_puts_right_what_it_stands_for),
		cmocka_unit_test(intervals_are_held_against_the_truth),
		cmocka_unit_test(what_the_graph_lacks_is_no_edge),
		cmocka_unit_test(samples_where_the_counted_run_never_came_are_not_judged),
		cmocka_unit_test(an_image_is_found_by_its_path_or_by_its_name_alone),
		cmocka_unit_test(two_files_of_one_name_are_neither),
		cmocka_unit_test(branches_are_those_counted_and_the_rest),
		cmocka_unit_test(counts_without_addresses_are_no_truth),
		cmocka_unit_test(correlations_are_those_of_values_and_of_ranks),
		cmocka_unit_test(stalls_are_held_against_what_was_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
