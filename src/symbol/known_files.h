/*
 * known_files - what the reader said of the files of this machine that it was asked about: a
 * recording may name one file many times, under other spellings and for many images, and has it
 * identified and hashed once.
 *
 * A file is the same one as long as its device, inode, size and the time of its last change are,
 * which its owner cannot set back. Where a file system makes those up, every question is
 * asked. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"
#include "image/identity.h"

struct reader;
struct safe_file;

struct known_file;

struct known_files {
	struct reader *reader; /* borrowed */
	struct known_file **list;
	size_t count, capacity;
	struct hash_index index;
	uint64_t asked; /* questions that the reader was asked */
};

void known_files_init(struct known_files *files, struct reader *reader);
void known_files_release(struct known_files *files);
/* As reader_identify_content(), for an open file; refusals are remembered as well. 0, or a negative
 * errno. */
int known_files_identify(struct known_files *files, const struct safe_file *file,
			 enum content_kind content, struct identity *identity);
