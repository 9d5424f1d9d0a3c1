/*
 * id_map - how the ids of one profile read in another: what merging, the canonical form and a
 * collector that hands out a profile translate by. 0, which is no id, stays 0; another id that
 * reads as 0 was not met yet, or is not kept.
 */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

struct id_map {
	uint32_t *bytes; /* by id */
	uint32_t *dictionaries[PROFILE_DICTIONARIES];
};

/* For the ids that `from` has now. 0, or -ENOMEM and then there is nothing to release. */
int id_map_init(struct id_map *map, const struct profile *from);
void id_map_release(struct id_map *map); /* also right for a zeroed one */
/* The ids that a column of that type holds; NULL when it holds none. */
static inline uint32_t *id_map_of(const struct id_map *map, enum column_type type)
{
	if (type == COLUMN_BYTES)
		return map->bytes;
	return column_is_reference(type) ? map->dictionaries[type - COLUMN_EVENT] : NULL;
}
