/*
 * frame_store - tables of unwind rules (unwind/frame_table.h) that outlast the recorder, so that
 * the next one need not make them: 0.1 to 0.3 s of CPU for what a machine that compiles executes.
 * Each is a file of a folder that the user alone can write (base/own_folder.h), named after what it
 * is the table of and after the program that made it.
 *
 * Only files that nobody else can write have one: the others' would cost a stranger nothing and the
 * user his disk, and a file's number and times are what its owner, or who mounted it, wants.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/span.h"
#include "image/notes.h"

struct buffer;

#define FRAME_STORE_BYTES_MOST (UINT64_C(64) << 20) /* then those that were not used longest go */

/* Of which file. */
struct frame_store_key {
	uint64_t device, inode, generation, size_bytes;
	int64_t changed_ns; /* since 1970 */
	uint32_t build_id_bytes;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
};

struct frame_store {
	const char *path; /* NULL: nothing is kept */
	int folder;	  /* -1: not opened yet */
	bool refused;	  /* others can write it, or it is none */
	bool full;	  /* nothing more can be written */
	uint64_t bytes;	  /* of the folder's files, once something was written */
	uint64_t bytes_most;
	bool counted;
	struct hash128 program; /* which tables are believed: those that this program made */
};

/* `path` is borrowed, and may be NULL. */
void frame_store_init(struct frame_store *store, const char *path);
void frame_store_release(struct frame_store *store); /* also right for a zeroed one */

/* Appends the table of a file. False: there is none that is whole, and *out is as it was. */
bool frame_store_find(struct frame_store *store, const struct frame_store_key *key,
		      struct buffer *out);
/* Keeps the table of a file, unless that changed a moment ago: it could change again without
 * showing. What cannot be written is made anew by the next recorder. */
void frame_store_put(struct frame_store *store, const struct frame_store_key *key,
		     struct span table);
