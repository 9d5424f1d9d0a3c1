#include "symbol/line_index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <errno.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "symbol/debug_claims.h"
#include "symbol/helper_process.h"
#include "symbol/interval_map.h"
#include "symbol/record.h"

#define PATH_CACHE     256
#define ORIGIN_CACHE   1024
#define TREE_MAX_DEPTH 128 /* of entries below a compilation unit; compilers stay below 40 */

/* One inlined call, or the function itself at depth 0. */
struct inlined {
	const char *function;
	const char *call_file;
	uint32_t call_line;
	uint32_t parent; /* position in the list; UINT32_MAX: the function itself */
	uint32_t depth;	 /* of inlining, from 1 */
};

struct inline_range {
	uint64_t first, last;
	uint32_t inlined;
};

/* A relative path and the whole one; rows name the same few files again and again. */
struct joined_path {
	const char *file;
	struct span path;
};

struct origin_name {
	const void *origin; /* address of its entry */
	const char *name;
};

/* What one compilation unit says of the wanted functions. */
struct unit {
	const char *folder; /* where the compiler ran: relative paths count from there; or NULL */
	struct arena arena;
	struct origin_name origins[ORIGIN_CACHE];
	struct joined_path paths[PATH_CACHE]; /* by the hash of libdw's pointer */
	Dwarf_Files *files;
	size_t file_count;
	Dwarf_Lines *lines;
	size_t line_count;
	struct inlined *inlined;
	size_t inlined_count, inlined_capacity;
	struct inline_range *ranges; /* by first once the unit was walked */
	size_t range_count, range_capacity;
	bool failed; /* out of memory */
};

struct wanted {
	struct line_extent *extents;
	size_t count;
};

/* Position of the first extent that ends at or after `vaddr`. */
static size_t first_extent(const struct wanted *wanted, uint64_t vaddr)
{
	return SORTED_FROM(wanted->extents, wanted->count, last, vaddr);
}

static bool is_wanted(const struct wanted *wanted, uint64_t first, uint64_t last)
{
	size_t at = first_extent(wanted, first);
	return at < wanted->count && wanted->extents[at].first <= last;
}

/* Does an entry's code touch a wanted function? */
static bool die_is_wanted(Dwarf_Die *die, const struct wanted *wanted)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (end > start && is_wanted(wanted, start, end - 1))
			return true;
	return false;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return dwarf_diename(die);
}

/* The attributes of an inlined call, gathered in one pass over its entry. */
struct call {
	uint64_t file, line;
	Dwarf_Die origin; /* of the function that was inlined */
	bool has_origin;
};

static int take_attribute(Dwarf_Attribute *attribute, void *context)
{
	struct call *call = context;
	Dwarf_Word value;
	switch (dwarf_whatattr(attribute)) {
	case DW_AT_call_file:
		call->file = dwarf_formudata(attribute, &value) == 0 ? value : 0;
		break;
	case DW_AT_call_line:
		call->line = dwarf_formudata(attribute, &value) == 0 ? value : 0;
		break;
	case DW_AT_abstract_origin:
		call->has_origin = dwarf_formref_die(attribute, &call->origin) != NULL;
		break;
	default:
		break;
	}
	return DWARF_CB_OK;
}

/* The few functions that are inlined everywhere are asked for their names once. */
static const char *origin_name(struct unit *unit, struct call *call)
{
	if (!call->has_origin)
		return NULL;
	struct origin_name *known =
		&unit->origins[hash_u64((uintptr_t)call->origin.addr) % ORIGIN_CACHE];
	if (known->origin != call->origin.addr)
		*known = (struct origin_name){ call->origin.addr, linkage_name(&call->origin) };
	return known->name;
}

