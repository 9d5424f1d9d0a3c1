/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "render/flame_colour.h"

#define ENOUGH 1000.0

static struct estimate value_of(double value)
{
	return (struct estimate){ ESTIMATE_VALUE, value, value, value };
}

static struct estimate between(double low, double value, double high)
{
	return (struct estimate){ ESTIMATE_INTERVAL, value, low, high };
}

static int class_of(enum flame_metric metric, double value)
{
	struct flame_scale scale = flame_scale_of(metric);
	return flame_class(&scale, value_of(value), ENOUGH);
}

static void the_middle_is_one_cycle_an_instruction(void **state)
{
	(void)state;
	assert_int_equal(class_of(FLAME_CPI, 1), FLAME_CLASS_MIDDLE);
	assert_int_equal(class_of(FLAME_CPI, 1.04), FLAME_CLASS_MIDDLE);
	assert_int_equal(class_of(FLAME_CPI, 1.06), 6);
	assert_int_equal(class_of(FLAME_CPI, 0.94), 4);
	assert_int_equal(class_of(FLAME_IPC, 0.94), 6); /* below 1 red */
	assert_int_equal(class_of(FLAME_IPC, 1.06), 4); /* above blue */
}

static void steps_are_half_octaves_and_the_ends_are_open(void **state)
{
	(void)state;
	static const struct {
		double cpi;
		int class_number;
	} known[] = { { 0, 0 },	   { 0.01, 0 }, { 0.25, 0 }, { 0.26, 1 }, { 0.36, 2 },
		      { 0.51, 3 }, { 0.8, 4 },	{ 1.3, 6 },  { 1.5, 7 },  { 2, 8 },
		      { 2.9, 9 },  { 3.99, 9 }, { 4, 10 },   { 900, 10 }, { INFINITY, 10 } };
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(class_of(FLAME_CPI, known[i].cpi), known[i].class_number);
}

/* On a narrow scale 5 % would be more than a step. */
static void the_middle_leaves_its_neighbours_room(void **state)
{
	(void)state;
	struct flame_scale scale = flame_scale_of(FLAME_CPI);
	struct error err;
	assert_int_equal(flame_scale_parse(&scale, "0.96:1:1.04", &err), 0);
	assert_int_equal(flame_class(&scale, value_of(1.002), ENOUGH), FLAME_CLASS_MIDDLE);
	assert_int_equal(flame_class(&scale, value_of(1.003), ENOUGH), FLAME_CLASS_MIDDLE + 1);
	assert_int_equal(flame_class(&scale, value_of(0.997), ENOUGH), FLAME_CLASS_MIDDLE - 1);
	assert_int_equal(flame_class(&scale, value_of(1.015), ENOUGH), FLAME_CLASS_MIDDLE + 2);
}

static void ipc_has_the_colour_of_its_cpi(void **state)
{
	(void)state;
	for (double cpi = 0.1; cpi < 10; cpi *= 1.0007)
		assert_int_equal(class_of(FLAME_CPI, cpi), class_of(FLAME_IPC, 1 / cpi));
	for (double cpi = 0.125; cpi <= 8; cpi *= 2) /* edges */
		assert_int_equal(class_of(FLAME_CPI, cpi), class_of(FLAME_IPC, 1 / cpi));
}

static void shares_have_a_class_for_ten_points(void **state)
{
	(void)state;
	assert_int_equal(class_of(FLAME_STALLS, 0), 0);
	assert_int_equal(class_of(FLAME_STALLS, 0.1), 0);
	assert_int_equal(class_of(FLAME_STALLS, 0.15), 1);
	assert_int_equal(class_of(FLAME_STALLS, 0.45), 4);
	assert_int_equal(class_of(FLAME_STALLS, 0.5), 5);
	assert_int_equal(class_of(FLAME_STALLS, 0.6), 7);
	assert_int_equal(class_of(FLAME_STALLS, 0.95), 10);
	assert_int_equal(class_of(FLAME_BACKEND, 0.95), 10);
	assert_int_equal(class_of(FLAME_RETIRING, 0.95), 0); /* much retires: it works */
}

