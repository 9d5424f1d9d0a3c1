#include "symbol/cold_parts.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "symbol/record.h"
#include "symbol/symbol.h"

struct span cold_parent_name(struct span name)
{
	static const char mark[] = ".cold";
	const size_t mark_size = sizeof(mark) - 1;
	const char *text = name.data;
	size_t end = name.size;
	while (end > 0 && text[end - 1] >= '0' && text[end - 1] <= '9')
		end--;
	/* "foo.cold" or "foo.cold.12", not "foo.cold12" */
	if (end < name.size && (end == 0 || text[--end] != '.'))
		return (struct span){ NULL, 0 };
	if (end <= mark_size || memcmp(text + end - mark_size, mark, mark_size) != 0)
		return (struct span){ NULL, 0 };
	return (struct span){ text, end - mark_size };
}

/* One wanted parent name. */
struct wanted_names {
	struct span *names;
	size_t count;
	size_t capacity;
	struct hash_index index;
};

/* A symbol that bears a wanted name. */
struct candidate {
	uint32_t wanted;
	uint32_t group; /* UINT32_MAX: not local, which any file may mean */
	uint32_t source;
	uint64_t start;
};

static bool name_equal(const void *rows, uint32_t position, const void *name)
{
	return span_equal(((const struct span *)rows)[position], *(const struct span *)name);
}

static uint32_t find_wanted(const struct wanted_names *wanted, struct span name)
{
	return hash_index_find(&wanted->index, hash_bytes(name.data, name.size), name_equal,
			       wanted->names, &name);
}

static int want(struct wanted_names *wanted, struct span name)
{
	if (find_wanted(wanted, name) != HASH_INDEX_NONE)
		return 0;
	if (array_reserve(&wanted->names, &wanted->capacity, wanted->count,
			  sizeof(*wanted->names)) < 0)
		return -ENOMEM;
	wanted->names[wanted->count] = name;
	return hash_index_add(&wanted->index, hash_bytes(name.data, name.size),
			      (uint32_t)wanted->count++);
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a;
	const struct candidate *right = b;
	if (left->wanted != right->wanted)
		return left->wanted < right->wanted ? -1 : 1;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return (left->start > right->start) - (left->start < right->start);
}

static const struct candidate *find_candidate(const struct candidate *list, size_t count,
					      struct candidate key)
{
	size_t low = 0;
	size_t high = count;
	key.start = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_candidates(&list[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && list[low].wanted == key.wanted && list[low].source == key.source &&
			       list[low].group == key.group
		       ? &list[low]
		       : NULL;
}

static int compare_parts(const void *a, const void *b)
{
	const struct cold_part *left = a;
	const struct cold_part *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->parent > right->parent) - (left->parent < right->parent);
}

static int match(const struct symbol *symbols, size_t count, const struct wanted_names *wanted,
		 const struct candidate *candidates, size_t candidate_count,
		 struct cold_parts *parts)
{
	for (size_t i = 0; i < count; i++) {
		struct span name = cold_parent_name(symbols[i].name);
		if (name.size == 0)
			continue;
		struct candidate key = { find_wanted(wanted, name), symbols[i].group,
					 symbols[i].source, 0 };
		const struct candidate *parent = find_candidate(candidates, candidate_count, key);
		key.group = UINT32_MAX;
		if (!parent)
			parent = find_candidate(candidates, candidate_count, key);
		if (!parent)
			continue;
		if (array_reserve(&parts->list, &parts->capacity, parts->count,
				  sizeof(*parts->list)) < 0)
			return -ENOMEM;
		parts->list[parts->count++] = (struct cold_part){ symbols[i].start, parent->start };
	}
	if (parts->count)
		qsort(parts->list, parts->count, sizeof(*parts->list), compare_parts);
	return 0;
}

int cold_parts_find(const struct symbol *symbols, size_t count, struct cold_parts *parts)
{
	*parts = (struct cold_parts){ 0 };
	struct wanted_names wanted = { 0 };
	struct candidate *candidates = NULL;
	size_t candidate_count = 0;
	size_t capacity = 0;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		struct span name = cold_parent_name(symbols[i].name);
		if (name.size)
			ret = want(&wanted, name);
	}
	for (size_t i = 0; ret == 0 && wanted.count && i < count; i++) {
		uint32_t position = find_wanted(&wanted, symbols[i].name);
		if (position == HASH_INDEX_NONE)
			continue;
		ret = array_reserve(&candidates, &capacity, candidate_count, sizeof(*candidates));
		if (ret < 0)
			break;
		bool local = symbols[i].binding == STB_LOCAL;
		candidates[candidate_count++] =
			(struct candidate){ position, local ? symbols[i].group : UINT32_MAX,
					    symbols[i].source, symbols[i].start };
	}
	if (candidate_count)
		qsort(candidates, candidate_count, sizeof(*candidates), compare_candidates);
	if (ret == 0)
		ret = match(symbols, count, &wanted, candidates, candidate_count, parts);
	free(candidates);
	free(wanted.names);
	hash_index_release(&wanted.index);
	if (ret < 0)
		cold_parts_release(parts);
	return ret;
}

void cold_parts_release(struct cold_parts *parts)
{
	free(parts->list);
	*parts = (struct cold_parts){ 0 };
}
