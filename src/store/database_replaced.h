/*
 * database_replaced - which epochs are in others that were made of them (database_compact.h), so
 * that nothing is counted twice while both are there: a compaction was killed before it removed its
 * parts, or they were copied in again.
 *
 * An epoch is in another when each of its sources is one of the other's (profile_has_source()): a
 * source is one recording's share, which names its host and the nanosecond of its start. Epochs
 * without such sources (imports) are in none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct epoch_files;
struct profile;

struct replaced_set {
	struct replacing {
		struct profile *sources; /* the table "source" alone */
		char *epoch;
	} * list;
	size_t count, capacity;
};
void replaced_release(struct replaced_set *set); /* for CLEANUP(); also right for a zeroed one */

/* Whether all that `profile` has is in one of the set; of which its table "source" is looked at. An
 * epoch does not replace itself. */
bool replaced_has(const struct replaced_set *set, const struct profile *profile, const char *epoch);

/* The first epoch of the set that has some of the profile's sources, but not all: then what both
 * have is counted twice. NULL: none. */
const char *replaced_overlap(const struct replaced_set *set, const struct profile *profile,
			     const char *epoch);

/* Whether it is the first by its name of several epochs with the same sources, and none has these
 * and more: of equal ones the first stays. */
bool replaced_equal(const struct replaced_set *set, const struct profile *profile,
		    const char *epoch);

/* Adds an epoch that is there. 0 or -ENOMEM. */
int replaced_add(struct replaced_set *set, const struct profile *profile, const char *epoch);

/*
 * In which order a host's epochs are to be looked at: first those that were made of others, from
 * most sources to least, then the rest by name. Opens the former. Stores files->count positions in
 * `files`, which the caller frees. 0 or -ENOMEM.
 */
int replaced_order(const struct epoch_files *files, size_t **order);
