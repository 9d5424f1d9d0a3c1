#include "profile/size_check.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"

/* Parents come before their children, also in a file that was read. */
static int check_depths(const struct table *nodes, uint32_t *depths, struct error *err)
{
	for (size_t i = 0; i < nodes->count; i++) {
		uint64_t parent = table_keys(nodes, i)[NODE_PARENT];
		depths[i + 1] = depths[parent <= i ? parent : 0] + 1;
		int ret = budget_check_depth(depths[i + 1], err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int check_stacks(const struct table *stacks, const uint32_t *depths, struct error *err)
{
	uint64_t frames = 0;
	for (size_t i = 0; i < stacks->count; i++)
		frames += depths[table_keys(stacks, i)[STACK_NODE]];
	return budget_check_frames(frames, err);
}

static int check_names(const struct profile *profile, const struct table *table, struct error *err)
{
	for (size_t column = 0; column < table->column_count; column++) {
		if (table->columns[column].type != COLUMN_BYTES ||
		    table->columns[column].rule != RULE_KEY)
			continue;
		size_t slot = table_column_slot(table, column);
		for (size_t i = 0; i < table->count; i++) {
			uint64_t id = table_keys(table, i)[slot];
			int ret = budget_check_name(profile_bytes(profile, id).size, err);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

int profile_check_budget(const struct profile *profile, struct error *err)
{
	const struct table *nodes = profile_table(profile, PROFILE_NODE);
	if (!budget_is_open())
		return 0;
	budget_place(NULL, 0);
	CLEANUP(free_pointer) uint32_t *depths = calloc(nodes->count + 1, sizeof(*depths));
	if (!depths)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = check_depths(nodes, depths, err);
	if (ret == 0)
		ret = check_stacks(profile_table(profile, PROFILE_STACK), depths, err);
	for (size_t i = 0; ret == 0 && i < profile->table_count; i++)
		if (i != PROFILE_STASH) /* contents, not names */
			ret = check_names(profile, profile->tables[i], err);
	return ret;
}
