/*
 * id_map - for each id of one profile the id of the same text or dictionary row in another
 * profile. Merging, the canonical form and the collector translate rows by it. 0 ("none")
 * maps to 0; an id that maps to 0 has no counterpart yet, or is dropped.
 */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

struct id_map {
	uint32_t *bytes; /* by id in the old profile, as are those of each dictionary */
	uint32_t *dictionaries[PROFILE_DICTIONARIES];
};

/* Makes room for the ids that `from` has now, all mapped to 0. 0, or -ENOMEM and then there is
 * nothing to release. */
int id_map_init(struct id_map *map, const struct profile *from);
void id_map_release(struct id_map *map); /* also right for a zeroed one */
/* The map for the ids in a column of this type; NULL when such a column holds no ids. */
static inline uint32_t *id_map_of(const struct id_map *map, enum column_type type)
{
	if (type == COLUMN_BYTES)
		return map->bytes;
	return column_is_reference(type) ? map->dictionaries[type - COLUMN_EVENT] : NULL;
}
