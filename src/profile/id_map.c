#include "profile/id_map.h"

#include <errno.h>
#include <stdlib.h>

int id_map_init(struct id_map *map, const struct profile *from)
{
	map->bytes = calloc(from->bytes.count + 1, sizeof(*map->bytes));
	bool complete = map->bytes;
	for (size_t i = 0; i < PROFILE_DICTIONARIES; i++) {
		map->dictionaries[i] =
			calloc(from->tables[i]->count + 1, sizeof(*map->dictionaries[i]));
		complete = complete && map->dictionaries[i];
	}
	if (!complete)
		id_map_release(map);
	return complete ? 0 : -ENOMEM;
}

void id_map_release(struct id_map *map)
{
	free(map->bytes);
	for (size_t i = 0; i < PROFILE_DICTIONARIES; i++)
		free(map->dictionaries[i]);
	*map = (struct id_map){ 0 };
}
