/*
 * annotate_lines - the source side of an annotation: which lines its rows come
 * from, and their sums.
 */
#pragma once

#include "analyze/code/annotation.h"

/* Fills sources and the rows' `source`. Rows are complete but for that. 0 or -ENOMEM. */
int annotate_add_sources(struct annotation *annotation, struct resolver *resolver);
/* Fills lines from rows and sources. 0 or -ENOMEM. */
int annotate_add_lines(struct annotation *annotation, size_t columns);
/* The line of annotation->lines that a row counts in. */
size_t annotate_line_of(const struct annotation *annotation, const struct annotated_row *row);
