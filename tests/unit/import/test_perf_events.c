#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "import/formats.h"
#include "import/perf_data/perf_data_events.h"
#include "import/perf_data/perf_data_types.h"
#include "import/perf_data/perf_data_units.h"
#include "perf_data_fixture.h"

#define TYPE                                                                                       \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD)

static void put_attr(struct perf_file *file, uint32_t type, uint64_t config, uint64_t id)
{
	perf_record_begin(file, PERF_FILE_ATTR, 0);
	perf_put_u32(file, type);
	perf_put_u32(file, 64);
	perf_put_u64(file, config);
	perf_put_u64(file, 500);
	perf_put_u64(file, TYPE);
	for (int i = 0; i < 4; i++)
		perf_put_u64(file, 0);
	perf_put_u64(file, id);
	perf_record_end(file);
}

static void put_update(struct perf_file *file, uint64_t type, uint64_t id, const char *text)
{
	perf_record_begin(file, PERF_FILE_EVENT_UPDATE, 0);
	perf_put_u64(file, type);
	perf_put_u64(file, id);
	perf_put_text(file, text);
	perf_record_end(file);
}

static void put_scale(struct perf_file *file, uint64_t id, double scale)
{
	uint64_t bits;
	memcpy(&bits, &scale, sizeof(bits));
	perf_record_begin(file, PERF_FILE_EVENT_UPDATE, 0);
	perf_put_u64(file, PERF_UPDATE_SCALE);
	perf_put_u64(file, id);
	perf_put_u64(file, bits);
	perf_record_end(file);
}

/* Two samples at different places, of all together `period` times two and one. */
static void put_samples(struct perf_file *file, uint64_t id, uint64_t period)
{
	for (uint64_t i = 0; i < 2; i++)
		put_sample(file, TYPE,
			   &(struct sample){ .ip = TEXT + i * 16,
					     .time = 20 + i,
					     .id = id,
					     .period = period + i,
					     .pid = 7,
					     .mode = PERF_RECORD_MISC_USER });
}

static uint64_t sum_of(const struct profile *profile, uint64_t event, double *squares)
{
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	uint64_t sum = 0;
	*squares = 0;
	for (size_t row = 0; row < flat->count; row++)
		if (table_keys(flat, row)[FLAT_EVENT] == event) {
			sum += table_values(flat, row)[CELL_ESTIMATE];
			*squares += (double)table_values(flat, row)[CELL_SQUARES_LOW];
		}
	return sum;
}

static void must_count(const struct perf_file *file, const char *unit, uint64_t decimals,
		       uint64_t sum, const char *said)
{
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	double squares;
	read_file(file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	struct profile_event event = profile_event(outcome.profile, 1);
	assert_true(span_equal(event.unit, span_of_text(unit)));
	assert_int_equal(event.scale, decimals);
	assert_int_equal(sum_of(outcome.profile, 1, &squares), sum);
	assert_string_equal(buffer_text(&outcome.said), said);
}

enum order { UPDATES_FIRST, ATTR_FIRST };

/* A pipe of one event with a unit and a scale. */
static void begin_measured(struct perf_file *file, enum order order, uint32_t type, uint64_t config,
			   const char *unit, double scale)
{
	perf_file_begin_pipe(file);
	if (order == ATTR_FIRST)
		put_attr(file, type, config, 42);
	if (unit) {
		put_update(file, PERF_UPDATE_UNIT, 42, "pages"); /* the last word counts */
		put_update(file, PERF_UPDATE_UNIT, 42, unit);
		put_scale(file, 42, scale);
	}
	if (order == UPDATES_FIRST)
		put_attr(file, type, config, 42);
}

/* perf 6.1 writes 'msec' and 1e-6 for clocks, older ones nothing. */
static void a_clock_counts_nanoseconds_whatever_the_file_says(void **state)
{
	(void)state;
	static const struct {
		const char *unit;
		double scale;
	} told[] = { { "msec", 1e-6 }, { "ns", 1 }, { "Joules", 0.5 }, { NULL, 0 } };
	for (size_t i = 0; i < 8; i++) {
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = i >= 4 };
		begin_measured(&file, ATTR_FIRST, PERF_TYPE_SOFTWARE,
			       i % 2 ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK,
			       told[i % 4].unit, told[i % 4].scale);
		put_samples(&file, 42, 250000);
		must_count(&file, "ns", 0, 500001, "");
	}
}

