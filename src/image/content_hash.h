/*
 * content_hash - a name for an executable by what is in it. A build-id is none: whoever links a
 * program chooses it. SHA-256, cut to 16 bytes, over a word for the kind and the bytes of that
 * kind, so that a hash of one kind is never one of another.
 *
 *   CONTENT_TEXT  machine, width, program headers and executable segments, without the ELF header,
 *                 which changes when a file is stripped: for files that only those can write whom
 *                 we trust. Names and lines are not in it, so the same code is one image, stripped
 *                 or not.
 *   CONTENT_FILE  every byte of the file: for all others. Symbols and debug information are in it.
 *   CONTENT_OLD   XXH3 of program headers and executable segments: what profiles of earlier
 *                 versions have of a file without a build-id. It can be forged.
 *
 * Where that is more than CONTENT_WHOLE_BYTES, only pages at even distances are hashed, and for
 * CONTENT_FILE the file's beginning, its end and `unique`, bytes that its owner cannot choose
 * (reader_unique() in symbol/reader.h).
 */
#pragma once

#include "base/hash.h"
#include "base/span.h"

#define IDENTITY_MAX_SEGMENTS 32 /* PT_LOADs kept; linkers make 2 to 6 */

struct elf_file;

#define CONTENT_WHOLE_BYTES ((uint64_t)64 << 20) /* 40 ms of SHA-256 */

enum content_kind { CONTENT_NONE, CONTENT_TEXT, CONTENT_FILE, CONTENT_OLD };

struct hash128 content_hash(const struct elf_file *file, enum content_kind kind,
			    struct span unique);
