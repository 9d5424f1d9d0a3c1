/*
 * rest_text - what the last line of a table says of the rows that it has not: which options show
 * them.
 */
#pragma once

#include <stddef.h>

/* "--limit 0", of a table of `rows` rows, shown and not, of which it left some out: those below
 * min_percent (0: none), and what was beyond `limit` (0: nothing). */
const char *rest_options(size_t rows, double min_percent, size_t limit);
