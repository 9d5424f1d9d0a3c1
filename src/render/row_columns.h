/*
 * row_columns - which columns name the rows of a comparison.
 */
#pragma once

#include <stdbool.h>

#include "analyze/report/report.h"

struct row_columns {
	bool image, procedure, line;
};

/* Rows of stacks are procedures. */
static inline struct row_columns row_columns_of(const struct report_options *options)
{
	bool flat = options->view == REPORT_FLAT;
	bool line = flat && report_options_have(options, REPORT_LINE);
	bool procedure = !flat || line || report_options_have(options, REPORT_PROCEDURE);
	return (struct row_columns){
		.image = procedure || report_options_have(options, REPORT_IMAGE),
		.procedure = procedure,
		.line = line,
	};
}
