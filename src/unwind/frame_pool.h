/*
 * frame_pool - the tables of many files in memory that is bounded: slabs of 1 MiB, made when they
 * are needed and then used in turn. When the last one is full, the tables that begin in the oldest
 * one are forgotten, however often they are used: putting one in again is a copy.
 *
 * Whatever a table says, a lookup reads nothing outside of the pool. A pool belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/frame_table.h"
#include "unwind/frame_table_layout.h"

struct frame_pool_options {
	uint32_t slabs; /* at most; 2 to FRAME_SLAB_MOST */
	/* Makes the slab of that number, zeroed; NULL: out of memory. By malloc() without it. */
	uint32_t *(*make)(void *context, uint32_t number);
	/* Called before a slab is written anew: nobody may look up what was in it from then on. May
	 * be NULL. */
	void (*forget)(void *context, uint32_t number);
	void *context;
};

struct frame_pool {
	struct frame_pool_options options;
	uint32_t *slabs[FRAME_SLAB_MOST];
	uint32_t generations[FRAME_SLAB_MOST]; /* how often each was begun */
	uint32_t made;			       /* slabs */
	uint32_t at;			       /* the slab that is filled */
	uint32_t used;			       /* words of it */
	uint64_t evictions;		       /* slabs that were written anew */
};

/* Where a file's table is, as long as it is there. */
struct frame_pool_entry {
	struct frame_table_place place;
	uint32_t slab, generation; /* where it begins */
	uint16_t machine;	   /* EM_* */
};

void frame_pool_init(struct frame_pool *pool, const struct frame_pool_options *options);
void frame_pool_release(struct frame_pool *pool); /* frees slabs that malloc() made */
uint64_t frame_pool_bytes(const struct frame_pool *pool);

/* Puts a table in; one without pages takes nothing. 0, -ENOMEM, or -E2BIG: it takes more than half of the pool, or its parts make no
 * sense. */
int frame_pool_add(struct frame_pool *pool, const struct frame_table *table,
		   struct frame_pool_entry *entry);
/* Whether the table is still there. */
bool frame_pool_has(const struct frame_pool *pool, const struct frame_pool_entry *entry);
/* The rule at an offset in the file whose table is there; FRAME_CFA_NONE: nothing is known. */
frame_rule frame_pool_find(const struct frame_pool *pool, const struct frame_table_place *place,
			   uint64_t offset);