static void add_inlined(struct unit *unit, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	struct call call = { 0 };
	dwarf_getattrs(die, take_attribute, &call, 0);
	if (array_reserve(&unit->inlined, &unit->inlined_capacity, unit->inlined_count,
			  sizeof(*unit->inlined)) < 0) {
		unit->failed = true;
		return;
	}
	uint32_t position = (uint32_t)unit->inlined_count++;
	unit->inlined[position] = (struct inlined){
		.function = origin_name(unit, &call),
		.call_file = call.file < unit->file_count
				     ? dwarf_filesrc(unit->files, call.file, NULL, NULL)
				     : NULL,
		.call_line = call.line <= UINT32_MAX ? (uint32_t)call.line : 0,
		.parent = parent,
		.depth = depth,
	};
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (end <= start)
			continue;
		if (array_reserve(&unit->ranges, &unit->range_capacity, unit->range_count,
				  sizeof(*unit->ranges)) < 0) {
			unit->failed = true;
			return;
		}
		unit->ranges[unit->range_count++] =
			(struct inline_range){ start, end - 1, position };
	}
}

/* Inlined calls within a function: they nest in each other and in blocks. */
static void walk_function(struct unit *unit, Dwarf_Die *function, uint32_t parent,
			  uint32_t inlining, unsigned int depth)
{
	Dwarf_Die child;
	if (depth > TREE_MAX_DEPTH || dwarf_child(function, &child) != 0)
		return;
	do {
		uint32_t position;
		switch (dwarf_tag(&child)) {
		case DW_TAG_inlined_subroutine:
			if (inlining + 1 >= RECORD_MAX_DEPTH)
				break;
			add_inlined(unit, &child, parent, inlining + 1);
			if (unit->failed)
				return;
			position = (uint32_t)unit->inlined_count - 1;
			walk_function(unit, &child, position, inlining + 1, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			walk_function(unit, &child, parent, inlining, depth + 1);
			break;
		default:
			break;
		}
	} while (!unit->failed && dwarf_siblingof(&child, &child) == 0);
}

/* Functions stand below the unit, its namespaces and types, and (nested ones) below blocks. */
static void walk_unit(struct unit *unit, Dwarf_Die *scope, const struct wanted *wanted,
		      unsigned int depth)
{
	Dwarf_Die child;
	if (depth > TREE_MAX_DEPTH || dwarf_child(scope, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			if (die_is_wanted(&child, wanted))
				walk_function(unit, &child, UINT32_MAX, 0, 0);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_enumeration_type:
		case DW_TAG_union_type:
			walk_unit(unit, &child, wanted, depth + 1);
			break;
		default:
			break;
		}
	} while (!unit->failed && dwarf_siblingof(&child, &child) == 0);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct inline_range *left = a;
	const struct inline_range *right = b;
	if (left->first != right->first)
		return left->first < right->first ? -1 : 1;
	return (left->inlined > right->inlined) - (left->inlined < right->inlined);
}

/* Position of the first line row at or after `vaddr`; rows are sorted by address. */
static size_t first_line(const struct unit *unit, uint64_t vaddr)
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

/* What the rows of one function are made from: line rows and inlining change at different places.
 */
struct merge {
	struct unit *unit;
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
	const struct unit *unit = merge->unit;
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

/* Valid while the unit is walked. */
static struct span path_of(struct unit *unit, const char *file)
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
	const struct unit *unit = merge->unit;
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
	const struct unit *unit = merge->unit;
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

static int write_record(struct unit *unit, struct line_extent *extent, size_t range_from,
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

static void release_unit(struct unit *unit)
{
	free(unit->inlined);
	free(unit->ranges);
	arena_release(&unit->arena);
	*unit = (struct unit){ 0 };
}

/* Records for the wanted functions that begin in [first, last], part of the unit's code. */
static int write_range(struct unit *unit, const struct wanted *wanted, uint64_t first,
		       uint64_t last, struct record_set *out)
{
	size_t range = 0;
	for (size_t i = first_extent(wanted, first);
	     i < wanted->count && wanted->extents[i].first <= last; i++) {
		struct line_extent *extent = &wanted->extents[i];
		if (extent->rows)
			continue; /* another unit had it */
		/* Ranges rise by first, extents too; one range of a function lies within it. */
		size_t low = range;
		size_t high = unit->range_count;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (unit->ranges[middle].first < extent->first)
				low = middle + 1;
			else
				high = middle;
		}
		range = low;
		size_t range_end = range;
		while (range_end < unit->range_count &&
		       unit->ranges[range_end].first <= extent->last)
			range_end++;
		int ret = write_record(unit, extent, range, range_end, out);
		if (ret < 0)
			return ret;
		range = range_end;
	}
	return 0;
}

/* `split` is the unit's own part in a .dwo file, or the same as `die`. */
static int read_unit(Dwarf_Die *die, Dwarf_Die *split, const struct wanted *wanted,
		     const struct line_units *units, struct record_set *out)
{
	if (!die_is_wanted(die, wanted))
		return 0;
	if (units && out->count) {
		int taken = units->begin(units->context);
		if (taken < 0)
			return taken;
	}
	struct unit unit = { 0 };
	Dwarf_Attribute folder;
	if (dwarf_attr(die, DW_AT_comp_dir, &folder))
		unit.folder = dwarf_formstring(&folder);
	if (dwarf_getsrclines(die, &unit.lines, &unit.line_count) != 0)
		unit.line_count = 0;
	if (dwarf_getsrcfiles(die, &unit.files, &unit.file_count) != 0)
		unit.file_count = 0;
	int ret = 0;
	if (unit.line_count) {
		walk_unit(&unit, split, wanted, 0);
		if (unit.range_count)
			qsort(unit.ranges, unit.range_count, sizeof(*unit.ranges), compare_ranges);
		ret = unit.failed ? -ENOMEM : 0;
	}
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	while (unit.line_count && ret == 0 && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (end > start)
			ret = write_range(&unit, wanted, start, end - 1, out);
	release_unit(&unit);
	return ret;
}

/* libdw looks for the end of a string of these sections behind them (elfutils 0.188). */
static bool strings_end(Elf *elf)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;
		if (!name || header.sh_type == SHT_NOBITS ||
		    (strcmp(name, ".debug_str") != 0 && strcmp(name, ".debug_line_str") != 0))
			continue;
		const Elf_Data *data = elf_getdata(section, NULL);
		if (data && data->d_size > 0 && data->d_buf &&
		    ((const char *)data->d_buf)[data->d_size - 1] != 0)
			return false;
	}
	return true;
}

/* libdw would say something and exit with a status that tells nobody why. */
__attribute__((noreturn)) static void no_memory(void)
{
	_exit(HELPER_OUT_OF_MEMORY);
}

static int read_units(Dwarf *dwarf, const struct wanted *wanted, const struct line_units *units,
		      struct record_set *out)
{
	int ret = 0, end = 1;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	while (ret == 0 &&
	       (end = dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, &split)) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		bool has_split = type == DW_UT_skeleton && split.addr;
		ret = read_unit(&die, has_split ? &split : &die, wanted, units, out);
	}
	return ret == 0 && (end < 0 || !unit) ? -EBADMSG : ret;
}

int line_index_records(int fd, struct line_extent *extents, size_t count,
		       const struct line_units *units, struct record_set *out, struct error *err)
{
	struct wanted wanted = { extents, count };
	for (size_t i = 0; i < count; i++)
		extents[i].rows = 0;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return 0;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int ret = elf ? debug_claims_check(elf, err) : -EBADMSG;
	Dwarf *dwarf = ret == 0 ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	if (dwarf)
		dwarf_new_oom_handler(dwarf, no_memory);
	if (ret == 0 && (!dwarf || !strings_end(elf))) /* unpacked by now */
		ret = -EBADMSG;
	if (ret == 0)
		ret = read_units(dwarf, &wanted, units, out);
	dwarf_end(dwarf);
	elf_end(elf);
	return ret;
}
