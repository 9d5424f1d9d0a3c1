/*
 * callgrind_line - the words of a line of a callgrind file: numbers, positions
 * that may be relative to the one before, and names that are given in full once
 * and by number afterwards. As "Callgrind Format Specification" of valgrind's
 * manual has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/* What the words are taken from, front to back. */
struct callgrind_words {
	const char *at, *end;
};

static inline struct callgrind_words callgrind_words_of(struct span text)
{
	const char *at = text.data ? text.data : "";
	return (struct callgrind_words){ at, at + text.size };
}

void callgrind_skip_blanks(struct callgrind_words *words);
bool callgrind_at_end(struct callgrind_words *words); /* but for blanks */
/* Decimal, or hexadecimal after 0x; false and nothing taken when there is none below 2^64. */
bool callgrind_number(struct callgrind_words *words, uint64_t *value);
/* A number, or +n, -n or * against `before`; false also when the sum leaves 64 bits. */
bool callgrind_position(struct callgrind_words *words, uint64_t before, uint64_t *value);
/* Up to the next blank; empty at the end. */
struct span callgrind_word(struct callgrind_words *words);
/* What is left, without blanks around it. */
struct span callgrind_rest(struct callgrind_words *words);

/* "name", "(7) name" or "(7)". */
struct callgrind_name {
	bool numbered;
	uint64_t number;
	struct span text; /* empty: the one that came with that number before */
};
bool callgrind_name(struct span text, struct callgrind_name *name);