/* RAPL: 2^-32 Joules a count, in steps of 1e-12; all rows together are exact. */
static void counts_become_amounts_of_their_unit(void **state)
{
	(void)state;
	static const struct {
		const char *unit;
		double scale;
		const char *made;
		uint64_t decimals, sum;
	} cases[] = {
		{ "Joules", 2.3283064365386962890625e-10, "Joules", 12, 116415554 },
		{ "Joules", 1e-6, "Joules", 6, 500001 },
		{ "MiB", 6.103515625e-5, "MiB", 7, 305176391 },
		{ "Bytes", 64, "Bytes", 0, 32000064 },
		{ "KiB", 0.5, "KiB", 1, 2500005 },
		{ "Bytes", 1e6, "Bytes", 0, 500001000000 },
		{ "msec", 1e-3, "ns", 0, 500001000 },
		{ "sec", 1e-12, "ns", 3, 500001 },
		{ "Joules", 1, "Joules", 0, 500001 },
	};
	for (size_t i = 0; i < 4 * sizeof(cases) / sizeof(cases[0]); i++) {
		size_t at = i / 4;
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = i % 2 };
		begin_measured(&file, i % 4 / 2 ? ATTR_FIRST : UPDATES_FIRST, 77, 5, cases[at].unit,
			       cases[at].scale);
		put_samples(&file, 42, 250000);
		must_count(&file, cases[at].made, cases[at].decimals, cases[at].sum, "");
	}
}

static void a_scale_that_is_no_number_is_said(void **state)
{
	(void)state;
	static const double scales[] = { -1, 1e-40, 1e30, __builtin_inf(), __builtin_nan("") };
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		begin_measured(&file, ATTR_FIRST, 77, 5, "Joules", scales[i]);
		put_samples(&file, 42, 250000);
		must_count(&file, "events", 0, 500001,
			   "warning: 1 events have a scale that is no number: their counts stay "
			   "as they are\n");
	}
}

static void what_rounding_takes_from_one_cell_the_next_one_gets(void **state)
{
	(void)state;
	struct perf_unit unit;
	uint64_t before = 0, sum = 0;
	assert_true(perf_unit_of(span_of_text("Joules"), 0x1p-32, &unit));
	for (uint64_t i = 1; i <= 10000; i++) {
		const struct cell cell = { 1, i, i * i };
		sum += perf_unit_cell(&unit, &cell, &before).estimate;
	}
	assert_int_equal(before, 50005000);
	assert_int_equal(sum, perf_unit_sum(&unit, 50005000));
	assert_int_equal(sum, 11642696335); /* 0.01164 Joules */
	const struct cell one = { 1, 1000, 1000000 };
	before = 0;
	assert_true(perf_unit_cell(&unit, &one, &before).squares == 54210108624);
	assert_int_equal(perf_unit_sum(&unit, UINT64_MAX), UINT64_MAX);
	/* past 64 bits nothing is left to give, and nothing comes from nowhere */
	const struct cell most = { 1, UINT64_MAX - 999, 1 };
	assert_true(perf_unit_of(span_of_text("s"), 0x1p-31, &unit));
	before = 1000;
	assert_int_equal(perf_unit_cell(&unit, &most, &before).estimate,
			 perf_unit_sum(&unit, UINT64_MAX) - perf_unit_sum(&unit, 1000));
	assert_int_equal(perf_unit_cell(&unit, &most, &before).estimate, 0);
}

static void a_scale_that_no_count_has_is_refused(void **state)
{
	(void)state;
	static const double scales[] = { INFINITY, -INFINITY, NAN, -1, 1e300, 0x1p-1074, 1e19 };
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		struct perf_unit unit;
		assert_false(perf_unit_of(span_of_text("seconds"), scales[i], &unit));
		assert_int_equal(unit.factor, 1);
		assert_int_equal(unit.decimals, 0);
		assert_int_equal(unit.name.size, 0);
	}
}

