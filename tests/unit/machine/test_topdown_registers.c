#include "machine/topdown_registers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Fields of level 1, then of level 2, from the lowest bits on. */
static uint64_t word(uint64_t level_1, uint64_t level_2)
{
	return __builtin_bswap32((uint32_t)level_1) | (uint64_t)__builtin_bswap32((uint32_t)level_2)
							      << 32;
}

static void assert_figure(const struct topdown *topdown, enum topdown_category category,
			  double value, double resolution, unsigned doubts)
{
	const struct topdown_figure *figure = &topdown->figures[category];
	assert_true(figure->known);
	assert_null(figure->why);
	if (fabs(figure->value - value) > 1e-9 || fabs(figure->resolution - resolution) > 1e-9)
		fail_msg("%s is %.12g +- %.12g, not %.12g +- %.12g",
			 topdown_category_name(category), figure->value, figure->resolution, value,
			 resolution);
	assert_int_equal(figure->doubts, doubts);
}

static void assert_absent(const struct topdown *topdown, const char *why)
{
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++) {
		assert_false(topdown->figures[i].known);
		assert_string_equal(topdown->figures[i].why, why);
	}
	assert_int_equal(topdown->sum_state, TOPDOWN_SUM_UNKNOWN);
}

static void fields_stand_in_the_order_of_the_categories(void **state)
{
	(void)state;
	uint64_t metrics = 0x8877665544332211;
	assert_int_equal(topdown_reading_field(metrics, TOPDOWN_RETIRING), 0x11);
	assert_int_equal(topdown_reading_field(metrics, TOPDOWN_BAD_SPECULATION), 0x22);
	assert_int_equal(topdown_reading_field(metrics, TOPDOWN_FRONTEND_BOUND), 0x33);
	assert_int_equal(topdown_reading_field(metrics, TOPDOWN_BACKEND_BOUND), 0x44);
	assert_int_equal(topdown_reading_field(metrics, TOPDOWN_HEAVY_OPERATIONS), 0x55);
	assert_int_equal(topdown_reading_field(metrics, TOPDOWN_BRANCH_MISPREDICTS), 0x66);
	assert_int_equal(topdown_reading_field(metrics, TOPDOWN_FETCH_LATENCY), 0x77);
	assert_int_equal(topdown_reading_field(metrics, TOPDOWN_MEMORY_BOUND), 0x88);
	assert_int_equal(TOPDOWN_RDPMC_SLOTS, 0x40000003);
	assert_int_equal(TOPDOWN_RDPMC_METRICS, 0x20000000);
}

/* 51 + 51 + 51 + 102 = 255: a fifth each, and two. */
static void all_since_a_reset_are_the_fields_themselves(void **state)
{
	(void)state;
	struct topdown t;
	double step = 0.5 / 255;
	struct topdown_reading none = { 0, 0 }, b = { 1000000, word(0x33333366, 0x33000033) };
	assert_int_equal(topdown_of_registers(none, b, 2, 48, &t), TOPDOWN_PAIR_GOOD);
	assert_figure(&t, TOPDOWN_RETIRING, 0.2, step, 0);
	assert_figure(&t, TOPDOWN_BACKEND_BOUND, 0.4, step, 0);
	assert_figure(&t, TOPDOWN_HEAVY_OPERATIONS, 0.2, step, 0);
	assert_figure(&t, TOPDOWN_LIGHT_OPERATIONS, 0, 2 * step, 0);
	assert_figure(&t, TOPDOWN_BRANCH_MISPREDICTS, 0, step, 0);
	assert_figure(&t, TOPDOWN_MACHINE_CLEARS, 0.2, 2 * step, 0);
	assert_figure(&t, TOPDOWN_CORE_BOUND, 0.2, 2 * step, 0);
	assert_int_equal(t.sum_state, TOPDOWN_SUM_HOLDS);
	assert_true(t.slots.known && t.slots.value == 1000000);
	assert_string_equal(t.figures[TOPDOWN_SMT_CONTENTION].why,
			    "the metrics register does not count slots of the other thread");
}

