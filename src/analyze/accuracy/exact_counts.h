/*
 * exact_counts - what ran, counted exactly: the executions of instructions and the branches
 * between them from an imported callgrind.out (--dump-instr=yes --collect-jumps=yes), to
 * hold estimates against. Images are those of another profile of the same program, found
 * by path, since callgrind names no build-ids; the caller vouches that files are the same.
 *
 * Borrows both profiles. Nothing changes once made; threads may share it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/event_column.h"

struct error;
struct profile;
struct exact_counts;

/*
 * Returns 0 and stores what the caller frees; -ENODATA (`counted` has no "Ir", or it is not by
 * instruction) or -ENOMEM, with *err filled.
 */
int exact_counts_new(const struct profile *counted, const struct profile *sampled,
		     struct exact_counts **out, struct error *err);
void exact_counts_free(struct exact_counts *truth);
void exact_counts_freep(struct exact_counts **truth); /* for CLEANUP() */

/* The image of `counted` that an image of `sampled` is, or 0: of one path, or else the only one
 * whose file has the name. */
uint32_t exact_counts_image(const struct exact_counts *truth, uint32_t sampled_image);

/* The events of `counted`, and which of them counts executions. */
const struct event_columns *exact_counts_columns(const struct exact_counts *truth);
size_t exact_counts_executions_column(const struct exact_counts *truth);

/* How much the event of a column counted at one address, or from `first` to `last`; `image` is that
 * of exact_counts_image(). */
double exact_counts_count(const struct exact_counts *truth, size_t column, uint32_t image,
			  uint64_t vaddr);
double exact_counts_sum(const struct exact_counts *truth, size_t column, uint32_t image,
			uint64_t first, uint64_t last);

/* How often control went from the instruction at `from` by a jump to that at `to`, or to any
 * other than it. */
double exact_counts_jumps(const struct exact_counts *truth, uint32_t image, uint64_t from,
			  uint64_t to);
double exact_counts_jumps_elsewhere(const struct exact_counts *truth, uint32_t image, uint64_t from,
				    uint64_t to);
/* The same to any place from `first` to `last`. */
double exact_counts_jumps_into(const struct exact_counts *truth, uint32_t image, uint64_t from,
			       uint64_t first, uint64_t last);
