/*
 * folded_line - one line of folded text: its stack and its count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum folded_line_kind {
	FOLDED_STACK,
	FOLDED_BLANK,
	FOLDED_COMMENT, /* starts with # or // and has no count */
	FOLDED_BAD,	/* no count, a count past 64 bits, or a zero byte */
};

struct folded_line {
	struct span stack;  /* before the blank in front of the count; may be empty */
	uint64_t whole;	    /* of the count */
	uint32_t fraction;  /* in 10^-9, rounded to nearest */
	unsigned decimals;  /* that the fraction needs, at most 9 */
	bool rounded;	    /* it had more */
	bool second_number; /* the stack itself ends in a blank and a number */
};

/* `line` is without its newline; a carriage return and blanks at its end are dropped. */
enum folded_line_kind folded_line_parse(const char *line, size_t size, struct folded_line *out);
