/*
 * frame_table_layout - frame rules of many files in a pool of words, and the way from a place to
 *its rule: the same code in the kernel (src/bpf) and here. A row takes two bytes.
 *
 * The pool is made of slabs of 1 MiB; what is looked up at once never crosses the border of one. Of
 *a file there are, each at a position in the pool:
 *
 *	rules	two words each, the most frequent first
 *	pages	a word for each 64 KiB of the file: where its page is; 0: there is none
 *	a page	word 0: number of rows, and in the upper half that of exceptions
 *		257 half words: which row is the first at or behind byte 256 * i of the page
 *		(one more half word is unused)
 *		a half word for each row: the lower byte of its place, and above it the number of
 *its rule, or FRAME_TABLE_EXCEPTION a word for each exception: number of the rule, and above it the
 *place, 16 bits
 *
 * A row holds up to the next one. A page's first row is at its first byte.
 *
 * Whatever stands in the pool, no access is outside of it, and a lookup ends after some 40 steps.
 */
#pragma once

#include <stdint.h>

#include "frame_rule.h"

#define FRAME_SLAB_BITS	 18u /* log2 of its words */
#define FRAME_SLAB_WORDS (1u << FRAME_SLAB_BITS)
#define FRAME_SLAB_MOST	 64u /* of a pool */
#define FRAME_PAGE_BITS	 16u /* log2 of the bytes of a file that a page is about */

#define FRAME_TABLE_INDEX     1u   /* word of a page where its index begins */
#define FRAME_TABLE_ROWS      130u /* word of a page where its rows begin */
#define FRAME_TABLE_EXCEPTION 255u

/* Where the table of a file is. */
struct frame_table_place {
	uint32_t first_page; /* of the file, from offset first_page << FRAME_PAGE_BITS on */
	uint32_t page_count; /* 0: there is no table */
	uint32_t pages_at, rules_at;
};

#ifndef FRAME_INLINE
#define FRAME_INLINE static inline
#endif

/* A number of rows as it is: in the kernel, where the verifier would follow each way through a
 * search by what it knows of the numbers, it is made to forget that. */
#ifndef FRAME_FORGET
#define FRAME_FORGET(rows) (rows)
#endif

FRAME_INLINE uint32_t frame_slab_word(const uint32_t *slab, uint32_t at)
{
	return slab[at & (FRAME_SLAB_WORDS - 1)];
}

/* The half word at a position in half words. */
FRAME_INLINE uint32_t frame_slab_half(const uint32_t *slab, uint32_t at)
{
	return ((const uint16_t *)slab)[at & (2 * FRAME_SLAB_WORDS - 1)];
}

/* The number of the rule that holds at byte `low` of the page at `at`; UINT32_MAX: none does. */
FRAME_INLINE uint32_t frame_page_find(const uint32_t *slab, uint32_t at, uint32_t low)
{
	uint32_t block = (at + FRAME_TABLE_INDEX) * 2 + (low >> 8);
	uint32_t rows = (at + FRAME_TABLE_ROWS) * 2;
	uint32_t from = frame_slab_half(slab, block);
	uint32_t to = frame_slab_half(slab, block + 1);
	/* A block has 256 places: nine steps. */
	for (int i = 0; i < 9 && from < to; i++) {
		uint32_t middle = (from + to) / 2;
		if ((frame_slab_half(slab, rows + middle) & 255) <= (low & 255))
			from = middle + 1;
		else
			to = middle;
		from = FRAME_FORGET(from);
		to = FRAME_FORGET(to);
	}
	if (!from)
		return UINT32_MAX;
	uint32_t number = frame_slab_half(slab, rows + from - 1) >> 8;
	if (number != FRAME_TABLE_EXCEPTION)
		return number;
	/* The last exception that is not behind the place is that row's. */
	uint32_t counts = frame_slab_word(slab, at);
	uint32_t list = at + FRAME_TABLE_ROWS + ((counts & 0xffff) + 1) / 2;
	from = 0;
	to = counts >> 16;
	for (int i = 0; i < 17 && from < to; i++) {
		uint32_t middle = (from + to) / 2;
		if (frame_slab_word(slab, list + middle) >> 16 <= low)
			from = middle + 1;
		else
			to = middle;
		from = FRAME_FORGET(from);
		to = FRAME_FORGET(to);
	}
	return from ? frame_slab_word(slab, list + from - 1) & 0xffff : UINT32_MAX;
}
