/*
 * database_end - how the last recording of a whole machine into a database ended, and when, for the
 * one that begins: what lies between was not sampled, or what was is gone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/boot_id.h"

struct error;

struct database_end {
	bool known;	  /* there is such an epoch */
	bool in_order;	  /* its recorder ended it, and nothing damaged is later than it */
	uint64_t end_ns;  /* since 1970, by the clock of then */
	char boot_id[BOOT_ID_SIZE]; /* of the machine's start in which it ended; "": unknown */
};

/*
 * Looks for the last epoch of the host that `culprit daemon` wrote, or of which nobody knows who
 * did, among those that are closed and can be read; by their names, of which the last one is the
 * newest. Those that end after `now_ns` have their times from a clock that was set back since. The
 * newest of them is taken where it did not end in order, for it may be later than all others, but
 * for those of this start of the machine (`boot_id`; "": unknown) if it is of another; and where
 * there are no others. An epoch that was made of others (database_compact.h) counts as one that
 * ended in order. Of at most one that ends after `now_ns`, and of one that can be read and does
 * not, all is read; of others the table "source". 0, also without any; or -ENOMEM or another
 * negative errno value, with *err.
 */
int database_last_end(const char *database, const char *host, const char *boot_id, uint64_t now_ns,
		      struct database_end *out, struct error *err);
