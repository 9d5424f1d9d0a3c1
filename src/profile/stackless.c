#include "profile/stackless.h"

#include <errno.h>
#include <stdbool.h>

#include "profile/profile.h"

/* Tables of other versions may, too. */
static bool refers_to_nodes(const struct table *table)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].type == COLUMN_NODE && table->count)
			return true;
	return false;
}

static bool nodes_are_wanted(const struct profile *profile)
{
	for (size_t i = 0; i < profile->table_count; i++)
		if (i != PROFILE_NODE && i != PROFILE_STACK && refers_to_nodes(profile->tables[i]))
			return true;
	return false;
}

static void replace(struct profile *profile, enum profile_table which, struct table *table)
{
	table_free(profile->tables[which]);
	profile->tables[which] = table;
}

int profile_drop_stacks(struct profile *profile)
{
	struct table *stacks = table_new_like(profile_table(profile, PROFILE_STACK));
	struct table *nodes = table_new_like(profile_table(profile, PROFILE_NODE));
	if (!stacks || !nodes) {
		table_free(stacks);
		table_free(nodes);
		return -ENOMEM;
	}
	replace(profile, PROFILE_STACK, stacks);
	if (nodes_are_wanted(profile))
		table_free(nodes);
	else
		replace(profile, PROFILE_NODE, nodes);
	return 0;
}
