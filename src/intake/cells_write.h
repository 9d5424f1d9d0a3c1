/*
 * cells_write - what was added up as rows of a profile. Numbers of images,
 * contexts and events are those of whoever filled the cells, and become rows by
 * what he says of them; only images that are spoken of are asked for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "intake/cells.h"
#include "profile/profile.h"

struct cells_rows {
	void *owner; /* borrowed */
	/* The row of an image; it is made when it is asked for first, and *is_new then set. 0 or
	 * -ENOMEM. */
	int (*image)(void *owner, uint32_t number, uint32_t *row, bool *is_new);
	/* Whether callers in that image stand at their calls, not behind them. */
	bool (*calls_exact)(const void *owner, uint32_t number);
	/* A cell of an event in the unit of the profile. Asked in the order of the cells, once for
	 * the flat rows and once for the stacks; `before` is the event's, 0 at first each time. */
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

/* Four values of a row, as enum cell_value has them. */
static inline void cells_put(const struct cell *cell, uint64_t *values)
{
	values[CELL_SAMPLES] = cell->samples;
	values[CELL_ESTIMATE] = cell->estimate;
	values[CELL_SQUARES_LOW] = (uint64_t)cell->squares;
	values[CELL_SQUARES_HIGH] = (uint64_t)(cell->squares >> 64);
}
