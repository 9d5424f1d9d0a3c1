#include "import/perf_script/perf_script_frame.h"

#include <string.h>

#include "base/count_of.h"
#include "import/perf_script/perf_script_scan.h"

#define ADDRESS_COLUMNS	       16
#define ALONE_AT_START_COLUMNS (ADDRESS_COLUMNS + 1)
/* Behind another column stand two blanks; before an address that was accessed stands one. */
#define ALONE_BEHIND_COLUMNS (ADDRESS_COLUMNS + 2)
#define PLACE_LIMIT	     (1u << 20) /* bytes of fields that a place is looked for in */

static bool is_hex(char c)
{
	return hex_digit(c) >= 0;
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
			return at == start || scan_is_blank(at[-1]) ? at : NULL;
	}
	return NULL;
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
	struct span name = scan_trimmed(scan.at, dso ? dso : scan.end);
	out->dso = dso ? (struct span){ dso + 1, (size_t)(scan.end - dso - 2) }
		       : (struct span){ NULL, 0 };
	out->inlined = span_equal(out->dso, span_of_text("inlined"));
	out->name = span_equal(name, span_of_text("[unknown]")) ? (struct span){ NULL, 0 }
								: without_offset(name);
	return dso || name.size;
}

bool perf_script_parse_frame(const char *line, size_t size, struct perf_script_frame *out)
{
	struct span text = scan_trimmed(line, line + size);
	struct scan scan = { text.data, (const char *)text.data + text.size };
	if (scan_address(&scan, &out->address))
		return take_place(scan, out) ||
		       perf_script_is_chain_frame((struct span){ line, size });
	out->address = 0;
	return take_place(scan, out) && out->dso.data && out->name.size;
}

/* A place at the end of the line, recognised by its DSO. */
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
	for (scan_skip_blanks(&scan); scan.at < dso; scan_skip_blanks(&scan)) {
		uint64_t address;
		struct scan number = scan;
		if (scan_address(&scan, &address)) {
			before = last;
			last = number;
		} else if (last.at) {
			break;
		} else {
			scan_word(&scan);
		}
	}
	if (!last.at)
		return false;
	scan_address(&last, &out->address);
	if (before.at && scan_trimmed(last.at, dso).size == 0) { /* a function named "add" */
		last = before;
		scan_address(&last, &out->address);
	}
	return take_place(last, out);
}

/* An address as perf prints it: to the right in 16 columns, with a blank before them. */
static bool take_aligned_address(struct scan *scan, size_t *columns)
{
	struct scan begin = *scan;
	uint64_t address;
	scan_skip_blanks(scan);
	const char *digits = scan->at;
	if (digits > begin.at && scan_address(scan, &address)) {
		size_t all = (size_t)(scan->at - begin.at);
		if (all > ADDRESS_COLUMNS && scan->at - digits <= ADDRESS_COLUMNS) {
			*columns = all;
			return true;
		}
	}
	*scan = begin;
	return false;
}

/* The DSO behind a name, wherever the line ends, recognised by its first character. */
static bool find_dso(const struct scan *scan, struct span *dso)
{
	const char *at = scan->at;
	while (scan->end - at > 2 &&
	       !(scan_is_blank(*at) && at[1] == '(' && (at[2] == '/' || at[2] == '[')))
		at++;
	if (scan->end - at <= 2)
		return false;
	size_t open = 0;
	for (const char *end = at + 1; end < scan->end; end++) {
		open += *end == '(';
		open -= *end == ')' && open;
		if (open == 0 && (end + 1 == scan->end || scan_is_blank(end[1]))) {
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

bool perf_script_parse_aligned_leaf(struct span fields, enum perf_script_before before,
				    struct perf_script_frame *out)
{
	/* of an address that has no name */
	size_t alone = before == PERF_SCRIPT_BEFORE_NOTHING ? ALONE_AT_START_COLUMNS
							    : ALONE_BEHIND_COLUMNS;
	struct scan scan = { fields.data, (const char *)fields.data + fields.size };
	const char *bar = fields.size ? memrchr(scan.at, '|', fields.size) : NULL;
	size_t columns = 0, more;
	if (fields.size > PLACE_LIMIT)
		return false;
	if (bar) { /* of a data source: "BLK  N/A               0     55c3eb68c179 leaf" */
		scan.at = bar;
		while (scan.at < scan.end && !take_aligned_address(&scan, &columns)) {
			scan_skip_blanks(&scan);
			scan_word(&scan);
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
	bool named = scan.end - scan.at > 1 && !scan_is_blank(scan.at[1]);
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
	return parse_leaf_of_dso(scan_trimmed(start, start + fields.size), out) ||
	       perf_script_parse_aligned_leaf(fields, PERF_SCRIPT_BEFORE_COLUMNS, out);
}

bool perf_script_is_chain_frame(struct span line)
{
	struct scan scan = { line.data, (const char *)line.data + line.size };
	uint64_t address;
	if (!scan_character(&scan, '\t'))
		return false;
	const char *start = scan.at;
	scan_skip_blanks(&scan);
	return scan_address(&scan, &address) && scan.at - start == ADDRESS_COLUMNS;
}
