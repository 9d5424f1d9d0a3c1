/*
 * listing_figures - the columns of figures at the left of a listing: for each
 * event samples, estimate and percent of the procedure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/code/annotate.h"
#include "render/quantity.h"
#include "render/text_table.h"

#define LISTING_HOT_PERCENT 5 /* rows of at least that share of the procedure are marked */

struct buffer;

struct figure_column {
	size_t index; /* of the event's column in cells */
	const struct event_column *event;
	struct cell total; /* of the procedure */
	struct quantity_scale scale;
	double divisor; /* of estimates, by the event's decimal scale */
	int samples_width, estimate_width;
};

struct figures {
	struct figure_column *columns;
	size_t count;
	int width; /* of all, with the mark before and the blanks behind them */
};

/* For the events that the procedure has anything of. 0 or -ENOMEM. */
int figures_init(struct figures *figures, const struct annotate_procedure *procedure,
		 const struct event_columns *columns);
void figures_release(struct figures *figures);

/* The head of the columns, two lines, each with what stands behind the figures. */
void figures_print_head(const struct figures *figures, const char *above, const char *beside,
			struct buffer *out);
/* One row's figures; cells by column. What has no samples stays blank. */
void figures_print(const struct figures *figures, const struct cell *cells, struct buffer *out);
/* Blanks as wide as figures. */
void figures_print_blank(const struct figures *figures, struct buffer *out);
/* The row's share of the procedure, in percent: the largest of all columns. */
double figures_share(const struct figures *figures, const struct cell *cells);
