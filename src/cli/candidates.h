/*
 * candidates - the procedures that a name may stand for, when it is not one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/annotate_index.h"

/* Says on stderr that there are several, and how to name one. */
void candidates_list(const struct annotate_index *index, const char *name,
		     const uint32_t *positions, size_t count);
