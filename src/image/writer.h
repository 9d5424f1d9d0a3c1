/*
 * writer - who can alter an executable, besides those who are trusted: root and whoever records.
 * One number: 0 is nobody else, or not known. Whoever can write a file chooses its build-id,
 * names and lines, so images that different users can write are different images.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum writer_kind {
	WRITER_NOBODY = 0,  /* else */
	WRITER_USER = 1,    /* its owner; id is the user's */
	WRITER_GROUP = 2,   /* a group, or an access list; id is the group's */
	WRITER_ANYBODY = 3, /* id is the owner's */
	/* Whoever mounted the file system that it is on can say that anybody owns a file (FUSE, a
	 * disk's image that a user mounts): id is the owner that it tells, which proves nothing. */
	WRITER_MOUNTER = 4,
};

#define WRITER_TEXT_BYTES 48

static inline uint64_t writer_of(enum writer_kind kind, uint32_t id)
{
	return kind == WRITER_NOBODY ? 0 : (uint64_t)kind << 32 | id;
}

static inline enum writer_kind writer_kind(uint64_t writer)
{
	return (enum writer_kind)(writer >> 32);
}

/* "uid 1000", "gid 50", "anybody", "whoever mounted it"; "" for nobody else. Cuts nothing off. */
void writer_text(uint64_t writer, char text[WRITER_TEXT_BYTES]);
/*
 * Whether a file of `other`, such as one with debug information, may speak for one of `writer`:
 * nobody gets a say by it who has none in the file itself.
 */
bool writer_may_speak_for(uint64_t other, uint64_t writer);
