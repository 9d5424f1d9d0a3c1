#include "symbol/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digits.h"
#include "base/sorted.h"
#include "symbol/interval_map.h"

/* A hexadecimal number with or without 0x, then one or more spaces. */
static bool take_number(const char **at, const char *end, uint64_t *value)
{
	const char *p = *at;
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	if (!digits_take(&p, end, 16, value) || p == end || *p != ' ')
		return false;
	while (p < end && *p == ' ')
		p++;
	*at = p;
	return true;
}

static bool parse_line(const char *at, const char *end, struct jit_symbol *symbol)
{
	if (end > at && end[-1] == '\r')
		end--;
	if (!take_number(&at, end, &symbol->start) || !take_number(&at, end, &symbol->size_bytes))
		return false;
	size_t size = (size_t)(end - at);
	if (size > PERF_MAP_MAX_NAME)
		size = PERF_MAP_MAX_NAME;
	symbol->name = (struct span){ at, size };
	return size > 0 && symbol->size_bytes > 0 && !memchr(at, 0, size) &&
	       symbol->size_bytes - 1 <= UINT64_MAX - symbol->start;
}

int perf_map_read_lines(struct span bytes, struct perf_map *map)
{
	*map = (struct perf_map){ 0 };
	const char *at = bytes.data;
	const char *end = at + bytes.size;
	size_t capacity = 0;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;
		struct jit_symbol symbol;
		if (line_end > at && !parse_line(at, line_end, &symbol)) {
			map->bad++;
		} else if (line_end > at) {
			if (array_reserve(&map->symbols, &capacity, map->count,
					  sizeof(*map->symbols)) < 0)
				return -ENOMEM;
			map->symbols[map->count++] = symbol;
		}
		at = newline ? newline + 1 : end;
	}
	return 0;
}

/* Cuts each line by the later ones that overlap it. */
static int resolve_overlaps(struct perf_map *map)
{
	if (map->count == 0)
		return 0;
	struct interval *intervals = calloc(map->count, sizeof(*intervals));
	struct interval_map pieces = { 0 };
	int ret = intervals ? 0 : -ENOMEM;
	for (size_t i = 0; ret == 0 && i < map->count; i++)
		intervals[i] = (struct interval){
			.first = map->symbols[i].start,
			.last = map->symbols[i].start + (map->symbols[i].size_bytes - 1),
			.priority = i,
			.owner = (uint32_t)i,
		};
	if (ret == 0)
		ret = interval_map_build(&pieces, intervals, map->count);
	struct jit_symbol *symbols = NULL;
	if (ret == 0) {
		symbols = calloc(pieces.count, sizeof(*symbols));
		ret = symbols ? 0 : -ENOMEM;
	}
	for (size_t i = 0; ret == 0 && i < pieces.count; i++) {
		const struct interval_piece *piece = &pieces.pieces[i];
		uint64_t size = piece->last - piece->first;
		symbols[i] =
			(struct jit_symbol){ piece->first, size == UINT64_MAX ? size : size + 1,
					     map->symbols[piece->owner].name };
	}
	if (ret == 0) {
		free(map->symbols);
		map->symbols = symbols;
		map->count = pieces.count;
	}
	interval_map_release(&pieces);
	free(intervals);
	return ret;
}

int perf_map_parse(struct span bytes, struct perf_map *map)
{
	int ret = perf_map_read_lines(bytes, map);
	if (ret == 0)
		ret = resolve_overlaps(map);
	if (ret < 0)
		perf_map_release(map);
	return ret;
}

void perf_map_release(struct perf_map *map)
{
	free(map->symbols);
	*map = (struct perf_map){ 0 };
}

const struct jit_symbol *perf_map_find(const struct perf_map *map, uint64_t address)
{
	size_t behind = SORTED_BEHIND(map->symbols, map->count, start, address);
	if (behind == 0)
		return NULL;
	const struct jit_symbol *symbol = &map->symbols[behind - 1];
	return address - symbol->start < symbol->size_bytes ? symbol : NULL;
}
