#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "base/error.h"
#include "machine/topdown_method.h"

static struct topdown_method method;
static struct topdown_count counts[TOPDOWN_EVENTS];
static struct topdown topdown;

static void use_table(const char *name)
{
	struct error err;
	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; topdown_table_name(i); i++)
		if (strcmp(topdown_table_name(i), name) == 0) {
			if (topdown_method_parse(topdown_table_text(i), name, FACT_NO, &method,
						 &err))
				fail_msg("%s", err.text);
			return;
		}
	fail_msg("no table '%s'", name);
}

static struct topdown_count *count_named(const char *name)
{
	for (size_t i = 0; i < method.event_count; i++)
		if (strcmp(method.events[i].name, name) == 0)
			return &counts[i];
	return NULL;
}

static void set_count(const char *name, uint64_t value)
{
	struct topdown_count *count = count_named(name);
	assert_non_null(count);
	*count = (struct topdown_count){ true, value, 1000, 1000 };
}

static double value_of(enum topdown_category category)
{
	const struct topdown_figure *figure = &topdown.figures[category];
	if (!figure->known)
		fail_msg("%s: %s", topdown_category_name(category), figure->why);
	return figure->value;
}

static void assert_near(double value, double wanted)
{
	if (fabs(value - wanted) > 1e-9)
		fail_msg("%.12g is not %.12g", value, wanted);
}

/* ---- published counts with what perf printed of them */

struct excerpt {
	double printed[TOPDOWN_CATEGORIES]; /* percent; NaN: not printed */
	size_t printed_count, counts;
};

/* What perf's names are in data/topdown. */
static const char *event_of(const char *name)
{
	static const struct {
		const char *part, *event;
	} names[] = {
		{ "slots", "slots" },
		{ "topdown-retiring", "topdown.retiring" },
		{ "topdown-bad-spec", "topdown.bad_spec" },
		{ "topdown-fe-bound", "topdown.fe_bound" },
		{ "topdown-be-bound", "topdown.be_bound" },
		{ "topdown-mem-bound", "topdown.mem_bound" },
		{ "INT_MISC.UOP_DROPPING", "int_misc.uop_dropping" },
		{ "INT_MISC.RECOVERY_CYCLES,cmask=1,edge", "int_misc.clears_count" },
	};
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (strcasestr(name, names[i].part))
			return names[i].event;
	return name;
}

static void take_count(char *text, struct excerpt *out)
{
	char name[80], digits[32];
	size_t size = 0;
	while (isspace((unsigned char)*text))
		text++;
	for (; isdigit((unsigned char)*text) || *text == ','; text++)
		if (*text != ',' && size < sizeof(digits) - 1)
			digits[size++] = *text;
	digits[size] = 0;
	if (!size || sscanf(text, " %79s", name) != 1 || !count_named(event_of(name)))
		return;
	set_count(event_of(name), strtoull(digits, NULL, 10));
	out->counts++;
}

static void take_percentage(const char *text, struct excerpt *out)
{
	double percent;
	char name[48];
	if (sscanf(text, " %lf %% %47[a-z_ ]", &percent, name) != 2)
		return;
	char *word = strncmp(name, "tma_", 4) == 0 ? name + 4 : name;
	for (char *letter = word; *letter; letter++)
		if (*letter == ' ')
			*letter = '_';
	while (word[strlen(word) - 1] == '_')
		word[strlen(word) - 1] = 0;
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++)
		if (strcmp(topdown_category_name(i), word) == 0) {
			out->printed[i] = percent;
			out->printed_count++;
		}
}

/* Section `letter` of a file of tests/data/topdown, into counts[]. */
static void read_excerpt(const char *file_name, char letter, struct excerpt *out)
{
	const char *source = getenv("SOURCE");
	char path[4096], line[512], section = 0;
	*out = (struct excerpt){ .printed_count = 0 };
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++)
		out->printed[i] = NAN;
	snprintf(path, sizeof(path), "%s/tests/data/topdown/%s", source ? source : CULPRIT_SOURCE,
		 file_name);
	FILE *file = fopen(path, "r");
	if (!file)
		fail_msg("cannot open '%s'", path);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "## ", 3) == 0)
			section = line[3];
		if (section != letter || line[0] == '#')
			continue;
		char *hash = strchr(line, '#');
		if (hash) {
			*hash = 0;
			take_percentage(hash + 1, out);
		}
		take_count(line, out);
	}
	fclose(file);
}

