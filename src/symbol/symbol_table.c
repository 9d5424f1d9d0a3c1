#include "symbol/symbol_table_private.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "image/eh_frame.h"
#include "image/elf_file.h"
#include "symbol/cold_parts.h"
#include "symbol/record.h"
#include "symbol/symbol_rank.h"

static int binding_rank(const struct symbol *symbol)
{
	switch (symbol->binding) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 0;
	case STB_WEAK:
		return 1;
	default:
		return 2;
	}
}

/* By start; of one start the best name first. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *left = a;
	const struct symbol *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if ((left->size_bytes == 0) != (right->size_bytes == 0))
		return left->size_bytes ? -1 : 1;
	if ((left->type == STT_NOTYPE) != (right->type == STT_NOTYPE))
		return left->type == STT_NOTYPE ? 1 : -1;
	if (binding_rank(left) != binding_rank(right))
		return binding_rank(left) < binding_rank(right) ? -1 : 1;
	int order = symbol_rank_names(left->name, right->name);
	if (order)
		return order;
	if (left->size_bytes != right->size_bytes)
		return left->size_bytes > right->size_bytes ? -1 : 1;
	return (left->source > right->source) - (left->source < right->source);
}

static void keep_best_names(struct symbol_table *table)
{
	size_t kept = 0;
	for (size_t i = 0; i < table->count; i++)
		if (kept == 0 || table->list[kept - 1].start != table->list[i].start)
			table->list[kept++] = table->list[i];
	table->count = kept;
}

/* Labels inside a sized function are places in it, not functions. */
static void drop_inner_labels(struct symbol_table *table)
{
	uint64_t end = 0;
	size_t kept = 0;
	for (size_t i = 0; i < table->count; i++) {
		const struct symbol *symbol = &table->list[i];
		if (symbol->type == STT_NOTYPE && symbol->start < end)
			continue;
		if (symbol->type != STT_NOTYPE && symbol->start + symbol->size_bytes > end)
			end = symbol->start + symbol->size_bytes;
		table->list[kept++] = *symbol;
	}
	table->count = kept;
}

static uint64_t section_end(const struct elf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];
		if ((section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR) &&
		    vaddr >= section->vaddr && vaddr - section->vaddr < section->size_bytes)
			return section->vaddr + section->size_bytes;
	}
	const struct elf_segment *segment = symbol_code_segment(file, vaddr);
	return segment ? segment->vaddr + segment->memory_bytes : vaddr + 1;
}

/* How far a symbol without size and call frame information is believed to reach: labels of
 * hand-written code and of linker scripts less far than functions of an assembler. */
#define NEAREST_LABEL_BYTES    4096
#define NEAREST_FUNCTION_BYTES 65536

static bool is_far(const struct symbol *symbol)
{
	return symbol->size_bytes >
	       (symbol->type == STT_NOTYPE ? NEAREST_LABEL_BYTES : NEAREST_FUNCTION_BYTES);
}

/* A symbol without size ends with its call frame information, the next function or its section. */
static void give_sizes(const struct elf_file *file, const struct extents *extents,
		       struct symbol_table *table)
{
	size_t next_extent = 0;
	for (size_t i = 0; i < table->count; i++) {
		struct symbol *symbol = &table->list[i];
		while (next_extent < extents->count &&
		       extents->list[next_extent].start <= symbol->start)
			next_extent++;
		if (symbol->size_bytes)
			continue;
		uint64_t end = section_end(file, symbol->start);
		bool framed = false;
		if (i + 1 < table->count && table->list[i + 1].start < end)
			end = table->list[i + 1].start;
		if (next_extent < extents->count && extents->list[next_extent].start < end)
			end = extents->list[next_extent].start;
		if (next_extent > 0) {
			const struct extent *extent = &extents->list[next_extent - 1];
			uint64_t extent_end = extent->start + extent->size_bytes;
			framed = extent_end > symbol->start;
			if (framed && extent_end < end)
				end = extent_end;
		}
		symbol->size_bytes = end > symbol->start ? end - symbol->start : 1;
		if (!framed && is_far(symbol))
			symbol->flags |= FUNCTION_NEAREST;
	}
}

static void sort_symbols(struct symbol_table *table)
{
	if (table->count)
		qsort(table->list, table->count, sizeof(*table->list), compare_symbols);
}

