/*
 * binary_finder - finds the file of an image that a recording names by its build-id, the
 * hash of its content, or its path alone. A file is used when it is of the same build. Where
 * nothing can be compared it is used only if the user named the folder to look in (symfs).
 *
 * Where the hash of the content is known it decides. An image that nobody but root and whoever
 * recorded could write is looked for only among files of which that holds as well, unless the user
 * named the folder: its hash is of the code alone, so a file of somebody else could have the same
 * code and any names and lines. Where only a build-id is known, which any file can claim, such
 * files are tried first.
 *
 * In this order: below symfs under its path, under its file name, in a .build-id
 * folder, then anywhere in it (the first BINARY_FINDER_MAX_FILES files); then its path on this
 * machine, .build-id folders of debug packages, and perf's cache of binaries.
 *
 * A folder that the user named is trusted to be the user's, and links that lead out of it as far as
 * everybody may follow them. A path on this machine was named by the recording: of what lies
 * there, whoever owns it, only an executable of the very build is taken, and its names and code go
 * into what belongs to the caller.
 *
 * It opens through a reader (symbol/reader.h), which it borrows. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"
#include "image/identity.h"
#include "symbol/file_inode.h"

struct binary_finder;
struct reader;

#define BINARY_FINDER_MAX_FILES 20000 /* of symfs that are looked into */

struct binary_finder_options {
	const char *symfs;	/* NULL: none */
	const char *debug_root; /* NULL: /usr/lib/debug */
	const char *perf_cache; /* "/home/me/.debug"; NULL: none */
};

struct binary_wanted {
	struct span build_id;	  /* empty: not known. Zeros at its end do not count */
	struct span hash;	  /* of its content, or empty: not known */
	uint64_t writer;	  /* who else could write it (image/writer.h) */
	const struct span *paths; /* where it was seen; only absolute ones count */
	size_t path_count;
	/* For when nothing else can be compared; of recordings of this machine. */
	struct binary_inode here;
};

struct binary_found {
	int fd; /* the caller closes it */
	struct identity identity;
	struct buffer path; /* the caller releases it */
	uint64_t writer;    /* who else can write it; READER_ANY_WRITER below symfs, where that
			       does not matter */
	bool by_name;	    /* nothing but its path or name was compared */
	uint32_t owner;	    /* SAFE_NO_USER: not known */
};

/* The texts of `options` must outlive the finder. 0 or -ENOMEM. */
int binary_finder_new(struct reader *reader, const struct binary_finder_options *options,
		      struct binary_finder **out);
void binary_finder_free(struct binary_finder *finder);
void binary_finder_freep(struct binary_finder **finder); /* for CLEANUP() */

/* 0, -ENOENT (not here; *found then needs no release) or -ENOMEM. */
int binary_finder_open(struct binary_finder *finder, const struct binary_wanted *wanted,
		       struct binary_found *found);
/*
 * The separate debug file of that build, or -1: below symfs, then below the debug root. `path` is
 * where the image lies, or NULL; `owner` and `writer` are those of the image, as
 * binary_finder_open() found them.
 */
int binary_finder_open_debug(struct binary_finder *finder, const struct identity *identity,
			     const char *path, uint32_t owner, uint64_t writer);
/* Whether files of symfs were not looked into because there are too many. */
bool binary_finder_gave_up(const struct binary_finder *finder);

/* Whether the file is the build that build_id names; zeros at its end do not count, since old
 * recordings pad short ones with them. */
bool binary_same_build_id(struct span build_id, const struct identity *identity);
