/*
 * text_numbers - numbers for texts, equal where the texts are. One text may be long and of very
 * many rows, under one address or under several: each address is looked at once, after which
 * rows are hashed and compared by numbers. Borrows the texts, which stay where they are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"
#include "base/number_map.h"
#include "base/span.h"

struct text_numbers {
	struct span *texts; /* by number */
	size_t count, capacity;
	struct hash_index index;
	struct number_map long_ones; /* numbers plus one, by address */
};

void text_numbers_release(struct text_numbers *numbers); /* also right for a zeroed one */
/* Numbers count from 0. 0 or -ENOMEM. */
int text_number(struct text_numbers *numbers, const char *text, uint32_t *number);
