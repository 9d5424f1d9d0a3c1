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
	WRITER_NOBODY = 0,  /* nobody but those who are trusted */
	WRITER_USER = 1,    /* its owner; id is the user's */
	WRITER_GROUP = 2,   /* a group, or an access list; id is the group's */
	WRITER_ANYBODY = 3, /* id is the owner's */
	/* Whoever mounted its file system chooses who owns a file (FUSE, a disk's image that a user
	 * mounts): id is the owner as the file system has it, which proves nothing. */
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

/* "uid 1000", "gid 50", "anybody", "whoever mounted it"; "" for WRITER_NOBODY. All of them fit. */
void writer_text(uint64_t writer, char text[WRITER_TEXT_BYTES]);
/*
 * Whether a file that `other` can write, such as one with debug information, may be used for a file
 * that `writer` can write: whoever can alter the former must be able to alter the latter anyway.
 */
bool writer_may_speak_for(uint64_t other, uint64_t writer);
