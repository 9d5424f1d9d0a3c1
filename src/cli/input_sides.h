/*
 * input_sides - one database as both sides of a comparison.
 */
#pragma once

#include "cli/input.h"

/*
 * The database `path` gives both sides: --since of the other side parts it, unless options of the
 * base choose more than a --base-since. The base then is what the other side's options choose, but
 * of the epochs that ended before (base->apart_ns is set, as after->apart_ns). Epochs that hold the
 * moment are on neither side, after a note. Changes nothing when `path` is no database, or no
 * moment parts it. 0 or the exit status after a message.
 */
int input_part_database(struct input_options *base, struct input_options *after, const char *path);

/* Whether the database `path`, the base, is the other side, too: no other profile is named, and
 * options choose from one. `count` is the number of arguments that are profiles. */
bool input_is_both_sides(const struct input_options *after, const char *path, size_t count);
