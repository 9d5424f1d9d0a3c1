/*
 * Figures against an oracle that computes in fractions and was written from the makers' documents
 * (topdown_oracle.py).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "base/error.h"
#include "machine/topdown_method.h"
#include "machine/topdown_registers.h"

#define ABSENT NAN

struct register_case {
	struct topdown_reading a, b;
	int64_t scaled[2 * TOPDOWN_LEVEL_1];
	double ratios[TOPDOWN_SMT_CONTENTION];
	double resolution;
};

struct method_case {
	const char *table;
	bool smt, corrected;
	struct {
		const char *name;
		uint64_t count;
	} counts[TOPDOWN_EVENTS];
	double figures[TOPDOWN_CATEGORIES];
};

#include "topdown_cases.h"

static bool near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-9 * (1 + fabs(wanted));
}

/* What is left of a figure that is out of range by no more than its resolution. */
static double judged(double value, double resolution)
{
	if (value < 0 && value >= -resolution)
		return 0;
	return value > 1 && value <= 1 + resolution ? 1 : value;
}

static void pairs_of_readings_are_scaled_and_divided_as_documented(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(register_cases); i++) {
		const struct register_case *c = &register_cases[i];
		struct topdown topdown;
		assert_int_equal(topdown_of_registers(c->a, c->b, 2, TOPDOWN_SLOTS_BITS, &topdown),
				 TOPDOWN_PAIR_GOOD);
		assert_true(near(topdown_pair_resolution(c->a.slots, c->b.slots), c->resolution));
		for (unsigned k = 0; k < TOPDOWN_SMT_CONTENTION; k++) {
			const struct topdown_figure *figure = &topdown.figures[k];
			bool rest = k >= TOPDOWN_LIGHT_OPERATIONS;
			double resolution = c->resolution * (rest ? 2 : 1);
			if (!rest)
				assert_true(
					topdown_pair_scaled(c->a, c->b, (enum topdown_category)k) ==
					c->scaled[k]);
			assert_true(figure->known);
			assert_true(near(figure->resolution, resolution));
			double wanted = judged(c->ratios[k], resolution);
			if (!near(figure->value, wanted))
				fail_msg("pair %zu, %s: %.17g is not %.17g", i,
					 topdown_category_name(k), figure->value, wanted);
			assert_int_equal(!!(figure->doubts & TOPDOWN_BELOW_ZERO), wanted < 0);
			assert_int_equal(!!(figure->doubts & TOPDOWN_ABOVE_ONE), wanted > 1);
		}
	}
}

static uint64_t count_of(const struct method_case *c, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(c->counts) && c->counts[i].name; i++)
		if (strcmp(c->counts[i].name, name) == 0)
			return c->counts[i].count;
	return UINT64_MAX;
}

static void parse_table(const char *name, bool smt, struct topdown_method *method)
{
	struct error err;
	for (size_t i = 0; topdown_table_name(i); i++)
		if (strcmp(topdown_table_name(i), name) == 0) {
			if (topdown_method_parse(topdown_table_text(i), name,
						 smt ? FACT_YES : FACT_NO, method, &err))
				fail_msg("%s", err.text);
			return;
		}
	fail_msg("no table '%s'", name);
}

static void methods_compute_what_their_makers_documents_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(method_cases); i++) {
		const struct method_case *c = &method_cases[i];
		static struct topdown_method method;
		struct topdown_count counts[TOPDOWN_EVENTS] = { { .known = false } };
		struct topdown topdown;
		size_t given = 0;
		parse_table(c->table, c->smt, &method);
		while (given < COUNT_OF(c->counts) && c->counts[given].name)
			given++;
		for (size_t e = 0; e < method.event_count; e++) {
			uint64_t count = count_of(c, method.events[e].name);
			counts[e] = (struct topdown_count){ .known = count != UINT64_MAX,
							    .value = count,
							    .enabled_ns = 5,
							    .running_ns = 5 };
			given -= counts[e].known;
		}
		assert_int_equal(given, 0); /* the method counts what the oracle needs */
		topdown_of_counts(&method, counts, &topdown);
		assert_int_equal(topdown.corrected, c->corrected);
		for (unsigned k = 0; k < TOPDOWN_CATEGORIES; k++) {
			const struct topdown_figure *figure = &topdown.figures[k];
			double wanted = judged(c->figures[k], figure->resolution);
			if (figure->known != !isnan(wanted))
				fail_msg("case %zu of '%s', %s: %s", i, c->table,
					 topdown_category_name(k),
					 figure->known ? "known" : figure->why);
			if (figure->known && !near(figure->value, wanted))
				fail_msg("case %zu of '%s', %s: %.17g is not %.17g", i, c->table,
					 topdown_category_name(k), figure->value, wanted);
			if (!figure->known)
				assert_non_null(figure->why);
		}
	}
}

static void every_table_has_cases(void **state)
{
	(void)state;
	for (size_t i = 0; topdown_table_name(i); i++) {
		bool found = false;
		for (size_t c = 0; c < COUNT_OF(method_cases); c++)
			found |= strcmp(method_cases[c].table, topdown_table_name(i)) == 0;
		if (!found)
			fail_msg("no case of '%s'", topdown_table_name(i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_of_readings_are_scaled_and_divided_as_documented),
		cmocka_unit_test(methods_compute_what_their_makers_documents_say),
		cmocka_unit_test(every_table_has_cases),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
