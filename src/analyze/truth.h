/*
 * truth - what ran, counted exactly: the executions of instructions and the branches
 * between them from an imported callgrind.out (--dump-instr=yes --collect-jumps=yes), to
 * hold estimates against. Images are those of another profile of the same program, found
 * by path, since callgrind names no build-ids; who compares says that the files are the same.
 *
 * Borrows both profiles. Nothing changes once made; threads may share it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/event_column.h"

struct error;
struct profile;
struct truth;

/*
 * Returns 0 and stores what the caller frees; -ENODATA (`counted` has no "Ir", or it is not by
 * instruction) or -ENOMEM, with *err filled.
 */
int truth_new(const struct profile *counted, const struct profile *sampled, struct truth **out,
	      struct error *err);
void truth_free(struct truth *truth);
void truth_freep(struct truth **truth); /* for CLEANUP() */

/* The image of `counted` that an image of `sampled` is, or 0: of one path, or else the only one
 * whose file has the name. */
uint32_t truth_image(const struct truth *truth, uint32_t sampled_image);

/* The events of `counted`, and which of them counts executions. */
const struct event_columns *truth_columns(const struct truth *truth);
size_t truth_executions_column(const struct truth *truth);

/* What the event counted at one address, or from `first` to `last`; 0: nothing. `image` is
 * truth_image()'s. */
double truth_count(const struct truth *truth, size_t column, uint32_t image, uint64_t vaddr);
double truth_sum(const struct truth *truth, size_t column, uint32_t image, uint64_t first,
		 uint64_t last);

/* How often control went from the instruction at `from` by a jump to that at `to`, or to any
 * other than it. */
double truth_jumps(const struct truth *truth, uint32_t image, uint64_t from, uint64_t to);
double truth_jumps_elsewhere(const struct truth *truth, uint32_t image, uint64_t from, uint64_t to);
/* By a jump to any place from `first` to `last`. */
double truth_jumps_into(const struct truth *truth, uint32_t image, uint64_t from, uint64_t first,
			uint64_t last);
