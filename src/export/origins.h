/*
 * origins - the source lines that instructions come from, with files numbered in the order they
 * are met: a file of callgrind's format names each once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

struct buffer;
struct resolver;

/* `file` is a number; line 0: not known. */
struct origin {
	uint32_t file, line;
};

/* Of inlined code: in the function that was inlined, or in the one it was inlined into. */
enum origin_depth { DEPTH_INNERMOST, DEPTH_OUTERMOST };

struct origin_file {
	const char *text; /* lives as long as the resolver */
	bool written;
};

struct origins {
	struct resolver *resolver; /* borrowed */
	struct origin_file *files; /* by number - 1 */
	size_t count, capacity;
	struct hash_index index;
};

/* 0 or -ENOMEM; for origins_release() in both cases. */
int origins_init(struct origins *origins, struct resolver *resolver);
void origins_release(struct origins *origins);

/* Of an address of an image; one that is not known is in line 0 of "???". 0 or -ENOMEM. */
int origins_find(struct origins *origins, uint32_t image, uint64_t vaddr, enum origin_depth depth,
		 struct origin *origin);
/* "KEY=(NUMBER) NAME", and from the second time on "KEY=(NUMBER)". */
void origins_append_file(struct origins *origins, const char *key, uint32_t number,
			 struct buffer *out);
