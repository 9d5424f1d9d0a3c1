#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "image/elf_file.h"
#include "symbol/record.h"
#include "symbol/symbol_table.h"
#include "support/elf_bytes.h"
#include "support/go_table.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"

static const char program[] =
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"__attribute__((noinline)) static int inner(int x) { return x * 3 + rand(); }\n"
	"int outer(int x) { return inner(x) + 1; }\n"
	"__attribute__((weak, alias(\"outer\"))) int weak_outer(int x);\n"
	"__attribute__((cold, noinline)) void fails(void) { puts(\"no\"); exit(1); }\n"
	"__attribute__((noinline)) int split(int x) {\n"
	"	if (x == 12345) { fails(); abort(); }\n"
	"	return x + outer(x); }\n"
	"int main(int c, char **v) { (void)v; return split(c) & 1; }\n";

/* A program's bytes, parsed. */
struct parsed {
	struct built_file bytes;
	struct elf_file file;
};

static void parsed_release(struct parsed *parsed)
{
	elf_file_release(&parsed->file);
	built_file_release(&parsed->bytes);
}

static struct parsed parse(const char *folder, const char *name)
{
	struct parsed parsed = { .bytes = toolchain_read(folder, name) };
	assert_int_equal(
		elf_file_parse(parsed.bytes.bytes, parsed.bytes.size_bytes, &parsed.file, NULL), 0);
	return parsed;
}

static void build(struct temporary_folder *folder, const char *options)
{
	toolchain_write(folder->path, "p.c", program);
	toolchain_run(folder->path, "cc -O2 -Wl,--build-id %s p.c -o p", options);
}

static const struct symbol *find_name(const struct symbol_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (span_equal(table->list[i].name, span_of_text(name)))
			return &table->list[i];
	return NULL;
}

static void a_program_has_its_functions_stubs_and_cold_parts(void **state)
{
	(void)state;
	static const char *const ways[] = { "", "-g", "-no-pie", "-fcf-protection=full -Wl,-z,now",
					    "-Wl,-z,lazy -fcf-protection=branch" };
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		build(&folder, ways[i]);
		CLEANUP(parsed_release) struct parsed parsed = parse(folder.path, "p");
		CLEANUP(symbol_table_release) struct symbol_table table;
		assert_int_equal(symbol_table_build(&parsed.file, NULL, &table), 0);
		assert_int_equal(table.bad, 0);

		uint64_t inner = toolchain_address(folder.path, "nm p | grep ' inner'");
		const struct symbol *symbol = symbol_table_find(&table, inner + 1);
		assert_non_null(symbol);
		assert_int_equal(symbol->start, inner);
		assert_true(span_equal(symbol->name, span_of_text("inner")));
		/* Of two names the global one. */
		assert_non_null(find_name(&table, "outer"));
		assert_null(find_name(&table, "weak_outer"));

		const struct symbol *stub = find_name(&table, "rand@plt");
		assert_non_null(stub);
		assert_true(stub->flags & FUNCTION_PLT);
		assert_in_range(stub->size_bytes, 8, 16);
		assert_ptr_equal(symbol_table_find(&table, stub->start + 5), stub);

		const struct symbol *cold = find_name(&table, "split.cold");
		const struct symbol *whole = find_name(&table, "split");
		assert_non_null(cold);
		assert_non_null(whole);
		assert_true(cold->flags & FUNCTION_COLD);
		assert_int_equal(cold->parent, whole->start);
		size_t first = symbol_table_cold(&table, whole->start);
		assert_true(first < table.cold_count);
		assert_ptr_equal(&table.list[table.cold[first]], cold);
		assert_int_equal(symbol_table_cold(&table, inner), table.cold_count);
	}
}

static void a_stripped_program_keeps_extents_without_names(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	build(&folder, "");
	uint64_t inner = toolchain_address(folder.path, "nm p | grep ' inner'");
	uint64_t size = toolchain_address(folder.path, "nm -S p | grep ' inner' | cut -d' ' -f2");
	toolchain_run(folder.path, "strip p");
	CLEANUP(parsed_release) struct parsed parsed = parse(folder.path, "p");
	CLEANUP(symbol_table_release) struct symbol_table table;
	assert_int_equal(symbol_table_build(&parsed.file, NULL, &table), 0);
	const struct symbol *symbol = symbol_table_find(&table, inner);
	assert_non_null(symbol);
	assert_int_equal(symbol->start, inner);
	assert_int_equal(symbol->size_bytes, size);
	assert_int_equal(symbol->name.size, 0);
	assert_int_equal(symbol->flags, FUNCTION_UNNAMED);
	assert_non_null(find_name(&table, "rand@plt"));

	/* Extents are found without section headers too. */
	toolchain_run(folder.path, "objcopy --strip-section-headers p q 2>/dev/null || cp p q");
	struct parsed bare = parse(folder.path, "p");
	bare.file.section_count = 0;
	CLEANUP(symbol_table_release) struct symbol_table without;
	assert_int_equal(symbol_table_build(&bare.file, NULL, &without), 0);
	symbol = symbol_table_find(&without, inner);
	assert_non_null(symbol);
	assert_int_equal(symbol->start, inner);
	assert_int_equal(without.bad, 0);
	parsed_release(&bare);
}

