/*
 * random_profile - a small profile of random content, equal for equal seeds:
 * every table filled, names shared between seeds so that merging finds equal
 * rows, and on demand a table and a column that no version of culprit knows.
 */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

enum random_profile_kind { RANDOM_KNOWN, RANDOM_WITH_STRANGERS };

/* Never NULL: a test that runs out of memory aborts. */
struct profile *random_profile_new(uint64_t seed, enum random_profile_kind kind);

/* Whether both hold the same tables, rows and bytes under the same ids. */
bool profiles_are_identical(const struct profile *a, const struct profile *b);

/* Whether both have the same content, under whatever ids. */
bool profiles_are_equal(const struct profile *a, const struct profile *b);
