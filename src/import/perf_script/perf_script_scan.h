/*
 * perf_script_scan - the words of a line of `perf script`, front to back. A function that
 * does not find what it looks for returns false and leaves the scan where it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digits.h"
#include "base/span.h"

/* A place in a line. */
struct scan {
	const char *at, *end;
};

static inline bool scan_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline void scan_skip_blanks(struct scan *scan)
{
	while (scan->at < scan->end && scan_is_blank(*scan->at))
		scan->at++;
}

/* The bytes up to the next blank. */
static inline struct span scan_word(struct scan *scan)
{
	const char *start = scan->at;
	while (scan->at < scan->end && !scan_is_blank(*scan->at))
		scan->at++;
	return (struct span){ start, (size_t)(scan->at - start) };
}

/* Whether a word ends here: at a blank, or with the line. */
static inline bool scan_at_word_end(const struct scan *scan)
{
	return scan->at == scan->end || scan_is_blank(*scan->at);
}

static inline bool scan_character(struct scan *scan, char c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

/* The text without blanks around it. */
static inline struct span scan_trimmed(const char *start, const char *end)
{
	while (start < end && scan_is_blank(*start))
		start++;
	while (end > start && scan_is_blank(end[-1]))
		end--;
	return (struct span){ start, (size_t)(end - start) };
}

/* A hexadecimal number without 0x, as a word. */
static inline bool scan_address(struct scan *scan, uint64_t *address)
{
	const char *start = scan->at;
	if (digits_take(&scan->at, scan->end, 16, address) && scan_at_word_end(scan))
		return true;
	scan->at = start;
	return false;
}
