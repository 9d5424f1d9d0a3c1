#include "analyze/figures/column_match.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/sum.h"

/*
 * What two columns that match have in common, the closest first. A file from a stranger may have
 * many thousand events, so columns are looked up by a hash of it.
 */
enum likeness { SAME_EVENT, SAME_BASE_NAME, SAME_CONFIG, LIKENESSES };

struct key {
	enum likeness likeness;
	const struct event_column *column;
};

static bool equal_columns(enum likeness likeness, const struct event_column *a,
			  const struct event_column *b)
{
	if (a->clock != b->clock || !span_equal(a->core_type, b->core_type))
		return false;
	if (likeness == SAME_EVENT)
		return span_equal(a->name, b->name) && a->exclude == b->exclude;
	if (likeness == SAME_BASE_NAME)
		return span_equal(event_base_name(a->name), event_base_name(b->name));
	return a->pmu.size && span_equal(a->pmu, b->pmu) && a->type == b->type &&
	       a->config == b->config;
}

static uint64_t hash_of(const struct key *key)
{
	const struct event_column *column = key->column;
	struct span text = key->likeness == SAME_EVENT	     ? column->name
			   : key->likeness == SAME_BASE_NAME ? event_base_name(column->name)
							     : column->pmu;
	uint64_t number = key->likeness == SAME_EVENT	 ? column->exclude
			  : key->likeness == SAME_CONFIG ? hash_u64(column->config) + column->type
							 : 0;
	uint64_t hash = hash_bytes(text.data, text.size) + hash_u64(number + column->clock);
	return hash_u64(hash + hash_bytes(column->core_type.data, column->core_type.size));
}

/* The columns of one side that have no match yet, as linked lists by key. The index has one column
 * of each key, the last of the side, which `first` is indexed by. */
struct free_columns {
	const struct event_columns *columns;
	enum likeness likeness;
	struct hash_index index;
	uint32_t *first; /* by the column in the index: the first of its key; NONE: no more */
	uint32_t *next;	 /* by column: the next of its key, or NONE */
};

#define NONE UINT32_MAX

static bool has_key(const void *rows, uint32_t position, const void *wanted)
{
	const struct event_columns *columns = rows;
	const struct key *key = wanted;
	return equal_columns(key->likeness, &columns->list[position], key->column);
}

static int index_free(struct free_columns *list, enum likeness likeness, const bool *taken)
{
	list->likeness = likeness;
	hash_index_release(&list->index);
	for (size_t i = list->columns->count; i-- > 0;) {
		const struct key key = { likeness, &list->columns->list[i] };
		if (taken[i] || (likeness == SAME_CONFIG && !key.column->pmu.size))
			continue;
		uint64_t hash = hash_of(&key);
		uint32_t at = hash_index_find(&list->index, hash, has_key, list->columns, &key);
		if (at == HASH_INDEX_NONE) {
			at = (uint32_t)i;
			list->first[at] = NONE;
			if (hash_index_add(&list->index, hash, at) < 0)
				return -ENOMEM;
		}
		list->next[i] = list->first[at];
		list->first[at] = (uint32_t)i;
	}
	return 0;
}

/* Takes the first free column that matches this one from the list; NONE: there is none. */
static uint32_t take_free(struct free_columns *list, const struct event_column *column)
{
	const struct key key = { list->likeness, column };
	uint32_t at = hash_index_find(&list->index, hash_of(&key), has_key, list->columns, &key);
	if (at == HASH_INDEX_NONE || list->first[at] == NONE)
		return NONE;
	uint32_t found = list->first[at];
	list->first[at] = list->next[found];
	return found;
}

static void free_columns_release(struct free_columns *list)
{
	hash_index_release(&list->index);
	free(list->first);
	free(list->next);
}

int column_match(const struct event_columns *before, const struct event_columns *after,
		 struct column_match *matches, size_t *count)
{
	CLEANUP(free_columns_release) struct free_columns list = { .columns = after };
	CLEANUP(free_pointer) bool *taken = calloc(after->count + 1, sizeof(*taken));
	CLEANUP(free_pointer) uint32_t *of = calloc(before->count + 1, sizeof(*of)); /* its match */
	list.first = calloc(after->count + 1, sizeof(*list.first));
	list.next = calloc(after->count + 1, sizeof(*list.next));
	*count = 0;
	if (!taken || !of || !list.first || !list.next)
		return -ENOMEM;
	for (size_t i = 0; i < before->count; i++)
		of[i] = NONE;
	for (int likeness = 0; likeness < LIKENESSES; likeness++) {
		if (index_free(&list, (enum likeness)likeness, taken) < 0)
			return -ENOMEM;
		for (size_t i = 0; i < before->count; i++) {
			if (of[i] == NONE)
				of[i] = take_free(&list, &before->list[i]);
			if (of[i] != NONE)
				taken[of[i]] = true;
		}
	}
	for (size_t i = 0; i < before->count; i++)
		if (of[i] != NONE)
			matches[(*count)++] = (struct column_match){ i, of[i] };
	if (*count == 0 && before->count == 1 && after->count == 1)
		matches[(*count)++] = (struct column_match){ 0, 0 };
	return 0;
}

uint64_t column_match_scale(const struct event_column *before, const struct event_column *after)
{
	return before->scale > after->scale ? before->scale : after->scale;
}

struct cell column_match_cell(const struct cell *cell, uint64_t decimals, uint64_t scale)
{
	struct cell result = *cell;
	for (; decimals < scale && result.estimate; decimals++) {
		if (__builtin_mul_overflow(result.squares, 100, &result.squares))
			result.squares = ~(unsigned __int128)0;
		if (__builtin_mul_overflow(result.estimate, 10, &result.estimate)) {
			result.estimate = UINT64_MAX;
			break;
		}
	}
	return result;
}

int column_match_check(const struct cell *whole, struct span name, struct error *err)
{
	if (!sum_passed(whole->estimate))
		return 0;
	return error_set(err, -EOVERFLOW,
			 "the counts of event '%.*s' pass 64 bits with the other side's decimals",
			 name.size < 200 ? (int)name.size : 200,
			 name.size ? (const char *)name.data : "");
}