static void assert_printed(const struct excerpt *excerpt)
{
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++)
		if (!isnan(excerpt->printed[i])) {
			char ours[16], theirs[16];
			snprintf(ours, sizeof(ours), "%.1f",
				 100 * value_of((enum topdown_category)i));
			snprintf(theirs, sizeof(theirs), "%.1f", excerpt->printed[i]);
			if (strcmp(ours, theirs) != 0)
				fail_msg("%s is %s, perf printed %s", topdown_category_name(i),
					 ours, theirs);
		}
}

static void uncorrected_counts_give_what_perf_stat_printed(void **state)
{
	(void)state;
	struct excerpt a;
	use_table("ice-lake");
	read_excerpt("perf-stat-intel.txt", 'A', &a);
	assert_int_equal(a.counts, 5);
	assert_int_equal(a.printed_count, 4);
	topdown_of_counts(&method, counts, &topdown);
	assert_printed(&a);
	assert_false(topdown.corrected);
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_HOLDS);
	assert_near(topdown.sum, 1588216.0 / 1585555);
	assert_true(topdown.slots.value == 1585555);
	/* Shares of the slots would print 25.9 of what is 25.8 of the sum. */
	assert_true(410378.0 / 1585555 > 0.2585 && value_of(TOPDOWN_BAD_SPECULATION) < 0.2585);
}

static void corrected_counts_give_what_the_metrics_of_perf_printed(void **state)
{
	(void)state;
	struct excerpt b;
	use_table("ice-lake");
	read_excerpt("perf-stat-intel.txt", 'B', &b);
	assert_int_equal(b.counts, 7);
	assert_int_equal(b.printed_count, 4);
	topdown_of_counts(&method, counts, &topdown);
	assert_true(topdown.corrected);
	assert_printed(&b);
	/* and one correction alone is none: 411266 of 998788, not 40.9 */
	count_named("int_misc.clears_count")->known = false;
	topdown_of_counts(&method, counts, &topdown);
	assert_false(topdown.corrected);
	assert_near(value_of(TOPDOWN_FRONTEND_BOUND), 411266.0 / 998788);
	assert_string_equal(topdown.figures[TOPDOWN_FETCH_LATENCY].why,
			    "int_misc.clears_count was not counted");
}

static void level_2_is_what_was_counted_of_it(void **state)
{
	(void)state;
	struct excerpt c;
	use_table("golden-cove");
	read_excerpt("perf-stat-intel.txt", 'C', &c);
	assert_int_equal(c.counts, 6);
	topdown_of_counts(&method, counts, &topdown);
	double four = 15867565250.0 + 11738022218 + 6151265424 + 20445917581;
	assert_near(value_of(TOPDOWN_RETIRING), 15867565250 / four);
	assert_near(value_of(TOPDOWN_MEMORY_BOUND), 15655580731 / four);
	assert_near(value_of(TOPDOWN_CORE_BOUND), (20445917581 - 15655580731) / four);
	assert_string_equal(topdown.figures[TOPDOWN_HEAVY_OPERATIONS].why,
			    "topdown.heavy_ops was not counted");
	assert_string_equal(topdown.figures[TOPDOWN_LIGHT_OPERATIONS].why,
			    "topdown.heavy_ops was not counted");
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_HOLDS); /* 1.018: near the edge */
	assert_near(topdown.sum, four / 53259156071);
}

static void zen_4s_counts_give_what_the_metrics_of_perf_printed(void **state)
{
	(void)state;
	struct excerpt excerpt;
	use_table("zen4");
	read_excerpt("perf-stat-amd.txt", 'D', &excerpt);
	assert_int_equal(excerpt.counts, 6);
	assert_int_equal(excerpt.printed_count, 5);
	topdown_of_counts(&method, counts, &topdown);
	assert_printed(&excerpt);
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_HOLDS);
	assert_true(fabs(topdown.sum - 1) < 0.001);

	use_table("zen4");
	read_excerpt("perf-stat-amd.txt", 'E', &excerpt);
	assert_int_equal(excerpt.counts, 11);
	assert_int_equal(excerpt.printed_count, 7);
	topdown_of_counts(&method, counts, &topdown);
	assert_printed(&excerpt);
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_UNKNOWN);
	assert_string_equal(topdown.figures[TOPDOWN_SMT_CONTENTION].why,
			    "de_no_dispatch_per_slot.smt_contention was not counted");
}