/* The shares of the whole do not change, those of the section do: 100 slots, then 300. */
static void a_section_is_the_difference_of_scaled_fields(void **state)
{
	(void)state;
	struct topdown t;
	/* 76 + 76 + 51 + 52 = 255 */
	struct topdown_reading a = { 100, word(0xff000000, 0) }, b = { 400, word(0x4c4c3334, 0) };
	assert_int_equal(topdown_of_registers(a, b, 1, 48, &t), TOPDOWN_PAIR_GOOD);
	assert_true(topdown_pair_scaled(a, b, TOPDOWN_RETIRING) == 76 * 400 - 255 * 100);
	double resolution = 0.5 / 255 * 500 / 300;
	assert_figure(&t, TOPDOWN_RETIRING, (76 * 400 - 255 * 100) / 255.0 / 300, resolution, 0);
	assert_figure(&t, TOPDOWN_BAD_SPECULATION, 76 * 400 / 255.0 / 300, resolution, 0);
	assert_figure(&t, TOPDOWN_BACKEND_BOUND, 52 * 400 / 255.0 / 300, resolution, 0);
	for (unsigned i = TOPDOWN_HEAVY_OPERATIONS; i < TOPDOWN_SMT_CONTENTION; i++)
		assert_string_equal(t.figures[i].why,
				    "the metrics register of this CPU has level 1 alone");
}

/* What the fields of `a` and `b` say without scaling is wrong: the control of the test above. */
static void differences_of_fields_alone_say_something_else(void **state)
{
	(void)state;
	struct topdown t;
	struct topdown_reading a = { 1000, word(0xff000000, 0) }, b = { 2000, word(0x807f0000, 0) };
	assert_int_equal(topdown_of_registers(a, b, 1, 48, &t), TOPDOWN_PAIR_GOOD);
	assert_true(t.figures[TOPDOWN_RETIRING].value < 0.01); /* not (0x80 - 0xff) / 255 nor 0.5 */
	assert_true(t.figures[TOPDOWN_BAD_SPECULATION].value > 0.99);
}

static void a_full_field_is_all_slots(void **state)
{
	(void)state;
	struct topdown t;
	uint64_t metrics = word(0x0000ff00, 0x0000ff00);
	struct topdown_reading a = { 1u << 20, metrics }, b = { 5u << 20, metrics };
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t), TOPDOWN_PAIR_GOOD);
	assert_figure(&t, TOPDOWN_FRONTEND_BOUND, 1, 0.5 / 255 * 6 / 4, 0);
	assert_figure(&t, TOPDOWN_FETCH_LATENCY, 1, 0.5 / 255 * 6 / 4, 0);
	assert_figure(&t, TOPDOWN_FETCH_BANDWIDTH, 0, 1.0 / 255 * 6 / 4, 0);
	assert_figure(&t, TOPDOWN_RETIRING, 0, 0.5 / 255 * 6 / 4, 0);
}

static void what_rounding_takes_below_zero_is_zero_and_more_is_in_doubt(void **state)
{
	(void)state;
	struct topdown t;
	struct topdown_reading a = { 1000, word(0x32cd0000, 0) }, b = { 1010, word(0x31ce0000, 0) };
	assert_int_equal(topdown_of_registers(a, b, 1, 48, &t), TOPDOWN_PAIR_GOOD);
	double resolution = 0.5 / 255 * 2010 / 10; /* 39 points */
	assert_figure(&t, TOPDOWN_RETIRING, 0, resolution, 0);
	assert_true((49 * 1010 - 50 * 1000) / 255.0 / 10 < 0);

	/* Three steps are beyond it. */
	a.metrics = word(0x34cb0000, 0);
	assert_int_equal(topdown_of_registers(a, b, 1, 48, &t), TOPDOWN_PAIR_GOOD);
	assert_figure(&t, TOPDOWN_RETIRING, (49 * 1010 - 52 * 1000) / 255.0 / 10, resolution,
		      TOPDOWN_BELOW_ZERO);
	assert_figure(&t, TOPDOWN_BAD_SPECULATION, (206 * 1010 - 203 * 1000) / 255.0 / 10,
		      resolution, TOPDOWN_ABOVE_ONE);
}

