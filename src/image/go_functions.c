#include "image/go_functions.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/count_of.h"
#include "base/cursor.h"
#include "image/elf_file.h"
#include "image/relocations.h"

#define MAGIC_1_2    0xfffffffbu
#define MAGIC_1_16   0xfffffffau
#define MAGIC_1_18   0xfffffff0u
#define MAGIC_1_20   0xfffffff1u
#define HEADER_BYTES 8
#define WORD_BYTES   8
#define TEXT_WORD    2	 /* of the header, behind HEADER_BYTES, from Go 1.18 on */
#define MODULE_TEXT  176 /* of runtime.moduledata: 8 bytes, 6 slices, 3 words */
#define NAME_MOST    4096
#define DEPTH_MOST   (1 << 30)
#define SWITCHES     2 /* abi.FuncFlagSPWrite */

/* What is known of a format. Offsets in the header are of words behind HEADER_BYTES. */
struct go_format {
	uint32_t magic;
	uint8_t address_bytes; /* of an address in the list, and of where the details are */
	uint8_t names, numbers, details; /* the words that say where these are; 0: at the start */
	uint8_t name, depths, flags;	 /* where in a function's details; 0: not there */
};

static const struct go_format formats[] = {
	{ MAGIC_1_2, 8, 0, 0, 0, 8, 20, 0 },
	{ MAGIC_1_16, 8, 2, 5, 6, 8, 20, 41 },
	{ MAGIC_1_18, 4, 3, 6, 7, 4, 16, 37 },
	{ MAGIC_1_20, 4, 3, 6, 7, 4, 16, 41 },
};

static bool read_word(struct span table, size_t at, size_t bytes, uint64_t *word)
{
	*word = 0;
	if (at > table.size || bytes > table.size - at)
		return false;
	memcpy(word, (const uint8_t *)table.data + at, bytes);
	return true;
}

static const struct elf_section *find_section(const struct elf_file *file)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct elf_section *section = elf_file_section(file, names[i]);
		if (section)
			return section;
	}
	return NULL;
}

/* The word at an address as it is when the program runs, but for where it is loaded. */
static uint64_t loaded_word(const struct elf_file *file, const struct relocations *relocations,
			    uint64_t vaddr)
{
	const struct relocation *relocation = relocations_find(relocations, vaddr);
	struct span bytes = elf_file_code(file, vaddr, WORD_BYTES);
	uint64_t word = 0;
	if (relocation)
		return relocation->symbol.size ? 0 : relocation->value;
	if (bytes.size == WORD_BYTES)
		memcpy(&word, bytes.data, WORD_BYTES);
	return word;
}

/*
 * What addresses are counted from, 0 if nothing says it: the header, which a position-independent
 * program's loader writes; from Go 1.26 on runtime.moduledata alone. 0 or -ENOMEM.
 */
static int find_text(const struct elf_file *file, const struct elf_section *section, uint64_t *text)
{
	const struct elf_section *module = elf_file_section(file, ".go.module");
	struct relocations relocations = { 0 };
	int ret = file->type == ET_EXEC ? 0 : relocations_read_all(file, &relocations);
	if (ret < 0)
		return ret;
	*text = loaded_word(file, &relocations,
			    section->vaddr + HEADER_BYTES + WORD_BYTES * TEXT_WORD);
	if (!*text && module)
		*text = loaded_word(file, &relocations, module->vaddr + MODULE_TEXT);
	relocations_release(&relocations);
	return 0;
}

/* The address and where the details are of one of the list; `i` may be the count. */
static bool read_listed(const struct go_functions *functions, size_t i, uint64_t *address,
			uint64_t *details)
{
	size_t bytes = functions->format->address_bytes;
	size_t at = functions->list + i * 2 * bytes;
	*details = 0;
	if (!read_word(functions->table, at, bytes, address) ||
	    (i < functions->count && !read_word(functions->table, at + bytes, bytes, details)))
		return false;
	return !__builtin_add_overflow(*address, functions->text, address);
}

/* Whether the list is all there and begins in code; stores that code's borders. */
static bool find_code(const struct elf_file *file, struct go_functions *functions)
{
	size_t entry_bytes = 2 * (size_t)functions->format->address_bytes;
	size_t size = functions->table.size;
	uint64_t first, details;
	if (functions->list > size || !functions->count ||
	    functions->count > (size - functions->list) / entry_bytes ||
	    !read_listed(functions, functions->count, &first, &details) ||
	    !read_listed(functions, 0, &first, &details))
		return false;
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type != PT_LOAD || !(segment->flags & PF_X) ||
		    first < segment->vaddr || first - segment->vaddr >= segment->file_bytes ||
		    segment->file_bytes > UINT64_MAX - segment->vaddr)
			continue;
		functions->code_start = segment->vaddr;
		functions->code_end = segment->vaddr + segment->file_bytes;
		return true;
	}
	return false;
}

