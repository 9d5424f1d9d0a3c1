/* profile_private - what the files of a profile's own tables share. Internal to src/profile. */
#pragma once

#include "profile/profile.h"

/*
 * Adds a row, or merges it into the one of its key. A table may have more columns than this
 * version knows; those get 0. `count` and `value_count` are the slots that the caller has for
 * keys and values. Stores the row's position in *row when not NULL. 0 or -ENOMEM.
 */
int profile_add_row(struct profile *profile, enum profile_table which, const uint64_t *keys,
		    size_t count, const uint64_t *values, size_t value_count, uint32_t *row);
