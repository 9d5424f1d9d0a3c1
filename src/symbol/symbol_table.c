#include "symbol/symbol_table.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "image/eh_frame.h"
#include "image/elf_file.h"
#include "image/plt.h"
#include "symbol/cold_parts.h"
#include "symbol/debugdata.h"
#include "symbol/record.h"
#include "symbol/symbol_rank.h"

static int append(struct symbol_table *table, const struct symbol *symbol)
{
	if (array_reserve(&table->list, &table->capacity, table->count, sizeof(*table->list)) < 0)
		return -ENOMEM;
	table->list[table->count++] = *symbol;
	return 0;
}

/* The executable segment that holds `vaddr`, or NULL. */
static const struct elf_segment *code_segment(const struct elf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type == PT_LOAD && (segment->flags & PF_X) &&
		    segment->memory_bytes <= UINT64_MAX - segment->vaddr &&
		    vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->memory_bytes)
			return segment;
	}
	return NULL;
}

/* Marks of the assembler ($x: code, $d: data), local labels. */
static bool is_no_function(struct span name, uint16_t machine)
{
	const char *text = name.data;
	if (name.size == 0)
		return true;
	if ((machine == EM_AARCH64 || machine == EM_ARM) && text[0] == '$')
		return true;
	return name.size >= 2 && text[0] == '.' && text[1] == 'L';
}

struct raw_symbol {
	uint32_t name;
	uint8_t info;
	uint16_t section;
	uint64_t value;
	uint64_t size_bytes;
};

static struct raw_symbol read_raw(struct cursor *cursor, bool wide)
{
	struct raw_symbol raw = { .name = cursor_u32(cursor) };
	if (!wide) {
		raw.value = cursor_u32(cursor);
		raw.size_bytes = cursor_u32(cursor);
	}
	raw.info = cursor_u8(cursor);
	cursor_u8(cursor); /* visibility */
	raw.section = cursor_u16(cursor);
	if (wide) {
		raw.value = cursor_u64(cursor);
		raw.size_bytes = cursor_u64(cursor);
	}
	return raw;
}