static void half_and_double_lie_equally_far_from_no_change(void **state)
{
	(void)state;
	assert_int_equal(class_of(FLAME_DELTA, 1), FLAME_CLASS_MIDDLE);
	for (double change = 1.06; change < 3; change *= 1.01)
		assert_int_equal(class_of(FLAME_DELTA, change) + class_of(FLAME_DELTA, 1 / change),
				 FLAME_CLASSES - 1);
	assert_int_equal(class_of(FLAME_DELTA, 0.5), 0);
	assert_int_equal(class_of(FLAME_DELTA, 0), 0);	       /* vanished */
	assert_int_equal(class_of(FLAME_DELTA, INFINITY), 10); /* new */
}

static void few_samples_and_wide_intervals_have_no_colour(void **state)
{
	(void)state;
	struct flame_scale scale = flame_scale_of(FLAME_CPI);
	assert_int_equal(flame_class(&scale, between(1.9, 2, 2.1), 24.9), FLAME_CLASS_UNSURE);
	assert_int_equal(flame_class(&scale, between(1.9, 2, 2.1), 25), 8);
	assert_int_equal(flame_class(&scale, between(1.9, 2, 2.1), -1), 8); /* not known */
	/* one and a half steps are a factor of 1.68 */
	assert_int_equal(flame_class(&scale, between(2 / 1.67, 2, 2 * 1.67), ENOUGH), 8);
	assert_int_equal(flame_class(&scale, between(2 / 1.69, 2, 2 * 1.1), ENOUGH),
			 FLAME_CLASS_UNSURE);
	assert_int_equal(flame_class(&scale, between(2 / 1.1, 2, 2 * 1.69), ENOUGH),
			 FLAME_CLASS_UNSURE);
	/* beyond the end all is one colour */
	assert_int_equal(flame_class(&scale, between(6, 12, 200), ENOUGH), 10);
}

static void a_change_that_may_be_none_has_no_colour(void **state)
{
	(void)state;
	struct flame_scale scale = flame_scale_of(FLAME_DELTA);
	assert_int_equal(flame_class(&scale, between(0.9, 1.3, 1.9), ENOUGH), FLAME_CLASS_UNSURE);
	assert_int_equal(flame_class(&scale, between(1.1, 1.3, 1.9), ENOUGH), 7);
	/* surely no change: its own colour and not grey */
	assert_int_equal(flame_class(&scale, between(0.98, 1, 1.02), ENOUGH), FLAME_CLASS_MIDDLE);
}

static void what_is_not_known_is_not_the_middle(void **state)
{
	(void)state;
	struct flame_scale scale = flame_scale_of(FLAME_CPI);
	assert_int_equal(flame_class(&scale, (struct estimate){ .kind = ESTIMATE_ABSENT }, ENOUGH),
			 FLAME_CLASS_ABSENT);
	assert_int_equal(flame_class(&scale, value_of(NAN), ENOUGH), FLAME_CLASS_ABSENT);
	struct flame_scale plain = flame_scale_of(FLAME_NONE);
	assert_int_equal(flame_class(&plain, value_of(1), ENOUGH), FLAME_CLASS_ABSENT);
}

static void a_ratio_without_scale_takes_a_round_one(void **state)
{
	(void)state;
	static const struct {
		double whole, middle;
	} known[] = { { 0.0173, 0.02 }, { 1, 1 },  { 1.3, 1 },	{ 3.3, 5 },
		      { 3, 2 },		{ 8, 10 }, { 640, 500 } };
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct flame_scale scale = flame_scale_of(FLAME_RATIO);
		assert_false(scale.has_scale);
		flame_scale_derive(&scale, known[i].whole);
		assert_true(scale.has_scale && scale.derived);
		assert_float_equal(scale.middle, known[i].middle, 1e-12);
		assert_float_equal(scale.low, known[i].middle / 10, 1e-12);
		assert_float_equal(scale.high, known[i].middle * 10, 1e-9);
	}
	struct flame_scale scale = flame_scale_of(FLAME_RATIO);
	flame_scale_derive(&scale, 0);
	flame_scale_derive(&scale, NAN);
	flame_scale_derive(&scale, INFINITY);
	assert_false(scale.has_scale);
}

