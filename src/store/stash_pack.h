/*
 * stash_pack - records of the stash of one image, as one immutable file of a
 * database: DB/images/IMAGE/HASH, where HASH is the hash of its bytes. Packs
 * of two databases never clash, so copying one folder over the other is their
 * union; a record that is in two packs is one record when read.
 *
 * A pack speaks for the image that it names and no other: build-id, content and who can write it
 * (profile/profile.h), all of them. Earlier versions wrote packs of images whose content they did
 * not know, under a hash that can be forged: those are read for such images alone.
 *
 * Decoding takes bytes from strangers: everything is checked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "profile/profile.h"

struct error;
struct hash128;

#define STASH_PACK_MAX_BYTES   (128u << 20) /* unpacked: the longest record twice */
#define STASH_PACK_MAX_RECORDS (1u << 20)
#define STASH_PACK_NAME_BYTES  33 /* 32 hexadecimal digits and NUL */
/* an image's: two names of at most 128 digits, a writer's 16, two marks between, NUL */
#define STASH_FOLDER_NAME_BYTES 280

/*
 * The folder of an image, in hexadecimal: its build-id, "-", its hash, and with a writer "-" and
 * that; of what has one of the first two alone, that; else "n" and its stable name. Images that
 * differ in their name alone share a folder.
 */
int stash_folder_name(const struct profile *profile, uint32_t image,
		      char name[STASH_FOLDER_NAME_BYTES]);
/* The same of an image whose stable name is known already. */
void stash_folder_name_of(const struct profile_image *image, const struct hash128 *stable,
			  char name[STASH_FOLDER_NAME_BYTES]);

/* A pack of rows rows[0..count-1] of the table "stash", all of `image`, in canonical order. 0 or
 * -ENOMEM. */
int stash_pack_encode(const struct profile *profile, uint32_t image, const uint32_t *rows,
		      size_t count, struct buffer *out);
/* The name that its bytes give a pack: SHA-256 cut to 16 bytes; of one of earlier versions, XXH3.
 */
void stash_pack_name(const void *bytes, size_t size, char name[STASH_PACK_NAME_BYTES]);

/*
 * Whether the records of a pack of that image are wanted: 0; STASH_PACK_SKIP: not, but it is no
 * fault; -EXDEV: it has no business there; -ENOMEM.
 */
#define STASH_PACK_SKIP 1
typedef int (*stash_pack_accept)(void *context, const struct profile_image *image);

/*
 * Adds the pack's records to `profile`, with its image, if `takes` has it so; NULL: of any.
 * Returns 0, -EXDEV (of an image that `takes` refuses; nothing was added) or -EBADMSG (a part may
 * have been) with *err, in which `name` is for the message, or -ENOMEM.
 */
int stash_pack_decode(const void *bytes, size_t size, const char *name, stash_pack_accept takes,
		      void *context, struct profile *profile, struct error *err);
