/*
 * whole_file - the bytes of a file whose parts come in any order, or are read
 * twice, kept until the last has come. A small packed file may unpack to a huge
 * one: there is a limit.
 */
#pragma once

#include <stddef.h>

struct buffer;
struct error;

#define WHOLE_FILE_MAX_BYTES (2ull << 30)

/* Appends the next bytes. Returns 0; -EPROTO past the limit; -ENOMEM. */
int whole_file_feed(struct buffer *file, const void *bytes, size_t size, struct error *err);
