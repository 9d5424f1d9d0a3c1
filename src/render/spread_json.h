/*
 * spread_json - how costs vary over runs, as one JSON document (docs/man/culprit-spread.1.scd).
 */
#pragma once

#include <stddef.h>

struct buffer;
struct spread;
struct spread_growth;

/* `titles` by run; `growth` says why the first rows grew, `growth_count` of them. */
void spread_json(const struct spread *spread, const char *const *titles,
		 const struct spread_growth *growth, size_t growth_count, struct buffer *out);
