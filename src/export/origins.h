/*
 * origins - the source lines of instructions. Files are numbered in the order they first occur, as
 * callgrind's format does, which names each once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

struct buffer;
struct resolver;

/* `file` is the number of a file, from 1; line 0: not known. */
struct origin {
	uint32_t file, line;
};

/* Which line of inlined code: the one in the function that was inlined, or the call in the
 * procedure that it was inlined into. */
enum origin_depth { DEPTH_INNERMOST, DEPTH_OUTERMOST };

struct origin_file {
	const char *text; /* lives as long as the resolver */
	bool written;	  /* its name was written: the number will do */
};

struct origins {
	struct resolver *resolver; /* borrowed */
	struct origin_file *files; /* by number - 1 */
	size_t count, capacity;
	struct hash_index index;
};

/* 0 or -ENOMEM; origins_release() is called in both cases. */
int origins_init(struct origins *origins, struct resolver *resolver);
void origins_release(struct origins *origins);

/* The line of an address of an image: line 0 of "???" when it is not known. 0 or -ENOMEM. */
int origins_find(struct origins *origins, uint32_t image, uint64_t vaddr, enum origin_depth depth,
		 struct origin *origin);
/* Appends "KEY=(NUMBER) NAME", and from the second time on "KEY=(NUMBER)". */
void origins_append_file(struct origins *origins, const char *key, uint32_t number,
			 struct buffer *out);
