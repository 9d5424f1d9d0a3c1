#include "profile/difference.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sum.h"
#include "profile/profile.h"

/*
 * Merging translates ids, so both states are merged into one profile: after the older one a copy of
 * its values is taken, by table and row. After the newer one each sum is that of both, and less
 * twice the older one it is what came.
 */
struct before {
	uint64_t *values;
	size_t rows, slots;
};

struct befores {
	struct before *list; /* by table */
	size_t count;
};

static void befores_release(struct befores *befores)
{
	for (size_t i = 0; i < befores->count; i++)
		free(befores->list[i].values);
	free(befores->list);
	*befores = (struct befores){ 0 };
}

static int remember(const struct profile *profile, struct befores *befores)
{
	befores->list = calloc(profile->table_count + 1, sizeof(*befores->list));
	if (!befores->list)
		return -ENOMEM;
	for (size_t i = 0; i < profile->table_count; i++) {
		const struct table *table = profile->tables[i];
		struct before *before = &befores->list[i];
		size_t size = table->count * table->value_slots * sizeof(uint64_t);
		*before = (struct before){ malloc(size + 1), table->count, table->value_slots };
		befores->count++;
		if (!before->values)
			return -ENOMEM;
		if (size)
			memcpy(before->values, table->values, size);
	}
	return 0;
}

static unsigned __int128 wide(const uint64_t *slots)
{
	return ((unsigned __int128)slots[1] << 64) | slots[0];
}

/* Makes the sum of both what came: without the older part twice. False: it has become less. */
static bool subtract_u64(uint64_t *sum, uint64_t older)
{
	if (sum_passed(*sum) || *sum - older < older)
		return false;
	*sum -= 2 * older;
	return true;
}

static bool subtract_u128(uint64_t *sum, const uint64_t *older)
{
	unsigned __int128 both = wide(sum), before = wide(older);
	if (both == ~(unsigned __int128)0 || both - before < before)
		return false;
	both -= 2 * before;
	sum[0] = (uint64_t)both;
	sum[1] = (uint64_t)(both >> 64);
	return true;
}

/* `*grew`: a sum of the row is more than it was, or it has none. False: one is less. */
static bool subtract_row(const struct table *table, uint64_t *values, const uint64_t *older,
			 bool *grew)
{
	bool summed = false;
	size_t slot = 0;
	*grew = false;
	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];
		size_t slots = column_slots(column->type);
		if (column->rule == RULE_KEY)
			continue;
		if (column->rule == RULE_SUM) {
			summed = true;
			if (!(slots == 2 ? subtract_u128(&values[slot], &older[slot])
					 : subtract_u64(&values[slot], older[slot])))
				return false;
			*grew |= values[slot] || (slots == 2 && values[slot + 1]);
		}
		slot += slots;
	}
	*grew |= !summed;
	return true;
}

/* The rows of the table that grew, as a table of their own in its place. */
static int subtract_table(struct profile *profile, size_t at, const struct before *before)
{
	struct table *table = profile->tables[at];
	if (before->rows && before->slots != table->value_slots)
		return -ERANGE; /* of another version */
	CLEANUP(free_pointer)
	uint64_t *none = calloc(table->value_slots + 1, sizeof(*none));
	struct table *kept = table_new_like(table);
	int ret = none && kept ? 0 : -ENOMEM;
	for (size_t row = 0; ret == 0 && row < table->count; row++) {
		uint64_t *values =
			table->value_slots ? &table->values[row * table->value_slots] : none;
		const uint64_t *older =
			row < before->rows ? &before->values[row * before->slots] : none;
		bool grew;
		if (!subtract_row(table, values, older, &grew))
			ret = -ERANGE;
		else if (grew)
			ret = table_append(kept, table_keys(table, row), values);
	}
	if (ret < 0) {
		table_free(kept);
		return ret;
	}
	table_free(table);
	profile->tables[at] = kept;
	return 0;
}

/* A source is the same, and longer. */
static void shorten_sources(struct profile *profile, const struct before *before)
{
	struct table *table = profile->tables[PROFILE_SOURCE];
	int column = table_find_column(table, "duration_ns");
	size_t slot = column < 0 ? 0 : table_column_slot(table, (size_t)column);
	for (size_t row = 0; column >= 0 && row < before->rows; row++) {
		uint64_t older = before->values[row * before->slots + slot];
		uint64_t *duration = &table->values[row * table->value_slots + slot];
		*duration -= older < *duration ? older : *duration;
	}
}

static int subtract(struct profile *profile, const struct befores *befores)
{
	static const struct before nothing = { 0 };
	int ret = 0;
	for (size_t i = PROFILE_DICTIONARIES; ret == 0 && i < profile->table_count; i++)
		ret = subtract_table(profile, i, i < befores->count ? &befores->list[i] : &nothing);
	if (ret == 0)
		shorten_sources(profile, &befores->list[PROFILE_SOURCE]);
	return ret;
}

/* Another epoch may have more of everything. */
static bool has_sources(const struct profile *newer, const struct profile *older)
{
	for (size_t row = 0; row < profile_table(older, PROFILE_SOURCE)->count; row++) {
		const struct profile_source source = profile_source(older, row);
		if (!profile_has_source(newer, &source))
			return false;
	}
	return true;
}

static int not_later(struct error *err)
{
	return error_set(err, -ERANGE, "the one profile is not the other one at a later time");
}

int profile_difference(const struct profile *older, const struct profile *newer,
		       struct profile **out, struct error *err)
{
	CLEANUP(befores_release) struct befores befores = { 0 };
	if (!has_sources(newer, older))
		return not_later(err);
	CLEANUP(profile_freep) struct profile *both = profile_new();
	int ret = both ? profile_merge(both, older, err)
		       : error_set(err, -ENOMEM, "out of memory comparing profiles");
	if (ret < 0)
		return ret;
	if (remember(both, &befores) < 0)
		return error_set(err, -ENOMEM, "out of memory comparing profiles");
	ret = profile_merge(both, newer, err);
	if (ret < 0)
		return ret;
	ret = subtract(both, &befores);
	if (ret == 0)
		ret = profile_canonical(both, out);
	if (ret == -ERANGE)
		return not_later(err);
	return ret < 0 ? error_set(err, ret, "out of memory comparing profiles") : 0;
}
