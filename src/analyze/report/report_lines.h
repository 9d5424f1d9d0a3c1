/*
 * report_lines - the source lines of a report's rows. Samples of a late event are
 * charged to the lines of the instructions that waited (analyze/cycles/charges.h), so that
 * a line has here what annotate says of it; everything else of a row, its procedure
 * too, stays that of where the samples stand.
 */
#pragma once

#include <stddef.h>

#include "analyze/report/report_rows.h"

struct report;
struct resolver;
struct error;

/*
 * Rows whose key[part] is a place become rows whose key[part] is a line of report->places. No
 * sample is lost or made. Fills report->charge. Returns 0 or -ENOMEM with *err filled.
 */
int report_lines_charge(struct report *report, struct resolver *resolver, size_t part,
			struct report_rows *rows, struct error *err);
