/*
 * folded - stacks as folded text, one a line, root first, a count at the end
 * ("main;read;vfs_read 27"), as stackcollapse-perf.pl and its kin write them.
 * The text comes in pieces of any size and is read as it comes: memory grows
 * with distinct stacks, never with lines.
 *
 * Every frame becomes a bare name (import/folded_name.h). Whether a first frame
 * is a command's name can't be known, so contexts stay empty. A count says
 * nothing of how many samples it stands for: cells have an estimate and absent
 * samples. Fractional counts give the event a decimal scale.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct folded_reader;
struct profile;

#define FOLDED_MAX_LINE	    (16u << 20) /* a longer line is counted as bad */
#define FOLDED_MAX_DECIMALS 9		/* more are rounded: floating-point noise */
#define FOLDED_SHOWN_LINES  5

struct folded_options {
	const char *event; /* NULL: "samples" */
	const char *unit;  /* NULL: "samples" */
	bool one_count;	   /* the last number is the count even when all lines end in two */
};

struct folded_counts {
	uint64_t lines;	   /* all */
	uint64_t taken;	   /* with a stack and a count */
	uint64_t comments; /* start with # or // and have no count */
	uint64_t blank;
	uint64_t bad; /* no count, a count past 64 bits, a zero byte, or too long */
	uint64_t bad_lines[FOLDED_SHOWN_LINES]; /* numbers of the first ones, from 1 */
	uint64_t rounded;			/* counts with more decimals than were kept */
	unsigned decimals;			/* that were kept */
};

/*
 * Whether the first bytes of a file are folded text: most lines that are no
 * comment have a count, and some stack is more than a number. Weaker than other
 * formats' marks, so ask it last.
 */
bool folded_recognise(const void *bytes, size_t size);

/* Returns 0 or -ENOMEM. `options` must outlive the reader. */
int folded_reader_new(const struct folded_options *options, struct folded_reader **out);
void folded_reader_free(struct folded_reader *reader);
void folded_reader_freep(struct folded_reader **reader); /* for CLEANUP() */

/*
 * The next bytes. Returns 0; -EPROTO when this can't be folded text (UTF-16,
 * compressed); -EOVERFLOW when counts of one stack pass 64 bits; -ENOMEM.
 * After an error the reader is only fit to be freed.
 */
int folded_reader_feed(struct folded_reader *reader, const void *bytes, size_t size,
		       struct error *err);

/*
 * The end: a last line without newline counts. Stores a profile that the caller
 * frees, fills *counts. Returns 0; -ENODATA when no line had a count; -ENOTSUP when all
 * had two; -EOVERFLOW; -ENOMEM.
 */
int folded_reader_finish(struct folded_reader *reader, struct profile **out,
			 struct folded_counts *counts, struct error *err);
