/*
 * difference_json - a change of one row in JSON, as diff and annotate --diff
 * have it (culprit-diff(1)).
 */
#pragma once

#include <stdbool.h>

#include "analyze/figures/difference.h"

struct json_object;
struct json_writer;

struct difference_json_sides {
	bool before_sampled, after_sampled; /* the events have samples of their own */
	double step;			    /* of estimates in one event */
};

struct json_object *difference_json(struct json_writer *writer,
				    const struct difference_json_sides *sides,
				    const struct difference *change);
