/*
 * unpack - the bytes inside a gzip or xz file, as they come, and the UTF-8 of
 * UTF-16 text. Concatenated members are one stream. Output comes in pieces, so a
 * small file that unpacks to a huge one costs time, not memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct unpacker;

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_XZ, PACKING_UTF16_LITTLE, PACKING_UTF16_BIG };
enum packing packing_of(const void *bytes, size_t size); /* by the first bytes */

/* Takes unpacked bytes. 0, or a negative errno that ends the unpacking and is returned. */
typedef int (*unpack_sink)(void *context, const void *bytes, size_t size, struct error *err);

/* Returns 0 or -ENOMEM. */
int unpacker_new(enum packing packing, unpack_sink sink, void *context, struct unpacker **out);
/* The next packed bytes. Returns 0; -EBADMSG (damaged, with the offset); -EPROTO (xz data that
 * needs too much memory); -ENOMEM; or the sink's error. */
int unpacker_feed(struct unpacker *unpacker, const void *bytes, size_t size, struct error *err);
/* The end. As above; -EBADMSG also when the packed stream is cut off. */
int unpacker_finish(struct unpacker *unpacker, struct error *err);
void unpacker_free(struct unpacker *unpacker);
void unpacker_freep(struct unpacker **unpacker); /* for CLEANUP() */
