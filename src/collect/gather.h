/*
 * gather - the stash of a recording: extents, names, code and lines of the
 * functions that were sampled, read while their files are still at hand.
 */
#pragma once

#include <stdbool.h>

struct session;
struct tally_translation;

/*
 * Adds the records of all that was sampled first since the last call to
 * translation->to. What cannot be read is left out. With `redact`, names are
 * hashes, and code and lines stay out. 0 or -ENOMEM.
 */
int gather_stash(struct session *session, struct tally_translation *translation, bool redact);
/* When there is to be no stash: what users' shares had no room or time for goes into the bill all
 * the same. 0 or -ENOMEM. */
int gather_nothing(struct session *session, struct tally_translation *translation, bool redact);
