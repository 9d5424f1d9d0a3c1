#include "symbol/interval_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"

static int compare_first(const void *a, const void *b)
{
	const struct interval *left = a;
	const struct interval *right = b;
	if (left->first != right->first)
		return left->first < right->first ? -1 : 1;
	return (left->owner > right->owner) - (left->owner < right->owner);
}

/* A heap of the intervals that have begun, the best one on top. Ended ones leave when they reach
 * the top. */
struct open_heap {
	const struct interval *intervals;
	uint32_t *positions;
	size_t count;
};

static bool better(const struct open_heap *heap, uint32_t a, uint32_t b)
{
	const struct interval *left = &heap->intervals[a];
	const struct interval *right = &heap->intervals[b];
	if (left->priority != right->priority)
		return left->priority > right->priority;
	return left->owner < right->owner;
}

static void heap_push(struct open_heap *heap, uint32_t position)
{
	size_t at = heap->count++;
	while (at > 0 && better(heap, position, heap->positions[(at - 1) / 2])) {
		heap->positions[at] = heap->positions[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->positions[at] = position;
}

static void heap_pop(struct open_heap *heap)
{
	uint32_t moved = heap->positions[--heap->count];
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
		if (child + 1 < heap->count &&
		    better(heap, heap->positions[child + 1], heap->positions[child]))
			child++;
		if (!better(heap, heap->positions[child], moved))
			break;
		heap->positions[at] = heap->positions[child];
	}
	heap->positions[at] = moved;
}

static int add_piece(struct interval_map *map, uint64_t first, uint64_t last, uint32_t owner)
{
	struct interval_piece *before = map->count ? &map->pieces[map->count - 1] : NULL;
	if (before && before->owner == owner && before->last + 1 == first) {
		before->last = last;
		return 0;
	}
	if (array_reserve(&map->pieces, &map->capacity, map->count, sizeof(*map->pieces)) < 0)
		return -ENOMEM;
	map->pieces[map->count++] = (struct interval_piece){ first, last, owner };
	return 0;
}

/*
 * From `*at` to `limit` (exclusive unless `to_end`) no interval begins: the open ones
 * share it, best first. Leaves the heap with those that reach past the limit.
 */
static int share_out(struct interval_map *map, struct open_heap *heap, uint64_t at, uint64_t limit,
		     bool to_end)
{
	while (heap->count && (to_end || at < limit)) {
		const struct interval *top = &heap->intervals[heap->positions[0]];
		if (top->last < at) {
			heap_pop(heap);
			continue;
		}
		bool reaches = !to_end && top->last >= limit;
		uint64_t last = reaches ? limit - 1 : top->last;
		if (add_piece(map, at, last, top->owner) < 0)
			return -ENOMEM;
		if (reaches || last == UINT64_MAX)
			break;
		at = last + 1;
	}
	return 0;
}

int interval_map_build(struct interval_map *map, struct interval *intervals, size_t count)
{
	*map = (struct interval_map){ 0 };
	if (count == 0)
		return 0;
	if (count >= INTERVAL_NONE)
		return -ENOMEM;
	qsort(intervals, count, sizeof(*intervals), compare_first);
	struct open_heap heap = { intervals, malloc(count * sizeof(uint32_t)), 0 };
	int ret = heap.positions ? 0 : -ENOMEM;
	for (size_t i = 0; ret == 0 && i < count;) {
		uint64_t at = intervals[i].first;
		while (i < count && intervals[i].first == at)
			heap_push(&heap, (uint32_t)i++);
		ret = share_out(map, &heap, at, i < count ? intervals[i].first : 0, i == count);
	}
	free(heap.positions);
	if (ret < 0)
		interval_map_release(map);
	return ret;
}

void interval_map_release(struct interval_map *map)
{
	free(map->pieces);
	*map = (struct interval_map){ 0 };
}

const struct interval_piece *interval_map_before(const struct interval_map *map, uint64_t address)
{
	size_t behind = SORTED_BEHIND(map->pieces, map->count, first, address);
	return behind > 0 ? &map->pieces[behind - 1] : NULL;
}

const struct interval_piece *interval_map_find(const struct interval_map *map, uint64_t address)
{
	const struct interval_piece *piece = interval_map_before(map, address);
	return piece && address <= piece->last ? piece : NULL;
}
