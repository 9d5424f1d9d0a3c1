#include "import/perf_script/perf_script_line.h"

#include <string.h>

#include "import/perf_script/perf_script_scan.h"
#include "profile/profile.h"

#define THREAD_COLUMNS 5
#define TIME_DIGITS    6 /* of a fraction, at least */
#define PERIOD_COLUMNS 10
#define MOST_THREADS   4194304 /* PID_MAX_LIMIT of the kernel: a larger number is a period */
#define SMALL_NUMBER   0xffff  /* no code lies that low */
#define COMM_BYTES     15      /* that the kernel keeps */
#define COMM_LIMIT     256     /* bytes in which the command's name ends; the kernel's have 15 */
/* Words of a command's name, of which 15 bytes hold 8; the line is read again behind each. */
#define COMM_WORDS 16

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A PID or TID; -1 is one that perf did not know. */
static bool take_id(struct scan *scan, uint64_t *optional)
{
	uint64_t number;
	bool unknown = scan_character(scan, '-');
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
		if (scan_at_word_end(scan))
			return true;
		out->pid = out->tid;
		if (scan_character(scan, '/') && take_id(scan, &out->tid) &&
		    scan_at_word_end(scan)) {
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
	if (!scan_character(scan, '[') || !digits_take(&scan->at, scan->end, 10, &cpu) ||
	    !scan_character(scan, ']') || !scan_at_word_end(scan))
		*scan = begin;
	scan_skip_blanks(scan);
}

/* "K", "U", "HG": what -F +misc prints, before a time. */
static void skip_misc(struct scan *scan)
{
	struct scan begin = *scan;
	struct span word = scan_word(scan);
	const char *letters = word.data;
	bool fits = word.size > 0 && word.size <= 5;
	for (size_t i = 0; fits && i < word.size; i++)
		fits = strchr("KUHGgMESDBuL", letters[i]) != NULL;
	scan_skip_blanks(scan);
	if (!fits || scan->at == scan->end || !is_digit(*scan->at))
		*scan = begin;
}

/* "1234.567890:"; how many digits the fraction has, 0 when it is no time. */
static size_t take_time(struct scan *scan)
{
	struct scan begin = *scan;
	uint64_t seconds, fraction;
	if (digits_take(&scan->at, scan->end, 10, &seconds) && scan_character(scan, '.')) {
		const char *start = scan->at;
		bool digits = digits_take(&scan->at, scan->end, 10, &fraction);
		size_t count = (size_t)(scan->at - start);
		if (digits && scan_character(scan, ':') && scan_at_word_end(scan)) {
			scan_skip_blanks(scan);
			return count;
		}
	}
	*scan = begin;
	return 0;
}

static bool take_period(struct scan *scan, uint64_t *period)
{
	struct scan begin = *scan;
	uint64_t number;
	if (digits_take(&scan->at, scan->end, 10, &number) && scan_at_word_end(scan)) {
		scan_skip_blanks(scan);
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
	struct span word = scan_word(scan);
	const char *letters = word.data;
	bool named = false;
	for (size_t i = 0; i + 1 < word.size; i++) {
		named |= !is_digit(letters[i]) && letters[i] != ':';
		if (strchr("<>(){}\"';", letters[i])) { /* in no event's name */
			named = false;
			break;
		}
	}
	if (!named || letters[word.size - 1] != ':' || letters[0] == '(' || letters[0] == '[') {
		*scan = begin;
		return false;
	}
	*event = (struct span){ letters, word.size - 1 };
	return true;
}

static bool begins_with(const struct scan *scan, const char *text)
{
	size_t size = strlen(text);
	return (size_t)(scan->end - scan->at) >= size && memcmp(scan->at, text, size) == 0;
}

/* Whether a number is right-aligned in at least so many columns, as perf writes it behind a blank.
 */
static bool is_number_of(struct scan scan, const char *line, ptrdiff_t columns)
{
	uint64_t number;
	const char *from = scan.at;
	while (from > line && scan_is_blank(from[-1]))
		from--;
	from += from > line; /* that blank */
	scan_skip_blanks(&scan);
	return digits_take(&scan.at, scan.end, 10, &number) && scan.at - from >= columns;
}

/* Whether a number where the TID could be is a period: too large, or in a period's columns. */
static bool is_period(struct scan scan, const char *line)
{
	struct scan number = scan;
	uint64_t value;
	scan_skip_blanks(&number);
	return digits_take(&number.at, number.end, 10, &value) && scan_at_word_end(&number) &&
	       (value > MOST_THREADS || is_number_of(scan, line, PERIOD_COLUMNS));
}

/* Whether a number has more columns than a period: it is an address without letters. */
static bool is_wide_number(struct scan scan, const char *line)
{
	bool wide = is_number_of(scan, line, PERIOD_COLUMNS + 1);
	scan_skip_blanks(&scan);
	return wide && scan.at - line >= 2 && scan_is_blank(scan.at[-2]);
}

/* Stores the rest of a line: trimmed, and with the blanks before it from `start` on. */
static void take_rest(const struct scan *scan, const char *start, struct perf_script_sample *out)
{
	const char *from = scan->at;
	out->rest = scan_trimmed(scan->at, scan->end);
	while (from > start && scan_is_blank(from[-1]))
		from--;
	out->fields = (struct span){ from, (size_t)(scan->end - from) };
}

/* All columns behind the thread. Without a time or an event it is no sample. */
static bool take_columns(struct scan scan, struct perf_script_sample *out)
{
	const char *start = scan.at;
	scan_skip_blanks(&scan);
	skip_cpu(&scan);
	skip_misc(&scan);
	size_t fraction_digits = take_time(&scan);
	out->timed = fraction_digits > 0;
	out->is_record = begins_with(&scan, "PERF_RECORD_");
	out->event = (struct span){ NULL, 0 };
	if (out->is_record) {
		out->period = OPTIONAL_ABSENT;
		take_rest(&scan, start, out);
		return true;
	}
	struct scan before_period = scan;
	bool has_period = take_period(&scan, &out->period);
	if (!take_event(&scan, &out->event)) {
		struct perf_script_frame leaf;
		if (!out->timed)
			return false;
		take_rest(&scan, start, out);
		bool wide = has_period && is_wide_number(before_period, start);
		if (!wide && (out->rest.size == 0 || perf_script_parse_leaf(out->fields, &leaf)))
			return true;
		/* an address may look like a period */
		out->period = OPTIONAL_ABSENT;
		take_rest(&before_period, start, out);
		if (has_period && perf_script_parse_leaf(out->fields, &leaf))
			return true;
		/* a tracepoint's fields without its name: a thread and perf's time are enough */
		return out->tid != OPTIONAL_ABSENT && fraction_digits >= TIME_DIGITS;
	}
	take_rest(&scan, start, out);
	return true;
}

/* Words that end in a colon are in many texts; what follows an event is a place, or a chain. */
static bool is_plain_sample(const struct perf_script_sample *sample)
{
	struct perf_script_frame leaf;
	if (sample->timed || sample->rest.size == 0)
		return true;
	if (!perf_script_parse_leaf(sample->fields, &leaf))
		return false;
	const char *dso = leaf.dso.data;
	return dso ? *dso == '/' || *dso == '[' : leaf.name.size || leaf.address > SMALL_NUMBER;
}

/* Whether the command's name, which has so many words already, may go on. */
static bool is_in_comm(const struct scan *scan, const char *start, int words)
{
	return scan->at < scan->end && scan->at - start < COMM_LIMIT && words < COMM_WORDS;
}

bool perf_script_parse_sample(const char *line, size_t size, struct perf_script_sample *out)
{
	struct scan scan = { line, line + size };
	scan_skip_blanks(&scan);
	const char *start = scan.at;
	for (int words = 0; is_in_comm(&scan, start, words); words++) {
		struct span word = scan_word(&scan);
		const char *name_end = scan.at;
		if (word.size == 0)
			break;
		scan_skip_blanks(&scan);
		struct scan columns = scan;
		if (scan.at < scan.end && (is_digit(*scan.at) || *scan.at == '-') &&
		    !is_period(scan, line) && take_thread(&columns, out) &&
		    take_columns(columns, out)) {
			out->comm = scan_trimmed(start, name_end);
			out->thread = scan_trimmed(start, columns.at);
			return true;
		}
	}
	/* without a thread: columns from the start of the line, or behind the first words for which
	   that works */
	scan.at = start;
	out->pid = out->tid = OPTIONAL_ABSENT;
	if (take_columns(scan, out) && out->event.size && (out->timed || out->period) &&
	    is_plain_sample(out)) {
		out->comm = out->thread = (struct span){ start, 0 };
		return true;
	}
	for (int words = 0; is_in_comm(&scan, start, words); words++) {
		if (scan_word(&scan).size == 0)
			break;
		const char *name_end = scan.at;
		scan_skip_blanks(&scan);
		if (scan.at < scan.end && take_columns(scan, out) && is_plain_sample(out)) {
			out->comm = out->thread = scan_trimmed(start, name_end);
			return true;
		}
	}
	return false;
}

/* ---- lines without time and event */

/* As skip_misc(), whatever follows. */
static void skip_letters(struct scan *scan)
{
	struct scan begin = *scan;
	struct span word = scan_word(scan);
	for (size_t i = 0; i < word.size; i++)
		if (word.size > 5 || !strchr("KUHGgMESDBuL", ((const char *)word.data)[i])) {
			*scan = begin;
			return;
		}
	scan_skip_blanks(scan);
}

/* Reads the columns behind a command's name. Returns how many bytes they take. */
static size_t take_any_columns(struct scan scan, const char *line, struct perf_script_sample *out)
{
	const char *start = scan.at;
	*out = (struct perf_script_sample){ 0 };
	struct scan next = scan;
	scan_skip_blanks(&next);
	bool threaded = is_number_of(scan, line, THREAD_COLUMNS) && !is_period(scan, line) &&
			take_thread(&next, out);
	out->thread = (struct span){ start, threaded ? (size_t)(next.at - start) : 0 };
	scan_skip_blanks(&next);
	skip_cpu(&next);
	skip_letters(&next);
	out->timed = take_time(&next) > 0;
	out->is_record = begins_with(&next, "PERF_RECORD_");
	if (!out->is_record) {
		if (is_number_of(next, line, PERIOD_COLUMNS) && !is_wide_number(next, line))
			take_period(&next, &out->period);
		take_event(&next, &out->event);
	}
	take_rest(&next, start, out);
	return (size_t)(next.at - start);
}

/* Reads a line whose columns go to its end (`leaf` NULL), or to a place at its end. */
static bool parse_bare(struct span line, struct perf_script_frame *leaf,
		       struct perf_script_sample *out)
{
	const char *start = line.data, *word_end = start;
	struct scan scan = { start, start + line.size };
	for (int words = 0; scan.at - start < COMM_LIMIT && words <= COMM_WORDS; words++) {
		size_t taken = take_any_columns(scan, start, out);
		enum perf_script_before before = scan.at == start && out->fields.data == start
							 ? PERF_SCRIPT_BEFORE_NOTHING
							 : PERF_SCRIPT_BEFORE_COLUMNS;
		bool fits = leaf ? perf_script_parse_aligned_leaf(out->fields, before, leaf)
				 : out->rest.size == 0 && (taken > 1 || scan.at == start);
		if (fits || out->is_record) {
			out->comm = scan_trimmed(start, word_end);
			out->thread = scan_trimmed(start, (const char *)out->thread.data +
								  out->thread.size);
			return true;
		}
		scan_skip_blanks(&scan);
		if (scan_word(&scan).size == 0)
			break;
		word_end = scan.at;
	}
	return false;
}

bool perf_script_parse_columns(struct span line, struct perf_script_sample *out,
			       struct perf_script_frame *leaf)
{
	return parse_bare(line, leaf, out);
}

void perf_script_parse_head(struct span line, struct perf_script_sample *out)
{
	if (parse_bare(line, NULL, out))
		return;
	const char *end = (const char *)line.data + line.size;
	struct scan scan = { line.data, end };
	scan_skip_blanks(&scan);
	const char *start = scan.at;
	*out = (struct perf_script_sample){ .comm = scan_trimmed(start, end) };
	for (out->thread = out->comm; scan.at < scan.end; scan_skip_blanks(&scan)) {
		const char *name = scan.at;
		struct scan thread = scan;
		if (name > start && take_thread(&thread, out)) {
			out->comm = scan_trimmed(start, name);
			out->thread = scan_trimmed(start, thread.at);
			return;
		}
		scan_word(&scan);
	}
	if (out->comm.size > COMM_BYTES) {
		scan.at = start;
		out->comm = out->thread = scan_word(&scan);
	}
}
