#include "cli/time_text.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/number.h"

#define SECOND_NS    UINT64_C(1000000000)
#define DAY_S	     86400
#define YEAR_LEAST   1970
#define TIME_FORMS   "'yesterday 14:00', '2h' (ago) or '2026-01-31T12:00' (UTC)"
#define NUMBER_BYTES 24			      /* of how many hours or days ago */
#define MOST_S	     (INT64_MAX / 1000000000) /* in ns it fits */

/* ---- pieces: each moves *text behind what it takes, or returns false and leaves it */

static bool take(const char **text, const char *word)
{
	size_t size = strlen(word);
	if (strncmp(*text, word, size) != 0)
		return false;
	*text += size;
	return true;
}

/* A number of `least` to `most` digits. */
static bool take_digits(const char **text, size_t least, size_t most, int *value)
{
	size_t size = strspn(*text, "0123456789");
	if (size < least || size > most)
		return false;
	*value = 0;
	for (size_t i = 0; i < size; i++)
		*value = *value * 10 + (*text)[i] - '0';
	*text += size;
	return true;
}

/* A number of just so many digits, whatever follows. */
static bool take_two(const char **text, int *value)
{
	char digits[3] = { 0 };
	memcpy(digits, *text, strnlen(*text, 2));
	const char *rest = digits;
	if (!take_digits(&rest, 2, 2, value))
		return false;
	*text += 2;
	return true;
}

/* "9:30", "09:30:15". A leap second is none: clocks here do not know it. */
static bool take_clock(const char **text, struct tm *tm)
{
	const char *rest = *text;
	int hour, minute, second = 0;
	if (!take_digits(&rest, 1, 2, &hour) || !take(&rest, ":") ||
	    !take_digits(&rest, 2, 2, &minute))
		return false;
	if (take(&rest, ":") && !take_digits(&rest, 2, 2, &second))
		return false;
	if (hour > 23 || minute > 59 || second > 59)
		return false;
	tm->tm_hour = hour;
	tm->tm_min = minute;
	tm->tm_sec = second;
	*text = rest;
	return true;
}

/* "Z", "+01", "+0100", "-05:30", perhaps behind a space: seconds east of Greenwich. */
static bool take_zone(const char **text, int *east_s)
{
	const char *rest = *text;
	int hours, minutes = 0, sign = 1;
	*east_s = 0;
	take(&rest, " ");
	if (!take(&rest, "Z")) {
		if (take(&rest, "-"))
			sign = -1;
		else if (!take(&rest, "+"))
			return false;
		if (!take_two(&rest, &hours))
			return false;
		if (*rest && (take(&rest, ":"), !take_two(&rest, &minutes)))
			return false;
		if (hours > 23 || minutes > 59)
			return false;
		*east_s = sign * (hours * 3600 + minutes * 60);
	}
	*text = rest;
	return true;
}

/* ---- calendars */

/* Seconds since 1970 of a day and time in UTC; false when there is no such day. */
static bool of_utc(const struct tm *day, int64_t *seconds)
{
	struct tm tm = *day;
	*seconds = timegm(&tm);
	return tm.tm_mday == day->tm_mday && tm.tm_mon == day->tm_mon;
}

static int64_t local_offset_s(int64_t seconds)
{
	struct tm tm;
	time_t when = (time_t)seconds;
	return localtime_r(&when, &tm) ? tm.tm_gmtoff : 0;
}

/*
 * When local clocks show `wall`, which is given as if it were UTC. Offsets do not change twice
 * within two days. mktime(3) would do but for the hours that are twice or never, of which it
 * chooses what it likes.
 */
static int64_t of_local(int64_t wall)
{
	int64_t before = wall - local_offset_s(wall - DAY_S);
	int64_t after = wall - local_offset_s(wall + DAY_S);
	if (before + local_offset_s(before) == wall)
		return before; /* the first one, when the clock was set back meanwhile */
	if (after + local_offset_s(after) == wall)
		return after;
	int64_t old = local_offset_s(after); /* skipped: `after` lies before the change */
	while (before - after > 1) {
		int64_t middle = after + (before - after) / 2;
		if (local_offset_s(middle) == old)
			after = middle;
		else
			before = middle;
	}
	return before;
}

/* ---- forms: each is of the whole text; seconds since 1970 */

static bool parse_day_word(const char *text, int64_t now_s, int64_t *seconds)
{
	struct tm today, tm = { 0 };
	time_t now = (time_t)now_s;
	if (!localtime_r(&now, &today))
		return false;
	bool yesterday = take(&text, "yesterday");
	bool named = yesterday || take(&text, "today");
	bool timed = !named || *text;
	if (named && timed && !take(&text, " "))
		return false;
	if (timed && !take_clock(&text, &tm))
		return false;
	tm.tm_year = today.tm_year;
	tm.tm_mon = today.tm_mon;
	tm.tm_mday = today.tm_mday - yesterday; /* 0 is the last one of the month before */
	*seconds = of_local(timegm(&tm));
	return !*text;
}

