/*
 * canonical - the canonical form of a profile (profile.h) one table at a time, for who writes
 * each out and needs no second copy of them all: bytes are borrowed, and a table has its rows
 * between canonical_fill() and canonical_drop().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/id_map.h"

struct canonical {
	const struct profile *from; /* borrowed, and not changed meanwhile */
	/* In canonical order. All tables are declared and say how many rows they have, also while
	 * these are not there. The pool has no index: it is for looking up numbers. */
	struct profile *made;
	const struct table **sources; /* of `from`, by number in `made` */
	/* By number in `from`: that in `made`, or 0 when it is not kept. Those of the dictionaries
	 * are right once the table was filled, before that not 0 for what is kept. */
	struct id_map ids;
};

/* 0 or -ENOMEM, and then there is nothing to release. */
int canonical_begin(struct canonical *canonical, const struct profile *from);
void canonical_release(struct canonical *canonical); /* also right for a zeroed one */
/* By number in `made`; tables are filled in the order of their numbers, again as often as one
 * likes. 0 or -ENOMEM. */
int canonical_fill(struct canonical *canonical, size_t table);
void canonical_drop(struct canonical *canonical, size_t table);
