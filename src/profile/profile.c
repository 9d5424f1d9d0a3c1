#include "profile/profile_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < profile->table_count; i++)
		table_free(profile->tables[i]);
	free(profile->tables);
	byte_pool_release(&profile->bytes);
	free(profile);
}

void profile_freep(struct profile **profile)
{
	profile_free(*profile);
}

struct profile *profile_new(void)
{
	CLEANUP(profile_freep) struct profile *profile = calloc(1, sizeof(*profile));
	if (!profile)
		return NULL;
	profile->tables = calloc(PROFILE_KNOWN_TABLES, sizeof(struct table *));
	if (!profile->tables)
		return NULL;
	for (size_t i = 0; i < PROFILE_KNOWN_TABLES; i++) {
		size_t count;
		const struct column *columns = profile_columns((enum profile_table)i, &count);
		profile->tables[i] =
			table_new(profile_table_name((enum profile_table)i), columns, count);
		if (!profile->tables[i])
			return NULL;
		profile->table_count++;
	}
	struct profile *made = profile;
	profile = NULL; /* the caller's from here on */
	return made;
}

struct table *profile_find_table(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->table_count; i++)
		if (strcmp(profile->tables[i]->name, name) == 0)
			return profile->tables[i];
	return NULL;
}

struct table *profile_add_table(struct profile *profile, const char *name,
				const struct column *columns, size_t column_count)
{
	struct table *table = profile_find_table(profile, name);
	if (table)
		return table;
	struct table **grown =
		reallocarray(profile->tables, profile->table_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	profile->tables = grown;
	table = table_new(name, columns, column_count);
	if (table)
		profile->tables[profile->table_count++] = table;
	return table;
}

int profile_add_bytes(struct profile *profile, struct span bytes, uint32_t *id)
{
	if (!bytes.data) {
		*id = 0;
		return 0;
	}
	return byte_pool_add(&profile->bytes, bytes, id);
}

int profile_add_text(struct profile *profile, const char *text, uint32_t *id)
{
	return profile_add_bytes(profile, span_of_text(text), id);
}

/*
 * One row's content, written out: column names, lengths and bytes, references
 * as the stable name of what they refer to.
 */
static void spell_row(const struct profile *profile, const struct table *table, size_t row,
		      const struct hash128 *images, const struct hash128 *own, struct buffer *out)
{
	const uint64_t *keys = table_keys(table, row);
	size_t slot = 0;
	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];
		if (column->rule != RULE_KEY)
			continue;
		uint64_t value = keys[slot++];
		if (value == 0)
			continue; /* absent or 0: so that a column added later does not change old
				     names */
		buffer_append_text(out, column->name);
		buffer_append_u8(out, 0);
		if (column->type == COLUMN_BYTES) {
			struct span bytes = profile_bytes(profile, value);
			buffer_append_u64(out, bytes.size);
			buffer_append(out, bytes.data, bytes.size);
		} else if (column->type == COLUMN_IMAGE) {
			buffer_append(out, &images[value - 1], sizeof(*images));
		} else if (column->type == COLUMN_NODE) {
			buffer_append(out, &own[value - 1],
				      sizeof(*own)); /* a parent comes first */
		} else {
			buffer_append_u64(out, value);
		}
	}
}

int profile_stable_names(const struct profile *profile, enum profile_table which,
			 struct hash128 *names)
{
	assert(which < PROFILE_DICTIONARIES);
	const struct table *table = profile->tables[which];
	const struct table *image_table = profile->tables[PROFILE_IMAGE];
	CLEANUP(free_pointer) struct hash128 *images = NULL;
	if (which == PROFILE_NODE) {
		images = calloc(image_table->count + 1, sizeof(*images));
		if (!images)
			return -ENOMEM;
		int ret = profile_stable_names(profile, PROFILE_IMAGE, images);
		if (ret < 0)
			return ret;
	}
	CLEANUP(buffer_release) struct buffer spelled = { 0 };
	for (size_t row = 0; row < table->count; row++) {
		buffer_empty(&spelled);
		buffer_append_text(&spelled, table->name);
		buffer_append_u8(&spelled, 0);
		spell_row(profile, table, row, images, names, &spelled);
		if (buffer_failed(&spelled))
			return -ENOMEM;
		names[row] = hash128_bytes(spelled.data, spelled.size);
	}
	return 0;
}
