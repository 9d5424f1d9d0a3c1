/*
 * cells_write - writes cells as rows of a profile. Whoever filled the cells has
 * numbered images, contexts and events, and translates the numbers into rows (struct
 * cells_rows); of the images only those that occur are translated.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "intake/cells.h"
#include "profile/profile.h"

struct cells_rows {
	void *owner; /* borrowed */
	/* Stores the row of an image, which is added at the first call; sets *is_new when the
	 * profile had no such row. 0 or -ENOMEM. */
	int (*image)(void *owner, uint32_t number, uint32_t *row, bool *is_new);
	/* Whether the addresses of callers in that image are those of their calls, not of what
	 * follows the calls. */
	bool (*calls_exact)(const void *owner, uint32_t number);
	/* Converts a cell of an event into the unit of the profile. Called in the order of the
	 * cells, once for the flat rows and once for the stacks; *before is the event's own from
	 * call to call, and 0 at the first one for the flat rows and for the stacks. */
	struct cell (*measured)(const void *owner, uint32_t event, const struct cell *cell,
				uint64_t *before);
	const uint32_t *contexts; /* rows by number; [0] is that of none */
	const uint32_t *events;	  /* rows by number */
	size_t event_count;
};

/*
 * Adds all flat rows, nodes and stacks. The cells get a node for each sampled
 * address with a stack, and are of no further use. 0, -ENOMEM, or -EOVERFLOW as of
 * cells_settle().
 */
int cells_write(struct cells *cells, const struct cells_rows *rows, struct profile *profile);

/* Fills the values of a row, as many as enum cell_value has. */
static inline void cells_put(const struct cell *cell, uint64_t *values)
{
	values[CELL_SAMPLES] = cell->samples;
	values[CELL_ESTIMATE] = cell->estimate;
	values[CELL_SQUARES_LOW] = (uint64_t)cell->squares;
	values[CELL_SQUARES_HIGH] = (uint64_t)(cell->squares >> 64);
}
