/*
 * canonical - the canonical form of a profile (profile_canonical()), one table at a time: a
 * writer puts each table out and drops it, so that memory never holds a second copy of the whole
 * profile. The bytes of the pool are borrowed, and a table has its rows between canonical_fill()
 * and canonical_drop().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/id_map.h"

struct canonical {
	const struct profile *from; /* borrowed, and not changed meanwhile */
	/* In canonical order. All tables are declared, and their `count` is right also while their
	 * rows are not there. The pool has no index: it gives bytes by number, not numbers by
	 * bytes. */
	struct profile *made;
	const struct table **sources; /* of `from`, by number in `made` */
	/* For each number in `from` that in `made`, or 0 when it is dropped. The ones of a
	 * dictionary are final once its table was filled; before that they are 0 for what is
	 * dropped, and something else for what is kept. */
	struct id_map ids;
};

/* Numbers the pool and declares the tables, without rows. 0 or -ENOMEM, and then there is nothing
 * to release. */
int canonical_begin(struct canonical *canonical, const struct profile *from);
void canonical_release(struct canonical *canonical); /* also right for a zeroed one */
/* Makes the rows of the table of this number in `made`. The dictionaries come first, in the order
 * of their numbers; a table may be dropped and filled again. 0 or -ENOMEM. */
int canonical_fill(struct canonical *canonical, size_t table);
/* Frees the rows of the table. */
void canonical_drop(struct canonical *canonical, size_t table);
