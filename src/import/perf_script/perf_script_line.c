#include "import/perf_script/perf_script_line.h"

#include <string.h>

#include "base/count_of.h"
#include "base/digits.h"
#include "profile/profile.h"

#define ADDRESS_COLUMNS 16
#define THREAD_COLUMNS	5
#define TIME_DIGITS	6 /* of a fraction, at least */
#define PERIOD_COLUMNS	10
/* Behind another column stand two blanks; before an address that was accessed stands one. */
#define ALONE_BEHIND_COLUMNS (ADDRESS_COLUMNS + 2)
#define MOST_THREADS	     4194304 /* PID_MAX_LIMIT of the kernel: a larger number is a period */
#define SMALL_NUMBER	     0xffff  /* no code lies that low */
#define COMM_BYTES	     15	     /* that the kernel keeps */
#define COMM_LIMIT	     256 /* bytes in which the command's name ends; the kernel's have 15 */
#define COMM_WORDS                                                                                 \
	16 /* that it has at most; in 15 bytes there are 8. Behind each, all is read anew */
#define PLACE_LIMIT (1u << 20) /* bytes of fields that a place is looked for in */

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

/* "1234.567890:"; how many digits the fraction has, 0 when it is no time. */
static size_t take_time(struct scan *scan)
{
	struct scan begin = *scan;
	uint64_t seconds, fraction;
	if (digits_take(&scan->at, scan->end, 10, &seconds) && take_character(scan, '.')) {
		const char *start = scan->at;
		bool digits = digits_take(&scan->at, scan->end, 10, &fraction);
		size_t count = (size_t)(scan->at - start);
		if (digits && take_character(scan, ':') && at_word_end(scan)) {
			skip_blanks(scan);
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

/* A number that perf wrote to the right in so many columns, behind the blank that ends another. */
static bool is_number_of(struct scan scan, const char *line, ptrdiff_t columns)
{
	uint64_t number;
	const char *from = scan.at;
	while (from > line && is_blank(from[-1]))
		from--;
	from += from > line; /* that blank */
	skip_blanks(&scan);
	return digits_take(&scan.at, scan.end, 10, &number) && scan.at - from >= columns;
}

/* A number that no thread has, or in the columns of a period, where the TID could be. */
static bool is_period(struct scan scan, const char *line)
{
	struct scan number = scan;
	uint64_t value;
	skip_blanks(&number);
	return digits_take(&number.at, number.end, 10, &value) && at_word_end(&number) &&
	       (value > MOST_THREADS || is_number_of(scan, line, PERIOD_COLUMNS));
}

/* A number to the right of more columns than a period is given: an address without a letter. */
static bool is_wide_number(struct scan scan, const char *line)
{
	bool wide = is_number_of(scan, line, PERIOD_COLUMNS + 1);
	skip_blanks(&scan);
	return wide && scan.at - line >= 2 && is_blank(scan.at[-2]);
}

/* What is left of a line, with the blanks before it down to `start`. */
static void take_rest(const struct scan *scan, const char *start, struct perf_script_sample *out)
{
	const char *from = scan->at;
	out->rest = trimmed(scan->at, scan->end);
	while (from > start && is_blank(from[-1]))
		from--;
	out->fields = (struct span){ from, (size_t)(scan->end - from) };
}

/* All behind the thread. A time or an event tells a sample from other text. */
static bool take_columns(struct scan scan, struct perf_script_sample *out)
{
	const char *start = scan.at;
	skip_blanks(&scan);
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

/* A word that ends in a colon is in much text; what follows an event is a place, or a chain. */
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
	skip_blanks(&scan);
	const char *start = scan.at;
	for (int words = 0; is_in_comm(&scan, start, words); words++) {
		struct span word = next_word(&scan);
		const char *name_end = scan.at;
		if (word.size == 0)
			break;
		skip_blanks(&scan);
		struct scan columns = scan;
		if (scan.at < scan.end && (is_digit(*scan.at) || *scan.at == '-') &&
		    !is_period(scan, line) && take_thread(&columns, out) &&
		    take_columns(columns, out)) {
			out->comm = trimmed(start, name_end);
			out->thread = trimmed(start, columns.at);
			return true;
		}
	}
	/* without a thread: the first columns that are some; without a command, all are */
	scan.at = start;
	out->pid = out->tid = OPTIONAL_ABSENT;
	if (take_columns(scan, out) && out->event.size && (out->timed || out->period) &&
	    is_plain_sample(out)) {
		out->comm = out->thread = (struct span){ start, 0 };
		return true;
	}
	for (int words = 0; is_in_comm(&scan, start, words); words++) {
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
		return take_place(scan, out) ||
		       perf_script_is_chain_frame((struct span){ line, size });
	out->address = 0;
	return take_place(scan, out) && out->dso.data && out->name.size;
}

/* A place at the end of the line, told by its DSO. */
static bool parse_leaf_of_dso(struct span rest, struct perf_script_frame *out)
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

/* An address as perf prints it: to the right in 16 columns, with a blank before them. */
static bool take_aligned_address(struct scan *scan, size_t *columns)
{
	struct scan begin = *scan;
	uint64_t address;
	skip_blanks(scan);
	const char *digits = scan->at;
	if (digits > begin.at && take_address(scan, &address)) {
		size_t all = (size_t)(scan->at - begin.at);
		if (all > ADDRESS_COLUMNS && scan->at - digits <= ADDRESS_COLUMNS) {
			*columns = all;
			return true;
		}
	}
	*scan = begin;
	return false;
}

/* The DSO behind a name, wherever the line ends: what it is tells its first character. */
static bool find_dso(const struct scan *scan, struct span *dso)
{
	const char *at = scan->at;
	while (scan->end - at > 2 &&
	       !(is_blank(*at) && at[1] == '(' && (at[2] == '/' || at[2] == '[')))
		at++;
	if (scan->end - at <= 2)
		return false;
	size_t open = 0;
	for (const char *end = at + 1; end < scan->end; end++) {
		open += *end == '(';
		open -= *end == ')' && open;
		if (open == 0 && (end + 1 == scan->end || is_blank(end[1]))) {
			*dso = (struct span){ at + 2, (size_t)(end - at) - 2 };
			return true;
		}
	}
	return false;
}

/* Where a name ends that no DSO follows: names have single blanks, columns behind them more. */
static const char *name_end(const struct scan *scan)
{
	static const char *const next[] = { " insn: ", " ilen: ", " ABI:" };
	const char *end = scan->end;
	const char *gap = memmem(scan->at, (size_t)(end - scan->at), "  ", 2);
	end = gap ? gap : end;
	for (size_t i = 0; i < COUNT_OF(next); i++) {
		const char *found =
			memmem(scan->at, (size_t)(end - scan->at), next[i], strlen(next[i]));
		end = found ? found : end;
	}
	return end;
}

/* A place told by the columns of its address; `alone`: columns of one that has no name. */
static bool parse_aligned_leaf(struct span fields, size_t alone, struct perf_script_frame *out)
{
	struct scan scan = { fields.data, (const char *)fields.data + fields.size };
	const char *bar = fields.size ? memrchr(scan.at, '|', fields.size) : NULL;
	size_t columns = 0, more;
	if (fields.size > PLACE_LIMIT)
		return false;
	if (bar) { /* of a data source: "BLK  N/A               0     55c3eb68c179 leaf" */
		scan.at = bar;
		while (scan.at < scan.end && !take_aligned_address(&scan, &columns)) {
			skip_blanks(&scan);
			next_word(&scan);
		}
	} else {
		take_aligned_address(&scan, &columns);
	}
	if (!columns)
		return false;
	struct scan after = scan;
	while (take_aligned_address(&after, &more)) { /* before it: one that was accessed */
		columns = alone;
		scan = after;
	}
	const char *digits = scan.at;
	while (is_hex(digits[-1]))
		digits--;
	*out = (struct perf_script_frame){ 0 };
	digits_take(&digits, scan.end, 16, &out->address);
	bool named = scan.end - scan.at > 1 && !is_blank(scan.at[1]);
	if (find_dso(&scan, &out->dso)) {
		struct scan place = { scan.at, (const char *)out->dso.data + out->dso.size + 1 };
		return take_place(place, out);
	}
	return named ? take_place((struct scan){ scan.at, name_end(&scan) }, out)
		     : columns >= alone;
}

bool perf_script_parse_leaf(struct span fields, struct perf_script_frame *out)
{
	const char *start = fields.data;
	if (fields.size == 0 || fields.size > PLACE_LIMIT)
		return false;
	return parse_leaf_of_dso(trimmed(start, start + fields.size), out) ||
	       parse_aligned_leaf(fields, ALONE_BEHIND_COLUMNS, out);
}

/* ---- lines without time and event */

bool perf_script_is_chain_frame(struct span line)
{
	struct scan scan = { line.data, (const char *)line.data + line.size };
	uint64_t address;
	if (!take_character(&scan, '\t'))
		return false;
	const char *start = scan.at;
	skip_blanks(&scan);
	return take_address(&scan, &address) && scan.at - start == ADDRESS_COLUMNS;
}

/* Up to five letters, as skip_misc() has them, whatever follows. */
static void skip_letters(struct scan *scan)
{
	struct scan begin = *scan;
	struct span word = next_word(scan);
	for (size_t i = 0; i < word.size; i++)
		if (word.size > 5 || !strchr("KUHGgMESDBuL", ((const char *)word.data)[i])) {
			*scan = begin;
			return;
		}
	skip_blanks(scan);
}

/* The columns behind a command's name. How many bytes they are. */
static size_t take_any_columns(struct scan scan, const char *line, struct perf_script_sample *out)
{
	const char *start = scan.at;
	*out = (struct perf_script_sample){ 0 };
	struct scan next = scan;
	skip_blanks(&next);
	bool threaded = is_number_of(scan, line, THREAD_COLUMNS) && !is_period(scan, line) &&
			take_thread(&next, out);
	out->thread = (struct span){ start, threaded ? (size_t)(next.at - start) : 0 };
	skip_blanks(&next);
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

/* Either to the end of the line (NULL), or to a place at its end. */
static bool parse_bare(struct span line, struct perf_script_frame *leaf,
		       struct perf_script_sample *out)
{
	const char *start = line.data, *word_end = start;
	struct scan scan = { start, start + line.size };
	for (int words = 0; scan.at - start < COMM_LIMIT && words <= COMM_WORDS; words++) {
		size_t taken = take_any_columns(scan, start, out);
		size_t alone = scan.at == start && out->fields.data == start ? ADDRESS_COLUMNS + 1
									     : ALONE_BEHIND_COLUMNS;
		bool fits = leaf ? parse_aligned_leaf(out->fields, alone, leaf)
				 : out->rest.size == 0 && (taken > 1 || scan.at == start);
		if (fits || out->is_record) {
			out->comm = trimmed(start, word_end);
			out->thread =
				trimmed(start, (const char *)out->thread.data + out->thread.size);
			return true;
		}
		skip_blanks(&scan);
		if (next_word(&scan).size == 0)
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
	skip_blanks(&scan);
	const char *start = scan.at;
	*out = (struct perf_script_sample){ .comm = trimmed(start, end) };
	for (out->thread = out->comm; scan.at < scan.end; skip_blanks(&scan)) {
		const char *name = scan.at;
		struct scan thread = scan;
		if (name > start && take_thread(&thread, out)) {
			out->comm = trimmed(start, name);
			out->thread = trimmed(start, thread.at);
			return;
		}
		next_word(&scan);
	}
	if (out->comm.size > COMM_BYTES) {
		scan.at = start;
		out->comm = out->thread = next_word(&scan);
	}
}
