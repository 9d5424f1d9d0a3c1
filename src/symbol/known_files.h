/*
 * known_files - identities of files of this machine, remembered: a recording may name one file many
 * times, under other spellings and for many images, and the reader identifies and hashes it once.
 *
 * A file is the same one as long as its device, inode, size and the time of its last change are,
 * which its owner cannot set back. Where a file system makes those up (WRITER_MOUNTER), nothing is
 * remembered. One thread at a time.
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
	uint64_t asked; /* how often the reader was asked */
};

void known_files_init(struct known_files *files, struct reader *reader);
void known_files_release(struct known_files *files);
/* As reader_identify_content(), for an open file; failures are remembered as well, but for want of
 * memory or of the account's time, or when asked to end. 0, or a negative errno. */
int known_files_identify(struct known_files *files, const struct safe_file *file,
			 enum content_kind content, struct identity *identity);
