/*
 * spread_private - the parts of spread: its rows, their figures, their verdicts and order.
 */
#pragma once

#include "analyze/spread/spread.h"

/* Adds a note; 0 or -ENOMEM. */
int spread_note(struct spread *spread, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Makes `all`, a row for each of the report's that has anything of the event, those of one name in
 * several builds together, with what runs have of it in `cells`. 0 or -ENOMEM. */
int spread_make_rows(struct spread *spread);
/* A row without samples. 0 or -ENOMEM. */
int spread_row_init(struct spread *spread, struct spread_row *row);
/* Adds a cell of a run. */
void spread_row_add(struct spread_row *row, size_t run, const struct cell *cell);

/* Which runs counted the event, and what a cost is in proportion to. Errors as spread_new(). */
int spread_choose_base(struct spread *spread, struct error *err);
/* The figures of rows from what their runs have, with their p. 0 or -ENOMEM. */
int spread_fill_rows(const struct spread *spread, struct spread_row *rows, size_t count);

/* The verdicts of all rows, their order, what is shown and the rest. 0 or -ENOMEM. */
int spread_rank(struct spread *spread);
