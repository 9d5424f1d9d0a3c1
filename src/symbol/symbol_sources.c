#include "symbol/symbol_table_private.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "image/eh_frame.h"
#include "image/elf_file.h"
#include "image/go_functions.h"
#include "image/plt.h"
#include "symbol/debugdata.h"
#include "symbol/record.h"

static int append(struct symbol_table *table, const struct symbol *symbol)
{
	if (array_reserve(&table->list, &table->capacity, table->count, sizeof(*table->list)) < 0)
		return -ENOMEM;
	table->list[table->count++] = *symbol;
	return 0;
}

const struct elf_segment *symbol_code_segment(const struct elf_file *file, uint64_t vaddr)
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
		const struct elf_segment *segment = symbol_code_segment(file, raw.value);
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

static bool has_symtab(const struct symbol_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->list[i].source == SYMBOL_FROM_SYMTAB ||
		    table->list[i].source == SYMBOL_FROM_DEBUG_FILE)
			return true;
	return false;
}

/* Where a function's code ends, and padding begins. */
static uint64_t go_code_end(const struct go_functions *functions,
			    const struct go_function *function)
{
	struct go_depths depths;
	struct go_range range = { .end = function->end };
	go_depths_begin(functions, function, &depths);
	while (go_depths_next(&depths, &range))
		;
	return range.end;
}

/* The functions of a Go program that was stripped. */
static int read_go(const struct elf_file *file, struct symbol_table *table)
{
	struct go_functions functions;
	int ret = has_symtab(table) ? 0 : go_functions_open(file, &functions);
	if (ret <= 0)
		return ret;
	for (size_t i = 0; i < functions.count; i++) {
		struct go_function function;
		if (!go_functions_get(&functions, i, &function)) {
			table->bad++;
			continue;
		}
		if (!function.name.size)
			continue;
		uint64_t end = go_code_end(&functions, &function);
		struct symbol symbol = {
			.start = function.start,
			.size_bytes = end - function.start,
			.name = function.name,
			.source = SYMBOL_FROM_GO,
			.binding = STB_LOCAL,
			.type = STT_FUNC,
		};
		if (append(table, &symbol) < 0)
			return -ENOMEM;
	}
	return 0;
}

int symbol_table_read(const struct elf_file *file, const struct elf_file *debug,
		      struct symbol_table *table)
{
	int ret = read_tables(file, file, SYMBOL_FROM_SYMTAB, SYMBOL_FROM_DYNSYM, table);
	if (ret == 0 && debug)
		ret = read_tables(file, debug, SYMBOL_FROM_DEBUG_FILE, SYMBOL_FROM_DEBUG_FILE,
				  table);
	if (ret == 0)
		ret = read_debugdata(file, table);
	return ret < 0 ? ret : read_go(file, table);
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

int symbol_table_add_stubs(const struct elf_file *file, struct symbol_table *table)
{
	struct plt plt;
	int ret = plt_read(file, &plt);
	size_t named = table->count;
	size_t at = 0;
	for (size_t i = 0; ret == 0 && i < plt.count; i++) {
		const struct elf_segment *segment = symbol_code_segment(file, plt.stubs[i].start);
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

int symbol_table_add_unnamed(const struct elf_file *file, const struct extents *extents,
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
		const struct elf_segment *segment = symbol_code_segment(file, extent->start);
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