static void scales_are_read_in_the_metric_s_unit(void **state)
{
	(void)state;
	struct flame_scale scale = flame_scale_of(FLAME_CPI);
	assert_int_equal(flame_scale_parse(&scale, "0.5:1.5:10", NULL), 0);
	assert_true(scale.low == 0.5 && scale.middle == 1.5 && scale.high == 10);
	scale = flame_scale_of(FLAME_STALLS);
	assert_int_equal(flame_scale_parse(&scale, "0:25%:100 %", NULL), 0);
	assert_true(scale.low == 0 && scale.middle == 0.25 && scale.high == 1);
	scale = flame_scale_of(FLAME_DELTA);
	assert_int_equal(flame_scale_parse(&scale, "-20:0:25", NULL), 0);
	assert_float_equal(scale.low, 0.8, 1e-12);
	assert_float_equal(scale.high, 1.25, 1e-12);
}

static void wrong_scales_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = { "",	"1",	   "1:2",   "1:2:3:4", "a:b:c",
					     "1:2:3x",	"2:1:3",   "1:1:1", "0:1:4",   "-1:1:4",
					     "1:2:inf", "nan:1:2", "1::2",  ":1:2" };
	struct flame_scale scale = flame_scale_of(FLAME_CPI);
	struct error err;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(flame_scale_parse(&scale, wrong[i], &err), -EINVAL);
	assert_true(scale.low == 0.25 && scale.middle == 1 && scale.high == 4);
	assert_int_equal(flame_scale_parse(&scale, "4:1:2", &err), -EINVAL);
	assert_string_equal(err.text, "scale '4:1:2' does not rise");
	scale = flame_scale_of(FLAME_DELTA);
	assert_int_equal(flame_scale_parse(&scale, "-100:0:100", &err), -EINVAL);
	assert_string_equal(err.text, "scale '-100:0:100' starts at or below -100 %");
	scale = flame_scale_of(FLAME_PACKAGE);
	assert_int_equal(flame_scale_parse(&scale, "1:2:3", &err), -EINVAL);
}

static void every_value_has_the_class_that_the_legend_says(void **state)
{
	(void)state;
	static const enum flame_metric metrics[] = { FLAME_CPI,	     FLAME_IPC,	    FLAME_STALLS,
						     FLAME_RETIRING, FLAME_BACKEND, FLAME_DELTA };
	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		struct flame_scale scale = flame_scale_of(metrics[m]);
		for (int i = 0; i < FLAME_CLASSES; i++) {
			double low = i ? flame_scale_edge(&scale, i - 1) : scale.low * 0.9;
			double high = i < FLAME_CLASSES - 1 ? flame_scale_edge(&scale, i)
							    : scale.high * 1.1;
			assert_true(low < high);
			assert_int_equal(class_of(metrics[m], (low + high) / 2),
					 flame_scale_range_class(&scale, i));
		}
	}
}