static bool parse_date(const char *text, int64_t *seconds)
{
	struct tm tm = { 0 };
	int east_s = 0;
	if (!take_digits(&text, 4, 4, &tm.tm_year) || !take(&text, "-") ||
	    !take_digits(&text, 2, 2, &tm.tm_mon) || !take(&text, "-") ||
	    !take_digits(&text, 2, 2, &tm.tm_mday))
		return false;
	if (tm.tm_year < YEAR_LEAST)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if (*text && strcmp(text, "Z") != 0) {
		if ((!take(&text, "T") && !take(&text, " ")) || !take_clock(&text, &tm))
			return false;
		if (*text && !take_zone(&text, &east_s))
			return false;
	} else if (*text) {
		text++;
	}
	if (!of_utc(&tm, seconds))
		return false;
	*seconds -= east_s;
	return !*text;
}

/* "20260131", "20260131T120000", "20260131T120000Z" */
static bool parse_epoch_name(const char *text, int64_t *seconds)
{
	struct tm tm = { 0 };
	int century;
	if (strspn(text, "0123456789") != 8)
		return false;
	if (!take_two(&text, &century) || !take_two(&text, &tm.tm_year) ||
	    !take_two(&text, &tm.tm_mon) || !take_two(&text, &tm.tm_mday))
		return false;
	tm.tm_year += century * 100 - 1900;
	tm.tm_mon--;
	if (tm.tm_year < YEAR_LEAST - 1900)
		return false;
	if (take(&text, "T") && (strspn(text, "0123456789") != 6 || !take_two(&text, &tm.tm_hour) ||
				 !take_two(&text, &tm.tm_min) || !take_two(&text, &tm.tm_sec)))
		return false;
	if (tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 59)
		return false;
	take(&text, "Z");
	return of_utc(&tm, seconds) && !*text;
}

/* "2h", "2 hours ago": how long ago. A number alone is none: it might have been meant as a date. */
static bool parse_ago(const char *text, uint64_t *ago_ns)
{
	static const struct {
		const char *word;
		double seconds;
	} units[] = {
		{ "ns", 1e-9 },	       { "us", 1e-6 },
		{ "ms", 1e-3 },	       { "s", 1 },
		{ "sec", 1 },	       { "second", 1 },
		{ "seconds", 1 },      { "m", 60 },
		{ "min", 60 },	       { "minute", 60 },
		{ "minutes", 60 },     { "h", 3600 },
		{ "hour", 3600 },      { "hours", 3600 },
		{ "d", DAY_S },	       { "day", DAY_S },
		{ "days", DAY_S },     { "w", 7 * DAY_S },
		{ "week", 7 * DAY_S }, { "weeks", 7 * DAY_S },
	};
	char number[NUMBER_BYTES] = { 0 };
	size_t digits = strspn(text, "0123456789.");
	double value;
	if (!digits || digits >= sizeof(number))
		return false;
	memcpy(number, text, digits);
	text += digits;
	take(&text, " ");
	size_t word = strcspn(text, " "), unit = 0;
	while (unit < COUNT_OF(units) &&
	       (strlen(units[unit].word) != word || strncmp(units[unit].word, text, word) != 0))
		unit++;
	text += word;
	if (unit == COUNT_OF(units) || (*text && strcmp(text, " ago") != 0) ||
	    !number_parse_double(number, &value) || value * units[unit].seconds >= 9e9)
		return false;
	*ago_ns = (uint64_t)(value * units[unit].seconds * 1e9 + 0.5);
	return true;
}

/* "@1700000000" */
static bool parse_since_1970(const char *text, int64_t *seconds)
{
	uint64_t number;
	if (!take(&text, "@") || text[strspn(text, "0123456789")] ||
	    !number_parse_u64(text, &number) || number > MOST_S)
		return false;
	*seconds = (int64_t)number;
	return true;
}

static uint64_t of_seconds(int64_t seconds)
{
	return seconds ? (uint64_t)seconds * SECOND_NS : 1;
}

bool time_text_parse(const char *text, uint64_t now_ns, uint64_t *ns)
{
	uint64_t ago_ns;
	int64_t seconds, now_s = (int64_t)(now_ns / SECOND_NS);
	if (strcmp(text, "now") == 0) {
		*ns = now_ns;
		return true;
	}
	if (parse_ago(text, &ago_ns)) {
		if (ago_ns > now_ns)
			return false;
		*ns = now_ns - ago_ns;
		return true;
	}
	if (parse_since_1970(text, &seconds)) {
		*ns = of_seconds(seconds);
		return true;
	}
	tzset();
	if (!parse_day_word(text, now_s, &seconds) && !parse_date(text, &seconds) &&
	    !parse_epoch_name(text, &seconds))
		return false;
	if (seconds < 0 || seconds > MOST_S)
		return false;
	*ns = of_seconds(seconds);
	return true;
}

int time_text_read(const char *option, const char *text, uint64_t *ns, struct error *err)
{
	if (!text || time_text_parse(text, clock_realtime_ns(), ns))
		return 0;
	return error_set(err, -EINVAL,
			 "%s takes a time, as " TIME_FORMS ", not '%s'; TIMES in 'man culprit' has "
			 "all forms",
			 option, text);
}
