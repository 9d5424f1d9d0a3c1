#include "support/go_table.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "support/elf_bytes.h"

#define TEXT_AT	       (64 + 2 * 56) /* elf_bytes_make(): behind the file's headers */
#define FUNCTION_STEP  32
#define FUNCTIONS_MOST 64

static const uint32_t magics[GO_TABLE_FORMATS] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1 };

static void append_zigzag(struct buffer *out, int64_t value)
{
	buffer_append_varint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

/* "depth:bytes" and so on, which is stored as changes and lengths in instructions. */
static void append_depths(struct buffer *out, const char *depths, unsigned quantum)
{
	int depth = -1, next;
	unsigned bytes;
	int used;
	for (; sscanf(depths, "%d:%u%n", &next, &bytes, &used) == 2; depths += used) {
		append_zigzag(out, next - depth);
		buffer_append_varint(out, bytes / quantum);
		depth = next;
	}
	buffer_append_u8(out, 0);
}

static void append_word(struct buffer *out, uint64_t value, size_t bytes)
{
	buffer_append(out, &value, bytes);
}

/* The parts of a table, before they are put together. */
struct parts {
	struct buffer names, numbers, details;
	uint32_t name[FUNCTIONS_MOST], depths[FUNCTIONS_MOST], detail[FUNCTIONS_MOST];
};

static void make_details(const struct go_table_options *options,
			 const struct go_table_function *functions, size_t count, uint64_t text,
			 struct parts *parts)
{
	bool absolute = options->format <= GO_TABLE_1_16;
	for (size_t i = 0; i < count; i++) {
		uint64_t start = (absolute ? text : 0) + i * FUNCTION_STEP;
		parts->detail[i] = (uint32_t)parts->details.size;
		append_word(&parts->details, start, absolute ? 8 : 4);
		append_word(&parts->details, parts->name[i], 4);
		append_word(&parts->details, 0, 4); /* arguments */
		append_word(&parts->details, 0, 4); /* deferreturn */
		append_word(&parts->details, parts->depths[i], 4);
		for (size_t k = 0; k < 3; k++) /* files, lines, further tables */
			append_word(&parts->details, 0, 4);
		if (options->format != GO_TABLE_1_2)
			append_word(&parts->details, 0, 4); /* compilation unit */
		if (options->format == GO_TABLE_1_20)
			append_word(&parts->details, 0, 4); /* first line */
		buffer_append_u8(&parts->details, 0);
		buffer_append_u8(&parts->details, functions[i].switches ? 2 : 0);
		append_word(&parts->details, 0, 6);
	}
}

/* Names and depths, whose places count from the start of each kind. */
static void make_texts(const struct go_table_options *options,
		       const struct go_table_function *functions, size_t count, struct parts *parts)
{
	unsigned quantum = options->machine == EM_AARCH64 ? 4 : 1;
	buffer_append_u8(&parts->numbers, 0); /* nothing is at 0 */
	buffer_append_u8(&parts->names, 0);
	for (size_t i = 0; i < count; i++) {
		parts->name[i] = (uint32_t)parts->names.size;
		buffer_append(&parts->names, functions[i].name, strlen(functions[i].name) + 1);
		parts->depths[i] = functions[i].depths ? (uint32_t)parts->numbers.size : 0;
		if (functions[i].depths)
			append_depths(&parts->numbers, functions[i].depths, quantum);
	}
}

static void append_list(struct buffer *out, const struct parts *parts, size_t count, uint64_t text,
			uint64_t base, size_t bytes)
{
	for (size_t i = 0; i < count; i++) {
		append_word(out, text + i * FUNCTION_STEP, bytes);
		append_word(out, base + parts->detail[i], bytes);
	}
	append_word(out, text + count * FUNCTION_STEP, bytes);
}

/* All in one table, where places count from its start. */
static void put_oldest(struct buffer *out, const struct go_table_options *options,
		       const struct go_table_function *functions, size_t count, uint64_t text,
		       struct parts *parts)
{
	uint64_t details_at = 16 + 16 * count + 8;
	uint64_t names_at = details_at + count * 48, numbers_at = names_at + parts->names.size;
	for (size_t i = 0; i < count; i++) {
		parts->name[i] += (uint32_t)names_at;
		parts->depths[i] += parts->depths[i] ? (uint32_t)numbers_at : 0;
	}
	make_details(options, functions, count, text, parts);
	append_word(out, count, 8);
	append_list(out, parts, count, text, details_at, 8);
	buffer_append(out, parts->details.data, parts->details.size);
	while (out->size < names_at)
		buffer_append_u8(out, 0);
	buffer_append(out, parts->names.data, parts->names.size);
	buffer_append(out, parts->numbers.data, parts->numbers.size);
}

static void put_later(struct buffer *out, const struct go_table_options *options,
		      const struct go_table_function *functions, size_t count, uint64_t text,
		      struct parts *parts)
{
	bool absolute = options->format == GO_TABLE_1_16;
	size_t bytes = absolute ? 8 : 4;
	uint64_t names_at = absolute ? 64 : 72;
	uint64_t numbers_at = names_at + parts->names.size;
	uint64_t list_at = numbers_at + parts->numbers.size;
	make_details(options, functions, count, text, parts);
	append_word(out, count, 8);
	append_word(out, 0, 8); /* files */
	if (!absolute)
		append_word(out, options->no_text ? 0 : text, 8);
	append_word(out, names_at, 8);
	append_word(out, names_at, 8); /* compilation units and files, of which there are none */
	append_word(out, names_at, 8);
	append_word(out, numbers_at, 8);
	append_word(out, list_at, 8);
	while (out->size < names_at)
		buffer_append_u8(out, 0);
	buffer_append(out, parts->names.data, parts->names.size);
	buffer_append(out, parts->numbers.data, parts->numbers.size);
	append_list(out, parts, count, absolute ? text : 0, (2 * count + 1) * bytes, bytes);
	buffer_append(out, parts->details.data, parts->details.size);
}

struct buffer go_table_program(const struct go_table_options *options,
			       const struct go_table_function *functions, size_t count)
{
	uint64_t text = GO_TABLE_VADDR + TEXT_AT;
	struct buffer code = { 0 }, table = { 0 }, module = { 0 };
	struct parts parts = { 0 };
	for (size_t i = 0; i < count; i++) {
		buffer_append(&code, functions[i].code, functions[i].size_bytes);
		while (code.size < (i + 1) * FUNCTION_STEP)
			buffer_append_u8(&code, options->machine == EM_X86_64 ? 0xcc : 0);
	}
	append_word(&table, magics[options->format], 4);
	append_word(&table, 0, 2);
	buffer_append_u8(&table, options->machine == EM_AARCH64 ? 4 : 1);
	buffer_append_u8(&table, 8);
	make_texts(options, functions, count, &parts);
	if (options->format == GO_TABLE_1_2)
		put_oldest(&table, options, functions, count, text, &parts);
	else
		put_later(&table, options, functions, count, text, &parts);
	for (size_t i = 0; i < 30; i++) /* runtime.moduledata, of which one word is read */
		append_word(&module, i == 22 ? text : 0x1111, 8);
	struct elf_bytes_section sections[] = {
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, code.data, code.size, 0, 0 },
		{ ".gopclntab", SHT_PROGBITS, SHF_ALLOC, 0, table.data, table.size, 0, 0 },
		{ ".go.module", SHT_PROGBITS, SHF_ALLOC, 0, module.data, module.size, 0, 0 },
	};
	struct buffer file = elf_bytes_make(true, options->machine, GO_TABLE_VADDR, sections,
					    COUNT_OF(sections));
	buffer_release(&code);
	buffer_release(&table);
	buffer_release(&module);
	buffer_release(&parts.names);
	buffer_release(&parts.numbers);
	buffer_release(&parts.details);
	return file;
}
