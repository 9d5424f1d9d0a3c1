#include "symbol/line_index_private.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "symbol/interval_map.h"
#include "symbol/record.h"

/* Position of the first line row at or after `vaddr`; rows are sorted by address. */
static size_t first_line(const struct line_unit *unit, uint64_t vaddr)
{
	size_t low = 0;
	size_t high = unit->line_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		Dwarf_Addr address = 0;
		dwarf_lineaddr(dwarf_onesrcline(unit->lines, middle), &address);
		if (address < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* State of making the rows of one function from its line rows and its inlined calls, which change
 * at different places. */
struct merge {
	struct line_unit *unit;
	const struct line_extent *extent;
	struct interval_map inlining; /* deepest inlined call by vaddr */
	struct lines_writer writer;
	uint32_t *nodes; /* numbers in the writer of the unit's inlined calls from `base` on; 0: not
			    written */
	uint32_t base;
	uint64_t rows;
};

static int map_inlining(struct merge *merge, size_t range_from, size_t range_to)
{
	const struct line_unit *unit = merge->unit;
	size_t count = 0;
	struct interval *intervals =
		calloc(range_to > range_from ? range_to - range_from : 1, sizeof(*intervals));
	if (!intervals)
		return -ENOMEM;
	for (size_t i = range_from; i < range_to; i++) {
		const struct inline_range *range = &unit->ranges[i];
		if (range->last < merge->extent->first || range->first > merge->extent->last)
			continue;
		uint64_t first =
			range->first > merge->extent->first ? range->first : merge->extent->first;
		uint64_t last =
			range->last < merge->extent->last ? range->last : merge->extent->last;
		intervals[count++] =
			(struct interval){ first, last, unit->inlined[range->inlined].depth,
					   range->inlined };
	}
	int ret = interval_map_build(&merge->inlining, intervals, count);
	free(intervals);
	return ret;
}

static struct span text_of(const char *text)
{
	return span_of_text(text ? text : "");
}

/* The absolute path of a file, where the unit says from which folder; valid while the unit is read.
 */
static struct span path_of(struct line_unit *unit, const char *file)
{
	if (!file || *file == '/' || !unit->folder)
		return text_of(file);
	struct joined_path *joined = &unit->paths[hash_u64((uintptr_t)file) % PATH_CACHE];
	if (joined->file != file) {
		char *path = arena_printf(&unit->arena, "%s/%s", unit->folder, file);
		unit->failed = unit->failed || !path;
		*joined = (struct joined_path){ file, text_of(path) };
	}
	return joined->path;
}

/* The writer's number of an inlined call; outer calls are written first. */
static uint32_t node_of(struct merge *merge, uint32_t position)
{
	uint32_t chain[RECORD_MAX_DEPTH];
	size_t depth = 0;
	uint32_t node = 0;
	while (position != UINT32_MAX && depth < RECORD_MAX_DEPTH) {
		node = merge->nodes[position - merge->base];
		if (node)
			break;
		chain[depth++] = position;
		position = merge->unit->inlined[position].parent;
	}
	while (depth > 0) {
		const struct inlined *inlined = &merge->unit->inlined[chain[--depth]];
		/* A nameless inlined function must not read as the function itself. */
		node = lines_writer_inline(
			&merge->writer, node,
			text_of(inlined->function ? inlined->function : "(inlined)"),
			path_of(merge->unit, inlined->call_file), inlined->call_line);
		merge->nodes[chain[depth] - merge->base] = node;
	}
	return node;
}

static void write_row(struct merge *merge, uint64_t vaddr, uint32_t owner, const char *file,
		      int line)
{
	uint32_t node = owner == INTERVAL_NONE ? 0 : node_of(merge, owner);
	lines_writer_row(&merge->writer, vaddr, node, path_of(merge->unit, line > 0 ? file : NULL),
			 line > 0 ? (uint32_t)line : 0);
	merge->rows++;
}

/* Writes the rows of [from, to), where one line row holds, split where inlining changes. */
static void write_stretch(struct merge *merge, size_t *piece, uint64_t from, uint64_t to,
			  const char *file, int line)
{
	const struct interval_map *map = &merge->inlining;
	while (from < to) {
		while (*piece < map->count && map->pieces[*piece].last < from)
			(*piece)++;
		uint32_t owner = INTERVAL_NONE;
		uint64_t end = to;
		if (*piece < map->count && map->pieces[*piece].first <= from) {
			owner = map->pieces[*piece].owner;
			if (map->pieces[*piece].last < to - 1)
				end = map->pieces[*piece].last + 1;
		} else if (*piece < map->count && map->pieces[*piece].first < to) {
			end = map->pieces[*piece].first;
		}
		write_row(merge, from, owner, file, line);
		from = end;
	}
}

static void merge_rows(struct merge *merge)
{
	const struct line_unit *unit = merge->unit;
	uint64_t at = merge->extent->first;
	uint64_t end = merge->extent->last + 1; /* extents of files end below 2^64 */
	const char *file = NULL;
	int line = 0;
	bool known = false;
	size_t piece = 0;
	/* The row that holds the first byte may start before it. */
	size_t i = first_line(unit, at + 1);
	if (i > 0)
		i--;
	for (; i < unit->line_count; i++) {
		Dwarf_Line *row = dwarf_onesrcline(unit->lines, i);
		Dwarf_Addr address = 0;
		bool ends = false;
		if (dwarf_lineaddr(row, &address) != 0 || address >= end)
			break;
		dwarf_lineendsequence(row, &ends);
		if (address > at) {
			if (known)
				write_stretch(merge, &piece, at, address, file, line);
			at = address;
		}
		/* Of several rows at one address the last one holds. */
		line = 0;
		file = NULL;
		known = known || !ends;
		if (!ends) {
			dwarf_lineno(row, &line);
			file = dwarf_linesrc(row, NULL, NULL);
		}
	}
	if (known)
		write_stretch(merge, &piece, at, end, file, line);
}

/* Inlined calls stand in the list function by function; these are the ones that the ranges use. */
static int number_nodes(struct merge *merge, size_t range_from, size_t range_to)
{
	const struct line_unit *unit = merge->unit;
	uint32_t low = UINT32_MAX;
	uint32_t high = 0;
	for (size_t i = range_from; i < range_to; i++) {
		uint32_t position = unit->ranges[i].inlined;
		high = position > high ? position : high;
		for (; position != UINT32_MAX; position = unit->inlined[position].parent)
			low = position < low ? position : low;
	}
	merge->base = low;
	merge->nodes = calloc(low <= high ? high - low + 1 : 1, sizeof(*merge->nodes));
	return merge->nodes ? 0 : -ENOMEM;
}

int line_unit_write(struct line_unit *unit, struct line_extent *extent, size_t range_from,
		    size_t range_to, struct record_set *out)
{
	struct merge merge = { .unit = unit, .extent = extent };
	struct buffer content = { 0 };
	lines_writer_init(&merge.writer, extent->first);
	int ret = unit->failed ? -ENOMEM : map_inlining(&merge, range_from, range_to);
	if (ret == 0)
		ret = number_nodes(&merge, range_from, range_to);
	if (ret == 0) {
		merge_rows(&merge);
		ret = merge.rows ? lines_writer_finish(&merge.writer, &content) : 0;
	}
	if (ret == 0 && merge.rows && content.size <= RECORD_MAX_BYTES) {
		extent->rows = merge.rows;
		ret = record_set_add(out, RECORD_LINES, extent->first, extent->last,
				     (struct span){ content.data, content.size });
	}
	buffer_release(&content);
	lines_writer_release(&merge.writer);
	interval_map_release(&merge.inlining);
	free(merge.nodes);
	return ret;
}
