/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "base/error.h"
#include "cli/time_text.h"

#define SECOND_NS UINT64_C(1000000000)
/* Zones as rules, which need no file: Central Europe's, Chile's (whose clocks change at midnight).
 */
#define BERLIN	 "CET-1CEST,M3.5.0,M10.5.0/3"
#define SANTIAGO "<-04>4<-03>,M9.1.6/24,M4.1.6/24"

/* Of 2026, each computed by GNU date: January 31, 12:00 UTC; and 8:00 UTC of March 29 and October
 * 25, which is 10:00 and 9:00 in Berlin, where 2:00 became 3:00 and 3:00 became 2:00. */
#define NOON	       1769860800u
#define SPRING_MORNING 1774771200u
#define AUTUMN_MORNING 1792915200u

static void set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

/* What the text means, in seconds, where it is whole ones. */
static uint64_t read_at(uint64_t now_s, const char *text)
{
	uint64_t ns = 0;
	if (!time_text_parse(text, now_s * SECOND_NS, &ns))
		fail_msg("'%s' is no time", text);
	return ns / SECOND_NS;
}

static void expect(uint64_t now_s, const char *text, uint64_t seconds)
{
	uint64_t found = read_at(now_s, text);
	if (found != seconds)
		fail_msg("'%s' is %" PRIu64 ", not %" PRIu64, text, found, seconds);
}

static void dates_are_of_utc_or_of_their_zone(void **state)
{
	static const char *const zones[] = { "UTC0", BERLIN, SANTIAGO };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(zones); i++) {
		set_zone(zones[i]);
		expect(0, "2026-01-31", NOON - 12 * 3600);
		expect(0, "2026-01-31Z", NOON - 12 * 3600);
		expect(0, "2026-01-31T12:00", NOON);
		expect(0, "2026-01-31 12:00", NOON);
		expect(0, "2026-01-31T12:00:07", NOON + 7);
		expect(0, "2026-01-31T12:00Z", NOON);
		expect(0, "2026-01-31T12:00:07Z", NOON + 7);
		expect(0, "2026-01-31T13:00+01", NOON);
		expect(0, "2026-01-31T13:00+0100", NOON);
		expect(0, "2026-01-31 13:00:00 +01:00", NOON);
		expect(0, "2026-01-31T08:30-03:30", NOON);
		expect(0, "2026-01-31T23:30-03:30", NOON + 15 * 3600);
		expect(0, "20260131", NOON - 12 * 3600);
		expect(0, "20260131T120000Z", NOON);
		expect(0, "20260131T120000", NOON);
		expect(0, "2024-02-29", 1709164800);
		expect(0, "@1769860800", NOON);
	}
}

static void words_are_of_local_days(void **state)
{
	(void)state;
	set_zone("UTC0");
	expect(NOON, "now", NOON);
	expect(NOON, "today", NOON - 12 * 3600);
	expect(NOON, "yesterday", NOON - 36 * 3600);
	expect(NOON, "yesterday 14:00", NOON - 22 * 3600);
	expect(NOON, "today 9:30", NOON - 9000);
	expect(NOON, "today 09:30:05", NOON - 8995);
	expect(NOON, "14:00", NOON + 7200);
	expect(NOON, "0:00", NOON - 12 * 3600);
	set_zone(BERLIN); /* 13:00 there */
	expect(NOON, "today", NOON - 13 * 3600);
	expect(NOON, "13:00", NOON);
	expect(NOON, "yesterday", NOON - 37 * 3600);
	set_zone("<+14>-14"); /* the next day, 2:00 */
	expect(NOON, "today", NOON - 2 * 3600);
	expect(NOON, "yesterday", 1769767200);	     /* the last of January */
	expect(1767229200, "yesterday", 1767088800); /* of 2026's first day: 2025's last */
}

static void a_day_may_have_23_or_25_hours(void **state)
{
	(void)state;
	set_zone(BERLIN);
	expect(SPRING_MORNING, "today", 1774738800);	 /* Mar 28, 23:00 UTC, 9 hours ago */
	expect(SPRING_MORNING, "yesterday", 1774652400); /* Mar 27, 23:00 UTC */
	expect(SPRING_MORNING + 86400, "yesterday", 1774738800);
	expect(SPRING_MORNING + 86400, "today", 1774738800 + 23 * 3600);
	expect(AUTUMN_MORNING, "today", 1792879200); /* Oct 24, 22:00 UTC, 10 hours ago */
	expect(AUTUMN_MORNING + 86400, "yesterday", 1792879200);
	expect(AUTUMN_MORNING + 86400, "today", 1792879200 + 25 * 3600);
	/* days that are not the calendar's are of 24 hours */
	expect(SPRING_MORNING, "1 day ago", SPRING_MORNING - 86400);
}

