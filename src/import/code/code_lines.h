/*
 * code_lines - source lines and inlined frames that a file gives for single
 * addresses, made into records of the stash. Such a file does not say where functions
 * begin and end: a record goes from the first to the last of neighbouring addresses
 * with the same frames, and the procedure's name is kept with the frames of stacks
 * (struct profile_frame).
 *
 * Texts are numbers in the profile's byte pool. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

struct error;
struct profile;

struct code_frame {
	uint32_t function; /* that is inlined; 0 in the last frame */
	uint32_t file;	   /* 0: unknown */
	uint32_t line;	   /* 0: unknown */
};

struct code_lines {
	struct coded_place *list;
	size_t count, capacity;
	struct code_frame *frames; /* of all places, one after the other */
	size_t frame_count, frame_capacity;
	struct hash_index index;
};

void code_lines_release(struct code_lines *lines); /* also right for a zeroed one */

/*
 * Frames at an address, innermost first, the function that holds the address
 * last; `count` > 0, and of more than RECORD_MAX_DEPTH (symbol/record.h) the
 * innermost are dropped. The first frames of an address stay; *same (may be NULL)
 * says whether these equal them. Returns 0 or -ENOMEM.
 */
int code_lines_add(struct code_lines *lines, uint32_t image, uint64_t vaddr,
		   const struct code_frame *frames, size_t count, bool *same);

/* Adds what `others` knows of addresses that `lines` does not know. 0 or -ENOMEM. */
int code_lines_complete(struct code_lines *lines, const struct code_lines *others);

/* Adds the records of all addresses to the profile's stash. Returns 0 or -ENOMEM. */
int code_lines_finish(struct code_lines *lines, struct profile *profile, struct error *err);
