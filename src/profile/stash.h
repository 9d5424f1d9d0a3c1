/*
 * stash - the records (symbol/record.h) that a profile carries of the code it
 * was sampled in, and the way to find them again. They are rows of the table
 * PROFILE_STASH: (image, kind, first, last, content), all of them key, so
 * merging profiles is the union of their stashes.
 *
 * When two records of one kind cover an address, the choice is the same
 * everywhere: named before unnamed, then the one that starts last, then the
 * shorter, then the smaller content.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "symbol/record.h"

struct error;
struct profile;
struct stash_index;

/* Adds one record. Returns 0, -EBADMSG when it cannot be decoded, or -ENOMEM, with *err. */
int stash_add(struct profile *profile, uint32_t image, const struct record *record,
	      struct error *err);
int stash_add_set(struct profile *profile, uint32_t image, const struct record_set *set,
		  struct error *err);

/* Adds the records that another profile carries of images which this one has, too. 0 or -ENOMEM. */
int stash_copy(struct profile *profile, const struct profile *from);
/* Removes the records of an image. 0, or -ENOMEM and nothing is changed. */
int stash_drop(struct profile *profile, uint32_t image);

struct stash_function {
	uint64_t first, last;
	uint32_t number;		 /* of the record in its index, below stash_index_count() */
	struct function_record function; /* borrows from the profile */
};

/* Makes an index over a profile, which must not change while the index lives. Records that cannot
 * be decoded are counted and left out. 0 or -ENOMEM. */
int stash_index_new(const struct profile *profile, struct stash_index **out);
void stash_index_free(struct stash_index *index);
void stash_index_freep(struct stash_index **index); /* for CLEANUP() */
/* Records in the index, and records that were left out because they could not be decoded. */
size_t stash_index_count(const struct stash_index *index);
size_t stash_index_damaged(const struct stash_index *index);
/* From now on `image` has the records of image `of`, which keeps its own: both are one file. */
void stash_index_share(struct stash_index *index, uint32_t image, uint32_t of);
/* Whether the stash has functions of this image. */
bool stash_has_image(const struct stash_index *index, uint32_t image);
/* Whether it has source lines or inlined functions of this image. */
bool stash_has_lines(const struct stash_index *index, uint32_t image);

/* These return false or 0 when the stash does not know. `vaddr` may be any address of the image. */
bool stash_find_function(const struct stash_index *index, uint32_t image, uint64_t vaddr,
			 struct stash_function *function);
/* Names of up to `most` of the image's functions that are listed around that one, itself among
 * them: each function is in one such list. Borrows from the profile. Returns how many. */
size_t stash_names_around(const struct stash_index *index, const struct stash_function *function,
			  struct span *names, size_t most);
/* The cold part of the function that starts at `first`. */
bool stash_find_cold(const struct stash_index *index, uint32_t image, uint64_t first,
		     struct stash_function *function);
/* All bytes of the code record that holds `vaddr`; *first is where they start. */
struct span stash_find_code(const struct stash_index *index, uint32_t image, uint64_t vaddr,
			    uint64_t *first);
/* How many records of a kind (any but RECORD_FUNCTION) an image has, and each of them, by first,
 * then by last from high to low. They can be decoded, except perhaps those of lines, which are
 * checked when they are asked for. */
size_t stash_record_count(const struct stash_index *index, uint32_t image, enum record_kind kind);
const struct record *stash_record(const struct stash_index *index, uint32_t image,
				  enum record_kind kind, size_t number);
/*
 * The lines of the function that holds `vaddr`, decoded at the first call and kept by the index;
 * NULL when the stash does not know, or memory ran out. Changes the index: not for two threads at
 * once.
 */
const struct lines_table *stash_find_lines(struct stash_index *index, uint32_t image,
					   uint64_t vaddr);
