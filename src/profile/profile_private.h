/* profile_private - what the files of a profile's own tables share. Internal to src/profile. */
#pragma once

#include "profile/profile.h"

/*
 * A table may have more columns than this version knows; those get 0. So rows
 * are built at full width. `count` is the number of known key columns. *row (NULL: not asked for)
 * gets the position. 0 or -ENOMEM.
 */
int profile_add_row(struct profile *profile, enum profile_table which, const uint64_t *keys,
		    size_t count, const uint64_t *values, size_t value_count, uint32_t *row);
