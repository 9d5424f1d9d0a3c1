/*
 * charges - which instructions the samples of a profile belong to: charge_table.h for all
 * of its procedures, each made on demand, for reports that name source lines. All events of
 * the profile count, whichever of them a report shows, so that shares are the same in all.
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

/* By how many executed instructions the samples of a column (of any list of columns of the profile)
 * are late; 0: they are charged where they are. */
unsigned charges_skid(const struct charges *charges, const struct event_column *column);

/*
 * The charges of samples at a place that are late by `skid`. *list, borrowed, is NULL where its
 * code is not known: they stay there. Returns 0 or -ENOMEM.
 */
int charges_of(struct charges *charges, const struct place *place, unsigned skid,
	       const struct charge **list, size_t *count);
