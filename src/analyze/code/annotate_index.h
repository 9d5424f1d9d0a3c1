/*
 * annotate_index - the samples of a profile by procedure and, within one, by
 * address: what annotating a procedure starts from. A procedure is what the
 * resolver calls one, so its sum here is its row in a report.
 *
 * Borrows the profile, the resolver and the columns, which must outlive it.
 * Nothing changes it once made.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/event_column.h"
#include "analyze/figures/interval.h"
#include "analyze/names/resolve.h"
#include "base/arena.h"
#include "profile/profile.h"

struct error;

/* Samples of one event at one address, over all contexts. */
struct annotate_sample {
	uint64_t vaddr;
	uint32_t procedure; /* position */
	uint32_t column;
	struct cell cell;
};

struct annotate_procedure {
	const struct procedure *procedure;
	const char *image_name;		       /* "" for a bare name without image */
	struct cell *cells;		       /* by column */
	const struct annotate_sample *samples; /* by address, then column */
	size_t sample_count;
};

struct annotate_index {
	const struct profile *profile;
	struct resolver *resolver;
	const struct event_columns *columns;
	struct annotate_procedure
		*procedures; /* the hottest first, by the first column that has any */
	size_t count;
	struct cell *whole; /* by column: sums over all procedures but the idle loop */

	/* what the above lives in */
	struct annotate_sample *samples;
	struct cell *cells;
};

/* Returns 0 or -ENOMEM with *err filled. */
int annotate_index_new(const struct profile *profile, struct resolver *resolver,
		       const struct event_columns *columns, struct annotate_index **out,
		       struct error *err);
void annotate_index_free(struct annotate_index *index);
void annotate_index_freep(struct annotate_index **index); /* for CLEANUP() */

/*
 * Positions of the procedures that `name` may mean, the hottest first: those that hold
 * the address when it is "IMAGE+0xVADDR", else those that it fits best
 * (analyze/names/procedure_name.h). `image` narrows it to images of that short name (NULL: all).
 * Returns 0 and a malloc'ed list (NULL when *count is 0), or -ENOMEM.
 */
int annotate_index_search(const struct annotate_index *index, const char *name, const char *image,
			  uint32_t **positions, size_t *count);