static const struct go_format *find_format(const struct elf_file *file, struct span table)
{
	const uint8_t *bytes = table.data;
	uint64_t magic;
	if (!file->wide || (file->machine != EM_X86_64 && file->machine != EM_AARCH64) ||
	    !read_word(table, 0, 4, &magic) || table.size < HEADER_BYTES || bytes[4] || bytes[5] ||
	    !bytes[6] || bytes[7] != WORD_BYTES)
		return NULL;
	for (size_t i = 0; i < COUNT_OF(formats); i++)
		if (formats[i].magic == magic)
			return &formats[i];
	return NULL;
}

/* Where the table has what word `word` of the header says. */
static bool read_place(struct span table, size_t word, size_t *at)
{
	uint64_t value = 0;
	bool ok = !word || read_word(table, HEADER_BYTES + WORD_BYTES * word, WORD_BYTES, &value);
	*at = (size_t)value;
	return ok && value <= table.size;
}

int go_functions_open(const struct elf_file *file, struct go_functions *functions)
{
	const struct elf_section *section = find_section(file);
	struct span table = elf_file_section_bytes(file, section);
	const struct go_format *format = find_format(file, table);
	uint64_t count;
	*functions = (struct go_functions){ .table = table, .format = format };
	if (!format || !read_word(table, HEADER_BYTES, WORD_BYTES, &count) ||
	    count > table.size / WORD_BYTES ||
	    !read_place(table, format->names, &functions->names) ||
	    !read_place(table, format->numbers, &functions->numbers) ||
	    !read_place(table, format->details, &functions->details))
		return 0;
	functions->count = (size_t)count;
	functions->list = format->details ? functions->details : HEADER_BYTES + WORD_BYTES;
	functions->quantum = ((const uint8_t *)table.data)[6];
	int ret = format->address_bytes == 4 ? find_text(file, section, &functions->text) : 0;
	return ret < 0 ? ret : find_code(file, functions);
}

static struct span text_at(struct span table, uint64_t at)
{
	const char *text = table.data;
	if (at >= table.size)
		return (struct span){ 0 };
	size_t most = table.size - at < NAME_MOST ? table.size - at : NAME_MOST;
	size_t size = strnlen(text + at, most);
	return (struct span){ text + at, size < most ? size : 0 };
}

bool go_functions_get(const struct go_functions *functions, size_t i, struct go_function *function)
{
	const struct go_format *format = functions->format;
	struct span table = functions->table;
	uint64_t start, end, details, next, name, depths, flags = 0;
	*function = (struct go_function){ 0 };
	if (!read_listed(functions, i, &start, &details) ||
	    !read_listed(functions, i + 1, &end, &next) || start >= end ||
	    start < functions->code_start || end > functions->code_end ||
	    details > table.size - functions->details)
		return false;
	size_t at = functions->details + (size_t)details;
	if (!read_word(table, at + format->name, 4, &name) ||
	    !read_word(table, at + format->depths, 4, &depths) ||
	    (format->flags && !read_word(table, at + format->flags, 1, &flags)))
		return false;
	*function = (struct go_function){ .start = start,
					  .end = end,
					  .name = text_at(table, functions->names + name),
					  .switches = flags & SWITCHES,
					  .depths = depths ? functions->numbers + depths : 0 };
	return true;
}

void go_depths_begin(const struct go_functions *functions, const struct go_function *function,
		     struct go_depths *depths)
{
	struct span table = functions->table;
	*depths = (struct go_depths){ .at = function->start,
				      .end = function->end,
				      .depth = -1,
				      .quantum = functions->quantum };
	if (function->depths && function->depths < table.size)
		depths->left = (struct span){ (const uint8_t *)table.data + function->depths,
					      table.size - function->depths };
}

/* Pairs of how much the depth changes, of which the lowest bit is the sign, and for how much code
 * it stays; the change 0 ends them, except at first. */
bool go_depths_next(struct go_depths *depths, struct go_range *range)
{
	if (!depths->left.size)
		return false;
	struct cursor cursor = cursor_of(depths->left.data, depths->left.size);
	uint64_t change = cursor_varint(&cursor);
	uint64_t length = cursor_varint(&cursor);
	uint64_t room = depths->end - depths->at;
	if (cursor.failed || (!change && depths->begun) || !length ||
	    change > 2 * (uint64_t)DEPTH_MOST || !room)
		return false;
	depths->depth += (int64_t)(change >> 1) ^ -(int64_t)(change & 1);
	if (depths->depth < 0 || depths->depth > DEPTH_MOST)
		return false;
	bool last = length > room / depths->quantum;
	*range = (struct go_range){ .start = depths->at,
				    .end = last ? depths->end
						: depths->at + length * depths->quantum,
				    .depth = (uint32_t)depths->depth };
	depths->at = range->end;
	depths->left = (struct span){ cursor.start + cursor.at, cursor.size - cursor.at };
	depths->begun = true;
	return true;
}