/* ---- what counts can lack */

static void set_zen(uint64_t smt_contention)
{
	use_table("zen4");
	set_count("ls_not_halted_cyc", 1000);
	set_count("ex_ret_ops", 3000);
	set_count("de_src_op_disp.all", 3600);
	set_count("de_no_dispatch_per_slot.no_ops_from_frontend", 600);
	set_count("de_no_dispatch_per_slot.backend_stalls", 1200);
	set_count("de_no_dispatch_per_slot.smt_contention", smt_contention);
}

static void a_sum_that_is_not_all_slots_is_said_to_be_off(void **state)
{
	(void)state;
	set_zen(600);
	topdown_of_counts(&method, counts, &topdown);
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_HOLDS);
	assert_near(topdown.sum, 1);
	set_zen(0);
	topdown_of_counts(&method, counts, &topdown);
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_OFF);
	assert_near(topdown.sum, 0.9);
	assert_near(value_of(TOPDOWN_RETIRING), 0.5); /* left as it is */
}

static void a_rest_of_the_others_is_no_check(void **state)
{
	(void)state;
	use_table("goldmont");
	topdown_of_counts(&method, counts, &topdown);
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_UNKNOWN);
	set_count("cycles", 1000);
	set_count("uops_not_delivered.any", 1500);
	set_count("uops_issued.any", 2500);
	set_count("uops_retired.any", 2400);
	set_count("issue_slots_not_consumed.recovery", 200);
	topdown_of_counts(&method, counts, &topdown);
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_BY_CONSTRUCTION);
	assert_near(value_of(TOPDOWN_BACKEND_BOUND), -0.4);
	assert_int_equal(topdown.figures[TOPDOWN_BACKEND_BOUND].doubts, TOPDOWN_BELOW_ZERO);
	set_count("uops_retired.any", 2600); /* more than issued: another skew */
	topdown_of_counts(&method, counts, &topdown);
	assert_near(value_of(TOPDOWN_BAD_SPECULATION), 0.1 / 3);
}

static void stalled_cycles_are_no_slots(void **state)
{
	(void)state;
	use_table("neoverse-n1");
	set_count("cycles", 1000);
	set_count("stall_frontend", 100);
	set_count("stall_backend", 250);
	topdown_of_counts(&method, counts, &topdown);
	assert_int_equal(topdown.unit, TOPDOWN_CYCLES);
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_UNKNOWN);
	assert_near(value_of(TOPDOWN_FRONTEND_BOUND), 0.1);
	assert_near(value_of(TOPDOWN_BACKEND_BOUND), 0.25);
	assert_string_equal(topdown.figures[TOPDOWN_RETIRING].why,
			    "Neoverse N1 counts stalled cycles, not slots");
}

static void nothing_counted_is_nothing_known(void **state)
{
	(void)state;
	set_zen(0);
	memset(counts, 0, sizeof(counts));
	topdown_of_counts(&method, counts, &topdown);
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++) {
		assert_false(topdown.figures[i].known);
		assert_non_null(strstr(topdown.figures[i].why, " was not counted"));
	}
	assert_false(topdown.slots.known);
	assert_int_equal(topdown.sum_state, TOPDOWN_SUM_UNKNOWN);
}

static void no_slots_divide_nothing(void **state)
{
	(void)state;
	set_zen(0);
	set_count("ls_not_halted_cyc", 0);
	topdown_of_counts(&method, counts, &topdown);
	assert_string_equal(topdown.figures[TOPDOWN_RETIRING].why,
			    "a count that it is divided by is 0");
	assert_true(topdown.slots.known && topdown.slots.value == 0);
	/* no branch was mispredicted and nothing was cleared: bad speculation has no parts */
	set_zen(600);
	set_count("ex_ret_brn_misp", 0);
	set_count("resyncs_or_nc_redirects", 0);
	topdown_of_counts(&method, counts, &topdown);
	assert_near(value_of(TOPDOWN_BAD_SPECULATION), 0.1);
	assert_false(topdown.figures[TOPDOWN_BRANCH_MISPREDICTS].known);
}

