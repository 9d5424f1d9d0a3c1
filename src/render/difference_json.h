/*
 * difference_json - a change of one row in JSON, as diff and annotate --diff
 * have it (culprit-diff(1)).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/figures/difference.h"

struct json_stream;

struct difference_json_sides {
	bool before_sampled, after_sampled; /* the events have samples of their own */
	double step;			    /* of estimates in one event */
};

void difference_json_add(struct json_stream *json, const char *key,
			 const struct difference_json_sides *sides,
			 const struct difference *change);

/* "noise": which errors intervals and verdicts have in them. `runs` before and after; `usual` is
 * the relative variance between runs, not looked at with one run a side. */
void difference_json_add_noise(struct json_stream *json, const size_t runs[2], double usual);