static void a_debug_file_gives_a_stripped_program_its_names_back(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	build(&folder, "-g");
	uint64_t inner = toolchain_address(folder.path, "nm p | grep ' inner'");
	toolchain_run(folder.path, "objcopy --only-keep-debug p p.debug; strip p");
	CLEANUP(parsed_release) struct parsed parsed = parse(folder.path, "p");
	CLEANUP(parsed_release) struct parsed debug = parse(folder.path, "p.debug");
	CLEANUP(symbol_table_release) struct symbol_table table;
	assert_int_equal(symbol_table_build(&parsed.file, &debug.file, &table), 0);
	const struct symbol *symbol = symbol_table_find(&table, inner);
	assert_non_null(symbol);
	assert_true(span_equal(symbol->name, span_of_text("inner")));
	assert_int_equal(symbol->source, SYMBOL_FROM_DEBUG_FILE);
}

static void packed_debug_data_is_read(void **state)
{
	(void)state;
	if (!toolchain_has("xz"))
		SKIP("needs xz");
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	build(&folder, "");
	uint64_t inner = toolchain_address(folder.path, "nm p | grep ' inner'");
	toolchain_run(folder.path, "objcopy --only-keep-debug p mini; xz -kf mini; strip p; "
				   "objcopy --add-section .gnu_debugdata=mini.xz p");
	CLEANUP(parsed_release) struct parsed parsed = parse(folder.path, "p");
	CLEANUP(symbol_table_release) struct symbol_table table;
	assert_int_equal(symbol_table_build(&parsed.file, NULL, &table), 0);
	const struct symbol *symbol = symbol_table_find(&table, inner);
	assert_non_null(symbol);
	assert_true(span_equal(symbol->name, span_of_text("inner")));
	assert_int_equal(symbol->source, SYMBOL_FROM_DEBUGDATA);

	/* Damaged data counts as bad; the rest still works. */
	const struct elf_section *section = elf_file_section(&parsed.file, ".gnu_debugdata");
	((uint8_t *)parsed.bytes.bytes)[section->offset + section->size_bytes / 2] ^= 0xff;
	CLEANUP(symbol_table_release) struct symbol_table damaged;
	assert_int_equal(symbol_table_build(&parsed.file, NULL, &damaged), 0);
	assert_int_equal(damaged.bad, 1);
	assert_int_equal(symbol_table_find(&damaged, inner)->name.size, 0);
}

static void a_stripped_go_program_has_the_names_of_its_runtime(void **state)
{
	(void)state;
	static const uint8_t code[20] = { 0x90 };
	static const struct go_table_function functions[] = {
		{ "main.main", code, 20, "0:4 24:12 0:4", false },
		{ "main.(*list[go.shape.int]).add", code, 8, NULL, false },
		{ "", code, 8, NULL, false },
	};
	for (int format = GO_TABLE_1_2; format < GO_TABLE_FORMATS; format++) {
		const struct go_table_options options = { format, EM_X86_64, false };
		CLEANUP(buffer_release)
		struct buffer bytes = go_table_program(&options, functions, COUNT_OF(functions));
		struct elf_file file;
		CLEANUP(symbol_table_release) struct symbol_table table;
		assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, NULL), 0);
		assert_int_equal(symbol_table_build(&file, NULL, &table), 0);
		assert_int_equal(table.bad, 0);
		assert_int_equal(table.count, 2);
		/* Without the padding, where it is known. */
		uint64_t text = elf_file_section(&file, ".text")->vaddr;
		for (size_t i = 0; i < 2; i++) {
			assert_true(
				span_equal(table.list[i].name, span_of_text(functions[i].name)));
			assert_int_equal(table.list[i].start, text + 32 * i);
			assert_int_equal(table.list[i].size_bytes, i ? 32 : 20);
			assert_int_equal(table.list[i].source, SYMBOL_FROM_GO);
			assert_int_equal(table.list[i].flags & FUNCTION_EXPORTED, 0);
		}
		assert_null(symbol_table_find(&table, text + 20));
		elf_file_release(&file);
	}
}

#define TEXT 0x10100

/* An entry of a 32-bit .symtab. */
struct symbol_32 {
	uint32_t name, value, size;
	uint8_t info;
	uint16_t section;
};