static void a_part_above_its_whole_is_in_doubt(void **state)
{
	(void)state;
	struct topdown t;
	struct topdown_reading none = { 0, 0 }, b = { 1000, word(0x32cd0000, 0x36000000) };
	assert_int_equal(topdown_of_registers(none, b, 2, 48, &t), TOPDOWN_PAIR_GOOD);
	assert_figure(&t, TOPDOWN_HEAVY_OPERATIONS, 54 / 255.0, 0.5 / 255, TOPDOWN_ABOVE_PARENT);
	assert_figure(&t, TOPDOWN_LIGHT_OPERATIONS, -4 / 255.0, 1.0 / 255, TOPDOWN_BELOW_ZERO);
	b.metrics = word(0x32cd0000, 0x33000000); /* by one step: rounding */
	assert_int_equal(topdown_of_registers(none, b, 2, 48, &t), TOPDOWN_PAIR_GOOD);
	assert_figure(&t, TOPDOWN_HEAVY_OPERATIONS, 51 / 255.0, 0.5 / 255, 0);
	assert_figure(&t, TOPDOWN_LIGHT_OPERATIONS, 0, 1.0 / 255, 0);
}

static void a_reset_in_between_is_found(void **state)
{
	(void)state;
	struct topdown t;
	uint64_t metrics = word(0x4040403f, 0);
	struct topdown_reading a = { 5000, metrics }, b = { 400, metrics };
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t), TOPDOWN_PAIR_RESET);
	assert_absent(&t, "the counters were reset in between");
	assert_false(t.slots.known);
	/* nor is a counter that was high up and is nearly empty a wrapped one, if it never got so
	 * far */
	a.slots = UINT64_C(1) << 47;
	b.slots = (UINT64_C(1) << 47) - 1;
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t), TOPDOWN_PAIR_RESET);
}

static void a_wrapped_counter_keeps_its_slots_and_loses_the_figures(void **state)
{
	(void)state;
	struct topdown t;
	uint64_t metrics = word(0x4040403f, 0);
	struct topdown_reading a = { (UINT64_C(1) << 48) - 100, metrics }, b = { 300, metrics };
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t), TOPDOWN_PAIR_WRAPPED);
	assert_absent(&t, "the slots counter overflowed in between");
	assert_true(t.slots.known && t.slots.value == 400);
	/* with another width it is no wrap */
	assert_int_equal(topdown_of_registers(a, b, 2, 55, &t), TOPDOWN_PAIR_RESET);
	/* bits above the width are not the counter's */
	a.slots = UINT64_C(0xffff000000000000) | 1000;
	b.slots = 2000;
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t), TOPDOWN_PAIR_GOOD);
	assert_true(t.slots.value == 1000);
}

static void the_longest_counts_do_not_overflow(void **state)
{
	(void)state;
	struct topdown t;
	uint64_t most = (UINT64_C(1) << TOPDOWN_MOST_SLOTS_BITS) - 1, metrics = word(0xff000000, 0);
	struct topdown_reading a = { 1, metrics }, b = { most, metrics };
	assert_int_equal(topdown_of_registers(a, b, 1, 64, &t), TOPDOWN_PAIR_GOOD);
	assert_true(topdown_pair_scaled(a, b, TOPDOWN_RETIRING) == (int64_t)(255 * (most - 1)));
	assert_figure(&t, TOPDOWN_RETIRING, 1, 0.5 / 255, 0);
}

static void nothing_between_two_readings_has_no_figures(void **state)
{
	(void)state;
	struct topdown t;
	struct topdown_reading a = { 5000, word(0x4040403f, 0) };
	assert_int_equal(topdown_of_registers(a, a, 2, 48, &t), TOPDOWN_PAIR_EMPTY);
	assert_absent(&t, "no slots were counted");
	assert_true(t.slots.known && t.slots.value == 0);
}

