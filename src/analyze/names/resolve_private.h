/*
 * resolve_private - what the parts of resolve.h share: which stash has an image (resolve.c), the
 * image's name (resolve_image.c), procedures and places (resolve_place.c), and what else is known
 * of them: lines, code, callees (resolve_source.c).
 */
#pragma once

#include "analyze/names/image_claims.h"
#include "analyze/names/local_files.h"
#include "analyze/names/resolve.h"
#include "analyze/names/demangled.h"
#include "base/arena.h"
#include "base/hash_index.h"

enum procedure_kind {
	BY_FUNCTION, /* a function's extent */
	BY_NAME,     /* a bare name */
	BY_NOTHING,  /* the rest of an image */
};

struct procedure_entry {
	struct procedure procedure;
	enum procedure_kind kind;
	uint32_t name_id; /* of a bare name */
	bool local;	  /* found in this machine's files, not in the profile */
};

struct place_entry {
	struct place place;
	uint64_t hash;
	uint32_t image;
	uint32_t name_id;
	const struct procedure_entry *procedure;
	struct source_frame *frames;
	size_t frame_count;
	bool source_read;
};

struct sentences {
	const char **list;
	size_t count, capacity;
};

struct resolver {
	const struct profile *profile;
	struct resolver_options options;
	struct stash_index *stash;
	struct local_files local; /* read from files of this machine */
	struct stash_index *local_stash;
	bool local_read;
	struct arena arena;
	const char **images; /* display names by image id - 1 */
	uint8_t *spaces;     /* enum vaddr_space, likewise */
	size_t image_count;
	/* By the number of the record: of the profile's stash, and of this machine's files. */
	struct procedure_entry **by_record[2];
	struct procedure_entry **procedures;
	size_t procedure_count, procedure_capacity;
	struct hash_index procedure_index;
	struct place_entry **places;
	size_t place_count, place_capacity;
	struct hash_index place_index;
	struct demangled names[2]; /* of images that are trusted, and of others: resolver_names() */
	struct image_claims claims;
	struct sentences notes, file_notes;
};

/* One sentence for the report's foot, once. */
void resolver_add_note(void *context, const char *sentence);
/* The stash to look an image up in: the profile's own, or else that of this machine's files, and
 * *local is true. NULL: neither. Where the profile's is by offsets, as of an import, and the file
 * is here, the file has more. */
struct stash_index *resolver_stash_for(struct resolver *resolver, uint32_t image, bool *local);
/* Of the arena; NULL when out of memory. */
const char *resolver_copy(struct resolver *resolver, struct span text);
/* The names of functions in an image. Those that a stranger can choose, of a file that he can write
 * or of code made at run time, are apart: the time that hostile names cost is limited, and he must
 * not use it up for others. */
struct demangled *resolver_names(struct resolver *resolver, uint32_t image);
/* A name of the image as people read it, each once; of the arena, NULL when out of memory. */
const char *resolver_show(struct resolver *resolver, uint32_t image, struct span linkage);
/* The procedure of a function in a stash. NULL when out of memory. */
struct procedure_entry *resolver_keep_function(struct resolver *resolver, uint32_t image,
					       bool local, const struct stash_function *found);
