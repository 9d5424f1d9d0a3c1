#include "profile/runs.h"

#include <errno.h>

#include "base/count_of.h"
#include "base/error.h"
#include "profile/profile.h"

static const struct column mark = { "run", COLUMN_U64, RULE_KEY };
static const enum profile_table marked[] = { PROFILE_EVENT, PROFILE_SOURCE };

/* Among the keys; SIZE_MAX: the table has no marks. */
static size_t slot_of(const struct table *table)
{
	int at = table_find_column(table, mark.name);
	return at < 0 ? SIZE_MAX : table_column_slot(table, (size_t)at);
}

static int mark_table(struct table *table, uint64_t run, struct error *err)
{
	int at = table_find_column(table, mark.name);
	int ret = at < 0 ? table_add_column(table, &mark) : 0;
	if (ret == -ENOMEM)
		return error_set(err, ret, "out of memory telling runs apart");
	if (ret < 0)
		return error_set(err, -EBADMSG, "table '%s' has too many columns to mark its run",
				 table->name);
	if (at >= 0 &&
	    (table->columns[at].type != mark.type || table->columns[at].rule != mark.rule))
		return error_set(err, -EBADMSG, "column '%s' of table '%s' is declared otherwise",
				 mark.name, table->name);
	size_t slot = slot_of(table);
	for (size_t row = 0; row < table->count; row++)
		table->keys[row * table->key_slots + slot] = run;
	table->unindexed = true; /* keys changed */
	return 0;
}

int profile_mark_run(struct profile *profile, uint64_t run, struct error *err)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < COUNT_OF(marked); i++)
		ret = mark_table(profile->tables[marked[i]], run, err);
	return ret;
}

static uint64_t run_of(const struct table *table, size_t row)
{
	size_t slot = slot_of(table);
	return slot == SIZE_MAX ? 0 : table_keys(table, row)[slot];
}

uint64_t profile_event_run(const struct profile *profile, uint64_t event)
{
	return event ? run_of(profile_table(profile, PROFILE_EVENT), event - 1) : 0;
}

uint64_t profile_source_run(const struct profile *profile, size_t row)
{
	return run_of(profile_table(profile, PROFILE_SOURCE), row);
}
