/*
 * frame_table - the rules of a file in the form in which they are kept and sent: words that a pool
 * (frame_pool.h) takes in as they are, but for positions. cc1, of 33 MB, has 433,000 rows, in 1.1
 * MB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "unwind/frame_table_layout.h"

struct buffer;
struct frame_rules;

/*
 * The beginning of a table. After it: the rules, two words each; the number of words of each page,
 * 0 for one that says nothing; the pages.
 */
struct frame_table_head {
	uint32_t magic;
	uint32_t machine; /* EM_* */
	uint32_t first_page, page_count, rule_count;
	uint32_t rows; /* of all pages, for figures */
};

#define FRAME_TABLE_MAGIC 0x31746663u /* "cft1" */

/* Of its pages: no pool takes more (frame_pool.h). Rules that hold over gigabytes, which a file of
 * two kilobytes can say, would take 34 MB. */
#define FRAME_TABLE_WORDS_MOST ((uint64_t)FRAME_SLAB_MOST * FRAME_SLAB_WORDS / 4)

/* Appends the table of a file; that of one without rules has no pages. 0, -ENOMEM, or -E2BIG: it
 * would be larger. */
int frame_table_put(const struct frame_rules *rules, uint16_t machine, struct buffer *out);

/* A table that was checked: its parts lie within it, and none is larger than a slab. */
struct frame_table {
	struct frame_table_head head;
	const uint8_t *rules, *sizes, *pages; /* of words; not aligned */
	uint64_t words;			      /* of its pages, together */
};

/* False where the bytes are no table. They must outlive *out. */
bool frame_table_read(struct span bytes, struct frame_table *out);