static void a_skipped_time_is_when_it_was_skipped(void **state)
{
	(void)state;
	set_zone(BERLIN);
	expect(SPRING_MORNING, "today 1:59:59", 1774745999);
	expect(SPRING_MORNING, "today 2:00", 1774746000); /* which was 3:00 */
	expect(SPRING_MORNING, "today 2:30", 1774746000);
	expect(SPRING_MORNING, "today 3:00", 1774746000);
	expect(SPRING_MORNING, "today 3:30", 1774747800);
	set_zone(SANTIAGO); /* Sep 6 began at 1:00, at 4:00 UTC */
	expect(1788710400, "today", 1788667200);
	expect(1788710400, "today 0:30", 1788667200);
	expect(1788710400, "today 1:00", 1788667200);
	expect(1788710400, "yesterday", 1788667200 - 86400);
}

static void of_a_time_that_was_twice_it_is_the_first(void **state)
{
	(void)state;
	set_zone(BERLIN);
	expect(AUTUMN_MORNING, "today 1:59", 1792886340);
	expect(AUTUMN_MORNING, "today 2:00", 1792886400); /* of summer; again at 1792890000 */
	expect(AUTUMN_MORNING, "today 2:30", 1792888200);
	expect(AUTUMN_MORNING, "today 3:00", 1792893600);
}

/* mktime(3), where a time is there once. */
static void other_times_are_what_the_c_library_says(void **state)
{
	static const char *const zones[] = { BERLIN, SANTIAGO, "NPT-5:45", "UTC0" };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(zones); i++) {
		set_zone(zones[i]);
		for (uint64_t day = 0; day < 400; day++) {
			time_t now = (time_t)(NOON + day * 86400);
			struct tm tm;
			assert_non_null(localtime_r(&now, &tm));
			tm.tm_hour = 14;
			tm.tm_min = tm.tm_sec = 0;
			tm.tm_isdst = -1;
			expect((uint64_t)now, "14:00", (uint64_t)mktime(&tm));
		}
	}
}

static void ages_are_before_now(void **state)
{
	static const struct {
		const char *text;
		uint64_t seconds;
	} ages[] = {
		{ "2h", 7200 },		{ "2h ago", 7200 },	  { "2 hours ago", 7200 },
		{ "2 hours", 7200 },	{ "1 hour ago", 3600 },	  { "90s", 90 },
		{ "90 s", 90 },		{ "1.5h", 5400 },	  { "30 min ago", 1800 },
		{ "5 minutes", 300 },	{ "1 minute", 60 },	  { "10 sec ago", 10 },
		{ "10 seconds", 10 },	{ "1 second", 1 },	  { "3 days ago", 259200 },
		{ "1 day", 86400 },	{ "3d", 259200 },	  { "1w", 604800 },
		{ "2 weeks", 1209600 }, { "1 week ago", 604800 }, { "3000 ms", 3 },
		{ "2000000us", 2 },	{ "1000000000ns", 1 },	  { "0s", 0 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ages); i++)
		expect(NOON, ages[i].text, NOON - ages[i].seconds);
	uint64_t ns;
	assert_true(time_text_parse("1ms", 1000000001, &ns));
	assert_int_equal(ns, 999000001);
}

