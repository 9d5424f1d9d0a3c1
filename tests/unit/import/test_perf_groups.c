/*
 * Groups in which another event than the leader is sampled, as perf record makes them of
 * {slots,cycles,topdown-retiring}:S.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "import/perf_data/perf_data_types.h"
#include "perf_data_fixture.h"
#include "profile/bill.h"
#include "support/imported.h"

#define TYPE                                                                                       \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |                    \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ)
#define FORMAT                                                                                     \
	(PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED |  \
	 PERF_FORMAT_TOTAL_TIME_RUNNING)

enum { SLOTS, CYCLES, RETIRING, EVENTS };
#define ID(event) (100u + (event))

static const char *const names[EVENTS] = { "slots", "cycles", "topdown-retiring" };
static const uint64_t configs[EVENTS] = { 0x400, 0x3c, 0x8000 };

static void put_event(struct perf_file *file, uint64_t event, bool sampled)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = configs[event],
		.sample_type = TYPE,
		.read_format = FORMAT,
		.sample_period = sampled ? 1000 : 0,
		.exclude_guest = 1,
		.sample_id_all = 1,
	};
	perf_record_begin(file, PERF_FILE_ATTR, 0);
	buffer_append(&file->bytes, &attr, sizeof(attr));
	perf_put_u64(file, ID(event));
	perf_record_end(file);
	perf_record_begin(file, PERF_FILE_EVENT_UPDATE, 0);
	perf_put_u64(file, PERF_UPDATE_NAME);
	perf_put_u64(file, ID(event));
	perf_put_text(file, names[event]);
	perf_record_end(file);
}

/* That the three are one group. */
static void put_groups(struct perf_file *file)
{
	perf_record_begin(file, PERF_FILE_FEATURE, 0);
	perf_put_u64(file, PERF_FEATURE_GROUP_DESC);
	perf_put_u32(file, 1);
	perf_put_u32(file, 8);
	perf_put_text(file, "g");
	perf_put_u32(file, 0);
	perf_put_u32(file, EVENTS);
	perf_record_end(file);
}

struct counted {
	uint64_t values[EVENTS];
	uint64_t enabled, running, lost;
};

static void put(struct perf_file *file, size_t sampled, uint64_t time,
		const struct counted *counted)
{
	begin_user_sample(file, 7, time, 0);
	perf_put_u64(file, ID(sampled));
	perf_put_u64(file, 1000);
	perf_put_u64(file, EVENTS);
	perf_put_u64(file, counted->enabled);
	perf_put_u64(file, counted->running);
	for (size_t i = 0; i < EVENTS; i++) {
		perf_put_u64(file, counted->values[i]);
		perf_put_u64(file, ID(i));
		perf_put_u64(file, i == sampled ? counted->lost : 0);
	}
	perf_record_end(file);
}

enum told { TOLD_NEVER, TOLD_BEFORE, TOLD_AFTER, TOLD_WAYS };

/* Which attributes have one. */
enum periods { PERIODS_OF_SAMPLED, PERIODS_OF_ALL };

/* Reads a pipe with the samples, which tells of the group somewhere, as files do at their end. */
static void read_group(enum told told, size_t sampled, enum periods periods,
		       const struct counted *counted, size_t count, struct outcome *outcome)
{
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	perf_file_begin_pipe(&file);
	for (size_t event = 0; event < EVENTS; event++)
		put_event(&file, event, event == sampled || periods == PERIODS_OF_ALL);
	if (told == TOLD_BEFORE)
		put_groups(&file);
	for (size_t i = 0; i < count; i++)
		put(&file, sampled, 20 + i, &counted[i]);
	/* two rounds on, so that the samples have been handled by then */
	for (int round = 0; round < 2 && told == TOLD_AFTER; round++)
		perf_put_empty(&file, PERF_FILE_FINISHED_ROUND);
	if (told == TOLD_AFTER)
		put_groups(&file);
	read_file(&file, SIZE_MAX, false, outcome);
	assert_string_equal(outcome->err.text, "");
}

static void expect_events(const struct profile *profile, size_t sampled)
{
	assert_int_equal(profile_table(profile, PROFILE_EVENT)->count, EVENTS);
	for (size_t i = 0; i < EVENTS; i++) {
		struct profile_event event = profile_event(profile, i + 1);
		assert_true(span_equal(event.name, span_of_text(names[i])));
		assert_int_equal(event.sampled, i == sampled);
		assert_int_equal(event.policy, i == sampled ? PERIOD_FIXED : PERIOD_NONE);
		assert_int_equal(event.period, i == sampled ? 1000 : 0);
		assert_true(span_equal(event.leader, i == sampled ? (struct span){ NULL, 0 }
								  : span_of_text(names[sampled])));
	}
}

static uint64_t billed(const struct profile *profile, const char *event, const char *item)
{
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	for (size_t row = 0; row < bill->count; row++) {
		const uint64_t *keys = table_keys(bill, row);
		if (keys[BILL_EVENT] &&
		    span_equal(profile_event(profile, keys[BILL_EVENT]).name,
			       span_of_text(event)) &&
		    span_equal(profile_bytes(profile, keys[BILL_ITEM]), span_of_text(item)))
			return table_values(bill, row)[0];
	}
	return UINT64_MAX;
}