static void fields_that_are_no_shares_of_one_whole_are_refused(void **state)
{
	(void)state;
	struct topdown t;
	struct topdown_reading a = { 100, word(0x40404040 - 1, 0) }, b = { 200, 0 };
	static const char why[] = "the fields of the metrics register do not add up to all slots";
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t),
			 TOPDOWN_PAIR_TORN); /* switched off */
	assert_absent(&t, why);
	b.metrics = word(0xff400000, 0); /* saturated beside another */
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t), TOPDOWN_PAIR_TORN);
	b.metrics = word(0xff040000, 0); /* within what rounding does to four fields */
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t), TOPDOWN_PAIR_GOOD);
	b.metrics = word(0xff050000, 0);
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t), TOPDOWN_PAIR_TORN);
	a.metrics = word(0x40000000, 0);
	b.metrics = word(0xff000000, 0);
	assert_int_equal(topdown_of_registers(a, b, 2, 48, &t), TOPDOWN_PAIR_TORN);
}

static void a_reset_is_due_when_sections_lose_their_resolution(void **state)
{
	(void)state;
	uint64_t section = 1000000;
	for (double wanted = 0.0025; wanted < 0.2; wanted *= 2) {
		uint64_t most = topdown_slots_before_reset(section, wanted);
		assert_true(topdown_pair_resolution(most, most + section) <= wanted * (1 + 1e-12));
		assert_true(topdown_pair_resolution(most + 2, most + 2 + section) > wanted);
		assert_false(topdown_reset_due(most, section, wanted));
		assert_true(topdown_reset_due(most + 1, section, wanted));
	}
	/* section * (510 * resolution - 1) / 2 */
	assert_int_equal(topdown_slots_before_reset(1000, 0.01), 2050);
	/* finer than half a step: even the first section after a reset is not */
	assert_int_equal(topdown_slots_before_reset(section, 0.0019), 0);
	assert_true(topdown_reset_due(1, section, 0.0019));
	assert_int_equal(topdown_slots_before_reset(section, NAN), 0);
	assert_int_equal(topdown_slots_before_reset(UINT64_MAX, 1e300), INT64_MAX);
	assert_int_equal(topdown_slots_before_reset(0, 0.01), 0);
}

/*
 * Many sections, one after the other, of programs whose shares are known: each figure is within its
 * resolution when fields are rounded to the nearest step, and a much smaller one would not hold.
 */
static void figures_are_as_near_as_their_resolution_says(void **state)
{
	(void)state;
	uint32_t random = 1;
	double exact[TOPDOWN_LEVEL_1] = { 0 }, total = 0;
	struct topdown_reading last = { 0, 0 };
	double furthest = 0; /* in resolutions */
	for (unsigned i = 0; i < 2000; i++) {
		double shares[TOPDOWN_LEVEL_1], sum = 0, slots;
		for (unsigned k = 0; k < TOPDOWN_LEVEL_1; k++) {
			random = random * 1664525 + 1013904223;
			sum += shares[k] = random >> 8;
		}
		random = random * 1664525 + 1013904223;
		slots = 1000 + (random >> 12);
		total += slots;
		struct topdown_reading now = { (uint64_t)total, 0 };
		for (unsigned k = 0; k < TOPDOWN_LEVEL_1; k++) {
			exact[k] += slots * shares[k] / sum;
			now.metrics |= (uint64_t)lround(exact[k] / total * 255) << 8 * k;
		}
		struct topdown t;
		enum topdown_pair pair = topdown_of_registers(last, now, 1, 48, &t);
		last = now;
		assert_int_equal(pair, TOPDOWN_PAIR_GOOD);
		for (unsigned k = 0; k < TOPDOWN_LEVEL_1; k++) {
			double off = fabs(t.figures[k].value - shares[k] / sum);
			assert_true(off <= t.figures[k].resolution + 1e-6);
			furthest = fmax(furthest, off / t.figures[k].resolution);
		}
	}
	assert_true(furthest > 0.7);
}

