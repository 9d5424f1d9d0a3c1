/*
 * pprof_places - the texts, functions, mappings and locations of a pprof profile,
 * and the frames that locations are in ours: an address within an image, named by
 * the function that holds it, with inlined functions and lines in the stash; or,
 * without an address, one name a function.
 *
 * Messages come in any order, so all of them are read before samples are. Borrows
 * the file's bytes. With `lenient` a reference to what is not there is something unknown
 * instead of a fault, for files that were cut off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/number_map.h"
#include "base/span.h"
#include "import/code/code_lines.h"
#include "profile/profile.h"

struct error;

struct pprof_places {
	struct profile *profile; /* borrowed */
	struct span bytes;	 /* the whole file's */
	bool lenient;
	size_t skipped;	    /* damaged messages, when lenient */
	size_t dangling;    /* references to what is not there, when lenient */
	uint64_t *texts;    /* where each one's field begins */
	uint32_t *text_ids; /* their numbers in the byte pool; 0: not looked up yet, or empty */
	size_t text_count;
	struct pprof_named *functions; /* these three by id */
	size_t function_count;
	struct pprof_mapped *mappings;
	size_t mapping_count;
	struct number_map paths;  /* struct mapped_path of a text, by its number */
	struct number_map builds; /* mapped_build_read() of a text, by its number */
	struct arena read_paths;  /* where `paths` lie */
	struct pprof_place *locations;
	size_t location_count;
	struct profile_frame *chains; /* frames of locations that are more than one */
	size_t chain_count, chain_capacity;
	struct code_lines lines;
	uint32_t unmapped; /* image of addresses without mapping */
};

/*
 * Reads all but the samples; `bytes` are fields of Profile without fault. Returns 0;
 * -EBADMSG (*err says what, at which byte); -EPROTO when it would take far more memory than the
 * file; -ENOMEM.
 */
int pprof_places_read(struct pprof_places *places, struct profile *profile, struct span bytes,
		      bool lenient, struct error *err);
void pprof_places_release(struct pprof_places *places);

/* A text by its number; false when there is none. */
bool pprof_text(const struct pprof_places *places, uint64_t number, struct span *text);

/* Its number in the profile's byte pool, 0 when it is empty or there is none: however many refer to
 * it, a text is read once. 0 or -ENOMEM. */
int pprof_text_id(struct pprof_places *places, uint64_t number, uint32_t *id);

/* For a reference to what is not there: 0 and counted when lenient, or -EBADMSG. */
int pprof_dangling(struct pprof_places *places);

/* The frames of a location, outermost first; NULL when there is no such location. */
const struct profile_frame *pprof_frames(const struct pprof_places *places, uint64_t location,
					 size_t *count);
