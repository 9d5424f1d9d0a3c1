#include "analyze/figures/slot_columns.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hash_index.h"

/* Names without PMU and modifiers, in lower case. */
static const char *const slot_names[] = { "slots", "topdown.slots", "topdown.slots_p",
					  "topdown-total-slots", NULL };
static const char *const part_names[SLOT_PARTS][3] = {
	[SLOTS_RETIRING] = { "topdown-retiring", "topdown-slots-retired", NULL },
	[SLOTS_BAD_SPECULATION] = { "topdown-bad-spec", NULL },
	[SLOTS_FRONTEND] = { "topdown-fe-bound", NULL },
	[SLOTS_BACKEND] = { "topdown-be-bound", "topdown.backend_bound_slots", NULL },
};

/* libpfm4 writes TOPDOWN:SLOTS where the manual has TOPDOWN.SLOTS. */
static struct span with_unit_mask(struct span name, struct span base)
{
	static const char event[] = "topdown";
	const char *text = base.data, *end = (const char *)name.data + name.size;
	if (base.size != sizeof(event) - 1 || strncasecmp(text, event, base.size) != 0 ||
	    text + base.size == end || text[base.size] != ':')
		return base;
	do
		base.size++;
	while (text + base.size < end && text[base.size] != ':');
	return base;
}

static bool is_spelled(struct span name, const char *wanted)
{
	const char *text = name.data;
	if (name.size != strlen(wanted))
		return false;
	for (size_t i = 0; i < name.size; i++)
		if ((text[i] == ':' ? '.' : tolower((unsigned char)text[i])) != wanted[i])
			return false;
	return true;
}

static bool is_called(const struct event_column *column, const char *const *names)
{
	struct span name = with_unit_mask(column->name, event_base_name(column->name));
	while (*names && !is_spelled(name, *names))
		names++;
	return *names;
}

static bool is_slots(const struct event_column *column)
{
	return is_called(column, slot_names);
}

static enum slot_part part_of(const struct event_column *column)
{
	enum slot_part part = 0;
	while (part < SLOT_PARTS && !is_called(column, part_names[part]))
		part++;
	return part;
}

struct finding {
	const struct event_columns *columns;
	struct slot_columns *list;
	size_t count;
	struct hash_index index; /* of list, by the scope of slots */
};

static bool same_scope(const void *rows, uint32_t position, const void *wanted)
{
	const struct finding *finding = rows;
	return event_column_same_scope(&finding->columns->list[finding->list[position].slots],
				       wanted);
}

static int add_slots(struct finding *finding, size_t at)
{
	const struct event_column *column = &finding->columns->list[at];
	uint64_t hash = event_column_scope_hash(column);
	struct slot_columns *added = &finding->list[finding->count];
	if (!is_slots(column) ||
	    hash_index_find(&finding->index, hash, same_scope, finding, column) != HASH_INDEX_NONE)
		return 0;
	added->slots = at;
	for (size_t part = 0; part < SLOT_PARTS; part++)
		added->parts[part] = EVENT_COLUMN_NONE;
	return hash_index_add(&finding->index, hash, (uint32_t)finding->count++);
}

static void add_part(struct finding *finding, size_t at)
{
	const struct event_column *column = &finding->columns->list[at];
	enum slot_part part = part_of(column);
	if (part == SLOT_PARTS)
		return;
	uint32_t found = hash_index_find(&finding->index, event_column_scope_hash(column),
					 same_scope, finding, column);
	if (found == HASH_INDEX_NONE || finding->list[found].parts[part] != EVENT_COLUMN_NONE)
		return;
	struct slot_columns *of = &finding->list[found];
	of->parts[part] = (uint32_t)at;
	of->samples[part] = event_column_part_samples(column, &finding->columns->list[of->slots]);
}

static void drop_empty(struct finding *finding)
{
	size_t kept = 0;
	for (size_t i = 0; i < finding->count; i++) {
		bool any = false;
		for (size_t part = 0; part < SLOT_PARTS; part++)
			any = any || finding->list[i].parts[part] != EVENT_COLUMN_NONE;
		if (any)
			finding->list[kept++] = finding->list[i];
	}
	finding->count = kept;
}

int slot_columns_find(const struct event_columns *columns, struct slot_columns **list,
		      size_t *count)
{
	struct finding finding = { .columns = columns };
	int ret = 0;
	finding.list = calloc(columns->count + 1, sizeof(*finding.list));
	if (!finding.list)
		return -ENOMEM;
	for (size_t i = 0; i < columns->count && ret == 0; i++)
		ret = add_slots(&finding, i);
	for (size_t i = 0; i < columns->count && ret == 0; i++)
		add_part(&finding, i);
	hash_index_release(&finding.index);
	if (ret < 0) {
		free(finding.list);
		return ret;
	}
	drop_empty(&finding);
	*list = finding.list;
	*count = finding.count;
	return 0;
}

bool slot_columns_have_part(const struct slot_columns *list, size_t count, size_t column)
{
	for (size_t i = 0; i < count; i++)
		for (size_t part = 0; part < SLOT_PARTS; part++)
			if (list[i].parts[part] == column)
				return true;
	return false;
}

struct estimate slot_share(const struct event_columns *columns, const struct slot_columns *of,
			   enum slot_part part, const struct cell *cells)
{
	uint32_t column = of->parts[part];
	if (column == EVENT_COLUMN_NONE)
		return (struct estimate){ .kind = ESTIMATE_ABSENT };
	return event_column_ratio(columns, column, of->slots, of->samples[part], cells);
}
