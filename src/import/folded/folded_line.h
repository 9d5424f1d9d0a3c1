/*
 * folded_line - one line of folded text: its stack and its count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define FOLDED_MAX_DECIMALS 9			 /* more are rounded: floating-point noise */
#define FOLDED_ONE	    UINT64_C(1000000000) /* 10^FOLDED_MAX_DECIMALS */

enum folded_line_kind {
	FOLDED_STACK,
	FOLDED_BLANK,
	FOLDED_COMMENT, /* starts with # or // and has no count */
	FOLDED_BAD,	/* no count, a count past 64 bits, or a zero byte */
};

struct folded_count {
	uint64_t whole;
	uint32_t fraction; /* in 10^-9, rounded to nearest */
	unsigned decimals; /* that the fraction needs, at most 9 */
	bool rounded;	   /* it had more */
};

struct folded_line {
	struct span stack; /* before the blank in front of the count; may be empty */
	struct folded_count count;
	bool second_number; /* the stack itself ends in a blank and a number */
};

/* `line` is without its newline; blanks at its end are dropped. */
enum folded_line_kind folded_line_parse(const char *line, size_t size, struct folded_line *out);

/* Takes the blank and the number off the end of a text that ends so. False when it does not, or
 * the number passes 64 bits. */
bool folded_count_take(struct span *text, struct folded_count *out);
