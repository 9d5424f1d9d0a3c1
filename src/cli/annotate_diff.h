/*
 * annotate_diff - annotate --diff: reads the base profile and prints each procedure
 * beside its version there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/code/annotate.h"

struct comparison_options;
struct input_options;
struct listing_options;
struct option_list;
struct verb;

struct annotate_diff_request {
	const struct verb *verb;
	const char *base;		   /* path of the base */
	const struct input_options *input; /* how it is read */
	const struct option_list *events;  /* chosen for the other side, and so for this one */
	const struct comparison_options *comparison;
	const struct annotate_index *after; /* the other side */
	const char *after_title;
	const uint32_t *positions; /* of the procedures to print, in `after` */
	size_t count;
	size_t most_changed; /* print as many of these, those that changed most; 0: all, in order */
	struct annotate_options options;
	const struct listing_options *listing;
	bool json;
};

/* 0 or the exit status, after a message. */
int annotate_diff_print(const struct annotate_diff_request *request);
