#include <stdbool.h>

#include "profile/profile.h"

/* The table that a reference of that type goes to; NULL: it is none. */
static const struct table *target_of(const struct profile *profile, enum column_type type)
{
	static const enum profile_table targets[] = { PROFILE_EVENT, PROFILE_IMAGE, PROFILE_CONTEXT,
						      PROFILE_NODE };
	return column_is_reference(type) ? profile_table(profile, targets[type - COLUMN_EVENT])
					 : NULL;
}

static const char *column_fault(const struct profile *profile, const struct table *table,
				size_t column)
{
	enum column_type type = table->columns[column].type;
	const struct table *target = target_of(profile, type);
	if (table->columns[column].rule != RULE_KEY || (!target && type != COLUMN_BYTES))
		return NULL;
	size_t most = target ? target->count : profile->bytes.count;
	size_t slot = table_column_slot(table, column);
	/* parents come before their children, which ends every walk to a root */
	bool parents = target == table && table == profile_table(profile, PROFILE_NODE);
	for (size_t row = 0; row < table->count; row++) {
		uint64_t id = table_keys(table, row)[slot];
		if (id > most)
			return "a reference goes beyond the end of its table";
		if (parents && id > row)
			return "a node's parent comes after it";
	}
	return NULL;
}

/* Each row is found by its key; as there are as many in the index, no two have the same. */
static const char *index_fault(const struct table *table)
{
	if (table->unindexed)
		return NULL;
	if (table->index.used != table->count)
		return "an index has more or fewer rows than its table";
	for (size_t row = 0; row < table->count; row++)
		if (!table_has(table, table_keys(table, row)))
			return "a row is not found by its key";
	return NULL;
}

const char *profile_fault(const struct profile *profile)
{
	for (size_t i = 0; i < profile->table_count; i++) {
		const struct table *table = profile->tables[i];
		const char *fault = index_fault(table);
		for (size_t column = 0; column < table->column_count && !fault; column++)
			fault = column_fault(profile, table, column);
		if (fault)
			return fault;
	}
	return NULL;
}