/* `file` is the executable, `from` the file that has the table (often the same). */
static int read_table(const struct elf_file *file, const struct elf_file *from,
		      const struct elf_section *section, enum symbol_source source,
		      struct symbol_table *table)
{
	struct span entries = elf_file_section_bytes(from, section);
	struct span texts = elf_file_section_bytes(from, elf_file_section_at(from, section->link));
	size_t entry_bytes = from->wide ? 24 : 16;
	struct cursor cursor = cursor_of(entries.data, entries.size);
	uint32_t group = 1;
	while (cursor_left(&cursor) >= entry_bytes) {
		struct raw_symbol raw = read_raw(&cursor, from->wide);
		uint8_t type = raw.info & 0xf;
		uint8_t binding = raw.info >> 4;
		if (type == STT_FILE)
			group++;
		if (raw.section == SHN_UNDEF ||
		    (raw.section >= SHN_LORESERVE && raw.section != SHN_XINDEX))
			continue;
		if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
			continue;
		if (raw.name >= texts.size) {
			table->bad++;
			continue;
		}
		const char *text = (const char *)texts.data + raw.name;
		struct span name = { text, strnlen(text, texts.size - raw.name) };
		if (is_no_function(name, file->machine))
			continue;
		/* foo@@VERSION: some linkers write the version into .symtab. */
		const char *version = memchr(text + 1, '@', name.size - 1);
		if (version)
			name.size = (size_t)(version - text);
		if (file->machine == EM_ARM)
			raw.value &= ~(uint64_t)1; /* set for Thumb code */
		const struct elf_segment *segment = code_segment(file, raw.value);
		if (!segment)
			continue;
		uint64_t room = segment->memory_bytes - (raw.value - segment->vaddr);
		struct symbol symbol = {
			.start = raw.value,
			.size_bytes = raw.size_bytes < room ? raw.size_bytes : room,
			.name = name,
			.group = binding == STB_LOCAL ? group : 0,
			.source = (uint8_t)source,
			.binding = binding,
			.type = type,
		};
		if (append(table, &symbol) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_tables(const struct elf_file *file, const struct elf_file *from,
		       enum symbol_source symtab, enum symbol_source dynsym,
		       struct symbol_table *table)
{
	for (size_t i = 0; i < from->section_count; i++) {
		const struct elf_section *section = &from->sections[i];
		int ret = 0;
		if (section->type == SHT_SYMTAB)
			ret = read_table(file, from, section, symtab, table);
		else if (section->type == SHT_DYNSYM)
			ret = read_table(file, from, section, dynsym, table);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int read_debugdata(const struct elf_file *file, struct symbol_table *table)
{
	struct span packed = elf_file_section_bytes(file, elf_file_section(file, ".gnu_debugdata"));
	if (packed.size == 0)
		return 0;
	int ret = debugdata_unpack(packed, &table->debugdata);
	struct elf_file inner;
	if (ret == 0)
		ret = elf_file_parse(table->debugdata.data, table->debugdata.size, &inner, NULL);
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0) {
		table->bad++;
		return 0;
	}
	ret = read_tables(file, &inner, SYMBOL_FROM_DEBUGDATA, SYMBOL_FROM_DEBUGDATA, table);
	elf_file_release(&inner);
	return ret;
}

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
	const struct elf_segment *segment = code_segment(file, vaddr);
	return segment ? segment->vaddr + segment->memory_bytes : vaddr + 1;
}

/* What a symbol without size is believed to reach without call frame information: labels of
 * hand-written code and of linkers' scripts less than functions of an assembler. */
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

/* Does one of the symbols start there? `*at` moves along with rising starts. */
static bool starts_at(uint64_t start, const struct symbol *list, size_t count, size_t *at)
{
	while (*at < count && list[*at].start < start)
		(*at)++;
	return *at < count && list[*at].start == start;
}

static struct span stub_name(struct symbol_table *table, size_t named, const struct plt_stub *stub)
{
	struct span target = stub->symbol;
	for (size_t low = 0, high = named; target.size == 0 && low < high;) {
		size_t middle = low + (high - low) / 2;
		if (table->list[middle].start == stub->target)
			target = table->list[middle].name;
		else if (table->list[middle].start < stub->target)
			low = middle + 1;
		else
			high = middle;
	}
	char *name = target.size ? arena_printf(&table->names, "%.*s@plt", (int)target.size,
						(const char *)target.data)
				 : arena_printf(&table->names, "*ABS*+0x%llx@plt",
						(unsigned long long)stub->target);
	return span_of_text(name);
}

static int add_stubs(const struct elf_file *file, struct symbol_table *table)
{
	struct plt plt;
	int ret = plt_read(file, &plt);
	size_t named = table->count;
	size_t at = 0;
	for (size_t i = 0; ret == 0 && i < plt.count; i++) {
		const struct elf_segment *segment = code_segment(file, plt.stubs[i].start);
		if (starts_at(plt.stubs[i].start, table->list, named, &at) || !segment)
			continue;
		uint64_t room = segment->memory_bytes - (plt.stubs[i].start - segment->vaddr);
		struct symbol symbol = {
			.start = plt.stubs[i].start,
			.size_bytes =
				plt.stubs[i].size_bytes < room ? plt.stubs[i].size_bytes : room,
			.name = stub_name(table, named, &plt.stubs[i]),
			.flags = FUNCTION_PLT,
			.source = SYMBOL_FROM_PLT,
			.binding = STB_LOCAL,
			.type = STT_FUNC,
		};
		ret = symbol.name.data ? append(table, &symbol) : -ENOMEM;
	}
	plt_release(&plt);
	return ret;
}

/* Extents that begin outside of every named function are functions without a name. */
static int add_unnamed(const struct elf_file *file, const struct extents *extents,
		       struct symbol_table *table)
{
	size_t named = table->count;
	size_t at = 0;
	uint64_t covered = 0; /* end of what the symbols before `at` reach */
	for (size_t i = 0; i < extents->count; i++) {
		const struct extent *extent = &extents->list[i];
		for (; at < named && table->list[at].start <= extent->start; at++) {
			uint64_t end = table->list[at].start + table->list[at].size_bytes;
			covered = end > covered ? end : covered;
		}
		const struct elf_segment *segment = code_segment(file, extent->start);
		if (extent->start < covered || !segment)
			continue;
		uint64_t room = segment->memory_bytes - (extent->start - segment->vaddr);
		struct symbol symbol = {
			.start = extent->start,
			.size_bytes = extent->size_bytes < room ? extent->size_bytes : room,
			.flags = FUNCTION_UNNAMED,
			.source = SYMBOL_FROM_FRAMES,
			.binding = STB_LOCAL,
			.type = STT_FUNC,
		};
		if (append(table, &symbol) < 0)
			return -ENOMEM;
	}
	return 0;
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
	int ret = read_tables(file, file, SYMBOL_FROM_SYMTAB, SYMBOL_FROM_DYNSYM, table);
	if (ret == 0 && debug)
		ret = read_tables(file, debug, SYMBOL_FROM_DEBUG_FILE, SYMBOL_FROM_DEBUG_FILE,
				  table);
	if (ret == 0)
		ret = read_debugdata(file, table);
	if (ret == 0) {
		mark_exported(table);
		ret = extents_read(file, &extents);
	}
	if (ret == 0)
		ret = cold_parts_find(table->list, table->count, &cold);
	if (ret == 0) {
		table->bad += extents.bad;
		sort_symbols(table);
		keep_best_names(table);
		drop_inner_labels(table);
		give_sizes(file, &extents, table);
		ret = add_stubs(file, table);
	}
	if (ret == 0) {
		sort_symbols(table);
		keep_best_names(table);
		ret = add_unnamed(file, &extents, table);
	}
	if (ret == 0) {
		sort_symbols(table);
		keep_best_names(table); /* several extents may start at one place */
		ret = mark_cold(&cold, table);
	}
	if (ret == 0)
		ret = build_map(table);
	cold_parts_release(&cold);
	extents_release(&extents);
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
