/*
 * debugdata - .gnu_debugdata: a small ELF file with the symbols that .dynsym
 * lacks, packed with xz.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

struct buffer;

#define DEBUGDATA_MAX_BYTES (256u << 20) /* unpacked; the largest known is below 20 MB */

/* Appends the unpacked bytes. Returns 0, -EBADMSG, -EFBIG past the limit, or -ENOMEM. */
int debugdata_unpack(struct span packed, struct buffer *out);
