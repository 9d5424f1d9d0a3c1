/*
 * run_noise - how much more the runs of two sides scatter than counting alone makes them, row by
 * row: what a comparison of several runs a side has to add to its error. Formulas, their sources
 * and what was simulated are in docs/methods.md, "Runs against runs".
 *
 * Between runs a row varies by a share of itself, so the more samples it has, the more of its
 * scatter is of the runs. A row with few says little of that by itself: all rows together say what
 * is usual, and a row that is seen to scatter more counts by itself. Pure functions.
 */
#pragma once

#include <stddef.h>

#include "analyze/figures/difference.h"

/* The runs of a row within each side, both sides added up: analyze/runs/dispersion.h. */
struct run_scatter {
	double statistic; /* around each side's own mean */
	double degrees; /* runs less sides; 0: nothing is known of the row's scatter. Runs and sides
			 * are those that counted the event, and sides those that have the row */
	double each;	/* effective samples expected in one of these runs */
};

/*
 * What is usual for rows: their variance between runs as a share of the squared mean, so that every
 * other one scatters less, each held against the degrees that it has itself. NAN: too few rows have
 * samples enough to say so. `scratch` has room for 2 * count.
 */
double run_noise_usual(const struct run_scatter *rows, size_t count, double *scratch);

/* The noise of a row; `usual` NAN: by itself. */
struct difference_noise run_noise_of(const struct run_scatter *row, double usual);