static void slots_are_read_with_the_samples_of_the_next_event(void **state)
{
	(void)state;
	static const struct counted counted[] = {
		{ { 5000, 1000, 2000 }, 10, 10, 0 },
		{ { 10000, 2000, 2500 }, 20, 20, 0 },
		{ { 16000, 3000, 5500 }, 30, 30, 0 },
	};
	for (enum told told = 0; told < TOLD_WAYS; told++) {
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		CLEANUP(buffer_release) struct buffer leaves = { 0 };
		read_group(told, CYCLES, PERIODS_OF_SAMPLED, counted, 3, &outcome);
		expect_events(outcome.profile, CYCLES);
		imported_leaves(outcome.profile, &leaves);
		assert_string_equal(buffer_text(&leaves),
				    "cycles ?process not seen!0x0 3 3000\n"
				    "slots ?process not seen!0x0 - 16000\n"
				    "topdown-retiring ?process not seen!0x0 - 5500\n");
		assert_int_equal(billed(outcome.profile, "slots", BILL_READS), 3);
		assert_int_equal(billed(outcome.profile, "cycles", BILL_STORED), 3);
		assert_int_equal(billed(outcome.profile, "slots", BILL_STORED), UINT64_MAX);
	}
}

/* Where the leader is sampled it is as before, whoever tells of the group. */
static void a_sampled_leader_stays_the_one_that_reads(void **state)
{
	(void)state;
	static const struct counted counted[] = { { { 1000, 500, 200 }, 10, 10, 0 } };
	for (enum told told = 0; told < TOLD_WAYS; told++) {
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		read_group(told, SLOTS, PERIODS_OF_SAMPLED, counted, 1, &outcome);
		expect_events(outcome.profile, SLOTS);
	}
}

/* An attribute may promise samples that never came. */
static void samples_say_more_than_attributes(void **state)
{
	(void)state;
	static const struct counted counted[] = { { { 5000, 1000, 2000 }, 10, 10, 0 } };
	for (enum told told = 0; told < TOLD_WAYS; told++) {
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		read_group(told, CYCLES, PERIODS_OF_ALL, counted, 1, &outcome);
		expect_events(outcome.profile, CYCLES);
	}
}

/* The leader's count stands before the one that tells of the loss. */
static void what_slots_counted_across_a_loss_is_billed(void **state)
{
	(void)state;
	static const struct counted counted[] = {
		{ { 5000, 1000, 2000 }, 10, 10, 0 },
		{ { 20000, 4000, 6000 }, 20, 20, 2 },
		{ { 25000, 5000, 7000 }, 30, 30, 2 },
	};
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	CLEANUP(buffer_release) struct buffer leaves = { 0 };
	read_group(TOLD_AFTER, CYCLES, PERIODS_OF_SAMPLED, counted, 3, &outcome);
	imported_leaves(outcome.profile, &leaves);
	assert_string_equal(buffer_text(&leaves),
			    "cycles ?process not seen!0x0 3 3000\n"
			    "slots ?process not seen!0x0 - 10000\n"
			    "topdown-retiring ?process not seen!0x0 - 3000\n");
	assert_int_equal(billed(outcome.profile, "slots", BILL_LOST_ESTIMATE), 15000);
	assert_int_equal(billed(outcome.profile, "topdown-retiring", BILL_LOST_ESTIMATE), 4000);
	assert_int_equal(billed(outcome.profile, "cycles", BILL_LOST_ESTIMATE), 2000);
}

/* The sampled event comes, while the counters of the group stood still: unknown, not 0. */
static void what_did_not_run_is_not_known(void **state)
{
	(void)state;
	static const struct counted counted[] = {
		{ { 5000, 1000, 2000 }, 10, 10, 0 },
		{ { 5000, 1000, 2000 }, 20, 10, 0 },
		{ { 10000, 2000, 4000 }, 40, 20, 0 },
	};
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	CLEANUP(buffer_release) struct buffer leaves = { 0 };
	read_group(TOLD_AFTER, CYCLES, PERIODS_OF_SAMPLED, counted, 3, &outcome);
	imported_leaves(outcome.profile, &leaves);
	/* the last 20 of time stand for the 10 that ran in them */
	assert_string_equal(buffer_text(&leaves),
			    "cycles ?process not seen!0x0 2 3000\n"
			    "slots ?process not seen!0x0 - 15000\n"
			    "topdown-retiring ?process not seen!0x0 - 6000\n");
	assert_int_equal(billed(outcome.profile, "slots", BILL_READS), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_read_with_the_samples_of_the_next_event),
		cmocka_unit_test(a_sampled_leader_stays_the_one_that_reads),
		cmocka_unit_test(samples_say_more_than_attributes),
		cmocka_unit_test(what_slots_counted_across_a_loss_is_billed),
		cmocka_unit_test(what_did_not_run_is_not_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
