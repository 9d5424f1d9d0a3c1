/*
 * difference - what came to a profile that grows: a newer state of it without an older one, as
 * two snapshots of an epoch that is still recorded.
 */
#pragma once

struct error;
struct profile;

/*
 * Stores in *out a new profile, which the caller frees: each sum is that of `newer` less that of
 * `older`, the length of a source too, and rows whose sums have not grown are left out, with all
 * that only they refer to. Columns that are no sums are those of `newer`. Both stay as they are.
 * Returns 0; -ERANGE where `newer` has less of anything, or not a source of `older`, or a sum
 * passed 64 bits: it is not the same profile later; -EBADMSG or -ENOMEM. *err is filled.
 */
int profile_difference(const struct profile *older, const struct profile *newer,
		       struct profile **out, struct error *err);
