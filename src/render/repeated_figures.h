/*
 * repeated_figures - values of a measure of repeated runs as people read them: times in
 * milliseconds, counts and metrics as `culprit stat` has them of one run.
 */
#pragma once

#include "analyze/counted/repeated.h"
#include "render/stat_figures.h"

/* In which unit they are written. */
struct run_unit repeated_unit(const struct repeated_measure *measure);
/* "1.224", without its unit. */
void repeated_figure(const struct repeated_measure *measure, double value,
		     char text[STAT_FIGURE_SIZE]);
