#include "render/repeated_figures.h"

#include <stdio.h>
#include <string.h>

struct run_unit repeated_unit(const struct repeated_measure *measure)
{
	if (strcmp(measure->unit, "s") == 0)
		return (struct run_unit){ "ms", 1e3 };
	if (strcmp(measure->unit, "ns") == 0)
		return (struct run_unit){ "ms", 1e-6 };
	return (struct run_unit){ measure->unit, 1 };
}

void repeated_figure(const struct repeated_measure *measure, double value,
		     char text[STAT_FIGURE_SIZE])
{
	struct run_unit unit = repeated_unit(measure);
	if (measure->kind == RUN_RATE)
		stat_figure_number(value, text);
	else if (strcmp(unit.name, "ms") == 0)
		snprintf(text, STAT_FIGURE_SIZE, "%.3f", value * unit.factor);
	else
		stat_figure_count(value, text);
}
