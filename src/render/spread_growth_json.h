/*
 * spread_growth_json - why what varies most grew, as a member of the document of spread.
 */
#pragma once

#include <stddef.h>

struct json_stream;
struct spread;
struct spread_growth;

void spread_growth_json(struct json_stream *json, const struct spread *spread,
			const struct spread_growth *growth, size_t count);
