#include "import/perf_script_line.h"

#include <string.h>

#include "base/digits.h"
#include "profile/profile.h"

#define COMM_LIMIT 256 /* bytes in which the command's name ends; the kernel's have 15 */

/* A place in a line. */
struct scan {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return hex_digit(c) >= 0;
}

static void skip_blanks(struct scan *scan)
{
	while (scan->at < scan->end && is_blank(*scan->at))
		scan->at++;
}

/* The bytes up to the next blank. */
static struct span next_word(struct scan *scan)
{
	const char *start = scan->at;
	while (scan->at < scan->end && !is_blank(*scan->at))
		scan->at++;
	return (struct span){ start, (size_t)(scan->at - start) };
}

static bool at_word_end(const struct scan *scan)
{
	return scan->at == scan->end || is_blank(*scan->at);
}

static bool take_character(struct scan *scan, char c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

/* A PID or TID; -1 is one that perf did not know. */
static bool take_id(struct scan *scan, uint64_t *optional)
{
	uint64_t number;
	bool unknown = take_character(scan, '-');
	if (!digits_take(&scan->at, scan->end, 10, &number) || number == UINT64_MAX)
		return false;
	*optional = unknown ? OPTIONAL_ABSENT : optional_of(number);
	return true;
}

/* TID or PID/TID as a word. PID 0 is that of idle threads, whose TID is 0. */
static bool take_thread(struct scan *scan, struct perf_script_sample *out)
{
	struct scan begin = *scan;
	out->pid = OPTIONAL_ABSENT;
	if (take_id(scan, &out->tid)) {
		if (at_word_end(scan))
			return true;
		out->pid = out->tid;
		if (take_character(scan, '/') && take_id(scan, &out->tid) && at_word_end(scan)) {
			if (out->pid == optional_of(0) && out->tid != optional_of(0))
				out->pid = OPTIONAL_ABSENT;
			return true;
		}
	}
	*scan = begin;
	out->pid = out->tid = OPTIONAL_ABSENT;
	return false;
}

/* "[003]" */
static void skip_cpu(struct scan *scan)
{
	struct scan begin = *scan;
	uint64_t cpu;
	if (!take_character(scan, '[') || !digits_take(&scan->at, scan->end, 10, &cpu) ||
	    !take_character(scan, ']') || !at_word_end(scan))
		*scan = begin;
	skip_blanks(scan);
}

/* "K", "U", "HG": what -F +misc prints, before a time. */
static void skip_misc(struct scan *scan)
{
	struct scan begin = *scan;
	struct span word = next_word(scan);
	const char *letters = word.data;
	bool fits = word.size > 0 && word.size <= 5;
	for (size_t i = 0; fits && i < word.size; i++)
		fits = strchr("KUHGgMESDBuL", letters[i]) != NULL;
	skip_blanks(scan);
	if (!fits || scan->at == scan->end || !is_digit(*scan->at))
		*scan = begin;
}

/* "1234.567890:" */
static bool take_time(struct scan *scan)
{
	struct scan begin = *scan;
	uint64_t seconds, fraction;
	if (digits_take(&scan->at, scan->end, 10, &seconds) && take_character(scan, '.') &&
	    digits_take(&scan->at, scan->end, 10, &fraction) && take_character(scan, ':') &&
	    at_word_end(scan)) {
		skip_blanks(scan);
		return true;
	}
	*scan = begin;
	return false;
}

static bool take_period(struct scan *scan, uint64_t *period)
{
	struct scan begin = *scan;
	uint64_t number;
	if (digits_take(&scan->at, scan->end, 10, &number) && at_word_end(scan)) {
		skip_blanks(scan);
		*period = optional_of(number < UINT64_MAX ? number : number - 1);
		return true;
	}
	*scan = begin;
	*period = OPTIONAL_ABSENT;
	return false;
}

/* "cycles:ppp:" as a word; a name has something that is no digit. */
static bool take_event(struct scan *scan, struct span *event)
{
	struct scan begin = *scan;
	struct span word = next_word(scan);
	const char *letters = word.data;
	bool named = false;
	for (size_t i = 0; i + 1 < word.size && !named; i++)
		named = !is_digit(letters[i]) && letters[i] != ':';
	if (!named || letters[word.size - 1] != ':' || letters[0] == '(' || letters[0] == '[') {
		*scan = begin;
		return false;
	}
	*event = (struct span){ letters, word.size - 1 };
	return true;
}

static struct span trimmed(const char *start, const char *end)
{
	while (start < end && is_blank(*start))
		start++;
	while (end > start && is_blank(end[-1]))
		end--;
	return (struct span){ start, (size_t)(end - start) };
}

static bool begins_with(const struct scan *scan, const char *text)
{
	size_t size = strlen(text);
	return (size_t)(scan->end - scan->at) >= size && memcmp(scan->at, text, size) == 0;
}

/* All behind the thread. A time or an event tells a sample from other text. */
static bool take_columns(struct scan scan, struct perf_script_sample *out)
{
	skip_blanks(&scan);
	skip_cpu(&scan);
	skip_misc(&scan);
	out->timed = take_time(&scan);
	out->is_record = begins_with(&scan, "PERF_RECORD_");
	out->event = (struct span){ NULL, 0 };
	if (out->is_record) {
		out->period = OPTIONAL_ABSENT;
		out->rest = trimmed(scan.at, scan.end);
		return true;
	}
	struct scan before_period = scan;
	bool has_period = take_period(&scan, &out->period);
	if (!take_event(&scan, &out->event)) {
		struct perf_script_frame leaf;
		if (!out->timed)
			return false;
		out->rest = trimmed(scan.at, scan.end);
		if (out->rest.size == 0 || perf_script_parse_leaf(out->rest, &leaf))
			return true;
		/* an address may look like a period */
		out->period = OPTIONAL_ABSENT;
		out->rest = trimmed(before_period.at, before_period.end);
		return has_period && perf_script_parse_leaf(out->rest, &leaf);
	}
	out->rest = trimmed(scan.at, scan.end);
	return true;
}

/* A word that ends in a colon is in much text; what follows an event is a place, or a chain. */
static bool is_plain_sample(const struct perf_script_sample *sample)
{
	struct perf_script_frame leaf;
	return sample->timed || sample->rest.size == 0 ||
	       perf_script_parse_leaf(sample->rest, &leaf);
}

bool perf_script_parse_sample(const char *line, size_t size, struct perf_script_sample *out)
{
	struct scan scan = { line, line + size };
	skip_blanks(&scan);
	const char *start = scan.at;
	while (scan.at < scan.end && scan.at - start < COMM_LIMIT) {
		struct span word = next_word(&scan);
		const char *name_end = scan.at;
		if (word.size == 0)
			break;
		skip_blanks(&scan);
		struct scan columns = scan;
		if (scan.at < scan.end && (is_digit(*scan.at) || *scan.at == '-') &&
		    take_thread(&columns, out) && take_columns(columns, out)) {
			out->comm = trimmed(start, name_end);
			out->thread = trimmed(start, columns.at);
			return true;
		}
	}
	/* without a thread: the first columns that are some */
	scan.at = start;
	out->pid = out->tid = OPTIONAL_ABSENT;
	while (scan.at < scan.end && scan.at - start < COMM_LIMIT) {
		if (next_word(&scan).size == 0)
			break;
		const char *name_end = scan.at;
		skip_blanks(&scan);
		if (scan.at < scan.end && take_columns(scan, out) && is_plain_sample(out)) {
			out->comm = out->thread = trimmed(start, name_end);
			return true;
		}
	}
	return false;
}

/* The '(' of the DSO that ends the text: brackets in a path come in pairs. NULL: there is none. */
static const char *dso_start(const char *start, const char *end)
{
	size_t open = 0;
	if (start == end || end[-1] != ')')
		return NULL;
	for (const char *at = end; at-- > start;) {
		if (*at == ')')
			open++;
		else if (*at == '(' && --open == 0)
			return at == start || is_blank(at[-1]) ? at : NULL;
	}
	return NULL;
}

static bool take_address(struct scan *scan, uint64_t *address)
{
	const char *start = scan->at;
	if (digits_take(&scan->at, scan->end, 16, address) && at_word_end(scan))
		return true;
	scan->at = start;
	return false;
}

static struct span without_offset(struct span name)
{
	const char *text = name.data;
	size_t at = name.size;
	while (at > 0 && is_hex(text[at - 1]))
		at--;
	if (at < name.size && at > 3 && memcmp(text + at - 3, "+0x", 3) == 0)
		name.size = at - 3;
	return name;
}

/* NAME and (DSO) of a frame whose address is read. */
static bool take_place(struct scan scan, struct perf_script_frame *out)
{
	const char *dso = dso_start(scan.at, scan.end);
	struct span name = trimmed(scan.at, dso ? dso : scan.end);
	out->dso = dso ? (struct span){ dso + 1, (size_t)(scan.end - dso - 2) }
		       : (struct span){ NULL, 0 };
	out->inlined = span_equal(out->dso, span_of_text("inlined"));
	out->name = span_equal(name, span_of_text("[unknown]")) ? (struct span){ NULL, 0 }
								: without_offset(name);
	return dso || name.size;
}

bool perf_script_parse_frame(const char *line, size_t size, struct perf_script_frame *out)
{
	struct span text = trimmed(line, line + size);
	struct scan scan = { text.data, (const char *)text.data + text.size };
	if (take_address(&scan, &out->address))
		return take_place(scan, out);
	out->address = 0;
	return take_place(scan, out) && out->dso.data && out->name.size;
}

bool perf_script_parse_leaf(struct span rest, struct perf_script_frame *out)
{
	const char *start = rest.data;
	struct scan scan = { start, start + rest.size };
	const char *dso = dso_start(start, scan.end);
	if (!dso)
		return false;
	const char *bar = memrchr(start, '|', (size_t)(dso - start)); /* of a data source */
	if (bar)
		scan.at = bar + 1;
	/* the last of the first numbers in a row is the address: a weight or an accessed one may
	 * stand before it */
	struct scan last = { NULL, NULL }, before = last;
	for (skip_blanks(&scan); scan.at < dso; skip_blanks(&scan)) {
		uint64_t address;
		struct scan number = scan;
		if (take_address(&scan, &address)) {
			before = last;
			last = number;
		} else if (last.at) {
			break;
		} else {
			next_word(&scan);
		}
	}
	if (!last.at)
		return false;
	take_address(&last, &out->address);
	if (before.at && trimmed(last.at, dso).size == 0) { /* a function named "add" */
		last = before;
		take_address(&last, &out->address);
	}
	return take_place(last, out);
}
