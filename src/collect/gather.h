/*
 * gather - the stash of a recording: extents, names, code and lines of the
 * functions that were sampled, read while their files are still at hand.
 */
#pragma once

#include <stdbool.h>

struct session;
struct tally_translation;

/*
 * An epoch ends: adds the records of all code that has samples in it to translation->to, but for
 * what the last epoch had, and what an earlier one left for this one. What cannot be read is left
 * out. With `redact`, names are hashes, and code and lines stay out. 0 or -ENOMEM.
 */
int gather_stash(struct session *session, struct tally_translation *translation, bool redact);
/* The same where there is to be no stash: only what users' shares had no room or time for goes into
 * the bill. 0 or -ENOMEM. */
int gather_nothing(struct session *session, struct tally_translation *translation, bool redact);
