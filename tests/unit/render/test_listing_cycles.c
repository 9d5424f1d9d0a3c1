/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>

#include "base/buffer.h"
#include "render/listing_cycles.h"

static void expect_cpi(double cpi, const char *expected)
{
	char text[CYCLES_TEXT];
	cycles_text_cpi(cpi, text);
	assert_string_equal(text, expected);
}

static void a_cpi_keeps_three_digits_and_says_when_it_is_not_known(void **state)
{
	(void)state;
	expect_cpi(0.62, "0.62");
	expect_cpi(9.994, "9.99");
	expect_cpi(9.996, "10.0");
	expect_cpi(18, "18.0");
	expect_cpi(114.5, "114");
	expect_cpi(0, "0.00");
	expect_cpi(NAN, "-");
}

static void expect_interval(double low, double high, const char *expected)
{
	char text[CYCLES_TEXT];
	cycles_text_interval(low, high, text);
	assert_string_equal(text, expected);
}

static void an_interval_has_both_ends_or_says_which_it_lacks(void **state)
{
	(void)state;
	expect_interval(10.7, 10.84, "10.7 to 10.8");
	expect_interval(0.5, INFINITY, "0.50 or more");
	expect_interval(NAN, NAN, "-");
	expect_interval(1, NAN, "-");
}

static void expect_executions(enum cycles_scale scale, double value, enum frequency_source source,
			      enum frequency_confidence confidence, const char *expected)
{
	const struct procedure_cycles procedure = { .scale = scale };
	const struct cycle_columns columns = { .procedure = &procedure, .most_executed = 4e6 };
	const struct frequency frequency = { .value = value,
					     .source = source,
					     .confidence = confidence };
	char text[CYCLES_TEXT];
	cycles_text_executions(&columns, &frequency, text);
	assert_string_equal(text, expected);
}

static void executions_are_counts_with_their_confidence(void **state)
{
	(void)state;
	expect_executions(CYCLES_ABSOLUTE, 1.23e6, FREQUENCY_CLUSTER, FREQUENCY_HIGH, "1.230 M =");
	expect_executions(CYCLES_BY_CLOCK, 4711, FREQUENCY_SUM, FREQUENCY_MEDIUM, "4.711 k ~");
	expect_executions(CYCLES_ABSOLUTE, 12, FREQUENCY_PROPAGATED, FREQUENCY_LOW, "12 ?");
	expect_executions(CYCLES_ABSOLUTE, 0.25, FREQUENCY_LIKELIHOOD, FREQUENCY_LOW, "0.25 ?");
	expect_executions(CYCLES_ABSOLUTE, 0, FREQUENCY_LIKELIHOOD, FREQUENCY_LOW, "0 ?");
}

static void relative_executions_are_of_the_most_executed_block(void **state)
{
	(void)state;
	expect_executions(CYCLES_RELATIVE, 4e6, FREQUENCY_LIKELIHOOD, FREQUENCY_MEDIUM, "1.000 ~");
	expect_executions(CYCLES_RELATIVE, 1e6, FREQUENCY_LIKELIHOOD, FREQUENCY_LOW, "0.250 ?");
	expect_executions(CYCLES_RELATIVE, 400, FREQUENCY_LIKELIHOOD, FREQUENCY_LOW, "<0.001 ?");
	expect_executions(CYCLES_RELATIVE, 0, FREQUENCY_LIKELIHOOD, FREQUENCY_LOW, "0.000 ?");
}

static void unknown_executions_are_no_number_and_have_no_confidence(void **state)
{
	(void)state;
	expect_executions(CYCLES_ABSOLUTE, NAN, FREQUENCY_UNKNOWN, FREQUENCY_HIGH, "-  ");
	expect_executions(CYCLES_RELATIVE, NAN, FREQUENCY_UNKNOWN, FREQUENCY_LOW, "-  ");
}

static void a_nest_of_loops_is_named_from_the_inside(void **state)
{
	(void)state;
	struct cfg_instruction instructions[5];
	struct cfg_block blocks[5];
	struct flow_loop list[5];
	for (uint32_t i = 0; i < 5; i++) {
		instructions[i] = (struct cfg_instruction){ .vaddr = 0x1000 + 16 * i };
		blocks[i] = (struct cfg_block){ .first = i, .count = 1 };
		list[i] = (struct flow_loop){ .header = i,
					      .parent = i ? i - 1 : FLOW_NO_LOOP,
					      .depth = i + 1 };
	}
	const struct procedure_cycles procedure = {
		.cfg = { .instructions = instructions, .blocks = blocks },
		.loops = { .list = list, .count = 5 },
	};
	static const char *const expected[] = {
		"in the loop at 1000",
		"in the loop at 1010, inside that at 1000",
		"in the loop at 1020, inside that at 1010, 1000",
		"in the loop at 1030, inside that at 1020, 1010 and 1 more",
		"in the loop at 1040, inside that at 1030, 1020 and 2 more",
	};
	for (uint32_t i = 0; i < 5; i++) {
		struct buffer text = { 0 };
		cycles_put_loops(&procedure, i, &text);
		assert_string_equal(buffer_text(&text), expected[i]);
		buffer_release(&text);
	}
	struct buffer text = { 0 };
	cycles_put_loops(&procedure, FLOW_NO_LOOP, &text);
	assert_int_equal(text.size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpi_keeps_three_digits_and_says_when_it_is_not_known),
		cmocka_unit_test(an_interval_has_both_ends_or_says_which_it_lacks),
		cmocka_unit_test(executions_are_counts_with_their_confidence),
		cmocka_unit_test(relative_executions_are_of_the_most_executed_block),
		cmocka_unit_test(unknown_executions_are_no_number_and_have_no_confidence),
		cmocka_unit_test(a_nest_of_loops_is_named_from_the_inside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