static int build_map(struct symbol_table *table)
{
	struct interval *intervals = calloc(table->count ? table->count : 1, sizeof(*intervals));
	if (!intervals)
		return -ENOMEM;
	for (size_t i = 0; i < table->count; i++) {
		const struct symbol *symbol = &table->list[i];
		intervals[i] = (struct interval){
			.first = symbol->start,
			.last = symbol->start + (symbol->size_bytes - 1),
			.priority = symbol->start, /* the innermost starts last */
			.owner = (uint32_t)i,
		};
	}
	int ret = interval_map_build(&table->map, intervals, table->count);
	free(intervals);
	return ret;
}

/* Without a symbol table, in the file or beside it, only what the file exports has a name. */
static void mark_exported(struct symbol_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->list[i].source != SYMBOL_FROM_DYNSYM)
			return;
	for (size_t i = 0; i < table->count; i++)
		table->list[i].flags |= FUNCTION_EXPORTED;
}

struct parent_order {
	uint64_t parent;
	uint32_t position;
};

static int compare_parents(const void *a, const void *b)
{
	const struct parent_order *left = a;
	const struct parent_order *right = b;
	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	return (left->position > right->position) - (left->position < right->position);
}

/* Flags the cold parts and lists them by parent. 0 or -ENOMEM. */
static int mark_cold(const struct cold_parts *parts, struct symbol_table *table)
{
	if (parts->count == 0)
		return 0;
	struct parent_order *order = calloc(parts->count, sizeof(*order));
	table->cold = calloc(parts->count, sizeof(*table->cold));
	if (!order || !table->cold) {
		free(order);
		return -ENOMEM;
	}
	size_t count = 0;
	size_t at = 0;
	for (size_t i = 0; i < parts->count; i++) {
		const struct cold_part *part = &parts->list[i];
		while (at < table->count && table->list[at].start < part->start)
			at++;
		struct symbol *symbol = at < table->count ? &table->list[at] : NULL;
		if (!symbol || symbol->start != part->start || (symbol->flags & FUNCTION_COLD) ||
		    part->parent == part->start)
			continue;
		symbol->flags |= FUNCTION_COLD;
		symbol->parent = part->parent;
		order[count++] = (struct parent_order){ part->parent, (uint32_t)at };
	}
	if (count)
		qsort(order, count, sizeof(*order), compare_parents);
	for (size_t i = 0; i < count; i++)
		table->cold[i] = order[i].position;
	table->cold_count = count;
	free(order);
	return 0;
}

int symbol_table_build(const struct elf_file *file, const struct elf_file *debug,
		       struct symbol_table *table)
{
	*table = (struct symbol_table){ 0 };
	struct extents extents = { 0 };
	struct cold_parts cold = { 0 };
	int ret = symbol_table_read(file, debug, table);
	if (ret == 0) {
		mark_exported(table);
		elf_file_let_go(file);
		ret = extents_read(file, &extents);
		elf_file_let_go(file);
	}
	if (ret == 0)
		ret = cold_parts_find(table->list, table->count, &cold);
	if (ret == 0) {
		table->bad += extents.bad;
		sort_symbols(table);
		keep_best_names(table);
		drop_inner_labels(table);
		give_sizes(file, &extents, table);
		ret = symbol_table_add_stubs(file, table);
	}
	if (ret == 0) {
		sort_symbols(table);
		keep_best_names(table);
		ret = symbol_table_add_unnamed(file, &extents, table);
	}
	if (ret == 0) {
		sort_symbols(table);
		keep_best_names(table); /* several extents may start at one place */
		ret = mark_cold(&cold, table);
	}
	cold_parts_release(&cold);
	extents_release(&extents);
	if (ret == 0)
		ret = build_map(table);
	if (ret < 0)
		symbol_table_release(table);
	return ret;
}

void symbol_table_release(struct symbol_table *table)
{
	free(table->list);
	free(table->cold);
	interval_map_release(&table->map);
	arena_release(&table->names);
	buffer_release(&table->debugdata);
	*table = (struct symbol_table){ 0 };
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t vaddr)
{
	uint32_t position = interval_map_owner(&table->map, vaddr);
	return position == INTERVAL_NONE ? NULL : &table->list[position];
}

size_t symbol_table_cold(const struct symbol_table *table, uint64_t parent)
{
	size_t low = 0;
	size_t high = table->cold_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (table->list[table->cold[middle]].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low < table->cold_count && table->list[table->cold[low]].parent == parent
		       ? low
		       : table->cold_count;
}