/* A 32-bit file of code at TEXT with symbols, and the table that is built of it. */
struct made_32 {
	struct buffer bytes;
	struct elf_file file;
	struct symbol_table table;
};

static void made_32_release(struct made_32 *made)
{
	symbol_table_release(&made->table);
	elf_file_release(&made->file);
	buffer_release(&made->bytes);
}

static void make_32(uint16_t machine, struct span code, struct span names,
		    const struct symbol_32 *list, size_t count, struct made_32 *made)
{
	CLEANUP(buffer_release) struct buffer symbols = { 0 };
	for (size_t i = 0; i < count; i++) {
		buffer_append_u32(&symbols, list[i].name);
		buffer_append_u32(&symbols, list[i].value);
		buffer_append_u32(&symbols, list[i].size);
		buffer_append_u8(&symbols, list[i].info);
		buffer_append_u8(&symbols, 0);
		buffer_append(&symbols, &list[i].section, 2);
	}
	struct elf_bytes_section sections[] = {
		{ .name = ".text",
		  .type = 1,
		  .flags = 6,
		  .vaddr = TEXT,
		  .bytes = code.data,
		  .size_bytes = code.size },
		{ .name = ".strtab", .type = 3, .bytes = names.data, .size_bytes = names.size },
		{ .name = ".symtab",
		  .type = 2,
		  .bytes = symbols.data,
		  .size_bytes = symbols.size,
		  .link = 2,
		  .entry_bytes = 16 },
	};
	made->bytes = elf_bytes_make(false, machine, 0x10000, sections, COUNT_OF(sections));
	assert_int_equal(elf_file_parse(made->bytes.data, made->bytes.size, &made->file, NULL), 0);
	assert_int_equal(symbol_table_build(&made->file, NULL, &made->table), 0);
}

static void symbols_of_32_bit_files_are_bounded_by_what_follows(void **state)
{
	(void)state;
	static const uint8_t code[32];
	static const char names[] = "\0first\0second\0$a\0label\0data";
	static const struct symbol_32 list[] = {
		{ 0, 0, 0, 0, 0 },
		{ 1, TEXT, 0, 0x12, 1 }, /* global function without size */
		{ 7, TEXT + 16, 8, 0x12, 1 },
		{ 14, TEXT + 4, 0, 0, 1 },     /* a mapping symbol */
		{ 17, TEXT + 20, 0, 0, 1 },    /* a label inside a sized function */
		{ 23, TEXT + 24, 4, 0x11, 1 }, /* an object */
	};
	CLEANUP(made_32_release) struct made_32 made = { 0 };
	make_32(40 /* EM_ARM */, (struct span){ code, sizeof(code) },
		(struct span){ names, sizeof(names) }, list, COUNT_OF(list), &made);
	assert_int_equal(made.table.count, 2);
	assert_int_equal(made.table.list[0].start, TEXT);
	assert_int_equal(made.table.list[0].size_bytes, 16);
	assert_int_equal(made.table.list[1].size_bytes, 8);
	assert_null(symbol_table_find(&made.table, TEXT + 24));
}

/* A label of hand-written code, with nothing behind it for two pages. */
static void far_behind_a_symbol_without_size_it_is_the_nearest_alone(void **state)
{
	(void)state;
	enum { FAR = 5000, FUNCTION = 65000 };
	static const uint8_t code[5000 + 65000 + 65537];
	static const char names[] = "\0near\0label\0function\0far";
	static const struct symbol_32 list[] = { { 0, 0, 0, 0, 0 },
						 { 1, TEXT, 0, 0x10, 1 },
						 { 6, TEXT + 100, 0, 0x10, 1 },
						 { 12, TEXT + FAR, 0, 0x12, 1 },
						 { 21, TEXT + FAR + FUNCTION, 0, 0x12, 1 } };
	static const bool nearest[] = { false, true, false, true };
	CLEANUP(made_32_release) struct made_32 made = { 0 };
	make_32(3 /* EM_386 */, (struct span){ code, sizeof(code) },
		(struct span){ names, sizeof(names) }, list, COUNT_OF(list), &made);
	assert_int_equal(made.table.count, COUNT_OF(nearest));
	for (size_t i = 0; i < made.table.count; i++)
		assert_int_equal((made.table.list[i].flags & FUNCTION_NEAREST) != 0, nearest[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_has_its_functions_stubs_and_cold_parts),
		cmocka_unit_test(a_stripped_program_keeps_extents_without_names),
		cmocka_unit_test(a_debug_file_gives_a_stripped_program_its_names_back),
		cmocka_unit_test(packed_debug_data_is_read),
		cmocka_unit_test(a_stripped_go_program_has_the_names_of_its_runtime),
		cmocka_unit_test(symbols_of_32_bit_files_are_bounded_by_what_follows),
		cmocka_unit_test(far_behind_a_symbol_without_size_it_is_the_nearest_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
