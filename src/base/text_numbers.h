/*
 * text_numbers - gives each text a number, the same one to equal texts, so that rows with texts are
 * hashed and compared by numbers. Many rows may have one long text, at one address or at several:
 * each address is read once. Borrows the texts, which must stay unchanged where they are.
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
	struct number_map long_ones; /* number + 1 of each long text, by its address */
};

void text_numbers_release(struct text_numbers *numbers); /* also right for a zeroed one */
/* Numbers count from 0. 0 or -ENOMEM. */
int text_number(struct text_numbers *numbers, const char *text, uint32_t *number);
