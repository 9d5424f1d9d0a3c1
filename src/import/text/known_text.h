/*
 * known_text - numbers for distinct texts, counted from 0 as they come. A text
 * is known by a 128-bit hash alone, which keeps memory small: 16 bytes and an
 * index slot each, however long it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/hash_index.h"

struct known_text {
	struct hash128 *hashes;
	size_t count, capacity;
	struct hash_index index;
};

void known_text_release(struct known_text *known); /* also right for a zeroed one */
/* Stores the number of a text, and whether it is new: then it is the former count. Returns 0 or
 * -ENOMEM. */
int known_text_number(struct known_text *known, const void *text, size_t size, uint32_t *number,
		      bool *added);
