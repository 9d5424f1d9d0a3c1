#include "profile/sum_check.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sum.h"
#include "profile/profile.h"

static unsigned __int128 sum_of(const struct table *table, size_t slot)
{
	unsigned __int128 sum = 0;
	const uint64_t *value = table->values + slot;
	for (size_t row = 0; row < table->count; row++, value += table->value_slots)
		sum += *value;
	return sum;
}

static bool is_estimate(const struct column *column)
{
	return strcmp(column->name, "estimate") == 0;
}

static int refuse(const char *what, struct span event, struct error *err)
{
	return error_set(err, -EOVERFLOW, "the %s of event '%.*s' sum past 64 bits", what,
			 event.size < 200 ? (int)event.size : 200, (const char *)event.data);
}

/* Events that are never added to each other may pass 64 bits together. */
static int check_by_event(const struct profile *profile, const struct table *table, size_t slot,
			  struct error *err)
{
	const struct table *events = profile_table(profile, PROFILE_EVENT);
	size_t event_slot = table_column_slot(table, (size_t)table_find_column(table, "event"));
	CLEANUP(free_pointer)
	unsigned __int128 *of_name = calloc(profile->bytes.count + 1, sizeof(*of_name));
	if (!of_name)
		return error_set(err, -ENOMEM, "out of memory adding up a profile");
	for (size_t row = 0; row < table->count; row++) {
		uint64_t event = table_keys(table, row)[event_slot];
		uint64_t name = event ? table_keys(events, event - 1)[EVENT_NAME] : 0;
		of_name[name] += table_values(table, row)[slot];
		if (of_name[name] >= SUM_PASSED)
			return refuse("estimates", profile_bytes(profile, name), err);
	}
	return 0;
}

static int check_table(const struct profile *profile, const struct table *table, struct error *err)
{
	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];
		size_t slot = table_column_slot(table, i);
		if (column->rule != RULE_SUM || column->type != COLUMN_U64 ||
		    sum_of(table, slot) < SUM_PASSED)
			continue;
		if (!is_estimate(column))
			return error_set(err, -EOVERFLOW,
					 "column '%s' of table '%s' sums past 64 bits",
					 column->name, table->name);
		int ret = check_by_event(profile, table, slot, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int profile_check_sums(const struct profile *profile, struct error *err)
{
	static const enum profile_table tables[] = { PROFILE_FLAT,  PROFILE_STACK, PROFILE_EDGE,
						     PROFILE_RANGE, PROFILE_VALUE, PROFILE_COUNTER,
						     PROFILE_STRIP };
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < sizeof(tables) / sizeof(tables[0]); i++)
		ret = check_table(profile, profile_table(profile, tables[i]), err);
	return ret;
}
