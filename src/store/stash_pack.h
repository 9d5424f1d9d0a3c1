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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "profile/profile.h"

struct error;
struct hash128;

#define STASH_PACK_MAX_BYTES   (128u << 20) /* unpacked: the longest record twice */
#define STASH_PACK_MAX_RECORDS (1u << 20)
#define PACK_FILE_MOST_BYTES   (STASH_PACK_MAX_BYTES / 4) /* compressed */
#define STASH_PACK_NAME_BYTES  33 /* 32 hexadecimal digits and NUL */
/* an image's: two names of at most 128 digits, a writer's 16, two marks between, NUL */
#define STASH_FOLDER_NAME_BYTES 280

/*
 * The name of an image's folder, in hexadecimal: build-id, "-" and hash, or the one of them that
 * there is, then "-" and the writer if there is one; without build-id and hash "n" and the stable
 * name. Images that differ in their name alone share a folder. 0 or -ENOMEM.
 */
int stash_folder_name(const struct profile *profile, uint32_t image,
		      char name[STASH_FOLDER_NAME_BYTES]);
/* The same for an image whose stable name is known; `stable` may be NULL when the image has a
 * build-id or hash, none longer than 64 bytes. */
void stash_folder_name_of(const struct profile_image *image, const struct hash128 *stable,
			  char name[STASH_FOLDER_NAME_BYTES]);

/* Appends to `out` a pack of rows rows[0..count-1] of the table "stash", which are all of `image`;
 * in the pack they have canonical order. 0 or -ENOMEM. */
int stash_pack_encode(const struct profile *profile, uint32_t image, const uint32_t *rows,
		      size_t count, struct buffer *out);
/* Whether it is a pack of earlier versions. */
bool stash_pack_is_old(const void *bytes, size_t size);
/* The name of a pack by its bytes: SHA-256 cut to 16 bytes; for a pack of earlier versions, XXH3.
 */
void stash_pack_name(const void *bytes, size_t size, char name[STASH_PACK_NAME_BYTES]);

/*
 * Whether the records of a pack of this image are wanted: 0; STASH_PACK_SKIP: they are not, which
 * is no fault; -EXDEV: the pack does not belong there; -ENOMEM.
 */
#define STASH_PACK_SKIP 1
typedef int (*stash_pack_accept)(void *context, const struct profile_image *image);

/*
 * Adds the pack's image and records to `profile` if `wanted` returns 0 for the image, or is NULL.
 * Returns 0; -EXDEV when `wanted` refuses the image, and nothing was added; -EBADMSG, when a part
 * of the records may have been added; or -ENOMEM; with *err, in which `name` stands for the pack.
 */
int stash_pack_decode(const void *bytes, size_t size, const char *name, stash_pack_accept wanted,
		      void *context, struct profile *profile, struct error *err);
