/*
 * charges - whose the samples of a profile are, procedure by procedure as it is asked
 * for: what charge_table.h knows of one, over the whole profile, for reports that name
 * source lines. All events of the profile are looked at, whichever of them a report shows,
 * so that the shares are the same in all of them.
 *
 * Borrows the profile and the resolver, which outlive it. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/cycles/charge_table.h"

struct error;
struct charges;

/* Returns 0, or -ENOMEM with *err filled. A profile without an event of time is charged nowhere. */
int charges_new(const struct profile *profile, struct resolver *resolver, struct charges **out,
		struct error *err);
void charges_free(struct charges *charges);
void charges_freep(struct charges **charges); /* for CLEANUP() */

/* By how many executed instructions the samples of a column are late, of any list of columns of the
 * profile; 0: they are charged where they stand. */
unsigned charges_skid(const struct charges *charges, const struct event_column *column);

/*
 * Whom the samples at a place are charged to, which are late by `skid`. *list is NULL where its
 * code is not known: they stay. Returns 0 or -ENOMEM.
 */
int charges_of(struct charges *charges, const struct place *place, unsigned skid,
	       const struct charge **list, size_t *count);