static void nothing_else_is_a_time(void **state)
{
	static const char *const others[] = {
		"",
		" ",
		"soon",
		"Now",
		"now ",
		" now",
		"now ago",
		"tomorrow",
		"noon",
		"todays",
		"today ",
		"today  9:30",
		"today9:30",
		"today 9:3",
		"today 24:00",
		"today 9:60",
		"today 9:30:60",
		"today 9:30Z",
		"yesterday ago",
		"yesterday today",
		"14",
		"14:",
		"1:2",
		"014:00",
		"14:00:",
		"14:00:1",
		"14:00Z",
		"14:00 ago",
		"-1h",
		"+1h",
		"h",
		"2 h ours",
		"2hours ago ",
		"2  hours",
		"2h  ago",
		"2 hours agoo",
		"2 fortnights",
		"1 month ago",
		"1 year",
		"2h30m",
		"an hour ago",
		"1e3s",
		"0x10s",
		"inf s",
		"nan s",
		"1.2.3s",
		".s",
		"99999999999d",
		"90",
		"2026",
		"202601",
		"2026-01",
		"2026-1-31",
		"26-01-31",
		"2026-13-01",
		"2026-00-01",
		"2026-02-29",
		"2026-04-31",
		"2026-01-00",
		"2026-01-32",
		"2026-01-31T",
		"2026-01-31 ",
		"2026-01-31T12",
		"2026-01-31T24:00",
		"2026-01-31T12:60",
		"2026-01-31T12:00:61",
		"2026-01-31  12:00",
		"2026-01-31T12:00z",
		"2026-01-31T12:00+",
		"2026-01-31T12:00+1",
		"2026-01-31T12:00+1:00",
		"2026-01-31T12:00+01:0",
		"2026-01-31T12:00+01:",
		"2026-01-31T12:00+24",
		"2026-01-31T12:00+01:60",
		"2026-01-31T12:00 UTC",
		"2026-01-31T12:00ZZ",
		"2026-01-31+01",
		"2026-01-31ZZ",
		"1969-12-31",
		"1970-01-01T00:00+01",
		"0000-01-01",
		"20260229",
		"20261301",
		"20260131T12",
		"20260131T1200",
		"20260131T240000",
		"20260131T120000ZZ",
		"20260131 120000",
		"20260131T120000-1",
		"19691231",
		"@",
		"@-1",
		"@+1",
		"@1.5",
		"@0x10",
		"@1s",
		"@ 1",
		"@99999999999",
		"@99999999999999999999999",
		"2026-01-31T12:00\n",
		"\xe2\x88\x92"
		"1h",
	};
	(void)state;
	set_zone(BERLIN);
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		uint64_t ns = 7;
		if (time_text_parse(others[i], NOON * SECOND_NS, &ns))
			fail_msg("'%s' was read as %" PRIu64, others[i], ns);
		assert_int_equal(ns, 7);
	}
}

static void no_time_is_what_means_no_limit(void **state)
{
	uint64_t ns = 0;
	(void)state;
	assert_true(time_text_parse("@0", NOON * SECOND_NS, &ns));
	assert_int_equal(ns, 1);
	assert_true(time_text_parse("1970-01-01", NOON * SECOND_NS, &ns));
	assert_int_equal(ns, 1);
	assert_false(time_text_parse("57 years", NOON * SECOND_NS, &ns));
	assert_false(time_text_parse("30000 days", NOON * SECOND_NS, &ns)); /* before 1970 */
}

static void a_mistake_is_named_with_its_option(void **state)
{
	struct error err;
	uint64_t ns = 7;
	(void)state;
	assert_int_equal(time_text_read("--until", "tomorrow", &ns, &err), -22);
	assert_string_equal(err.text, "--until takes a time, as 'yesterday 14:00', '2h' (ago) or "
				      "'2026-01-31T12:00' (UTC), not 'tomorrow'; TIMES in 'man "
				      "culprit' has all forms");
	assert_int_equal(ns, 7);
	assert_int_equal(time_text_read("--until", NULL, &ns, &err), 0);
	assert_int_equal(ns, 7);
	uint64_t before_ns = clock_realtime_ns();
	assert_int_equal(time_text_read("--until", "now", &ns, &err), 0);
	assert_true(ns >= before_ns && ns <= clock_realtime_ns());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_are_of_utc_or_of_their_zone),
		cmocka_unit_test(words_are_of_local_days),
		cmocka_unit_test(a_day_may_have_23_or_25_hours),
		cmocka_unit_test(a_skipped_time_is_when_it_was_skipped),
		cmocka_unit_test(of_a_time_that_was_twice_it_is_the_first),
		cmocka_unit_test(other_times_are_what_the_c_library_says),
		cmocka_unit_test(ages_are_before_now),
		cmocka_unit_test(nothing_else_is_a_time),
		cmocka_unit_test(no_time_is_what_means_no_limit),
		cmocka_unit_test(a_mistake_is_named_with_its_option),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
