/*
 * tally - adds samples up between two profiles that are handed out. A place is
 * (event, context, code address, stack), numbered for a whole epoch, so that a weight
 * that settles late still finds its cell. Memory grows with distinct places, never with
 * samples; when an epoch has ended the tally is dropped whole, and places that samples
 * still wait for are carried into the next one (tally_carry()).
 *
 * Ids of events, images and contexts are those of the session's profile, which
 * holds dictionaries only; calls are nodes of the tally's own cells, with the
 * session's images. tally_flush() translates all of them into a new profile.
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
	uint32_t asker;	  /* for the tally's user: the stranger who alone has samples there, or 0 */
	struct cell cell; /* since the last tally_flush() */
	bool stack;	  /* the place and its callers are a stack, written to PROFILE_STACK too */
	bool apart;	  /* and only there (struct profile_event.apart) */
};

struct tally {
	struct profile *session; /* borrowed */
	struct cells cells;	 /* only its nodes are used, for callers */
	struct tally_place *places;
	size_t count, capacity;
	struct hash_index index;
	uint32_t *changed; /* places whose cell is not empty */
	size_t changed_count, changed_capacity;
};

/* `session` is borrowed. 0 or -ENOMEM. */
int tally_init(struct tally *tally, struct profile *session);
void tally_release(struct tally *tally); /* also right for a zeroed one */
/* Frees the indexes: from here on no place or call may be looked up or added, only tally_flush() is
 * right. */
void tally_close(struct tally *tally);

/* For tests and fuzzers: which invariant does not hold, or NULL. Each place is found under its
 * number and what it refers to is there; `changed` has each place with a cell once. */
const char *tally_fault(const struct tally *tally);

/* Whether the place has a number. */
bool tally_knows(const struct tally *tally, const struct tally_place *place);
/* Stores the number of a place, which is added when it is new; its cell does not matter. 0 or
 * -ENOMEM. */
int tally_place(struct tally *tally, const struct tally_place *place, uint32_t *number);
/* Adds to the cell of a place. 0 or -ENOMEM. */
int tally_add(struct tally *tally, uint32_t number, const struct cell *cell);

/* Translates the session's ids into those of a profile that is being made. */
struct tally_translation {
	const struct profile *from;
	struct profile *to;
	struct id_map ids;
	bool redact; /* paths of files become hashes */
};
/* Borrows both profiles. 0 or -ENOMEM; tally_translation_release() is right either way. */
int tally_translation_init(struct tally_translation *translation, const struct profile *from,
			   struct profile *to);
void tally_translation_release(struct tally_translation *translation);
/* Translates one id (0 stays 0) of PROFILE_EVENT, _IMAGE or _CONTEXT; adds the row at first. 0,
 * -ENOMEM or -EINVAL. */
int tally_translate(struct tally_translation *translation, enum profile_table table, uint32_t id,
		    uint32_t *translated);

/* Adds one path, by its row of translation->from, if its image was translated. 0 or -ENOMEM. */
int tally_translate_path(struct tally_translation *translation, size_t row);

/* Adds the same place, with an empty cell, to the tally of the next epoch, whose contexts and
 * images are those of translation->to, and stores its number there. 0 or -ENOMEM. */
int tally_carry(const struct tally *tally, uint32_t number, struct tally_translation *translation,
		struct tally *next, uint32_t *carried);

/* Moves all cells into translation->to, with what they refer to and the paths of the images. 0,
 * -ENOMEM or -EINVAL. */
int tally_flush(struct tally *tally, struct tally_translation *translation);
