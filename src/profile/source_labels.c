#include "profile/source_labels.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/visible_text.h"
#include "profile/profile.h"

bool source_label_is_usable(const char *label)
{
	CLEANUP(buffer_release) struct buffer shown = { 0 };
	size_t size = strlen(label);
	if (size == 0 || size > SOURCE_LABEL_MOST_BYTES)
		return false;
	text_append_safe(&shown, label, size);
	return span_equal((struct span){ shown.data, shown.size }, span_of_text(label));
}

/* The first line of a text, which is cut off it. False at its end. */
static bool next_line(struct span *rest, struct span *line)
{
	if (rest->size == 0)
		return false;
	const uint8_t *begin = rest->data;
	const uint8_t *end = memchr(begin, '\n', rest->size);
	size_t size = end ? (size_t)(end - begin) : rest->size;
	*line = (struct span){ begin, size };
	size += end != NULL;
	*rest = (struct span){ begin + size, rest->size - size };
	return true;
}

bool source_labels_have(struct span labels, struct span label)
{
	struct span line;
	while (next_line(&labels, &line))
		if (span_equal(line, label))
			return true;
	return false;
}

struct lines {
	struct span *list;
	size_t count, capacity;
};

static void lines_release(struct lines *lines)
{
	free(lines->list);
}

static int take_lines(struct lines *lines, struct span text)
{
	struct span line;
	while (next_line(&text, &line)) {
		if (line.size == 0)
			continue;
		if (array_reserve(&lines->list, &lines->capacity, lines->count,
				  sizeof(*lines->list)) < 0)
			return -ENOMEM;
		lines->list[lines->count++] = line;
	}
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	return span_compare(*(const struct span *)a, *(const struct span *)b);
}

void source_labels_join(struct span one, struct span other, struct buffer *out)
{
	CLEANUP(lines_release) struct lines lines = { 0 };
	buffer_empty(out);
	if (take_lines(&lines, one) < 0 || take_lines(&lines, other) < 0) {
		out->failed = true;
		return;
	}
	if (lines.count)
		qsort(lines.list, lines.count, sizeof(*lines.list), compare_lines);
	for (size_t i = 0; i < lines.count; i++) {
		if (i && span_equal(lines.list[i], lines.list[i - 1]))
			continue;
		if (out->size)
			buffer_append_u8(out, '\n');
		buffer_append(out, lines.list[i].data, lines.list[i].size);
	}
}

static void table_freep(struct table **table)
{
	table_free(*table);
}

/* The labels of each row with the new ones, as numbers of the pool. 0 or -ENOMEM. */
static int join_rows(struct profile *profile, struct span labels, size_t slot, uint64_t *keys,
		     bool *changed)
{
	const struct table *table = profile_table(profile, PROFILE_SOURCE);
	for (size_t row = 0; row < table->count; row++) {
		CLEANUP(buffer_release) struct buffer joined = { 0 };
		uint64_t *key = &keys[row * table->key_slots + slot];
		uint32_t id;
		source_labels_join(profile_bytes(profile, *key), labels, &joined);
		if (buffer_failed(&joined) ||
		    profile_add_bytes(profile, (struct span){ joined.data, joined.size }, &id) < 0)
			return -ENOMEM;
		*changed |= id != *key;
		*key = id;
	}
	return 0;
}

int profile_label_sources(struct profile *profile, struct span labels, bool *changed)
{
	struct table *table = profile->tables[PROFILE_SOURCE];
	size_t slot = table_column_slot(table, (size_t)table_find_column(table, "labels"));
	size_t key_bytes = table->count * table->key_slots * sizeof(uint64_t);
	bool any = false;
	CLEANUP(free_pointer) uint64_t *keys = malloc(key_bytes + 1);
	CLEANUP(table_freep)
	struct table *made = table_new_like(table);
	if (!keys || !made)
		return -ENOMEM;
	if (key_bytes)
		memcpy(keys, table->keys, key_bytes);
	int ret = labels.size ? join_rows(profile, labels, slot, keys, &any) : 0;
	for (size_t row = 0; ret == 0 && any && row < table->count; row++)
		ret = table_add(made, keys + row * table->key_slots, table_values(table, row),
				NULL);
	if (ret < 0)
		return ret;
	if (changed)
		*changed = any;
	if (!any)
		return 0;
	profile->tables[PROFILE_SOURCE] = made;
	made = table; /* freed in its place */
	return 0;
}
