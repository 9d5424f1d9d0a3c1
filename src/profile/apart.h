/*
 * apart - events whose stacks are samples of their own (struct profile_event.apart): counted in the
 * kernel are all samples, by their leaves; those with callers come one by one at a lower rate.
 * Table "flat" and table "stack" then estimate the same, and what one has more than the other is
 * chance.
 */
#pragma once

#include <stdbool.h>

struct profile;

/* By event id, whether its stacks are apart and there are any; the caller frees it. NULL: out of
 * memory. */
bool *profile_stacks_apart(const struct profile *profile);