static void counts_of_a_part_of_the_time_are_scaled_and_marked(void **state)
{
	(void)state;
	set_zen(600);
	*count_named("ex_ret_ops") = (struct topdown_count){ true, 750, 1000, 250 };
	topdown_of_counts(&method, counts, &topdown);
	assert_near(value_of(TOPDOWN_RETIRING), 0.5);
	assert_near(topdown.running_share, 0.25);
	assert_int_equal(topdown.figures[TOPDOWN_RETIRING].doubts, TOPDOWN_EXTRAPOLATED);
	assert_int_equal(topdown.figures[TOPDOWN_BAD_SPECULATION].doubts, TOPDOWN_EXTRAPOLATED);
	assert_int_equal(topdown.figures[TOPDOWN_FRONTEND_BOUND].doubts, 0);
	*count_named("ex_ret_ops") = (struct topdown_count){ true, 0, 1000, 0 };
	topdown_of_counts(&method, counts, &topdown);
	assert_string_equal(topdown.figures[TOPDOWN_RETIRING].why, "ex_ret_ops was not counted");
	assert_near(topdown.running_share, 1);
}

static void counts_of_the_metrics_register_have_its_steps(void **state)
{
	(void)state;
	double step = 0.5 / 255;
	use_table("golden-cove");
	set_count("slots", 255000);
	set_count("topdown.retiring", 51000);
	set_count("topdown.bad_spec", 51000);
	set_count("topdown.fe_bound", 51000);
	set_count("topdown.be_bound", 102000);
	set_count("topdown.heavy_ops", 52000); /* a step above its whole */
	set_count("topdown.br_mispredict", 0);
	set_count("topdown.fetch_lat", 51000);
	set_count("topdown.mem_bound", 51000);
	topdown_of_counts(&method, counts, &topdown);
	/* d(r/s) = (1 - r/s) * step of r, and r/s * step of each of the other three */
	double wanted = step * (0.8 + 3 * 0.2);
	assert_true(fabs(topdown.figures[TOPDOWN_RETIRING].resolution - wanted) < 0.02 * wanted);
	assert_near(value_of(TOPDOWN_LIGHT_OPERATIONS), 0); /* -1/255, within rounding */
	assert_int_equal(topdown.figures[TOPDOWN_LIGHT_OPERATIONS].doubts, 0);
	assert_int_equal(topdown.figures[TOPDOWN_HEAVY_OPERATIONS].doubts, 0);
	assert_true(topdown.slots.resolution == 0);
	assert_near(topdown.sum, 1);
	assert_true(fabs(topdown.sum_resolution - 4 * step) < 1e-9);
	set_count("topdown.heavy_ops", 60000);
	topdown_of_counts(&method, counts, &topdown);
	assert_int_equal(topdown.figures[TOPDOWN_LIGHT_OPERATIONS].doubts, TOPDOWN_BELOW_ZERO);
	assert_int_equal(topdown.figures[TOPDOWN_HEAVY_OPERATIONS].doubts, TOPDOWN_ABOVE_PARENT);
	/* counts that are no fields have no steps */
	set_zen(600);
	topdown_of_counts(&method, counts, &topdown);
	assert_true(topdown.figures[TOPDOWN_RETIRING].resolution == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uncorrected_counts_give_what_perf_stat_printed),
		cmocka_unit_test(corrected_counts_give_what_the_metrics_of_perf_printed),
		cmocka_unit_test(level_2_is_what_was_counted_of_it),
		cmocka_unit_test(zen_4s_counts_give_what_the_metrics_of_perf_printed),
		cmocka_unit_test(a_sum_that_is_not_all_slots_is_said_to_be_off),
		cmocka_unit_test(a_rest_of_the_others_is_no_check),
		cmocka_unit_test(stalled_cycles_are_no_slots),
		cmocka_unit_test(nothing_counted_is_nothing_known),
		cmocka_unit_test(no_slots_divide_nothing),
		cmocka_unit_test(counts_of_a_part_of_the_time_are_scaled_and_marked),
		cmocka_unit_test(counts_of_the_metrics_register_have_its_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
