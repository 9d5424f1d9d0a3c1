/*
 * byte_pool - every text and blob of a profile once, under a small number.
 * Number 0 is "absent"; the empty text is a number like any other. A span that
 * was handed out stays valid until the pool is released.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash_index.h"
#include "base/span.h"

struct byte_pool {
	struct arena arena;
	struct span *spans; /* spans[id - 1] */
	size_t count;
	size_t capacity;
	struct hash_index index;
};

void byte_pool_release(struct byte_pool *pool);
/* Stores in *id the number of these bytes, which are copied when new. 0 or -ENOMEM. */
int byte_pool_add(struct byte_pool *pool, struct span bytes, uint32_t *id);
/* Whether these bytes are there already, and their number. */
bool byte_pool_find(const struct byte_pool *pool, struct span bytes, uint32_t *id);
/* The bytes of `id`; an absent one is {NULL, 0}. */
static inline struct span byte_pool_get(const struct byte_pool *pool, uint64_t id)
{
	return id ? pool->spans[id - 1] : (struct span){ NULL, 0 };
}