/* The name of an event that comes later, and of one that never comes. */
static void names_wait_for_their_event(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	perf_file_begin_pipe(&file);
	put_update(&file, PERF_UPDATE_NAME, 43, "second");
	put_update(&file, PERF_UPDATE_NAME, 44, "nobody's");
	put_update(&file, PERF_UPDATE_NAME, 42, "wrong");
	put_update(&file, PERF_UPDATE_NAME, 42, "first");
	put_update(&file, PERF_UPDATE_CPUS, 42, "");
	put_attr(&file, PERF_TYPE_RAW, 1, 42);
	put_attr(&file, PERF_TYPE_RAW, 2, 43);
	put_samples(&file, 42, 1);
	put_samples(&file, 43, 1);
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	assert_true(span_equal(profile_event(outcome.profile, 1).name, span_of_text("first")));
	assert_true(span_equal(profile_event(outcome.profile, 2).name, span_of_text("second")));
}

/* Of an id that no event has: what is never looked at is not kept, and what is kept has its most.
 */
static void news_of_events_that_never_come_are_bounded(void **state)
{
	(void)state;
	struct perf_file_events events = { 0 };
	static const char long_name[1000] = "wanted";
	const struct span cpus = { long_name, sizeof(long_name) };
	for (uint64_t id = 0; id < 100; id++)
		assert_int_equal(perf_events_update(&events, id, PERF_UPDATE_CPUS, cpus), 0);
	assert_int_equal(events.update_bytes, 0);
	for (int again = 0; again < 100; again++)
		assert_int_equal(perf_events_update(&events, 7, PERF_UPDATE_NAME, cpus), 0);
	assert_int_equal(events.update_count, 1);
	assert_int_equal(events.update_bytes,
			 sizeof(struct perf_update) + strlen(long_name)); /* without its padding */

	char full[4096];
	memset(full, 'x', sizeof(full));
	uint64_t id = 8;
	int ret;
	while ((ret = perf_events_update(&events, id, PERF_UPDATE_NAME,
					 (struct span){ full, sizeof(full) })) == 0 &&
	       id < 10000)
		id++;
	assert_int_equal(ret, -E2BIG);
	assert_in_range(events.update_bytes, (4 << 20) - sizeof(full) - 100, 4 << 20);

	/* an event that comes gets its name, and makes room for others */
	struct perf_event_attr attr = { .size = sizeof(attr) };
	assert_int_equal(perf_events_add(&events, (struct span){ &attr, sizeof(attr) }), 0);
	assert_int_equal(perf_events_add_id(&events, 0, 7), 0);
	assert_string_equal(events.list[0].name, "wanted");
	assert_int_equal(perf_events_add_id(&events, 0, 8), 0);
	assert_int_equal(perf_events_update(&events, id, PERF_UPDATE_NAME,
					    (struct span){ full, sizeof(full) }),
			 0);
	perf_events_release(&events);
}

static void put_many_attrs(struct perf_file *file, uint64_t count)
{
	perf_file_begin_pipe(file);
	for (uint64_t id = 1; id <= count; id++)
		put_attr(file, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, id);
}

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds_of_attributes(uint64_t count)
{
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	put_many_attrs(&file, count);
	put_samples(&file, 42, 250000);
	double before = cpu_seconds();
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_int_equal(outcome.ret, 0);
	return cpu_seconds() - before;
}

/* Eight times as many attributes, as many as a pipe may have, take about eight times as long,
 * whatever the machine: looks at all those before would take 64 times as long. */
static void each_attribute_of_a_pipe_is_looked_at_once(void **state)
{
	(void)state;
	double few = INFINITY, many = INFINITY;
	for (int tries = 0; tries < 3 && !(many < 24 * few); tries++) {
		few = fmin(few, seconds_of_attributes(PERF_EVENTS_LIMIT / 8));
		many = fmin(many, seconds_of_attributes(PERF_EVENTS_LIMIT));
	}
	if (!(many < 24 * few))
		fail_msg("%.3f s for an eighth of the attributes, %.3f s for all", few, many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_counts_nanoseconds_whatever_the_file_says),
		cmocka_unit_test(counts_become_amounts_of_their_unit),
		cmocka_unit_test(a_scale_that_is_no_number_is_said),
		cmocka_unit_test(what_rounding_takes_from_one_cell_the_next_one_gets),
		cmocka_unit_test(a_scale_that_no_count_has_is_refused),
		cmocka_unit_test(names_wait_for_their_event),
		cmocka_unit_test(news_of_events_that_never_come_are_bounded),
		cmocka_unit_test(each_attribute_of_a_pipe_is_looked_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
