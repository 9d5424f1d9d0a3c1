/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdlib.h>

#include "analyze/cycles/cycles_rank.h"
#include "base/buffer.h"
#include "base/count_of.h"

#define BLOCKS 7

/*
 * Block 0; the loop of 1 to 4, with the loop of 2 and that of 3 inside; 5; the loop of 6.
 */
static struct flow_loop loops[] = {
	{ .header = 1, .parent = FLOW_NO_LOOP, .depth = 1, .block_count = 4 },
	{ .header = 2, .parent = 0, .depth = 2, .block_count = 1 },
	{ .header = 3, .parent = 0, .depth = 2, .block_count = 1 },
	{ .header = 6, .parent = FLOW_NO_LOOP, .depth = 1, .block_count = 1 },
};
static uint32_t of_block[BLOCKS] = { FLOW_NO_LOOP, 0, 1, 2, 0, FLOW_NO_LOOP, 3 };

struct subject {
	struct procedure_cycles procedure;
	struct cycles_cost blocks[BLOCKS], loop_costs[COUNT_OF(loops)];
	struct frequency frequencies[BLOCKS];
};

static void subject_init(struct subject *subject, const double cycles[BLOCKS])
{
	*subject = (struct subject){ .procedure = {
					     .cfg = { .graph = { .block_count = BLOCKS } },
					     .loops = { loops, COUNT_OF(loops), of_block },
					     .blocks = subject->blocks,
					     .loop_costs = subject->loop_costs,
					     .frequencies = { .blocks = subject->frequencies } } };
	for (uint32_t b = 0; b < BLOCKS; b++) {
		subject->blocks[b].cycles = cycles[b];
		subject->blocks[b].executed = 100 - cycles[b];
		subject->procedure.whole.cycles += cycles[b];
		for (uint32_t l = of_block[b]; l != FLOW_NO_LOOP; l = loops[l].parent) {
			subject->loop_costs[l].cycles += cycles[b];
			subject->loop_costs[l].executed += subject->blocks[b].executed;
		}
	}
}

/* "L0 .b4" for loop 0, then block 4 one loop deep. */
static void expect_rank(const struct subject *subject, const char *expected)
{
	struct ranked_part *parts = NULL;
	struct buffer text = { 0 };
	size_t count;
	assert_int_equal(cycles_rank(&subject->procedure, &parts, &count), 0);
	for (size_t i = 0; i < count; i++) {
		buffer_append_text(&text, i ? " " : "");
		for (uint32_t d = 0; d < parts[i].depth; d++)
			buffer_append_text(&text, ".");
		buffer_printf(&text, "%c%u", parts[i].is_loop ? 'L' : 'b', parts[i].number);
	}
	assert_string_equal(buffer_text(&text), expected);
	buffer_release(&text);
	free(parts);
}

static void a_loop_stands_before_what_is_in_it_and_the_dearest_first(void **state)
{
	(void)state;
	struct subject subject;
	subject_init(&subject, (double[]){ 3, 1, 20, 30, 2, 40, 45 });
	expect_rank(&subject, "L0 .L2 ..b3 .L1 ..b2 .b4 .b1 L3 .b6 b5 b0");
	subject_init(&subject, (double[]){ 3, 1, 20, 10, 50, 90, 45 });
	expect_rank(&subject, "b5 L0 .b4 .L1 ..b2 .L2 ..b3 .b1 L3 .b6 b0");
}

static void of_equal_parts_the_lower_address_is_first(void **state)
{
	(void)state;
	struct subject subject;
	subject_init(&subject, (double[]){ 0, 0, 0, 0, 0, 0, 0 });
	expect_rank(&subject, "b0 L0 .b1 .L1 ..b2 .L2 ..b3 .b4 b5 L3 .b6");
}

static void without_cycles_what_executed_most_is_first(void **state)
{
	(void)state;
	struct subject subject;
	subject_init(&subject, (double[]){ 3, 99, 98, 97, 96, 40, 45 });
	for (uint32_t b = 0; b < BLOCKS; b++)
		subject.blocks[b].cycles = NAN;
	for (size_t l = 0; l < COUNT_OF(loops); l++)
		subject.loop_costs[l].cycles = NAN;
	expect_rank(&subject, "b0 b5 L3 .b6 L0 .b4 .L2 ..b3 .L1 ..b2 .b1");
}

static void irreducible_loops_inside_one_another_are_one(void **state)
{
	(void)state;
	struct subject subject;
	subject_init(&subject, (double[]){ 3, 1, 20, 30, 2, 40, 45 });
	loops[0].irreducible = loops[2].irreducible = true;
	expect_rank(&subject, "L0 .b3 .L1 ..b2 .b4 .b1 L3 .b6 b5 b0");
	assert_int_equal(cycles_shown_loop(&subject.procedure.loops, 2), 0);
	assert_int_equal(cycles_shown_loop(&subject.procedure.loops, 1), 1);
	assert_int_equal(cycles_shown_loop(&subject.procedure.loops, FLOW_NO_LOOP), FLOW_NO_LOOP);
	loops[0].irreducible = false;
	expect_rank(&subject, "L0 .L2 ..b3 .L1 ..b2 .b4 .b1 L3 .b6 b5 b0");
	loops[2].irreducible = false;
}

static void surety_is_of_time_and_what_is_not_known_is_in_none(void **state)
{
	(void)state;
	struct subject subject;
	subject_init(&subject, (double[]){ 10, 20, 30, 5, 15, 12, 8 });
	static const struct frequency given[BLOCKS] = {
		{ .source = FREQUENCY_CLUSTER, .confidence = FREQUENCY_HIGH },
		{ .source = FREQUENCY_SUM, .confidence = FREQUENCY_LOW },
		{ .source = FREQUENCY_LIKELIHOOD, .confidence = FREQUENCY_MEDIUM },
		{ .source = FREQUENCY_UNKNOWN, .confidence = FREQUENCY_LOW },
		{ .source = FREQUENCY_PROPAGATED, .confidence = FREQUENCY_HIGH },
		{ .source = FREQUENCY_UNKNOWN, .confidence = FREQUENCY_HIGH },
		{ .source = FREQUENCY_SUM, .confidence = FREQUENCY_LOW },
	};
	for (uint32_t b = 0; b < BLOCKS; b++)
		subject.frequencies[b] = given[b];
	struct cycles_surety surety = cycles_surety(&subject.procedure);
	assert_float_equal(surety.high, 25, 1e-9);
	assert_float_equal(surety.medium, 30, 1e-9);
	assert_float_equal(surety.low, 28, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_stands_before_what_is_in_it_and_the_dearest_first),
		cmocka_unit_test(of_equal_parts_the_lower_address_is_first),
		cmocka_unit_test(without_cycles_what_executed_most_is_first),
		cmocka_unit_test(irreducible_loops_inside_one_another_are_one),
		cmocka_unit_test(surety_is_of_time_and_what_is_not_known_is_in_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
