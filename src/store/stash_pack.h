/*
 * stash_pack - records of the stash of one image, as one immutable file of a
 * database: DB/images/IMAGE/HASH, where HASH is the hash of its bytes. Packs
 * of two databases never clash, so copying one folder over the other is their
 * union; a record that is in two packs is one record when read.
 *
 * Decoding takes bytes from strangers: everything is checked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "profile/profile.h"

struct error;

#define STASH_PACK_MAX_BYTES	(128u << 20) /* unpacked: the longest record twice */
#define STASH_PACK_MAX_RECORDS	(1u << 20)
#define STASH_PACK_NAME_BYTES	33  /* 32 hexadecimal digits and NUL */
#define STASH_FOLDER_NAME_BYTES 132 /* an image's: at most 128 digits */

/* The folder of an image: its build-id, else its hash, else "n" and its stable name, in
 * hexadecimal. */
int stash_folder_name(const struct profile *profile, uint32_t image,
		      char name[STASH_FOLDER_NAME_BYTES]);

/* A pack of rows rows[0..count-1] of the table "stash", all of `image`, in canonical order. 0 or
 * -ENOMEM. */
int stash_pack_encode(const struct profile *profile, uint32_t image, const uint32_t *rows,
		      size_t count, struct buffer *out);
void stash_pack_name(const void *bytes, size_t size, char name[STASH_PACK_NAME_BYTES]);

/*
 * Adds the pack's records to `profile`, with its image. Returns 0, -EBADMSG with
 * *err (`name` is for the message; a part may have been added then), or -ENOMEM.
 */
int stash_pack_decode(const void *bytes, size_t size, const char *name, struct profile *profile,
		      struct error *err);