static void the_legend_says_numbers_and_which_end_waits(void **state)
{
	(void)state;
	struct flame_legend legend;
	struct flame_scale scale = flame_scale_of(FLAME_CPI);
	flame_legend_init(&legend, &scale, span_of_text("cycles"), span_of_text("instructions"));
	assert_int_equal(legend.count, FLAME_CLASSES);
	assert_string_equal(legend.title, "CPI: cycles per instruction");
	assert_string_equal(legend.entries[0].range, "<= 0.25");
	assert_string_equal(legend.entries[3].range, "0.5 to 0.707");
	assert_string_equal(legend.entries[5].range, "0.952 to 1.05");
	assert_string_equal(legend.entries[5].tick, "1");
	assert_string_equal(legend.entries[10].range, ">= 4");
	assert_string_equal(legend.high, "waits: many cycles an instruction");
	assert_string_equal(legend.note, "");

	scale = flame_scale_of(FLAME_IPC);
	flame_legend_init(&legend, &scale, span_of_text("instructions"), span_of_text("cycles"));
	assert_int_equal(legend.entries[0].class_number, 10);
	assert_string_equal(legend.entries[0].range, "<= 0.25");
	assert_string_equal(legend.low, "waits: few instructions a cycle");

	scale = flame_scale_of(FLAME_DELTA);
	flame_legend_init(&legend, &scale, span_of_text("cycles"), (struct span){ 0 });
	assert_string_equal(legend.title, "change of cycles against before, in percent");
	assert_string_equal(legend.entries[0].range, "<= -50 %");
	assert_string_equal(legend.entries[5].tick, "0");
	assert_string_equal(legend.entries[10].range, ">= +100 %");

	scale = flame_scale_of(FLAME_STALLS);
	flame_legend_init(&legend, &scale, span_of_text("stalled-cycles-backend"),
			  span_of_text("cycles"));
	assert_string_equal(legend.title, "stalls: stalled-cycles-backend in percent of cycles");
	assert_string_equal(legend.entries[2].range, "20 % to 30 %");

	scale = flame_scale_of(FLAME_RATIO);
	flame_scale_derive(&scale, 0.0173);
	flame_legend_init(&legend, &scale, span_of_text("cache-misses"), span_of_text("loads"));
	assert_string_equal(legend.title, "cache-misses per loads");
	assert_string_equal(
		legend.note,
		"scale 0.002:0.02:0.2 taken from this graph; --scale fixes it for others");

	scale = flame_scale_of(FLAME_NONE);
	flame_legend_init(&legend, &scale, (struct span){ 0 }, (struct span){ 0 });
	assert_int_equal(legend.count, 0);
}

static void long_event_names_are_cut_in_the_legend(void **state)
{
	(void)state;
	char name[300];
	memset(name, 'e', sizeof(name));
	struct span event = { name, sizeof(name) };
	struct flame_legend legend;
	struct flame_scale scale = flame_scale_of(FLAME_RATIO);
	flame_legend_init(&legend, &scale, event, event);
	assert_in_range(strlen(legend.title), 100, sizeof(legend.title) - 1);
}

static void metrics_are_known_by_name(void **state)
{
	(void)state;
	enum flame_metric metric;
	assert_true(flame_metric_of("ipc", &metric));
	assert_int_equal(metric, FLAME_IPC);
	assert_true(flame_metric_of("none", &metric));
	assert_int_equal(metric, FLAME_NONE);
	assert_false(flame_metric_of("ratio", &metric));
	assert_false(flame_metric_of("", &metric));
}

static void values_are_written_in_the_metric_s_way(void **state)
{
	(void)state;
	char text[FLAME_LEGEND_TEXT];
	struct flame_scale scale = flame_scale_of(FLAME_CPI);
	flame_value_text(&scale, 1.834, text);
	assert_string_equal(text, "1.83");
	scale = flame_scale_of(FLAME_STALLS);
	flame_value_text(&scale, 0.42, text);
	assert_string_equal(text, "42.0 %");
	scale = flame_scale_of(FLAME_DELTA);
	flame_value_text(&scale, 199904.0 / 315804.0, text);
	assert_string_equal(text, "-36.7 %");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_middle_is_one_cycle_an_instruction),
		cmocka_unit_test(steps_are_half_octaves_and_the_ends_are_open),
		cmocka_unit_test(the_middle_leaves_its_neighbours_room),
		cmocka_unit_test(ipc_has_the_colour_of_its_cpi),
		cmocka_unit_test(shares_have_a_class_for_ten_points),
		cmocka_unit_test(half_and_double_lie_equally_far_from_no_change),
		cmocka_unit_test(few_samples_and_wide_intervals_have_no_colour),
		cmocka_unit_test(a_change_that_may_be_none_has_no_colour),
		cmocka_unit_test(what_is_not_known_is_not_the_middle),
		cmocka_unit_test(a_ratio_without_scale_takes_a_round_one),
		cmocka_unit_test(scales_are_read_in_the_metric_s_unit),
		cmocka_unit_test(wrong_scales_are_refused),
		cmocka_unit_test(every_value_has_the_class_that_the_legend_says),
		cmocka_unit_test(the_legend_says_numbers_and_which_end_waits),
		cmocka_unit_test(long_event_names_are_cut_in_the_legend),
		cmocka_unit_test(metrics_are_known_by_name),
		cmocka_unit_test(values_are_written_in_the_metric_s_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
