/*
 * edge_tally - adds up branches whose outcome became known, between two profiles that
 * are handed out. Memory grows with distinct branches of an epoch, never with samples. Ids
 * are those of the session's profile, as in collect/tally.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

struct tally_translation;

struct edge_row {
	uint32_t event, context;
	uint32_t from_image, to_image;
	uint64_t from_vaddr, to_vaddr;
	uint64_t count; /* since the last edge_tally_flush() */
	uint32_t asker; /* as in struct tally_place */
};

struct edge_tally {
	struct edge_row *rows;
	size_t count, capacity;
	struct hash_index index;
	uint32_t *changed; /* rows with a count */
	size_t changed_count, changed_capacity;
};

void edge_tally_release(struct edge_tally *tally);
/* Whether it was counted before. */
bool edge_tally_knows(const struct edge_tally *tally, const struct edge_row *edge);
/* Counts a branch once more; edge->count does not matter. 0 or -ENOMEM. */
int edge_tally_add(struct edge_tally *tally, const struct edge_row *edge);
/* Moves all counts into translation->to. Call it before tally_flush(), which adds the paths of all
 * images that were translated. 0 or -ENOMEM. */
int edge_tally_flush(struct edge_tally *tally, struct tally_translation *translation);
