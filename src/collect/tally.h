/*
 * tally - where samples are added up between two profiles that are handed out.
 * A place is (event, context, code address, stack), numbered for a whole epoch,
 * so that a weight that settles late still finds its cell. Memory grows with
 * distinct places, never with samples; when an epoch has ended the tally is dropped whole, and the
 * next one begins with another (tally_carry).
 *
 * Ids of events, images and contexts are those of the session's profile, which
 * holds dictionaries only; calls are nodes of the tally's own cells, with the
 * session's images. tally_take() translates all of them into a new profile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"
#include "intake/cells.h"
#include "profile/id_map.h"

struct tally_place {
	uint32_t event, context;
	uint32_t calls; /* node of the callers; 0: none */
	uint32_t image;
	uint64_t vaddr;
	uint32_t asker;	  /* the owner's: the stranger who alone has samples there, else 0 */
	struct cell cell; /* since the last take */
	bool stack;	  /* the place with its callers is a stack, which counts by itself */
};

struct tally {
	struct profile *session; /* borrowed */
	struct cells cells;	 /* of which the tally needs the calls alone */
	struct tally_place *places;
	size_t count, capacity;
	struct hash_index index;
	uint32_t *changed; /* places whose cell is not empty */
	size_t changed_count, changed_capacity;
};

/* `session` is borrowed. 0 or -ENOMEM. */
int tally_init(struct tally *tally, struct profile *session);
void tally_release(struct tally *tally); /* also right for a zeroed one */
/* No place or call is asked for any more, only taken: gives back what they are found by. */
void tally_close(struct tally *tally);

/* For tests and fuzzers: which invariant does not hold, or NULL. Places are found, once, and what
 * they refer to is there; what has something to hand out is in the list of it, once. */
const char *tally_fault(const struct tally *tally);

bool tally_knows(const struct tally *tally, const struct tally_place *place);
/* The number of a place. 0 or -ENOMEM. */
int tally_place(struct tally *tally, const struct tally_place *place, uint32_t *number);
/* Adds to a place. 0 or -ENOMEM. */
int tally_add(struct tally *tally, uint32_t number, const struct cell *cell);

/* From the session's ids to those of a profile that is being made. */
struct tally_translation {
	const struct profile *from;
	struct profile *to;
	struct id_map ids;
	bool redact; /* paths of files become hashes */
};
int tally_translation_init(struct tally_translation *translation, const struct profile *from,
			   struct profile *to);
void tally_translation_release(struct tally_translation *translation);
int tally_translate(struct tally_translation *translation, enum profile_table table, uint32_t id,
		    uint32_t *translated);

/* The paths of all images that were translated. 0 or -ENOMEM. */
int tally_translate_paths(struct tally_translation *translation);

/* The same place, without what was added to it, in the tally of the next epoch, whose contexts and
 * images are those of translation->to; its number there. 0 or -ENOMEM. */
int tally_carry(const struct tally *tally, uint32_t number, struct tally_translation *translation,
		struct tally *next, uint32_t *carried);

/* Moves all cells into translation->to, with what they refer to and the paths of the images. 0 or
 * -ENOMEM. */
int tally_take(struct tally *tally, struct tally_translation *translation);