static void a_section_that_ran_often_is_the_sum_of_its_pairs(void **state)
{
	(void)state;
	struct topdown t;
	struct topdown_total total = { 0 }, other = { 0 };
	uint64_t all = word(0xff000000, 0x80000000), half = word(0x807f0000, 0);
	/* 1000 slots of retiring; then 2000, of which 128 * 3000 - 255 * 1000 steps */
	struct topdown_reading none = { 0, 0 }, a = { 1000, all }, b = { 3000, half };
	assert_int_equal(topdown_total_add(&total, none, a, 48), TOPDOWN_PAIR_GOOD);
	assert_int_equal(topdown_total_add(&other, a, b, 48), TOPDOWN_PAIR_GOOD);
	assert_int_equal(topdown_total_add(&other, b, a, 48), TOPDOWN_PAIR_RESET);
	topdown_total_merge(&total, &other);
	assert_int_equal(total.pairs, 2);
	assert_int_equal(total.left_out[TOPDOWN_PAIR_RESET], 1);
	topdown_of_total(&total, 2, &t);
	double resolution = 0.5 / 255 * (1000 + 1000 + 3000) / 3000;
	assert_true(t.slots.value == 3000);
	assert_figure(&t, TOPDOWN_RETIRING, 128 / 255.0, resolution, 0);
	assert_figure(&t, TOPDOWN_BAD_SPECULATION, 127 / 255.0, resolution, 0);
	assert_figure(&t, TOPDOWN_HEAVY_OPERATIONS, 0, resolution, 0);
	assert_int_equal(t.sum_state, TOPDOWN_SUM_HOLDS);
}

static void a_total_without_a_good_pair_says_why(void **state)
{
	(void)state;
	struct topdown t;
	struct topdown_total total = { 0 };
	uint64_t metrics = word(0xff000000, 0);
	struct topdown_reading a = { 1000, metrics }, b = { 500, metrics };
	topdown_of_total(&total, 2, &t);
	assert_absent(&t, "no slots were counted");
	assert_false(t.slots.known);
	topdown_total_add(&total, a, b, 48);
	topdown_total_add(&total, a, b, 48);
	topdown_total_add(&total, a, a, 48);
	topdown_of_total(&total, 2, &t);
	assert_absent(&t, "the counters were reset in between");
}

static void a_full_total_takes_no_more(void **state)
{
	(void)state;
	struct topdown_total total = { .scaled = { INT64_MAX - 254 }, .slots = 1, .pairs = 1 };
	struct topdown_reading a = { 1, word(0xff000000, 0) }, b = { 2, word(0xff000000, 0) };
	struct topdown_total before = total;
	assert_int_equal(topdown_total_add(&total, a, b, 48), TOPDOWN_PAIR_WRAPPED);
	assert_int_equal(total.left_out[TOPDOWN_PAIR_WRAPPED], 1);
	assert_true(total.scaled[0] == before.scaled[0] && total.slots == before.slots);
	topdown_total_merge(&total, &before);
	assert_int_equal(total.left_out[TOPDOWN_PAIR_WRAPPED], 2);
	assert_true(total.scaled[0] == before.scaled[0] && total.pairs == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_stand_in_the_order_of_the_categories),
		cmocka_unit_test(all_since_a_reset_are_the_fields_themselves),
		cmocka_unit_test(a_section_is_the_difference_of_scaled_fields),
		cmocka_unit_test(differences_of_fields_alone_say_something_else),
		cmocka_unit_test(a_full_field_is_all_slots),
		cmocka_unit_test(what_rounding_takes_below_zero_is_zero_and_more_is_in_doubt),
		cmocka_unit_test(a_part_above_its_whole_is_in_doubt),
		cmocka_unit_test(a_reset_in_between_is_found),
		cmocka_unit_test(a_wrapped_counter_keeps_its_slots_and_loses_the_figures),
		cmocka_unit_test(the_longest_counts_do_not_overflow),
		cmocka_unit_test(nothing_between_two_readings_has_no_figures),
		cmocka_unit_test(fields_that_are_no_shares_of_one_whole_are_refused),
		cmocka_unit_test(a_section_that_ran_often_is_the_sum_of_its_pairs),
		cmocka_unit_test(a_total_without_a_good_pair_says_why),
		cmocka_unit_test(a_full_total_takes_no_more),
		cmocka_unit_test(a_reset_is_due_when_sections_lose_their_resolution),
		cmocka_unit_test(figures_are_as_near_as_their_resolution_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
